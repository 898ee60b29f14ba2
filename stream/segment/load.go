package segment

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// readHead reads a segment's head. ok is false if it is not intact.
func (r *recovery) readHead(path string) (h segmentHead, ok bool, err error) {
	f, err := r.l.opts.FS.OpenFile(path, 0)
	if err != nil {
		return h, false, err
	}
	defer f.Close()
	b := make([]byte, segmentHeadBytes)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, false, fmt.Errorf("read head of segment %s: %w", path, err)
	}
	ok, err = h.decode(b[:n], r.l.hash)
	if err != nil {
		return h, false, fmt.Errorf("%s: %w", path, err)
	}
	return h, ok, nil
}

// loadSegments makes the list of segments, beginning with the first that still counts. The first known ones are taken
// from the checkpoint, up to but without its last; heads tells of the others whether their head is intact.
func (a *attempt) loadSegments() error {
	fromCheckpoint := map[segmentFile]*checkpointSegment{}
	firstSerial := a.mark.firstSerial
	if a.ck != nil {
		for i := range a.ck.segments {
			s := &a.ck.segments[i]
			if s.serial >= firstSerial {
				fromCheckpoint[segmentFile{s.base, s.suffix}] = s
			}
		}
		if len(a.ck.segments) > 0 {
			firstSerial = max(firstSerial, a.ck.segments[0].serial)
		}
	}
	var pivot *checkpointSegment
	if a.ck != nil && len(a.ck.segments) > 0 {
		pivot = &a.ck.segments[len(a.ck.segments)-1]
	}
	for _, file := range a.files {
		known := fromCheckpoint[file]
		delete(fromCheckpoint, file)
		if known == nil && a.leftOver(file, pivot) {
			continue
		}
		if known != nil && known != pivot {
			if err := a.addKnown(known); err != nil {
				return err
			}
			continue
		}
		resume, err := a.addFile(file, known, firstSerial)
		if err != nil {
			return err
		}
		if resume {
			a.from, a.resume = len(a.segs)-1, true
		}
	}
	for _, s := range fromCheckpoint {
		path := filepath.Join(a.l.opts.Dir, segmentName(s.base, s.suffix)+extLog)
		a.report(path, 0, "segment is missing")
	}
	if !a.resume {
		a.from = 0
		for a.from < len(a.segs) && a.segs[a.from].sealed.Load() {
			a.from++
		}
	}
	return nil
}

// addKnown adds a segment that the checkpoint describes; it is not scanned.
func (a *attempt) addKnown(c *checkpointSegment) error {
	s := newSegment(a.l.opts.FS, a.l.opts.Dir, c.suffix, c.segmentHead)
	st, err := a.l.opts.FS.Stat(s.logPath())
	if err != nil {
		return err
	}
	// The checkpoint does not know what came of a segment that was rewritten after it.
	if h, ok, err := a.readHead(s.logPath()); err != nil {
		return err
	} else if r := h.rewritten; ok && r.end > 0 && h.serial == c.serial && h.generation == c.generation {
		s.rewritten = r
		s.renew = c.end != r.end
		c.end, c.last, c.maxTime = r.end, r.last, r.maxTime
	}
	if st.Size < c.end {
		a.report(s.logPath(), st.Size, fmt.Sprintf("file ends early, its batches reach to %d", c.end))
	}
	s.size.Store(c.end)
	s.written.Store(c.end)
	s.last.Store(c.last)
	s.maxTime.Store(c.maxTime)
	s.exists = true
	s.indexed.Store(true)
	s.sealed.Store(true)
	if c.end == segmentHeadBytes {
		s.mu.sparse = &sparse{}
	}
	a.segs = append(a.segs, s)
	a.heads = append(a.heads, true)
	a.generation = max(a.generation, c.generation)
	return nil
}

// addFile adds a segment that is to be scanned, and removes it if it was dropped. known is what the checkpoint says of
// it, if it ends there; resume says that this holds, so that the scan may start where the checkpoint ends.
func (a *attempt) addFile(file segmentFile, known *checkpointSegment, firstSerial uint64) (resume bool, err error) {
	name := segmentName(file.base, file.suffix)
	path := filepath.Join(a.l.opts.Dir, name)
	h, ok, err := a.readHead(path + extLog)
	if err != nil {
		return false, err
	}
	switch {
	case !ok && known != nil:
		a.report(path+extLog, 0, "hash of a segment's head does not match")
		h, ok, resume = known.segmentHead, true, true
	case !ok:
		a.badHeads++
		// What can be known: batches tell the rest.
		h = segmentHead{base: file.base, serial: max(firstSerial, 1), first: a.expectAfter()}
		if n := len(a.segs); n > 0 {
			h.serial, h.generation = a.segs[n-1].serial+1, a.segs[n-1].generation
		}
	case h.serial < a.mark.firstSerial:
		return false, a.l.removeSegmentFiles(path)
	case h.serial < firstSerial:
		return false, nil // dropped before the checkpoint was made, and the mark that says so is lost
	case h.base != file.base:
		a.report(path+extLog, 0, fmt.Sprintf("segment of base %d under another name", h.base))
		h.base = file.base
	default:
		a.verified++
		resume = known != nil && h.serial == known.serial && h.generation == known.generation && h.first == known.first
		if known != nil && !resume {
			a.report(path+extLog, 0, "segment is not the one that the checkpoint knows")
		}
	}
	s := newSegment(a.l.opts.FS, a.l.opts.Dir, file.suffix, h)
	s.exists = true
	a.segs = append(a.segs, s)
	a.heads = append(a.heads, ok)
	a.generation = max(a.generation, h.generation)
	return resume, nil
}

// expectAfter guesses the first index of a segment whose head is lost.
func (a *attempt) expectAfter() uint64 {
	if n := len(a.segs); n > 0 {
		return max(a.segs[n-1].last.Load()+1, a.segs[n-1].first)
	}
	if a.ck != nil {
		return a.ck.index + 1
	}
	return 1
}
