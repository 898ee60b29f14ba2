package crash

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refusedFull is the error code of a publish into a full stream.
const refusedFull = 10077

// answer is what the server says to a publish.
type answer struct {
	Sequence  uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate"`
	Batch     int    `json:"count"`
	Error     *struct {
		Code int    `json:"err_code"`
		Text string `json:"description"`
	} `json:"error"`
}

func (w *worker) send(m *nats.Msg) error {
	m.Reply = "_ANSWER." + w.cfg.Name + ".x"
	return w.nc.PublishMsg(m)
}

func (w *worker) answer() (a answer, err error) {
	m, err := w.inbox.NextMsg(5 * time.Second)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(m.Data, &a)
}

// message makes a new message of a random size.
func (w *worker) message(k int) (*nats.Msg, stored) {
	m := stored{subject: w.subject(), body: fmt.Sprintf("%s %d.%d %s", w.cfg.Name, w.n, k, strings.Repeat("x", w.random.IntN(300)))}
	return &nats.Msg{Subject: m.subject, Data: []byte(m.body), Header: nats.Header{}}, m
}

// storing is the step of a message being stored, unless the stream is full.
func storing(m stored) step {
	return func(e *expected) {
		if !e.full() {
			e.store(m)
		}
	}
}

// take holds the answer to a publish against the model.
func (w *worker) take() error {
	a, err := w.answer()
	if err != nil {
		return err
	}
	if w.state.full() {
		if a.Error == nil || a.Error.Code != refusedFull {
			return fmt.Errorf("the stream is full, the answer is %+v", a)
		}
		w.refused()
		return nil
	}
	if a.Error != nil || a.Duplicate || a.Sequence != w.state.last+1 {
		return fmt.Errorf("the answer is %+v (%+v), want sequence %d", a, a.Error, w.state.last+1)
	}
	w.confirm()
	return nil
}

func (w *worker) publish() error {
	msg, m := w.message(0)
	doing := storing(m)
	switch k := w.random.IntN(10); {
	case k < 2 && !w.state.full():
		id := fmt.Sprint("id ", w.n)
		msg.Header.Set(nats.MsgIdHdr, id)
		doing = func(e *expected) {
			e.ids[id] = e.last + 1
			e.store(m)
		}
	case k < 3 && len(w.state.ids) > 0:
		return w.publishAgain(msg)
	case k < 4 && !w.state.full():
		msg.Header.Set("Nats-Expected-Last-Sequence", fmt.Sprint(w.state.last))
	case k < 5 && w.cfg.AllowRollup:
		msg.Header.Set("Nats-Rollup", "sub")
		doing = func(e *expected) {
			e.remove(func(old *stored) bool { return old.subject == m.subject })
			e.store(m)
		}
	case k < 6 && w.cfg.AllowMsgTTL:
		ttl := time.Duration(1+w.random.IntN(3)) * time.Second
		msg.Header.Set("Nats-TTL", ttl.String())
		m.earliest = time.Now().Add(ttl)
		m.latest = m.earliest.Add(8 * time.Second)
		doing = storing(m)
	}
	w.begin(doing)
	if err := w.send(msg); err != nil {
		return err
	}
	return w.take()
}

// publishAgain publishes with an id that was there.
func (w *worker) publishAgain(msg *nats.Msg) error {
	var id string
	for known := range w.state.ids {
		if id == "" || known < id { // the same in every run
			id = known
		}
	}
	msg.Header.Set(nats.MsgIdHdr, id)
	if err := w.send(msg); err != nil {
		return err
	}
	a, err := w.answer()
	if err == nil && (a.Error != nil || !a.Duplicate || a.Sequence != w.state.ids[id]) {
		err = fmt.Errorf("id %q is of sequence %d, the answer is %+v", id, w.state.ids[id], a)
	}
	return err
}

// publishMany publishes several messages before it looks at the first answer.
func (w *worker) publishMany() error {
	n := 5 + w.random.IntN(40)
	for k := range n {
		msg, m := w.message(k)
		w.begin(storing(m))
		if err := w.send(msg); err != nil {
			return err
		}
	}
	for range n {
		if err := w.take(); err != nil {
			return err
		}
	}
	return nil
}

// publishAtomically publishes several messages of which all are stored, or none.
func (w *worker) publishAtomically() error {
	n := 2 + w.random.IntN(9)
	id := fmt.Sprint("batch ", w.n)
	var batch []stored
	for k := range n {
		msg, m := w.message(k)
		batch = append(batch, m)
		msg.Header.Set("Nats-Batch-Id", id)
		msg.Header.Set("Nats-Batch-Sequence", fmt.Sprint(k+1))
		if k < n-1 {
			if err := w.nc.PublishMsg(msg); err != nil {
				return err
			}
			continue
		}
		msg.Header.Set("Nats-Batch-Commit", "1")
		w.begin(func(e *expected) {
			for _, m := range batch {
				e.store(m)
			}
		})
		if err := w.send(msg); err != nil {
			return err
		}
	}
	a, err := w.answer()
	if err != nil {
		return err
	}
	if a.Error != nil || a.Sequence != w.state.last+uint64(n) || a.Batch != n {
		return fmt.Errorf("the answer is %+v (%+v), want sequence %d", a, a.Error, w.state.last+uint64(n))
	}
	w.confirm()
	return nil
}

// stream is the worker's stream.
func (w *worker) stream() (jetstream.Stream, error) { return w.js.Stream(w.ctx, w.cfg.Name) }

func (w *worker) deleteMessage() error {
	e := w.state
	if len(e.msgs) == 0 {
		return nil
	}
	m := e.msgs[w.random.IntN(len(e.msgs))]
	if !m.earliest.IsZero() || e.done(&m, true) {
		return nil // it may be gone
	}
	st, err := w.stream()
	if err != nil {
		return err
	}
	w.note("delete %d", m.seq)
	w.begin(func(e *expected) { e.remove(func(x *stored) bool { return x.seq == m.seq }) })
	if w.random.IntN(2) == 0 {
		return w.confirmed(st.DeleteMsg(w.ctx, m.seq))
	}
	return w.confirmed(st.SecureDeleteMsg(w.ctx, m.seq))
}

func (w *worker) purge() error {
	st, err := w.stream()
	if err != nil {
		return err
	}
	filter := w.subject()
	switch k := w.random.IntN(8); {
	case k < 3 && w.state.sure():
		keep := w.random.IntN(4) + 1
		w.note("keep %d of %s", keep, filter)
		w.begin(func(e *expected) { e.keepLast(filter, keep) })
		return w.confirmed(st.Purge(w.ctx, jetstream.WithPurgeSubject(filter), jetstream.WithPurgeKeep(uint64(keep))))
	case k < 6:
		to := w.state.last - min(w.state.last, uint64(w.random.IntN(20)))
		if to < 2 {
			return nil
		}
		w.note("before %d", to)
		w.begin(func(e *expected) { e.remove(func(m *stored) bool { return m.seq < to }) })
		return w.confirmed(st.Purge(w.ctx, jetstream.WithPurgeSequence(to)))
	case k < 7 && w.random.IntN(4) == 0:
		w.begin(func(e *expected) { e.msgs = nil })
		return w.confirmed(st.Purge(w.ctx))
	}
	w.begin(func(e *expected) { e.remove(func(m *stored) bool { return m.subject == filter }) })
	return w.confirmed(st.Purge(w.ctx, jetstream.WithPurgeSubject(filter)))
}
