package consumer

import (
	"time"

	"godwit/protocol/jsapi"
)

const (
	// paceSlack is how far ahead of its rate a consumer may be, in ns: timers are too coarse for single messages.
	paceSlack = int64(20 * time.Millisecond)
	// replayGapMin is the shortest distance between messages that a replay keeps, in ns.
	replayGapMin = int64(time.Millisecond)
)

// pace delays deliveries: to a rate, or so that stored messages come as far apart as they were stored. It is not part
// of the durable state: after a restart the next message may go at once.
type pace struct {
	on     bool   // any of it is wanted
	bits   uint64 // per second; 0 no limit. What was sent is paid for at demand.free
	openAt int64  // when the message that is held back may go; 0 if there is none

	// Replay.
	to     uint64 // messages after this sequence go at once; 0 all do
	stored int64  // when the last new message sent was stored; 0 if there was none
	sent   int64  // when it was sent
}

func (p *pace) configure(cfg *jsapi.ConsumerConfig) {
	p.bits = cfg.RateLimit
	p.on = p.bits > 0 || cfg.ReplayPolicy == jsapi.ReplayOriginal
	p.openAt = 0
}

// restart begins a replay of what is stored now.
func (p *pace) restart(cfg *jsapi.ConsumerConfig, high uint64) {
	p.to, p.stored, p.sent, p.openAt = 0, 0, 0, 0
	if cfg.ReplayPolicy == jsapi.ReplayOriginal {
		p.to = high
	}
}

// hold says whether the candidate has to wait, and notes until when.
func (c *Consumer) hold(now int64) bool {
	p := &c.pace
	at := int64(0)
	if p.bits > 0 {
		at = c.free - paceSlack
	}
	if c.cand.again == nil && p.stored > 0 && c.cand.seq <= p.to {
		if gap := c.cand.time - p.stored; gap >= replayGapMin {
			at = max(at, later(p.sent, gap))
		}
	}
	p.openAt = 0
	if at > now {
		p.openAt = at
	}
	return at > now
}

// paid notes that the candidate, size bytes long, is sent.
func (c *Consumer) paid(now int64, size int) {
	p := &c.pace
	if p.bits > 0 {
		c.free = later(max(c.free, now), int64(float64(size)*8e9/float64(p.bits)))
	}
	if c.cand.again == nil {
		p.stored, p.sent = c.cand.time, now
	}
}
