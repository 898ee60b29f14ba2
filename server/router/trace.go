package router

import (
	"bytes"
	"sync"
	"time"

	"godwit/protocol"
	"godwit/protocol/subject"
)

const (
	// TraceHeader says on which subject the way of a message is to be told, TraceOnlyHeader that nothing is to be delivered.
	TraceHeader     = "Nats-Trace-Dest"
	TraceOnlyHeader = "Nats-Trace-Only"
	// traceOff is the value of TraceHeader where a trace ends.
	traceOff = "trace disabled"
)

// Kinds of ends that a message comes from or goes to, as traces show them.
const traceClient = 0

// What happens to a message, in the form in which it is told.
type (
	// TraceIn is how it came.
	TraceIn struct {
		Type    string    `json:"type"` // "in"
		Time    time.Time `json:"ts"`
		Kind    int       `json:"kind"`
		CID     uint64    `json:"cid"`
		Name    string    `json:"name,omitempty"`
		Account string    `json:"acc"`
		Subject string    `json:"subj"`
		Error   string    `json:"error,omitempty"`
	}
	// traceMapping says that it goes to another subject; to none if it is lost.
	traceMapping struct {
		Type string    `json:"type"` // "sm"
		Time time.Time `json:"ts"`
		To   string    `json:"to"`
	}
	// traceExport says that it goes to another account that imports a stream.
	traceExport struct {
		Type    string    `json:"type"` // "se"
		Time    time.Time `json:"ts"`
		Account string    `json:"acc"`
		To      string    `json:"to"`
	}
	// traceImport says that it goes to another account as a request, or a response.
	traceImport struct {
		Type    string    `json:"type"` // "si"
		Time    time.Time `json:"ts"`
		Account string    `json:"acc"`
		From    string    `json:"from"`
		To      string    `json:"to"`
	}
	// traceStream says what a stream made of it.
	traceStream struct {
		Type       string    `json:"type"` // "js"
		Time       time.Time `json:"ts"`
		Stream     string    `json:"stream"`
		Subject    string    `json:"subject,omitempty"`
		NoInterest bool      `json:"nointerest,omitempty"`
		Error      string    `json:"error,omitempty"`
	}
	// traceEgress says that a client gets it, or why not.
	traceEgress struct {
		Type    string    `json:"type"` // "eg"
		Time    time.Time `json:"ts"`
		Kind    int       `json:"kind"`
		CID     uint64    `json:"cid"`
		Name    string    `json:"name,omitempty"`
		Account string    `json:"acc,omitempty"`
		Sub     string    `json:"sub,omitempty"`
		Queue   string    `json:"queue,omitempty"`
		Error   string    `json:"error,omitempty"`
	}
)

// Trace follows one message and tells on a subject where it went. Nothing in it changes after it was told.
type Trace struct {
	Dest    []byte              // subject, in the account of the publisher
	Only    bool                // nothing is delivered
	Header  map[string][]string // of the message
	Size    int                 // of its header block and payload, in bytes
	Block   []byte              // its header block, which may ask for an encoding of the trace
	tell    func(*Trace, []any)
	mu      sync.Mutex // guards what follows
	events  []any
	pending int // streams that have not said what became of the message, and 1 for the sender
}

// NewTrace begins a trace with how the message came. tell is called once, with all that happened, by whichever goroutine
// knows the last of it; it must not block.
func NewTrace(in TraceIn, tell func(*Trace, []any)) *Trace {
	in.Type, in.Time = "in", time.Now().UTC()
	return &Trace{tell: tell, pending: 1, events: []any{&in}}
}

// add notes an event.
func (t *Trace) add(e any) {
	t.mu.Lock()
	t.events = append(t.events, e)
	t.mu.Unlock()
}

// End says that the sender is done with the message.
func (t *Trace) End() { t.finish(func() {}) }

// finish lets change an event and tells all if it was the last that was awaited.
func (t *Trace) finish(change func()) {
	t.mu.Lock()
	change()
	t.pending--
	last := t.pending == 0
	t.mu.Unlock()
	if last {
		t.tell(t, t.events)
	}
}

// TraceStep is what a stream says about a message that is traced.
type TraceStep struct {
	trace *Trace
	event *traceStream
}

// Done says what became of the message: under which subject it is stored, that it interests nobody, or why it was refused.
func (s *TraceStep) Done(subject string, noInterest bool, err string) {
	s.trace.finish(func() { s.event.Subject, s.event.NoInterest, s.event.Error = subject, noInterest, err })
}

// TracedStream is a Receiver that is a stream.
type TracedStream interface {
	// TraceName is the stream's.
	TraceName() string
	// TraceOnly says under which subject the stream would store a message, and whether nobody is interested.
	TraceOnly(subject []byte) (to string, noInterest bool)
}

// TracedService is a Receiver that is an API: traces show it as a service of the system account.
type TracedService interface {
	// TraceService returns the system account's name and its subject for a request, which is lent; empty if it is the
	// requester's own account.
	TraceService(subject []byte) (account, to string)
}

// following is the message of a trace in one account.
type following struct {
	*Trace
	account string // empty in the publisher's own
}

// member is a subscription that a traced message may go to.
type member struct {
	sub    *Sub
	export *StreamLink // by which it is in another account; nil if it is not
	shown  []byte      // the subject there
}

// DeliverTraced is Deliver for a message that is traced. It uses nothing of what is cached, and asks each subscription.
func (s *Sender) DeliverTraced(p *protocol.Pub, t *Trace) Result {
	to := bytes.Clone(s.Routed(p))
	q := *p
	q.Subject = to
	if !bytes.Equal(to, p.Subject) {
		t.add(&traceMapping{"sm", time.Now().UTC(), string(to)})
		if len(to) == 0 {
			return Undelivered
		}
	}
	s.settle()
	return s.follow(s.index, &q, &following{t, ""}, modePublished)
}

// follow delivers a message in the account of x and notes where it goes.
func (s *Sender) follow(x *Index, p *protocol.Pub, t *following, mode wayMode) (n Result) {
	var plain []member
	groups := map[string][]member{}
	var names []string // of groups, in their order
	gather := func(m member) {
		for _, sub := range s.found.plain {
			m.sub = sub
			plain = append(plain, m)
		}
		for _, q := range s.found.queues {
			if groups[q.name] == nil {
				names = append(names, q.name)
			}
			for _, sub := range q.members {
				m.sub = sub
				groups[q.name] = append(groups[q.name], m)
			}
		}
	}
	x.find(p.Subject, hashOf(p.Subject), &s.found)
	gather(member{})
	l := x.links.Load()
	if l == nil {
		l = &Links{}
	}
	if mode&modeStreams != 0 {
		l.streams.each(p.Subject, func(link *StreamLink) bool {
			if to, ok := link.rename(nil, p.Subject); ok && !subject.HasEmptyToken(to) {
				link.To.find(to, hashOf(to), &s.found)
				gather(member{export: link, shown: to})
			}
			return true
		})
	}
	for _, m := range plain {
		if s.followTo(m, p, t, true) {
			n++
		}
	}
	for _, name := range names {
		ms := groups[name]
		at := s.random(len(ms))
		for i := range ms { // members that cannot take it are passed over, and told of if none can
			if s.followTo(ms[(at+i)%len(ms)], p, t, i == len(ms)-1) {
				n++
				break
			}
		}
	}
	if mode&modeServices != 0 {
		l.services.each(p.Subject, func(link *ServiceLink) bool {
			if to, ok := link.rename(nil, p.Subject); ok && !subject.HasEmptyToken(to) {
				n += s.requestTraced(&requestWay{link, to}, p, t)
			}
			return true
		})
	}
	if l.serves && isReply(p.Subject) {
		n += s.respondTraced(x, p, t)
	}
	return n
}
