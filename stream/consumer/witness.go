package consumer

import (
	"math/rand/v2"

	"godwit/stream/segment"
)

// fate is what has become of a witness.
type fate uint8

const (
	fateAhead     fate = iota // nothing yet
	fateDelivered             // it was delivered, and may wait for its acknowledgement
	fateResolved              // it was acknowledged, or given up by a client
)

// witness is one message that the consumer had not come to when it was chosen. What the consumer does to it is noted
// independently of cursor and pending deliveries, so that a later Audit sees a message that was passed over, or
// forgotten while it was out. It costs a comparison per delivery and per acknowledgement, and nothing is logged of it.
type witness struct {
	seq  uint64 // 0: none
	fate fate
}

// saw notes what happens to a message, if it is the witness.
func (w *witness) saw(seq uint64, f fate) {
	if seq == w.seq {
		w.fate = f
	}
}

const (
	// witnessAhead is how far ahead of the cursor a witness may be, so that it is reached in a while. It may not be stored yet.
	witnessAhead = 256
	// witnessTries bounds the messages that are read to find one that the consumer wants.
	witnessTries = 8
)

// auditWitness asks the witness, and chooses another one when it has nothing more to say.
func (c *Consumer) auditWitness(fault func(string, ...any)) {
	w := &c.witness
	if w.seq > c.Store.High() {
		return // still to come
	}
	if w.seq > 0 && c.wantsStored(w.seq) {
		_, pending := c.pend.get(w.seq, 0)
		ahead := c.ahead(w.seq)
		switch {
		case w.fate == fateAhead && ahead && !pending:
			return
		case w.fate == fateAhead:
			fault("message %d was passed over: ahead %v, pending %v", w.seq, ahead, pending)
		case w.fate == fateDelivered && pending && !ahead:
			return
		case w.fate == fateDelivered:
			fault("message %d was delivered and forgotten: ahead %v, pending %v", w.seq, ahead, pending)
		case pending || ahead:
			fault("message %d was acknowledged and comes again: ahead %v, pending %v", w.seq, ahead, pending)
		}
	}
	*w = witness{}
	for range witnessTries {
		seq := c.somewhereAhead()
		if c.ahead(seq) && (seq > c.Store.High() || c.wantsStored(seq)) {
			w.seq = seq
			return
		}
	}
}

// somewhereAhead returns a sequence, near to the cursor, at random.
func (c *Consumer) somewhereAhead() uint64 {
	if n := c.lasts.left(); n > 0 {
		return c.lasts.seqs[c.lasts.at+rand.IntN(n)]
	}
	return c.Store.Next(c.next + rand.Uint64N(witnessAhead))
}

// wantsStored says whether a message is stored, can be read, and is one that the consumer wants.
func (c *Consumer) wantsStored(seq uint64) bool {
	var r segment.Record
	_, err := c.Store.Read(seq, &r)
	return err == nil && c.Wants(r.Subject)
}
