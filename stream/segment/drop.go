package segment

import (
	"errors"
	"fmt"
	"io/fs"
)

// DropBefore unlinks the oldest segments: those that are sealed, hold no message at or above seq, and whose batches are
// all reflected in the newest checkpoint. If the checkpoint before that reflects less, a copy of the newest takes its
// place first, so that there are still two to restore from. Any goroutine may call it.
func (l *Log) DropBefore(seq uint64) error {
	l.files.Lock()
	defer l.files.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	kept := l.files.checkpoints
	if len(kept) == 0 {
		return nil
	}
	segs := *l.segs.Load()
	n := 0
	for n+1 < len(segs) && segs[n].sealed.Load() && segs[n+1].base <= seq && segs[n].last.Load() <= kept[0].index {
		n++
	}
	if n == 0 {
		return nil
	}
	if err := l.bothReflect(segs[n-1].last.Load()); err != nil {
		return fmt.Errorf("drop segments: %w", err)
	}
	l.waitForTasks() // that could make index files after they were removed
	// With the mark in place it does not matter which of the files a crash leaves.
	m := mark{l.generation, l.durable.Load(), segs[n].base, segs[n].serial}
	if err := writeMark(l.opts.FS, l.opts.Dir, m, l.hash); err != nil {
		return fmt.Errorf("drop segments: %w", err)
	}
	l.files.firstSerial = m.firstSerial
	gone := segs[:n]
	l.changeSegments(func(list []*segment) []*segment { return list[n:] })
	l.rebuilding.Lock()
	for _, s := range gone {
		s.dropped.Store(true)
		l.bytes.Add(-s.size.Load())
	}
	l.rebuilding.Unlock()
	var errs []error
	for _, s := range gone {
		s.finish()
		errs = append(errs, l.removeSegmentFiles(s.path))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("drop segments: %w", err)
	}
	return nil
}

// removeSegmentFiles unlinks a segment's files, as far as they exist. path has no extension.
func (l *Log) removeSegmentFiles(path string) error {
	return l.removeFiles(path, extIndex, extTime, extLog)
}

func (l *Log) removeFiles(path string, exts ...string) error {
	var errs []error
	for _, ext := range exts {
		if err := l.opts.FS.Remove(path + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
