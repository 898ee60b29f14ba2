package crash

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	subjects "godwit/protocol/subject"
	"godwit/tests/harness"
)

// kinds are the streams on which random operations are made, one worker each.
var kinds = []jetstream.StreamConfig{
	{Name: "LIMITS"},
	{Name: "SMALL", MaxMsgs: 40},
	{Name: "NEWEST", MaxMsgsPerSubject: 1, AllowRollup: true, Compression: jetstream.S2Compression},
	{Name: "QUEUE", Retention: jetstream.WorkQueuePolicy},
	{Name: "INTEREST", Retention: jetstream.InterestPolicy},
}

// expected is what a stream holds after some operations, as its one client knows.
type expected struct {
	last     uint64
	msgs     map[uint64]message
	ids      map[string]uint64
	acked    map[uint64]bool // by the consumer
	consumer bool
	text     string // description in the configuration
}

type message struct{ subject, body string }

func (e *expected) clone() *expected {
	c := *e
	c.msgs, c.ids, c.acked = maps.Clone(e.msgs), maps.Clone(e.ids), maps.Clone(e.acked)
	return &c
}

// worker makes one operation after the other on a stream.
type worker struct {
	cfg     jetstream.StreamConfig
	random  *rand.Rand
	state   *expected
	pending *expected // how the stream is if the operation under way is done; nil if none is
	n       int
	fault   error // that no kill explains
}

func newWorker(cfg jetstream.StreamConfig, seed uint64) *worker {
	cfg.Subjects = []string{strings.ToLower(cfg.Name) + ".>"}
	return &worker{cfg: cfg, random: rand.New(rand.NewPCG(seed, uint64(len(cfg.Name)))),
		state: &expected{msgs: map[uint64]message{}, ids: map[string]uint64{}, acked: map[uint64]bool{}}}
}

func (w *worker) subject() string {
	return fmt.Sprintf("%s.%d", strings.ToLower(w.cfg.Name), w.random.IntN(5))
}

// store is a publish in the model.
func (w *worker) store(e *expected, m message) {
	e.last++
	switch {
	case w.cfg.Retention == jetstream.InterestPolicy && !e.consumer:
		return
	case w.cfg.MaxMsgsPerSubject == 1:
		for seq, old := range e.msgs {
			if old.subject == m.subject {
				delete(e.msgs, seq)
			}
		}
	}
	e.msgs[e.last] = m
	for w.cfg.MaxMsgs > 0 && int64(len(e.msgs)) > w.cfg.MaxMsgs {
		delete(e.msgs, slices.Min(slices.Collect(maps.Keys(e.msgs))))
	}
}

// run works until the connection is gone.
func (w *worker) run(ctx context.Context, nc *nats.Conn) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(5*time.Second))
	if err != nil {
		return
	}
	st, err := js.Stream(ctx, w.cfg.Name)
	if err != nil {
		return
	}
	for !nc.IsClosed() && w.fault == nil {
		w.pending = w.state.clone()
		if err := w.operate(ctx, js, st, w.pending); err != nil {
			if nc.IsClosed() || ctx.Err() != nil {
				return // done or not
			}
			harnessPause()
			if !nc.IsClosed() {
				w.fault = err
			}
			return
		}
		w.state, w.pending = w.pending, nil
	}
}

// harnessPause gives the client the time to notice that the server is gone.
func harnessPause() { time.Sleep(200 * time.Millisecond) }

// operate makes one operation and changes the model as it should.
func (w *worker) operate(ctx context.Context, js jetstream.JetStream, st jetstream.Stream, e *expected) error {
	w.n++
	switch k := w.random.IntN(100); {
	case k < 50:
		return w.publish(ctx, js, e)
	case k < 60 && len(e.msgs) > 0:
		seqs := slices.Sorted(maps.Keys(e.msgs))
		seq := seqs[w.random.IntN(len(seqs))]
		delete(e.msgs, seq)
		if w.random.IntN(2) == 0 {
			return st.DeleteMsg(ctx, seq)
		}
		return st.SecureDeleteMsg(ctx, seq)
	case k < 65:
		return w.purge(ctx, st, e)
	case k < 70:
		e.text = fmt.Sprint("description ", w.n)
		cfg := w.cfg
		cfg.Description = e.text
		_, err := js.UpdateStream(ctx, cfg)
		return err
	case k < 73:
		if !e.consumer {
			return w.addConsumer(ctx, st, e)
		}
		e.consumer, e.acked = false, map[uint64]bool{}
		if w.cfg.Retention == jetstream.InterestPolicy {
			clear(e.msgs)
		}
		return st.DeleteConsumer(ctx, durable)
	case k < 78 && !e.consumer:
		return w.addConsumer(ctx, st, e)
	case e.consumer:
		return w.consume(ctx, st, e)
	}
	return nil
}

func (w *worker) addConsumer(ctx context.Context, st jetstream.Stream, e *expected) error {
	e.consumer = true
	_, err := st.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour, MaxAckPending: -1})
	return err
}

func (w *worker) publish(ctx context.Context, js jetstream.JetStream, e *expected) error {
	m := message{w.subject(), fmt.Sprint(w.cfg.Name, " ", w.n, " ", strings.Repeat("x", w.random.IntN(300)))}
	var opts []jetstream.PublishOpt
	if w.random.IntN(3) == 0 {
		id := fmt.Sprint("id ", w.n)
		if len(e.ids) > 0 && w.random.IntN(3) == 0 { // one that was there
			for known, seq := range e.ids {
				ack, err := js.Publish(ctx, m.subject, []byte(m.body), jetstream.WithMsgID(known))
				if err == nil && (!ack.Duplicate || ack.Sequence != seq) {
					return fmt.Errorf("id %q is of sequence %d, the answer was %+v", known, seq, ack)
				}
				return err
			}
		}
		e.ids[id] = e.last + 1
		opts = append(opts, jetstream.WithMsgID(id))
	}
	w.store(e, m)
	ack, err := js.Publish(ctx, m.subject, []byte(m.body), opts...)
	if err == nil && ack.Sequence != e.last {
		return fmt.Errorf("sequence %d, want %d", ack.Sequence, e.last)
	}
	return err
}

func (w *worker) purge(ctx context.Context, st jetstream.Stream, e *expected) error {
	filter := w.subject()
	match := func(m message) bool { return subjects.Match(filter, []byte(m.subject)) }
	seqs := slices.Sorted(maps.Keys(e.msgs))
	switch w.random.IntN(3) {
	case 0:
		keep := w.random.IntN(4) + 1
		seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return !match(e.msgs[seq]) })
		for _, seq := range seqs[:max(0, len(seqs)-keep)] {
			delete(e.msgs, seq)
		}
		return st.Purge(ctx, jetstream.WithPurgeSubject(filter), jetstream.WithPurgeKeep(uint64(keep)))
	case 1:
		to := e.last - min(e.last, uint64(w.random.IntN(20)))
		if to < 2 {
			return nil
		}
		for _, seq := range seqs {
			if seq < to {
				delete(e.msgs, seq)
			}
		}
		return st.Purge(ctx, jetstream.WithPurgeSequence(to))
	}
	for _, seq := range seqs {
		if match(e.msgs[seq]) {
			delete(e.msgs, seq)
		}
	}
	return st.Purge(ctx, jetstream.WithPurgeSubject(filter))
}

// consume takes a message and has its acknowledgement confirmed.
func (w *worker) consume(ctx context.Context, st jetstream.Stream, e *expected) error {
	c, err := st.Consumer(ctx, durable)
	if err != nil {
		return err
	}
	batch, err := c.FetchNoWait(1)
	if err != nil {
		return err
	}
	m, ok := <-batch.Messages()
	if !ok {
		return batch.Error()
	}
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	seq := meta.Sequence.Stream
	if e.acked[seq] {
		return fmt.Errorf("sequence %d is delivered again although its ack was confirmed", seq)
	}
	if want, ok := e.msgs[seq]; !ok || want.subject != m.Subject() || want.body != string(m.Data()) {
		return fmt.Errorf("sequence %d is delivered as %s %.40q, want %+v", seq, m.Subject(), m.Data(), want)
	}
	e.acked[seq] = true
	if w.cfg.Retention != jetstream.LimitsPolicy {
		delete(e.msgs, seq)
	}
	return m.DoubleAck(ctx)
}

// verify holds the restarted stream to the model: with the operation that the kill has cut off, or without it.
func (w *worker) verify(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	if w.fault != nil {
		t.Fatalf("%s: %v", w.cfg.Name, w.fault)
	}
	ctx := t.Context()
	st, err := js.Stream(ctx, w.cfg.Name)
	if err != nil {
		t.Fatalf("%s: %v", w.cfg.Name, err)
	}
	found := &expected{msgs: map[uint64]message{}, text: st.CachedInfo().Config.Description, last: st.CachedInfo().State.LastSeq}
	_, err = st.Consumer(ctx, durable)
	found.consumer = err == nil
	seqs := []uint64{}
	for seq := max(1, st.CachedInfo().State.FirstSeq); seq <= found.last; seq++ {
		seqs = append(seqs, seq)
	}
	for _, seq := range seqs {
		m, err := st.GetMsg(ctx, seq)
		if err == jetstream.ErrMsgNotFound {
			continue
		}
		if err != nil {
			t.Fatalf("%s: sequence %d: %v", w.cfg.Name, seq, err)
		}
		found.msgs[seq] = message{m.Subject, string(m.Data)}
	}
	if uint64(len(found.msgs)) != st.CachedInfo().State.Msgs {
		t.Errorf("%s: %d messages, but %+v", w.cfg.Name, len(found.msgs), st.CachedInfo().State)
	}
	var why string
	for _, e := range []*expected{w.state, w.pending} {
		if e == nil {
			continue
		}
		if why = e.differs(found); why == "" {
			w.state, w.pending = e, nil
			// What was delivered and not confirmed is with nobody now.
			if e.consumer {
				if err := st.DeleteConsumer(ctx, durable); err != nil {
					t.Fatal(err)
				}
				w.checkRest(t, st, e)
			}
			return
		}
	}
	t.Fatalf("%s after operation %d (under way: %v): %s", w.cfg.Name, w.n, w.pending != nil, why)
}

// checkRest makes the consumer anew, in the model as well: a kill may have left deliveries that wait for an hour.
func (w *worker) checkRest(t *testing.T, st jetstream.Stream, e *expected) {
	t.Helper()
	if w.cfg.Retention == jetstream.InterestPolicy {
		clear(e.msgs)
	}
	e.acked = map[uint64]bool{}
	if err := w.addConsumer(t.Context(), st, e); err != nil {
		t.Fatal(err)
	}
}

// differs says what differs in what is stored, nothing if it is the same.
func (e *expected) differs(found *expected) string {
	switch {
	case e.last != found.last:
		return fmt.Sprintf("the last sequence is %d, want %d", found.last, e.last)
	case e.text != found.text:
		return fmt.Sprintf("the description is %q, want %q", found.text, e.text)
	case e.consumer != found.consumer:
		return fmt.Sprintf("there is a consumer: %v, want %v", found.consumer, e.consumer)
	}
	for seq, m := range e.msgs {
		if found.msgs[seq] != m {
			return fmt.Sprintf("sequence %d holds %.60v, want %.60v", seq, found.msgs[seq], m)
		}
	}
	for seq := range found.msgs {
		if _, ok := e.msgs[seq]; !ok {
			return fmt.Sprintf("sequence %d is there again", seq)
		}
	}
	return ""
}

// Random operations on all kinds of streams, each by a client that knows what was confirmed, with a kill after a random
// time: what was confirmed holds, and what was under way is done or not.
func TestOperationsSurviveKill(t *testing.T) {
	random := seeded(t, 1)
	rounds := harness.Count(t, "GODWIT_CRASH_ROUNDS", 4)
	for done := 0; done < rounds; done += roundsPerServer {
		t.Run(fmt.Sprintf("server %d", done/roundsPerServer+1), func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true, StreamConfig: "sync_interval: always"})
			js := streams(t, s)
			var workers []*worker
			for _, cfg := range kinds {
				w := newWorker(cfg, random.Uint64())
				if _, err := js.CreateStream(t.Context(), w.cfg); err != nil {
					t.Fatalf("%s: %v", cfg.Name, err)
				}
				workers = append(workers, w)
			}
			for round := done; round < min(done+roundsPerServer, rounds); round++ {
				ctx, cancel := context.WithCancel(t.Context())
				var work sync.WaitGroup
				var conns []*nats.Conn
				for _, w := range workers {
					nc := s.Connect(t, nats.NoReconnect(), nats.ErrorHandler(ignore))
					conns = append(conns, nc)
					work.Go(func() { w.run(ctx, nc) })
				}
				time.Sleep(time.Duration(5+random.IntN(250)) * time.Millisecond) // a kill at any moment is what this is about
				s.Kill()
				for _, nc := range conns {
					nc.Close()
				}
				cancel()
				work.Wait()
				for random.IntN(4) == 0 { // crashes while recovering
					s.StartAndKill(time.Duration(random.IntN(30)) * time.Millisecond)
				}
				s.Start()
				js = streams(t, s)
				for _, w := range workers {
					w.verify(t, js)
				}
			}
		})
	}
}
