package stream

import (
	"strconv"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// republisher sends stored messages on as core messages. It belongs to the turn.
type republisher struct {
	to          *subject.Transform
	headersOnly bool
	subject     []byte // scratch
	header      []byte // scratch
	msg         consumer.Message
}

// newRepublisher returns nil if r is, or is no valid mapping, which CheckConfig refuses.
func newRepublisher(r *jsapi.Republish) *republisher {
	if r == nil {
		return nil
	}
	t, err := subject.NewTransform(orAll(r.Source), r.Destination)
	if err != nil || t == nil {
		return nil
	}
	return &republisher{to: t, headersOnly: r.HeadersOnly}
}

// republish sends on a message that was just stored; last is the sequence before it on its subject, 0 if there was none.
// What the log replays is not sent again.
func (p *Partition) republish(rec *segment.Record, seq, last uint64, t int64) {
	r := p.republisher
	to, ok := r.to.Append(r.subject[:0], string(rec.Subject))
	r.subject = to
	if !ok {
		return
	}
	out := p.opts.numbers
	b := appendOrigin(r.header[:0], p.name, rec, out.Global(seq), t)
	b = append(strconv.AppendUint(append(b, "Nats-Last-Sequence: "...), out.Global(last), 10), "\r\n"...)
	r.msg = consumer.Message{Subject: to, Payload: rec.Value}
	if r.headersOnly {
		b = append(strconv.AppendInt(append(b, "Nats-Msg-Size: "...), int64(len(rec.Value)), 10), "\r\n"...)
		r.msg.Payload = nil
	}
	r.header = append(b, "\r\n"...)
	r.msg.Header = r.header
	p.out.Deliver(to, &r.msg)
}

// appendOrigin opens a header block with a message's own headers and where it is stored. The block's last line is the
// caller's.
func appendOrigin(b []byte, stream string, r *segment.Record, seq uint64, t int64) []byte {
	if len(r.Header) > 2 {
		b = append(b, r.Header[:len(r.Header)-2]...)
	} else {
		b = append(b, headerVersion+"\r\n"...)
	}
	b = append(append(append(b, "Nats-Stream: "...), stream...), "\r\nNats-Subject: "...)
	b = append(append(b, r.Subject...), "\r\nNats-Sequence: "...)
	b = append(strconv.AppendUint(b, seq, 10), "\r\nNats-Time-Stamp: "...)
	return append(time.Unix(0, t).UTC().AppendFormat(b, time.RFC3339Nano), "\r\n"...)
}

// setSubjects takes over what a configuration says of subjects: of those published on, and of those sent on.
func (p *Partition) setSubjects(cfg *jsapi.StreamConfig) {
	var t *subject.Transform
	if c := cfg.SubjectTransform; c != nil {
		t, _ = subject.NewTransform(orAll(c.Source), c.Destination) // CheckConfig refuses what is invalid
	}
	p.transform.Store(t)
	p.republisher = newRepublisher(cfg.Republish)
}
