package stream

import (
	"encoding/binary"
	"slices"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
)

const (
	// settleEvery is how long an acknowledged message of a stream that keeps only what is needed may stay, in ns.
	settleEvery = int64(20e6)
	// settleMax bounds the acknowledgements that are gathered before their messages go.
	settleMax = 1 << 16
	// sweepMax bounds the messages that are looked at in one turn.
	sweepMax = 8 << 10
	// removedID stands in a batch of progress records before the messages that go with them. No consumer has it.
	removedID = 0
)

// retention finds out, in a stream that keeps messages only until they are acknowledged, which ones go. The partition's
// leader decides; what it has decided is part of the progress record with which it became true, so that a message is
// removed if and only if the acknowledgements that made it superfluous are safe.
type retention struct {
	done   []uint64  // a consumer is done with these since the last record
	mixed  bool      // not all of done came from those who are there now, or they want others since then
	movers []*member // want others since a record was made that is not applied yet; see member.moved
	moved  uint64    // the highest of theirs
	former []*member // may wait for acknowledgements of messages that they do not want any more; in no order
	sweep  struct {  // messages to be looked at one by one because a consumer is gone or wants others now
		at, to  uint64   // the next, the last, which may be in flight; at > to: none
		rd      *reader  // nil: none is under way
		gone    []uint64 // found since the last record
		waits   []func() // called when what was found is gone
		purging int      // commands in flight that remove what was stored
	}
}

// wants says whether a message that comes now, as seq, interests anybody.
func (w *watchers) wants(subj []byte, seq uint64) bool {
	need := func(m *member) bool { return m.c.Needs(seq) }
	if slices.ContainsFunc(w.open, need) || slices.ContainsFunc(w.literals[string(subj)], need) {
		return true
	}
	return slices.ContainsFunc(w.patterns, func(m *member) bool { return m.c.Wants(subj) && need(m) })
}

// unwanted says whether a message is acknowledged without being kept, as nobody is interested. What it leaves in the log
// is its sequence, and its id.
func (p *Partition) unwanted(rec *segment.Record) bool {
	if p.cfg.Retention != jsapi.InterestRetention || p.watch.wants(rec.Subject, p.next) {
		return false
	}
	rec.Attrs = rec.Attrs&(attrMsgID|attrCopied) | attrUnwanted
	rec.Value = nil
	if rec.Attrs == attrUnwanted {
		rec.Header = nil
	}
	return true
}

// doubt has messages [from, to) looked at that nobody has judged: those that the partition itself makes are stored whoever wants
// them, as they have effects.
func (p *Partition) doubt(from, to uint64) {
	if p.cfg.Retention != jsapi.InterestRetention {
		return
	}
	for seq := from; seq < to; seq++ {
		p.resolved(seq)
	}
	p.keep.mixed = true
}

// resolved is told by consumers which messages they are done with.
func (p *Partition) resolved(seq uint64) { p.keep.done = append(p.keep.done, seq) }

// watchResolved makes a consumer tell, or no more, as the stream's retention needs it.
func (p *Partition) watchResolved(m *member) {
	m.c.Resolved, m.since = nil, p.next
	if p.cfg.Retention != jsapi.LimitsRetention {
		m.c.Resolved = p.resolved
	}
}

// settleRetention returns the messages that nobody needs any more, ascending.
func (p *Partition) settleRetention() []uint64 {
	k := &p.keep
	if len(k.done) == 0 && len(k.sweep.gone) == 0 {
		return nil
	}
	slices.Sort(k.done)
	seqs := slices.Compact(k.done)
	switch {
	case p.cfg.Retention == jsapi.LimitsRetention: // it was another one a moment ago
		seqs = seqs[:0]
	case k.mixed || p.cfg.Retention == jsapi.InterestRetention && len(p.members.byID) > 1:
		free := seqs[:0]
		p.visit(seqs, func(seq uint64, _ int64, r *segment.Record) {
			if !p.needed(seq, r) {
				free = append(free, seq)
			}
		})
		seqs = free
	}
	if len(k.sweep.gone) > 0 {
		seqs = append(seqs, k.sweep.gone...)
		slices.Sort(seqs)
		seqs = slices.Compact(seqs)
	}
	return seqs
}

// clear forgets what settleRetention returned.
func (k *retention) clear() {
	k.done, k.sweep.gone, k.mixed = k.done[:0], k.sweep.gone[:0], false
	if cap(k.done) > 2*settleMax {
		k.done = nil
	}
}

// wantsChanged notes that consumers want others than before: m is new, or begins elsewhere; nil if one goes.
func (p *Partition) wantsChanged(m *member) {
	k := &p.keep
	k.mixed = k.mixed || len(k.done) > 0
	if m != nil {
		m.since = max(p.next, m.c.Next())
	}
	if m == nil || p.found != nil || p.cfg.Retention == jsapi.LimitsRetention {
		return
	}
	if k.moved <= p.applied {
		clear(k.movers)
		k.movers = k.movers[:0]
	}
	if m.moved <= p.applied { // else it is among them
		k.movers = append(k.movers, m)
	}
	m.moved, k.moved = p.index, p.index
}

// needed says whether any consumer has yet to deal with a stored message. One that says so is asked first the next time:
// it is likely to be the slowest.
func (p *Partition) needed(seq uint64, r *segment.Record) bool {
	i := p.subjects.find(p.subjects.hash(r.Subject), r.Subject)
	lists := [2][]*member{p.watch.open}
	if i >= 0 {
		lists[1] = p.watch.of(&p.state, i)
	}
	for _, list := range lists {
		for k, m := range list {
			if m.c.Needs(seq) {
				list[0], list[k] = list[k], list[0]
				return true
			}
		}
	}
	return false
}

// appendRemoved encodes messages that go, as an entry of a progress batch.
func appendRemoved(dst []byte, seqs []uint64) []byte {
	var text []byte
	last := uint64(0)
	for _, seq := range seqs {
		text = binary.AppendUvarint(text, seq-last)
		last = seq
	}
	return appendText(binary.AppendUvarint(dst, removedID), text)
}

// decodeRemoved reads what appendRemoved has written, without the id.
func decodeRemoved(text []byte) (seqs []uint64, ok bool) {
	d := decoder{b: text}
	for last := uint64(0); len(d.b) > 0 && !d.bad; {
		last += d.uvarint()
		seqs = append(seqs, last)
	}
	return seqs, !d.bad
}

// removeNeedless removes messages that nobody needs, ascending, by the record of an index. Consumers hear nothing, as none
// of them waits for one, unless it has begun to want others since the record was made.
func (p *Partition) removeNeedless(seqs []uint64, index uint64) {
	all := seqs
	for len(seqs) > 0 && seqs[0] <= p.first {
		if seqs[0] == p.first && p.msgs > 0 {
			p.removeFirst()
		}
		seqs = seqs[1:]
	}
	p.visit(seqs, func(seq uint64, _ int64, r *segment.Record) {
		i := p.subjects.find(p.subjects.hash(r.Subject), r.Subject)
		p.discount(i, seq, p.size(r))
		p.unlink(seq)
	})
	if index <= p.keep.moved {
		for _, m := range p.keep.movers {
			p.forgetAll(m, all)
		}
	}
	if len(p.keep.former) > 0 {
		p.forgetFormer(all)
	}
	p.account()
}

// forgetAll tells one consumer that messages are gone.
func (p *Partition) forgetAll(m *member, seqs []uint64) {
	for _, seq := range seqs {
		if !m.c.Tracking() {
			return
		}
		if m.c.Forget(seq, "") {
			p.touch(m)
		}
	}
}

// forgetFormer tells those who wait for what they do not want any more that messages are gone: nobody asks them.
func (p *Partition) forgetFormer(seqs []uint64) {
	k := &p.keep
	k.former = slices.DeleteFunc(k.former, func(m *member) bool {
		p.forgetAll(m, seqs)
		m.isFormer = !m.gone && m.c.Tracking()
		return !m.isFormer
	})
}

// noteFormer takes m up among those, if it may wait for what it does not want any more.
func (p *Partition) noteFormer(m *member) {
	if p.cfg.Retention != jsapi.LimitsRetention && p.found == nil && !m.isFormer && m.c.Tracking() {
		m.isFormer = true
		p.keep.former = append(p.keep.former, m)
	}
}

// formerMax bounds the deliveries whose messages findFormer reads.
const formerMax = 64 << 10

// findFormer finds those members among all, whose filters may have changed at any time.
func (p *Partition) findFormer() {
	if p.cfg.Retention == jsapi.LimitsRetention || p.found != nil {
		return
	}
	left := formerMax
	var r segment.Record
	for _, m := range p.members.byID {
		if len(m.c.Filters()) == 0 {
			continue
		}
		m.c.EachOut(func(seq uint64) bool {
			if left--; left >= 0 {
				if _, err := p.read(seq, &r); err != nil || m.c.Wants(r.Subject) {
					return true
				}
			}
			p.noteFormer(m)
			return false
		})
	}
}

// startSweep has all messages from a sequence on looked at, those in flight too: when they were judged, somebody may have
// wanted them who does not any more. done, which may be nil, is called when the first of those that nobody needs are gone:
// all of them, unless there are many.
func (p *Partition) startSweep(from uint64, done func()) {
	s := &p.keep.sweep
	if p.cfg.Retention != jsapi.InterestRetention || p.ending() {
		if done != nil {
			done()
		}
		return
	}
	if s.at <= s.to {
		from = min(from, s.at)
	}
	s.at, s.to = max(from, p.first, 1), p.last
	if p.flying.msgs > 0 {
		s.to = p.next - 1
	}
	if done != nil {
		s.waits = append(s.waits, done)
	}
	if len(p.members.byID) == 0 && s.at <= p.last { // nothing that is stored is needed
		s.at = p.last + 1
		s.purging++
		p.command(&command{op: opPurge, seq: p.last + 1, done: func() {
			s.purging--
			p.endWaits()
		}})
	}
	if s.rd != nil {
		s.rd.Seek(s.at)
	}
	if s.at > s.to {
		p.endWaits()
	}
}

// sweepAfter has messages looked at because of what a command has done, before whoever waits for it hears of it.
func (p *Partition) sweepAfter(c *command) {
	if c.sweep && p.found == nil {
		done := c.done
		c.done = nil
		p.startSweep(p.first, done)
	}
}

// sweeping says whether there are messages that can be looked at.
func (p *Partition) sweeping() bool {
	s := &p.keep.sweep
	return s.at <= min(s.to, p.last)
}

// sweepStep looks at some messages.
func (p *Partition) sweepStep() {
	s := &p.keep.sweep
	if s.at > s.to {
		return
	}
	if p.ending() || p.cfg.Retention != jsapi.InterestRetention {
		s.at, s.to, s.gone = 1, 0, s.gone[:0]
		p.endSweep()
		return
	}
	if !p.sweeping() {
		return // the rest is in flight
	}
	if s.rd == nil {
		s.rd = p.reader(s.at)
	}
	high := min(s.to, p.last)
	var r segment.Record
	for range sweepMax {
		seq, _, ok := s.rd.Next(high, &r)
		if !ok {
			s.at = high + 1
			break
		}
		s.at = seq + 1
		if p.has(seq) && !p.needed(seq, &r) {
			s.gone = append(s.gone, seq)
		}
	}
	if s.at > s.to {
		p.endSweep()
	} else if len(s.gone) == 0 && p.sweeping() {
		p.endWaits() // there are many
	}
}

// endSweep gives back what a sweep held. Those who wait are told at once if it found nothing, else with the record.
func (p *Partition) endSweep() {
	s := &p.keep.sweep
	if s.rd != nil {
		s.rd.Release()
		s.rd = nil
	}
	if len(s.gone) == 0 {
		p.endWaits()
	}
}

// endWaits tells those who wait for a sweep, unless what it found first is still being removed.
func (p *Partition) endWaits() {
	if p.keep.sweep.purging > 0 {
		return
	}
	waits := p.keep.sweep.waits
	p.keep.sweep.waits = nil
	for _, done := range waits {
		done()
	}
}

// checkQueue checks a consumer of a work queue against the others there.
func (p *Partition) checkQueue(name string, cfg *jsapi.ConsumerConfig) *jsapi.Error {
	if p.cfg.Retention != jsapi.WorkQueueRetention {
		return nil
	}
	if cfg.AckPolicy != jsapi.AckExplicit && cfg.AckPolicy != jsapi.AckFlowControl {
		return jsapi.Err(jsapi.ErrConsumerWQRequiresExplicitAck)
	}
	filters, l := cfg.Filters(), &p.members
	others := len(l.byName)
	if l.byName[name] != nil {
		others--
	}
	clash := func(theirs []string) bool { return len(theirs) == 0 || overlap(theirs, filters) }
	clashes := false
	for n, c := range l.coming {
		if n != name {
			if l.byName[n] == nil {
				others++
			}
			clashes = clashes || clash(c.Filters())
		}
	}
	if others > 0 && len(filters) == 0 {
		return jsapi.Err(jsapi.ErrConsumerWQMultipleUnfiltered)
	}
	if clashes || p.watch.rivals(filters, func(m *member) bool {
		return m.c.Name != name && l.coming[m.c.Name] == nil && clash(m.c.Filters())
	}) {
		return jsapi.Err(jsapi.ErrConsumerWQConsumerNotUnique)
	}
	if cfg.DeliverPolicy != jsapi.DeliverAll && !cfg.Direct { // a copy goes on where it was
		return jsapi.Err(jsapi.ErrConsumerWQConsumerNotDeliverAll)
	}
	return nil
}

// overlap says whether two lists of filters have a subject in common.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return subject.Overlap(x, y) })
	})
}
