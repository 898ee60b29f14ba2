package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
	"godwit/stream/timetable"
)

var errBadTimers = errors.New("malformed schedules")

// fireMax bounds the messages that schedules produce in one turn.
const fireMax = 256

// nextPurge is the value of Nats-Schedule-Next that ends a schedule.
const nextPurge = "purge"

// scheduled message: the message of a subject that produces others.
type timer struct {
	subject       string
	seq           uint64
	due           int64 // never: not any more
	pattern, zone string
	table         timetable.Table
	firing        bool // what it produced is in flight
}

// timers are the scheduled messages of a stream. An entry may be of a message that is gone meanwhile.
type timers struct {
	heap      deadlines
	bySeq     map[uint64]*timer
	bySubject map[string]*timer
}

func (x *timers) add(t *timer) {
	if x.bySeq == nil {
		x.bySeq, x.bySubject = map[uint64]*timer{}, map[string]*timer{}
	}
	x.bySeq[t.seq], x.bySubject[t.subject] = t, t
	x.heap.add(expiry{t.due, t.seq})
}

func (x *timers) drop(t *timer) {
	delete(x.bySeq, t.seq)
	delete(x.bySubject, t.subject)
}

// next returns the timer that is due first, nil if there is none.
func (x *timers) next() *timer {
	for len(x.heap) > 0 {
		e := x.heap[0]
		if t := x.bySeq[e.seq]; t != nil && t.due == e.at && !t.firing {
			return t
		}
		x.heap.pop() // a firing one comes back when what it produced is applied
	}
	return nil
}

// noteTimers takes in what a stored message means for schedules.
func (s *state) noteTimers(r *segment.Record, seq uint64, at int64) {
	x := &s.timers
	if t := x.bySubject[string(r.Subject)]; t != nil {
		x.drop(t)
	}
	if r.Attrs&attrScheduler != 0 {
		s.noteFired(r)
	}
	if r.Attrs&attrSchedule == 0 {
		return
	}
	t := &timer{subject: string(r.Subject), seq: seq, pattern: string(headerValue(r.Header, hdrSchedule)), zone: string(headerValue(r.Header, hdrScheduleZone))}
	var err error
	if t.table, err = timetable.Parse(t.pattern, t.zone); err != nil {
		return // it was checked before it was stored
	}
	t.due = t.table.First(at)
	x.add(t)
	if len(x.bySeq) > 1024 && uint64(len(x.bySeq)) > 2*s.msgs {
		for _, t := range x.bySeq {
			if !s.has(t.seq) {
				x.drop(t)
			}
		}
	}
}

// noteFired takes in a message that a schedule produced, or that cancels one.
func (s *state) noteFired(r *segment.Record) {
	x := &s.timers
	t := x.bySubject[string(headerValue(r.Header, hdrScheduler))]
	if t == nil {
		return
	}
	t.firing = false
	next := string(headerValue(r.Header, hdrScheduleNext))
	if next == nextPurge {
		x.drop(t)
		s.deleteSeq(t.seq)
		return
	}
	at, err := time.Parse(time.RFC3339Nano, next)
	if err != nil {
		return
	}
	t.due = jsapi.Nanos(at)
	x.heap.add(expiry{t.due, t.seq})
}

// fire lets the schedules that are due produce their messages.
func (p *Partition) fire() {
	if p.ending() || p.cfg.Sealed {
		return
	}
	b := p.NewBatch()
	for n := 0; n < fireMax; n++ {
		t := p.timers.next()
		if t == nil || t.due > p.now {
			break
		}
		p.timers.heap.pop()
		var r segment.Record
		if _, err := p.read(t.seq, &r); err != nil {
			p.timers.drop(t)
			continue
		}
		if p.lastOn(p.subjects.hash(r.Subject), r.Subject) != t.seq {
			continue // what replaces it is in flight
		}
		t.firing = true
		b.addInternal(p.produce(t, &r))
	}
	p.proposeInternal(b)
}

// produce makes the message of a schedule; r is the schedule's own.
func (p *Partition) produce(t *timer, r *segment.Record) *segment.Record {
	out := &segment.Record{Attrs: attrScheduler, Subject: headerValue(r.Header, hdrScheduleTarget), Value: r.Value}
	header := r.Header
	if from := headerValue(r.Header, hdrScheduleSource); from != nil {
		var source segment.Record
		if seq, _ := p.findLast(from, &source); seq > 0 {
			header, out.Value = source.Header, source.Value
		}
	}
	next := nextPurge
	if due := t.table.Next(t.due, p.now); due != never {
		next = time.Unix(0, due).UTC().Format(time.RFC3339Nano)
	}
	h := []byte(headerVersion + "\r\n")
	headerLines(header, func(name, _, line []byte) bool {
		if !ofSchedule(name) {
			h = appendLine(h, line)
		}
		return true
	})
	add := func(name, value string) { h = append(append(append(append(h, name...), ": "...), value...), "\r\n"...) }
	add(hdrScheduler, t.subject)
	add(hdrScheduleNext, next)
	if ttl := headerValue(r.Header, hdrScheduleTTL); ttl != nil && p.cfg.AllowMsgTTL {
		out.Attrs |= attrTTL
		add(hdrTTL, string(ttl))
	}
	if headerValue(r.Header, hdrScheduleRollup) != nil {
		out.Attrs |= attrRollupSub
		add(hdrRollup, rollupSubject)
	}
	out.Header = append(h, "\r\n"...)
	return out
}

// ofSchedule says whether a header of a scheduled message is not passed on.
func ofSchedule(name []byte) bool {
	switch string(name) {
	case hdrMsgID, hdrTTL, hdrRollup, hdrScheduler:
		return true
	}
	return bytes.HasPrefix(name, []byte(hdrSchedule)) || bytes.HasPrefix(name, []byte("Nats-Expected-"))
}

// nextFire is when the next schedule is due, never if none is.
func (p *Partition) nextFire() int64 {
	if t := p.timers.next(); t != nil && !p.cfg.Sealed {
		return t.due
	}
	return never
}

// literal says whether a header value is a subject of this stream without wildcards.
func (p *Partition) literal(v []byte) bool {
	if !subject.ValidLiteral(string(v)) {
		return false
	}
	for _, s := range p.cfg.Subjects {
		if subject.Match(s, v) {
			return true
		}
	}
	return false
}

// appendTo encodes the schedules for a checkpoint.
func (x *timers) appendTo(dst []byte, s *state) []byte {
	n := uint64(0)
	for _, t := range x.bySeq {
		if s.has(t.seq) {
			n++
		}
	}
	dst = binary.AppendUvarint(dst, n)
	for _, t := range x.bySeq {
		if s.has(t.seq) {
			dst = appendText(appendText(appendText(dst, t.subject), t.pattern), t.zone)
			dst = binary.AppendUvarint(dst, t.seq)
			dst = binary.AppendVarint(dst, t.due)
		}
	}
	return dst
}

func (x *timers) decode(d *decoder) error {
	*x = timers{}
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		t := &timer{subject: string(d.text()), pattern: string(d.text()), zone: string(d.text()), seq: d.uvarint(), due: d.varint()}
		var err error
		if t.table, err = timetable.Parse(t.pattern, t.zone); err != nil {
			d.fail()
			break
		}
		x.add(t)
	}
	if d.bad {
		return errBadTimers
	}
	return nil
}
