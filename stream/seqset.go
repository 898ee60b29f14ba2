package stream

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// seqSet is a set of sequences, dense in places: the removed messages between the first and the last one. Blocks of
// 4096 are bitmaps; a full one needs no bitmap.
type seqSet struct {
	blocks map[uint64]*seqBlock // by sequence / blockSeqs
	n      uint64
}

const (
	blockSeqs  = 4096
	blockWords = blockSeqs / 64
)

type seqBlock struct {
	n    int                 // members
	bits *[blockWords]uint64 // nil if all are members
}

var errBadSeqSet = errors.New("malformed set of sequences")

func (s *seqSet) has(seq uint64) bool {
	if s.n == 0 {
		return false
	}
	b := s.blocks[seq/blockSeqs]
	if b == nil {
		return false
	}
	i := seq % blockSeqs
	return b.bits == nil || b.bits[i/64]>>(i%64)&1 != 0
}

// add reports whether seq was not there yet.
func (s *seqSet) add(seq uint64) bool {
	if s.blocks == nil {
		s.blocks = map[uint64]*seqBlock{}
	}
	b := s.blocks[seq/blockSeqs]
	if b == nil {
		b = &seqBlock{bits: new([blockWords]uint64)}
		s.blocks[seq/blockSeqs] = b
	}
	i := seq % blockSeqs
	if b.bits == nil || b.bits[i/64]>>(i%64)&1 != 0 {
		return false
	}
	b.bits[i/64] |= 1 << (i % 64)
	b.n++
	s.n++
	if b.n == blockSeqs {
		b.bits = nil
	}
	return true
}

// addRange adds [from, to). Blocks that become full cost no more than one sequence.
func (s *seqSet) addRange(from, to uint64) {
	for from < to {
		k := from / blockSeqs
		if from%blockSeqs == 0 && to-from >= blockSeqs && s.blocks[k] == nil {
			if s.blocks == nil {
				s.blocks = map[uint64]*seqBlock{}
			}
			s.blocks[k] = &seqBlock{n: blockSeqs}
			s.n += blockSeqs
			from += blockSeqs
			continue
		}
		s.add(from)
		from++
	}
}

// next returns the first sequence at or after seq that is not a member.
func (s *seqSet) next(seq uint64) uint64 {
	if s.n == 0 {
		return seq
	}
	for {
		b := s.blocks[seq/blockSeqs]
		if b == nil {
			return seq
		}
		if b.bits != nil {
			i := seq % blockSeqs
			w := i / 64
			free := ^b.bits[w] &^ (1<<(i%64) - 1)
			for free == 0 {
				if w++; w == blockWords {
					break
				}
				free = ^b.bits[w]
			}
			if free != 0 {
				return seq/blockSeqs*blockSeqs + w*64 + uint64(bits.TrailingZeros64(free))
			}
		}
		seq = (seq/blockSeqs + 1) * blockSeqs
	}
}

// count returns how many members lie in [from, to].
func (s *seqSet) count(from, to uint64) (n uint64) {
	if s.n == 0 || from > to {
		return 0
	}
	for k := from / blockSeqs; k <= to/blockSeqs; k++ {
		b := s.blocks[k]
		if b == nil {
			continue
		}
		lo, hi := uint64(0), uint64(blockSeqs-1)
		if k == from/blockSeqs {
			lo = from % blockSeqs
		}
		if k == to/blockSeqs {
			hi = to % blockSeqs
		}
		n += b.count(lo, hi)
	}
	return n
}

// count returns how many members lie in [lo, hi] of the block.
func (b *seqBlock) count(lo, hi uint64) (n uint64) {
	if b.bits == nil {
		return hi - lo + 1
	}
	if lo == 0 && hi == blockSeqs-1 {
		return uint64(b.n)
	}
	for w := lo / 64; w <= hi/64; w++ {
		v := b.bits[w]
		if w == lo/64 {
			v &^= 1<<(lo%64) - 1
		}
		if w == hi/64 && hi%64 < 63 {
			v &= 1<<(hi%64+1) - 1
		}
		n += uint64(bits.OnesCount64(v))
	}
	return n
}

// dropBelow removes all members below seq. Whole blocks go at once; those of seq's own block may be left, as nobody
// asks for what lies below the first message.
func (s *seqSet) dropBelow(from, seq uint64) {
	if s.n == 0 {
		return
	}
	if seq/blockSeqs-from/blockSeqs > uint64(len(s.blocks)) {
		for k := range s.blocks {
			if k < seq/blockSeqs {
				s.drop(k)
			}
		}
		return
	}
	for k := from / blockSeqs; k < seq/blockSeqs; k++ {
		s.drop(k)
	}
}

func (s *seqSet) drop(k uint64) {
	if b := s.blocks[k]; b != nil {
		s.n -= uint64(b.n)
		delete(s.blocks, k)
	}
}

// part returns a copy of the members in [from, to], and maybe some around.
func (s *seqSet) part(from, to uint64) *seqSet {
	c := &seqSet{blocks: map[uint64]*seqBlock{}}
	take := func(k uint64, b *seqBlock) {
		b = &seqBlock{n: b.n, bits: b.bits}
		if b.bits != nil {
			bits := *b.bits
			b.bits = &bits
		}
		c.blocks[k] = b
		c.n += uint64(b.n)
	}
	if to/blockSeqs-from/blockSeqs > uint64(len(s.blocks)) {
		for k, b := range s.blocks {
			if k >= from/blockSeqs && k <= to/blockSeqs {
				take(k, b)
			}
		}
		return c
	}
	for k := from / blockSeqs; k <= to/blockSeqs; k++ {
		if b := s.blocks[k]; b != nil {
			take(k, b)
		}
	}
	return c
}

func (s *seqSet) clear() { s.blocks, s.n = nil, 0 }

// each calls f for all members in [from, to], ascending, until it returns false.
func (s *seqSet) each(from, to uint64, f func(seq uint64) bool) {
	if s.n == 0 {
		return
	}
	keys := make([]uint64, 0, len(s.blocks))
	for k := range s.blocks {
		if k >= from/blockSeqs && k <= to/blockSeqs {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		for i := range uint64(blockSeqs) {
			if seq := k*blockSeqs + i; seq >= from && seq <= to && s.has(seq) && !f(seq) {
				return
			}
		}
	}
}

// appendTo encodes the set: number of blocks, each with its number as distance, its count, and its bitmap unless full.
func (s *seqSet) appendTo(dst []byte) []byte {
	keys := make([]uint64, 0, len(s.blocks))
	for k := range s.blocks {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = binary.AppendUvarint(dst, uint64(len(keys)))
	last := uint64(0)
	for _, k := range keys {
		b := s.blocks[k]
		dst = binary.AppendUvarint(dst, k-last)
		dst = binary.AppendUvarint(dst, uint64(b.n))
		last = k
		if b.bits != nil {
			for _, w := range b.bits {
				dst = binary.LittleEndian.AppendUint64(dst, w)
			}
		}
	}
	return dst
}

func (s *seqSet) decode(d *decoder) error {
	s.clear()
	last := uint64(0)
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		last += d.uvarint()
		b := &seqBlock{n: int(min(d.uvarint(), blockSeqs+1))}
		if b.n > blockSeqs {
			d.fail()
			break
		}
		if b.n < blockSeqs {
			raw := d.bytes(8 * blockWords)
			if d.bad {
				break
			}
			b.bits = new([blockWords]uint64)
			members := 0
			for i := range b.bits {
				b.bits[i] = binary.LittleEndian.Uint64(raw[8*i:])
				members += bits.OnesCount64(b.bits[i])
			}
			if members != b.n {
				d.bad = true
			}
		}
		if s.blocks == nil {
			s.blocks = map[uint64]*seqBlock{}
		}
		s.blocks[last] = b
		s.n += uint64(b.n)
	}
	if d.bad {
		return errBadSeqSet
	}
	return nil
}
