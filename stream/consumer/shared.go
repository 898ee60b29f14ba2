package consumer

import "sync"

// Shared is what the parts of a consumer have in common that spans the partitions of a stream: one part lives in each
// partition and has the position and the deliveries that wait for acknowledgements there, while clients see one consumer.
// Open requests, or who is pushed to, are here, and so are the sums that limits are about.
//
// One part, at home in one of the partitions, takes requests and keeps their deadlines. Requests are served by one part at
// a time: when it has nothing more, it hands over to the next one that has something. Parts whose limit is that of the
// whole, or of a client that is pushed to, go on in the same manner once there is room.
//
// A part holds the lock while it looks at demand and sends, and hands over what it has sent before it releases it, so that
// clients get the messages of all partitions, and what is said about them, in one order. The lock comes before those
// of mailboxes; none is taken while it is held but those, and those of what messages are handed over to.
type Shared struct {
	mu sync.Mutex
	demand
	parts   []part // by partition
	homeAt  int    // the part that takes requests
	serving int    // the part that serves requests, or is about to; -1: none
	next    int    // where to look first for one that is to go on
	sum     counts
	last    Position // of the last delivery
	due     int64    // when the part at home looks at deadlines next
	opened  bool     // somebody asks, or listens, since parts were last let go on
	limited bool     // a part stopped because too many messages are not acknowledged
}

// part is what Shared knows of one part.
type part struct {
	c     *Consumer
	ready bool // it had something to deliver when it last looked
}

// counts are numbers of messages.
type counts struct {
	pending int64 // stored, and not come to yet
	queued  int64 // to be delivered again
	unacked int64 // delivered, and not acknowledged
}

// NewShared returns what the parts of a consumer share. home is the partition whose part takes requests.
func NewShared(partitions, home int) *Shared {
	s := &Shared{parts: make([]part, partitions), homeAt: home, serving: -1, due: never}
	s.wait.due = never
	return s
}

// enter begins the use of what parts share; leave ends it. Nothing happens at a consumer that is whole.
func (c *Consumer) enter() {
	if c.shared != nil {
		c.shared.mu.Lock()
	}
}

func (c *Consumer) leave() {
	s := c.shared
	if s == nil {
		return
	}
	s.show(c)
	if c.sending {
		c.sending = false
		c.Flush()
	}
	if s.opened || s.limited && !c.full() {
		s.pass(c)
	}
	if home := s.parts[s.homeAt].c; home != nil && home != c && c.demandDue() < s.due {
		s.due = c.demandDue()
		home.Wake() // which makes it look at deadlines
	}
	s.mu.Unlock()
}

// join makes the consumer a part of s.
func (c *Consumer) join(s *Shared, now int64) {
	if s == nil || c.shared != nil {
		return
	}
	s.mu.Lock()
	c.shared, c.demand = s, &s.demand
	c.push.configure(c.cfg)
	c.touched = now
	s.parts[c.Numbers.Partition] = part{c: c}
	if c.tracks() {
		s.last.Consumer = max(s.last.Consumer, c.Numbers.Global(c.delivered.Consumer))
	} else {
		s.last.Consumer += c.delivered.Consumer
	}
	if c.delivered.Consumer > 0 {
		s.last.Stream = max(s.last.Stream, c.Numbers.Global(c.delivered.Stream))
	}
	c.leave()
}

// Leave ends what join began: the consumer is gone from its partition.
func (c *Consumer) Leave() {
	s := c.shared
	if s == nil {
		return
	}
	s.mu.Lock()
	s.sum.add(c.shown, -1)
	at := int(c.Numbers.Partition)
	s.parts[at] = part{}
	if s.serving == at {
		s.serving = -1
	}
	c.shared, c.demand, c.shown = nil, &c.own, counts{}
	s.mu.Unlock()
}

// home says whether the consumer takes requests and keeps deadlines: it is whole, or the part that does so for all.
func (c *Consumer) home() bool {
	return c.shared == nil || c.shared.homeAt == int(c.Numbers.Partition)
}

// counts are those of this part, or whole consumer.
func (c *Consumer) counts() counts {
	return counts{int64(c.Pending()), int64(c.pend.queued), int64(c.pend.len())}
}

// pendingAll, queuedAll and unacked are the counts of the whole consumer.
func (c *Consumer) pendingAll() int64 {
	n := int64(c.Pending())
	if s := c.shared; s != nil {
		n += s.sum.pending - c.shown.pending
	}
	return n
}

func (c *Consumer) queuedAll() int64 {
	n := int64(c.pend.queued)
	if s := c.shared; s != nil {
		n += s.sum.queued - c.shown.queued
	}
	return n
}

func (c *Consumer) unacked() int {
	n := c.pend.len()
	if s := c.shared; s != nil {
		n += int(s.sum.unacked - c.shown.unacked)
	}
	return n
}

func (n *counts) add(other counts, sign int64) {
	n.pending += sign * other.pending
	n.queued += sign * other.queued
	n.unacked += sign * other.unacked
}

// show brings the sums up to date with a part.
func (s *Shared) show(c *Consumer) {
	s.sum.add(c.shown, -1)
	c.shown = c.counts()
	s.sum.add(c.shown, 1)
}

// nextNumber is the consumer's number of the next delivery. Deliveries that are acknowledged are numbered as messages are,
// so that the number names the partition; others are counted through.
func (c *Consumer) nextNumber() uint64 {
	if c.shared == nil || c.tracks() {
		return c.Numbers.Global(c.delivered.Consumer + 1)
	}
	return c.shared.last.Consumer + 1
}

// localize turns the numbers of an acknowledgement into those of the part's partition, and says whether it belongs there.
func (c *Consumer) localize(a *Ack) (ok bool) {
	if a.Stream, ok = c.Numbers.Local(a.Stream); ok {
		a.Consumer, ok = c.Numbers.Local(a.Consumer)
	}
	return ok
}

// announced says whether the others know that this part has something to deliver.
func (c *Consumer) announced() bool {
	s := c.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[c.Numbers.Partition].ready
}

// othersReady says whether another part has something to deliver.
func (c *Consumer) othersReady() bool {
	if c.shared == nil {
		return false
	}
	for i := range c.shared.parts {
		if c.shared.parts[i].ready && i != int(c.Numbers.Partition) {
			return true
		}
	}
	return false
}

// deliverPart is Deliver for a part.
func (c *Consumer) deliverPart(now int64) (more bool) {
	c.enter()
	defer c.leave()
	s, at := c.shared, int(c.Numbers.Partition)
	why := stopNobody
	switch {
	case c.cfg.Push():
		why = c.deliverPush(now)
	case s.serving < 0 || s.serving == at:
		s.serving = at
		why = c.deliverPull(now)
		s.serving = -1
	}
	s.show(c)
	me := &s.parts[at]
	switch why {
	case stopNothing:
		me.ready = false
		s.pass(c)
	case stopHeld:
		me.ready = false // the clock brings it back
		s.pass(c)
	case stopLimit:
		me.ready, s.limited = true, true
		s.pass(c) // others may have some to deliver again, which the limit is not about
	case stopWindow:
		me.ready = true // the client's answer goes on
	case stopBound:
		me.ready = true
		if c.cfg.Push() {
			return true
		}
		s.pass(c)
	case stopNobody:
		me.ready = c.some(now)
	}
	return false
}

// some says whether there is something to deliver.
func (c *Consumer) some(now int64) bool {
	scanned := 0
	f := c.fetch(now, &scanned)
	return f == foundOne || f == foundLimit || f == foundMore
}

// pass lets the next part go on that has something to deliver, which may be the one that calls. Without room for more that
// are not acknowledged, that is one that has some to deliver again.
func (s *Shared) pass(c *Consumer) {
	push := c.cfg.Push()
	if push && !s.push.active || !push && (s.wait.n == 0 || s.serving >= 0) {
		return
	}
	room := !c.full()
	s.opened = false
	if room {
		s.limited = false
	}
	for range s.parts {
		at := s.next
		s.next = (s.next + 1) % len(s.parts)
		p := &s.parts[at]
		if !p.ready || !room && p.c.shown.queued == 0 {
			continue
		}
		if !push {
			s.serving = at
		}
		p.c.Wake()
		return
	}
}

// Parts returns the parts of the consumer by partition, or itself if it is whole.
func (c *Consumer) Parts() []*Consumer {
	s := c.shared
	if s == nil {
		return []*Consumer{c}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Consumer, len(s.parts))
	for i := range s.parts {
		list[i] = s.parts[i].c
	}
	return list
}

// Home returns the partition whose part takes requests.
func (c *Consumer) Home() int {
	if c.shared == nil {
		return 0
	}
	return c.shared.homeAt
}

// AckedSequence returns the stream sequence that an acknowledgement is about, 0 if its subject is none of ours. rest is
// the subject after "$JS.ACK.<stream>.<consumer>.".
func AckedSequence(rest []byte) uint64 {
	var a Ack
	if !parseAckSubject(rest, &a) {
		return 0
	}
	return a.Stream
}
