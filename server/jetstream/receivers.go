package jetstream

import (
	"bytes"
	"strconv"
	"sync"

	"godwit/protocol/jsapi"
	"godwit/server/router"
	"godwit/stream"
	"godwit/stream/consumer"
)

// publishes receives the messages on a stream's subjects.
type publishes struct {
	part *stream.Partition
	// A sender has one batch for each subscription. A stream with several subjects keeps the order in which a client
	// publishes on them: the batches of one client share what they gather, found by its origin.
	many bool
	mu   sync.Mutex
	open map[router.Origin]*gathering
}

// gathering is what one sender has published and not handed over yet. Only the sender's goroutine uses it, but for
// users, which the receiver's lock guards.
type gathering struct {
	batch *stream.PubBatch // nil: nothing
	users int              // batches of the sender that add to it
}

func newPublishes(p *stream.Partition, many bool) *publishes {
	return &publishes{part: p, many: many, open: map[router.Origin]*gathering{}}
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
	if b.g.batch == nil {
		b.g.batch = b.r.part.NewBatch()
	}
	b.g.batch.Add(m.Subject, m.Reply, m.Header, m.Payload)
	if b.g.batch.Full() {
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
	if batch := b.g.batch; batch != nil {
		b.g.batch = nil
		b.r.part.Publish(batch, b.from != nil)
	}
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
	part *stream.Partition
	base int // length of "$JS.API.DIRECT.GET.<stream>"
}

// NewBatch implements router.Receiver.
func (r *directGets) NewBatch() router.Batch { return &directBatch{r: r} }

type directBatch struct {
	r      *directGets
	b      *stream.GetBatch
	client bool
}

// Add implements router.Batch.
func (b *directBatch) Add(m *router.Message) {
	if b.b == nil {
		b.b = stream.NewGetBatch()
	}
	b.client = m.From != nil
	var subj []byte
	if len(m.Subject) > b.r.base {
		subj = m.Subject[b.r.base+1:]
	}
	b.b.Add(m.Reply, subj, m.Payload, TooNew(m.Header))
}

// Flush implements router.Batch.
func (b *directBatch) Flush() {
	if batch := b.b; batch != nil {
		b.b = nil
		b.r.part.Direct(batch, b.client)
	}
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
