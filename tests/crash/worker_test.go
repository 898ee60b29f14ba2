package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// kinds are the streams on which random operations are made, one worker each.
var kinds = []jetstream.StreamConfig{
	{Name: "LIMITS", AllowMsgTTL: true, AllowRollup: true, AllowAtomicPublish: true},
	{Name: "SMALL", MaxMsgs: 40, AllowAtomicPublish: true},
	{Name: "FULL", MaxMsgs: 30, Discard: jetstream.DiscardNew},
	{Name: "FEW", MaxMsgsPerSubject: 3, AllowRollup: true},
	{Name: "NEWEST", MaxMsgsPerSubject: 1, AllowRollup: true, AllowAtomicPublish: true, Compression: jetstream.S2Compression},
	{Name: "QUEUE", Retention: jetstream.WorkQueuePolicy},
	{Name: "INTEREST", Retention: jetstream.InterestPolicy, AllowAtomicPublish: true},
	{Name: "KV_BUCKET", MaxMsgsPerSubject: 5, AllowRollup: true, AllowDirect: true},
}

const subjectsPerStream = 5

// step is what an operation does to the model, once it is done.
type step func(*expected)

// worker makes one operation after the other on a stream.
type worker struct {
	cfg     jetstream.StreamConfig
	random  *rand.Rand
	state   *expected
	pending []step // asked of the server and not confirmed: a kill may leave any number of them, from the first on, done
	n       int
	op      string // the operation under way
	fault   error  // that no kill explains

	resetting int      // the consumer of the last reset
	done      []string // the last operations, for reports

	// Of the connection.
	ctx     context.Context
	nc      *nats.Conn
	js      jetstream.JetStream
	inbox   *nats.Subscription
	pushed  chan *nats.Msg
	waiting []*nats.Msg // received from the push consumer and not handled
}

func newWorker(cfg jetstream.StreamConfig, seed uint64) *worker {
	cfg.Subjects = []string{prefixOf(&cfg) + ".>"}
	w := &worker{cfg: cfg, random: rand.New(rand.NewPCG(seed, uint64(len(cfg.Name))))}
	w.state = &expected{cfg: &w.cfg, exists: true, limit: maxMsgs(&cfg), ids: map[string]uint64{}, history: map[uint64]stored{}, loose: map[uint64]bool{}}
	subj := func(i int) string { return fmt.Sprintf("%s.%d", prefixOf(&cfg), i) }
	all, one := &reader{}, &reader{filters: []string{subj(1)}}
	switch {
	case cfg.Retention == jetstream.WorkQueuePolicy:
		all.filters, one.filters = []string{subj(0), subj(2)}, []string{subj(1), subj(3)}
	case cfg.Name == "LIMITS":
		one.push = true
	}
	w.state.readers = []*reader{all, one}
	return w
}

// maxMsgs is the limit as the server shows it.
func maxMsgs(cfg *jetstream.StreamConfig) int64 {
	if cfg.MaxMsgs == 0 {
		return -1
	}
	return cfg.MaxMsgs
}

func (w *worker) subject() string {
	return fmt.Sprintf("%s.%d", prefixOf(&w.cfg), w.random.IntN(subjectsPerStream))
}

// config is the stream's configuration with a description and a limit.
func (w *worker) config(text string, limit int64) jetstream.StreamConfig {
	cfg := w.cfg
	cfg.Description, cfg.MaxMsgs = text, limit
	return cfg
}

// begin notes what is about to be asked of the server.
func (w *worker) begin(steps ...step) { w.pending = append(w.pending, steps...) }

// note keeps what was done for a report.
func (w *worker) note(format string, args ...any) {
	if len(w.done) > 60 {
		w.done = w.done[1:]
	}
	w.done = append(w.done, fmt.Sprintf("%d ", w.n)+fmt.Sprintf(format, args...)+fmt.Sprintf(" (last %d, %d messages)", w.state.last, len(w.state.msgs)))
}

// confirm notes that the first of what was asked is done.
func (w *worker) confirm() {
	w.pending[0](w.state)
	w.pending = w.pending[1:]
}

// refused notes that the first of what was asked is not done.
func (w *worker) refused() { w.pending = w.pending[1:] }

// confirmed ends an operation of one step.
func (w *worker) confirmed(err error) error {
	if err == nil {
		w.confirm()
	}
	return err
}

// connect takes a connection; it sees nothing of those before.
func (w *worker) connect(ctx context.Context, nc *nats.Conn) (err error) {
	w.ctx, w.nc = ctx, nc
	w.pushed, w.waiting = make(chan *nats.Msg, 64<<10), nil
	if w.js, err = jetstream.New(nc, jetstream.WithDefaultTimeout(5*time.Second)); err != nil {
		return err
	}
	if w.inbox, err = nc.SubscribeSync("_ANSWER." + w.cfg.Name + ".*"); err != nil {
		return err
	}
	_, err = nc.ChanSubscribe(w.pushSubject(), w.pushed)
	return err
}

func (w *worker) pushSubject() string { return "_PUSHED." + w.cfg.Name }

// run works until the connection is gone. The model stays as it was when that happened.
func (w *worker) run() {
	for !w.nc.IsClosed() && w.fault == nil {
		if err := w.operate(); err != nil {
			if w.nc.IsClosed() || w.ctx.Err() != nil {
				return // done or not
			}
			time.Sleep(200 * time.Millisecond) // the client may have to notice that the server is gone
			if !w.nc.IsClosed() && w.ctx.Err() == nil {
				w.fault = fmt.Errorf("%s: operation %d, %s: %w", w.cfg.Name, w.n, w.op, err)
			}
			return
		}
		if len(w.pending) > 0 {
			w.fault = fmt.Errorf("%s: operation %d, %s: ended with something unconfirmed", w.cfg.Name, w.n, w.op)
		}
	}
}

// operate makes one operation.
func (w *worker) operate() error {
	w.n++
	do := func(op string, f func() error) error {
		w.op = op
		w.note("%s", op)
		return f()
	}
	if !w.state.exists {
		return do("create stream", w.createStream)
	}
	switch k := w.random.IntN(100); {
	case k < 24:
		return do("publish", w.publish)
	case k < 34:
		return do("publish many", w.publishMany)
	case k < 38 && w.cfg.AllowAtomicPublish:
		return do("publish atomically", w.publishAtomically)
	case k < 46:
		return do("delete message", w.deleteMessage)
	case k < 51:
		return do("purge", w.purge)
	case k < 55:
		return do("update stream", w.updateStream)
	case k < 56 && w.cfg.Name == "SMALL":
		return do("delete stream", w.deleteStream)
	}
	i := w.random.IntN(len(w.state.readers))
	if !w.state.readers[i].exists {
		if w.random.IntN(3) > 0 {
			return nil
		}
		return do("create consumer", func() error { return w.createReader(i) })
	}
	switch k := w.random.IntN(100); {
	case k < 2:
		return do("delete consumer", func() error { return w.deleteReader(i) })
	case k < 7:
		return do("update consumer", func() error { return w.updateReader(i) })
	case k < 14 || w.state.readers[i].paused && k < 50:
		return do("pause or resume consumer", func() error { return w.pauseReader(i) })
	case k < 18 && w.cfg.Retention == jetstream.LimitsPolicy:
		return do("reset consumer", func() error { return w.resetReader(i) })
	case k < 21 && w.cfg.Retention == jetstream.LimitsPolicy:
		return do("read in order", w.readInOrder)
	}
	return do("consume", func() error { return w.consume(i) })
}

func (w *worker) createStream() error {
	w.begin(func(e *expected) { e.exists = true })
	_, err := w.js.CreateStream(w.ctx, w.config(w.state.text, w.state.limit))
	return w.confirmed(err)
}

func (w *worker) deleteStream() error {
	w.begin(func(e *expected) {
		e.exists, e.msgs, e.last, e.text, e.limit = false, nil, 0, "", maxMsgs(e.cfg)
		e.ids, e.history = map[string]uint64{}, map[uint64]stored{}
		for _, r := range e.readers {
			r.end()
		}
	})
	return w.confirmed(w.js.DeleteStream(w.ctx, w.cfg.Name))
}

func (w *worker) updateStream() error {
	text, limit := fmt.Sprint("description ", w.n), w.state.limit
	if w.cfg.Name == "SMALL" {
		limit = int64(20 + w.random.IntN(30))
	}
	w.note("limit %d", limit)
	w.begin(func(e *expected) {
		e.text, e.limit = text, limit
		e.trim()
	})
	_, err := w.js.UpdateStream(w.ctx, w.config(text, limit))
	return w.confirmed(err)
}
