package router

import (
	"bytes"
	"time"

	"godwit/protocol"
)

// Why a client does not get a message.
const (
	notNoEcho     = "Not delivered because of no echo"
	notDenied     = "Not delivered because subscription denies this subject"
	notClosed     = "Not delivered because client is closed"
	notAutoUnsubs = "Not delivered because auto-unsubscribe exceeded"
)

// followTo delivers a traced message to one subscription and notes it. It reports false if that does not take it; then it is
// noted only with last.
func (s *Sender) followTo(m member, p *protocol.Pub, t *following, last bool) bool {
	sub, account, told := m.sub, t.account, true
	if m.export != nil {
		account, told = m.export.Importer, m.export.AllowTrace
		q := *p
		q.Subject = m.shown
		p = &q
	}
	if sub.dst.recv != nil {
		if m.export != nil {
			t.add(&traceExport{"se", time.Now().UTC(), account, string(m.shown)})
		}
		return s.followInto(m, p, t, told)
	}
	e := &traceEgress{Type: "eg", Time: time.Now().UTC(), Kind: traceClient, Account: account, Sub: sub.Subject(), Queue: sub.Queue()}
	if o, ok := sub.dst.sink.(Origin); ok {
		info := o.OriginInfo()
		e.CID, e.Name = info.ID, info.Name
	}
	switch limit := sub.Max(); {
	case sub.dst == s.self && !s.echo:
		e.Error = notNoEcho
	case sub.dst.Gone.Load():
		e.Error = notClosed
	case sub.dst.Guarded.Load() && sub.dst.sink.Denies(p.Subject, sub.Queue()):
		e.Error = notDenied
	case limit > 0 && sub.Msgs() >= limit:
		e.Error = notAutoUnsubs
	}
	if e.Error != "" && !last {
		return false
	}
	if m.export != nil {
		e.Sub = m.export.exported(e.Sub)
		t.add(&traceExport{"se", e.Time, account, string(m.shown)})
	}
	if told {
		t.add(e)
	}
	if e.Error != "" {
		return false
	}
	return t.Only || s.sendTo(sub, p) > 0
}

// exported is what a subscription in the importing account takes of the exporter's subjects.
func (l *StreamLink) exported(subj string) string {
	local, back := l.local()
	if met, ok := intersect(subj, local); ok {
		return back(met)
	}
	return l.From
}

// followInto gives a traced message to a receiver inside the server. What it makes of it is told only with told.
func (s *Sender) followInto(m member, p *protocol.Pub, t *following, told bool) bool {
	switch r := m.sub.dst.recv.(type) {
	case TracedStream:
		e := &traceStream{Type: "js", Time: time.Now().UTC(), Stream: r.TraceName()}
		if t.Only {
			if e.Subject, e.NoInterest = r.TraceOnly(p.Subject); told {
				t.add(e)
			}
			return true
		}
		if told {
			t.mu.Lock()
			t.pending++
			t.events = append(t.events, e)
			t.mu.Unlock()
			s.step = &TraceStep{t.Trace, e}
		}
		p = withTraceDest(p, traceOff) // what is delivered of the stream is another message
		if via := s.via; via != nil {
			c := *via
			c.header = replaceTraceDest(c.header, traceOff)
			s.via = &c
			defer func() { s.via = via }()
		}
	case TracedService:
		account, to := r.TraceService(p.Subject)
		if account != "" && told {
			t.add(&traceImport{"si", time.Now().UTC(), account, string(p.Subject), to})
		}
		if t.Only {
			return false
		}
	default:
		if t.Only {
			return true
		}
	}
	tg := &target{sub: m.sub, lane: s.laneTo(m.sub.dst), slow: true, prefix: m.shown}
	s.special(tg, p)
	s.step = nil
	return true
}

// requestTraced sends a traced message into the account that exports a service, and follows it there if the export allows it.
// The service learns nothing of where traces go.
func (s *Sender) requestTraced(rw *requestWay, p *protocol.Pub, t *following) Result {
	l := rw.link
	t.add(&traceImport{"si", time.Now().UTC(), l.Exporter, string(p.Subject), string(rw.target)})
	if s.hops >= maxHops || t.Only && !l.AllowTrace {
		return Undelivered
	}
	if !l.AllowTrace {
		t = nil
	}
	via := s.via
	if via != nil {
		c := *via
		c.header = replaceTraceDest(c.header, traceOff)
		s.via = &c
	}
	n := s.request(rw, withTraceDest(p, traceOff), t)
	s.via = via
	return n
}

// followRequest follows a request that has come into the exporting account, where a mapping leads it to subj.
func (s *Sender) followRequest(l *ServiceLink, subj []byte, q *protocol.Pub, t *following) Result {
	t = &following{t.Trace, l.Exporter}
	if !bytes.Equal(subj, q.Subject) {
		t.add(&traceMapping{"sm", time.Now().UTC(), string(subj)})
	}
	r := *q
	r.Subject = bytes.Clone(subj) // it may be the memory of a choice
	return s.follow(l.To, &r, t, modeServices)
}

// respondTraced delivers a traced response to who awaits it in another account.
func (s *Sender) respondTraced(x *Index, p *protocol.Pub, t *following) Result {
	account, reply, ok := x.replies.awaits(p.Subject)
	if !ok {
		return Undelivered
	}
	t.add(&traceImport{"si", time.Now().UTC(), account, string(p.Subject), string(reply)})
	if t.Only {
		return Undelivered
	}
	return s.respond(x, p.Subject, withTraceDest(p, traceOff))
}

var traceLine = []byte("\r\n" + TraceHeader + ":")

// TraceDest returns the value of TraceHeader, a part of the block; empty if there is none.
func TraceDest(header []byte) []byte {
	i := bytes.Index(header, traceLine)
	if i < 0 {
		return nil
	}
	value, _, _ := bytes.Cut(header[i+len(traceLine):], headerEnd)
	return bytes.TrimSpace(value)
}

// TraceEnded reports whether a value of TraceHeader is what the server writes where a trace ends.
func TraceEnded(dest []byte) bool { return string(dest) == traceOff }

// replaceTraceDest returns a header block with another value of TraceHeader; the block itself if it has none.
func replaceTraceDest(header []byte, value string) []byte {
	i := bytes.Index(header, traceLine)
	if i < 0 {
		return header
	}
	from := i + len(traceLine)
	n := bytes.Index(header[from:], headerEnd)
	if n < 0 {
		return header
	}
	b := append(make([]byte, 0, len(header)+len(value)+1), header[:from]...)
	return append(append(append(b, ' '), value...), header[from+n:]...)
}

// withTraceDest returns p with another value of TraceHeader; p itself if it has none.
func withTraceDest(p *protocol.Pub, value string) *protocol.Pub {
	header := replaceTraceDest(p.Header(), value)
	if len(header) == 0 || &header[0] == &p.Body[0] {
		return p
	}
	q := *p
	q.HeaderLen = len(header)
	q.Tail = protocol.AppendHeaderTail(nil, p.Reply, header, p.Payload())
	q.Body = q.Tail[len(q.Tail)-2-len(header)-len(p.Payload()) : len(q.Tail)-2]
	return &q
}
