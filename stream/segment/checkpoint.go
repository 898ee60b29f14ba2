package segment

import (
	"errors"
	"fmt"
	"path/filepath"

	"godwit/stream/vfs"
)

// SaveCheckpoint stores state, which reflects every batch up to index and nothing else, so that the next Open needs to
// replay only what follows. Everything up to index is made durable first, in whichever segment it lies. The checkpoint
// before is kept. state is given.
//
// Any goroutine may call it; calls wait for each other. Errors: ErrNotFlushed; ErrOutOfOrder if a checkpoint of a higher
// index was saved before; ErrFailed, ErrClosed; any other leaves the
// log and the earlier checkpoints as they were.
func (l *Log) SaveCheckpoint(index uint64, state []byte) error {
	return l.SaveCheckpointWithout(index, state, nil)
}

// saveCheckpoint saves a checkpoint that does not mention dead segments. files is held.
func (l *Log) saveCheckpoint(index uint64, state []byte, dead map[uint64]bool) error {
	if err := l.usable(); err != nil {
		return err
	}
	file := checkpointFile{index: index}
	if kept := l.files.checkpoints; len(kept) > 0 {
		if index < kept[0].index {
			return fmt.Errorf("%w: checkpoint of index %d after %d", ErrOutOfOrder, index, kept[0].index)
		}
		file.copy = index == kept[0].index && !kept[0].copy
	}
	if err := l.checkDead(index, dead); err != nil {
		return err
	}
	if err := l.syncTo(index); err != nil {
		return err
	}
	l.waitForIndexes() // a start from this checkpoint does not look whether they are there
	c := &checkpoint{index: index, state: state}
	if err := l.describe(c, dead); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	path := filepath.Join(l.opts.Dir, file.name())
	if err := vfs.WriteFileSync(l.opts.FS, path, c.encode(l.hash), state); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	return l.keepCheckpoint(file)
}

// describe fills the log's part of a checkpoint, without dead segments.
func (l *Log) describe(c *checkpoint, dead map[uint64]bool) error {
	var pivot *segment
	for _, s := range *l.segs.Load() {
		if s.first > c.index {
			break
		}
		if dead[s.serial] {
			continue
		}
		c.segments = append(c.segments, checkpointSegment{
			segmentHead: s.segmentHead, suffix: s.suffix, end: s.size.Load(), last: s.last.Load(), maxTime: s.maxTime.Load(),
		})
		pivot = s
	}
	if pivot == nil {
		return nil
	}
	pivot.mu.RLock()
	x := pivot.mu.sparse
	if x != nil {
		c.sparse = x.cut(&pivot.segmentHead, c.index)
	}
	pivot.mu.RUnlock()
	if x == nil { // sealed, and its index moved out of memory
		x, err := pivot.sparseOnDisk(l.hash)
		if err != nil {
			if x, err = l.rebuild(pivot); err != nil {
				return err
			}
		}
		c.sparse = x.cut(&pivot.segmentHead, c.index)
	}
	return nil
}

// keepCheckpoint notes a checkpoint as the newest and removes all but the one before it, and those that recovery did
// not want. files is held.
func (l *Log) keepCheckpoint(newest checkpointFile) error {
	kept := []checkpointFile{newest}
	var errs []error
	for _, f := range l.files.checkpoints { // newest first
		switch {
		case f == newest: // replaced
		case len(kept) < 2:
			kept = append(kept, f)
		default:
			errs = append(errs, l.opts.FS.Remove(filepath.Join(l.opts.Dir, f.name())))
		}
	}
	for _, path := range l.files.stale {
		if path != filepath.Join(l.opts.Dir, newest.name()) {
			errs = append(errs, l.opts.FS.Remove(path))
		}
	}
	l.files.checkpoints, l.files.stale = kept, nil
	errs = append(errs, l.removeDetached()) // by a checkpoint before
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove what no checkpoint needs: %w", err)
	}
	return nil
}
