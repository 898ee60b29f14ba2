package wire

import (
	"fmt"
)

// Ordered checks that the messages of every publisher arrive complete, once
// and in order.
type Ordered struct {
	Got  uint64
	next []uint64
	body []byte
}

// NewOrdered expects messages of the given size from publishers 0..pubs-1.
func NewOrdered(pubs, size int) *Ordered {
	return &Ordered{next: make([]uint64, pubs), body: NewPayload(size)}
}

// Check takes one payload. Every 64th is compared byte for byte.
func (o *Ordered) Check(p []byte) error {
	seq, pub, err := ReadStamp(p)
	if err != nil {
		return err
	}
	if int(pub) >= len(o.next) {
		return fmt.Errorf("message of unknown publisher %d", pub)
	}
	if want := o.next[pub]; seq != want {
		if seq < want {
			return fmt.Errorf("message %d of publisher %d duplicated or out of order (expected %d)", seq, pub, want)
		}
		return fmt.Errorf("messages %d..%d of publisher %d lost or out of order", want, seq-1, pub)
	}
	o.next[pub]++
	o.Got++
	return CheckBody(o.body, p, seq)
}

// Received returns how many messages of one publisher have come.
func (o *Ordered) Received(pub int) uint64 { return o.next[pub] }
