package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
)

// Range is the sequences that a sealed segment between others may hold.
type Range struct {
	Serial      uint64
	First, Last uint64 // First > Last: none
}

// Inner returns the sealed segments that hold something and whose batches are all reflected in the newest checkpoint, but
// for the last one of it. Any goroutine may call it.
func (l *Log) Inner() (list []Range) {
	l.files.Lock()
	defer l.files.Unlock()
	if len(l.files.checkpoints) == 0 {
		return nil
	}
	index := l.files.checkpoints[0].index
	segs := *l.segs.Load()
	for i, s := range segs {
		if i+1 == len(segs) || segs[i+1].first > index {
			break
		}
		if s.sealed.Load() && !s.hollow.Load() {
			list = append(list, Range{s.serial, s.base, segs[i+1].base - 1})
		}
	}
	return list
}

// Hollow gives back the disk space of segments, by their serial numbers, that Inner has named and of which no message is
// needed any more. Their files stay, with nothing but the head in them. The checkpoints that are kept, both of which say so
// first, are copies of the newest one then. Any goroutine may call it.
func (l *Log) Hollow(serials map[uint64]bool) error {
	l.files.Lock()
	defer l.files.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	var gone []*segment
	for _, s := range *l.segs.Load() {
		if serials[s.serial] && s.sealed.Load() && !s.hollow.Load() {
			gone = append(gone, s)
		}
	}
	if len(gone) == 0 || len(l.files.checkpoints) == 0 {
		return nil
	}
	l.waitForTasks() // that could make index files after they were removed
	for range 2 {
		err := l.copyCheckpoint(func(c *checkpoint) {
			for i := range c.segments {
				if s := &c.segments[i]; serials[s.serial] {
					s.end, s.maxTime = segmentHeadBytes, math.MinInt64
				}
			}
		})
		if err != nil {
			return fmt.Errorf("hollow segments: %w", err)
		}
	}
	var errs []error
	for _, s := range gone {
		errs = append(errs, l.hollow(s))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("hollow segments: %w", err)
	}
	return nil
}

// hollow takes the batches out of one segment. Readers that stand in it go on behind it.
func (l *Log) hollow(s *segment) error {
	s.hollow.Store(true)
	l.bytes.Add(segmentHeadBytes - s.size.Load())
	s.size.Store(segmentHeadBytes)
	s.written.Store(segmentHeadBytes)
	s.maxTime.Store(math.MinInt64)
	s.mu.Lock()
	s.mu.sparse = &sparse{}
	s.mu.Unlock()
	l.opts.Cache.forget(l.id, s.serial)
	for _, ext := range []string{extIndex, extTime} {
		if err := l.opts.FS.Remove(s.path + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := l.opts.FS.OpenFile(s.logPath(), os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(segmentHeadBytes), f.Sync(), f.Close())
}
