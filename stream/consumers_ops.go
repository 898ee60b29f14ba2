package stream

import (
	"time"

	"godwit/protocol/jsapi"
)

// ResetConsumer makes a consumer deliver from a stream sequence on as if it were new; 0 is what follows its ack floor.
// It returns the consumer as it is then, and the sequence, once that is safe.
func (p *Partition) ResetConsumer(name string, seq uint64) (*jsapi.ConsumerInfo, uint64, *jsapi.Error) {
	var info *jsapi.ConsumerInfo
	var at uint64
	if err := p.request(name, func(done func(*jsapi.Error)) {
		m := p.members.byName[name]
		if m == nil {
			done(jsapi.Err(jsapi.ErrConsumerNotFound))
			return
		}
		var err *jsapi.Error
		begin := p.beginOf(m.c.Config())
		if at = seq; p.opts.numbers.Several() && seq > 0 { // another partition may begin earlier
			at = max(p.opts.numbers.From(seq), begin)
		}
		if at, err = m.c.ResetTo(at, begin); err != nil {
			done(err)
			return
		}
		var lasts []uint64
		if _, resume, ok := m.c.Lasts(); ok {
			lasts = p.lastsFor(m.c.Filters(), max(at, p.first), resume)
		}
		p.wantsChanged(m)
		m.c.Reset(at, lasts)
		m.since = max(p.next, at)
		if m.c.Counted() {
			m.c.SetBacklog(p.backlog(m))
		}
		info = m.c.Info(p.now)
		p.ready(m)
		p.startSweep(p.first, nil) // it may have gone forward
		p.save(m, done)
	}); err != nil {
		return nil, 0, err
	}
	return info, at, nil
}

// beginOf is where a consumer that starts by time begins, 0 for others.
func (p *Partition) beginOf(cfg *jsapi.ConsumerConfig) uint64 {
	if cfg.DeliverPolicy != jsapi.DeliverByStartTime || cfg.OptStartTime == nil {
		return 0
	}
	return p.log.SeqAt(jsapi.Nanos(*cfg.OptStartTime))
}

// UnpinConsumer lets another client of a group be pinned.
func (p *Partition) UnpinConsumer(name, group string) *jsapi.Error {
	return p.request(name, func(done func(*jsapi.Error)) {
		m := p.members.byName[name]
		if m == nil {
			done(jsapi.Err(jsapi.ErrConsumerNotFound))
			return
		}
		if err := m.c.Unpin(group); err != nil {
			done(err)
			return
		}
		p.ready(m)
		p.save(m, done)
	})
}

// save logs a consumer's progress at the end of the turn's first half and calls done when that is safe. One that is in
// no log is done at once.
func (p *Partition) save(m *member, done func(*jsapi.Error)) {
	p.touch(m)
	if m.c.Volatile {
		done(nil)
		return
	}
	p.dirty(m)
	p.members.saved = append(p.members.saved, done)
}

// Begin lets a consumer deliver that was created Held.
func (p *Partition) Begin(name string) {
	p.box.call(func() {
		if m := p.members.byName[name]; m != nil && m.held {
			m.held = false
			p.touch(m)
			p.ready(m)
		}
	}, true)
}

// EndRequests tells open pull requests that the server is going, while their clients can still hear it. It returns when
// that is handed over.
func (p *Partition) EndRequests() {
	end := func() {
		for _, m := range p.members.byID {
			m.c.Close(true)
			p.touch(m)
		}
	}
	if p.do(end) == nil {
		_ = p.do(func() {}) // the turn after: what was sent is out; or the partition was closed, which sends it too
	}
}

// pauseOf is until when a configuration suspends deliveries, the zero time if it does not.
func pauseOf(cfg *jsapi.ConsumerConfig) time.Time {
	if cfg.PauseUntil == nil {
		return time.Time{}
	}
	return *cfg.PauseUntil
}
