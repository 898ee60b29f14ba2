package segment

import (
	"bytes"
	"errors"
	"math"
	"sort"
)

// Read decodes the message of that sequence and returns its time. The slices of r are shared: valid as long as they are
// held. What lies near it is kept in the cache. Errors: ErrNotFound; *CorruptError; ErrClosed or what reading the file gave.
func (l *Log) Read(seq uint64, r *Record) (time int64, err error) {
	if seq >= l.next.Load() || seq == math.MaxUint64 {
		return 0, ErrNotFound
	}
	for {
		segs := *l.segs.Load()
		i := sort.Search(len(segs), func(i int) bool { return segs[i].base > seq }) - 1
		if i < 0 {
			return 0, ErrNotFound
		}
		s := segs[i]
		p, err := l.locate(s, seq)
		if err != nil {
			if s.dropped.Load() {
				continue
			}
			return 0, err
		}
		key := regionKey{l.id, s.serial, s.revision + s.erasures.Load(), p.pos}
		reg := l.opts.Cache.get(key)
		if reg == nil || reg.next() <= seq {
			if reg, err = l.loadRegion(s, key, seq); err != nil {
				return 0, err
			}
		}
		if time, ok := reg.read(seq, r); ok {
			return time, nil
		}
		if !s.dropped.Load() {
			return 0, ErrNotFound
		}
	}
}

// loadRegion reads the batches from a place on up to the one that holds a sequence, and puts them into the cache unless
// there is damage among them. The error is about damage in the place of that sequence, or about reading.
func (l *Log) loadRegion(s *segment, key regionKey, seq uint64) (*region, error) {
	reg := &region{key: key, bytes: regionOverhead}
	c := Cursor{l: l, seq: 0, seg: s, pos: key.pos, size: 2 * indexEvery}
	var damage *CorruptError
	for more := true; more && reg.next() <= seq; {
		ok, err := c.advance()
		switch {
		case errors.As(err, &damage):
			c.Skip()
			continue
		case err != nil:
			return nil, err
		case !ok || c.seg != s:
			more = false // it is not there
			continue
		}
		b := regionBatch{base: c.seq, time: c.time, records: bytes.Clone(c.batch[c.off:]), starts: make([]uint32, 0, c.left)}
		var rec recordLayout
		for at := 0; c.left > 0; c.left-- {
			if !layoutRecord(b.records[at:], &rec) {
				break // the checksum says that it was written so
			}
			b.starts = append(b.starts, uint32(at))
			at += rec.end()
			c.seq++
		}
		reg.batches = append(reg.batches, b)
		reg.bytes += regionOverhead + len(b.records) + 4*len(b.starts)
		c.left, c.batch = 0, nil
	}
	if damage != nil {
		if _, ok := reg.read(seq, &Record{}); !ok {
			return nil, damage
		}
		return reg, nil
	}
	l.opts.Cache.put(reg)
	return reg, nil
}
