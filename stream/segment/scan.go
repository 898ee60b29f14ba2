package segment

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"godwit/stream/vfs"
)

const scanBytes = 1 << 20 // one read of a scan

// scanner reads and verifies the batches of segment files in order. It reuses one buffer, so a scan allocates nothing
// per batch. One goroutine uses it.
type scanner struct {
	hash *hasher
	buf  []byte
	f    vfs.File // buf[:n] is its content at from
	from int64
	n    int
	// guard, unless it is nil, is held while f is read; see segment.content.
	guard *sync.RWMutex
	found batchHead // of what find found
}

func newScanner(hash *hasher) *scanner { return &scanner{hash: hash} }

// window returns what is known of f from pos on: at least need bytes, less only where the file ends before limit.
func (sc *scanner) window(f vfs.File, pos, limit int64, need int) ([]byte, error) {
	if sc.f == f && pos >= sc.from && pos+int64(need) <= sc.from+int64(sc.n) {
		return sc.buf[pos-sc.from : sc.n], nil
	}
	want := int(min(int64(max(need, scanBytes)), limit-pos))
	if cap(sc.buf) < want {
		sc.buf = make([]byte, want)
	}
	sc.buf = sc.buf[:cap(sc.buf)]
	if sc.guard != nil {
		sc.guard.RLock()
	}
	n, err := f.ReadAt(sc.buf[:want], pos)
	if sc.guard != nil {
		sc.guard.RUnlock()
	}
	if err != nil && err != io.EOF {
		sc.f = nil
		return nil, fmt.Errorf("read %s at %d: %w", f.Name(), pos, err)
	}
	sc.f, sc.from, sc.n = f, pos, n
	return sc.buf[:n], nil
}

// forget drops what was read; the file may be closed or changed.
func (sc *scanner) forget() { sc.f, sc.n = nil, 0 }

// visitor looks at one intact batch, which is lent. A reason says why it cannot be right at that place.
type visitor func(h *batchHead, b []byte, pos int64) (reason string, err error)

// run verifies the batches from pos to limit and calls visit for each. It stops early where a batch is broken, or where
// visit gives a reason: then reason is not empty and end is the position.
func (sc *scanner) run(f vfs.File, pos, limit int64, visit visitor) (end int64, reason string, err error) {
	var h batchHead
	need := headLeast
	for pos < limit {
		if pos+int64(need) > limit {
			return pos, "batch passes the end of the segment", nil
		}
		b, err := sc.window(f, pos, limit, need)
		if err != nil {
			return pos, "", err
		}
		if len(b) < need {
			return pos, "file ends too early", nil
		}
		state, n, reason := sc.hash.checkBatch(b, &h)
		switch state {
		case batchShort:
			need = n
			continue
		case batchNewer:
			return pos, "", fmt.Errorf("%s at %d: %w", f.Name(), pos, ErrNewerFormat)
		case batchBad:
			return pos, reason, nil
		}
		if reason, err := visit(&h, b[:n:n], pos); reason != "" || err != nil {
			return pos, reason, err
		}
		pos += int64(n)
		need = headLeast
	}
	return pos, "", nil
}

// find returns the first intact batch in [pos, limit) whose index is at least minIndex; sc.found is its head.
func (sc *scanner) find(f vfs.File, pos, limit int64, minIndex uint64) (at int64, found bool, err error) {
	for ; pos+headLeast <= limit; pos++ {
		b, err := sc.window(f, pos, limit, headLeast)
		if err != nil {
			return 0, false, err
		}
		if len(b) < headLeast {
			return 0, false, nil
		}
		o := 0
		for o < len(b)-headLeast && !mayBegin(b[o:]) {
			o++
		}
		pos += int64(o)
		state, err := sc.check(f, pos, limit)
		switch {
		case err != nil:
			return 0, false, err
		case state == batchNewer:
			return 0, false, fmt.Errorf("%s at %d: %w", f.Name(), pos, ErrNewerFormat)
		case state == batchGood && sc.found.Index >= minIndex:
			return pos, true, nil
		}
	}
	return 0, false, nil
}

// mayBegin says whether b, of at least headLeast bytes, is worth a look: most bytes are not.
func mayBegin(b []byte) bool {
	if isShort(b) {
		n := binary.LittleEndian.Uint16(b[8:])
		return n >= headLeast && n <= shortMost && b[11]>>tagKind&3 != 0
	}
	return b[12] > 0 && b[12] <= byte(KindCommand) && b[13] > 0
}

// check verifies the batch at pos, which may be none, and sets sc.found if it is good.
func (sc *scanner) check(f vfs.File, pos, limit int64) (batchState, error) {
	for need := headLeast; ; {
		if pos+int64(need) > limit {
			return batchBad, nil
		}
		b, err := sc.window(f, pos, limit, need)
		if err != nil || len(b) < need {
			return batchBad, err
		}
		state, n, _ := sc.hash.checkBatch(b, &sc.found)
		if state != batchShort {
			return state, nil
		}
		need = n
	}
}

// isZero reports whether f holds nothing but zeros in [pos, limit).
func isZero(f vfs.File, pos, limit int64) (bool, error) {
	buf := make([]byte, min(int64(64<<10), max(limit-pos, 0)))
	for pos < limit {
		b := buf[:min(int64(len(buf)), limit-pos)]
		n, err := f.ReadAt(b, pos)
		if err != nil && err != io.EOF {
			return false, fmt.Errorf("read %s at %d: %w", f.Name(), pos, err)
		}
		for _, c := range b[:n] {
			if c != 0 {
				return false, nil
			}
		}
		if n < len(b) {
			return true, nil
		}
		pos += int64(n)
	}
	return true, nil
}

// maxTimeOf returns the largest time of a message in an intact batch, and whether its records are whole.
func maxTimeOf(h *Head, body []byte) (int64, bool) {
	if h.Kind != KindMessages {
		return math.MinInt64, true
	}
	delta, ok := checkRecords(body, h.Count)
	return h.Time + delta, ok
}

// walk verifies the batches of a segment and calls visit for each intact one, in order, with its position and the largest
// time of the messages before it. Behind damage it goes on with the next intact batch; damaged, unless it is nil, is told
// where each stretch lies, which sequence comes first in it, and which behind it. next is 0 if nothing intact follows.
func (sc *scanner) walk(s *segment, f vfs.File, visit func(h *batchHead, pos, maxTime int64), damaged func(pos, next int64, reason string, first, after uint64) error) error {
	sc.guard = &s.content
	var unpacked []byte
	maxTime := int64(math.MinInt64)
	index, seq, pos, limit := s.first, s.base, int64(segmentHeadBytes), s.size.Load()
	for pos < limit {
		end, reason, err := sc.run(f, pos, limit, func(h *batchHead, b []byte, at int64) (string, error) {
			if h.Index < index || h.Base < seq {
				return "out of order", nil
			}
			visit(h, at, maxTime)
			if body, ok := h.bodyOf(b, &unpacked); ok {
				if t, ok := maxTimeOf(&h.Head, body); ok {
					maxTime = max(maxTime, t)
				}
			}
			index, seq = h.Index+1, h.next()
			return "", nil
		})
		if err != nil || reason == "" {
			return err
		}
		next, found, err := sc.find(f, end+1, limit, index)
		if err != nil {
			return err
		}
		if damaged != nil {
			if err := damaged(end, next, reason, seq, sc.found.Base); err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
		pos = next
	}
	return nil
}

// rebuildSparse scans a sealed segment for its index. Damaged stretches have no entries.
func rebuildSparse(s *segment, f vfs.File, hash *hasher) (*sparse, error) {
	x := &sparse{}
	err := newScanner(hash).walk(s, f, func(h *batchHead, pos, maxTime int64) {
		x.noteDue(&s.segmentHead, &h.Head, pos, maxTime)
	}, nil)
	if err != nil {
		return nil, err
	}
	return x, nil
}
