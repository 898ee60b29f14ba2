package stream

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/vfs"
)

// testOutput hands answers to whoever waits for them, by reply subject.
type testOutput struct {
	mu   sync.Mutex
	wait map[string]chan consumer.Message
	deaf map[string]bool
}

func newTestOutput() *testOutput {
	return &testOutput{wait: map[string]chan consumer.Message{}, deaf: map[string]bool{}}
}

// listen returns what will arrive on a subject.
func (o *testOutput) listen(subject string) chan consumer.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := make(chan consumer.Message, 2048)
	o.wait[subject] = c
	return c
}

func (o *testOutput) leave(subject string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.wait, subject)
}

func (o *testOutput) Deliver(to []byte, m *consumer.Message) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.wait[string(to)]
	if c == nil {
		return 0
	}
	c <- consumer.Message{Subject: append([]byte{}, m.Subject...), Reply: append([]byte{}, m.Reply...),
		Header: append([]byte{}, m.Header...), Payload: append([]byte{}, m.Payload...)}
	return 1
}

func (o *testOutput) Bound(subject []byte, _ string) bool { return o.Interest(subject) }

func (o *testOutput) Interest(subject []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wait[string(subject)] != nil
}

func (o *testOutput) Flush() {}
func (o *testOutput) Rest()  {}

// testHooks fails the test on damage and notes the rest.
type testHooks struct {
	t       testing.TB
	mu      sync.Mutex
	events  []string
	failed  error
	faults  []string // what audits found
	audited int
	found   []*consumer.Consumer
	broken  bool // damage is expected
}

func (h *testHooks) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf(format, args...))
}

func (h *testHooks) Exceeded(c *consumer.Consumer, seq uint64, n int) {
	h.note("exceeded %s %d %d", c.Name, seq, n)
}

func (h *testHooks) Naked(c *consumer.Consumer, seq, cseq uint64, n int) {
	h.note("naked %s %d", c.Name, seq)
}

func (h *testHooks) Terminated(c *consumer.Consumer, seq, cseq uint64, n int, why string) {
	h.note("terminated %s %d %s", c.Name, seq, why)
}

func (h *testHooks) Sampled(c *consumer.Consumer, seq, cseq uint64, n int, took time.Duration) {
	h.note("sampled %s %d after %v", c.Name, seq, took)
}

func (h *testHooks) Pinned(c *consumer.Consumer, group, id string) {
	h.note("pinned %s %s", c.Name, group)
}

func (h *testHooks) Unpinned(c *consumer.Consumer, group, reason string) {
	h.note("unpinned %s %s %s", c.Name, group, reason)
}

func (h *testHooks) Paused(c *consumer.Consumer, until time.Time, paused bool) {
	h.note("paused %s %v", c.Name, paused)
}

func (h *testHooks) ConsumerFound(c *consumer.Consumer)   { h.found = append(h.found, c) }
func (h *testHooks) ConsumerAdded(c *consumer.Consumer)   { h.note("added %s", c.Name) }
func (h *testHooks) ConsumerRemoved(c *consumer.Consumer) { h.note("removed %s", c.Name) }

func (h *testHooks) Audited(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.audited += n
}

func (h *testHooks) Violated(c *consumer.Consumer, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c != nil {
		text = c.Name + ": " + text
	}
	h.faults = append(h.faults, text)
}

func (h *testHooks) Failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = err
}

func (h *testHooks) Damaged(err error) {
	if !h.broken {
		h.t.Errorf("damage: %v", err)
	}
	h.note("damaged: %v", err)
}

// testQuota counts, and refuses beyond max if that is not 0.
type testQuota struct {
	mu   sync.Mutex
	used int64
	max  int64
}

func (q *testQuota) Limited() bool { return q.max > 0 }

func (q *testQuota) Admit(bytes int64) *jsapi.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used+bytes > q.max {
		return jsapi.Err(jsapi.ErrAccountResourcesExceeded)
	}
	return nil
}

func (q *testQuota) Used(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used += bytes
}

// bench is a partition with its surroundings.
type bench struct {
	t     testing.TB
	p     *Partition
	out   *testOutput
	hooks *testHooks
	quota *testQuota
	fs    *vfs.Mem
	cfg   jsapi.StreamConfig
	now   *clock
	n     int
	opts  func(*Options)
}

// clock is a time that only tests move. It is far in the past, so that no timer fires by itself.
type clock struct {
	mu  sync.Mutex
	now int64
}

func (c *clock) read() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += int64(d)
}

// openBench opens a partition on fs. A nil clock is the real one.
func openBench(t testing.TB, fs *vfs.Mem, cfg jsapi.StreamConfig, now *clock, change func(*Options)) *bench {
	t.Helper()
	if err := CheckConfig(&cfg, Limits{}, false); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, out: newTestOutput(), hooks: &testHooks{t: t}, quota: &testQuota{}, fs: fs, cfg: cfg, now: now, opts: change}
	o := Options{Dir: "/s/0", FS: fs, Key: [32]byte{1}, SegmentBytes: 64 << 10, Config: cfg, Created: time.Unix(1, 0), Out: b.out,
		Refusals: b.out, Hooks: b.hooks, Quota: b.quota}
	if change != nil {
		change(&o)
	}
	p, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	b.p = p
	if now != nil {
		p.clock = now.read
	}
	p.Start()
	return b
}

// reopen opens the same partition again, on fs.
func (b *bench) reopen(fs *vfs.Mem) *bench {
	b.t.Helper()
	return openBench(b.t, fs, b.cfg, b.now, b.opts)
}

// audit holds all of the partition to the standing invariant, and returns what is wrong, now or since the start.
func (b *bench) audit() []string {
	b.t.Helper()
	if err := b.p.do(func() {
		for _, m := range b.p.members.byID {
			b.p.auditMember(m, math.MaxInt32, math.MaxUint64)
		}
		b.p.audits.next = 0
		b.p.auditStored(math.MaxInt32)
	}); err != nil {
		b.t.Fatal(err)
	}
	b.hooks.mu.Lock()
	defer b.hooks.mu.Unlock()
	return b.hooks.faults
}

func (b *bench) close() {
	b.t.Helper()
	if faults := b.audit(); len(faults) > 0 {
		b.t.Errorf("violations: %q", faults)
	}
	if err := b.p.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// pubs publishes messages as one batch and returns the answers.
func (b *bench) pubs(list ...testMsg) []jsapi.PubAck {
	b.t.Helper()
	b.n++
	reply := fmt.Sprintf("r.%d", b.n)
	c := b.out.listen(reply)
	defer b.out.leave(reply)
	batch := b.p.NewBatch()
	for _, m := range list {
		batch.Add([]byte(m.subject), []byte(reply), m.block(), []byte(m.value))
	}
	b.p.Publish(batch, true)
	acks := make([]jsapi.PubAck, len(list))
	for i := range acks {
		select {
		case m := <-c:
			if err := json.Unmarshal(m.Payload, &acks[i]); err != nil {
				b.t.Fatalf("%v in %s", err, m.Payload)
			}
		case <-time.After(20 * time.Second):
			b.t.Fatalf("no answer to %+v", list[i])
		}
	}
	return acks
}

func (b *bench) pub(m testMsg) jsapi.PubAck { return b.pubs(m)[0] }

// testMsg is a message to publish.
type testMsg struct {
	subject, value string
	headers        []string // "Name: value"
}

func (m *testMsg) block() []byte {
	if len(m.headers) == 0 {
		return nil
	}
	b := []byte("NATS/1.0\r\n")
	for _, h := range m.headers {
		b = append(append(b, h...), "\r\n"...)
	}
	return append(b, "\r\n"...)
}

func (b *bench) state() jsapi.StreamState {
	b.t.Helper()
	_, st, _, err := b.p.State(InfoRequest{Deleted: true, Subjects: ">"})
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

// get returns a stored message's subject and value; ok is false if there is none.
func (b *bench) get(r jsapi.MsgGetRequest) (msg *jsapi.StoredMessage, ok bool) {
	b.t.Helper()
	msg, err := b.p.Get(&r)
	if err != nil {
		if err.Code != jsapi.ErrNoMessageFound {
			b.t.Fatal(err)
		}
		return nil, false
	}
	return msg, true
}

// checkpoint lets so much time pass that a checkpoint is due, and waits until it is written.
func (b *bench) checkpoint() {
	b.t.Helper()
	b.now.pass(checkpointWait)
	for {
		b.p.box.wake()
		var busy bool
		if err := b.p.do(func() { busy = b.p.ckpt.saving || b.p.ckpt.bytes > 0 || b.p.flights.len() > 0 }); err != nil {
			b.t.Fatal(err)
		}
		if !busy {
			return
		}
		b.now.pass(checkpointWait)
		runtime.Gosched()
	}
}
