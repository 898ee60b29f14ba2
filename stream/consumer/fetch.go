package consumer

import "godwit/stream/segment"

// found is what looking for the next message came to.
type found uint8

const (
	foundOne     found = iota
	foundNothing       // there is none
	foundLimit         // there is one, but too many are not acknowledged
	foundPause         // deliveries are suspended
	foundMore          // the turn's share of looking is used up
)

// scanMax bounds the messages that a consumer looks at in one turn without delivering one.
const scanMax = 16 << 10

// fetch makes c.cand the next message to deliver. What was found before and not delivered is found again. scanned
// counts over one turn.
func (c *Consumer) fetch(now int64, scanned *int) found {
	if c.paused(now) {
		return foundPause
	}
	c.follow()
	for e := c.pend.nextQueued(); e != nil; e = c.pend.nextQueued() {
		if c.cand.again == e {
			return foundOne
		}
		if c.cand.seq != 0 {
			c.dropCandidate()
		}
		t, err := c.Store.Read(e.Stream, &c.cand.rec)
		if err == nil {
			c.cand.seq, c.cand.again, c.cand.time = e.Stream, e, t
			return foundOne
		}
		c.pend.resolve(e.Stream, e.Consumer) // removed or damaged: nobody will ever acknowledge it
		c.moveFloor()
		c.log.dirty = true
	}
	if c.cand.again != nil {
		c.dropCandidate()
	}
	if c.cand.seq != 0 && c.Store.Next(c.cand.seq) != c.cand.seq {
		c.dropCandidate() // removed meanwhile
	}
	if c.cand.seq != 0 {
		if c.full() {
			return foundLimit
		}
		return foundOne
	}
	if c.Counted() && c.back.n == 0 {
		return foundNothing
	}
	if c.full() {
		if c.Pending() == 0 {
			return foundNothing
		}
		return foundLimit
	}
	if c.lasts.on {
		if f := c.fetchLast(); f != foundNothing {
			return f
		}
	}
	return c.fetchNew(scanned)
}

// full says whether too many deliveries are not acknowledged for a new one.
func (c *Consumer) full() bool {
	return c.tracks() && c.cfg.MaxAckPending > 0 && c.unacked() >= c.cfg.MaxAckPending
}

// fetchLast finds the next of the last messages of subjects.
func (c *Consumer) fetchLast() found {
	l := &c.lasts
	for l.left() > 0 {
		seq := l.seqs[l.at]
		t, err := c.Store.Read(seq, &c.cand.rec)
		if err == nil {
			c.cand.seq, c.cand.again, c.cand.time = seq, nil, t
			return foundOne
		}
		l.at++
	}
	c.endLasts()
	return foundNothing
}

// fetchNew finds the next message at or after c.next.
func (c *Consumer) fetchNew(scanned *int) found {
	high := c.Store.High()
	if c.next > high {
		c.back.n = 0
		return foundNothing
	}
	if c.reader == nil {
		c.reader = c.Store.Reader(c.next)
	}
	for {
		seq, t, ok := c.reader.Next(high, &c.cand.rec)
		if !ok {
			c.next = high + 1
			c.back.n = 0
			return foundNothing
		}
		if seq < c.next {
			c.reader.Seek(max(c.next, seq+1))
			continue
		}
		if live := c.Store.Next(seq); live != seq {
			c.next = live
			if live > high {
				c.reader.Seek(live)
				c.back.n = 0
				return foundNothing
			}
			if live > seq+16 {
				c.reader.Seek(live)
			}
			continue
		}
		c.next = seq
		if c.Wants(c.cand.rec.Subject) {
			c.cand.seq, c.cand.again, c.cand.time = seq, nil, t
			return foundOne
		}
		c.next = seq + 1
		if *scanned++; *scanned >= scanMax {
			c.cand.rec = segment.Record{}
			return foundMore
		}
	}
}
