package consumer

import (
	"strconv"

	"godwit/protocol/jsapi"
)

// ApplyPulls takes pull requests.
func (c *Consumer) ApplyPulls(b *PullBatch, now int64) {
	c.follow()
	c.enter()
	defer c.leave()
	from := uint32(0)
	for i := range b.pulls {
		c.pull(&b.pulls[i], b.text[from:b.ends[i]], now)
		from = b.ends[i]
	}
}

// pull checks one request and queues it; reply is lent.
func (c *Consumer) pull(p *Pull, reply []byte, now int64) {
	c.touched = now
	if text := c.refuse(p); text != "" {
		c.status(reply, text)
		return
	}
	if p.NoWait && !c.mayWait(p, reply) {
		return
	}
	if c.wait.n >= c.cfg.MaxWaiting && c.cfg.MaxWaiting > 0 {
		c.dropUninterested()
	}
	if c.wait.n >= c.cfg.MaxWaiting && c.cfg.MaxWaiting > 0 {
		if p.Heartbeat == 0 {
			c.status(reply, statusMaxWaiting)
		}
		return
	}
	r := c.wait.get()
	r.reply = append(r.reply[:0], reply...)
	r.left, r.bytes, r.limited = p.Batch, p.MaxBytes, p.MaxBytes > 0
	r.noWait = p.NoWait
	if p.Expires != 0 {
		r.expires = max(1, later(now, int64(p.Expires)))
	}
	if p.Heartbeat > 0 {
		r.beat, r.beatAt = int64(p.Heartbeat), later(now, int64(p.Heartbeat))
	}
	if c.cfg.PriorityPolicy != jsapi.PriorityNone {
		c.rank(r, p, now)
	}
	c.wait.push(r)
	if c.shared != nil {
		c.shared.opened = true
	}
	if c.cfg.PriorityPolicy == jsapi.PriorityPrioritized {
		c.wait.rise()
	}
}

// refuse returns the status that a request gets at once, empty if it is fine.
func (c *Consumer) refuse(p *Pull) string {
	cfg := c.cfg
	switch {
	case cfg.Push():
		return statusPush
	case p.Bad != "":
		return p.Bad
	case cfg.MaxRequestBatch > 0 && p.Batch > cfg.MaxRequestBatch:
		return statusMaxBatch + strconv.Itoa(cfg.MaxRequestBatch)
	case cfg.MaxRequestExpires > 0 && p.Expires > cfg.MaxRequestExpires:
		return statusMaxExpires + cfg.MaxRequestExpires.String()
	case cfg.MaxRequestBytes > 0 && p.MaxBytes > cfg.MaxRequestBytes:
		return statusMaxBytes + strconv.Itoa(cfg.MaxRequestBytes)
	}
	return c.refuseRank(p)
}

// mayWait decides about a request that does not want to wait: it is answered at once if there is nothing, or nothing
// that is not wanted by others already.
func (c *Consumer) mayWait(p *Pull, reply []byte) bool {
	there := c.pendingAll() + c.queuedAll()
	if there == 0 {
		if p.Expires == 0 {
			c.status(reply, statusNoMessages)
			return false
		}
		return true
	}
	wanted := int64(0)
	for i := range c.wait.n {
		wanted += int64(max(1, (*c.wait.at(i)).left))
	}
	if wanted >= there {
		c.status(reply, statusPending)
		return false
	}
	return true
}

// dropUninterested drops open requests whose reply subject nobody listens to any more.
func (c *Consumer) dropUninterested() {
	c.wait.filter(func(r *request) bool { return c.out.Interest(r.reply) })
}
