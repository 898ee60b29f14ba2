package segment

import (
	"fmt"
	"math"
	"slices"
)

// Append adds a batch to the log: it copies the parts of the body behind one head into the tail block, from where
// readers have it at once. Nothing is written to the disk before Flush, unless more than the bound of unwritten bytes
// has gathered. The parts are lent.
//
// A message batch must consist of exactly h.Count whole records, which may span parts. Errors: ErrBatchTooLarge,
// ErrBadBatch, ErrOutOfOrder, which change nothing; ErrFailed, ErrClosed.
func (l *Log) Append(h Head, body ...[]byte) error { return l.append(h, 0, nil, body) }

// append is Append. With flagPacked, what is stored is packed instead of the body.
func (l *Log) append(h Head, flags uint8, packed []byte, body [][]byte) error {
	if err := l.usable(); err != nil {
		return err
	}
	n := 0
	for _, p := range body {
		n += len(p)
	}
	if err := l.checkHead(&h, n); err != nil {
		return err
	}
	maxTime, err := l.checkBody(&h, body)
	if err != nil {
		return err
	}
	if flags&flagPacked != 0 {
		n = len(packed)
	}
	head := batchHead{Head: h, flags: flags, durable: l.provable(h.Index)}
	head.measure(n, l.opts.shortMost)
	length := head.length
	if l.unflushed+int64(length) > l.maxUnwritten && l.unflushed > 0 {
		if _, err := l.Flush(false); err != nil {
			return err
		}
	}
	l.appending.Lock()
	defer l.appending.Unlock()
	b := l.reserve(length, &h)
	start := int(b.len.Load())
	data := b.bytes[start : start+length]
	at := head.size
	if flags&flagPacked != 0 {
		copy(data[at:], packed)
	} else {
		for _, p := range body {
			at += copy(data[at:], p)
		}
	}
	head.put(data)
	if head.durable > 0 {
		l.proven.durable, l.proven.at = head.durable, h.Index
	}
	l.hash.seal(data)
	l.publish(b, &h, maxTime, int64(length))
	return nil
}

// provable returns what the head of the next batch says to be durable; 0 if one shortly before it said the same.
func (l *Log) provable(index uint64) uint64 {
	d := l.durable.Load()
	if d == l.proven.durable && d+1 != index && index-l.proven.at < durableEvery {
		return 0
	}
	return d
}

// checkBody checks that the parts are h.Count whole records, and returns the largest time among them.
func (l *Log) checkBody(h *Head, body [][]byte) (maxTime int64, err error) {
	if h.Kind != KindMessages {
		return math.MinInt64, nil
	}
	left, delta := h.Count, int64(math.MinInt64)
	whole := true // no record spans parts, as far as seen
	var r recordLayout
	for _, p := range body {
		for whole && len(p) > 0 {
			if whole = left > 0 && layoutRecord(p, &r); whole {
				delta = max(delta, r.delta)
				p = p[r.end():]
				left--
			}
		}
	}
	ok := whole && left == 0
	if !whole && len(body) > 1 {
		delta, ok = checkRecords(slices.Concat(body...), h.Count)
	}
	if !ok {
		return 0, fmt.Errorf("%w: body is not %d records", ErrBadBatch, h.Count)
	}
	return h.Time + delta, nil
}

func (l *Log) checkHead(h *Head, n int) error {
	switch {
	case n > l.opts.MaxBatchBytes:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrBatchTooLarge, n, l.opts.MaxBatchBytes)
	case h.Kind < KindMessages || h.Kind > KindCommand:
		return fmt.Errorf("%w: kind %d", ErrBadBatch, h.Kind)
	case (h.Kind == KindMessages) != (h.Count > 0):
		return fmt.Errorf("%w: %d messages in kind %d", ErrBadBatch, h.Count, h.Kind)
	case h.next() < h.Base:
		return fmt.Errorf("%w: sequences pass the largest number", ErrBadBatch)
	}
	last, next := l.last.Load(), l.next.Load()
	if h.Index != last+1 && (last > 0 || h.Index == 0) {
		return fmt.Errorf("%w: index %d after %d", ErrOutOfOrder, h.Index, last)
	}
	if h.Base < next {
		return fmt.Errorf("%w: base %d below next sequence %d", ErrOutOfOrder, h.Base, next)
	}
	return nil
}

// reserve returns the block that the next n bytes go into, with a new segment and block as needed. appending is held.
func (l *Log) reserve(n int, h *Head) *block {
	s := l.active
	if s == nil || !s.fits(h, n, l.opts.SegmentBytes) {
		s = l.roll(h)
	}
	if blocks := l.tail.Load().blocks; len(blocks) > 0 {
		if b := blocks[len(blocks)-1]; b.seg == s && len(b.bytes)-int(b.len.Load()) >= n {
			return b
		}
	}
	return l.addBlock(s, n)
}

// fits says whether a batch of n bytes may go into the segment. An empty one takes a batch of any size; one of a format that
// does not know short heads takes none.
func (s *segment) fits(h *Head, n int, limit int64) bool {
	if s.longHeads {
		return false
	}
	if s.empty() {
		return true
	}
	return s.size.Load()+int64(n) <= limit && h.Base-s.base <= math.MaxUint32 && h.Index-s.first <= math.MaxUint32
}

// roll seals the active segment and begins the next one, whose file is created when it is first written.
func (l *Log) roll(h *Head) *segment {
	head := segmentHead{generation: l.generation, serial: l.firstSerial, base: h.Base, first: h.Index, created: h.Time}
	segs := *l.segs.Load()
	suffix := uint64(0)
	if n := len(segs); n > 0 {
		prev := segs[n-1]
		head.serial, head.prevEnd = prev.serial+1, prev.size.Load()
		if prev.base == head.base {
			suffix = head.serial
		}
	}
	s := newSegment(l.opts.FS, l.opts.Dir, suffix, head)
	s.mu.sparse = &sparse{}
	l.bytes.Add(s.size.Load())
	l.changeSegments(func(list []*segment) []*segment { return append(list, s) })
	if prev := l.active; prev != nil {
		prev.sealed.Store(true)
		l.sealIfWritten(prev)
	}
	l.active = s
	return s
}

// publish makes a batch that lies behind the end of b known to readers.
func (l *Log) publish(b *block, h *Head, maxTime, length int64) {
	s := b.seg
	pos := s.size.Load()
	first := b.len.Load() == 0
	b.len.Add(length)
	s.size.Store(pos + length)
	if x := s.mu.sparse; first || x.due(pos) { // only the owner changes it, so it may look without the lock
		s.mu.Lock()
		x.note(&s.segmentHead, h, pos, s.maxTime.Load())
		s.mu.Unlock()
	}
	if maxTime > s.maxTime.Load() {
		s.maxTime.Store(maxTime)
	}
	s.last.Store(h.Index)
	l.last.Store(h.Index)
	l.next.Store(h.next())
	l.unflushed += length
	l.bytes.Add(length)
}
