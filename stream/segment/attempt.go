package segment

import (
	"errors"
	"fmt"

	"godwit/stream/vfs"
)

// attempt is a recovery from one checkpoint, or from none. It scans the log from there on and replays it.
type attempt struct {
	*recovery
	unpacked   []byte      // scratch
	ck         *checkpoint // nil: from the first segment
	segs       []*segment
	heads      []bool // of each segment: its head is intact, or known from the checkpoint
	badHeads   int
	from       int  // first segment that is scanned
	resume     bool // the scan begins in the middle of it, where the checkpoint says
	generation uint32
	damage     []Damage
	scanner    *scanner

	expect   uint64 // index of the next batch
	next     uint64 // sequence to be assigned, at least
	known    uint64 // highest index that is proven to have been durable, as far as seen
	looked   bool   // known includes all there is behind the place where the scan is
	jumped   bool   // a stretch of damage was passed: the next batch may have any later index
	restored bool
	replayed int
	cut      *cutPoint // everything from here on was never durable
	detached []string  // segments that the checkpoint does not mention, without extension
}

type cutPoint struct {
	segment int
	pos     int64
}

func newAttempt(r *recovery, ck *checkpoint) *attempt {
	return &attempt{recovery: r, ck: ck, known: r.known, scanner: newScanner(r.l.hash)}
}

// run scans and replays. It reports false if the checkpoint cannot be used; then it has been rejected.
func (a *attempt) run() (bool, error) {
	if err := a.loadSegments(); err != nil {
		return false, err
	}
	if a.refused > 0 && a.badHeads > 0 && a.verified == 0 {
		return false, ErrWrongKey // mark and checkpoints are never torn, and not all is damaged at once
	}
	a.begin()
	for i := a.from; i < len(a.segs) && a.cut == nil; i++ {
		if err := a.scanSegment(i); err != nil {
			var rejected *restoreError
			if errors.As(err, &rejected) {
				a.reject(a.ck.path, rejected.Error())
				return false, nil
			}
			return false, err
		}
	}
	if a.ck != nil && a.expect <= a.ck.index {
		a.reject(a.ck.path, fmt.Sprintf("checkpoint of index %d, but the log ends at %d", a.ck.index, a.expect-1))
		return false, nil
	}
	if err := a.restore(); err != nil {
		a.reject(a.ck.path, err.Error())
		return false, nil
	}
	if a.known >= a.expect {
		a.report(a.l.opts.Dir, 0, fmt.Sprintf("log ends at index %d, but %d had been durable", a.expect-1, a.known))
	}
	a.next = max(a.next, a.mark.next)
	a.sealLast()
	return true, nil
}

// begin sets what the first batch must be.
func (a *attempt) begin() {
	a.expect, a.next = 1, 1
	if a.ck != nil {
		a.expect = a.ck.index + 1
	}
	if a.from == len(a.segs) {
		return
	}
	s := a.segs[a.from]
	if a.resume || a.heads[a.from] && (s.first < a.expect || a.ck == nil && s.serial == 1) {
		a.expect = s.first // a log may begin with any index
	}
}

// limit returns where the batches of segment i end, as its successor says, or the end of the file if there is none that
// knows.
func (a *attempt) limit(i int, f vfs.File) (limit int64, declared bool, err error) {
	if end := a.segs[i].rewritten.end; end > 0 {
		return end, true, nil
	}
	if i+1 < len(a.segs) && a.heads[i+1] {
		// A segment in between may be missing.
		if next := a.segs[i+1]; next.serial == a.segs[i].serial+1 && next.prevEnd >= segmentHeadBytes {
			return next.prevEnd, true, nil
		}
	}
	limit, err = f.Size()
	return limit, false, err
}

// scanSegment verifies and replays the batches of segment i, and decides on what is broken.
func (a *attempt) scanSegment(i int) error {
	s := a.segs[i]
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.shut()
	defer s.release()
	defer a.scanner.forget()
	limit, declared, err := a.limit(i, f)
	if err != nil {
		return err
	}
	pos := int64(segmentHeadBytes)
	s.mu.sparse = &sparse{}
	if a.resume && i == a.from {
		pos = a.resumeAt(s)
	} else if ok, err := a.enter(i); !ok || err != nil {
		return err
	}
	for {
		end, reason, err := a.scanner.run(f, pos, limit, func(h *batchHead, b []byte, at int64) (string, error) {
			return a.visit(s, h, b, at)
		})
		if err != nil {
			return err
		}
		pos = end
		if reason == "" {
			break
		}
		if !declared {
			if zero, err := isZero(f, end, limit); err != nil {
				return err
			} else if zero {
				break
			}
		}
		if damaged, err := a.isDamage(i, end); err != nil {
			return err
		} else if !damaged {
			a.cut = &cutPoint{i, end}
			break
		}
		a.report(s.logPath(), end, reason)
		at, found, err := a.scanner.find(f, end+1, limit, a.expect)
		if err != nil {
			return err
		}
		a.jumped = true
		if !found {
			pos = limit
			break
		}
		pos = at
	}
	if declared && a.cut == nil {
		pos = limit
	}
	if s.rewritten.end > 0 {
		a.expect = max(a.expect, s.rewritten.last+1)
	}
	a.seal(i, pos, f)
	return nil
}

// resumeAt prepares the scan of the segment in which the checkpoint ends, and returns where it starts.
func (a *attempt) resumeAt(s *segment) int64 {
	x := a.ck.sparse
	if len(x.entries) == 0 || len(x.times) == 0 {
		return segmentHeadBytes
	}
	p := s.place(x.entries[len(x.entries)-1])
	a.expect, a.next = p.index, p.seq
	s.maxTime.Store(x.times[len(x.times)-1].time)
	// The batch at that place is scanned again, and notes its entries again.
	s.mu.sparse.entries = x.entries[:len(x.entries)-1]
	s.mu.sparse.times = x.times[:len(x.times)-1]
	return p.pos
}

// enter decides whether segment i follows the one before. It reports false after it has set a cut.
func (a *attempt) enter(i int) (bool, error) {
	s := a.segs[i]
	reason, pos := "", int64(0)
	switch {
	case !a.heads[i]:
		reason = "hash of a segment's head does not match"
		s.first = a.expect
		a.jumped = true
	case s.first > a.expect && a.jumped: // reported where it began
		a.expect = s.first
	case s.first > a.expect:
		reason = fmt.Sprintf("the batches from index %d to %d are missing", a.expect, s.first-1)
	}
	if reason == "" {
		return true, nil
	}
	damaged, err := a.isDamage(i, pos)
	if err != nil {
		return false, err
	}
	if i == a.from && a.refused > 0 {
		damaged = true // a broken checkpoint or mark may be all that knew
	}
	if !damaged {
		a.cut = &cutPoint{i, pos}
		a.seal(i, segmentHeadBytes, nil)
		return false, nil
	}
	a.report(s.logPath(), pos, reason)
	if a.heads[i] {
		a.expect = s.first
	}
	return true, nil
}

// visit takes one intact batch in.
func (a *attempt) visit(s *segment, h *batchHead, b []byte, at int64) (reason string, err error) {
	if h.Index != a.expect && !((a.jumped || s.rewritten.end > 0) && h.Index > a.expect) {
		return fmt.Sprintf("batch %d where %d was expected", h.Index, a.expect), nil
	}
	if next := max(a.next, s.base); h.Base < next {
		return fmt.Sprintf("batch %d begins at sequence %d, below %d", h.Index, h.Base, next), nil
	}
	body, ok := h.bodyOf(b, &a.unpacked)
	if !ok {
		return fmt.Sprintf("batch %d cannot be decompressed", h.Index), nil
	}
	maxTime, ok := maxTimeOf(&h.Head, body)
	if !ok {
		return fmt.Sprintf("batch %d has malformed records", h.Index), nil
	}
	a.jumped = false
	s.mu.sparse.noteDue(&s.segmentHead, &h.Head, at, s.maxTime.Load())
	s.maxTime.Store(max(s.maxTime.Load(), maxTime))
	a.expect, a.next = h.Index+1, h.next()
	if a.ck != nil && h.Index <= a.ck.index {
		return "", nil
	}
	if err := a.restore(); err != nil {
		return "", err
	}
	a.replayed++
	if err := a.l.opts.Replay(h.Head, body); err != nil {
		return "", fmt.Errorf("replay batch %d: %w", h.Index, err)
	}
	return "", nil
}

// restoreError is an error of Options.Restore.
type restoreError struct{ err error }

func (e *restoreError) Error() string { return "restore: " + e.err.Error() }

// restore hands the checkpoint to the owner, once.
func (a *attempt) restore() error {
	if a.ck == nil || a.restored {
		return nil
	}
	a.restored = true
	if err := a.l.opts.Restore(a.ck.index, a.ck.state); err != nil {
		return &restoreError{err}
	}
	a.ck.state = nil
	return nil
}

// seal notes what was found of segment i; pos is the end of its batches.
func (a *attempt) seal(i int, pos int64, f vfs.File) {
	s := a.segs[i]
	s.size.Store(pos)
	s.written.Store(pos)
	s.last.Store(a.expect - 1)
	s.sealed.Store(true)
	if f != nil {
		if size, err := f.Size(); err == nil {
			s.zero.ready = size
		}
	}
}

// sealLast decides whether the last segment takes more batches: if it is whole, not full, and nothing behind it was lost.
func (a *attempt) sealLast() {
	n := len(a.segs)
	if n == 0 || a.cut != nil {
		return
	}
	s := a.segs[n-1]
	switch {
	case a.known >= a.expect, len(a.damage) > 0:
		a.generation++ // what lies behind the damage stays there
	case n-1 >= a.from && s.size.Load() <= segmentHeadBytes:
		a.cut = &cutPoint{n - 1, 0} // created, and then nothing more
	case n-1 >= a.from && s.size.Load() < a.l.opts.SegmentBytes && s.rewritten.end == 0:
		s.sealed.Store(false)
	}
}

// isDamage says whether the batch that should have been at pos of segment i had been durable.
func (a *attempt) isDamage(i int, pos int64) (bool, error) {
	if a.expect > a.known && !a.looked {
		a.looked = true
		if err := a.lookAhead(i, pos); err != nil {
			return false, err
		}
	}
	return a.expect <= a.known, nil
}

// lookAhead gathers the evidence in everything intact behind pos of segment i.
func (a *attempt) lookAhead(i int, pos int64) error {
	for j := i; j < len(a.segs); j++ {
		s := a.segs[j]
		if a.heads[j] {
			a.known = max(a.known, s.durable)
		}
		if j > i {
			pos = segmentHeadBytes
		}
		if err := a.lookInto(j, pos); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) lookInto(j int, pos int64) error {
	s := a.segs[j]
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	limit, _, err := a.limit(j, f)
	if err != nil {
		return err
	}
	sc := newScanner(a.l.hash)
	index := a.expect
	for {
		at, found, err := sc.find(f, pos, limit, index)
		if err != nil || !found {
			return err
		}
		end, reason, err := sc.run(f, at, limit, func(h *batchHead, _ []byte, _ int64) (string, error) {
			if h.Index < index {
				return "out of order", nil
			}
			index = h.Index + 1
			a.known = max(a.known, h.durable)
			return "", nil
		})
		if err != nil || reason == "" {
			return err
		}
		pos = end + 1
	}
}
