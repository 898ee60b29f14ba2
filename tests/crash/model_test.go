package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	subjects "godwit/protocol/subject"
)

// stored is a message as the model has it.
type stored struct {
	seq           uint64
	subject, body string
	earliest      time.Time // when its TTL may be over at the earliest; zero: it has none
	latest        time.Time // when it is over in any case
}

func (m *stored) mayExpire(now time.Time) bool { return !m.earliest.IsZero() && now.After(m.earliest) }
func (m *stored) isOver(now time.Time) bool    { return !m.latest.IsZero() && now.After(m.latest) }

// reader is what is known of a durable consumer.
type reader struct {
	exists  bool
	filters []string
	push    bool
	text    string // description
	paused  bool
	from    uint64          // it wants messages from this sequence on
	acked   map[uint64]bool // whose acknowledgement or end was confirmed
	maybe   map[uint64]bool // acknowledged without confirmation
}

func (r *reader) wants(m *stored) bool {
	if !r.exists || m.seq < r.from {
		return false
	}
	return len(r.filters) == 0 || slices.ContainsFunc(r.filters, func(f string) bool { return subjects.Match(f, m.subject) })
}

// expected is what a stream holds, as its one client knows.
type expected struct {
	cfg     *jetstream.StreamConfig
	exists  bool
	text    string // description
	limit   int64  // max_msgs
	last    uint64
	msgs    []stored // ascending
	ids     map[string]uint64
	readers []*reader
	history map[uint64]stored // all that ever was stored
	loose   map[uint64]bool   // perhaps removed before the consumers that are there now came
}

func (e *expected) clone() *expected {
	c := *e
	c.msgs, c.ids, c.history = slices.Clone(e.msgs), maps.Clone(e.ids), maps.Clone(e.history)
	c.loose = maps.Clone(e.loose)
	c.readers = make([]*reader, len(e.readers))
	for i, r := range e.readers {
		d := *r
		d.acked, d.maybe = maps.Clone(r.acked), maps.Clone(r.maybe)
		c.readers[i] = &d
	}
	return &c
}

func (e *expected) get(seq uint64) (stored, bool) {
	i, ok := slices.BinarySearchFunc(e.msgs, seq, func(m stored, seq uint64) int {
		switch {
		case m.seq < seq:
			return -1
		case m.seq > seq:
			return 1
		}
		return 0
	})
	if !ok {
		return stored{}, false
	}
	return e.msgs[i], true
}

func (e *expected) remove(gone func(m *stored) bool) {
	e.msgs = slices.DeleteFunc(e.msgs, func(m stored) bool { return gone(&m) })
}

// keepLast removes the oldest messages of a subject beyond so many.
func (e *expected) keepLast(subject string, keep int) {
	n := 0
	for i := range e.msgs {
		if e.msgs[i].subject == subject {
			n++
		}
	}
	e.remove(func(m *stored) bool {
		if m.subject == subject && n > keep {
			n--
			return true
		}
		return false
	})
}

func (e *expected) full() bool {
	return e.cfg.Discard == jetstream.DiscardNew && e.limit > 0 && int64(len(e.msgs)) >= e.limit
}

// store is a publish that is accepted.
func (e *expected) store(m stored) {
	e.last++
	m.seq = e.last
	e.history[m.seq] = m
	e.msgs = append(e.msgs, m)
	if e.cfg.Retention == jetstream.InterestPolicy {
		e.settle()
	}
	if e.cfg.MaxMsgsPerSubject > 0 {
		e.keepLast(m.subject, int(e.cfg.MaxMsgsPerSubject))
	}
	e.trim()
}

func (e *expected) trim() {
	if e.limit > 0 && int64(len(e.msgs)) > e.limit {
		e.msgs = slices.Delete(e.msgs, 0, len(e.msgs)-int(e.limit))
	}
}

// settle removes what nobody needs any more, in a stream whose retention is about that.
func (e *expected) settle() {
	if e.cfg.Retention != jetstream.LimitsPolicy {
		e.remove(func(m *stored) bool { return e.done(m, false) })
	}
}

// done says whether a message is superfluous for the stream's retention: surely, or perhaps.
func (e *expected) done(m *stored, perhaps bool) bool {
	if e.cfg.Retention == jetstream.LimitsPolicy {
		return false
	}
	if perhaps && e.loose[m.seq] {
		return true
	}
	wanted := false
	for _, r := range e.readers {
		if r.wants(m) {
			wanted = true
			if !r.acked[m.seq] && !(perhaps && r.maybe[m.seq]) {
				return false
			}
		}
	}
	return wanted || e.cfg.Retention == jetstream.InterestPolicy
}

// doubtful says whether a message may be there or not.
func (e *expected) doubtful(m *stored, now time.Time) bool {
	return m.mayExpire(now) || e.done(m, true)
}

// sure says that nothing is doubtful, now and in the next seconds.
func (e *expected) sure() bool {
	return !slices.ContainsFunc(e.msgs, func(m stored) bool { return !m.earliest.IsZero() || e.done(&m, true) })
}

// found is what a stream was found to be.
type found struct {
	exists  bool
	text    string
	limit   int64
	last    uint64
	msgs    []stored
	readers []foundReader
	at      time.Time
}

type foundReader struct {
	exists, paused bool
	text           string
	waiting        int // messages pending, and delivered but not acknowledged
}

// differs says what differs, nothing if it is the same.
func (e *expected) differs(f *found) string {
	if e.exists != f.exists {
		return fmt.Sprintf("the stream is there: %v, want %v", f.exists, e.exists)
	}
	if !e.exists {
		return ""
	}
	if e.last != f.last || e.text != f.text || e.limit != f.limit {
		return fmt.Sprintf("last sequence %d, description %q, limit %d; want %d, %q, %d", f.last, f.text, f.limit, e.last, e.text, e.limit)
	}
	there := map[uint64]bool{}
	for i := range f.msgs {
		m := &f.msgs[i]
		there[m.seq] = true
		want, ok := e.get(m.seq)
		switch {
		case !ok:
			return fmt.Sprintf("sequence %d is there again: %s %.60q (%d messages there from %d on, %d wanted)", m.seq, m.subject, m.body, len(f.msgs), f.msgs[0].seq, len(e.msgs))
		case want.isOver(f.at):
			return fmt.Sprintf("sequence %d is there though its TTL is over", m.seq)
		case want.subject != m.subject || want.body != m.body:
			return fmt.Sprintf("sequence %d holds %s %.60q, want %s %.60q", m.seq, m.subject, m.body, want.subject, want.body)
		}
	}
	for i := range e.msgs {
		if m := &e.msgs[i]; !there[m.seq] && !e.doubtful(m, f.at) {
			return fmt.Sprintf("sequence %d is missing: %s %.60q", m.seq, m.subject, m.body)
		}
	}
	for i, r := range e.readers {
		if d := e.differsReader(r, &f.readers[i], f.at); d != "" {
			return fmt.Sprintf("consumer %d: %s", i, d)
		}
	}
	return ""
}

func (e *expected) differsReader(r *reader, f *foundReader, at time.Time) string {
	if r.exists != f.exists {
		return fmt.Sprintf("it is there: %v, want %v", f.exists, r.exists)
	}
	if !r.exists {
		return ""
	}
	if r.text != f.text || r.paused != f.paused {
		return fmt.Sprintf("description %q, paused %v; want %q, %v", f.text, f.paused, r.text, r.paused)
	}
	least, most := 0, 0
	for i := range e.msgs {
		m := &e.msgs[i]
		if !r.wants(m) || r.acked[m.seq] {
			continue
		}
		most++
		if !r.maybe[m.seq] && !e.doubtful(m, at) {
			least++
		}
	}
	if f.waiting < least || f.waiting > most {
		return fmt.Sprintf("%d messages are pending or with clients, want %d to %d", f.waiting, least, most)
	}
	return ""
}

// settleOn makes the model what was found, where it left that open.
func (e *expected) settleOn(f *found) {
	there := map[uint64]bool{}
	for i := range f.msgs {
		there[f.msgs[i].seq] = true
	}
	e.remove(func(m *stored) bool { return !there[m.seq] })
	clear(e.loose)
	if e.cfg.Retention == jetstream.LimitsPolicy {
		return
	}
	for i := range e.msgs { // the acknowledgements that would have removed it are forgotten
		interested := slices.DeleteFunc(slices.Clone(e.readers), func(r *reader) bool { return !r.wants(&e.msgs[i]) })
		if len(interested) == 1 {
			delete(interested[0].maybe, e.msgs[i].seq)
		}
	}
}

func prefixOf(cfg *jetstream.StreamConfig) string {
	if bucket, ok := strings.CutPrefix(cfg.Name, "KV_"); ok {
		return "$KV." + bucket
	}
	return strings.ToLower(cfg.Name)
}
