package consumer

import (
	"math"

	"godwit/protocol/jsapi"
)

// forever is an ack wait that does not end, in ns; small enough to be added to a time.
const forever = math.MaxInt64 / 4

// byFlow says whether answers to flow control requests acknowledge what was delivered before them.
func (c *Consumer) byFlow() bool { return c.cfg.AckPolicy == jsapi.AckFlowControl }

// ackFlow acknowledges all up to a stream sequence.
func (c *Consumer) ackFlow(seq uint64, now int64) {
	seq = min(seq, c.delivered.Stream)
	if c.settleTo(seq) == 0 {
		return
	}
	c.ackTime, c.used = now, now
	c.log.dirty = true
	c.moveFloor()
}

// wantFlow says whether it is time to ask the client how far it is: half of what it may leave open is out.
func (c *Consumer) wantFlow() bool {
	p := &c.push
	if len(p.ask) > 0 {
		return false
	}
	return p.out > p.window/2 || c.byFlow() && 2*c.pend.len() >= c.cfg.MaxAckPending
}

// requeue makes everything that was delivered due again: the client that had it is gone.
func (p *pending) requeue() {
	for p.head < p.tail {
		e := &Entry{Stream: p.at(p.head).seq, Consumer: p.head, Deliveries: 1, State: Queued}
		p.clear(p.head)
		p.addOdd(e)
	}
	for _, e := range p.odd {
		if e.State == Flying {
			p.change(e, Queued, 0)
		}
	}
}
