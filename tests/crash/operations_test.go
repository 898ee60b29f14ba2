package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// streamSettings make files and the time between checkpoints small.
const streamSettings = "sync_interval: always, segment_size: 16K"

// Random operations on all kinds of streams, each by a client that knows what was confirmed, with a kill after a random
// time: what was confirmed holds, and what was under way is done or not.
func TestOperationsSurviveKill(t *testing.T) {
	random := seeded(t, 1)
	rounds := harness.Count(t, "GODWIT_CRASH_ROUNDS", 10)
	for done := 0; done < rounds; done += roundsPerServer {
		t.Run(fmt.Sprintf("server %d", done/roundsPerServer+1), func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true, StreamConfig: streamSettings})
			js := streams(t, s)
			var workers []*worker
			for _, cfg := range kinds {
				w := newWorker(cfg, random.Uint64())
				if _, err := js.CreateStream(t.Context(), w.cfg); err != nil {
					t.Fatalf("%s: %v", cfg.Name, err)
				}
				workers = append(workers, w)
			}
			copies := newCopies(t, js, workers)
			for round := done; round < min(done+roundsPerServer, rounds); round++ {
				workUntilKilled(t, s, workers, random)
				s.Start()
				last := round == min(done+roundsPerServer, rounds)-1
				verifyAll(t, s, workers, last || random.IntN(5) == 0)
				if last || random.IntN(5) == 0 {
					copies.verify(t, s)
				}
				if t.Failed() {
					t.Fatalf("round %d", round+1)
				}
			}
		})
	}
}

// workUntilKilled lets all workers work, and kills the server in the midst of it.
func workUntilKilled(t *testing.T, s *harness.Server, workers []*worker, random *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	var conns []*nats.Conn
	for _, w := range workers {
		nc := s.Connect(t, nats.ErrorHandler(ignore))
		conns = append(conns, nc)
		if err := w.connect(ctx, nc); err != nil {
			t.Fatal(err)
		}
		work.Go(w.run)
	}
	time.Sleep(time.Duration(5+random.IntN(300)) * time.Millisecond) // a kill at any moment is what this is about
	if random.IntN(6) == 0 {
		s.StopAndKill(time.Duration(random.IntN(10_000)) * time.Microsecond)
	} else {
		s.Kill()
	}
	for _, nc := range conns {
		nc.Close()
	}
	cancel()
	work.Wait()
	for random.IntN(4) == 0 { // crashes while recovering
		s.StartAndKill(time.Duration(random.IntN(60)) * time.Millisecond)
	}
}

// verifyAll holds all streams to their models.
func verifyAll(t *testing.T, s *harness.Server, workers []*worker, drain bool) {
	t.Helper()
	var work sync.WaitGroup
	for _, w := range workers {
		nc := s.Connect(t, nats.ErrorHandler(ignore))
		work.Go(func() {
			defer nc.Close()
			if err := w.connect(t.Context(), nc); err != nil {
				t.Error(err)
			} else if err := w.verify(drain); err != nil {
				t.Errorf("%s, operation %d (%s; %d steps unconfirmed): %v\nbefore:\n%s", w.cfg.Name, w.n, w.op, len(w.pending), err, strings.Join(w.done, "\n"))
			}
		})
	}
	work.Wait()
}

// verify holds the stream to the model: with the first steps of what the kill has cut off, or without any.
func (w *worker) verify(drain bool) error {
	if w.fault != nil {
		return w.fault
	}
	w.note("killed in %s with %d steps unconfirmed", w.op, len(w.pending))
	cut := ""
	if len(w.pending) > 0 {
		cut = w.op
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		f, err := w.look()
		if err != nil {
			return err
		}
		err = w.match(f)
		if err == nil {
			break
		}
		// What nobody needs any more after a consumer has gone may take a moment to go.
		if w.cfg.Retention != jetstream.InterestPolicy || time.Now().After(end) {
			return err
		}
	}
	if cut == "reset consumer" && w.state.readers[w.resetting].exists {
		// Counts may be the same before and after: who has got what is open.
		if err := w.deleteReader(w.resetting); err != nil {
			return err
		}
	}
	if drain && w.state.exists {
		w.op = "drain"
		for i := range w.state.readers {
			if err := w.drain(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// match finds out how many of the unconfirmed steps are done.
func (w *worker) match(f *found) error {
	e := w.state.clone()
	var whys []error
	for k := 0; ; k++ {
		why := e.differs(f)
		if why == "" {
			e.settleOn(f)
			w.state, w.pending = e, nil
			return nil
		}
		if len(whys) == 0 || e.last == f.last { // the others are of no interest
			whys = append(whys, fmt.Errorf("after %d of them: %s", k, why))
		}
		if k == len(w.pending) {
			return errors.Join(whys...)
		}
		w.pending[k](e)
	}
}

// look finds out what the stream is.
func (w *worker) look() (*found, error) {
	f := &found{}
	st, err := w.stream()
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return f, nil
	} else if err != nil {
		return nil, err
	}
	info := st.CachedInfo()
	f.exists, f.text, f.limit, f.last = true, info.Config.Description, info.Config.MaxMsgs, info.State.LastSeq
	if w.cfg.Retention == jetstream.LimitsPolicy {
		err = w.readAll(f, info)
	} else {
		err = w.getAll(st, f, info)
	}
	if err != nil {
		return nil, err
	}
	f.at = time.Now()
	f.readers = make([]foundReader, len(w.state.readers))
	for i := range f.readers {
		state, err := w.readerInfo(i)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		f.readers[i] = foundReader{exists: true, paused: state.Paused, text: state.Config.Description, waiting: int(state.NumPending) + state.NumAckPending}
	}
	return f, nil
}

// readAll reads the stream by a new consumer, whose counts have to agree with the stream's.
func (w *worker) readAll(f *found, info *jetstream.StreamInfo) error {
	c, err := w.js.CreateConsumer(w.ctx, w.cfg.Name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: 10 * time.Second})
	if err != nil {
		return err
	}
	n := c.CachedInfo().NumPending
	if n > info.State.Msgs || n < info.State.Msgs && !w.cfg.AllowMsgTTL {
		return fmt.Errorf("a new consumer has %d messages pending, the stream's state is %+v", n, info.State)
	}
	if n > 0 {
		batch, err := c.FetchNoWait(int(n))
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			f.msgs = append(f.msgs, stored{seq: meta.Sequence.Stream, subject: m.Subject(), body: string(m.Data())})
		}
		if err := batch.Error(); err != nil {
			return err
		}
		if len(f.msgs) != int(n) && !w.cfg.AllowMsgTTL {
			return fmt.Errorf("a new consumer has %d messages pending, and delivers %d", n, len(f.msgs))
		}
	}
	return w.js.DeleteConsumer(w.ctx, w.cfg.Name, c.CachedInfo().Name)
}

// getAll gets every message by its sequence, in a stream where another consumer would change what is kept.
func (w *worker) getAll(st jetstream.Stream, f *found, info *jetstream.StreamInfo) error {
	for seq := max(1, info.State.FirstSeq); seq <= f.last; seq++ {
		m, err := st.GetMsg(w.ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("sequence %d: %w", seq, err)
		}
		f.msgs = append(f.msgs, stored{seq: seq, subject: m.Subject, body: string(m.Data)})
	}
	return nil
}
