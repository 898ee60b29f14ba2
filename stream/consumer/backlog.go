package consumer

import "slices"

// backlog counts the stored messages that a consumer wants and has not come to yet.
//
// Without a filter it is computed when somebody asks, from the store's own counts. With one, or while the last messages
// of subjects are delivered first, the partition tells of each message that comes and goes.
type backlog struct {
	n     uint64
	to    uint64 // without filter: counted up to this sequence
	epoch uint64 // of the store when it was counted
	valid bool
	sure  bool // with a filter: the count is that of SetBacklog and what came since, so that 0 means none
}

// lastList is what a consumer that starts with the last message of each subject delivers before anything newer.
type lastList struct {
	on     bool
	seqs   []uint64 // ascending; those before at are done
	at     int
	resume uint64 // newer messages begin after this sequence
}

func (l *lastList) left() int { return len(l.seqs) - l.at }

// Counted says whether the partition has to call SetBacklog, Stored and Removed.
func (c *Consumer) Counted() bool { return len(c.filters) > 0 || c.lasts.on }

// Filters are the subjects wanted, none for all.
func (c *Consumer) Filters() []string { return c.filters }

// SetBacklog tells a Counted consumer, or one whose own count was found wrong, how many messages at or after Next, or in its
// list of last ones and newer, there are for it.
func (c *Consumer) SetBacklog(n uint64) { c.back.n, c.back.sure = n, true }

// Lasts are the sequences that are still to be delivered before newer ones, and where the newer ones begin; nil if
// the consumer has no such list. It is shared.
func (c *Consumer) Lasts() (seqs []uint64, resume uint64, ok bool) {
	return c.lasts.seqs[c.lasts.at:], c.lasts.resume, c.lasts.on
}

// Stored tells a Counted consumer of a new message that it wants. It returns true if there was none before.
func (c *Consumer) Stored(seq uint64) bool {
	if seq < c.next && c.lasts.left() == 0 {
		return false // it was told to begin later
	}
	c.back.n++
	if c.back.n == 1 && c.back.sure && c.lasts.left() == 0 {
		c.next = max(c.next, seq) // nothing wanted lies between
	}
	return c.back.n == 1
}

// Uncount tells a Counted consumer that a message it wants is not stored any more.
func (c *Consumer) Uncount(seq uint64) {
	if c.ahead(seq) && c.back.n > 0 {
		c.back.n--
	}
}

// Forget drops a delivery of a message that is not stored any more and says whether there was one. With a reason, the
// clients hear of it.
func (c *Consumer) Forget(seq uint64, reason string) bool {
	if seq <= c.floor.Stream || seq > c.delivered.Stream {
		return false
	}
	e, ok := c.pend.get(seq, 0)
	if !ok {
		return false
	}
	c.pend.resolve(seq, e.Consumer)
	c.moveFloor()
	c.log.dirty = true
	if reason != "" {
		c.Events.Terminated(c, seq, e.Consumer, int(e.Deliveries), reason)
	}
	return true
}

// Tracking says whether there are deliveries that Forget may find.
func (c *Consumer) Tracking() bool { return !c.pend.empty() }

// EachOut calls f for the stream sequence of each delivery that Forget may find, in no order, until it returns false.
func (c *Consumer) EachOut(f func(seq uint64) bool) {
	c.follow()
	c.pend.each(f)
}

// AckFloor is the stream sequence up to which the consumer is done with everything.
func (c *Consumer) AckFloor() uint64 {
	c.follow()
	return c.floor.Stream
}

// Needs says whether a stored message that the consumer wants is one that it has yet to deal with: it has not come to it, or
// waits for its acknowledgement. One that was delivered as often as allowed and not acknowledged is needed for ever.
func (c *Consumer) Needs(seq uint64) bool {
	c.follow()
	if c.ahead(seq) {
		return true
	}
	_, pending := c.pend.get(seq, 0)
	return pending
}

// ahead says whether the consumer has not come to a sequence yet.
func (c *Consumer) ahead(seq uint64) bool {
	if l := &c.lasts; l.left() > 0 && seq <= l.resume {
		_, found := slices.BinarySearch(l.seqs[l.at:], seq)
		return found
	}
	return seq >= c.next
}

// follow catches up with what was removed at the beginning of the stream.
func (c *Consumer) follow() {
	first := c.Store.First()
	if first <= c.seen {
		return
	}
	c.seen = first
	if c.pend.resolveTo(first-1, func(uint64) {}) > 0 {
		c.log.dirty = true
	}
	if c.next < first {
		c.next = first
		c.back.valid = false
		c.delivered.Stream = max(c.delivered.Stream, first-1)
		c.log.dirty = true
	}
	if l := &c.lasts; l.on && l.left() > 0 {
		for l.left() > 0 && l.seqs[l.at] < first {
			l.at++
		}
		c.endLasts()
	}
	c.moveFloor()
}

// endLasts goes on with newer messages once the last ones of their subjects are done.
func (c *Consumer) endLasts() {
	if l := &c.lasts; l.left() == 0 && l.seqs != nil {
		l.seqs, l.at = nil, 0
		c.next = max(c.next, l.resume+1)
	}
}

// Pending is how many stored messages the consumer has not come to yet; of a part, those of its own partition.
func (c *Consumer) Pending() uint64 {
	b := &c.back
	if c.Counted() {
		return b.n
	}
	c.follow()
	high := c.Store.High()
	switch epoch := c.Store.Epoch(); {
	case !b.valid || b.epoch != epoch:
		b.n = c.Store.Count(c.next, high)
		b.valid, b.epoch = true, epoch
	case high > b.to:
		b.n += c.Store.Count(max(b.to+1, c.next), high)
	}
	b.to = high
	return b.n
}

// took notes that a new message was delivered.
func (c *Consumer) took() {
	if c.Counted() {
		if c.back.n > 0 {
			c.back.n--
		}
		return
	}
	if c.back.valid && c.back.n > 0 {
		c.back.n--
	}
}
