package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
)

const (
	coldFirst = 32 << 10  // first read of a cursor from a file; reads double up to
	coldMost  = 512 << 10 // but hold at least one batch
)

// Cursor reads the messages of a log in order. One goroutine at a time uses it, beside the owner and other cursors. It
// passes over dropped segments, but reads a batch that it has begun to its end.
//
// Where the messages lie in tail blocks uncompressed, nothing is copied: such slices are shared and valid as long as they
// are held.
// Else the cursor reads the files itself, in large pieces, and verifies every batch; such slices are valid until the
// next call but one of Next, Seek, Skip or Release.
type Cursor struct {
	l   *Log
	seq uint64 // of the next message, at least

	seg *segment // nil: to be located by seq
	pos int64    // of the next batch in seg

	// The batch that is being read.
	batch []byte // nil after Release
	at    int64  // its position
	off   int    // of the next record
	left  int    // records from there on
	time  int64

	// Buffers for pieces of the file: the one in which the current batch lies, or the last one did, and the other, into
	// which the next piece is read. So what the caller got last stays valid for one more call.
	cold  [2][]byte
	held  int
	last  int    // the one that piece lies in
	piece []byte // content of the file at from, in cold[last]
	from  int64
	size  int // of the next read

	// Buffers for compressed batches, used in turns like cold.
	unpacked  [2][]byte
	unpacking int // the one in which the current batch lies, or the last one did

	damage *CorruptError // that the cursor stands at
}

// NewCursor returns a cursor at the first message whose sequence is seq or higher.
func (l *Log) NewCursor(seq uint64) *Cursor { return &Cursor{l: l, seq: seq, size: coldFirst} }

// Seek moves the cursor to the first message whose sequence is seq or higher.
func (c *Cursor) Seek(seq uint64) {
	c.damage = nil
	if c.left > 0 && c.batch != nil && seq >= c.seq && seq-c.seq < uint64(c.left) {
		c.skipTo(seq)
		return
	}
	if seq == c.seq {
		return
	}
	c.seq, c.left, c.batch, c.seg, c.size = seq, 0, nil, nil, coldFirst
}

// skipTo passes over records of the current batch.
func (c *Cursor) skipTo(seq uint64) {
	var r recordLayout
	for c.seq < seq && layoutRecord(c.batch[c.off:], &r) {
		c.off += r.end()
		c.left--
		c.seq++
	}
}

// Release drops the memory that the cursor holds: its own buffers, and the hold on a tail block. It keeps its place, and
// looks that up again when it is used. Call it when a reader pauses.
func (c *Cursor) Release() {
	c.batch, c.piece, c.cold, c.unpacked = nil, nil, [2][]byte{}, [2][]byte{}
	c.size = coldFirst
}

// Next decodes the next message whose sequence is at most high. ok is false if there is none yet; then the cursor stays
// and may be asked again. time is the message's, in ns.
//
// A *CorruptError says that the batch at the cursor is damaged; it is returned until Skip or Seek. Other errors come from
// reading the file, or are ErrClosed.
func (c *Cursor) Next(high uint64, r *Record) (seq uint64, time int64, ok bool, err error) {
	for c.left == 0 || c.batch == nil {
		if c.seq > high {
			return 0, 0, false, nil
		}
		if ok, err := c.advance(); !ok || err != nil {
			return 0, 0, false, err
		}
	}
	if c.seq > high {
		return 0, 0, false, nil
	}
	n, err := ReadRecord(c.batch[c.off:], r)
	if err != nil {
		return 0, 0, false, c.damaged(c.at, "malformed record")
	}
	seq = c.seq
	c.off += n
	c.left--
	c.seq++
	return seq, c.time + r.TimeDelta, true, nil
}

// Skip moves a cursor that met a damaged batch beyond it, to the next intact one.
func (c *Cursor) Skip() {
	if c.damage == nil {
		return
	}
	at := c.damage.Position
	c.damage = nil
	c.left, c.batch, c.piece = 0, nil, nil
	s := c.seg
	if s == nil {
		return
	}
	c.pos = max(s.written.Load(), at) // if nothing intact follows
	f, err := s.acquire()
	if err != nil {
		return // the next call meets it again
	}
	defer c.l.open.touch(s)
	defer s.release()
	if next, found, err := newScanner(c.l.hash).find(f, at+1, s.written.Load(), s.first); err == nil && found {
		c.pos = next
	}
}

func (c *Cursor) damaged(pos int64, reason string) error {
	c.damage = &CorruptError{c.seg.logPath(), pos, reason}
	return c.damage
}

// advance moves to the next batch that holds c.seq or later messages.
func (c *Cursor) advance() (bool, error) {
	if c.damage != nil {
		return false, c.damage
	}
	if c.left > 0 { // released in the middle of a batch
		c.pos, c.left = c.at, 0
	}
	for {
		if c.damage != nil {
			return false, c.damage
		}
		if c.seg == nil || c.seg.dropped.Load() {
			if ok, err := c.find(); !ok || err != nil {
				return false, err
			}
		}
		if b := c.l.tail.Load().find(c.seg, c.pos); b != nil && c.pos < b.end() {
			if c.enterTail(b) {
				return true, nil
			}
			continue
		} else if c.pos < c.seg.written.Load() {
			if ok, err := c.enterCold(); ok || err != nil {
				return ok, err
			}
			continue
		}
		if more, err := c.nextSegment(); !more || err != nil {
			return false, err
		}
	}
}

// enterTail looks at the batch at c.pos in a tail block. It is the log's own work and needs no check.
func (c *Cursor) enterTail(b *block) bool {
	data := b.bytes[c.pos-b.pos : b.len.Load()]
	var h batchHead
	h.get(data)
	return c.enter(&h, data[:h.length:h.length])
}

// enter takes the batch at c.pos as the current one if it holds c.seq or later messages, and passes it.
func (c *Cursor) enter(h *batchHead, batch []byte) bool {
	c.at = c.pos
	c.pos += int64(h.length)
	if h.Kind != KindMessages || h.next() <= c.seq {
		return false
	}
	from := max(c.seq, h.Base)
	c.batch, c.off = batch, h.size
	if h.flags&flagPacked != 0 && !c.unpack(h, batch) {
		c.batch = nil
		c.damage = &CorruptError{c.seg.logPath(), c.at, "batch cannot be decompressed"}
		return false
	}
	c.left, c.time = int(h.Count), h.Time
	c.seq = h.Base
	c.skipTo(from)
	return true
}

// nextSegment moves from the end of a sealed segment to the next. It reports false at the end of the log.
func (c *Cursor) nextSegment() (bool, error) {
	s := c.seg
	if !s.sealed.Load() {
		return false, nil
	}
	if c.pos < s.size.Load() {
		return true, nil // appended since advance looked
	}
	segs := *c.l.segs.Load()
	i := sort.Search(len(segs), func(i int) bool { return segs[i].serial > s.serial })
	if i == len(segs) {
		return false, nil
	}
	c.seg, c.pos, c.piece = segs[i], segmentHeadBytes, nil
	return true, nil
}

// find locates c.seq.
func (c *Cursor) find() (bool, error) {
	c.left, c.batch, c.piece = 0, nil, nil
	for {
		segs := *c.l.segs.Load()
		if len(segs) == 0 {
			c.seg = nil
			return false, nil
		}
		i := max(sort.Search(len(segs), func(i int) bool { return segs[i].base > c.seq })-1, 0)
		s := segs[i]
		p, err := c.l.locate(s, c.seq)
		if err != nil {
			if s.dropped.Load() {
				continue
			}
			return false, err
		}
		c.seg, c.pos = s, p.pos
		return true, nil
	}
}

// enterCold looks at the batch at c.pos in the file, all of which is written.
func (c *Cursor) enterCold() (bool, error) {
	var h batchHead
	need := headLeast
	for {
		if c.piece == nil || c.pos < c.from || c.pos+int64(need) > c.from+int64(len(c.piece)) {
			if err := c.read(need); err != nil {
				if c.seg.dropped.Load() {
					c.seg, c.damage = nil, nil
					return false, nil
				}
				return false, err
			}
		}
		b := c.piece[c.pos-c.from:]
		state, n, reason := c.l.hash.checkBatch(b, &h)
		switch state {
		case batchShort:
			need = n
			if c.pos+int64(need) > c.seg.written.Load() {
				return false, c.damaged(c.pos, "batch passes the end of the segment")
			}
			continue
		case batchNewer:
			return false, fmt.Errorf("%s at %d: %w", c.seg.logPath(), c.pos, ErrNewerFormat)
		case batchBad:
			return false, c.damaged(c.pos, reason)
		}
		if !c.enter(&h, b[:n:n]) {
			return false, nil
		}
		c.held = c.last
		return true, nil
	}
}

// read makes piece hold at least need bytes from c.pos on.
func (c *Cursor) read(need int) error {
	s := c.seg
	left := s.written.Load() - c.pos
	n := int(min(int64(max(need, c.size)), left))
	if n < need {
		return c.damaged(c.pos, "batch passes the end of the segment")
	}
	c.size = min(2*c.size, coldMost)
	c.last = 1 - c.held
	if len(c.cold[c.last]) < n {
		c.cold[c.last] = make([]byte, n)
	}
	buf := c.cold[c.last][:n]
	c.piece = nil
	f, err := s.acquire()
	if err != nil {
		return err
	}
	s.content.RLock()
	k, err := f.ReadAt(buf, c.pos)
	s.content.RUnlock()
	s.release()
	c.l.open.touch(s)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read segment: %w", err)
	}
	if k < need {
		return c.damaged(c.pos, "file ends too early")
	}
	c.piece, c.from = buf[:k], c.pos
	return nil
}

// SeqAt returns the sequence of the first message whose time is t or later, by position in the log; if there is none,
// the sequence to be assigned next. Damaged batches are passed over.
func (l *Log) SeqAt(t int64) uint64 {
again:
	for {
		next := l.next.Load()
		segs := *l.segs.Load()
		for _, s := range segs {
			if s.maxTime.Load() < t {
				continue
			}
			pos, seq, err := l.locateTime(s, t)
			if err != nil {
				pos, seq = segmentHeadBytes, s.base
			}
			c := Cursor{l: l, seq: seq, seg: s, pos: pos, size: 2 * timesEvery}
			if found, ok := c.seek(t, s); ok {
				return found
			}
			if s.dropped.Load() { // another one may have taken its place
				continue again
			}
		}
		return next
	}
}

// seek reads on to the first message of s whose time is t or later.
func (c *Cursor) seek(t int64, s *segment) (uint64, bool) {
	var r Record
	var damage *CorruptError
	for {
		seq, time, ok, err := c.Next(math.MaxUint64, &r)
		switch {
		case errors.As(err, &damage):
			c.Skip()
		case err != nil || !ok || c.seg != s:
			return 0, false
		case time >= t:
			return seq, true
		}
	}
}
