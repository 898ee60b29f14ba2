package router

import (
	"bytes"
	"strconv"
	"sync"

	"godwit/protocol"
)

// target is one place a message goes to: what to put in front of it, and whose lane takes it.
type target struct {
	sub    *Sub
	lane   *lane
	prefix []byte // "HMSG <subject> <sid> "; of a receiver: the subject that it sees, nil for the message's own
	n      uint64 // messages since the last flush
	slow   bool   // needs more than the two copies: see Sender.special
}

// route is the cached answer for one subject, owned by the sender. Nothing in it depends on the message, so
// delivering needs no lookup and no number formatting.
type route struct {
	hash    uint32
	denied  bool // the sender must not publish on the subject
	touched bool // some targets have counts
	subject string
	gen     uint64 // of the index, for subject
	seen    uint64 // stamp of the sender when gen was last found right
	plain   []target
	queues  [][]target
	way     *way // nil unless other accounts or mappings have to do with it
}

// routeSlots is the size of a sender's cache. It is allocated with the first publish.
const routeSlots = 512

// routeCache is direct-mapped. A subject enters it when seen twice in a row on its slot, so that subjects used once
// (reply inboxes) neither cost an allocation nor push others out.
type routeCache struct {
	routes [routeSlots]*route
	seen   [routeSlots]uint32 // hash of the last miss
}

var cachePool = sync.Pool{New: func() any { return new(routeCache) }} // of *routeCache; shared by all servers of a process

// Rights says what a sender may publish. The zero value of Sender has none to ask and may publish everything.
type Rights interface {
	// CanPublish reports whether subject, which is lent, may be published to. The answer is cached for the subject
	// until Forget.
	CanPublish(subject []byte) bool
	// CanReply is asked for each message on a subject that CanPublish denies: whether it answers one received.
	CanReply(subject []byte) bool
}

// Result is what became of a publish.
type Result int

const (
	Denied      Result = -1 // the sender may not publish there
	Undelivered Result = 0
)

// Sender gathers what one goroutine publishes and hands it over per destination: for connections as frames in a
// chunk, for receivers as batches. One goroutine at a time uses it, and calls Begin before and Flush after each group
// of messages, such as those of one read buffer.
type Sender struct {
	index  *Index
	self   *Dest  // the publishing connection; nil inside the server
	echo   bool   // own subscriptions get own messages
	rights Rights // nil: everything is allowed
	from   Origin

	changes    uint64 // of the index, and of accounts that it asks, at Begin
	links      *Links // of the index, at Begin
	stamp      uint64 // counts the times at which one of them had changed
	departures uint64
	routes     *routeCache // nil before the first publish
	last       *route      // of the message before; nil if unknown
	touched    []*route
	found      matches // result of the last uncached lookup
	scratch    []byte
	tail       []byte
	msg        Message
	step       *TraceStep      // of the message that is given to a receiver; nil if it is not traced
	own        lane            // to self
	lanes      map[*Dest]*lane // to all others
	dirty      []*lane         // lanes with something to hand over
	spare      *Block          // chunk for the next lane; only between frames of one group
	chunkBytes int
	waited     bool // since the last Flush the sender has waited for a destination
	seed       uint64
	lookups    uint64
	hits       uint64

	// What follows is for messages that concern other accounts; see crossing.
	mapped    bool   // mappings of the account apply
	at        *Index // where the message being delivered is
	hops      int    // accounts that it has crossed
	via       *crossing
	picked    *route // where the message that May was asked for goes; nil if it is lost
	chosen    []byte // subject that a mapping has chosen last
	ways      map[wayKey]*route
	strangers map[strangerKey]*stranger
	rooms     [maxHops]*hopRoom
	answers   bool // the message that was looked up last may be a response for another account
	// strangerMax is the number of lanes at which those of closed connections are looked for; 0 while the sender has
	// delivered to its own account only. crowded says that it is reached.
	strangerMax int
	crowded     bool
	unnamed     unnamed
}

const (
	// ChunkBytes is the most that a lane gathers before it is handed over: two full read buffers of a connection.
	ChunkBytes = 512 << 10
	minChunk   = 4 << 10
)

// NewSender returns a sender for a part of the server that publishes into the account of x.
func NewSender(x *Index) *Sender {
	s := &Sender{}
	s.Init(x, nil, nil)
	s.Begin()
	return s
}

// Init makes s the sender of a connection: self is its own destination, from describes it to receivers.
func (s *Sender) Init(x *Index, self *Dest, from Origin) {
	*s = Sender{index: x, self: self, from: from, echo: true, chunkBytes: ChunkBytes, own: lane{dst: self}, seed: 1,
		at: x, mapped: self != nil}
}

// Seed sets the start of the random numbers that choose queue members. n must not be 0.
func (s *Sender) Seed(n uint64) { s.seed = n*0x9e3779b97f4a7c15 | 1 }

// Restrict sets what the sender may publish and whether its connection gets its own messages.
func (s *Sender) Restrict(r Rights, echo bool) {
	s.rights, s.echo = r, echo
	s.Forget()
}

// Use makes s publish into another account from now on. Nothing may be gathered.
func (s *Sender) Use(x *Index) {
	s.index, s.at = x, x
	s.Forget()
	s.Begin()
}

// Forget drops all that was cached.
func (s *Sender) Forget() {
	s.settle()
	s.last = nil
	if s.routes != nil {
		*s.routes = routeCache{}
	}
	s.picked = nil
	clear(s.ways)
	clear(s.strangers)
	for d, l := range s.lanes {
		if l.chunk == nil && !l.dirty {
			delete(s.lanes, d)
		}
	}
}

// Begin starts a group of messages: what was cached before the subscriptions last changed is looked at again. Whoever
// publishes after a subscription was confirmed is read after the change. It is called after own subscriptions, too.
func (s *Sender) Begin() {
	links := s.index.links.Load()
	now := s.index.changes.Load()
	if links != nil {
		now += links.elsewhere()
	}
	if now == s.changes && links == s.links && !s.crowded {
		return
	}
	if s.crowded {
		s.thin()
	}
	s.changes, s.links, s.last = now, links, nil
	s.stamp++
	if d := s.index.departures.Load(); d != s.departures {
		s.departures = d
		s.Forget() // lets go of closed destinations
	}
}

// Publish delivers one message of the connection and returns to how many subscriptions it went, or Denied. p is lent.
func (s *Sender) Publish(p *protocol.Pub) Result {
	if !s.May(p) {
		return Denied
	}
	return s.Deliver(p)
}

// May finds out who gets p, and reports whether the sender may publish it. If it may, Deliver follows for the same p:
// the right to answer a message received is used up by May.
func (s *Sender) May(p *protocol.Pub) bool {
	r := s.last
	if !p.Same || r == nil {
		r = s.lookup(p.Subject)
		s.last = r
	}
	if r != nil {
		if r.way != nil {
			return s.mayLinked(r)
		}
		return !r.denied || s.rights.CanReply(p.Subject)
	}
	return s.rights == nil || s.rights.CanPublish(p.Subject) || s.rights.CanReply(p.Subject)
}

// Skip tells s of a message that it is not given: the one after it may be the same as that, and not as the last one given.
func (s *Sender) Skip() { s.last = nil }

// Deliver delivers the message that May was asked for last and returns to how many subscriptions it went.
func (s *Sender) Deliver(p *protocol.Pub) Result {
	if s.last != nil {
		if s.last.way != nil {
			return s.sendLinked(p)
		}
		return s.spread(s.last, p)
	}
	n := Undelivered
	for _, sub := range s.found.plain {
		n += s.sendTo(sub, p)
	}
	for _, q := range s.found.queues {
		n += Result(s.sendToOne(len(q.members), func(i int) *Sub { return q.members[i] }, p))
	}
	if s.answers {
		n += s.respond(s.index, p.Subject, p)
	}
	return n
}

// lookup returns the route for subject, or nil if it is not (yet) worth caching; then s.found holds the matches.
func (s *Sender) lookup(subject []byte) *route {
	if s.routes == nil {
		s.routes = cachePool.Get().(*routeCache)
	}
	h := hashOf(subject)
	i := h % routeSlots
	r := s.routes.routes[i]
	known := r != nil && r.hash == h && r.subject == string(subject)
	if known && r.seen == s.stamp {
		s.hits++
		return r
	}
	gen := s.index.generation(subject, h) // before the lookup: a change during it is seen next time
	if known && r.way != nil {
		gen += r.way.generation()
	}
	if known && r.gen == gen {
		r.seen = s.stamp
		s.hits++
		return r
	}
	s.lookups++
	s.answers = false
	if l := s.index.links.Load(); l != nil {
		if l.concerns(subject, s.mapped) {
			return s.lookupLinked(l, subject, h, i, known)
		}
		if l.serves && isReply(subject) {
			s.index.find(subject, h, &s.found)
			s.answers = true
			return nil
		}
	}
	s.index.find(subject, h, &s.found)
	if !known && s.routes.seen[i] != h {
		s.routes.seen[i] = h
		return nil
	}
	if r != nil && r.touched {
		s.settle()
	}
	r = s.newRoute(subject, h)
	r.gen, r.seen = gen, s.stamp
	s.routes.routes[i] = r
	return r
}

func (s *Sender) newRoute(subject []byte, h uint32) *route {
	r := &route{hash: h, subject: string(subject)}
	r.denied = s.rights != nil && !s.rights.CanPublish(subject)
	for _, sub := range s.found.plain {
		if s.takes(sub, subject) {
			r.plain = append(r.plain, s.newTarget(sub, subject))
		}
	}
	for _, q := range s.found.queues {
		var ts []target
		for _, sub := range q.members {
			if s.takes(sub, subject) {
				ts = append(ts, s.newTarget(sub, subject))
			}
		}
		if len(ts) > 0 {
			r.queues = append(r.queues, ts)
		}
	}
	return r
}

// takes reports whether sub gets messages of this sender on subject, whatever they are.
func (s *Sender) takes(sub *Sub, subject []byte) bool {
	if sub.dst == s.self && !s.echo {
		return false
	}
	return !sub.dst.Guarded.Load() || !sub.dst.sink.Denies(subject, sub.Queue())
}

func (s *Sender) newTarget(sub *Sub, subject []byte) target {
	t := target{sub: sub, lane: s.laneTo(sub.dst), slow: sub.dst.recv != nil || sub.dst.Guarded.Load() || sub.Max() > 0}
	if sub.dst.recv == nil {
		t.prefix = sub.appendPrefix(nil, subject)
	}
	return t
}

// spread delivers along a cached route, as far as it stays in the account.
func (s *Sender) spread(r *route, p *protocol.Pub) Result {
	if !r.touched {
		r.touched = true
		s.touched = append(s.touched, r)
	}
	n := Result(len(r.plain))
	for i := range r.plain {
		t := &r.plain[i]
		if t.slow {
			if !s.special(t, p) {
				n--
			}
			continue
		}
		t.n++
		s.put(t, p)
	}
	for _, q := range r.queues {
		at := s.random(len(q))
		for range q { // members that cannot take it are passed over
			if t := &q[at]; !t.sub.dst.Gone.Load() {
				if !t.slow {
					t.n++
					s.put(t, p)
					n++
					break
				}
				if s.special(t, p) {
					n++
					break
				}
			}
			if at++; at == len(q) {
				at = 0
			}
		}
	}
	return n
}

// sendTo delivers to a subscription that is not in the cache.
func (s *Sender) sendTo(sub *Sub, p *protocol.Pub) Result {
	if !s.takes(sub, p.Subject) {
		return 0
	}
	t := &target{sub: sub, lane: s.laneTo(sub.dst), n: 1}
	if sub.dst.recv == nil {
		s.scratch = sub.appendPrefix(s.scratch[:0], p.Subject)
		t.prefix = s.scratch
	}
	if sub.dst.recv != nil || sub.dst.Guarded.Load() || sub.Max() > 0 {
		if !s.special(t, p) {
			return 0
		}
		return 1
	}
	s.put(t, p)
	sub.msgs.Add(1)
	return 1
}

// special delivers where more than a frame is needed: to receivers, to subscriptions that end after some messages,
// and to connections whose replies are watched. It reports false if the target does not take the message.
func (s *Sender) special(t *target, p *protocol.Pub) bool {
	d := t.sub.dst
	if d.recv != nil {
		t.sub.msgs.Add(1)
		s.add(t, p)
		return true
	}
	if limit := t.sub.Max(); limit > 0 {
		n := t.sub.msgs.Add(1)
		if n <= limit {
			s.put(t, p)
		}
		if n >= limit && t.sub.ext.Load().ended.CompareAndSwap(false, true) {
			d.sink.Exhausted(t.sub)
		}
		if n > limit {
			return false
		}
	} else {
		t.sub.msgs.Add(1)
		s.put(t, p)
	}
	if len(p.Reply) > 0 && d.Guarded.Load() {
		d.sink.Replies(p.Reply)
	}
	return true
}

// add gives a message to the batch of a receiver.
func (s *Sender) add(t *target, p *protocol.Pub) {
	l := t.lane
	if !l.dirty {
		l.dirty = true
		s.dirty = append(s.dirty, l)
		if l.batch == nil {
			l.batch = l.dst.recv.NewBatch()
		}
	}
	s.msg = Message{Subject: p.Subject, Reply: p.Reply, Header: p.Header(), Payload: p.Payload(), From: s.from, Trace: s.step}
	if t.prefix != nil {
		s.msg.Subject = t.prefix
		if s.from != nil { // other accounts do not learn who publishes a stream
			s.msg.From = &s.unnamed
		}
	}
	if s.via != nil {
		s.msg.Header, s.msg.From = s.via.header, s.via.origin
	}
	l.batch.Add(&s.msg)
}

func (s *Sender) random(n int) int {
	s.seed ^= s.seed << 13
	s.seed ^= s.seed >> 7
	s.seed ^= s.seed << 17
	return int(uint64(uint32(s.seed)) * uint64(n) >> 32)
}

// settle moves the counts of targets to their subscriptions.
func (s *Sender) settle() {
	for _, r := range s.touched {
		r.touched = false
		for i := range r.plain {
			r.plain[i].settle()
		}
		for _, q := range r.queues {
			for i := range q {
				q[i].settle()
			}
		}
	}
	clear(s.touched)
	s.touched = s.touched[:0]
}

func (t *target) settle() {
	if t.n > 0 {
		t.sub.msgs.Add(t.n)
		t.n = 0
	}
}

// Send routes a message from inside the server by its subject and returns to how many subscriptions it went.
func (s *Sender) Send(m *Message) int { return s.SendTo(m.Subject, m) }

// SendTo routes a message by another subject than it shows: consumers' deliveries travel on an inbox.
func (s *Sender) SendTo(to []byte, m *Message) int {
	s.Begin()
	p := protocol.Pub{Subject: m.Subject, Reply: m.Reply, HeaderLen: len(m.Header), HPUB: len(m.Header) > 0}
	b := s.tail[:0]
	if len(m.Reply) > 0 {
		b = append(append(b, m.Reply...), ' ')
	}
	if p.HPUB {
		b = append(strconv.AppendInt(b, int64(len(m.Header)), 10), ' ')
	}
	b = append(strconv.AppendInt(b, int64(len(m.Header)+len(m.Payload)), 10), '\r', '\n')
	at := len(b)
	b = append(append(append(append(b, m.Header...), m.Payload...), '\r'), '\n')
	s.tail = b
	p.Tail, p.Body = b, b[at:len(b)-2]
	defer func() {
		if cap(s.tail) > ChunkBytes {
			s.tail = nil
		}
	}()
	shown := bytes.Equal(to, m.Subject)
	r := s.lookup(to)
	if r != nil && r.way != nil && !shown {
		return s.sendToLinked(r, to, &p)
	}
	if r != nil && r.way != nil {
		return int(s.sendIn(s.index, r, &p))
	}
	if r != nil && shown {
		return int(s.spread(r, &p))
	}
	if r != nil { // the matches are known, but the frames show another subject
		n := 0
		for i := range r.plain {
			n += int(s.sendTo(r.plain[i].sub, &p))
		}
		for _, q := range r.queues {
			n += s.sendToOne(len(q), func(i int) *Sub { return q[i].sub }, &p)
		}
		return n
	}
	n := 0
	for _, sub := range s.found.plain {
		n += int(s.sendTo(sub, &p))
	}
	for _, q := range s.found.queues {
		n += s.sendToOne(len(q.members), func(i int) *Sub { return q.members[i] }, &p)
	}
	if s.answers {
		n += int(s.respond(s.index, to, &p))
	}
	return n
}

// sendToOne delivers to the first of n queue members, from a random start, that takes the message.
func (s *Sender) sendToOne(n int, member func(int) *Sub, p *protocol.Pub) int {
	at := s.random(n)
	for range n {
		if m := member(at); !m.dst.Gone.Load() && s.sendTo(m, p) > 0 {
			return 1
		}
		if at++; at == n {
			at = 0
		}
	}
	return 0
}

// Direct sends a frame made for the given subscription, which need not match its subject: no-responders and the like.
func (s *Sender) Direct(sub *Sub, p *protocol.Pub) { s.sendTo(sub, p) }
