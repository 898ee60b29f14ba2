package router

import (
	"slices"
	"sync/atomic"
	"time"

	"godwit/protocol/subject"
)

// Links are what an account has to do with others: where its messages go besides its own subscriptions, and under which
// subjects. They are made by LinksBuilder and never change. An account that keeps to itself has none, and costs nothing
// more for it.
type Links struct {
	mappings patterns[rankedMapping]
	streams  patterns[*StreamLink]  // by the subject in this account
	services patterns[*ServiceLink] // by the subject in this account
	shown    []*StreamLink          // all of streams
	asking   []*ServiceLink         // all of services
	measured []*ServiceLink         // those with Latency
	asked    []*Index               // see LinksBuilder
	imported []*Index               // see LinksBuilder
	serves   bool                   // others send requests into this account: replies to them leave it
}

// StreamLink brings messages of the account that has it into another one.
type StreamLink struct {
	From   string             // pattern of subjects in the account that exports
	To     *Index             // of the account that imports
	Rename *subject.Transform // to the subject there; nil keeps it
	Prefix string             // put in front of the subject there, with its dot, if Rename is nil
	// Traces tell the exporter who gets its messages in the account Importer, if that account allows it.
	Importer   string
	AllowTrace bool
}

// rename appends the subject in the importing account. It reports false for a subject that has none.
func (l *StreamLink) rename(dst, subj []byte) ([]byte, bool) {
	if l.Rename != nil {
		return l.Rename.AppendText(dst, string(subj))
	}
	return append(append(dst, l.Prefix...), subj...), true
}

// ServiceLink brings requests of the account that has it into another one, and the responses back.
type ServiceLink struct {
	Local     string             // pattern of subjects in the account that imports
	To        *Index             // of the account that exports
	Rename    *subject.Transform // to the subject there; nil keeps it
	Share     bool               // the other account is told who asks
	Many      bool               // a request may have more than one response
	Threshold time.Duration      // a response is awaited so long; at least 1 ns
	Latency   *Latency           // measurements that are published in the exporting account; nil for none
	Importer  string             // name of the account that imports
	Exporter  string             // name of the account that exports
	// AllowTrace says that traces go on in the exporting account.
	AllowTrace bool
	Server     string // 8 characters that stand for the server in the subjects of measured requests
}

// Latency asks for measurements of a service.
type Latency struct {
	Subject  string
	Sampling int // percent of the requests; 0: only those whose headers ask for it
}

func (l *ServiceLink) rename(dst, subj []byte) ([]byte, bool) {
	if l.Rename != nil {
		return l.Rename.AppendText(dst, string(subj))
	}
	return append(dst, subj...), true
}

// LinksBuilder gathers what Links are made of.
type LinksBuilder struct {
	Mappings []*Mapping // the first that covers a subject counts
	Streams  []*StreamLink
	Services []*ServiceLink
	Serves   bool // other accounts have a ServiceLink to this one
	// Asked are the accounts into which requests go, also those into which such an account sends them on.
	Asked []*Index
	// Imported are the accounts that have a StreamLink to this one.
	Imported []*Index
}

// Same reports whether both make the same links.
func (b *LinksBuilder) Same(o *LinksBuilder) bool {
	return slices.Equal(b.Mappings, o.Mappings) && slices.Equal(b.Streams, o.Streams) && slices.Equal(b.Services, o.Services) &&
		b.Serves == o.Serves && slices.Equal(b.Asked, o.Asked) && slices.Equal(b.Imported, o.Imported)
}

// Build returns the links, nil if there is nothing in them.
func (b *LinksBuilder) Build() *Links {
	if len(b.Mappings)+len(b.Streams)+len(b.Services)+len(b.Imported) == 0 && !b.Serves {
		return nil
	}
	l := &Links{serves: b.Serves, asked: b.Asked, imported: b.Imported, shown: b.Streams, asking: b.Services}
	for i, m := range b.Mappings {
		l.mappings.add(m.source, rankedMapping{m, i})
	}
	for _, s := range b.Streams {
		l.streams.add(s.From, s)
	}
	for _, s := range b.Services {
		l.services.add(s.Local, s)
		if s.Latency != nil {
			l.measured = append(l.measured, s)
		}
	}
	return l
}

// concerns reports whether a message on subj may go further than to the account's own subscriptions, or elsewhere. What
// may be a response does not count: such subjects are used once.
func (l *Links) concerns(subj []byte, mapped bool) bool {
	return mapped && l.mappings.any(subj) || l.streams.any(subj) || l.services.any(subj)
}

// linked is the part of an Index that knows of other accounts.
type linked struct {
	links    atomic.Pointer[Links]
	replies  Replies
	imported atomic.Pointer[importedCount] // see CountImported
}

// Link makes l, nil for none, hold for the account. Senders see it when they next begin.
func (x *Index) Link(l *Links) {
	if x.links.Swap(l) == nil && l == nil {
		return
	}
	x.genAll.Add(1)
	x.changed()
}

// changed tells senders that generations have moved: those of the account, and of accounts whose streams it imports.
// Those who ask it for services look for themselves, as there may be many of them.
func (x *Index) changed() {
	x.changes.Add(1)
	if l := x.links.Load(); l != nil {
		for _, exporter := range l.imported {
			exporter.changes.Add(1)
		}
	}
}

// elsewhere is a number that moves with every change in the accounts that are asked for services.
func (l *Links) elsewhere() (sum uint64) {
	if l != nil {
		for _, x := range l.asked {
			sum += x.changes.Load()
		}
	}
	return sum
}

// maxHops bounds how many accounts one message or question may cross. Imports that form cycles are refused; this holds
// where accounts change one by one.
const maxHops = 8

// interest is what interested asks for.
type interest struct {
	exact bool   // subscriptions with wildcards do not count, nor do those of other queue groups
	queue string // of exact ones; empty: those that are in none
}

// interested is HasInterest and HasListener, for a message that came to the account as mode says.
func (x *Index) interested(subj []byte, want interest, mode wayMode, hops int) bool {
	l := x.links.Load()
	if l != nil && mode&modeMapped != 0 {
		if m := l.mapping(subj); m != nil {
			return m.any(subj, func(to []byte) bool { return x.interested(to, want, mode&^modeMapped, hops) })
		}
	}
	if x.wanted(subj, want) {
		return true
	}
	if l == nil || hops == 0 {
		return false
	}
	if want.queue == "" && l.serves && isReply(subj) {
		if to, reply := x.replies.target(subj); to != nil && to.interested(reply, want, 0, hops-1) {
			return true
		}
	}
	found := mode&modeStreams != 0 && !l.streams.each(subj, func(s *StreamLink) bool {
		to, ok := s.rename(nil, subj)
		return !ok || subject.HasEmptyToken(to) || !s.To.wanted(to, want)
	})
	if found || mode&modeServices == 0 {
		return found
	}
	return want.queue == "" && !l.services.each(subj, func(s *ServiceLink) bool {
		to, ok := s.rename(nil, subj)
		return !ok || subject.HasEmptyToken(to) || !s.To.interested(to, interest{}, modeRequested, hops-1)
	})
}

// wanted reports whether there is such a subscription in the account itself.
func (x *Index) wanted(subj []byte, want interest) bool {
	var m matches
	if !want.exact {
		x.find(subj, hashOf(subj), &m)
		return len(m.plain)+len(m.queues) > 0
	}
	if n := x.literals.find(hashOf(subj), subj); n != nil {
		m.take(n)
	}
	if want.queue == "" {
		return len(m.plain) > 0
	}
	return slices.ContainsFunc(m.queues, func(q queueList) bool { return q.name == want.queue })
}
