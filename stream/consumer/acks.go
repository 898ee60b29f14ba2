package consumer

import "godwit/protocol/jsapi"

// ApplyAcks applies what clients say about deliveries. Replies wait in Confirms until a progress record is durable.
func (c *Consumer) ApplyAcks(b *AckBatch, now int64) {
	c.follow()
	c.enter()
	defer c.leave()
	for i := range b.acks {
		a := &b.acks[i]
		if a.Stream == 0 || a.Stream > c.delivered.Stream {
			continue // never delivered
		}
		c.apply(a, b, now)
		if a.reply.to > a.reply.from && a.Kind != AckNext {
			c.confirm.add(b.slice(a.reply))
		}
	}
	c.ackTime, c.used, c.touched = now, now, now
	c.log.dirty = true
	c.moveFloor()
}

func (c *Consumer) apply(a *Ack, b *AckBatch, now int64) {
	switch a.Kind {
	case AckDone:
		c.resolve(a, now)
	case AckNext:
		c.resolve(a, now)
		if a.reply.to > a.reply.from {
			p := ParsePull(b.slice(a.arg))
			c.pull(&p, b.slice(a.reply), now)
		}
	case AckNak:
		c.nak(a, now)
	case AckProgress:
		if e, ok := c.pend.get(a.Stream, a.Consumer); ok && (e.State == Flying || e.State == Waiting) {
			o := c.pend.take(a.Stream, a.Consumer)
			c.pend.change(o, Flying, later(now, c.ackWait(o.Deliveries)))
		}
	case AckTerm:
		e, ok := c.pend.get(a.Stream, a.Consumer)
		if !ok {
			e = Entry{Consumer: a.Consumer, Deliveries: 1}
		}
		c.settle(a)
		c.Events.Terminated(c, a.Stream, e.Consumer, int(e.Deliveries), string(b.slice(a.arg)))
	}
}

// resolve acknowledges one message, or all up to it.
func (c *Consumer) resolve(a *Ack, now int64) {
	if c.sample > 0 {
		c.sampled(a, now)
	}
	if c.cfg.AckPolicy == jsapi.AckAll || c.byFlow() {
		c.settleTo(a.Stream)
		return
	}
	c.settle(a)
}

// settle ends a delivery for good.
func (c *Consumer) settle(a *Ack) {
	if !c.pend.resolve(a.Stream, a.Consumer) {
		return
	}
	c.witness.saw(a.Stream, fateResolved)
	if c.Resolved != nil {
		c.Resolved(a.Stream)
	}
}

// settleTo ends all deliveries up to a stream sequence for good, and returns how many there were.
func (c *Consumer) settleTo(seq uint64) int {
	return c.pend.resolveTo(seq, func(seq uint64) {
		c.witness.saw(seq, fateResolved)
		if c.Resolved != nil {
			c.Resolved(seq)
		}
	})
}

// nak makes a message that is out due again, now or later. One already waiting to be sent again stays so.
func (c *Consumer) nak(a *Ack, now int64) {
	e, ok := c.pend.get(a.Stream, a.Consumer)
	if !ok || e.State == Parked {
		return
	}
	c.Events.Naked(c, e.Stream, e.Consumer, int(e.Deliveries))
	o := c.pend.take(a.Stream, a.Consumer)
	switch {
	case c.park(o):
		c.pend.change(o, Parked, 0)
	case a.Delay > 0:
		c.pend.change(o, Waiting, later(now, a.Delay))
	case o.State != Queued:
		c.pend.change(o, Queued, 0)
	}
}

// park says whether a message is not to be delivered again, and reports that.
func (c *Consumer) park(e *Entry) bool {
	if !c.exhausted(e.Deliveries) {
		return false
	}
	c.Events.Exceeded(c, e.Stream, int(e.Deliveries))
	return true
}

func (f *confirms) add(reply []byte) {
	f.text = append(f.text, reply...)
	f.ends = append(f.ends, len(f.text))
}

// Confirms returns whether replies wait for a progress record.
func (c *Consumer) Confirms() bool { return len(c.confirm.ends) > 0 }

// TakeConfirms calls f for each reply that waits, and forgets it.
func (c *Consumer) TakeConfirms(f func(reply []byte)) {
	from := 0
	for _, to := range c.confirm.ends {
		f(c.confirm.text[from:to])
		from = to
	}
	c.confirm.text, c.confirm.ends = c.confirm.text[:0], c.confirm.ends[:0]
}
