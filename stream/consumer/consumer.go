package consumer

import (
	"bytes"
	"math"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
	"godwit/stream/sequence"
)

// Position is a place in the consumer's own numbering and in the stream's.
type Position struct{ Consumer, Stream uint64 }

// Options configures a Consumer. All fields are required but Volatile.
type Options struct {
	ID       uint64 // unique in the partition, for ever
	Stream   string
	Place    string // "<domain>.<account>." in front of the stream in the subjects of acknowledgements; may be empty
	Name     string
	Created  time.Time
	Config   *jsapi.ConsumerConfig // defaults filled in; shared
	Store    Store
	Out      Output
	Events   Events
	Volatile bool // its state is not logged and ends with the process
	// Resolved is told of each message that the consumer is done with for good: acknowledged, given up by a client, or
	// delivered if nothing is acknowledged. nil tells nobody. Only the partition's turn may change it.
	Resolved func(seq uint64)

	// What a consumer needs that is one of the parts of a consumer that spans the partitions of a stream. Share returns what
	// they have in common, nil for any other consumer; it is called when work begins.
	Numbers sequence.Scheme
	Share   func(c *Consumer) *Shared
	Wake    func() // has the partition call Deliver soon; safe for concurrent use
	Flush   func() // hands over what Out was given
}

// Consumer is one consumer. It belongs to the partition's turn, save for what Options gave, which is immutable but for
// the configuration.
type Consumer struct {
	Options
	out    Output
	cfg    *jsapi.ConsumerConfig
	prefix []byte // "$JS.ACK.<stream>.<consumer>.", with Place before the stream

	// Position.
	next      uint64 // stream sequence where new messages are looked for
	seen      uint64 // the store's first sequence when last looked at
	delivered Position
	floor     Position
	lastTime  int64 // of the last delivery, ns since 1970; 0 if none since the start
	ackTime   int64 // of the last acknowledgement
	pend      pending
	lasts     lastList
	log       progressLog
	pin       pin
	witness   witness

	// Reading.
	filters []string
	matched []byte // the last subject looked at
	matches bool   // and whether it is wanted
	reader  Reader
	cand    candidate
	newest  int64 // time of the message delivered last for the first time; see TakeNewest
	back    backlog

	// Demand.
	*demand
	shared  *Shared // nil: this is the whole consumer
	shown   counts  // what is part of the sums in shared
	own     demand  // the demand of a consumer that shares nothing
	pace    pace
	sample  int  // percent of acknowledgements that are reported
	waiting bool // for the end of a pause
	sending bool // something was sent since Flush

	confirm confirms
	num     struct{ stream, consumer, time, pending decimal }
	reply   []byte // scratch for ack reply subjects
	head    []byte // scratch for header blocks
	msg     Message
}

// demand is who wants messages, and what they were told.
type demand struct {
	wait    waiting
	push    push
	touched int64 // when somebody last showed interest
	used    int64 // when something was last delivered or acknowledged
	free    int64 // when what was sent is paid for; see pace
}

// candidate is the next message to deliver: new, or an exception delivered again.
type candidate struct {
	seq   uint64 // 0: none
	again *Entry
	time  int64
	rec   segment.Record
}

// confirms are reply subjects of acknowledgements to be answered once a progress record is durable.
type confirms struct {
	text []byte
	ends []int
}

// New returns a consumer that starts at sequence 1; see Start.
func New(o Options) *Consumer {
	c := &Consumer{Options: o, out: o.Out, next: 1}
	c.demand = &c.own
	c.prefix = []byte("$JS.ACK." + o.Place + o.Stream + "." + o.Name + ".")
	c.pend.silent = o.Volatile
	c.wait.due = math.MaxInt64
	c.configure(o.Config)
	return c
}

// Config is the configuration in force; it is shared.
func (c *Consumer) Config() *jsapi.ConsumerConfig { return c.cfg }

// configure takes over a configuration.
func (c *Consumer) configure(cfg *jsapi.ConsumerConfig) {
	c.cfg = cfg
	c.filters = cfg.Filters()
	c.matched, c.matches = nil, false
	c.push.configure(cfg)
	c.pace.configure(cfg)
	c.sample = samplePercent(cfg.SampleFrequency)
	c.waiting = false
	if cfg.PriorityPolicy != jsapi.PriorityPinnedClient {
		c.pin = pin{}
	}
}

// Update changes the configuration of a running consumer. If the filter changed, the partition counts the backlog
// anew with SetBacklog.
func (c *Consumer) Update(cfg *jsapi.ConsumerConfig) {
	c.enter()
	defer c.leave()
	resort := cfg.PriorityPolicy == jsapi.PriorityPrioritized && c.cfg.PriorityPolicy != cfg.PriorityPolicy
	c.configure(cfg)
	if resort {
		c.wait.sort()
	}
	c.dropCandidate()
	c.back = backlog{n: c.back.n}
	c.witness = witness{}
}

// Start sets where a new consumer begins: new messages from next on. lasts, ascending, are delivered before: they are
// the last messages of their subjects below next.
func (c *Consumer) Start(next uint64, lasts []uint64) {
	c.next = max(1, next)
	if len(lasts) > 0 || c.cfg.DeliverPolicy == jsapi.DeliverLastPerSubject {
		c.lasts = lastList{on: true, seqs: lasts, resume: c.next - 1}
		if len(lasts) > 0 {
			c.next = lasts[0]
		}
	}
	c.delivered = Position{0, c.next - 1}
	c.floor = c.delivered
	c.log.dirty = true
}

// Next is the stream sequence at which new messages are looked for.
func (c *Consumer) Next() uint64 { return c.next }

// Wants says whether the consumer's filter lets a subject through.
func (c *Consumer) Wants(subj []byte) bool {
	if len(c.filters) == 0 {
		return true
	}
	if len(c.matched) > 0 && bytes.Equal(c.matched, subj) {
		return c.matches
	}
	c.matched = append(c.matched[:0], subj...)
	c.matches = false
	for _, f := range c.filters {
		if subject.Match(f, subj) {
			c.matches = true
			break
		}
	}
	return c.matches
}

// ackWait is how long the n-th delivery of a message may stay without acknowledgement, in ns.
func (c *Consumer) ackWait(deliveries uint32) int64 {
	if c.byFlow() {
		return forever
	}
	if n := len(c.cfg.BackOff); n > 0 {
		return int64(c.cfg.BackOff[min(int(deliveries), n)-1])
	}
	return int64(c.cfg.AckWait)
}

// tracks says whether deliveries wait for acknowledgements.
func (c *Consumer) tracks() bool { return c.cfg.AckPolicy != jsapi.AckNone }

// exhausted says whether a message was delivered as often as allowed.
func (c *Consumer) exhausted(deliveries uint32) bool {
	return c.cfg.MaxDeliver > 0 && int(deliveries) >= c.cfg.MaxDeliver
}

// paused says whether deliveries are suspended.
func (c *Consumer) paused(now int64) bool {
	return c.cfg.PauseUntil != nil && jsapi.Nanos(*c.cfg.PauseUntil) > now
}

// moveFloor computes the ack floor after something was delivered or resolved.
func (c *Consumer) moveFloor() {
	if !c.tracks() || c.pend.empty() {
		c.floor = c.delivered
		return
	}
	if seq, cseq, ok := c.pend.lowest(); ok && seq > c.floor.Stream {
		c.floor = Position{cseq - 1, seq - 1}
	}
}

// dropCandidate forgets the message that was to be delivered next; it is looked for again.
func (c *Consumer) dropCandidate() {
	c.cand = candidate{}
	if c.reader != nil {
		c.reader.Seek(c.next)
	}
}

// Rest gives back the memory that an idle consumer does not need.
func (c *Consumer) Rest() {
	if c.reader != nil {
		c.dropCandidate()
		c.reader.Release()
	}
	c.head, c.reply = nil, nil
	if !c.Confirms() { // acknowledgements may still wait for their progress record
		c.confirm = confirms{}
	}
}

// Close ends all that waits: pull requests hear that the consumer was deleted, or that the server is going.
func (c *Consumer) Close(shutdown bool) {
	c.enter()
	defer c.leave()
	for c.wait.n > 0 {
		r := c.wait.pop()
		if shutdown {
			c.statusLeft(r, statusShutdown)
		} else {
			c.status(r.reply, statusDeleted)
		}
	}
	if c.Config().Push() && !shutdown && c.push.active {
		c.push.active = false
		c.status(c.push.subject, statusDeleted)
	}
	c.Rest()
}
