package segment

import "encoding/binary"

// The short form of a batch head; see the package comment. It depends on nothing but the batch, has no checksum of its own, and
// is for batches so small that reading them whole costs no more than reading a head.
const (
	shortFixed = 20 // bytes before the numbers of variable length
	shortLeast = shortFixed + 2
	shortMost  = 4096 // of the whole batch
	// headLeast is the shortest head of either form.
	headLeast = shortLeast

	tagShort  = 0x80 // as the highest bit of a length, where a long head has it, it is never set
	tagKind   = 5    // shift of two bits
	tagFlags  = 3    // likewise
	tagPrev   = 4    // the batch right before is known to be durable
	tagMore   = 2    // a byte of these bits and what they announce follow
	tagSpare  = 1
	moreAttrs = 1
	moreTerm  = 2 // not 1
	moreCount = 4 // not 1
	// moreDurable: and it is not the batch right before.
	moreDurable = 8
	moreSpare   = 0xf0
)

// durableEvery is how many short heads in a row may pass over what is durable if that has not changed: a later batch proves
// the same of all before.
const durableEvery = 16

// isShort says whether b, of at least 12 bytes, begins with a short head.
func isShort(b []byte) bool { return b[11]&tagShort != 0 }

// more returns the bits of what has to be said besides.
func (h *batchHead) more() (bits byte) {
	if h.Attrs != 0 {
		bits |= moreAttrs
	}
	if h.Term != 1 {
		bits |= moreTerm
	}
	if h.Kind == KindMessages && h.Count != 1 {
		bits |= moreCount
	}
	if h.durable > 0 && h.durable != h.Index-1 {
		bits |= moreDurable
	}
	return bits
}

func uvarintBytes(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// measure decides on the form of the head of a batch with a body of n bytes, and sets size and length. most is the largest batch with a
// short head.
func (h *batchHead) measure(n, most int) {
	h.size, h.short = batchHeadBytes, false
	if short := h.shortBytes(); short+n <= most {
		h.size, h.short = short, true
	}
	h.length = h.size + n
}

// shortBytes is the size of the short form.
func (h *batchHead) shortBytes() int {
	n := shortFixed + uvarintBytes(h.Index>>8) + uvarintBytes(zigzag(int64(h.Base-h.Index)))
	bits := h.more()
	if bits == 0 {
		return n
	}
	n++
	if bits&moreAttrs != 0 {
		n++
	}
	if bits&moreTerm != 0 {
		n += uvarintBytes(h.Term)
	}
	if bits&moreCount != 0 {
		n += uvarintBytes(uint64(h.Count))
	}
	if bits&moreDurable != 0 {
		n += uvarintBytes(h.Index - h.durable)
	}
	return n
}

func (h *batchHead) putShort(b []byte) {
	bits := h.more()
	tag := byte(tagShort) | byte(h.Kind)<<tagKind | h.flags<<tagFlags
	if h.durable > 0 && h.durable == h.Index-1 {
		tag |= tagPrev
	}
	if bits != 0 {
		tag |= tagMore
	}
	binary.LittleEndian.PutUint16(b[8:], uint16(h.length))
	b[10], b[11] = byte(h.Index), tag
	binary.LittleEndian.PutUint64(b[12:], uint64(h.Time))
	at := b[shortFixed:shortFixed:h.size]
	at = binary.AppendUvarint(at, h.Index>>8)
	at = binary.AppendUvarint(at, zigzag(int64(h.Base-h.Index)))
	if bits == 0 {
		return
	}
	at = append(at, bits)
	if bits&moreAttrs != 0 {
		at = append(at, h.Attrs)
	}
	if bits&moreTerm != 0 {
		at = binary.AppendUvarint(at, h.Term)
	}
	if bits&moreCount != 0 {
		at = binary.AppendUvarint(at, uint64(h.Count))
	}
	if bits&moreDurable != 0 {
		binary.AppendUvarint(at, h.Index-h.durable)
	}
}

// getShort reads a short head that b begins with, without any check but of its bounds. It reports false if it does not end within b, or
// means nothing.
func (h *batchHead) getShort(b []byte) bool {
	if len(b) < shortLeast {
		return false
	}
	tag := b[11]
	*h = batchHead{short: true, length: int(binary.LittleEndian.Uint16(b[8:])), flags: tag >> tagFlags & 3}
	h.Kind = Kind(tag >> tagKind & 3)
	h.Term = 1
	if h.Kind == KindMessages {
		h.Count = 1
	}
	h.Time = int64(binary.LittleEndian.Uint64(b[12:]))
	at := shortFixed
	sound := true
	number := func() uint64 {
		v, n := binary.Uvarint(b[at:])
		if n <= 0 {
			sound = false
			return 0
		}
		at += n
		return v
	}
	index := number()
	sound = sound && index <= 1<<56-1
	h.Index = index<<8 | uint64(b[10])
	h.Base = h.Index + uint64(unzigzag(number()))
	if tag&tagPrev != 0 {
		h.durable = h.Index - 1
	}
	if tag&tagMore != 0 && sound && at < len(b) {
		bits := b[at]
		at++
		if bits&moreAttrs != 0 && at < len(b) {
			h.Attrs = b[at]
			at++
		}
		if bits&moreTerm != 0 {
			h.Term = number()
		}
		if bits&moreCount != 0 {
			n := number()
			sound = sound && n <= shortMost
			h.Count = uint32(n)
		}
		if bits&moreDurable != 0 {
			back := number()
			sound = sound && back <= h.Index
			h.durable = h.Index - back
		}
		h.newer = bits&moreSpare != 0
	}
	h.newer = h.newer || tag&tagSpare != 0
	h.size = at
	return sound && h.size <= h.length
}
