package stream

import (
	"fmt"
	"slices"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// Bounds of one audit, which takes about a millisecond at most.
const (
	auditEvery      = int64(1e9) // ns between two audits, at least
	auditWork       = 16 << 10   // deliveries, subjects and messages looked at for consumers
	auditDeliveries = 2048       // of one consumer
	auditScan       = 2048       // messages or subjects passed to count what is ahead of one consumer
	auditMessages   = 64         // read, and asked who needs them
	auditDone       = 4096       // acknowledgements that are in no record yet; beyond that no message is asked
)

// audits holds a partition to the standing invariant (see consumer.Audit), and to what its retention promises: a message
// that was kept for somebody has somebody who needs it. A part of it is looked at with each checkpoint, when the turn is done.
// So an idle partition costs nothing, and a busy one little.
type audits struct {
	due  bool
	last int64  // when the last one was
	next uint64 // the message to be looked at next
}

// auditSoon has a part of the partition checked at the end of the turn, unless that was done a moment ago.
func (p *Partition) auditSoon() {
	if p.now-p.audits.last >= auditEvery {
		p.audits.due, p.audits.last = true, p.now
	}
}

// audit checks some consumers and messages, and says whether it has mended something.
func (p *Partition) audit() (again bool) {
	p.audits.due = false
	if p.ending() {
		return false
	}
	left, n := auditWork, 0
	for _, m := range p.members.byID { // where the order of a map begins is as good as chance
		left -= p.auditMember(m, auditDeliveries, auditScan)
		n++
		if left <= 0 {
			break
		}
	}
	p.auditStored(auditMessages)
	p.opts.Hooks.Audited(n)
	return len(p.members.touched) > 0
}

// auditMember checks one consumer and returns about how much it has looked at; deliveries and scan bound it.
func (p *Partition) auditMember(m *member, deliveries int, scan uint64) (work int) {
	report := func(text string) { p.opts.Hooks.Violated(m.c, text) }
	work = 16 + 4*m.c.Audit(deliveries, report)
	if due := m.c.NextDue(p.now); !m.isTouched && !p.opts.numbers.Several() && due != never && (m.due == 0 || m.due > due) {
		report(fmt.Sprintf("what is due at %d is looked at at %d (0: never)", due, m.due))
		p.touch(m)
	}
	if !m.isTouched && m.tracked == 0 && m.c.Tracking() {
		report("it has deliveries out and would not hear that their messages are gone")
		p.touch(m)
	}
	if p.watch.recount || p.hurt {
		return work
	}
	n, cost := p.aheadOf(m, scan)
	if cost > scan {
		return work
	}
	if counted := m.c.Pending(); counted != n {
		report(fmt.Sprintf("%d messages are counted as ahead, there are %d", counted, n))
		m.c.SetBacklog(n)
		p.ready(m)
		p.touch(m)
	}
	return work + int(cost)
}

// aheadOf counts what a consumer has not come to, if that takes no more looks than most; cost is how many it takes.
func (p *Partition) aheadOf(m *member, most uint64) (n, cost uint64) {
	from := m.c.Next()
	if !m.c.Counted() {
		if cost = (p.last - min(from, p.last)) / blockSeqs; cost > most {
			return 0, cost
		}
		return p.state.count(from, p.last), cost
	}
	if seqs, resume, _ := m.c.Lasts(); len(seqs) > 0 {
		cost, from = uint64(len(seqs)), resume+1
	}
	if from <= p.last {
		cost += uint64(p.subjects.len()) + p.last - from
	}
	if cost > most {
		return 0, cost
	}
	return p.backlog(m), cost
}

// auditStored checks of up to so many messages, in a stream that keeps none without need, that somebody needs them. Of a work
// queue, which keeps what nobody has come for, those are meant that a consumer wants.
func (p *Partition) auditStored(most int) {
	k, a := &p.keep, &p.audits
	if p.cfg.Retention == jsapi.LimitsRetention || p.msgs == 0 || k.sweep.at <= k.sweep.to || k.sweep.purging > 0 || len(k.done) > auditDone {
		return
	}
	if a.next < p.first || a.next > p.last {
		a.next = p.first
	}
	rd := p.reader(a.next)
	defer rd.Release()
	var r segment.Record
	for range most {
		seq, _, ok := rd.Next(p.last, &r)
		if !ok {
			a.next = p.last + 1
			return
		}
		a.next = seq + 1
		if !p.has(seq) || p.needed(seq, &r) || p.leaving(seq) {
			continue
		}
		if p.cfg.Retention == jsapi.InterestRetention {
			p.opts.Hooks.Violated(nil, fmt.Sprintf("message %d is kept though no consumer needs it", seq))
		} else if m := p.claimant(seq, r.Subject); m != nil {
			p.opts.Hooks.Violated(m.c, fmt.Sprintf("message %d is kept and will not be delivered", seq))
		}
	}
}

// claimant returns a consumer of a work queue that should have dealt with a message, nil if there is none.
func (p *Partition) claimant(seq uint64, subj []byte) *member {
	var counted []*member
	if i := p.subjects.find(p.subjects.hash(subj), subj); i >= 0 {
		counted = p.watch.of(&p.state, i)
	}
	for _, list := range [...][]*member{p.watch.open, counted} {
		for _, m := range list {
			if seq >= m.since {
				return m
			}
		}
	}
	return nil
}

// leaving says whether a message is on its way out.
func (p *Partition) leaving(seq uint64) bool {
	if slices.Contains(p.keep.done, seq) {
		return true
	}
	for _, f := range p.flights.list[p.flights.head:] {
		if _, ok := slices.BinarySearch(f.gone, seq); ok {
			return true
		}
	}
	return false
}

// Auditor is told what audits find. Calls come from the turn and must not wait.
type Auditor interface {
	// Audited: so many consumers of the partition were checked.
	Audited(consumers int)
	// Violated: something contradicts the standing invariant, about a consumer if c is not nil.
	Violated(c *consumer.Consumer, text string)
}
