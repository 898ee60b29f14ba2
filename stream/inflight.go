package stream

import (
	"cmp"
	"slices"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// inflightStates are the states of deliveries as the API names them.
var inflightStates = [...]jsapi.InflightState{consumer.Flying: jsapi.InflightPending, consumer.Waiting: jsapi.InflightDelayed,
	consumer.Queued: jsapi.InflightQueued, consumer.Parked: jsapi.InflightDead}

// Inflight lists what a consumer has delivered and what is not resolved, over all partitions, as the request says. Error: 10014.
func (s *Set) Inflight(name string, r *jsapi.InflightRequest) (*jsapi.InflightResponse, *jsapi.Error) {
	limit := r.Limit
	if limit <= 0 || limit > jsapi.InflightPage {
		limit = jsapi.InflightPage
	}
	out := &jsapi.InflightResponse{Messages: []jsapi.InflightMessage{}}
	more := false
	for i, p := range s.parts {
		found := false
		if p.do(func() {
			m := p.members.byName[name]
			if m == nil {
				return
			}
			found = true
			list, total, follows := m.c.Inflight(p.opts.numbers.From(r.From), limit)
			out.Total += total
			more = more || follows
			for j := range list {
				out.Messages = append(out.Messages, p.describeFlight(i, &list[j]))
			}
		}) != nil || !found {
			return nil, jsapi.Err(jsapi.ErrConsumerNotFound)
		}
	}
	slices.SortFunc(out.Messages, func(a, b jsapi.InflightMessage) int { return cmp.Compare(a.Stream, b.Stream) })
	if len(out.Messages) > limit {
		out.Messages, more = out.Messages[:limit], true
	}
	if more {
		out.Next = out.Messages[len(out.Messages)-1].Stream + 1
	}
	return out, nil
}

func (p *Partition) describeFlight(partition int, e *consumer.Entry) jsapi.InflightMessage {
	m := jsapi.InflightMessage{Stream: p.opts.numbers.Global(e.Stream), Consumer: p.opts.numbers.Global(e.Consumer), Partition: partition,
		State: inflightStates[e.State], Deliveries: int(e.Deliveries)}
	if e.State == consumer.Flying || e.State == consumer.Waiting {
		at := time.Unix(0, e.Due).UTC()
		m.Deadline = &at
	}
	var r segment.Record
	if t, err := p.read(e.Stream, &r); err == nil {
		at := time.Unix(0, t).UTC()
		m.Subject, m.Stored = string(r.Subject), &at
	}
	return m
}

// ActOn does to one message that a consumer has delivered what is asked for, and returns when that is safe. Errors: 10014, 20003,
// 20004.
func (s *Set) ActOn(name string, r *jsapi.InflightAct) *jsapi.Error {
	if r.Action == jsapi.ActExtend && r.Duration <= 0 {
		return jsapi.Err(jsapi.ErrBadInflightAct, "err", "extend needs a duration of more than 0")
	}
	p := s.owner(r.Seq)
	seq, ok := p.opts.numbers.Local(r.Seq)
	if !ok || seq == 0 {
		return consumer.NotInFlight(r.Seq)
	}
	return p.request(name, func(done func(*jsapi.Error)) {
		m := p.members.byName[name]
		if m == nil {
			done(jsapi.Err(jsapi.ErrConsumerNotFound))
			return
		}
		if err := m.c.Act(r, seq, p.now); err != nil {
			done(err)
			return
		}
		p.ready(m)
		p.save(m, done)
	})
}

// Lag says how far a consumer is behind, over all partitions. Error: 10014.
func (s *Set) Lag(name string) (*jsapi.ConsumerLag, *jsapi.Error) {
	out := &jsapi.ConsumerLag{Stream: s.parts[0].name, Consumer: name}
	now := time.Now()
	var msgs, bytes uint64
	for _, p := range s.parts {
		var l consumer.Lag
		var filters []string
		found := false
		if p.do(func() {
			if m := p.members.byName[name]; m != nil {
				found, l, filters = true, m.c.Lag(), m.c.Filters()
				msgs, bytes = msgs+p.msgs, bytes+p.bytes
				out.Undelivered = p.older(out.Undelivered, l.Next, filters, now)
				out.Oldest = p.older(out.Oldest, l.Unresolved, nil, now)
			}
		}) != nil || !found {
			return nil, jsapi.Err(jsapi.ErrConsumerNotFound)
		}
		out.Messages += l.Pending
		out.Unacked += l.Unacked
		out.Dead += l.Parked
	}
	out.Bytes = out.Messages * (bytes / max(msgs, 1))
	return out, nil
}

// older returns the older one of what is known and the first stored message from seq on that matches a filter.
func (p *Partition) older(known *jsapi.LagOf, seq uint64, filters []string, now time.Time) *jsapi.LagOf {
	if seq == 0 {
		return known
	}
	if len(filters) == 0 {
		filters = []string{">"}
	}
	var r segment.Record
	for _, f := range filters {
		at, t := p.nextMatching(f, seq, &r)
		if at == 0 {
			continue
		}
		if when := time.Unix(0, t).UTC(); known == nil || when.Before(known.Time) {
			known = &jsapi.LagOf{Seq: p.opts.numbers.Global(at), Time: when, Age: max(now.Sub(when).Seconds(), 0)}
		}
	}
	return known
}
