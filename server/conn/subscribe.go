package conn

import (
	"fmt"
	"sort"

	"godwit/protocol/subject"
	"godwit/server/monitor"
	"godwit/server/router"
)

// systemQueue is a queue group that only the server itself may join.
const systemQueue = "_sys_"

const tooManySubs = "maximum subscriptions exceeded"

// Subscribe implements protocol.Handler.
func (h *handler) Subscribe(subj, queue, sid []byte) error {
	c := (*Conn)(h)
	if c.mode&modeTrace != 0 {
		c.traceIn("SUB", joinArgs(subj, queue, sid))
	}
	name := string(subj)
	if !subject.WellFormed(name) {
		c.soft("Invalid Subject")
		return nil
	}
	if limit := c.settings.MaxSubTokens; limit > 0 && subject.NumTokens(name) > limit {
		c.violated(&violation{fmt.Sprintf("Permissions Violation for Subscription to %q, too many tokens", name),
			fmt.Sprintf("Subscription Violation Too Many Tokens - Subject %q, SID %s", name, sid)})
		return nil
	}
	perms := c.perms.Load()
	if string(queue) == systemQueue || perms != nil && !perms.CanSubscribe(name, string(queue)) {
		v := &violation{fmt.Sprintf("Permissions Violation for Subscription to %q", name), fmt.Sprintf("Subscription Violation - Subject %q", name)}
		if len(queue) > 0 {
			v.told += fmt.Sprintf(" using queue %q", queue)
			v.logged += fmt.Sprintf(", Queue: %q", queue)
		}
		v.logged += fmt.Sprintf(", SID %s", sid)
		c.violated(v)
		return nil
	}
	limit := c.subLimit()
	s := router.NewSub(&c.Dest, subj, queue, sid)
	c.mu.Lock()
	switch {
	case c.mu.subsEnd, c.findLocked(sid) != nil:
		c.mu.Unlock()
		c.ok()
		return nil
	case limit >= 0 && len(c.mu.subs)+len(c.mu.named) >= limit:
		c.mu.Unlock()
		c.violated(&violation{tooManySubs, tooManySubs})
		return nil
	}
	c.storeLocked(s, sid)
	c.acc.Index().Insert(s, name)
	c.mu.Unlock()
	c.sender.Begin()
	c.ok()
	return nil
}

func (c *Conn) findLocked(sid []byte) *router.Sub {
	if n, ok := router.PlainNumber(sid); ok {
		return c.mu.subs[n]
	}
	return c.mu.named[string(sid)]
}

func (c *Conn) storeLocked(s *router.Sub, sid []byte) {
	if n, ok := router.PlainNumber(sid); ok {
		if c.mu.subs == nil {
			c.mu.subs = make(map[uint64]*router.Sub)
		}
		c.mu.subs[n] = s
		return
	}
	if c.mu.named == nil {
		c.mu.named = make(map[string]*router.Sub)
	}
	c.mu.named[string(sid)] = s
}

func (c *Conn) deleteLocked(s *router.Sub) {
	sid := s.SID()
	if n, ok := router.PlainNumber([]byte(sid)); ok {
		if c.mu.subs[n] == s {
			delete(c.mu.subs, n)
		}
		return
	}
	if c.mu.named[sid] == s {
		delete(c.mu.named, sid)
	}
}

// subLimit is the number of subscriptions that the connection may have; negative is unlimited.
func (c *Conn) subLimit() int {
	limit := -1
	if c.settings.MaxSubs > 0 {
		limit = c.settings.MaxSubs
	}
	tighten := func(l int32) {
		if l >= 0 && (limit < 0 || int(l) < limit) {
			limit = int(l)
		}
	}
	tighten(c.acc.Limits().MaxSubs)
	if c.ident != nil && c.ident.Limits != nil {
		tighten(c.ident.Limits.MaxSubs)
	}
	return limit
}

// Unsubscribe implements protocol.Handler.
func (h *handler) Unsubscribe(sid []byte, limit uint64) error {
	c := (*Conn)(h)
	if c.mode&modeTrace != 0 {
		c.traceIn("UNSUB", sid)
	}
	var ended string
	c.mu.Lock()
	if s := c.findLocked(sid); s != nil {
		if limit == 0 || !c.acc.Index().Limit(s, limit) {
			ended = s.Subject()
			c.deleteLocked(s)
			c.acc.Index().Unsubscribe(s)
		}
	}
	c.mu.Unlock()
	if ended != "" {
		c.acc.Index().Unlistened(c, ended)
	}
	c.sender.Begin()
	c.ok()
	return nil
}

// Exhausted implements router.Sink.
func (c *Conn) Exhausted(s *router.Sub) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleteLocked(s)
	if c.mu.acc != nil {
		c.mu.acc.Index().Unsubscribe(s)
	}
}

func (c *Conn) eachSubLocked(f func(*router.Sub)) {
	for _, s := range c.mu.subs {
		f(s)
	}
	for _, s := range c.mu.named {
		f(s)
	}
}

// dropSubs removes all subscriptions.
func (c *Conn) dropSubs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.acc == nil {
		return
	}
	x := c.mu.acc.Index()
	c.eachSubLocked(x.Unsubscribe)
	if len(c.mu.subs)+len(c.mu.named) > 0 {
		x.Departed()
	}
	c.mu.subs, c.mu.named = nil, nil
}

// Subscriptions lists the connection's subscriptions, in the order of their subjects.
func (c *Conn) Subscriptions() []monitor.SubDetail {
	c.mu.Lock()
	list := make([]monitor.SubDetail, 0, len(c.mu.subs)+len(c.mu.named))
	c.eachSubLocked(func(s *router.Sub) { list = append(list, c.detail(s)) })
	acc := c.mu.acc
	c.mu.Unlock()
	if acc != nil {
		for i := range list {
			list[i].Account, list[i].AccountTag = acc.Name(), acc.Name()
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Subject != list[j].Subject {
			return list[i].Subject < list[j].Subject
		}
		return list[i].Sid < list[j].Sid
	})
	return list
}

func (c *Conn) detail(s *router.Sub) monitor.SubDetail {
	return monitor.SubDetail{Subject: s.Subject(), Queue: s.Queue(), Sid: s.SID(), Msgs: int64(s.Msgs()),
		Max: int64(s.Max()), Cid: c.id}
}

// NumSubs is the number of subscriptions.
func (c *Conn) NumSubs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.subs) + len(c.mu.named)
}
