package stream

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// acrossMax bounds the direct gets that wait because their messages may be in several partitions.
const acrossMax = 1024

// across answers direct gets whose messages may be in several partitions, one after the other, on a goroutine that exists
// only while there are some.
type across struct {
	mu      sync.Mutex
	waiting []acrossGet
	running bool
	closed  bool
	idle    sync.WaitGroup
}

// acrossGet is one request.
type acrossGet struct {
	reply []byte
	req   *jsapi.MsgGetRequest
}

// close has nothing more taken, and waits for the request that is being answered.
func (a *across) close() {
	a.mu.Lock()
	a.closed = true
	a.waiting = nil
	a.mu.Unlock()
	a.idle.Wait()
}

// RouteGet returns the partition that can answer a direct get alone. Else the request, whose slices are lent, is answered
// by all of them together, and ok is false. subj and body are as for GetBatch.Add.
func (s *Set) RouteGet(reply, subj, body []byte, tooNew bool) (partition int, ok bool) {
	if len(s.parts) == 1 || len(reply) == 0 || tooNew {
		return 0, true
	}
	var g get
	if len(subj) > 0 {
		var req jsapi.MsgGetRequest
		if !jsapi.Empty(body) && jsapi.Decode(body, &req, false) != nil || !selectsNothing(&req) || selectsMany(&req) {
			return 0, true // refused
		}
		req.LastFor = string(subj)
		g.req = &req
	} else if g.read(body); g.status != "" {
		return 0, true // refused
	}
	if !selectsMany(g.req) || len(g.req.MultiLast) == 0 && g.req.NextFor != "" {
		if i, ok := s.partitionOfGet(g.req); ok {
			return i, true
		}
	}
	a := &s.across
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
	case len(a.waiting) >= acrossMax:
		s.tell(reply, getOverload)
	default:
		a.waiting = append(a.waiting, acrossGet{slices.Clone(reply), g.req})
		if !a.running {
			a.running = true
			a.idle.Go(s.answerAcross)
		}
	}
	return 0, false
}

func (s *Set) answerAcross() {
	a := &s.across
	for {
		a.mu.Lock()
		if len(a.waiting) == 0 {
			a.running = false
			a.mu.Unlock()
			return
		}
		g := a.waiting[0]
		a.waiting = slices.Delete(a.waiting, 0, 1)
		a.mu.Unlock()
		switch {
		case len(g.req.MultiLast) > 0:
			s.getLasts(&g)
		case selectsMany(g.req):
			s.getMany(&g)
		default:
			s.getOne(&g)
		}
	}
}

// tell answers with a status.
func (s *Set) tell(reply []byte, status string) {
	s.send(reply, &consumer.Message{Header: append(append([]byte("NATS/1.0 "), status...), "\r\n\r\n"...)})
}

// send sends a message and returns to how many subscriptions it went.
func (s *Set) send(to []byte, m *consumer.Message) int {
	out := &s.parts[0].refuse
	out.Lock()
	defer out.Unlock()
	m.Subject = to
	n := out.out.Deliver(to, m)
	out.out.Flush()
	return n
}

// located is a message and where it is.
type located struct {
	p     *Partition
	local uint64 // its number in the partition
	seq   uint64 // and in the stream
	time  int64
	rec   segment.Record
}

// inTurn runs f in the partition's turn; nothing happens if the partition is closed.
func (p *Partition) inTurn(f func()) { _ = p.do(f) }

func (s *Set) getOne(g *acrossGet) {
	var best *located
	for _, p := range s.parts {
		var m located
		p.inTurn(func() { m.local, m.time = p.find(g.req, &m.rec) })
		if m.local == 0 {
			continue
		}
		m.p, m.seq = p, p.opts.numbers.Global(m.local)
		if best == nil || better(g.req, m.stored(), best.stored()) {
			best = &m
		}
	}
	if best == nil {
		s.tell(g.reply, getNotFound)
		return
	}
	msg := &consumer.Message{Payload: best.rec.Value}
	if !g.req.NoHeaders {
		msg.Header = append(appendOrigin(nil, best.p.name, &best.rec, best.seq, best.time), "\r\n"...)
	}
	s.send(g.reply, msg)
}

// stored is what better looks at.
func (m *located) stored() *jsapi.StoredMessage {
	return &jsapi.StoredMessage{Sequence: m.seq, Time: time.Unix(0, m.time)}
}

// answering is a direct get of many messages that is being answered.
type answering struct {
	s     *Set
	reply []byte
	bulk  // only what is left, and the counts
}

func (s *Set) answeringFor(g *acrossGet) *answering {
	a := &answering{s: s, reply: g.reply, bulk: bulk{noHdr: g.req.NoHeaders, left: max(g.req.Batch, 0), bytes: bulkBytes}}
	if g.req.MaxBytes != 0 {
		a.bytes = max(g.req.MaxBytes, 1)
	}
	return a
}

// send sends one message; false if nobody listens.
func (a *answering) send(m *located) bool {
	if a.pending > 0 {
		a.pending--
	}
	msg := &consumer.Message{Payload: m.rec.Value}
	if !a.noHdr {
		msg.Header = append(a.appendCounts(appendOrigin(nil, m.p.name, &m.rec, m.seq, m.time)), "\r\n"...)
	}
	if a.s.send(a.reply, msg) == 0 {
		return false
	}
	a.left--
	a.bytes -= max(1, len(m.rec.Subject)+len(m.rec.Header)+len(m.rec.Value))
	a.last = m.seq
	return true
}

// end says that there is no more. upTo is where the last messages of subjects were looked for; 0 if that was not asked for.
func (a *answering) end(upTo uint64) {
	h := a.appendCounts([]byte("NATS/1.0 204 EOB\r\n"))
	if upTo > 0 {
		h = append(strconv.AppendUint(append(h, "Nats-UpTo-Sequence: "...), upTo, 10), "\r\n"...)
	}
	a.s.send(a.reply, &consumer.Message{Header: append(h, "\r\n"...)})
}

// getMany sends messages in the order of their numbers.
func (s *Set) getMany(g *acrossGet) {
	a := s.answeringFor(g)
	heads := make([]located, 0, len(s.parts))
	filter := g.req.NextFor
	for _, p := range s.parts {
		m := located{p: p}
		p.inTurn(func() {
			from := max(p.opts.numbers.From(g.req.Seq), p.first)
			if at, ok := p.startOfGet(g.req); ok {
				from = max(at, p.first)
			}
			if filter == "" {
				a.pending += p.state.count(from, p.last)
			} else {
				a.pending += p.countMatching([]string{filter}, from)
			}
			m.local, m.time = p.nextMatching(filter, from, &m.rec)
		})
		if m.local > 0 {
			m.seq = p.opts.numbers.Global(m.local)
			heads = append(heads, m)
		}
	}
	if len(heads) == 0 {
		s.tell(g.reply, getNotFound)
		return
	}
	for len(heads) > 0 && a.left > 0 && a.bytes > 0 {
		at := 0
		for i := range heads {
			if heads[i].seq < heads[at].seq {
				at = i
			}
		}
		m := &heads[at]
		if !a.send(m) {
			return
		}
		from := m.local + 1
		m.local = 0
		m.p.inTurn(func() { m.local, m.time = m.p.nextMatching(filter, from, &m.rec) })
		if m.local == 0 {
			heads = slices.Delete(heads, at, at+1)
		} else {
			m.seq = m.p.opts.numbers.Global(m.local)
		}
	}
	a.end(0)
}

// getLasts sends the last messages of subjects in the order of their numbers.
func (s *Set) getLasts(g *acrossGet) {
	a := s.answeringFor(g)
	a.noHdr = false
	if g.req.Batch <= 0 {
		a.left = int(^uint(0) >> 1)
	}
	var list []located
	some, upTo := false, uint64(0)
	filters := slices.DeleteFunc(slices.Clone(g.req.MultiLast), func(f string) bool { return f == "" })
	for _, p := range s.parts {
		b := &bulk{multi: true}
		p.inTurn(func() {
			b.end = p.endOfMulti(g.req)
			some = len(filters) > 0 && p.lasts(b, filters, max(p.opts.numbers.From(g.req.Seq), p.first)) || some
			upTo = max(upTo, p.opts.numbers.Global(b.end))
		})
		for more := b.older != nil; more; {
			more = false
			p.inTurn(func() { more = p.look(b) })
		}
		p.inTurn(func() {
			if b.rd != nil {
				b.rd.Release()
			}
		})
		for _, local := range b.seqs {
			list = append(list, located{p: p, local: local, seq: p.opts.numbers.Global(local)})
		}
	}
	switch {
	case !some:
		s.tell(g.reply, getNoResults)
		return
	case len(list) > multiMax:
		s.tell(g.reply, getTooMany)
		return
	}
	slices.SortFunc(list, func(x, y located) int {
		if x.seq < y.seq {
			return -1
		}
		return 1
	})
	a.pending = uint64(len(list))
	for i := range list {
		if a.left <= 0 || a.bytes <= 0 {
			break
		}
		m := &list[i]
		found := false
		m.p.inTurn(func() {
			var err error
			m.time, err = m.p.read(m.local, &m.rec)
			found = err == nil
		})
		if !found {
			continue // removed meanwhile
		}
		if !a.send(m) {
			return
		}
		m.rec = segment.Record{}
	}
	a.end(upTo)
}
