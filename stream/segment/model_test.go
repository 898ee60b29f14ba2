package segment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"

	"godwit/stream/vfs"
	"pgregory.net/rapid"
)

// model is what a log should hold. Everything is kept in simple slices.
type model struct {
	options  Options
	log      *Log
	state    digest   // after every batch appended
	digests  []digest // by index
	messages []message
	next     uint64
	now      int64
	flushed  uint64
	saved    uint64 // newest checkpoint
	dropped  uint64
	dead     map[uint64]bool // messages that may be gone
	cursor   *Cursor
	at       uint64 // where the cursor should be
}

func (m *model) open(t *rapid.T) {
	var state digest
	o := m.options
	o.Restore = state.decode
	o.Replay = func(h Head, body []byte) error {
		if h.Index != state.index+1 {
			return fmt.Errorf("replay of %d after %d", h.Index, state.index)
		}
		state.add(&h, body)
		return nil
	}
	l, report, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Damage) > 0 || report.Cut > 0 || report.Checkpoint != m.saved || state != m.state {
		t.Fatalf("%+v, state %+v, want checkpoint %d, state %+v", report, state, m.saved, m.state)
	}
	if uint64(report.Replayed) != m.state.index-m.saved {
		t.Fatalf("replayed %d, want %d", report.Replayed, m.state.index-m.saved)
	}
	m.log, m.flushed = l, m.state.index
	m.cursor = l.NewCursor(m.at)
}

func (m *model) append(t *rapid.T) {
	m.now += rapid.Int64Range(0, 100).Draw(t, "pause")
	h := Head{
		Kind: Kind(rapid.IntRange(1, 3).Draw(t, "kind")), Attrs: uint8(m.next), Term: 1,
		Index: m.state.index + 1, Time: m.now, Base: m.next,
	}
	var body []byte
	if h.Kind == KindMessages {
		h.Base += uint64(rapid.SampledFrom([]int{0, 0, 0, 1, 5000000000}).Draw(t, "gap"))
		m.next = h.Base
		size := rapid.SampledFrom([]int{0, 10, 200, 3000}).Draw(t, "size")
		for range rapid.IntRange(1, 30).Draw(t, "count") {
			// Times may run backwards within and between batches.
			msg := message{m.next, h.Index, m.now + rapid.Int64Range(-300, 300).Draw(t, "delta"), text(int(m.next%1000), size), false}
			m.messages = append(m.messages, msg)
			body = AppendRecord(body, msg.record(m.now))
			m.next++
			h.Count++
		}
	} else {
		body = []byte(text(int(h.Index), rapid.IntRange(0, 3000).Draw(t, "size")))
	}
	cut := rapid.IntRange(0, len(body)).Draw(t, "cut")
	if err := m.log.Append(h, body[:cut], nil, body[cut:]); err != nil {
		t.Fatal(err)
	}
	m.state.add(&h, body)
	m.digests = append(m.digests, m.state)
}

func (m *model) flush(t *rapid.T) {
	if _, err := m.log.Flush(rapid.Bool().Draw(t, "alone")); err != nil {
		t.Fatal(err)
	}
	m.flushed = m.state.index
}

func (m *model) checkpoint(t *rapid.T) {
	index := rapid.Uint64Range(m.saved, m.state.index).Draw(t, "index")
	err := m.log.SaveCheckpoint(index, m.digests[index].encode())
	switch {
	case index > m.flushed:
		if !errors.Is(err, ErrNotFlushed) {
			t.Fatalf("checkpoint of %d, flushed %d: %v", index, m.flushed, err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		m.saved = index
		if d := m.log.Durable(); d < index {
			t.Fatalf("checkpoint of %d, durable %d", index, d)
		}
	}
}

func (m *model) drop(t *rapid.T) {
	seq := m.next
	if len(m.messages) > 0 {
		seq = rapid.SampledFrom(m.messages).Draw(t, "seq").seq
	}
	m.dropped = max(m.dropped, seq)
	if err := m.log.DropBefore(seq); err != nil {
		t.Fatal(err)
	}
	m.begin(t)
}

// begin takes note of where the log begins.
func (m *model) begin(t *rapid.T) {
	first := m.log.FirstBase()
	for len(m.messages) > 0 && m.messages[0].seq < first {
		if seq := m.messages[0].seq; seq >= m.dropped && !m.dead[seq] {
			t.Fatalf("log begins at %d, dropped below %d, message %d is not dead", first, m.dropped, seq)
		}
		m.messages = m.messages[1:]
	}
	if m.at < first { // a cursor reads the batch that it has begun to its end
		m.at = first
		m.cursor.Seek(first)
	}
}

// shrink saves a checkpoint, gives up segments with it and rewrites others.
func (m *model) shrink(t *rapid.T) {
	index := rapid.Uint64Range(m.saved, max(m.flushed, m.saved)).Draw(t, "index")
	given := map[uint64]bool{}
	var rewritten []uint64
	for _, n := range m.log.Inner(index) {
		keep := rapid.SampledFrom([]uint64{0, 1, 3, 10, 1 << 60}).Draw(t, "keep one of")
		whole := true
		for i := range m.messages {
			if seq := m.messages[i].seq; seq >= n.First && seq <= n.Last {
				if keep == 0 || seq%keep != 0 {
					m.dead[seq] = true
				}
				whole = whole && m.dead[seq]
			}
		}
		if whole && rapid.Bool().Draw(t, "give up") {
			given[n.Serial] = true
		} else {
			rewritten = append(rewritten, n.Serial)
		}
	}
	if err := m.log.SaveCheckpointWithout(index, m.digests[index].encode(), given); err != nil {
		t.Fatal(err)
	}
	m.saved = index
	isDead := maps.Clone(m.dead)
	for _, serial := range rewritten {
		r := Rewriting{serial, index, func(seq uint64) bool { return isDead[seq] }, 255, false}
		if _, err := m.log.Rewrite(r, nil); err != nil && !errors.Is(err, ErrNotWorth) {
			t.Fatal(err)
		}
	}
	m.begin(t)
}

// erase overwrites a few messages that a checkpoint reflects.
func (m *model) erase(t *rapid.T) {
	if len(m.messages) == 0 {
		return
	}
	var seqs []uint64
	for range rapid.IntRange(1, 5).Draw(t, "messages") {
		if i := rapid.IntRange(0, len(m.messages)-1).Draw(t, "message"); m.messages[i].index <= m.saved { // else a replay would give another digest
			seqs = append(seqs, m.messages[i].seq)
			m.messages[i].erased = true
			m.log.EraseRecent(m.messages[i].seq, wipe)
		}
	}
	if left, err := m.log.Erase(m.flushed, seqs, wipe); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	m.cursor.Release() // it may hold what was there before
}

func (m *model) read(t *rapid.T) {
	seq := m.next
	if len(m.messages) > 0 {
		seq = rapid.SampledFrom(m.messages).Draw(t, "seq").seq + uint64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "more"))
	}
	var r Record
	time, err := m.log.Read(seq, &r)
	for i := range m.messages {
		if m.messages[i].seq == seq {
			if m.dead[seq] && (errors.Is(err, ErrNotFound) || err == nil && len(r.Subject) == 0) {
				return
			}
			if err == nil {
				err = m.messages[i].check(time, &r)
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("read of %d, which there is not: %v", seq, err)
	}
}

// pull moves the cursor some messages on; the last one it gave must stay valid during the next call.
func (m *model) pull(t *rapid.T) {
	switch rapid.IntRange(0, 5).Draw(t, "first") {
	case 0:
		m.cursor.Release()
	case 1:
		m.at = rapid.Uint64Range(0, m.next+1).Draw(t, "seek")
		m.cursor.Seek(m.at)
	}
	high := rapid.SampledFrom([]uint64{m.next, math.MaxUint64, m.next / 2}).Draw(t, "high")
	var last *message
	var before, r Record
	var lastTime int64
	for range rapid.IntRange(1, 200).Draw(t, "n") {
		var want *message
		for i := range m.messages {
			if m.messages[i].seq >= m.at && !m.dead[m.messages[i].seq] {
				want = &m.messages[i]
				break
			}
		}
		seq, time, ok, err := m.cursor.Next(high, &r)
		for ok && err == nil && m.dead[seq] && last == nil {
			seq, time, ok, err = m.cursor.Next(high, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ok && m.dead[seq] {
			m.at, last = seq+1, nil
			continue
		}
		if last != nil {
			if err := last.check(lastTime, &before); err != nil {
				t.Fatalf("after the next call: %v", err)
			}
		}
		if want == nil || want.seq > high {
			if ok {
				t.Fatalf("got %d, want none up to %d", seq, high)
			}
			return
		}
		if !ok || seq != want.seq {
			t.Fatalf("got %d %v, want %d", seq, ok, want.seq)
		}
		if err := want.check(time, &r); err != nil {
			t.Fatal(err)
		}
		m.at = seq + 1
		last, lastTime, before = want, time, r
	}
}

func (m *model) seqAt(t *rapid.T) {
	at := rapid.Int64Range(-400, m.now+400).Draw(t, "time")
	want, earliest := m.next, m.next // of those that are there, and of all
	for i := range m.messages {
		if m.messages[i].time < at {
			continue
		}
		seq := m.messages[i].seq
		earliest = min(earliest, seq)
		if !m.dead[seq] {
			want = seq
			break
		}
	}
	if got := m.log.SeqAt(at); got < earliest || got > want {
		t.Fatalf("sequence at %d is %d, want %d, or a dead one from %d on", at, got, want, earliest)
	}
}

func (m *model) reopen(t *rapid.T) {
	if err := m.log.Close(); err != nil {
		t.Fatal(err)
	}
	if d := m.log.Durable(); d != m.state.index {
		t.Fatalf("durable %d after close, want %d", d, m.state.index)
	}
	m.open(t)
}

func (m *model) check(t *rapid.T) {
	if m.log.NextSeq() != m.next && len(m.messages) > 0 || m.log.LastIndex() != m.state.index {
		t.Fatalf("log ends at %d and sequence %d, want %d and %d", m.log.LastIndex(), m.log.NextSeq(), m.state.index, m.next)
	}
}

func TestLogAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{next: 1, digests: make([]digest, 1), dead: map[uint64]bool{}}
		m.options = testOptions(vfs.NewMem())
		m.options.SegmentBytes = rapid.Int64Range(4<<10, 200<<10).Draw(t, "segment")
		m.options.MaxBatchBytes = 128 << 10
		m.options.TailBytes = rapid.SampledFrom([]int64{1, 16 << 10, 1 << 20}).Draw(t, "tail")
		m.options.Sync = SyncPolicy(rapid.IntRange(0, 2).Draw(t, "sync"))
		m.open(t)
		defer func() { m.log.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append, "append again": m.append, "flush": m.flush, "checkpoint": m.checkpoint, "drop": m.drop, "shrink": m.shrink, "erase": m.erase,
			"read": m.read, "pull": m.pull, "sequence at": m.seqAt, "reopen": m.reopen, "": m.check,
		})
		if err := compareLive(m.log, m.messages, func(seq uint64) bool { return m.dead[seq] }); err != nil {
			t.Fatal(err)
		}
	})
}
