package consumer

import (
	"bytes"
	"strconv"

	"godwit/protocol/jsapi"
)

// deliverMax bounds the bytes that a consumer sends in one turn, so that a busy one starves nobody.
const deliverMax = 512 << 10

// stop is why a consumer sends no more in a turn.
type stop uint8

const (
	stopNobody  stop = iota // nobody wants anything, or may have it
	stopNothing             // there is nothing to send
	stopHeld                // it is not yet time for the next message
	stopLimit               // too many are not acknowledged
	stopWindow              // too much is on its way
	stopBound               // it had its share of the turn
)

// Deliver sends what demand and limits allow. It returns true if there is more that only the bounds of a turn stopped.
func (c *Consumer) Deliver(now int64) (more bool) {
	switch {
	case c.shared != nil:
		return c.deliverPart(now)
	case c.cfg.Push():
		return c.deliverPush(now) == stopBound
	}
	return c.deliverPull(now) == stopBound
}

func (c *Consumer) deliverPull(now int64) stop {
	sent, scanned := 0, 0
	if c.wait.n > 0 {
		c.touched = now
	}
	for c.wait.n > 0 {
		r := c.wait.front()
		if r.expires > 0 && now >= r.expires {
			c.statusLeft(r, statusTimeout)
			c.wait.put(c.wait.pop())
			continue
		}
		if sent >= deliverMax {
			return stopBound
		}
		switch c.fetch(now, &scanned) {
		case foundMore:
			return stopBound
		case foundNothing, foundPause:
			if !c.othersReady() {
				c.endNoWait()
			}
			return stopNothing
		case foundLimit:
			return stopLimit
		}
		if c.pace.on && c.hold(now) {
			return stopHeld
		}
		if c.cfg.PriorityPolicy != jsapi.PriorityNone {
			if !c.pick(now) {
				c.endNoWait()
				return stopNobody
			}
			if r = c.wait.front(); r.expires > 0 && now >= r.expires {
				continue // the next round ends it
			}
		}
		size := len(c.cand.rec.Subject) + len(c.cand.rec.Header) + len(c.cand.rec.Value)
		reply := c.ackSubject()
		size += len(reply)
		if r.limited && size > r.bytes {
			c.statusLeft(r, statusTooLarge)
			c.wait.put(c.wait.pop())
			continue
		}
		if c.send(r.reply, reply) == 0 { // nobody listens any more
			c.wait.put(c.wait.pop())
			continue
		}
		sent += size
		if c.pace.on {
			c.paid(now, size)
		}
		c.delivery(now)
		r.left, r.served = r.left-1, true
		r.bytes -= size
		if r.beat > 0 {
			r.beatAt = later(now, r.beat)
		}
		if r.left > 0 {
			c.wait.rotate()
			if c.cfg.PriorityPolicy == jsapi.PriorityPrioritized {
				c.wait.rise()
			}
			continue
		}
		if r.limited && r.bytes > 0 {
			c.statusLeft(r, statusBatchDone)
		}
		c.wait.put(c.wait.pop())
	}
	return stopNobody
}

// endNoWait ends the requests that do not want to wait for more than there is.
func (c *Consumer) endNoWait() {
	for i := range c.wait.n {
		if (*c.wait.at(i)).noWait {
			c.wait.filter(func(r *request) bool {
				if !r.noWait || r.expires > 0 && !r.served {
					return true
				}
				c.status(r.reply, statusNoMessages)
				return false
			})
			return
		}
	}
}

// ackSubject builds the reply subject of the candidate; it is valid until the next call.
func (c *Consumer) ackSubject() []byte {
	count := uint64(1)
	if c.cand.again != nil {
		count = uint64(c.cand.again.Deliveries) + 1
	}
	pending := uint64(max(0, c.pendingAll()))
	if c.cand.again == nil && pending > 0 {
		pending--
	}
	b := append(c.reply[:0], c.prefix...)
	if count == 1 {
		b = append(b, '1')
	} else {
		b = strconv.AppendUint(b, count, 10)
	}
	b = append(b, '.')
	b = append(b, c.num.stream.digits(c.Numbers.Global(c.cand.seq))...)
	b = append(b, '.')
	b = append(b, c.num.consumer.digits(c.nextNumber())...)
	b = append(b, '.')
	b = append(b, c.num.time.digits(uint64(c.cand.time))...)
	b = append(b, '.')
	b = append(b, c.num.pending.digits(pending)...)
	c.reply = b
	return b
}

// send sends the candidate and returns to how many subscriptions it went.
func (c *Consumer) send(to, reply []byte) int {
	r := &c.cand.rec
	c.msg = Message{Subject: r.Subject, Reply: reply, Header: r.Header, Payload: r.Value}
	if c.cfg.HeadersOnly {
		c.head = appendSize(c.head[:0], r.Header, len(r.Value))
		c.msg.Header, c.msg.Payload = c.head, nil
	}
	if c.pin.id != "" {
		c.head = appendPin(nil, c.msg.Header, c.pin.id)
		c.msg.Header = c.head
	}
	c.sending = true
	return c.out.Deliver(to, &c.msg)
}

// appendSize appends a header block with the size of the payload that is left out.
func appendSize(b, header []byte, size int) []byte {
	b = openHeader(b, header)
	b = append(b, headerMsgSize...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, crlf+crlf...)
}

// openHeader appends a header block without its end, so that more may follow.
func openHeader(b, header []byte) []byte {
	if len(header) == 0 {
		return append(b, "NATS/1.0\r\n"...)
	}
	return append(b, bytes.TrimSuffix(header, []byte(crlf))...)
}

// TakeNewest returns the time of the last message that was delivered for the first time since the last call, in ns; 0 if there
// was none.
func (c *Consumer) TakeNewest() (t int64) {
	t, c.newest = c.newest, 0
	return t
}

// delivery notes that the candidate was sent.
func (c *Consumer) delivery(now int64) {
	seq := c.cand.seq
	if c.shared != nil {
		c.shared.last = Position{c.nextNumber(), max(c.shared.last.Stream, c.Numbers.Global(seq))}
	}
	c.delivered.Consumer++
	c.lastTime, c.used = now, now
	c.log.dirty = true
	if e := c.cand.again; e != nil {
		c.pend.redeliver(e, later(now, c.ackWait(e.Deliveries+1)))
		c.cand = candidate{}
		return
	}
	c.took()
	c.newest = c.cand.time
	c.delivered.Stream = max(c.delivered.Stream, seq)
	if l := &c.lasts; l.left() > 0 && seq <= l.resume {
		l.at++
		c.next = seq + 1
		c.endLasts()
	} else {
		c.next = seq + 1
	}
	c.cand.seq = 0
	if !c.tracks() {
		c.floor = c.delivered
		c.witness.saw(seq, fateResolved)
		if c.Resolved != nil {
			c.Resolved(seq)
		}
		return
	}
	c.witness.saw(seq, fateDelivered)
	c.pend.deliver(c.delivered.Consumer, seq, now)
	if c.pend.lagging() {
		c.pend.settle(c.ackWait(1))
	}
}
