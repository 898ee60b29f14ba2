package consumer

import (
	"math"

	"godwit/protocol/jsapi"
)

// never is a deadline that does not come.
const never = math.MaxInt64

// Tick does what is due: deadlines of deliveries and requests, heartbeats.
func (c *Consumer) Tick(now int64) {
	c.follow()
	c.enter()
	defer c.leave()
	home := c.home()
	if c.wait.n > 0 {
		c.touched = now
	}
	if c.tracks() && !c.byFlow() && c.pend.nextDue(c.ackWait(1)) <= now {
		c.pend.expire(now, c.ackWait(1), c.park)
		c.log.dirty = true
	}
	if home && c.wait.n > 0 && c.wait.due <= now {
		c.wait.filter(func(r *request) bool {
			if r.expires > 0 && now >= r.expires {
				c.statusLeft(r, statusTimeout)
				return false
			}
			if r.beat > 0 && now >= r.beatAt {
				r.beatAt = later(now, r.beat)
				return c.heartbeat(r.reply, nil) > 0
			}
			return true
		})
	}
	if home && c.cfg.Push() {
		c.tickPush(now)
	}
	if c.pace.openAt <= now {
		c.pace.openAt = 0 // the next delivery looks again
	}
	if c.pin.id != "" && c.pin.due <= now {
		c.unpin(unpinnedTimeout)
	}
	if c.waiting && !c.paused(now) {
		c.waiting = false
		c.Events.Paused(c, *c.cfg.PauseUntil, false)
	}
}

// NextDue is when Tick is to be called next, a time that never comes if there is nothing to do.
func (c *Consumer) NextDue(now int64) int64 {
	c.enter()
	defer c.leave()
	home := c.home()
	due := int64(never)
	if c.tracks() && !c.byFlow() {
		due = c.pend.nextDue(c.ackWait(1))
	}
	if home {
		due = min(due, c.demandDue())
		if c.shared != nil {
			c.shared.due = c.demandDue()
		}
	}
	if c.pace.openAt > 0 {
		due = min(due, c.pace.openAt)
	}
	if c.pin.id != "" {
		due = min(due, c.pin.due)
	}
	if u := c.cfg.PauseUntil; u != nil && c.paused(now) {
		c.waiting = true
		due = min(due, jsapi.Nanos(*u))
	}
	if home {
		due = min(due, c.inactiveAt(now))
	}
	return due
}

// demandDue is when requests, or who is pushed to, are to be looked at.
func (c *Consumer) demandDue() int64 {
	due := int64(never)
	if c.wait.n > 0 {
		due = c.wait.due
	}
	if c.cfg.Push() {
		due = min(due, c.nextPush())
	}
	return due
}

// Demand says whether somebody waits for messages, or wants to know that there are some.
func (c *Consumer) Demand() bool {
	if c.shared != nil {
		return !c.announced()
	}
	return c.cfg.Push() || c.wait.n > 0
}

// Inactive says whether the consumer has been unused for longer than its threshold and is to be deleted.
func (c *Consumer) Inactive(now int64) bool {
	c.enter()
	defer c.leave()
	if c.cfg.InactiveThreshold <= 0 || !c.home() || now < c.inactiveAt(now) {
		return false
	}
	if c.cfg.Push() {
		return !c.push.active
	}
	c.dropUninterested()
	return c.wait.n == 0
}

// inactiveAt is when to look whether the consumer is still in use.
func (c *Consumer) inactiveAt(now int64) int64 {
	threshold := int64(c.cfg.InactiveThreshold)
	if threshold <= 0 || c.cfg.Push() && c.push.active {
		return never
	}
	at := later(c.touched, threshold)
	if !c.cfg.Push() && c.unacked() > 0 {
		at = max(at, later(c.used, c.ackWait(math.MaxInt32)))
	}
	if c.wait.n > 0 && at <= now && !c.gone() {
		at = later(now, threshold)
	}
	return at
}

// gone says whether no open request has anybody who listens.
func (c *Consumer) gone() bool {
	for i := range c.wait.n {
		if c.out.Interest((*c.wait.at(i)).reply) {
			return false
		}
	}
	return true
}
