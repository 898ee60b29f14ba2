package stream

import (
	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// Consumers with Direct in their configuration belong to mirrors and sources of other streams, which are their only
// clients.

// directPending bounds what a mirror or source of a stream that keeps only what is needed may have open.
const directPending = 10_000

// hidden says whether a consumer is neither listed nor counted. One for which the stream keeps messages is.
func hidden(cfg *jsapi.ConsumerConfig) bool { return cfg.Direct && cfg.Durable == "" }

// keepForCopy makes the consumer of a copy last and be logged, so that what it has not taken is kept while it is away or
// has no room. Its answers to flow control requests acknowledge: what it has stored is done with.
func keepForCopy(name string, cfg *jsapi.ConsumerConfig) {
	cfg.Name, cfg.Durable, cfg.InactiveThreshold, cfg.MemoryStorage = name, name, 0, false
	cfg.AckPolicy, cfg.AckWait, cfg.MaxDeliver, cfg.MaxAckPending = jsapi.AckFlowControl, 0, -1, directPending
}

// takeOver lets the consumer of a copy deliver to where its client is now, from where that wants to go on: what comes before
// is done with. It waits for Begin.
func (p *Partition) takeOver(m *member, cfg *jsapi.ConsumerConfig, done func(*jsapi.Error)) {
	next := *m.c.Config()
	next.DeliverSubject, next.FilterSubject, next.FilterSubjects = cfg.DeliverSubject, cfg.FilterSubject, cfg.FilterSubjects
	next.DeliverPolicy, next.OptStartSeq, next.OptStartTime = cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime
	m.held = true
	p.updateConsumer(m, &next, func(err *jsapi.Error) {
		if err != nil {
			m.held = false
			done(err)
			return
		}
		at, lasts := p.startOf(&next)
		p.wantsChanged(m)
		p.resolveCopied(m, at)
		m.c.Reset(at, lasts)
		m.since = max(p.next, at)
		if m.c.Counted() {
			m.c.SetBacklog(p.backlog(m))
		}
		p.ready(m)
		p.startSweep(p.first, nil)
		p.save(m, done)
	})
}

// resolveCopied takes note that a copy has what comes before a sequence. Only a work queue has to be told: elsewhere the
// sweep finds it.
func (p *Partition) resolveCopied(m *member, at uint64) {
	if p.cfg.Retention != jsapi.WorkQueueRetention {
		return
	}
	from := m.c.AckFloor() + 1
	if from >= at {
		return
	}
	p.scan(from, at-1, func(seq uint64, _ int64, r *segment.Record) bool {
		if m.c.Needs(seq) && m.c.Wants(r.Subject) {
			p.resolved(seq)
		}
		return true
	})
}

// sameCopy says whether a request is that of the copy which m belongs to, about a consumer like those that it gets now.
func (p *Partition) sameCopy(m *member, cfg *jsapi.ConsumerConfig) bool {
	old := m.c.Config()
	return cfg.Direct && old.Direct && hidden(old) == (p.cfg.Retention == jsapi.LimitsRetention)
}
