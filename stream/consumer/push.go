package consumer

import (
	"bytes"
	"math/rand/v2"
	"time"

	"godwit/protocol/jsapi"
)

const (
	// interestEvery is how often, at least, a push consumer looks whether somebody listens, while nobody does or while it
	// is to be deleted when nobody does. It looks more often if that is due soon, or if somebody was there a moment ago,
	// but not more often than interestMin.
	interestEvery = int64(250 * time.Millisecond)
	interestMin   = int64(10 * time.Millisecond)

	// The flow control window in bytes: it doubles with every answer of the client.
	windowStart = 2 << 20
	windowMax   = 32 << 20
)

// push is the state of deliveries to a subject.
type push struct {
	subject []byte
	group   string
	active  bool   // somebody listens
	lookAt  int64  // not to look again before, even if there are new messages
	high    uint64 // the last message stored when last looked
	checkAt int64  // when to look again
	beatAt  int64  // when the next heartbeat is due

	// Flow control: nothing is sent beyond the window until the client has answered a request.
	window int64  // 0: off
	out    int64  // bytes sent since what the last answer confirmed
	asked  int64  // of them, those sent when the request went out
	ask    []byte // reply subject of the request; empty if there is none
}

func (p *push) configure(cfg *jsapi.ConsumerConfig) {
	if cfg.DeliverSubject != string(p.subject) || cfg.DeliverGroup != p.group {
		*p = push{subject: []byte(cfg.DeliverSubject), group: cfg.DeliverGroup}
	}
	if cfg.FlowControl && p.window == 0 {
		p.window = windowStart
	}
}

// Bound says whether somebody listens on the deliver subject.
func (c *Consumer) Bound() bool {
	c.enter()
	defer c.leave()
	return c.bound()
}

func (c *Consumer) bound() bool { return c.cfg.Push() && c.out.Bound(c.push.subject, c.push.group) }

// look finds out whether somebody listens.
func (c *Consumer) look(now int64) {
	p := &c.push
	p.lookAt, p.high = later(now, interestMin), c.Store.High()
	was := p.active
	p.active = c.out.Bound(p.subject, p.group)
	if p.active && !was {
		p.beatAt = later(now, int64(c.cfg.Heartbeat))
		p.out, p.asked, p.ask = 0, 0, p.ask[:0]
		if c.byFlow() {
			c.pend.requeue()
		}
		if c.shared != nil {
			c.shared.opened = true
		}
	}
	if p.active || was {
		c.touched = now
	}
	p.checkAt = later(now, c.lookEvery(now))
}

// lookEvery is how long to wait before looking again whether somebody listens.
func (c *Consumer) lookEvery(now int64) int64 {
	every := (now - c.touched) / 8
	if c.push.active {
		every = int64(c.cfg.InactiveThreshold) / 4
	}
	return min(max(every, interestMin), interestEvery)
}

// lost notes that nobody listens any more.
func (c *Consumer) lost(now int64) {
	c.push.active = false
	c.touched = now
	c.push.checkAt = later(now, c.lookEvery(now))
}

func (c *Consumer) deliverPush(now int64) stop {
	p := &c.push
	if !p.active && (now >= p.checkAt || c.Store.High() != p.high) {
		if now < p.lookAt {
			p.checkAt = min(p.checkAt, p.lookAt)
			return stopNobody
		}
		c.look(now)
	}
	if !p.active {
		return stopNobody
	}
	sent, scanned := 0, 0
	for sent < deliverMax {
		if p.window > 0 && p.out > p.window {
			return stopWindow
		}
		switch c.fetch(now, &scanned) {
		case foundMore:
			return stopBound
		case foundNothing, foundPause:
			return stopNothing
		case foundLimit:
			return stopLimit
		}
		if c.pace.on && c.hold(now) {
			return stopHeld
		}
		reply := c.ackSubject()
		size := len(c.cand.rec.Subject) + len(c.cand.rec.Header) + len(c.cand.rec.Value) + len(reply)
		if c.send(p.subject, reply) == 0 {
			c.lost(now)
			return stopNobody
		}
		sent += size
		if c.pace.on {
			c.paid(now, size)
		}
		c.delivery(now)
		p.beatAt = later(now, int64(c.cfg.Heartbeat))
		if p.window > 0 {
			p.out += int64(size)
			if c.wantFlow() {
				c.askFlow()
			}
		}
	}
	return stopBound
}

// askFlow asks the client to answer once it has handled everything before.
func (c *Consumer) askFlow() {
	p := &c.push
	p.ask = append(append(append(append(append(p.ask[:0], "$JS.FC."...), c.Place...), c.Stream...), '.'), c.Name...)
	p.ask = append(p.ask, '.')
	for range 4 {
		p.ask = append(p.ask, base62[rand.IntN(len(base62))])
	}
	p.asked = p.out
	b := append(c.head[:0], statusLine+statusFlow+crlf+crlf...)
	c.sendHead(p.subject, p.ask, b)
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// FlowReply takes an answer to a flow control request; subject is the one it came on, seq the stream sequence up to which
// the client says it is, 0 if it does not say.
func (c *Consumer) FlowReply(subject []byte, seq uint64, now int64) {
	c.enter()
	defer c.leave()
	p := &c.push
	if len(p.ask) == 0 || !bytes.Equal(subject, p.ask) {
		return
	}
	p.window = min(2*p.window, windowMax)
	if c.shared != nil {
		c.shared.opened = true
	}
	p.out = max(0, p.out-p.asked)
	p.ask = p.ask[:0]
	if c.byFlow() {
		c.ackFlow(seq, now)
	}
}

// tickPush looks for interest and sends heartbeats.
func (c *Consumer) tickPush(now int64) {
	p := &c.push
	if now >= p.checkAt && (!p.active || c.cfg.InactiveThreshold > 0) {
		c.look(now)
	}
	if beat := int64(c.cfg.Heartbeat); beat > 0 && p.active && now >= p.beatAt {
		p.beatAt = later(now, beat)
		if c.heartbeat(p.subject, p.ask) == 0 {
			c.lost(now)
		} else if c.byFlow() && len(p.ask) == 0 && c.pend.len() > 0 {
			c.askFlow()
		}
	}
}

// nextPush is when tickPush has something to do. Without interest, messages or heartbeats that wait make it look again.
func (c *Consumer) nextPush() int64 {
	p := &c.push
	due := int64(never)
	if p.active && c.cfg.Heartbeat > 0 {
		due = p.beatAt
	}
	if c.cfg.InactiveThreshold > 0 || !p.active && (c.cfg.Heartbeat > 0 || c.queuedAll() > 0 || c.pendingAll() > 0) {
		due = min(due, p.checkAt)
	}
	return due
}
