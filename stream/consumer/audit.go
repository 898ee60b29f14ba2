package consumer

import (
	"fmt"
	"math/rand/v2"
)

// The standing invariant: each stored message that a consumer wants is acknowledged, out, parked or ahead of the cursor, and
// the numbers that the consumer shows say so. It holds between any two turns of the partition.

// Audit holds the consumer to the standing invariant and calls report for each thing that is wrong. It looks at about
// max deliveries at most, and returns how many it has looked at; the sums over them are checked only if there are no more.
// It changes nothing that shows. What the consumer has passed is checked by a witness, one message at a time: see witness.
// What is ahead, the partition counts.
func (c *Consumer) Audit(max int, report func(text string)) (looked int) {
	c.follow()
	fault := func(format string, args ...any) { report(fmt.Sprintf(format, args...)) }
	if c.floor.Stream > c.delivered.Stream || c.floor.Consumer > c.delivered.Consumer {
		fault("the ack floor %+v is beyond what was delivered, %+v", c.floor, c.delivered)
	}
	if seq, _, ok := c.pend.lowest(); ok && seq <= c.floor.Stream {
		fault("message %d waits for its acknowledgement below the ack floor %d", seq, c.floor.Stream)
	}
	if !c.tracks() && !c.pend.empty() {
		fault("%d messages wait for acknowledgements that nobody gives", c.pend.live+len(c.pend.odd))
	}
	c.pend.audit(max, fault, func(e Entry) {
		looked++
		switch {
		case e.Stream > c.delivered.Stream || e.Consumer > c.delivered.Consumer || e.Deliveries == 0:
			fault("message %d waits for its acknowledgement and was not delivered: %+v", e.Stream, e)
		case c.ahead(e.Stream):
			fault("message %d is both delivered and ahead", e.Stream)
		case c.Store.Next(e.Stream) != e.Stream:
			fault("message %d waits for its acknowledgement and is not stored", e.Stream)
		}
	})
	c.auditWitness(fault)
	return looked
}

// audit checks the ring and the exceptions, and calls f for those that it looks at: all, or about max at random.
func (p *pending) audit(max int, fault func(string, ...any), f func(e Entry)) {
	span := p.tail - p.head
	if span > uint64(len(p.slots)) || p.live < 0 || uint64(p.live) > span {
		fault("%d deliveries are out between %d and %d of %d places", p.live, p.head, p.tail, len(p.slots))
		return
	}
	from, to := p.head, p.tail
	whole := span+uint64(len(p.odd)) <= uint64(max)
	if !whole && span > uint64(max)/2 {
		from += rand.Uint64N(span - uint64(max)/2 + 1)
		to = from + uint64(max)/2
	}
	live, last := 0, uint64(0)
	for cseq := from; cseq < to; cseq++ {
		s := p.at(cseq)
		if s.seq == 0 {
			continue
		}
		if s.seq <= last {
			fault("message %d is out after message %d", s.seq, last)
		}
		if p.odd[s.seq] != nil {
			fault("message %d is out twice", s.seq)
		}
		last = s.seq
		live++
		f(Entry{Stream: s.seq, Consumer: cseq, Deliveries: 1, Due: s.at})
	}
	if p.live > 0 && p.at(p.head).seq == 0 {
		fault("the deadlines of %d deliveries are hidden", p.live)
	}
	left := max / 2
	for seq, e := range p.odd {
		if !whole {
			if left--; left < 0 {
				return
			}
		}
		if e.Stream != seq || e.State > Parked {
			fault("message %d is taken for %d in state %d", e.Stream, seq, e.State)
		}
		f(*e)
	}
	if whole {
		p.auditSums(live, fault)
	}
}

// auditSums checks the sums over all deliveries, and that each exception will be found when it is due. live is how many
// there are in the ring.
func (p *pending) auditSums(live int, fault func(string, ...any)) {
	if p.live != live {
		fault("%d deliveries are counted as out, there are %d", p.live, live)
	}
	inOrder, inQueue, inDue := map[uint64]bool{}, map[uint64]bool{}, map[heapEntry]bool{}
	for _, x := range p.order {
		inOrder[x.seq] = true
	}
	for _, x := range p.queue {
		inQueue[x.seq] = true
	}
	for _, x := range p.due {
		inDue[x] = true
	}
	parked, queued, repeat := 0, 0, 0
	for seq, e := range p.odd {
		switch {
		case e.State == Parked:
			parked++
		case e.State == Queued:
			queued++
			if !inQueue[seq] {
				fault("message %d is due again and will not be found", seq)
			}
		case !inDue[heapEntry{e.Due, seq}]:
			fault("message %d has a deadline that will not be seen", seq)
		}
		if e.Deliveries > 1 {
			repeat++
		}
		if !inOrder[seq] {
			fault("message %d does not hold back the ack floor", seq)
		}
	}
	if p.parked != parked || p.queued != queued || p.repeat != repeat {
		fault("counted are %d parked, %d queued, %d delivered again; there are %d, %d, %d", p.parked, p.queued, p.repeat, parked, queued, repeat)
	}
}
