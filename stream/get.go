package stream

import (
	"cmp"
	"slices"
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
		msg = &jsapi.StoredMessage{Subject: string(r.Subject), Sequence: p.opts.numbers.Global(seq), Time: time.Unix(0, t).UTC()}
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

// startOfGet is where the time that a request begins at lies in the log; ok is false if it names none.
func (s *state) startOfGet(r *jsapi.MsgGetRequest) (seq uint64, ok bool) {
	if !timed(r) {
		return 0, false
	}
	return s.p.log.SeqAt(jsapi.Nanos(*r.StartTime)), true
}

// timed says whether a request begins at a time. The zero time counts only in that the request is not empty.
func timed(r *jsapi.MsgGetRequest) bool { return r.StartTime != nil && !r.StartTime.IsZero() }

// selectsNothing says whether a request for one message has nothing to go by.
func selectsNothing(r *jsapi.MsgGetRequest) bool {
	return r.Seq == 0 && r.LastFor == "" && r.NextFor == "" && r.StartTime == nil
}

// badSelection says whether a request selects nothing or contradicts itself.
func badSelection(r *jsapi.MsgGetRequest) bool {
	return selectsNothing(r) || r.Seq > 0 && r.LastFor != "" || r.Seq > 0 && timed(r) || timed(r) && r.LastFor != "" ||
		r.LastFor != "" && r.NextFor != ""
}

// find reads the message that a request selects; seq is 0 if there is none.
func (s *state) find(r *jsapi.MsgGetRequest, rec *segment.Record) (seq uint64, t int64) {
	from := s.p.opts.numbers.From(r.Seq)
	if at, ok := s.startOfGet(r); ok {
		from = at
	}
	switch {
	case r.LastFor != "":
		return s.findLast([]byte(r.LastFor), rec)
	case r.NextFor != "":
		return s.nextMatching(r.NextFor, from, rec)
	case r.Seq > 0:
		seq, ok := s.p.opts.numbers.Local(r.Seq)
		if !ok {
			return 0, 0
		}
		t, err := s.read(seq, rec)
		if err != nil {
			return 0, 0
		}
		return seq, t
	}
	s.scan(from, s.last, func(at uint64, when int64, found *segment.Record) bool {
		seq, t, *rec = at, when, *found
		return false
	})
	return seq, t
}

// lastSeq returns the last message of a subject, which may be a pattern; 0 if there is none.
func (s *state) lastSeq(subj []byte) uint64 {
	if subject.HasWildcard(subj) {
		return s.lastMatching([]string{string(subj)})
	}
	if i := s.subjects.find(s.subjects.hash(subj), subj); i >= 0 {
		return s.lastOf(i)
	}
	return 0
}

// findLast reads the last message of a subject, which may be a pattern.
func (s *state) findLast(subj []byte, rec *segment.Record) (seq uint64, t int64) {
	if seq = s.lastSeq(subj); seq == 0 {
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
			if !selectsNothing(&req) || req.Batch > 0 || len(req.MultiLast) > 0 {
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
	switch {
	case selectsNothing(req) && len(req.MultiLast) == 0:
		g.status = getEmpty
	case selectsMany(req) && badMany(req), !selectsMany(req) && badSelection(req):
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

// wanted is a direct get whose message is known by its sequence only.
type wanted struct {
	seq uint64
	get *get
	b   *GetBatch
}

// answer serves direct gets. Those of one turn that ask for the last message of a subject are read in the order of the
// log, so that messages that lie together are read together.
func (p *Partition) answer(list []*GetBatch) {
	var r segment.Record
	for _, b := range list {
		for i := range b.gets {
			g := &b.gets[i]
			to := g.reply.of(b.text)
			switch {
			case g.status != "":
				p.getStatus(to, g.status)
			case g.req != nil && selectsMany(g.req):
				p.openBulk(to, g.req)
			case g.req != nil:
				if seq, t := p.find(g.req, &r); seq > 0 {
					p.getMessage(to, seq, t, &r, g.noHdr)
				} else {
					p.getStatus(to, getNotFound)
				}
			default:
				if seq := p.lastSeq(g.last.of(b.text)); seq > 0 {
					p.wanted = append(p.wanted, wanted{seq, g, b})
				} else {
					p.getStatus(to, getNotFound)
				}
			}
		}
	}
	p.answerWanted()
	for _, b := range list {
		clear(b.gets)
		b.gets, b.text = b.gets[:0], b.text[:0]
		getBatches.Put(b)
	}
}

func (p *Partition) answerWanted() {
	var r segment.Record
	slices.SortFunc(p.wanted, func(a, b wanted) int { return cmp.Compare(a.seq, b.seq) })
	for _, w := range p.wanted {
		to := w.get.reply.of(w.b.text)
		if t, err := p.read(w.seq, &r); err == nil {
			p.getMessage(to, w.seq, t, &r, w.get.noHdr)
		} else {
			p.getStatus(to, getNotFound)
		}
	}
	clear(p.wanted)
	p.wanted = p.wanted[:0]
}

func (p *Partition) getStatus(to []byte, status string) {
	p.ack.msg = consumer.Message{Subject: to, Header: append(append(append(p.head[:0], "NATS/1.0 "...), status...), "\r\n\r\n"...)}
	p.head = p.ack.msg.Header
	p.out.Deliver(to, &p.ack.msg)
}

func (p *Partition) getMessage(to []byte, seq uint64, t int64, r *segment.Record, noHdr bool) {
	p.ack.msg = consumer.Message{Subject: to, Payload: r.Value}
	if !noHdr {
		b := append(appendOrigin(p.head[:0], p.name, r, p.opts.numbers.Global(seq), t), "\r\n"...)
		p.head, p.ack.msg.Header = b, b
	}
	p.out.Deliver(to, &p.ack.msg)
}
