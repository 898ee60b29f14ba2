package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"godwit/stream/vfs"
)

// message is what a test stored.
type message struct {
	seq   uint64
	index uint64 // of its batch
	time  int64
	text  string

	erased bool
}

// record returns the record of a message in a batch of that time.
func (m *message) record(batch int64) *Record {
	return &Record{
		Attrs: uint8(m.seq), TimeDelta: m.time - batch,
		Subject: []byte("s." + m.text[:min(len(m.text), 3)]), Value: []byte(m.text),
	}
}

func (m *message) check(time int64, r *Record) error {
	want := m.text
	if m.erased {
		want = strings.Repeat("\x00", len(want))
	}
	if time != m.time || r.Attrs != uint8(m.seq) || string(r.Value) != want ||
		string(r.Subject) != "s."+m.text[:min(len(m.text), 3)] || len(r.Header) != 0 {
		return fmt.Errorf("message %d: got time %d, %q %q, want time %d, %q", m.seq, time, r.Subject, r.Value, m.time, m.text)
	}
	return nil
}

var testKey = [32]byte{1, 2, 3}

func testOptions(fsys vfs.FS) Options {
	return Options{Dir: "/data/p0", FS: fsys, Key: testKey, SegmentBytes: 16 << 10, MaxBatchBytes: 64 << 10, TailBytes: 16 << 10, shortMost: 500}
}

// writer appends to a log and remembers what.
type writer struct {
	log      *Log
	messages []message
	next     uint64
	index    uint64
	time     int64
	packed   bool // every third batch is compressed
}

// append adds a batch of messages with these texts. Every other batch comes in several parts.
func (w *writer) append(texts ...string) error {
	w.index++
	w.time += 10
	h := Head{Kind: KindMessages, Index: w.index, Term: 1, Time: w.time, Base: w.next, Count: uint32(len(texts))}
	var parts [][]byte
	var body []byte
	for i, text := range texts {
		m := message{w.next, w.index, w.time + int64(i%3), text, false}
		w.messages = append(w.messages, m)
		body = AppendRecord(body, m.record(w.time))
		if w.index%2 == 0 {
			cut := len(body) / 2 // records span parts
			parts, body = append(parts, body[:cut]), body[cut:]
		}
		w.next++
	}
	if w.packed && w.index%3 == 0 {
		return w.log.AppendPacked(h, append(parts, body)...)
	}
	return w.log.Append(h, append(parts, body)...)
}

func (w *writer) command(text string) error {
	w.index++
	w.time += 10
	return w.log.Append(Head{Kind: KindCommand, Index: w.index, Term: 1, Time: w.time, Base: w.next}, []byte(text))
}

// openWriter opens a log and a writer that continues it.
func openWriter(t testing.TB, o Options) (*writer, *Report) {
	t.Helper()
	l, report, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return &writer{log: l, next: l.NextSeq(), index: l.LastIndex()}, report
}

func (w *writer) flush(t testing.TB, alone bool) {
	t.Helper()
	if _, err := w.log.Flush(alone); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkAll reads all messages by a cursor, and each by its sequence, and compares.
func checkAll(t testing.TB, l *Log, want []message) {
	t.Helper()
	must(t, compareAll(l, want))
}

func compareAll(l *Log, want []message) error {
	c := l.NewCursor(0)
	var r Record
	for i := range want {
		m := &want[i]
		seq, time, ok, err := c.Next(math.MaxUint64, &r)
		if err != nil {
			return fmt.Errorf("next after %d: %w", m.seq-1, err)
		}
		if !ok || seq != m.seq {
			return fmt.Errorf("next: got %d %v, want %d", seq, ok, m.seq)
		}
		if err := m.check(time, &r); err != nil {
			return err
		}
	}
	if seq, _, ok, err := c.Next(math.MaxUint64, &r); err != nil {
		return fmt.Errorf("at the end: %w", err)
	} else if ok {
		return fmt.Errorf("message %d behind the end", seq)
	}
	for i := range want {
		m := &want[i]
		time, err := l.Read(m.seq, &r)
		if err == nil {
			err = m.check(time, &r)
		}
		if err != nil {
			return fmt.Errorf("read %d: %w", m.seq, err)
		}
	}
	if _, err := l.Read(l.NextSeq(), &r); !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("read behind the end: %v", err)
	}
	return nil
}

// compareLive reads all messages by a cursor, and each by its sequence: those that are not dead are there, and of others
// nothing but what they were, or an empty record.
func compareLive(l *Log, want []message, dead func(seq uint64) bool) error {
	c := l.NewCursor(0)
	var r Record
	at := 0
	for {
		seq, time, ok, err := c.Next(math.MaxUint64, &r)
		if err != nil {
			return fmt.Errorf("next: %w", err)
		}
		for at < len(want) && (!ok || want[at].seq < seq) {
			if !dead(want[at].seq) {
				return fmt.Errorf("next: message %d is missing, got %d %v", want[at].seq, seq, ok)
			}
			at++
		}
		if !ok {
			return readLive(l, want, dead)
		}
		if at == len(want) || want[at].seq != seq {
			return fmt.Errorf("next: message %d, which there is not", seq)
		}
		if len(r.Subject) > 0 || !dead(seq) {
			if err := want[at].check(time, &r); err != nil {
				return err
			}
		}
		at++
	}
}

func readLive(l *Log, want []message, dead func(seq uint64) bool) error {
	var r Record
	for i := range want {
		m := &want[i]
		time, err := l.Read(m.seq, &r)
		if dead(m.seq) && (errors.Is(err, ErrNotFound) || len(r.Subject) == 0) {
			continue
		}
		if err == nil {
			err = m.check(time, &r)
		}
		if err != nil {
			return fmt.Errorf("read %d: %w", m.seq, err)
		}
	}
	return nil
}

// text returns n bytes that differ by i.
func text(i, n int) string {
	b := bytes.Repeat([]byte{byte('a' + i%26)}, n)
	return string(append(b, fmt.Sprint(i)...))
}

// durableWatch remembers what OnDurable said.
type durableWatch struct{ index atomic.Uint64 }

func (d *durableWatch) set(index uint64) { d.index.Store(index) }
