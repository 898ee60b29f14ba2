package jetstream

import (
	"bytes"
	"strconv"
	"sync"

	"godwit/protocol/jsapi"
	"godwit/server/router"
	"godwit/stream"
	"godwit/stream/consumer"
	"godwit/stream/sequence"
)

// publishes receives the messages on a stream's subjects.
type publishes struct {
	set  *stream.Set
	name string // of the stream
	// A sender has one batch for each subscription. A stream with several subjects keeps the order in which a client
	// publishes on them: the batches of one client share what they gather, found by its origin.
	many bool
	mu   sync.Mutex
	open map[router.Origin]*gathering
}

// gathering is what one sender has published and not handed over yet. Only the sender's goroutine uses it, but for
// users, which the receiver's lock guards.
type gathering struct {
	batches []*stream.PubBatch // by partition; nil: nothing
	used    []int              // partitions that have one
	users   int                // batches of the sender that add to it
}

func newPublishes(s *stream.Set, name string, many bool) *publishes {
	return &publishes{set: s, name: name, many: many, open: map[router.Origin]*gathering{}}
}

// TraceName implements router.TracedStream.
func (r *publishes) TraceName() string { return r.name }

// TraceOnly implements router.TracedStream.
func (r *publishes) TraceOnly(subject []byte) (to string, noInterest bool) {
	to, wanted := r.set.First().Would(subject)
	return to, !wanted
}

// followed tells a trace what became of its message.
func followed(step *router.TraceStep) func(stream.Outcome) {
	return func(o stream.Outcome) {
		switch {
		case o.Err == nil:
			step.Done(o.Subject, o.Unwanted, "")
		case o.Err.Code == jsapi.ErrStreamStoreFailed:
			step.Done(o.Subject, false, o.Err.Description)
		default:
			step.Done("", false, o.Err.Description)
		}
	}
}

// NewBatch implements router.Receiver.
func (r *publishes) NewBatch() router.Batch { return &pubBatch{r: r} }

type pubBatch struct {
	r    *publishes
	own  gathering
	g    *gathering // where messages go; nil before the first since Flush
	from router.Origin
}

// Add implements router.Batch.
func (b *pubBatch) Add(m *router.Message) {
	if b.g == nil {
		b.begin(m.From)
	}
	g, at := b.g, 0
	if b.r.set.Several() {
		at = b.r.set.PartitionOf(m.Subject, m.Header)
	}
	if g.batches == nil {
		g.batches = make([]*stream.PubBatch, b.r.set.Len())
	}
	if g.batches[at] == nil {
		g.batches[at] = b.r.set.At(at).NewBatch()
		g.used = append(g.used, at)
	}
	g.batches[at].Add(m.Subject, m.Reply, m.Header, m.Payload)
	if m.Trace != nil {
		g.batches[at].Follow(followed(m.Trace))
	}
	if g.batches[at].Full() {
		b.publish()
	}
}

// begin finds out where to gather.
func (b *pubBatch) begin(from router.Origin) {
	r := b.r
	b.from = from
	if !r.many || from == nil {
		b.g = &b.own
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if b.g = r.open[from]; b.g == nil {
		b.g = &gathering{}
		r.open[from] = b.g
	}
	b.g.users++
}

func (b *pubBatch) publish() {
	g := b.g
	for _, at := range g.used {
		batch := g.batches[at]
		g.batches[at] = nil
		b.r.set.Publish(at, batch, b.from != nil, len(g.used) == 1)
	}
	g.used = g.used[:0]
}

// Flush implements router.Batch.
func (b *pubBatch) Flush() {
	if b.g == nil {
		return
	}
	b.publish()
	if b.g != &b.own {
		r := b.r
		r.mu.Lock()
		if b.g.users--; b.g.users == 0 {
			delete(r.open, b.from)
		}
		r.mu.Unlock()
	}
	b.g, b.from = nil, nil
}

// acks receives acknowledgements for a consumer.
type acks struct {
	part   *stream.Partition
	c      *consumer.Consumer
	prefix int // length of "$JS.ACK.<stream>.<consumer>."
}

// NewBatch implements router.Receiver.
func (r *acks) NewBatch() router.Batch { return &ackBatch{r: r} }

type ackBatch struct {
	r      *acks
	b      *consumer.AckBatch
	client bool
}

// Add implements router.Batch.
func (b *ackBatch) Add(m *router.Message) {
	if b.b == nil {
		b.b = stream.NewAckBatch(b.r.c)
	}
	b.client = m.From != nil
	b.b.Add(m.Subject[b.r.prefix:], m.Reply, m.Payload)
}

// Flush implements router.Batch.
func (b *ackBatch) Flush() {
	if batch := b.b; batch != nil {
		b.b = nil
		b.r.part.Ack(batch, b.client)
	}
}

// spreadAcks receives acknowledgements for a consumer with parts in several partitions.
type spreadAcks struct {
	set    *stream.Set
	parts  []*consumer.Consumer // by partition
	prefix int                  // as in acks
}

func (s *Stream) newAcks(parts []*consumer.Consumer, prefix int) router.Receiver {
	if len(parts) == 1 {
		return &acks{s.set.First(), parts[0], prefix}
	}
	return &spreadAcks{s.set, parts, prefix}
}

// NewBatch implements router.Receiver.
func (r *spreadAcks) NewBatch() router.Batch {
	return &spreadAckBatch{r: r, batches: make([]*consumer.AckBatch, len(r.parts))}
}

type spreadAckBatch struct {
	r       *spreadAcks
	batches []*consumer.AckBatch // by partition; nil: nothing
	used    []int                // partitions that have one
	client  bool
}

// Add implements router.Batch.
func (b *spreadAckBatch) Add(m *router.Message) {
	rest := m.Subject[b.r.prefix:]
	at := sequence.PartitionOf(consumer.AckedSequence(rest), uint64(len(b.batches)))
	if b.batches[at] == nil {
		b.batches[at] = stream.NewAckBatch(b.r.parts[at])
		b.used = append(b.used, at)
	}
	b.client = m.From != nil
	b.batches[at].Add(rest, m.Reply, m.Payload)
}

// Flush implements router.Batch.
func (b *spreadAckBatch) Flush() {
	for _, at := range b.used {
		batch := b.batches[at]
		b.batches[at] = nil
		b.r.set.At(at).Ack(batch, b.client && len(b.used) == 1)
	}
	b.used = b.used[:0]
}

// pulls receives pull requests for a consumer.
type pulls struct {
	part *stream.Partition
	c    *consumer.Consumer
}

// NewBatch implements router.Receiver.
func (r *pulls) NewBatch() router.Batch { return &pullBatch{r: r} }

type pullBatch struct {
	r      *pulls
	b      *consumer.PullBatch
	client bool
}

// Add implements router.Batch.
func (b *pullBatch) Add(m *router.Message) {
	if b.b == nil {
		b.b = stream.NewPullBatch(b.r.c)
	}
	b.client = m.From != nil
	b.b.Add(m.Reply, m.Payload, TooNew(m.Header))
}

// Flush implements router.Batch.
func (b *pullBatch) Flush() {
	if batch := b.b; batch != nil {
		b.b = nil
		b.r.part.Pull(batch, b.client)
	}
}

// directGets receives direct gets for a stream.
type directGets struct {
	set  *stream.Set
	base int // length of "$JS.API.DIRECT.GET.<stream>"
}

// NewBatch implements router.Receiver.
func (r *directGets) NewBatch() router.Batch { return &directBatch{r: r} }

type directBatch struct {
	r       *directGets
	batches []*stream.GetBatch // by partition; nil: nothing
	used    []int              // partitions that have one
	client  bool
}

// Add implements router.Batch.
func (b *directBatch) Add(m *router.Message) {
	b.client = m.From != nil
	var subj []byte
	if len(m.Subject) > b.r.base {
		subj = m.Subject[b.r.base+1:]
	}
	tooNew := TooNew(m.Header)
	at, ok := b.r.set.RouteGet(m.Reply, subj, m.Payload, tooNew)
	if !ok {
		return
	}
	if b.batches == nil {
		b.batches = make([]*stream.GetBatch, b.r.set.Len())
	}
	if b.batches[at] == nil {
		b.batches[at] = stream.NewGetBatch()
		b.used = append(b.used, at)
	}
	b.batches[at].Add(m.Reply, subj, m.Payload, tooNew)
}

// Flush implements router.Batch.
func (b *directBatch) Flush() {
	for _, at := range b.used {
		batch := b.batches[at]
		b.batches[at] = nil
		b.r.set.At(at).Direct(batch, b.client)
	}
	b.used = b.used[:0]
}

// flows receives answers to a push consumer's flow control requests. They are few.
type flows struct {
	part *stream.Partition
	c    *consumer.Consumer
}

// NewBatch implements router.Receiver.
func (r *flows) NewBatch() router.Batch { return r }

// Add implements router.Batch.
func (r *flows) Add(m *router.Message) {
	seq := uint64(0)
	if value, ok := headerValue(m.Header, "Nats-Last-Stream"); ok {
		seq, _ = strconv.ParseUint(string(value), 10, 64) // not a number: nothing is acknowledged
	}
	r.part.Flow(r.c, m.Subject, seq)
}

// Flush implements router.Batch.
func (r *flows) Flush() {}

// TooNew says whether a request's header demands an API level that this server does not have.
func TooNew(header []byte) bool {
	value, ok := headerValue(header, jsapi.HeaderRequiredLevel)
	if !ok {
		return false
	}
	n, err := strconv.Atoi(string(value))
	return err != nil || n > jsapi.Level
}

// headerValue returns the value of a header, which is part of the block.
func headerValue(header []byte, name string) (value []byte, ok bool) {
	if len(header) == 0 {
		return nil, false
	}
	_, rest, found := bytes.Cut(header, []byte("\r\n"+name+":"))
	if !found {
		return nil, false
	}
	value, _, _ = bytes.Cut(rest, []byte("\r\n"))
	return bytes.TrimSpace(value), true
}
