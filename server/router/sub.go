package router

import (
	"strconv"
	"sync/atomic"
)

// Sub is one subscription. It is kept small, as there may be millions: the subject of a literal one is in its node.
type Sub struct {
	dst  *Dest
	node *node
	sid  uint64
	ext  atomic.Pointer[subExtra] // nil for most
	msgs atomic.Uint64
	wild bool
}

// subExtra holds what few subscriptions have.
type subExtra struct {
	subject string // of one with wildcards
	queue   string
	sid     string        // one that is not a plain number
	max     atomic.Uint64 // messages after which the subscription ends; 0 is never
	ended   atomic.Bool   // its connection was told that it got them
}

// NewSub makes a subscription of dst, to be given to Insert. All arguments are copied. Every connection subscription
// can be told from others by its sid.
func NewSub(dst *Dest, subject, queue, sid []byte) *Sub {
	s := &Sub{dst: dst}
	var numeric bool
	s.sid, numeric = PlainNumber(sid)
	s.wild = hasWildcard(string(subject))
	if s.wild || len(queue) > 0 || !numeric {
		ext := &subExtra{queue: string(queue)}
		if s.wild {
			ext.subject = string(subject)
		}
		if !numeric {
			ext.sid = string(sid)
		}
		s.ext.Store(ext)
	}
	return s
}

// PlainNumber parses a sid that its decimal form stands for exactly.
func PlainNumber(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 18 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	for _, ch := range b {
		d := ch - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	return n, true
}

// Dest is where the subscription's messages go.
func (s *Sub) Dest() *Dest { return s.dst }

// Subject is what was subscribed to. It is valid once the subscription was inserted.
func (s *Sub) Subject() string {
	if s.wild {
		return s.ext.Load().subject
	}
	return s.node.token
}

// Queue is the name of the queue group, empty for a plain subscription.
func (s *Sub) Queue() string {
	if ext := s.ext.Load(); ext != nil {
		return ext.queue
	}
	return ""
}

// SID is the client's name for the subscription.
func (s *Sub) SID() string { return string(s.appendSID(nil)) }

func (s *Sub) appendSID(b []byte) []byte {
	if ext := s.ext.Load(); ext != nil && ext.sid != "" {
		return append(b, ext.sid...)
	}
	return strconv.AppendUint(b, s.sid, 10)
}

// Msgs is the number of messages delivered so far, apart from what senders have gathered and not handed over yet.
func (s *Sub) Msgs() uint64 { return s.msgs.Load() }

// Max is the number of messages after which the subscription ends, 0 if it does not.
func (s *Sub) Max() uint64 {
	if ext := s.ext.Load(); ext != nil {
		return ext.max.Load()
	}
	return 0
}

// Limit makes s end after max messages, counted from its beginning; it reports false if they were delivered already.
// Senders see the limit when they next look the subject up, which x makes them do. Until then a message may be
// delivered that is counted, but not stopped: the client asked for the limit after it.
func (x *Index) Limit(s *Sub, max uint64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s.ext.Load() == nil {
		s.ext.Store(&subExtra{})
	}
	s.ext.Load().max.Store(max)
	x.moved(s, s.Subject())
	return s.msgs.Load() < max
}

// appendPrefix appends an HMSG frame up to where the publisher's own bytes can follow. Without its first byte it is
// the same for MSG.
func (s *Sub) appendPrefix(b, subject []byte) []byte {
	b = append(append(append(b, "HMSG "...), subject...), ' ')
	return append(s.appendSID(b), ' ')
}

// Dest is one end that messages go to, as senders see it: a connection, or a receiver inside the server.
type Dest struct {
	sink Sink
	recv Receiver
	// Headers says that the client takes HMSG; others get the payload alone.
	Headers atomic.Bool
	// Gone is set when the connection is closing: nothing is sent to it any more.
	Gone atomic.Bool
	// Guarded says that the sink's rights have to be asked before a delivery; see Sink.
	Guarded atomic.Bool
}

// Init makes d the destination of a connection whose frames sink takes.
func (d *Dest) Init(sink Sink) { d.sink = sink }

// Sink is what Init was given; nil for a receiver inside the server.
func (d *Dest) Sink() Sink { return d.sink }

// Sink is the connection's side of a Dest.
type Sink interface {
	// Take takes frames gathered by one sender.
	Take(h Handover) Done
	// Exhausted is told of a subscription that has got the last message it wanted.
	Exhausted(s *Sub)
	// Denies reports whether the client may not see messages on subject though a subscription matches it. It is asked
	// only while Guarded, once for each cached route.
	Denies(subject []byte, queue string) bool
	// Replies is told the reply subject of a message delivered to a Guarded connection. It is lent.
	Replies(reply []byte)
}

// Handover is frames for a connection: the first N bytes of Block.
type Handover struct {
	Block  *Block // stays the caller's unless the sink keeps it
	N      int
	Counts Counts
	// Alone says that they are all that the sender has to hand over now: the sink may spend a system call on them.
	Alone bool
	// MayWait says that the sender can be made to wait, once and shortly, for a connection that has too much queued.
	MayWait bool
}

// Done is what a sink did with a handover.
type Done struct {
	Kept   bool // the block is the sink's now
	Full   bool // more is queued than senders should add to
	Waited bool // the sender was made to wait
}

// Counts are what frames amount to: messages, and their bytes of header block and payload.
type Counts struct {
	Msgs  uint64
	Bytes uint64
}

// SubscribeReceiver inserts a subscription of a receiver inside the server. queue is empty for a plain one. Each
// subscription has a batch of its own at each sender.
func (x *Index) SubscribeReceiver(subject, queue string, r Receiver) *Sub {
	d := &Dest{recv: r}
	d.Headers.Store(true)
	s := NewSub(d, []byte(subject), []byte(queue), []byte("1"))
	x.Insert(s, subject)
	return s
}
