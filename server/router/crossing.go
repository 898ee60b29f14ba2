package router

import (
	"bytes"
	"strconv"
	"time"

	"godwit/protocol"
	"godwit/protocol/subject"
)

// way is what a route has where a message goes further than to the subscriptions of one account, or elsewhere.
type way struct {
	subject  []byte       // by which messages are delivered: that after a mapping
	mapping  *Mapping     // decides for each message; then nothing else is set
	services []requestWay // to other accounts
	reply    bool         // the subject may be one on which others await a response
	deps     []dependency // what was looked up besides the subject itself
}

// requestWay is where a request goes.
type requestWay struct {
	link   *ServiceLink
	target []byte // the subject there
}

// dependency is a subject in an account whose subscriptions decide about a route.
type dependency struct {
	index   *Index
	subject []byte
	hash    uint32
}

func (w *way) generation() (sum uint64) {
	for i := range w.deps {
		d := &w.deps[i]
		sum += d.index.generation(d.subject, d.hash)
	}
	return sum
}

// wayMode is how a message came to an account.
type wayMode uint8

const (
	modeMapped   wayMode = 1 << iota // mappings apply
	modeStreams                      // it goes on to accounts that import it as a stream
	modeServices                     // it goes on to accounts that are asked for a service

	modePublished = modeStreams | modeServices // by the server itself; mappings are for what clients publish
	modeRequested = modeMapped | modeServices  // from another account
)

// wayKey names a route in another account, or one to which a mapping leads.
type wayKey struct {
	index   *Index
	mode    wayMode
	subject string
}

// maxWays bounds the routes of a sender in other accounts; at the bound all are dropped.
const maxWays = 512

// crossing is what a message that crosses into another account carries with it.
type crossing struct {
	origin Origin // nil if the server itself published
	header []byte // of the message, without what the server adds for connections
	from   string // the account of the first requester
	shared bool   // it may be told who that is
}

// hopRoom is what a sender builds a request in that crosses, one for each account that it crosses into.
type hopRoom struct {
	crossing
	info, header, reply, tail []byte
}

// maxRoom is the size of a request above which its memory is not kept.
const maxRoom = 64 << 10

// room returns the memory for the next crossing.
func (s *Sender) room() *hopRoom {
	if s.rooms[s.hops] == nil {
		s.rooms[s.hops] = &hopRoom{}
	}
	return s.rooms[s.hops]
}

// lookupLinked makes the route of a subject that concerns other accounts, or that is mapped. It is cached if the subject
// was seen before.
func (s *Sender) lookupLinked(l *Links, subj []byte, h uint32, slot uint32, known bool) *route {
	mode := modePublished
	if s.mapped {
		mode |= modeMapped
	}
	r := s.newWay(s.index, l, subj, h, mode)
	r.denied = s.rights != nil && r.way.mapping == nil && !s.rights.CanPublish(r.way.subject)
	if !known && s.routes.seen[slot] != h {
		s.routes.seen[slot] = h
		return r
	}
	if old := s.routes.routes[slot]; old != nil && old.touched {
		s.settle()
	}
	s.routes.routes[slot] = r
	return r
}

// newWay makes the route of a subject in the account of x, whose links are l.
func (s *Sender) newWay(x *Index, l *Links, subj []byte, h uint32, mode wayMode) *route {
	s.strangerMax = max(s.strangerMax, minStrangers)
	w := &way{subject: bytes.Clone(subj)}
	r := &route{hash: h, subject: string(subj), gen: x.generation(subj, h), seen: s.stamp, way: w}
	whole := !subject.HasEmptyToken(subj)
	if l == nil {
		l = &Links{}
	}
	if m := l.mapping(subj); m != nil && mode&modeMapped != 0 && whole {
		if !m.fixed {
			w.mapping = m
			return r
		}
		to, _ := m.apply(nil, subj, 0)
		if !bytes.Equal(to, subj) {
			w.subject, subj, h = to, to, hashOf(to)
			w.depend(r, x, subj, h)
			whole = !subject.HasEmptyToken(subj)
		}
	}
	x.find(subj, h, &s.found)
	s.addTargets(r, subj, nil)
	if !whole {
		return r
	}
	if mode&modeStreams != 0 {
		l.streams.each(subj, func(link *StreamLink) bool {
			if to, ok := link.rename(nil, subj); ok && !subject.HasEmptyToken(to) {
				h := hashOf(to)
				w.depend(r, link.To, to, h)
				link.To.find(to, h, &s.found)
				s.addTargets(r, to, to)
			}
			return true
		})
	}
	if mode&modeServices == 0 {
		return r
	}
	l.services.each(subj, func(link *ServiceLink) bool {
		if to, ok := link.rename(nil, subj); ok && !subject.HasEmptyToken(to) {
			w.services = append(w.services, requestWay{link, to})
		}
		return true
	})
	w.reply = l.serves && isReply(subj)
	return r
}

func (w *way) depend(r *route, x *Index, subj []byte, h uint32) {
	w.deps = append(w.deps, dependency{x, subj, h})
	r.gen += x.generation(subj, h)
}

// addTargets adds what was found for a subject to r. Queue groups of one name are one, whatever accounts their members
// are in. shown is set where receivers are to see another subject than the message's own.
func (s *Sender) addTargets(r *route, subj, shown []byte) {
	add := func(list []target, sub *Sub) []target {
		if !s.takes(sub, subj) {
			return list
		}
		t := s.newTarget(sub, subj)
		if sub.dst.recv != nil {
			t.prefix = shown
		}
		return append(list, t)
	}
	for _, sub := range s.found.plain {
		r.plain = add(r.plain, sub)
	}
next:
	for _, q := range s.found.queues {
		var ts []target
		for _, sub := range q.members {
			ts = add(ts, sub)
		}
		if len(ts) == 0 {
			continue
		}
		for i, group := range r.queues {
			if group[0].sub.Queue() == q.name {
				r.queues[i] = append(group, ts...)
				continue next
			}
		}
		r.queues = append(r.queues, ts)
	}
}

// routeIn returns the route of a subject in the account of x for a message that came there.
func (s *Sender) routeIn(x *Index, subj []byte, mode wayMode) *route {
	r := s.ways[wayKey{x, mode, string(subj)}]
	if r != nil && r.seen == s.stamp {
		return r
	}
	h := hashOf(subj)
	if r != nil && r.gen == x.generation(subj, h)+r.way.generation() {
		r.seen = s.stamp
		return r
	}
	if len(s.ways) >= maxWays || r != nil && r.touched {
		s.settle()
		if r == nil {
			clear(s.ways)
		}
	}
	if s.ways == nil {
		s.ways = make(map[wayKey]*route)
	}
	r = s.newWay(x, x.links.Load(), subj, h, mode)
	s.ways[wayKey{x, mode, r.subject}] = r
	return r
}

// choose follows a mapping that decides for each message: it returns the route of the subject chosen; nil if the message
// is lost.
func (s *Sender) choose(x *Index, r *route, mode wayMode) *route {
	to, ok := r.way.mapping.apply(s.chosen[:0], r.way.subject, s.random(100))
	s.chosen = to
	if !ok {
		return nil
	}
	return s.routeIn(x, to, mode&^modeMapped)
}

// mayLinked is May for a route with a way.
func (s *Sender) mayLinked(r *route) bool {
	s.picked = r
	if r.way.mapping != nil {
		if s.picked = s.choose(s.index, r, modePublished|modeMapped); s.picked == nil {
			return true // nothing is published
		}
		to := s.picked.way.subject
		return s.rights == nil || s.rights.CanPublish(to) || s.rights.CanReply(to)
	}
	return !r.denied || s.rights.CanReply(r.way.subject)
}

// Routed returns the subject under which the message that May was asked for last is delivered. That is another one than
// the message's own if a mapping says so, and an empty one if by a mapping the message is lost. The result is lent.
func (s *Sender) Routed(p *protocol.Pub) []byte {
	if s.last == nil || s.last.way == nil {
		return p.Subject
	}
	if s.picked == nil {
		return nil
	}
	return s.picked.way.subject
}

// sendLinked delivers the message for which mayLinked has found the route.
func (s *Sender) sendLinked(p *protocol.Pub) Result {
	if s.picked == nil {
		return Undelivered
	}
	return s.sendIn(s.index, s.picked, p)
}

// sendIn delivers a message in the account of x along r.
func (s *Sender) sendIn(x *Index, r *route, p *protocol.Pub) Result {
	subj := r.way.subject
	if !bytes.Equal(subj, p.Subject) {
		q := *p
		q.Subject = subj
		p = &q
	}
	return s.spread(r, p) + s.onwards(x, r.way, subj, p)
}

// onwards sends a message whose subject in the account of x is subj to other accounts.
func (s *Sender) onwards(x *Index, w *way, subj []byte, p *protocol.Pub) (n Result) {
	for i := range w.services {
		n += s.request(&w.services[i], p, nil)
	}
	if w.reply {
		n += s.respond(x, subj, p)
	}
	return n
}

// request sends a message into the account that exports the service. t is nil unless it is followed there.
func (s *Sender) request(rw *requestWay, p *protocol.Pub, t *following) Result {
	if s.hops >= maxHops {
		return Undelivered
	}
	l, outer, room := rw.link, s.via, s.room()
	c := &room.crossing
	*c = crossing{header: withoutInfo(p.Header()), from: l.Importer, shared: l.Share}
	if outer != nil {
		c.header, c.from, c.shared = outer.header, outer.from, outer.shared && l.Share
	}
	if s.from != nil {
		c.origin = s.originFor(l, c)
	}
	room.info = appendRequestInfo(room.info[:0], s.from, l, c)
	m := measureFor(l, s.from, p.Header(), room.info, s.random)
	q := protocol.Pub{Subject: rw.target, HPUB: true}
	var e *expected
	if len(p.Reply) > 0 {
		e = &expected{to: s.at, account: l.Importer, reply: p.Reply, many: l.Many, ttl: l.Threshold, measure: m}
		room.reply = l.To.replies.expect(room.reply[:0], l.To, e, l.Server)
		q.Reply = room.reply
	}
	header := appendHeader(room.header[:0], c.header, room.info)
	q.HeaderLen, room.header = len(header), header
	q.Tail = protocol.AppendHeaderTail(room.tail[:0], q.Reply, header, p.Payload())
	room.tail = q.Tail
	q.Body = q.Tail[len(q.Tail)-2-len(header)-len(p.Payload()) : len(q.Tail)-2]

	at := s.at
	s.via, s.at = c, l.To
	s.hops++
	n := Undelivered
	r := s.routeIn(l.To, rw.target, modeRequested)
	if r.way.mapping != nil {
		r = s.choose(l.To, r, modeRequested)
	}
	switch {
	case r == nil:
	case t == nil:
		n = s.sendIn(l.To, r, &q)
	default:
		n = s.followRequest(l, r.way.subject, &q, t)
	}
	s.hops--
	s.via, s.at = outer, at
	if cap(room.tail) > maxRoom {
		room.tail = nil
	}
	only := t != nil && t.Only
	if (n == 0 || only) && e != nil {
		l.To.replies.forget(e)
	}
	switch {
	case m == nil || only:
	case e == nil:
		s.report(l.To, m, statusBadRequest)
	case n == 0:
		s.report(l.To, m, statusUnavailable)
	}
	return n
}

// respond delivers a response on subj in the account of x to who awaits it in another.
func (s *Sender) respond(x *Index, subj []byte, p *protocol.Pub) Result {
	if s.hops >= maxHops {
		return Undelivered
	}
	e := x.replies.take(subj, len(p.Body) == 0)
	if e == nil {
		return Undelivered
	}
	began := time.Now()
	q := *p
	if bytes.Equal(p.Subject, subj) {
		q.Subject = e.reply
	}
	if len(p.Reply) > 0 && !bytes.HasPrefix(p.Reply, ackPrefix) {
		back := &expected{to: x, reply: p.Reply, ttl: DefaultThreshold}
		q.Reply = e.to.replies.expect(nil, e.to, back, "")
		q.Tail = appendTail(nil, &q)
		q.Body = q.Tail[len(q.Tail)-2-len(p.Body) : len(q.Tail)-2]
	} else if len(p.Reply) == 0 {
		q.Tail = bytes.TrimPrefix(q.Tail, []byte{' '}) // the blank for no reply is for the server's own account
	}
	at, via := s.at, s.via
	s.at, s.via, s.strangerMax = e.to, nil, max(s.strangerMax, minStrangers)
	s.hops++
	n := s.arrive(e.to, e.reply, &q)
	s.hops--
	s.at, s.via = at, via
	if n == 0 {
		x.replies.forget(e)
	}
	if m := e.measure; m != nil {
		m.answered(s.from, began)
		s.report(x, m, statusOK)
	}
	return n
}

// ackPrefix opens reply subjects that mean the same in all accounts that can use them.
var ackPrefix = []byte("$JS.ACK.")

// arrive delivers a response to subj in the account of x. It goes on only if it is a response to others there, too. Such
// subjects are used once: nothing is cached.
func (s *Sender) arrive(x *Index, subj []byte, p *protocol.Pub) Result {
	x.find(subj, hashOf(subj), &s.found)
	n := Undelivered
	for _, sub := range s.found.plain {
		n += s.sendTo(sub, p)
	}
	for _, q := range s.found.queues {
		n += Result(s.sendToOne(len(q.members), func(i int) *Sub { return q.members[i] }, p))
	}
	if l := x.links.Load(); l != nil && l.serves && isReply(subj) {
		n += s.respond(x, subj, p)
	}
	return n
}

// sendToLinked is SendTo where the matches of to concern other accounts.
func (s *Sender) sendToLinked(r *route, to []byte, p *protocol.Pub) int {
	n := Undelivered
	for i := range r.plain {
		n += s.sendTo(r.plain[i].sub, p)
	}
	for _, q := range r.queues {
		n += Result(s.sendToOne(len(q), func(i int) *Sub { return q[i].sub }, p))
	}
	return int(n + s.onwards(s.index, r.way, to, p))
}

// appendTail appends what follows the subject in the frame of p.
func appendTail(b []byte, p *protocol.Pub) []byte {
	if p.HPUB {
		return protocol.AppendHeaderTail(b, p.Reply, p.Header(), p.Payload())
	}
	return protocol.AppendTail(b, p.Reply, p.Payload())
}

// publishAt publishes a message of the server itself in the account of x.
func (s *Sender) publishAt(x *Index, subj string, payload []byte) {
	at, via, from := s.at, s.via, s.from
	s.at, s.via, s.from = x, nil, nil
	tail := append(strconv.AppendInt([]byte{' '}, int64(len(payload)), 10), '\r', '\n') // the protocol shows no reply as a blank
	p := protocol.Pub{Subject: []byte(subj), Tail: append(append(tail, payload...), '\r', '\n'), Body: payload}
	s.sendIn(x, s.routeIn(x, p.Subject, modePublished), &p)
	s.at, s.via, s.from = at, via, from
}
