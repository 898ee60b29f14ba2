package segment

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
)

// flagPacked is the bit of a batch's flags that says that its body is one S2 block.
const flagPacked = 1

// flagPadded, with flagPacked, says that the block does not fill the body: its length is the last 4 bytes of it, little endian.
const flagPadded = 2

// padBytes is the least that a padded body is longer than its block.
const padBytes = 4

// packMin is the smallest body that is worth compressing, in bytes.
const packMin = 128

// AppendPacked is Append with the body compressed, unless that makes it hardly smaller. Readers and Replay get the
// records as they were. MaxBatchBytes bounds the body before it is compressed; sizes of segments count it after.
func (l *Log) AppendPacked(h Head, body ...[]byte) error {
	n := 0
	for _, p := range body {
		n += len(p)
	}
	if h.Kind != KindMessages || n < packMin || n > l.opts.MaxBatchBytes {
		return l.Append(h, body...)
	}
	whole := body[0]
	if len(body) > 1 {
		l.plain = l.plain[:0]
		for _, p := range body {
			l.plain = append(l.plain, p...)
		}
		whole = l.plain
	}
	if most := s2.MaxEncodedLen(n); cap(l.packed) < most {
		l.packed = make([]byte, most)
	}
	packed := s2.Encode(l.packed[:cap(l.packed)], whole)
	defer l.dropScratch()
	if len(packed) > n-n/16 {
		return l.Append(h, body...)
	}
	return l.append(h, flagPacked, packed, body)
}

// scratchMax bounds the memory kept for the next batch, in bytes.
const scratchMax = 1 << 20

func (l *Log) dropScratch() {
	if cap(l.plain) > scratchMax {
		l.plain = nil
	}
	if cap(l.packed) > scratchMax {
		l.packed = nil
	}
}

// bodyOf returns the body of the intact batch b, unpacked into buf if it is compressed; buf may grow. It reports false if
// that fails.
func (h *batchHead) bodyOf(b []byte, buf *[]byte) ([]byte, bool) {
	body := b[h.size:]
	if h.flags&flagPacked == 0 {
		return body, true
	}
	if h.flags&flagPadded != 0 {
		room := len(body) - padBytes
		if room < 0 {
			return nil, false
		}
		n := binary.LittleEndian.Uint32(body[room:])
		if uint64(n) > uint64(room) {
			return nil, false
		}
		body = body[:n]
	}
	n, err := s2.DecodedLen(body)
	if err != nil || n > maxBodyBytes {
		return nil, false
	}
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	body, err = s2.Decode((*buf)[:n], body)
	return body, err == nil
}

// unpack makes a compressed batch the current one: its body lies in a buffer of the cursor's own. What the caller got
// last may lie in the other one.
func (c *Cursor) unpack(h *batchHead, batch []byte) bool {
	c.unpacking = 1 - c.unpacking
	body, ok := h.bodyOf(batch, &c.unpacked[c.unpacking])
	if !ok {
		return false
	}
	c.batch, c.off = body[:len(body):len(body)], 0
	return true
}

// packedWell says whether the flags of a batch make sense.
func (h *batchHead) packedWell() (known, sound bool) {
	return h.flags&^(flagPacked|flagPadded) == 0, h.flags == 0 || h.flags&flagPacked != 0 && h.Kind == KindMessages && h.length > h.size
}
