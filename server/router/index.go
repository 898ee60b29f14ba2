// Package router finds who gets a message and hands it over: the subscription index of an account, and senders, which
// gather the frames of one read buffer per destination.
package router

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Index finds the subscriptions for a subject. Reads take no lock; mu orders the writers.
//
// Subscriptions without wildcards are in one flat table by their whole subject, so that the usual lookup is one probe
// however deep the subject is; those with wildcards are in a trie by token.
//
// Senders cache what they found. A change moves the generation of what it can affect: a literal subscription that of
// the subjects that share a hash slot with it, one with wildcards that of its first token's slot, or of everything if
// it begins with a wildcard. So the caches of busy subjects survive the coming and going of others.
type Index struct {
	changes    atomic.Uint64 // moves with every change: while it stands still, no generation has to be looked at
	departures atomic.Uint64 // moves when a destination leaves: what refers to it should be let go
	genAll     atomic.Uint32
	genLiteral [literalSlots]atomic.Uint32
	genFirst   [firstSlots]atomic.Uint32

	literals  table
	wild      branch
	wildcards atomic.Int64 // subscriptions in wild; 0 spares the walk

	count    atomic.Int64
	inserts  atomic.Uint64
	removes  atomic.Uint64
	lookups  atomic.Uint64 // counted by senders, a read at a time
	cacheHit atomic.Uint64

	linked

	// mu ranks after a connection's own locks. Nothing is locked under it.
	mu sync.Mutex
}

const (
	literalSlots = 512
	firstSlots   = 128
)

// NewIndex returns an empty index.
func NewIndex() *Index { return &Index{} }

// branch is what can follow a token.
type branch struct {
	kids table
	star atomic.Pointer[node] // "*"
	full atomic.Pointer[node] // ">"
}

func (b *branch) empty() bool {
	return b.kids.live == 0 && b.star.Load() == nil && b.full.Load() == nil
}

// generation returns the number that changes when the subscriptions for subject may have. h is its hash.
func (x *Index) generation(subject []byte, h uint32) uint64 {
	first := subject
	if i := bytes.IndexByte(subject, '.'); i >= 0 {
		first = subject[:i]
	}
	return uint64(x.genAll.Load()) + uint64(x.genLiteral[h%literalSlots].Load()) +
		uint64(x.genFirst[hashOf(first)%firstSlots].Load())
}

// moved moves the generations that a change of s affects. It is called after the change is visible.
func (x *Index) moved(s *Sub, subject string) {
	first, _, _ := strings.Cut(subject, ".")
	switch {
	case !s.wild:
		x.genLiteral[s.node.hash%literalSlots].Add(1)
	case first == "*" || first == ">":
		x.genAll.Add(1)
	default:
		x.genFirst[hashOf([]byte(first))%firstSlots].Add(1)
	}
	x.changed()
}

func hasWildcard(subject string) bool {
	for tok := range strings.SplitSeq(subject, ".") {
		if tok == "*" || tok == ">" {
			return true
		}
	}
	return false
}

// Insert adds s, made by NewSub, and makes it visible to senders.
func (x *Index) Insert(s *Sub, subject string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s.wild {
		s.node = x.wild.path(subject)
		x.wildcards.Add(1)
	} else {
		s.node = x.literals.findOrAdd(hashOf([]byte(subject)), subject)
	}
	s.node.add(s)
	x.inserts.Add(1)
	x.count.Add(1)
	x.moved(s, subject)
}

// path returns the node of a pattern, made where missing.
func (b *branch) path(pattern string) *node {
	for {
		tok, rest, deeper := strings.Cut(pattern, ".")
		var n *node
		switch {
		case tok == "*":
			n = orNew(&b.star)
		case tok == ">" && !deeper:
			return orNew(&b.full)
		default:
			n = b.kids.findOrAdd(hashOf([]byte(tok)), tok)
		}
		if !deeper {
			return n
		}
		if n.down.Load() == nil {
			n.down.Store(&branch{})
		}
		b, pattern = n.down.Load(), rest
	}
}

func orNew(p *atomic.Pointer[node]) *node {
	if p.Load() == nil {
		p.Store(&node{})
	}
	return p.Load()
}

// prune takes the nodes of pattern out that nothing hangs on any more.
func (b *branch) prune(pattern string) {
	tok, rest, deeper := strings.Cut(pattern, ".")
	var n *node
	slot := &b.star
	switch {
	case tok == "*":
		n = b.star.Load()
	case tok == ">" && !deeper:
		n, slot = b.full.Load(), &b.full
	default:
		n, slot = b.kids.find(hashOf([]byte(tok)), []byte(tok)), nil
	}
	if n == nil {
		return
	}
	if d := n.down.Load(); deeper && d != nil {
		d.prune(rest)
		if d.empty() {
			n.down.Store(nil)
		}
	}
	if !n.empty() {
		return
	}
	if slot != nil {
		slot.Store(nil)
	} else {
		b.kids.remove(n)
	}
}

func (n *node) add(s *Sub) {
	queue := s.Queue()
	if queue == "" && n.one.CompareAndSwap(nil, s) {
		return
	}
	var l subList
	if old := n.more.Load(); old != nil {
		l = *old
	}
	if queue == "" {
		l.plain = append(l.plain, s)
	} else {
		l.queues = slices.Clone(l.queues)
		i := slices.IndexFunc(l.queues, func(q queueList) bool { return q.name == queue })
		if i < 0 {
			i = len(l.queues)
			l.queues = append(l.queues, queueList{name: queue})
		}
		l.queues[i].members = append(l.queues[i].members, s)
	}
	n.more.Store(&l)
}

// drop takes s out of the node's subscriptions and reports whether it was there.
func (n *node) drop(s *Sub) bool {
	if n.one.CompareAndSwap(s, nil) {
		return true
	}
	old, l := n.more.Load(), &subList{}
	if old == nil {
		return false
	}
	found := false
	keep := func(m *Sub) bool {
		if m == s {
			found = true
		}
		return m != s
	}
	if s.Queue() == "" {
		l.plain, l.queues = filter(old.plain, keep), old.queues
	} else {
		l.plain = old.plain
		for _, q := range old.queues {
			if q.name == s.Queue() {
				q.members = filter(q.members, keep)
			}
			if len(q.members) > 0 {
				l.queues = append(l.queues, q)
			}
		}
	}
	if !found {
		return false
	}
	if len(l.plain)+len(l.queues) == 0 {
		l = nil
	}
	n.more.Store(l)
	return true
}

func filter(list []*Sub, keep func(*Sub) bool) []*Sub {
	out := make([]*Sub, 0, len(list))
	for _, s := range list {
		if keep(s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Unsubscribe takes s out. A second call for the same subscription does nothing.
func (x *Index) Unsubscribe(s *Sub) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := s.node
	subject := s.Subject()
	if !n.drop(s) {
		return
	}
	switch {
	case s.wild:
		x.wildcards.Add(-1)
		x.wild.prune(subject)
	case n.empty():
		x.literals.remove(n)
	}
	x.removes.Add(1)
	x.count.Add(-1)
	x.moved(s, subject)
}

// Departed tells senders to let go of destinations that have left.
func (x *Index) Departed() {
	x.departures.Add(1)
	x.changes.Add(1)
}

// matches is what a lookup found. The owner reuses it, so that lookups do not allocate.
type matches struct {
	plain  []*Sub
	queues []queueList // one per queue name, whatever patterns its members used
}

func (m *matches) reset() {
	clear(m.plain)
	clear(m.queues)
	m.plain, m.queues = m.plain[:0], m.queues[:0]
}

// find puts all subscriptions for subject into m; h is its hash.
func (x *Index) find(subject []byte, h uint32, m *matches) {
	m.reset()
	if n := x.literals.find(h, subject); n != nil {
		m.take(n)
	}
	if x.wildcards.Load() > 0 {
		x.wild.find(subject, m)
	}
}

func (b *branch) find(rest []byte, m *matches) {
	tok, deeper := rest, false
	if i := bytes.IndexByte(rest, '.'); i >= 0 {
		tok, rest, deeper = rest[:i], rest[i+1:], true
	}
	if len(tok) == 0 {
		return // no wildcard stands for an empty token
	}
	if n := b.full.Load(); n != nil && (!deeper || validRest(rest)) {
		m.take(n)
	}
	for _, n := range [2]*node{b.star.Load(), b.kids.find(hashOf(tok), tok)} {
		if n == nil {
			continue
		}
		if !deeper {
			m.take(n)
		} else if d := n.down.Load(); d != nil {
			d.find(rest, m)
		}
	}
}

// validRest reports whether b has no empty token.
func validRest(b []byte) bool {
	return len(b) > 0 && b[0] != '.' && b[len(b)-1] != '.' && !bytes.Contains(b, []byte(".."))
}

func (m *matches) take(n *node) {
	if s := n.one.Load(); s != nil {
		m.plain = append(m.plain, s)
	}
	l := n.more.Load()
	if l == nil {
		return
	}
	m.plain = append(m.plain, l.plain...)
next:
	for _, q := range l.queues {
		for i := range m.queues {
			if m.queues[i].name == q.name { // members from several patterns; rare, so it may allocate
				m.queues[i].members = slices.Concat(m.queues[i].members, q.members)
				continue next
			}
		}
		m.queues = append(m.queues, q)
	}
}

// HasInterest reports whether a message on the literal subject reaches any subscription, here or in another account.
func (x *Index) HasInterest(subject []byte) bool {
	return x.interested(subject, interest{}, modePublished, maxHops)
}

// HasListener reports whether there is a subscription to just this literal subject, here or in another account: one that
// is no member of a queue group, or with queue one that is a member of it. Those with wildcards do not count.
func (x *Index) HasListener(subject []byte, queue string) bool {
	return x.interested(subject, interest{exact: true, queue: queue}, modePublished, maxHops)
}

// SubscribedBy returns a plain subscription of dst that matches the literal subject, or nil.
func (x *Index) SubscribedBy(dst *Dest, subject []byte) *Sub {
	var m matches
	x.find(subject, hashOf(subject), &m)
	for _, s := range m.plain {
		if s.dst == dst {
			return s
		}
	}
	return nil
}

// Stats are counters of an index since it was made.
type Stats struct {
	Subscriptions    int64
	Inserts, Removes uint64
	Lookups          uint64 // done in the index itself
	CacheHits        uint64 // answered from senders' caches, without the runs of messages to one subject
}

// Stats returns the counters.
func (x *Index) Stats() Stats {
	return Stats{Subscriptions: x.count.Load(), Inserts: x.inserts.Load(), Removes: x.removes.Load(),
		Lookups: x.lookups.Load(), CacheHits: x.cacheHit.Load()}
}

// Invalidate makes all senders look at the rights of destinations again.
func (x *Index) Invalidate() {
	x.genAll.Add(1)
	x.changes.Add(1)
}

// EachMatch calls f for every subscription that matches the literal subject, until f returns false.
func (x *Index) EachMatch(subject []byte, f func(*Sub) bool) {
	var m matches
	x.find(subject, hashOf(subject), &m)
	for _, q := range m.queues {
		m.plain = append(m.plain, q.members...)
	}
	for _, s := range m.plain {
		if !f(s) {
			return
		}
	}
}

// Each calls f for every subscription, until f returns false. Those that come or go meanwhile may be missed or seen.
func (x *Index) Each(f func(*Sub) bool) {
	ok := true
	visit := func(n *node) {
		if s := n.one.Load(); s != nil && ok {
			ok = f(s)
		}
		if l := n.more.Load(); l != nil {
			for _, s := range l.plain {
				ok = ok && f(s)
			}
			for _, q := range l.queues {
				for _, s := range q.members {
					ok = ok && f(s)
				}
			}
		}
	}
	x.literals.each(visit)
	x.wild.each(visit)
}

func (b *branch) each(visit func(*node)) {
	deeper := func(n *node) {
		visit(n)
		if d := n.down.Load(); d != nil {
			d.each(visit)
		}
	}
	for _, n := range [2]*node{b.star.Load(), b.full.Load()} {
		if n != nil {
			deeper(n)
		}
	}
	b.kids.each(deeper)
}
