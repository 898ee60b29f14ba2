package stream

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
)

// defaultMaxConsumers bounds the consumers of a stream for which nobody has set a bound.
const defaultMaxConsumers = 1000

// ConsumerRequest asks for a consumer to be created or changed.
type ConsumerRequest struct {
	Name     string
	Config   jsapi.ConsumerConfig // without defaults
	Action   jsapi.Action
	Pedantic bool
	// MaxConsumers bounds the consumers of the stream for the account: 0 and below is no bound of its own.
	MaxConsumers int
	// Held makes a new consumer that pushes wait with its first delivery until Begin is called.
	Held bool
}

// CreateConsumer creates or changes a consumer and returns it as it was right after.
func (p *Partition) CreateConsumer(r ConsumerRequest) (*jsapi.ConsumerInfo, *jsapi.Error) {
	var info *jsapi.ConsumerInfo
	err := p.request(r.Name, func(done func(*jsapi.Error)) {
		cfg := r.Config
		if err := consumer.Check(&cfg, &p.cfg, p.opts.consumerLimits(), r.Pedantic); err != nil {
			done(err)
			return
		}
		cfg.Metadata = jsapi.WithLevel(cfg.Metadata, cfg.RequiredLevel())
		if err := p.checkSpanning(&cfg); err != nil {
			done(err)
			return
		}
		finish := func(err *jsapi.Error) {
			if m := p.members.byName[r.Name]; m != nil && err == nil {
				info = m.c.Info(p.now)
			} else if err == nil {
				err = jsapi.Err(jsapi.ErrConsumerNotFound) // deleted at once
			}
			done(err)
		}
		if m := p.members.byName[r.Name]; m != nil && p.sameCopy(m, &cfg) {
			p.takeOver(m, &cfg, finish)
		} else if m != nil {
			p.changeConsumer(m, &cfg, r.Action, finish)
		} else {
			p.addConsumer(&r, &cfg, finish)
		}
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// request runs f in the turn once no command about the consumer is in flight, and waits until f calls done. What f writes
// may be read only if there was no error.
func (p *Partition) request(name string, f func(done func(*jsapi.Error))) *jsapi.Error {
	result := make(chan *jsapi.Error, 1)
	var start func()
	start = func() {
		if err := p.noRoom(); err != nil {
			result <- err
			return
		}
		if waiting, busy := p.members.busy[name]; busy {
			p.members.busy[name] = append(waiting, start)
			return
		}
		f(func(err *jsapi.Error) { result <- err })
	}
	if !p.box.call(start, true) {
		return jsapi.Err(jsapi.ErrStreamNotFound)
	}
	err, full := await(p, result)
	if full != nil {
		return full
	}
	return err
}

// consumerCommand appends a command about a consumer; others about it wait until done was called.
func (p *Partition) consumerCommand(name string, c *command, done func(*jsapi.Error)) {
	if p.members.busy == nil {
		p.members.busy = map[string][]func(){}
	}
	p.members.busy[name] = nil
	c.done = func() {
		waiting := p.members.busy[name]
		delete(p.members.busy, name)
		done(c.err)
		for _, start := range waiting {
			start()
		}
	}
	p.command(c)
}

// addConsumer creates a consumer after the checks that concern the others of the stream.
func (p *Partition) addConsumer(r *ConsumerRequest, cfg *jsapi.ConsumerConfig, done func(*jsapi.Error)) {
	if r.Action == jsapi.ActionUpdate {
		done(jsapi.Err(jsapi.ErrConsumerDoesNotExist))
		return
	}
	if cfg.Direct && p.cfg.Retention != jsapi.LimitsRetention {
		keepForCopy(r.Name, cfg)
	}
	consumer.FillNew(cfg)
	if err := p.checkQueue(r.Name, cfg); err != nil {
		done(err)
		return
	}
	limit := p.opts.DefaultMaxConsumers
	if limit <= 0 {
		limit = defaultMaxConsumers
	}
	if p.cfg.MaxConsumers > 0 || r.MaxConsumers > 0 {
		limit = p.cfg.MaxConsumers
		if limit <= 0 || r.MaxConsumers > 0 && r.MaxConsumers < limit {
			limit = r.MaxConsumers
		}
	}
	if !hidden(cfg) && p.members.public+p.creating >= limit {
		done(jsapi.Err(jsapi.ErrMaximumConsumersLimit))
		return
	}
	if cfg.MemoryStorage && p.cfg.Storage != jsapi.MemoryStorage {
		p.members.lastVolatile++
		id := volatileIDs | p.members.lastVolatile
		m := p.newMember(id, r.Name, cfg, p.now, true)
		m.held = r.Held && cfg.Push()
		p.startMember(m)
		p.settleCounts()
		done(nil)
		return
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		done(jsapi.Err(jsapi.ErrConsumerCreate, "err", err.Error()))
		return
	}
	p.creating++
	p.coming(r.Name, cfg)
	p.consumerCommand(r.Name, &command{op: opConsumerCreate, name: r.Name, text: text, held: r.Held && cfg.Push()}, func(err *jsapi.Error) {
		p.creating--
		delete(p.members.coming, r.Name)
		done(err)
	})
}

// changeConsumer returns an existing consumer if the request describes it, else changes it.
func (p *Partition) changeConsumer(m *member, cfg *jsapi.ConsumerConfig, action jsapi.Action, done func(*jsapi.Error)) {
	old := m.c.Config()
	if consumer.SameConfig(old, cfg) {
		done(nil)
		return
	}
	if action == jsapi.ActionCreate {
		done(jsapi.Err(jsapi.ErrConsumerAlreadyExists))
		return
	}
	if err := consumer.CheckUpdate(old, cfg, m.c.Bound()); err != nil {
		done(err)
		return
	}
	if err := p.checkQueue(m.c.Name, cfg); err != nil {
		done(err)
		return
	}
	cfg.PauseUntil = old.PauseUntil
	p.updateConsumer(m, cfg, done)
}

// updateConsumer changes a consumer's configuration.
func (p *Partition) updateConsumer(m *member, cfg *jsapi.ConsumerConfig, done func(*jsapi.Error)) {
	text, err := json.Marshal(cfg)
	if err != nil {
		done(jsapi.Err(jsapi.ErrConsumerCreate, "err", err.Error()))
		return
	}
	c := &command{op: opConsumerUpdate, seq: m.c.ID, text: text}
	if m.c.Volatile {
		p.applyUpdate(c)
		p.settleCounts()
		p.sweepAfter(c)
		done(c.err)
		return
	}
	p.coming(m.c.Name, cfg)
	p.consumerCommand(m.c.Name, c, func(err *jsapi.Error) {
		delete(p.members.coming, m.c.Name)
		done(err)
	})
}

// coming notes the configuration that a consumer will have when what is in flight is applied.
func (p *Partition) coming(name string, cfg *jsapi.ConsumerConfig) {
	if p.members.coming == nil {
		p.members.coming = map[string]*jsapi.ConsumerConfig{}
	}
	p.members.coming[name] = cfg
}

// applyCreate makes the consumer that a command asks for; its place in the stream is that of this moment.
func (p *Partition) applyCreate(c *command) {
	cfg := &jsapi.ConsumerConfig{}
	if err := json.Unmarshal(c.text, cfg); err != nil {
		c.err = jsapi.Err(jsapi.ErrConsumerCreate, "err", err.Error())
		return
	}
	m := p.newMember(c.index, c.name, cfg, c.time, false)
	m.held = c.held
	p.startMember(m)
}

// startMember puts a new consumer at its place and takes it in.
func (p *Partition) startMember(m *member) {
	next, lasts := p.startOf(m.c.Config())
	m.c.Start(next, lasts)
	p.wantsChanged(m)
	p.members.add(m)
	p.watch.join(m)
	if m.c.Counted() {
		m.c.SetBacklog(p.backlog(m))
	}
	if p.log != nil && p.found == nil {
		m.c.Activate(p.now, lasts)
		p.opts.Hooks.ConsumerAdded(m.c)
		p.touch(m)
		p.ready(m)
	}
}

// startOf is where a new consumer begins: the sequence at which it looks for new messages, and the last messages of
// subjects that come before those.
func (s *state) startOf(cfg *jsapi.ConsumerConfig) (next uint64, lasts []uint64) {
	filters := cfg.Filters()
	switch cfg.DeliverPolicy {
	case jsapi.DeliverLast:
		if len(filters) == 0 {
			return max(s.first, s.last), nil
		}
		return max(s.first, s.lastMatching(filters)), nil
	case jsapi.DeliverNew:
		return s.last + 1, nil
	case jsapi.DeliverByStartSequence:
		return max(s.p.opts.numbers.From(cfg.OptStartSeq), s.first), nil
	case jsapi.DeliverByStartTime:
		return min(max(s.p.log.SeqAt(jsapi.Nanos(*cfg.OptStartTime)), s.first), s.last+1), nil
	case jsapi.DeliverLastPerSubject:
		return s.last + 1, s.lastsFor(filters, s.first, s.last)
	}
	return s.first, nil
}

func (p *Partition) applyUpdate(c *command) {
	cfg := &jsapi.ConsumerConfig{}
	if err := json.Unmarshal(c.text, cfg); err != nil {
		c.err = jsapi.Err(jsapi.ErrConsumerCreate, "err", err.Error())
		return
	}
	m := p.members.byID[c.seq]
	if m == nil {
		c.err = jsapi.Err(jsapi.ErrConsumerNotFound)
		return
	}
	refiltered := !slices.Equal(m.c.Filters(), cfg.Filters())
	if refiltered {
		p.watch.leave(m)
		p.wantsChanged(m)
	}
	paused := pauseOf(m.c.Config())
	m.config = c.text
	m.c.Update(cfg)
	if until := pauseOf(cfg); p.found == nil && !until.Equal(paused) {
		p.opts.Hooks.Paused(m.c, until, jsapi.Nanos(until) > p.now)
	}
	if refiltered {
		p.watch.join(m)
		if m.c.Counted() {
			m.c.SetBacklog(p.backlog(m))
		}
		p.noteFormer(m)
		c.sweep = true
	}
	p.touch(m)
	p.ready(m)
}

// DeleteConsumer removes a consumer.
func (p *Partition) DeleteConsumer(name string) *jsapi.Error {
	return p.request(name, func(done func(*jsapi.Error)) {
		m := p.members.byName[name]
		if m == nil {
			done(jsapi.Err(jsapi.ErrConsumerNotFound))
			return
		}
		p.deleteMember(m, done)
	})
}

func (p *Partition) deleteMember(m *member, finish func(*jsapi.Error)) {
	done := func(err *jsapi.Error) { p.startSweep(m.c.AckFloor()+1, func() { finish(err) }) }
	if m.c.Volatile {
		p.endMember(m)
		done(nil)
		return
	}
	p.consumerCommand(m.c.Name, &command{op: opConsumerDelete, seq: m.c.ID}, done)
}

func (p *Partition) applyDelete(c *command) {
	if m := p.members.byID[c.seq]; m != nil {
		p.endMember(m)
	} else {
		c.err = jsapi.Err(jsapi.ErrConsumerNotFound)
	}
}

// endMember takes a consumer out.
func (p *Partition) endMember(m *member) {
	p.wantsChanged(nil)
	p.members.remove(m)
	m.c.Close(false)
	m.c.Leave()
	p.watch.leave(m)
	if p.found == nil {
		p.opts.Hooks.ConsumerRemoved(m.c)
	}
}

// dropInactive deletes a consumer that nobody has used for long.
func (p *Partition) dropInactive(m *member) {
	if p.opts.idle != nil { // it has parts elsewhere
		p.opts.idle(m.c.Name)
		return
	}
	if _, busy := p.members.busy[m.c.Name]; !busy {
		p.deleteMember(m, func(*jsapi.Error) {})
	}
}

// ConsumerInfo describes a consumer.
func (p *Partition) ConsumerInfo(name string) (info *jsapi.ConsumerInfo, err *jsapi.Error) {
	if p.do(func() {
		if m := p.members.byName[name]; m != nil {
			info = m.c.Info(p.now)
		}
	}) != nil || info == nil {
		return nil, jsapi.Err(jsapi.ErrConsumerNotFound)
	}
	return info, nil
}

// ConsumerNames returns the names of all consumers, sorted.
func (p *Partition) ConsumerNames() (names []string) {
	_ = p.do(func() { // closed: none
		for name, m := range p.members.byName {
			if !hidden(m.c.Config()) {
				names = append(names, name)
			}
		}
	})
	slices.Sort(names)
	return names
}

// Consumers describes the consumers from the offset-th on, by name, at most limit of them, and returns how many there
// are.
func (p *Partition) Consumers(offset, limit int) (list []*jsapi.ConsumerInfo, total int) {
	_ = p.do(func() { // closed: none
		all := make([]*member, 0, len(p.members.byName))
		for _, m := range p.members.byName {
			if !hidden(m.c.Config()) {
				all = append(all, m)
			}
		}
		slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.c.Name, b.c.Name) })
		total = len(all)
		for _, m := range all[min(offset, total):min(offset+limit, total)] {
			list = append(list, m.c.Info(p.now))
		}
	})
	return list, total
}

// CopyConsumers describes the consumers of mirrors and sources, which are in no list, by name.
func (p *Partition) CopyConsumers() (list []*jsapi.ConsumerInfo) {
	_ = p.do(func() { // closed: none
		for _, m := range p.members.byName {
			if hidden(m.c.Config()) {
				list = append(list, m.c.Info(p.now))
			}
		}
	})
	slices.SortFunc(list, func(a, b *jsapi.ConsumerInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// PauseConsumer suspends a consumer until a time; one that is not in the future resumes it.
func (p *Partition) PauseConsumer(name string, until time.Time) *jsapi.Error {
	return p.request(name, func(done func(*jsapi.Error)) {
		m := p.members.byName[name]
		if m == nil {
			done(jsapi.Err(jsapi.ErrConsumerNotFound))
			return
		}
		cfg := *m.c.Config()
		cfg.PauseUntil = nil
		if jsapi.Nanos(until) > p.now {
			cfg.PauseUntil = &until
		}
		p.updateConsumer(m, &cfg, done)
	})
}
