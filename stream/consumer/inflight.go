package consumer

import (
	"cmp"
	"slices"
	"strconv"

	"godwit/protocol/jsapi"
)

// Inflight returns the unresolved messages from a sequence of the partition on, ascending, at most limit of them, how many there are in
// all, and whether more follow. Due of one that flies is its deadline. Parked ones are among them: they wait for nobody.
func (c *Consumer) Inflight(from uint64, limit int) (list []Entry, total int, more bool) {
	c.follow()
	list, more = c.pend.page(from, limit, c.ackWait(1))
	return list, c.pend.live + len(c.pend.odd), more
}

// page returns the entries from a stream sequence on, ascending, at most limit, and whether more follow; wait as in expire.
func (p *pending) page(from uint64, limit int, wait int64) (list []Entry, more bool) {
	most := limit + 1 // one more tells that it follows
	for cseq := p.firstFrom(from); cseq < p.tail && len(list) < most; cseq++ {
		if s := p.at(cseq); s.seq != 0 {
			list = append(list, Entry{Stream: s.seq, Consumer: cseq, Deliveries: 1, Due: later(s.at, wait)})
		}
	}
	var odd []*Entry
	for seq, e := range p.odd {
		if seq >= from {
			odd = append(odd, e)
		}
	}
	slices.SortFunc(odd, func(a, b *Entry) int { return cmp.Compare(a.Stream, b.Stream) })
	for _, e := range odd[:min(len(odd), most)] {
		list = append(list, *e)
	}
	if len(odd) > 0 {
		slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Stream, b.Stream) })
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	return list, more
}

// firstFrom returns the consumer sequence of the first slot that may hold a stream sequence of at least seq.
func (p *pending) firstFrom(seq uint64) uint64 {
	lo, hi := p.head, p.tail
	for lo < hi {
		mid := lo + (hi-lo)/2
		m := mid
		for m < hi && p.at(m).seq == 0 {
			m++
		}
		if m == hi || p.at(m).seq >= seq {
			hi = mid
		} else {
			lo = m + 1
		}
	}
	return lo
}

// Act does to one unresolved message what an operator asks for. now is the turn's. Errors: 20003 if the message is not among them.
//
// Released, a message is due at once, also one that was delivered as often as allowed: it goes once more. Extended, one that
// somebody works on has its deadline that much later than now.
func (c *Consumer) Act(r *jsapi.InflightAct, seq uint64, now int64) *jsapi.Error {
	c.follow()
	c.enter()
	defer c.leave()
	e, ok := c.pend.get(seq, 0)
	if !ok {
		return NotInFlight(c.Numbers.Global(seq))
	}
	a := &Ack{Stream: seq, Consumer: e.Consumer}
	switch r.Action {
	case jsapi.ActRelease:
		c.pend.change(c.pend.take(seq, e.Consumer), Queued, 0)
	case jsapi.ActExtend:
		if e.State != Flying {
			return jsapi.Err(jsapi.ErrBadInflightAct, "err", "nobody works on the message")
		}
		c.pend.change(c.pend.take(seq, e.Consumer), Flying, later(now, int64(r.Duration)))
	case jsapi.ActTerminate:
		c.settle(a)
		c.Events.Terminated(c, seq, e.Consumer, int(e.Deliveries), r.Reason)
	case jsapi.ActAcknowledge:
		c.settle(a)
	default:
		return jsapi.Err(jsapi.ErrBadInflightAct, "err", "unknown action "+string(r.Action))
	}
	c.log.dirty = true
	c.moveFloor()
	return nil
}

// NotInFlight is the error about a message that is not among the unresolved ones.
func NotInFlight(seq uint64) *jsapi.Error {
	return jsapi.Err(jsapi.ErrNotInFlight, "seq", strconv.FormatUint(seq, 10))
}

// Lag is how far a consumer is behind. Sequences are the partition's, 0 if there is no such message.
type Lag struct {
	Pending    uint64 // messages to be delivered
	Unacked    int    // delivered, and not resolved
	Parked     int    // of those, delivered as often as allowed
	Next       uint64 // where the messages to be delivered begin
	Unresolved uint64 // the first of the unresolved
}

// Lag says how far the consumer is behind.
func (c *Consumer) Lag() Lag {
	c.follow()
	l := Lag{Pending: c.Pending(), Unacked: c.pend.live + len(c.pend.odd), Parked: c.pend.parked, Next: c.next}
	if seq, _, ok := c.pend.lowest(); ok {
		l.Unresolved = seq
	}
	switch {
	case l.Pending == 0:
		l.Next = 0
	case c.lasts.on && c.lasts.left() > 0:
		l.Next = c.lasts.seqs[c.lasts.at]
	}
	return l
}
