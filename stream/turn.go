package stream

import (
	"godwit/stream/consumer"
)

// turn handles one round of work. The order matters: acknowledgements free room, pulls bring credit, appends bring
// messages, and only then is delivered, once for all of it. alone: the caller is a sender that found nobody here.
func (p *Partition) turn(w *work, alone bool) (again bool) {
	p.now = p.clock()
	p.stamp = max(p.stamp, p.now)
	bytes := 0
	for _, b := range w.pubs {
		bytes += len(b.records)
	}
	for _, f := range w.calls {
		f()
	}
	p.takeAcks(w.acks)
	p.takePulls(w.pulls)
	if len(w.pubs) > 0 {
		p.propose(w.pubs)
	}
	if p.sched.due() <= p.now {
		p.tick()
	}
	p.sweepStep()
	p.progress()
	p.maybeCheckpoint()
	p.commit(alone && bytes < littleBytes)
	if len(w.gets) > 0 {
		p.answer(w.gets)
	}
	again = p.stepBulks()
	again = p.deliver() || again
	p.progress()
	if p.audits.due {
		again = p.audit() || again
	}
	p.out.Flush()
	p.arm()
	if p.drained != nil && p.flights.len() == 0 && !p.ended {
		p.ended = true
		close(p.drained)
	}
	return again || p.sweeping() || p.appended
}

// commit hands over what was appended and applies what has become safe.
func (p *Partition) commit(alone bool) {
	if p.appended && !p.failed {
		p.appended = false
		p.inFlush.Store(true)
		safe, err := p.log.Flush(alone)
		p.inFlush.Store(false)
		if err != nil {
			p.fail(err)
		} else if safe { // as safe as the policy promises, which may be less than durable
			p.safe = p.index
		}
	}
	if err := p.failure.Load(); err != nil && !p.failed {
		p.failed = true
		p.failErasing(*err)
		if p.drained == nil { // else nobody uses it any more
			p.opts.Hooks.Failed(*err)
		}
	}
	p.safe = max(p.safe, p.log.Durable())
	p.applying = true
	for p.flights.len() > 0 {
		f := p.flights.front()
		if f.index > p.safe {
			break
		}
		p.apply(f)
		p.flights.pop()
	}
	p.applying = false
	if p.failed {
		p.abortFlights()
	}
	later := p.later
	p.later = nil
	for _, c := range later {
		p.command(c)
	}
	p.publishStats()
}

func (p *Partition) takeAcks(list []*consumer.AckBatch) {
	for _, b := range list {
		if m := p.members.of(b.C); m != nil && p.drained == nil {
			b.C.ApplyAcks(b, p.now)
			p.touch(m)
			p.ready(m)
		}
		b.Reset()
		ackBatches.Put(b)
	}
}

func (p *Partition) takePulls(list []*consumer.PullBatch) {
	for _, b := range list {
		if m := p.members.of(b.C); m != nil && p.drained == nil {
			b.C.ApplyPulls(b, p.now)
			p.touch(m)
			p.ready(m)
		}
		b.Reset()
		pullBatches.Put(b)
	}
}

// tick does what is due by the clock.
func (p *Partition) tick() {
	s := &p.sched
	if s.expire <= p.now {
		s.expire = never
		p.expireOld()
	}
	if s.batches <= p.now {
		p.idleBatches()
	}
	if s.fire <= p.now {
		if p.noRoom() != nil {
			s.fire = p.now + int64(stallLook)
		} else {
			p.fire()
			s.fire = p.nextFire()
		}
	}
	for {
		m := s.next(p.now)
		if m == nil {
			break
		}
		if m.gone {
			continue
		}
		if m.c.Inactive(p.now) {
			p.dropInactive(m)
			continue
		}
		m.c.Tick(p.now)
		if !m.rested && m.ran+restAfter <= p.now {
			m.rested = true
			m.c.Rest()
		}
		p.touch(m)
		p.ready(m)
	}
	if w := p.dedup.due(); w > 0 && w <= p.now {
		p.dedup.rotate(p.now)
	}
}

// publishStats shows the numbers to monitoring.
func (p *Partition) publishStats() {
	p.stats.msgs.Store(p.msgs)
	p.stats.bytes.Store(p.bytes)
	p.stats.first.Store(p.first)
	p.stats.last.Store(p.last)
	p.stats.consumers.Store(uint64(p.members.public))
}

// Stats returns messages, stored bytes and consumers, as of a moment ago.
func (p *Partition) Stats() (msgs, bytes, consumers uint64) {
	return p.stats.msgs.Load(), p.stats.bytes.Load(), p.stats.consumers.Load()
}
