package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func readerName(i int) string { return fmt.Sprint("reader-", i) }

// end forgets a consumer that is deleted.
func (r *reader) end() { *r = reader{filters: r.filters, push: r.push} }

// setReader creates or changes a consumer.
func (w *worker) setReader(i int, text string) (err error) {
	r := w.state.readers[i]
	cfg := jetstream.ConsumerConfig{Durable: readerName(i), AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: -1,
		FilterSubjects: r.filters, Description: text}
	if r.push {
		cfg.DeliverSubject = w.pushSubject()
		_, err = w.js.CreateOrUpdatePushConsumer(w.ctx, w.cfg.Name, cfg)
	} else {
		_, err = w.js.CreateOrUpdateConsumer(w.ctx, w.cfg.Name, cfg)
	}
	return err
}

// readerInfo asks for a consumer's state.
func (w *worker) readerInfo(i int) (*jetstream.ConsumerInfo, error) {
	if w.state.readers[i].push {
		c, err := w.js.PushConsumer(w.ctx, w.cfg.Name, readerName(i))
		if err != nil {
			return nil, err
		}
		return c.CachedInfo(), nil
	}
	c, err := w.js.Consumer(w.ctx, w.cfg.Name, readerName(i))
	if err != nil {
		return nil, err
	}
	return c.CachedInfo(), nil
}

func (w *worker) createReader(i int) error {
	w.begin(func(e *expected) {
		for k := range e.msgs {
			if m := &e.msgs[k]; e.done(m, true) {
				e.loose[m.seq] = true
			}
		}
		r := e.readers[i]
		r.exists, r.acked, r.maybe = true, map[uint64]bool{}, map[uint64]bool{}
	})
	return w.confirmed(w.setReader(i, ""))
}

func (w *worker) updateReader(i int) error {
	text := fmt.Sprint("description ", w.n)
	w.begin(func(e *expected) { e.readers[i].text = text })
	return w.confirmed(w.setReader(i, text))
}

func (w *worker) deleteReader(i int) error {
	w.begin(func(e *expected) {
		maps.Copy(e.loose, e.readers[i].maybe)
		e.readers[i].end()
		if e.cfg.Retention == jetstream.InterestPolicy {
			e.settle()
		}
	})
	if err := w.confirmed(w.js.DeleteConsumer(w.ctx, w.cfg.Name, readerName(i))); err != nil {
		return err
	}
	w.forgetPushed(i)
	return nil
}

// forgetPushed drops what a push consumer has sent so far.
func (w *worker) forgetPushed(i int) {
	if w.state.readers[i].push {
		w.arrived()
		w.waiting = nil
	}
}

func (w *worker) pauseReader(i int) error {
	pause := !w.state.readers[i].paused
	w.begin(func(e *expected) { e.readers[i].paused = pause })
	until := time.Now().Add(time.Hour)
	if !pause {
		until = time.Time{}
	}
	_, err := w.js.PauseConsumer(w.ctx, w.cfg.Name, readerName(i), until)
	return w.confirmed(err)
}

func (w *worker) resetReader(i int) error {
	w.resetting = i
	to := w.state.last + 1 - min(w.state.last, uint64(w.random.IntN(30)))
	w.begin(func(e *expected) {
		r := e.readers[i]
		r.from, r.acked, r.maybe = to, map[uint64]bool{}, map[uint64]bool{}
	})
	_, err := w.js.ResetConsumerToSequence(w.ctx, w.cfg.Name, readerName(i), to)
	if err := w.confirmed(err); err != nil {
		return err
	}
	w.forgetPushed(i)
	return nil
}

// arrived takes over what a push consumer has sent.
func (w *worker) arrived() {
	for len(w.pushed) > 0 {
		w.waiting = append(w.waiting, <-w.pushed)
	}
}

// consume takes some messages and acknowledges them in one way or another.
func (w *worker) consume(i int) error {
	r := w.state.readers[i]
	list, err := w.fetch(i, 1+w.random.IntN(5))
	if err != nil {
		return err
	}
	for _, m := range list {
		seq, err := w.checkDelivery(i, m)
		if err != nil {
			return err
		}
		switch k := w.random.IntN(20); {
		case k < 10:
			err = w.acknowledge(i, seq, m, "+ACK")
		case k < 12:
			err = w.acknowledge(i, seq, m, "+TERM done with it")
		case k < 15:
			r.maybe[seq] = true
			err = m.Ack()
		case k < 17:
			err = m.Nak()
		case k < 18:
			err = m.NakWithDelay(time.Duration(w.random.IntN(500)) * time.Millisecond)
		case k < 19:
			err = m.InProgress()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// acknowledge has an acknowledgement confirmed.
func (w *worker) acknowledge(i int, seq uint64, m *nats.Msg, how string) error {
	w.state.readers[i].maybe[seq] = true
	w.begin(func(e *expected) {
		r := e.readers[i]
		r.acked[seq] = true
		delete(r.maybe, seq)
		e.settle()
	})
	_, err := w.nc.RequestWithContext(w.ctx, m.Reply, []byte(how))
	if err := w.confirmed(err); err != nil {
		return err
	}
	if w.state.readers[i].push { // what was sent before the confirmation
		w.arrived()
		w.waiting = slices.DeleteFunc(w.waiting, func(x *nats.Msg) bool {
			meta, err := x.Metadata()
			return err == nil && meta.Sequence.Stream == seq
		})
	}
	return nil
}

// checkDelivery returns the sequence of a delivered message, or what is wrong with its being delivered.
func (w *worker) checkDelivery(i int, m *nats.Msg) (uint64, error) {
	meta, err := m.Metadata()
	if err != nil {
		return 0, err
	}
	r, seq := w.state.readers[i], meta.Sequence.Stream
	if r.acked[seq] {
		return 0, fmt.Errorf("sequence %d is delivered to %s again although its ack was confirmed: %s", seq, readerName(i), m.Reply)
	}
	if r.paused && !r.push {
		return 0, fmt.Errorf("sequence %d is delivered to %s, which is paused", seq, readerName(i))
	}
	want, ok := w.state.history[seq]
	if !ok || want.subject != m.Subject || want.body != string(m.Data) {
		return 0, fmt.Errorf("sequence %d is delivered as %s %.40q, want %+v", seq, m.Subject, m.Data, want)
	}
	if !r.wants(&want) {
		return 0, fmt.Errorf("sequence %d is delivered to %s, which wants %v from %d on", seq, readerName(i), r.filters, r.from)
	}
	if _, ok := w.state.get(seq); !ok && !r.push {
		return 0, fmt.Errorf("sequence %d is delivered to %s, but is not stored any more", seq, readerName(i))
	}
	return seq, nil
}

// fetch returns up to n messages that a consumer has to give now.
func (w *worker) fetch(i, n int) (list []*nats.Msg, err error) {
	if w.state.readers[i].push {
		w.arrived()
		n = min(n, len(w.waiting))
		seen := map[uint64]bool{}
		for _, m := range w.waiting[:n] { // a slow client may have got a message twice by now
			if meta, err := m.Metadata(); err == nil && !seen[meta.Sequence.Stream] {
				seen[meta.Sequence.Stream] = true
				list = append(list, m)
			}
		}
		w.waiting = w.waiting[n:]
		return list, nil
	}
	inbox := nats.NewInbox()
	sub, err := w.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	subject := fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.%s.%s", w.cfg.Name, readerName(i))
	if err := w.nc.PublishRequest(subject, inbox, fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, n)); err != nil {
		return nil, err
	}
	for len(list) < n {
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); {
		case status == "404" || status == "408":
			return list, nil
		case status != "":
			return nil, fmt.Errorf("status %s %s", status, m.Header.Get("Description"))
		}
		list = append(list, m)
	}
	return list, nil
}

// readInOrder reads what is stored on a subject as ordered consumers do. The client's own one does not give up when the
// server is gone.
func (w *worker) readInOrder() error {
	c, err := w.js.CreateConsumer(w.ctx, w.cfg.Name, jetstream.ConsumerConfig{FilterSubject: w.subject(), AckPolicy: jetstream.AckNonePolicy,
		MaxDeliver: 1, MemoryStorage: true, InactiveThreshold: time.Second})
	if err != nil {
		return err
	}
	batch, err := c.FetchNoWait(20)
	if err != nil {
		return err
	}
	last := uint64(0)
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		want := w.state.history[meta.Sequence.Stream]
		if meta.Sequence.Stream <= last || want.body != string(m.Data()) || want.subject != m.Subject() {
			return fmt.Errorf("sequence %d after %d is %s %.40q, want %+v", meta.Sequence.Stream, last, m.Subject(), m.Data(), want)
		}
		last = meta.Sequence.Stream
	}
	return batch.Error()
}

// drain takes everything that a consumer still has to give: all that is not known to be acknowledged.
func (w *worker) drain(i int) error {
	r := w.state.readers[i]
	if !r.exists {
		return nil
	}
	if r.paused {
		if err := w.pauseReader(i); err != nil {
			return err
		}
	}
	for end := time.Now().Add(15 * time.Second); ; {
		list, err := w.fetch(i, 100)
		if err != nil {
			return err
		}
		for _, m := range list {
			seq, err := w.checkDelivery(i, m)
			if err != nil {
				return err
			}
			if err := w.acknowledge(i, seq, m, "+ACK"); err != nil {
				return err
			}
		}
		info, err := w.readerInfo(i)
		if err != nil {
			return err
		}
		w.arrived()
		if info.NumPending == 0 && info.NumAckPending == 0 && !(r.push && len(w.waiting) > 0) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not come to an end: %+v", readerName(i), info)
		}
		if len(list) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	var missing []string
	for k := range w.state.msgs {
		if m := &w.state.msgs[k]; r.wants(m) && !r.acked[m.seq] && !r.maybe[m.seq] && m.earliest.IsZero() {
			missing = append(missing, fmt.Sprint(m.seq))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s has not delivered %s", readerName(i), strings.Join(missing, ", "))
	}
	return nil
}
