package segment

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"godwit/stream/vfs"
)

// Inner describes a sealed segment that a checkpoint can do without.
type Inner struct {
	Serial      uint64
	First, Last uint64 // sequences that it may hold; First > Last: none
	Bytes       int64
	// Messages is how many there were in it when it was written or rewritten last; of one that was never rewritten it
	// includes sequences that were left out.
	Messages  uint64
	Rewritten bool
}

// Inner returns the sealed segments whose batches all lie at or below index, but for the one in which a checkpoint of
// index ends. Any goroutine may call it.
func (l *Log) Inner(index uint64) (list []Inner) {
	segs := *l.segs.Load()
	for i, s := range segs {
		if i+1 == len(segs) || segs[i+1].first > index {
			break
		}
		if !s.sealed.Load() {
			continue
		}
		n := Inner{Serial: s.serial, First: s.base, Last: segs[i+1].base - 1, Bytes: s.size.Load(), Messages: segs[i+1].base - s.base}
		if s.rewritten.end > 0 {
			n.Messages, n.Rewritten = s.rewritten.count, true
		}
		list = append(list, n)
	}
	return list
}

// SaveCheckpointWithout is SaveCheckpoint, and gives up segments: the serial numbers of those that Inner(index) has
// named and in which the state needs nothing. The checkpoint does not mention them any more, and readers pass over them.
// Their files go once no kept checkpoint mentions them: at once if they are large in comparison with a further copy of the
// checkpoint, else with the next checkpoint.
func (l *Log) SaveCheckpointWithout(index uint64, state []byte, dead map[uint64]bool) error {
	l.files.Lock()
	defer l.files.Unlock()
	if err := l.saveCheckpoint(index, state, dead); err != nil {
		return err
	}
	freed := l.detach(dead)
	if freed < copyWorth*int64(len(state)) || freed == 0 {
		return nil
	}
	return l.copyCheckpoint()
}

// copyWorth is how many bytes given back are worth writing a byte of a checkpoint.
const copyWorth = 4

// detach takes segments out of the log that the newest checkpoint does not mention. files is held.
func (l *Log) detach(dead map[uint64]bool) (freed int64) {
	if len(dead) == 0 {
		return 0
	}
	l.waitForTasks() // that could make index files after they were removed
	var gone []*segment
	l.changeSegments(func(list []*segment) []*segment {
		kept := list[:0]
		for _, s := range list {
			if dead[s.serial] {
				gone = append(gone, s)
			} else {
				kept = append(kept, s)
			}
		}
		return kept
	})
	l.rebuilding.Lock()
	for _, s := range gone {
		s.dropped.Store(true)
		freed += s.size.Load()
		l.files.detached = append(l.files.detached, s.path)
	}
	l.rebuilding.Unlock()
	l.bytes.Add(-freed)
	for _, s := range gone {
		s.finish()
		l.opts.Cache.forget(l.id, s.serial)
	}
	return freed
}

// removeDetached unlinks files that no kept checkpoint mentions. files is held.
func (l *Log) removeDetached() error {
	var errs []error
	for _, path := range l.files.detached {
		errs = append(errs, l.removeSegmentFiles(path))
	}
	l.files.detached = nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove segments: %w", err)
	}
	return nil
}

// checkDead says whether all of the segments may be given up with a checkpoint of index. files is held.
func (l *Log) checkDead(index uint64, dead map[uint64]bool) error {
	if len(dead) == 0 {
		return nil
	}
	left := maps.Clone(dead)
	for _, n := range l.Inner(index) {
		delete(left, n.Serial)
	}
	for serial := range left {
		return fmt.Errorf("%w: segment %d is needed by a checkpoint of index %d", ErrOutOfOrder, serial, index)
	}
	return nil
}

// leftOver notes files of a segment that a checkpoint has given up, or that were dropped before it: they go with the
// next one. It reports false if the file is none of these.
func (a *attempt) leftOver(file segmentFile, pivot *checkpointSegment) bool {
	if pivot == nil || file.base > pivot.base || file.base == pivot.base && file.suffix >= pivot.suffix {
		return false
	}
	a.detached = append(a.detached, filepath.Join(a.l.opts.Dir, segmentName(file.base, file.suffix)))
	return true
}

// copyCheckpoint makes a second file of the newest checkpoint, in the place of the one before it. files is held.
func (l *Log) copyCheckpoint() error {
	newest := l.files.checkpoints[0]
	path := filepath.Join(l.opts.Dir, newest.name())
	c, reason, err := readCheckpoint(l.opts.FS, path, newest.index, l.hash)
	if err == nil && c == nil {
		err = &CorruptError{Path: path, Reason: reason}
	}
	if err != nil {
		return fmt.Errorf("copy checkpoint: %w", err)
	}
	file := checkpointFile{newest.index, !newest.copy}
	if err := vfs.WriteFileSync(l.opts.FS, filepath.Join(l.opts.Dir, file.name()), c.encode(l.hash), c.state); err != nil {
		return fmt.Errorf("copy checkpoint: %w", err)
	}
	return l.keepCheckpoint(file)
}

// bothReflect makes sure that every kept checkpoint reflects index, which the newest does. files is held.
func (l *Log) bothReflect(index uint64) error {
	kept := l.files.checkpoints
	if len(kept) == 0 || kept[0].index < index {
		return fmt.Errorf("%w: no checkpoint of index %d", ErrOutOfOrder, index)
	}
	if len(kept) < 2 || kept[1].index < index {
		return l.copyCheckpoint()
	}
	return nil
}
