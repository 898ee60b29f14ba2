package stream

import (
	"strconv"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// Get returns one message as MSG.GET describes it.
func (p *Partition) Get(req *jsapi.MsgGetRequest) (msg *jsapi.StoredMessage, err *jsapi.Error) {
	if badSelection(req) || req.Batch > 0 || req.MaxBytes > 0 {
		return nil, jsapi.Err(jsapi.ErrBadRequest)
	}
	var r segment.Record
	closed := p.do(func() {
		seq, t := p.find(req, &r)
		if seq == 0 {
			return
		}
		msg = &jsapi.StoredMessage{Subject: string(r.Subject), Sequence: seq, Time: time.Unix(0, t).UTC()}
		msg.Data = append([]byte(nil), r.Value...)
		if !req.NoHeaders {
			msg.Header = append([]byte(nil), r.Header...)
		}
	})
	if closed != nil || msg == nil {
		return nil, jsapi.Err(jsapi.ErrNoMessageFound)
	}
	return msg, nil
}

// badSelection says whether a request selects nothing or contradicts itself.
func badSelection(r *jsapi.MsgGetRequest) bool {
	timed := r.StartTime != nil && !r.StartTime.IsZero()
	return r.Seq == 0 && r.LastFor == "" && r.NextFor == "" && !timed ||
		r.Seq > 0 && r.LastFor != "" || r.Seq > 0 && timed || timed && r.LastFor != "" || r.LastFor != "" && r.NextFor != ""
}

// find reads the message that a request selects; seq is 0 if there is none.
func (s *state) find(r *jsapi.MsgGetRequest, rec *segment.Record) (seq uint64, t int64) {
	from := r.Seq
	if r.StartTime != nil && !r.StartTime.IsZero() {
		from = s.p.log.SeqAt(r.StartTime.UnixNano())
	}
	switch {
	case r.LastFor != "":
		return s.findLast([]byte(r.LastFor), rec)
	case r.NextFor != "":
		return s.nextMatching(r.NextFor, from, rec)
	case r.Seq > 0:
		t, err := s.read(r.Seq, rec)
		if err != nil {
			return 0, 0
		}
		return r.Seq, t
	}
	s.scan(from, s.last, func(at uint64, when int64, found *segment.Record) bool {
		seq, t, *rec = at, when, *found
		return false
	})
	return seq, t
}

// findLast reads the last message of a subject, which may be a pattern.
func (s *state) findLast(subj []byte, rec *segment.Record) (seq uint64, t int64) {
	if subject.HasWildcard(subj) {
		seq = s.lastMatching([]string{string(subj)})
	} else if i := s.subjects.find(s.subjects.hash(subj), subj); i >= 0 {
		seq = s.lastOf(i)
	}
	if seq == 0 {
		return 0, 0
	}
	t, err := s.read(seq, rec)
	if err != nil {
		return 0, 0
	}
	return seq, t
}

// GetBatch is what one sender asks a partition's messages for, in one go: direct gets.
type GetBatch struct {
	gets []get
	text []byte
}

type get struct {
	reply span
	last  span // last message of this subject, unless req or status is set
	noHdr bool
	req   *jsapi.MsgGetRequest
	// status answers a request that cannot be served.
	status string
}

// The status lines of direct gets.
const (
	getEmpty     = "408 Empty Request"
	getMalformed = "408 Malformed Request"
	getBad       = "408 Bad Request"
	getNotFound  = "404 Message Not Found"
	getLevel     = "412 Required Api Level"
)

// NewGetBatch returns an empty batch. Direct takes it.
func NewGetBatch() *GetBatch { return getBatches.Get().(*GetBatch) }

// Len is the number of requests.
func (b *GetBatch) Len() int { return len(b.gets) }

func (b *GetBatch) keep(t []byte) span {
	from := len(b.text)
	b.text = append(b.text, t...)
	return span{uint32(from), uint32(len(b.text))}
}

// Add takes a request; all slices are lent. subj is the subject asked for in the request's own subject, empty if the
// body says what is wanted. tooNew: the client demands a higher API level. A request without reply is left out.
func (b *GetBatch) Add(reply, subj, body []byte, tooNew bool) {
	if len(reply) == 0 {
		return
	}
	g := get{reply: b.keep(reply)}
	switch {
	case tooNew:
		g.status = getLevel
	case len(subj) > 0:
		g.last = b.keep(subj)
		if !jsapi.Empty(body) {
			var req jsapi.MsgGetRequest
			if err := jsapi.Decode(body, &req, false); err != nil {
				g.status = getMalformed
			}
			g.noHdr = req.NoHeaders
			if req.Seq > 0 || req.LastFor != "" || req.NextFor != "" || req.Batch > 0 || req.StartTime != nil || len(req.MultiLast) > 0 {
				g.status = getBad
			}
		}
	default:
		g.read(body)
	}
	b.gets = append(b.gets, g)
}

// read takes a request from its body.
func (g *get) read(body []byte) {
	if jsapi.Empty(body) {
		g.status = getEmpty
		return
	}
	req := &jsapi.MsgGetRequest{}
	if err := jsapi.Decode(body, req, false); err != nil {
		g.status = getMalformed
		return
	}
	timed := req.StartTime != nil && !req.StartTime.IsZero()
	switch {
	case req.Seq == 0 && req.LastFor == "" && req.NextFor == "" && !timed && len(req.MultiLast) == 0:
		g.status = getEmpty
	case badSelection(req), len(req.MultiLast) > 0, req.Batch > 0:
		g.status = getBad
	default:
		g.req, g.noHdr = req, req.NoHeaders
	}
}

// Direct gives requests to the partition, which answers each.
func (p *Partition) Direct(b *GetBatch, inline bool) {
	if p.box.begin() {
		p.box.mu.in.gets = append(p.box.mu.in.gets, b)
		p.box.end(inline)
	}
}

// answer serves a batch of direct gets.
func (p *Partition) answer(b *GetBatch) {
	var r segment.Record
	for i := range b.gets {
		g := &b.gets[i]
		to := g.reply.of(b.text)
		if g.status != "" {
			p.getStatus(to, g.status)
			continue
		}
		var seq uint64
		var t int64
		if g.req != nil {
			seq, t = p.find(g.req, &r)
		} else {
			seq, t = p.findLast(g.last.of(b.text), &r)
		}
		if seq == 0 {
			p.getStatus(to, getNotFound)
			continue
		}
		p.getMessage(to, seq, t, &r, g.noHdr)
	}
	clear(b.gets)
	b.gets, b.text = b.gets[:0], b.text[:0]
	getBatches.Put(b)
}

func (p *Partition) getStatus(to []byte, status string) {
	p.ack.msg = consumer.Message{Subject: to, Header: append(append(append(p.head[:0], "NATS/1.0 "...), status...), "\r\n\r\n"...)}
	p.head = p.ack.msg.Header
	p.out.Deliver(to, &p.ack.msg)
}

func (p *Partition) getMessage(to []byte, seq uint64, t int64, r *segment.Record, noHdr bool) {
	p.ack.msg = consumer.Message{Subject: to, Payload: r.Value}
	if !noHdr {
		b := p.head[:0]
		if len(r.Header) > 2 {
			b = append(b, r.Header[:len(r.Header)-2]...)
		} else {
			b = append(b, "NATS/1.0\r\n"...)
		}
		b = append(append(append(b, "Nats-Stream: "...), p.name...), "\r\nNats-Subject: "...)
		b = append(append(b, r.Subject...), "\r\nNats-Sequence: "...)
		b = append(strconv.AppendUint(b, seq, 10), "\r\nNats-Time-Stamp: "...)
		b = append(time.Unix(0, t).UTC().AppendFormat(b, time.RFC3339Nano), "\r\n\r\n"...)
		p.head, p.ack.msg.Header = b, b
	}
	p.out.Deliver(to, &p.ack.msg)
}
