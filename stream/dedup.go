package stream

import (
	"encoding/binary"
	"errors"

	"github.com/minio/highwayhash"
)

var errBadDedup = errors.New("malformed window of message ids")

// dedup remembers the ids of messages for a time, whatever becomes of the messages. It keeps hashes in two flat
// generations: when the younger one is a whole window old, the elder is dropped. The hash is keyed by the partition, so
// that nobody outside can look for collisions; two ids in one window share one by chance once in 2^64 pairs.
type dedup struct {
	key    [32]byte
	window int64 // ns; 0: off
	young  idTable
	elder  idTable
	since  int64 // when young began
}

// idTable is an open-addressing table by hash.
type idTable struct {
	slots []idSlot // length is a power of two
	n     int
}

// idSlot is one id; seq 0 is an empty slot.
type idSlot struct {
	hash uint64
	seq  uint64
	time int64 // of the message
}

func (d *dedup) hash(id []byte) uint64 { return highwayhash.Sum64(id, d.key[:]) }

// find returns the sequence of the message that carried an id within the window before now, 0 if there is none.
func (d *dedup) find(hash uint64, now int64) uint64 {
	if d.window <= 0 {
		return 0
	}
	for _, t := range [...]*idTable{&d.young, &d.elder} {
		if s := t.find(hash); s != nil && now-s.time < d.window {
			return s.seq
		}
	}
	return 0
}

// add remembers an id.
func (d *dedup) add(hash, seq uint64, time int64) {
	if d.window <= 0 {
		return
	}
	d.rotate(time)
	d.young.put(idSlot{hash, seq, time})
}

// rotate drops what the window has left behind.
func (d *dedup) rotate(now int64) {
	if d.since == 0 {
		d.since = now
	}
	if now-d.since < d.window {
		return
	}
	d.elder, d.young = d.young, idTable{}
	if now-d.since >= 2*d.window {
		d.elder = idTable{}
	}
	d.since = now
}

// resize changes the window; it applies to the ids remembered.
func (d *dedup) resize(window int64) {
	d.window = window
	if window <= 0 {
		d.young, d.elder, d.since = idTable{}, idTable{}, 0
	}
}

// due is when rotate has something to drop, 0 for never.
func (d *dedup) due() int64 {
	if d.window <= 0 || d.young.n+d.elder.n == 0 || d.since > 1<<62-d.window {
		return 0
	}
	return d.since + d.window
}

func (t *idTable) find(hash uint64) *idSlot {
	if t.n == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; t.slots[i].seq != 0; i = (i + 1) & mask {
		if t.slots[i].hash == hash {
			return &t.slots[i]
		}
	}
	return nil
}

func (t *idTable) put(s idSlot) {
	if old := t.find(s.hash); old != nil {
		*old = s
		return
	}
	if 4*(t.n+1) > 3*len(t.slots) {
		bigger := make([]idSlot, max(64, 2*len(t.slots)))
		for _, o := range t.slots {
			if o.seq != 0 {
				insertID(bigger, o)
			}
		}
		t.slots = bigger
	}
	insertID(t.slots, s)
	t.n++
}

func insertID(slots []idSlot, s idSlot) {
	mask := uint64(len(slots) - 1)
	i := s.hash & mask
	for slots[i].seq != 0 {
		i = (i + 1) & mask
	}
	slots[i] = s
}

// appendTo encodes the ids of messages up to last that are still within the window at now.
func (d *dedup) appendTo(dst []byte, last uint64, now int64) []byte {
	n, at := 0, len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, 0)
	for _, t := range [...]*idTable{&d.elder, &d.young} {
		for _, s := range t.slots {
			if s.seq != 0 && s.seq <= last && now-s.time < d.window {
				dst = binary.LittleEndian.AppendUint64(dst, s.hash)
				dst = binary.LittleEndian.AppendUint64(dst, s.seq)
				dst = binary.LittleEndian.AppendUint64(dst, uint64(s.time))
				n++
			}
		}
	}
	binary.LittleEndian.PutUint64(dst[at:], uint64(n))
	return dst
}

func (d *dedup) decode(dec *decoder) error {
	d.young, d.elder, d.since = idTable{}, idTable{}, 0
	head := dec.bytes(8)
	if dec.bad {
		return errBadDedup
	}
	n := binary.LittleEndian.Uint64(head)
	if n > uint64(len(dec.b))/24 {
		dec.fail()
		return errBadDedup
	}
	for range n {
		b := dec.bytes(24)
		s := idSlot{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), int64(binary.LittleEndian.Uint64(b[16:]))}
		if s.seq == 0 {
			dec.fail()
			return errBadDedup
		}
		d.young.put(s)
		if d.since == 0 || s.time < d.since {
			d.since = s.time
		}
	}
	return nil
}
