package stream

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// member is a consumer as its partition sees it.
type member struct {
	c      *consumer.Consumer
	config []byte // encoded, for checkpoints
	due    int64  // when the schedule brings it up; 0 if it does not
	ran    int64  // when it last could deliver
	rested bool   // it has given back its memory since
	since  uint64 // it has dealt, or will, with what it wants from this sequence on
	moved  uint64 // records up to this index were made before it began to want what it wants now

	// Whether it is in the list of the same name.
	isReady, isTouched, isDirty, isEager bool
	isFormer                             bool // see retention.former
	gone                                 bool
	held                                 bool // does not deliver yet; see Begin
	tracked                              int  // its place in members.tracking, from 1 on; 0: it has none
}

// members are the consumers of a partition.
type members struct {
	byName map[string]*member
	byID   map[uint64]*member
	coming map[string]*jsapi.ConsumerConfig // being created or changed by what is in flight
	busy   map[string][]func()              // names with a command in flight, and the requests that wait for it
	public int                              // those that count and are listed

	ready, spare []*member            // may have something to deliver
	touched      []*member            // changed in this turn
	dirty        []*member            // have progress that is in no record
	saved        []func(*jsapi.Error) // to be called when the next progress record is safe
	eager        []*member            // have no filter and wait for new messages
	tracking     []*member            // may wait for acknowledgements; see forget
	lastVolatile uint64
}

// restAfter is how long a consumer may do nothing before it gives back the memory that it does not need, in ns.
const restAfter = int64(time.Second)

// volatileIDs is where the ids of consumers begin that are in no log.
const volatileIDs = 1 << 63

// of returns the member that is c, nil if it was deleted.
func (l *members) of(c *consumer.Consumer) *member {
	if m := l.byID[c.ID]; m != nil && m.c == c {
		return m
	}
	return nil
}

func (l *members) add(m *member) {
	if l.byID == nil {
		l.byID, l.byName = map[uint64]*member{}, map[string]*member{}
	}
	l.byID[m.c.ID], l.byName[m.c.Name] = m, m
	if !hidden(m.c.Config()) {
		l.public++
	}
}

func (l *members) remove(m *member) {
	m.gone = true
	l.untrack(m)
	delete(l.byID, m.c.ID)
	delete(l.byName, m.c.Name)
	if !hidden(m.c.Config()) {
		l.public--
	}
}

// ready notes that m may have something to deliver.
func (p *Partition) ready(m *member) {
	if !m.isReady && !m.gone {
		m.isReady = true
		p.members.ready = append(p.members.ready, m)
	}
}

// poke has m deliver soon. It may be called by anybody.
func (p *Partition) poke(m *member) { p.box.call(func() { p.ready(m) }, false) }

// touch notes that m changed, so that its progress and its deadline are looked at.
func (p *Partition) touch(m *member) {
	if !m.isTouched {
		m.isTouched = true
		p.members.touched = append(p.members.touched, m)
	}
}

// wakeMembers makes those ready that wait for any new message.
func (p *Partition) wakeMembers() {
	l := &p.members
	for _, m := range l.eager {
		m.isEager = false
		p.ready(m)
	}
	clear(l.eager)
	l.eager = l.eager[:0]
}

// deliver lets consumers send. It returns true if the bounds of a turn left something undone.
func (p *Partition) deliver() (again bool) {
	l := &p.members
	list := l.ready
	l.ready = l.spare[:0]
	for _, m := range list {
		m.isReady = false
		if m.gone || m.held || p.drained != nil {
			continue
		}
		more := m.c.Deliver(p.now)
		p.opts.Stats.delivered(m.c)
		m.ran, m.rested = p.now, false
		p.touch(m)
		if more {
			p.ready(m)
			again = true
		} else if !m.c.Counted() && !m.isEager && m.c.Demand() {
			m.isEager = true
			l.eager = append(l.eager, m)
		}
	}
	clear(list)
	l.spare = list[:0]
	return again
}

// progress collects what consumers have to log, and logs it when it is time or somebody waits for it.
func (p *Partition) progress() {
	l := &p.members
	force := len(l.saved) > 0
	for _, m := range l.touched {
		m.isTouched = false
		if m.gone {
			continue
		}
		l.track(m)
		if m.c.Confirms() {
			if m.c.Volatile {
				m.c.TakeConfirms(p.sendEmpty)
			} else {
				force = true
				p.dirty(m)
			}
		}
		if m.c.Dirty() {
			p.dirty(m)
		}
		due := m.c.NextDue(p.now)
		if !m.rested {
			due = min(due, m.ran+restAfter)
		}
		p.sched.set(m, due)
	}
	clear(l.touched)
	l.touched = l.touched[:0]
	k := &p.keep
	if len(l.dirty) == 0 && len(k.done) == 0 && len(k.sweep.gone) == 0 && !force {
		p.sched.progress = never
		return
	}
	every := int64(progressEvery)
	if len(k.done) > 0 {
		every = settleEvery
		force = force || len(k.done) > settleMax
	}
	force = force || len(k.sweep.gone) > 0
	if p.noRoom() != nil { // records would gather in memory
		p.sched.progress = p.now + every
		return
	}
	p.sched.progress = min(p.sched.progress, p.now+every)
	if force || p.sched.progress <= p.now {
		p.logProgress()
	}
}

func (p *Partition) dirty(m *member) {
	if !m.isDirty {
		m.isDirty = true
		p.members.dirty = append(p.members.dirty, m)
	}
}

// logProgress appends one batch with the progress of all consumers that have some.
func (p *Partition) logProgress() {
	l := &p.members
	p.sched.progress = never
	body, rec := p.body[:0], p.rec
	for _, m := range l.dirty {
		m.isDirty = false
		if m.gone {
			continue
		}
		rec = m.c.AppendProgress(rec[:0])
		body = binary.AppendUvarint(body, m.c.ID)
		body = appendText(body, rec)
	}
	gone := p.settleRetention()
	if len(gone) > 0 {
		body = appendRemoved(body, gone)
	}
	p.body, p.rec = body, rec
	if len(body) > 0 {
		f := p.appendBatch(segment.Head{Kind: segment.KindProgress, Time: p.stamp, Base: p.next}, body)
		for _, m := range l.dirty {
			if !m.gone {
				m.c.TakeConfirms(f.confirm)
			}
		}
		f.dones, l.saved = l.saved, nil
		f.gone = append(f.gone[:0], gone...)
		if len(p.keep.sweep.gone) > 0 && p.keep.sweep.waits != nil {
			waits := p.keep.sweep.waits
			p.keep.sweep.waits = nil
			f.dones = append(f.dones, func(*jsapi.Error) {
				for _, done := range waits {
					done()
				}
			})
		}
	}
	p.keep.clear()
	if len(l.saved) > 0 { // of consumers that were deleted meanwhile
		p.flights.push(p.index).dones = l.saved
		l.saved = nil
	}
	clear(l.dirty)
	l.dirty = l.dirty[:0]
	if cap(p.body) > bufferMax {
		p.body, p.rec = nil, nil
	}
}

// track notes that m may wait for acknowledgements. Everybody who came to do so is noted before anything more is applied.
func (l *members) track(m *member) {
	if m.tracked == 0 && m.c.Tracking() {
		l.tracking = append(l.tracking, m)
		m.tracked = len(l.tracking)
	}
}

// untrack takes m out of those.
func (l *members) untrack(m *member) {
	if m.tracked == 0 {
		return
	}
	last := l.tracking[len(l.tracking)-1]
	l.tracking[m.tracked-1], last.tracked = last, m.tracked
	l.tracking[len(l.tracking)-1] = nil
	l.tracking = l.tracking[:len(l.tracking)-1]
	m.tracked = 0
}

// forget tells consumers that a message is gone that they may wait for.
func (p *Partition) forget(seq uint64, reason string) {
	if p.found != nil {
		reason = "" // they have heard of it
	}
	l := &p.members
	for i := len(l.tracking) - 1; i >= 0; i-- {
		m := l.tracking[i]
		if !m.c.Tracking() {
			l.untrack(m)
		} else if m.c.Forget(seq, reason) {
			p.touch(m)
		}
	}
}

// endMembers ends what waits at all consumers, because of a shutdown or because the stream is deleted.
func (p *Partition) endMembers(shutdown bool) {
	if shutdown {
		p.progress()
		p.logProgress()
	}
	for _, m := range p.members.byID {
		m.c.Close(shutdown)
		p.opts.Hooks.ConsumerRemoved(m.c)
	}
}

// newMember makes a consumer of this partition.
func (p *Partition) newMember(id uint64, name string, cfg *jsapi.ConsumerConfig, created int64, volatile bool) *member {
	config, err := json.Marshal(cfg)
	if err != nil {
		config = nil // a configuration that was decoded from JSON
	}
	m := &member{config: config, c: consumer.New(consumer.Options{ID: id, Stream: p.name, Place: p.opts.AckPlace, Name: name,
		Created: time.Unix(0, created).UTC(), Config: cfg, Store: view{&p.state}, Out: p.out, Events: p.opts.Hooks,
		Volatile: volatile, Numbers: p.opts.numbers})}
	if p.opts.share != nil {
		m.c.Share, m.c.Flush, m.c.Wake = p.opts.share, p.out.Flush, func() { p.poke(m) }
	}
	p.watchResolved(m)
	return m
}

// appendMembers encodes all consumers that are in the log, for a checkpoint of everything logged so far.
func (p *Partition) appendMembers(dst []byte) []byte {
	n := 0
	for id := range p.members.byID {
		if id < volatileIDs {
			n++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(n))
	var state []byte
	for id, m := range p.members.byID {
		if id >= volatileIDs {
			continue
		}
		dst = binary.AppendUvarint(dst, id)
		dst = appendText(dst, m.c.Name)
		dst = binary.AppendVarint(dst, m.c.Created.UnixNano())
		dst = appendText(dst, m.config)
		state = m.c.AppendState(state[:0])
		dst = appendText(dst, state)
	}
	return dst
}

func (p *Partition) restoreMembers(d *decoder) error {
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		id, name, created := d.uvarint(), string(d.text()), d.varint()
		config, state := d.text(), d.text()
		if d.bad {
			break
		}
		cfg := &jsapi.ConsumerConfig{}
		if err := json.Unmarshal(config, cfg); err != nil {
			return err
		}
		m := p.newMember(id, name, cfg, created, false)
		if err := m.c.ApplyProgress(state); err != nil {
			return err
		}
		p.members.add(m)
		p.members.track(m)
	}
	p.watch.rebuild(p.members.byID)
	if d.bad {
		return errBadCheckpoint
	}
	return nil
}
