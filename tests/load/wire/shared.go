package wire

import (
	"fmt"
	"math/bits"
)

// Shared checks one of several receivers that share the messages: each sees
// an increasing subset; merged, they must make up the whole exactly once.
type Shared struct {
	Got  uint64
	seen [][]uint64 // bit set of each publisher
	last []int64
	body []byte
}

// NewShared expects up to msgs messages from each publisher.
func NewShared(pubs int, msgs uint64, size int) *Shared {
	s := &Shared{seen: make([][]uint64, pubs), last: make([]int64, pubs), body: NewPayload(size)}
	for i := range s.seen {
		s.seen[i] = make([]uint64, (msgs+63)/64)
		s.last[i] = -1
	}
	return s
}

// Check takes one payload.
func (s *Shared) Check(p []byte) error {
	seq, pub, err := ReadStamp(p)
	if err != nil {
		return err
	}
	if int(pub) >= len(s.seen) || seq/64 >= uint64(len(s.seen[pub])) {
		return fmt.Errorf("message %d of publisher %d was never sent", seq, pub)
	}
	if int64(seq) <= s.last[pub] {
		return fmt.Errorf("message %d of publisher %d duplicated or out of order (after %d)", seq, pub, s.last[pub])
	}
	s.last[pub] = int64(seq)
	s.seen[pub][seq/64] |= 1 << (seq % 64)
	s.Got++
	return CheckBody(s.body, p, seq)
}

// MergeShared checks that the receivers together saw msgs messages of every
// publisher, each once.
func MergeShared(all []*Shared, msgs uint64) error {
	for pub := range all[0].seen {
		union := make([]uint64, len(all[0].seen[pub]))
		for _, s := range all {
			for i, word := range s.seen[pub] {
				if dup := union[i] & word; dup != 0 {
					return fmt.Errorf("message %d of publisher %d delivered to two receivers",
						i*64+bits.TrailingZeros64(dup), pub)
				}
				union[i] |= word
			}
		}
		var n uint64
		for _, word := range union {
			n += uint64(bits.OnesCount64(word))
		}
		if n != msgs {
			return fmt.Errorf("%d of %d messages of publisher %d lost", msgs-n, msgs, pub)
		}
	}
	return nil
}
