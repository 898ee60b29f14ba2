package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

const (
	streamName = "CRASH"
	durable    = "worker"
	publishers = 4

	// A server lives for this many rounds; then the next one begins with an empty directory, so
	// that the time of a round does not grow.
	roundsPerServer = 20

	// ackWait is short, so that what was delivered and not acknowledged comes back soon.
	ackWait = 500 * time.Millisecond
)

// history is what the server has promised over its rounds.
type history struct {
	next      [publishers]int // number of each publisher's next message
	lastSeq   uint64          // of the stream after the last round
	confirmed map[uint64]bool // stream sequences whose consumer acks were confirmed
	tried     map[uint64]bool // those whose acks were sent: without confirmation they count or not
}

func TestAcknowledgedDataSurvivesKill(t *testing.T) {
	random := seeded(t, 0)
	rounds := harness.Count(t, "GODWIT_CRASH_ROUNDS", 4)
	for done := 0; done < rounds; done += roundsPerServer {
		t.Run(fmt.Sprintf("server %d", done/roundsPerServer+1), func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true, StreamConfig: "sync_interval: always"})
			create(t, s)
			h := &history{confirmed: map[uint64]bool{}, tried: map[uint64]bool{}}
			for round := done; round < min(done+roundsPerServer, rounds); round++ {
				acked := publishUntilKilled(t, s, h, random)
				for random.IntN(4) == 0 { // crashes while recovering
					s.StartAndKill(time.Duration(random.IntN(30)) * time.Millisecond)
				}
				s.Start()
				verify(t, s, h, acked, random)
				if t.Failed() {
					t.Fatalf("round %d", round+1)
				}
			}
		})
	}
}

func create(t *testing.T, s *harness.Server) {
	t.Helper()
	js := streams(t, s)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: streamName, Subjects: []string{"crash.>"}, Storage: jetstream.FileStorage})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: 10000})
	if err != nil {
		t.Fatal(err)
	}
}

func streams(t *testing.T, s *harness.Server) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(s.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// publishUntilKilled lets all publishers and one consumer work, kills the server once a random
// number of messages is acknowledged, and returns what was: sequence → message.
func publishUntilKilled(t *testing.T, s *harness.Server, h *history, random *rand.Rand) map[uint64][2]int {
	t.Helper()
	var total atomic.Int64
	dead := make(chan struct{})
	var work sync.WaitGroup
	var all []*publisher
	for id := range publishers {
		p, err := newPublisher(s, id, h.next[id], &total)
		if err != nil {
			t.Fatalf("publisher: %v\n%s", err, s.Log())
		}
		all = append(all, p)
		work.Go(func() { p.run(dead) })
	}
	consumerConn := s.Connect(t, nats.ErrorHandler(ignore))
	work.Go(func() { consume(t.Context(), consumerConn, h) })

	target := int64(20 + random.IntN(3000))
	for end := time.Now().Add(harness.Patience); total.Load() < target; time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			t.Errorf("%d of %d messages acknowledged", total.Load(), target)
			break
		}
	}
	s.Kill()
	close(dead)
	for _, p := range all {
		harness.Eventually(t, func() error { // acknowledgements that were on their way count
			if !p.nc.IsClosed() {
				return errors.New("the client does not notice that the server is gone")
			}
			return nil
		})
	}
	consumerConn.Close()
	work.Wait()

	acked := map[uint64][2]int{}
	for _, p := range all {
		p.mu.Lock()
		if p.odd != nil {
			t.Error(p.odd)
		}
		for seq, number := range p.acked {
			if other, taken := acked[seq]; taken {
				t.Errorf("sequence %d was given to message %d of publisher %d and to %v", seq, number, p.id, other)
			}
			acked[seq] = [2]int{p.id, number}
		}
		p.mu.Unlock()
	}
	return acked
}

// ignore takes the client's errors about the connection that is killed.
func ignore(*nats.Conn, *nats.Subscription, error) {}

// consume fetches and acknowledges until the connection is gone, and notes which acks the server
// has confirmed. Only this goroutine touches these sets meanwhile.
func consume(ctx context.Context, nc *nats.Conn, h *history) {
	js, err := jetstream.New(nc)
	if err != nil {
		return
	}
	consumer, err := js.Consumer(ctx, streamName, durable)
	if err != nil {
		return
	}
	for !nc.IsClosed() {
		batch, err := consumer.Fetch(20, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			return
		}
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				continue
			}
			h.tried[meta.Sequence.Stream] = true
			if m.DoubleAck(ctx) == nil {
				h.confirmed[meta.Sequence.Stream] = true
			}
		}
	}
}

// verify compares the restarted server with the history and extends it.
func verify(t *testing.T, s *harness.Server, h *history, acked map[uint64][2]int, random *rand.Rand) {
	t.Helper()
	js := streams(t, s)
	stream, err := js.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatalf("the stream is gone: %v\n%s", err, s.Log())
	}
	state := stream.CachedInfo().State
	if state.FirstSeq != 1 || state.Msgs != state.LastSeq || state.LastSeq < h.lastSeq {
		t.Errorf("the stream has %d messages, %d to %d; it had %d before", state.Msgs, state.FirstSeq, state.LastSeq, h.lastSeq)
	}
	for seq, message := range acked {
		if seq > state.LastSeq {
			t.Errorf("message %d of publisher %d was acknowledged with sequence %d; the stream ends at %d", message[1], message[0], seq, state.LastSeq)
			return
		}
	}
	for seq := range h.confirmed {
		if seq > state.LastSeq {
			t.Errorf("sequence %d was delivered; the stream ends at %d", seq, state.LastSeq)
			return
		}
	}

	// All that is new, and a sample of what was there before.
	var seqs []uint64
	for range min(100, h.lastSeq) {
		seqs = append(seqs, 1+random.Uint64N(h.lastSeq))
	}
	sample := len(seqs)
	for seq := h.lastSeq + 1; seq <= state.LastSeq; seq++ {
		seqs = append(seqs, seq)
	}
	for i, m := range read(t, stream, seqs) {
		if t.Failed() {
			return
		}
		id, number, err := parseBody(m.Data)
		if err != nil || id < 0 || id >= publishers || !bytes.Equal(m.Data, body(id, number)) || m.Subject != subject(id, number) || m.Sequence != seqs[i] {
			t.Errorf("sequence %d holds %s with %.60q (%v)", seqs[i], m.Subject, m.Data, err)
			return
		}
		if i < sample {
			continue
		}
		// Each publisher's messages are there in order, each once, with none missing in between.
		if number != h.next[id] {
			t.Errorf("sequence %d holds message %d of publisher %d, want %d", seqs[i], number, id, h.next[id])
			return
		}
		h.next[id]++
		if message, ok := acked[m.Sequence]; ok && message != [2]int{id, number} {
			t.Errorf("sequence %d holds message %d of publisher %d, but was given to %v", m.Sequence, number, id, message)
		}
	}
	h.lastSeq = state.LastSeq
	verifyConsumer(t, js, h)
}

// read gets messages by sequence, several at a time.
func read(t *testing.T, stream jetstream.Stream, seqs []uint64) []*jetstream.RawStreamMsg {
	t.Helper()
	const readers = 8
	out := make([]*jetstream.RawStreamMsg, len(seqs))
	var work sync.WaitGroup
	for r := range readers {
		work.Go(func() {
			for i := r; i < len(seqs); i += readers {
				m, err := stream.GetMsg(t.Context(), seqs[i])
				if err != nil {
					t.Errorf("sequence %d: %v", seqs[i], err)
					return
				}
				out[i] = m
			}
		})
	}
	work.Wait()
	return out
}

// verifyConsumer takes everything that the consumer still has to give: nothing of it may have been
// confirmed before, and nothing may be missing.
func verifyConsumer(t *testing.T, js jetstream.JetStream, h *history) {
	t.Helper()
	if t.Failed() {
		return
	}
	consumer, err := js.Consumer(t.Context(), streamName, durable)
	if err != nil {
		t.Fatalf("the consumer is gone: %v", err)
	}
	missing := map[uint64]bool{}
	for seq := uint64(1); seq <= h.lastSeq; seq++ {
		if !h.tried[seq] {
			missing[seq] = true
		}
	}
	for end := time.Now().Add(harness.Patience); ; {
		info, err := consumer.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(missing) == 0 && info.NumPending == 0 && info.NumAckPending == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d messages are not delivered; the consumer's state is %+v", len(missing), info)
		}
		batch, err := consumer.Fetch(500, jetstream.FetchMaxWait(ackWait))
		if err != nil {
			t.Fatal(err)
		}
		var acks sync.WaitGroup // at once, so that they share a sync
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			seq := meta.Sequence.Stream
			// nats-server writes the state of consumers a little later and forgets confirmed acks
			// in a crash; Godwit does not.
			if h.confirmed[seq] && !harness.OnPeer() {
				t.Fatalf("sequence %d is delivered again although its ack was confirmed", seq)
			}
			delete(missing, seq)
			acks.Go(func() {
				if err := m.DoubleAck(t.Context()); err != nil {
					t.Errorf("ack of sequence %d: %v", seq, err)
				}
			})
		}
		acks.Wait()
	}
	for seq := uint64(1); seq <= h.lastSeq; seq++ {
		h.confirmed[seq], h.tried[seq] = true, true
	}
	if info, err := consumer.Info(t.Context()); err != nil {
		t.Error(err)
	} else if info.AckFloor.Stream != h.lastSeq && !harness.OnPeer() {
		t.Errorf("all is acknowledged, but the ack floor is %d of %d", info.AckFloor.Stream, h.lastSeq)
	}
}
