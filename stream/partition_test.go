package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/vfs"
)

// streamModel is a stream as a list.
type streamModel struct {
	cfg         jsapi.StreamConfig
	msgs        []modelMsg
	first, last uint64
	ids         map[string]modelID
	lastID      string
}

type modelMsg struct {
	seq            uint64
	subject, value string
	size           int64
}

type modelID struct {
	seq  uint64
	time int64
}

func (m *streamModel) bytes() (n int64) {
	for _, x := range m.msgs {
		n += x.size
	}
	return n
}

func (m *streamModel) lastOn(pattern string) (seq uint64) {
	for _, x := range m.msgs {
		if subject.Match(pattern, x.subject) {
			seq = x.seq
		}
	}
	return seq
}

// keep removes the messages for which f is false and finds the first sequence.
func (m *streamModel) keep(f func(modelMsg) bool) (removed uint64) {
	before := len(m.msgs)
	m.msgs = slices.DeleteFunc(m.msgs, func(x modelMsg) bool { return !f(x) })
	m.settle()
	return uint64(before - len(m.msgs))
}

func (m *streamModel) settle() {
	m.first = m.last + 1
	if len(m.msgs) > 0 {
		m.first = m.msgs[0].seq
	}
}

// limit enforces the limits.
func (m *streamModel) limit() {
	if n := m.cfg.MaxMsgsPerSubject; n > 0 {
		count := map[string]int64{}
		for _, x := range m.msgs {
			count[x.subject]++
		}
		m.keep(func(x modelMsg) bool {
			count[x.subject]--
			return count[x.subject] < n
		})
	}
	for m.cfg.MaxMsgs > 0 && int64(len(m.msgs)) > m.cfg.MaxMsgs || m.cfg.MaxBytes > 0 && m.bytes() > m.cfg.MaxBytes {
		m.msgs = m.msgs[1:]
	}
	m.settle()
}

// publish says what a message gets: an error code or a sequence.
func (m *streamModel) publish(x testMsg, now int64) (seq uint64, dup bool, code jsapi.Code) {
	h := map[string]string{}
	for _, l := range x.headers {
		k, v, _ := strings.Cut(l, ": ")
		h[k] = v
	}
	on := x.subject
	if s, ok := h[hdrExpectSubj]; ok {
		on = s
	}
	if v, ok := h[hdrExpectSubjSeq]; ok && v != fmt.Sprint(m.lastOn(on)) {
		return 0, false, jsapi.ErrStreamWrongLastSequence
	} else if _, alone := h[hdrExpectSubj]; alone && !ok {
		return 0, false, jsapi.ErrStreamExpectedLastSeqPerSubjectInvalid
	}
	if v, ok := h[hdrExpectSeq]; ok && v != fmt.Sprint(m.last) {
		return 0, false, jsapi.ErrStreamWrongLastSequence
	}
	id := h[hdrMsgID]
	if old, ok := m.ids[id]; ok && id != "" && now-old.time < int64(m.cfg.Duplicates) {
		return old.seq, true, 0
	}
	if v, ok := h[hdrExpectMsgID]; ok && v != m.lastID {
		return 0, false, jsapi.ErrStreamWrongLastMsgID
	}
	size := int64(30 + len(x.subject) + len(x.value))
	if b := x.block(); len(b) > 0 {
		size += 4 + int64(len(b))
	}
	if m.cfg.Discard == jsapi.DiscardNew {
		n, replaces := int64(0), false
		for _, o := range m.msgs {
			if o.subject == x.subject {
				n++
			}
		}
		if m.cfg.MaxMsgsPerSubject > 0 && n >= m.cfg.MaxMsgsPerSubject {
			if m.cfg.DiscardNewPerSubject && h[hdrRollup] == "" {
				return 0, false, jsapi.ErrStreamStoreFailed
			}
			replaces = true
		}
		if !replaces && (m.cfg.MaxMsgs > 0 && int64(len(m.msgs)) >= m.cfg.MaxMsgs || m.cfg.MaxBytes > 0 && m.bytes()+size > m.cfg.MaxBytes) {
			return 0, false, jsapi.ErrStreamStoreFailed
		}
	}
	m.last++
	m.lastID = id
	if id != "" {
		m.ids[id] = modelID{m.last, now}
	}
	m.msgs = append(m.msgs, modelMsg{m.last, x.subject, x.value, size})
	switch h[hdrRollup] {
	case rollupSubject:
		m.keep(func(o modelMsg) bool { return o.subject != x.subject || o.seq == m.last })
	case rollupAll:
		m.keep(func(o modelMsg) bool { return o.seq == m.last })
	}
	m.limit()
	return m.last, false, 0
}

func (m *streamModel) purge(r *jsapi.PurgeRequest) uint64 {
	all := r.Subject == "" || r.Subject == ">"
	match := func(x modelMsg) bool { return all || subject.Match(r.Subject, x.subject) }
	if all && r.Sequence > m.last {
		n := uint64(len(m.msgs))
		m.msgs, m.last = nil, r.Sequence-1
		m.settle()
		return n
	}
	if r.Sequence > 0 {
		return m.keep(func(x modelMsg) bool { return !match(x) || x.seq >= r.Sequence })
	}
	left := uint64(0)
	for _, x := range m.msgs {
		if match(x) {
			left++
		}
	}
	return m.keep(func(x modelMsg) bool {
		if !match(x) {
			return true
		}
		left--
		return left < r.Keep
	})
}

var modelSubjects = []string{"s.a", "s.b", "s.b.c", "s.d", "s.e.f"}

// TestPartitionAgainstModel does everything that clients can do to a stream, with restarts and power cuts in between.
func TestPartitionAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowRollup: true, Duplicates: 1e9}
		cfg.MaxMsgs = rapid.SampledFrom([]int64{-1, -1, 20}).Draw(rt, "maxMsgs")
		cfg.MaxBytes = rapid.SampledFrom([]int64{-1, -1, 900}).Draw(rt, "maxBytes")
		cfg.MaxMsgsPerSubject = rapid.SampledFrom([]int64{-1, 1, 3}).Draw(rt, "perSubject")
		if rapid.Bool().Draw(rt, "discardNew") {
			cfg.Discard = jsapi.DiscardNew
			cfg.DiscardNewPerSubject = cfg.MaxMsgsPerSubject > 0 && rapid.Bool().Draw(rt, "perSubject")
		}
		now := &clock{now: 1e9}
		b := openBench(t, vfs.NewMem(), cfg, now, nil)
		m := &streamModel{cfg: b.cfg, first: 1, ids: map[string]modelID{}}
		defer func() { b.p.Close() }()
		steps := 0
		message := func() testMsg {
			x := testMsg{subject: rapid.SampledFrom(modelSubjects).Draw(rt, "subject"), value: rapid.StringN(0, 20, 60).Draw(rt, "value")}
			add := func(format string, args ...any) { x.headers = append(x.headers, fmt.Sprintf(format, args...)) }
			switch rapid.IntRange(0, 11).Draw(rt, "headers") {
			case 0, 1:
				add("%s: %d", hdrMsgID, rapid.IntRange(0, 5).Draw(rt, "id"))
			case 2:
				add("%s: %d", hdrExpectSeq, m.last-uint64(rapid.IntRange(0, int(min(m.last, 1))).Draw(rt, "off")))
			case 3:
				add("%s: %d", hdrExpectSubjSeq, m.lastOn(x.subject)+uint64(rapid.IntRange(0, 1).Draw(rt, "off")))
			case 4:
				on := rapid.SampledFrom([]string{"s.*", "s.>", "s.b", "s.none"}).Draw(rt, "on")
				add("%s: %d", hdrExpectSubjSeq, m.lastOn(on))
				add("%s: %s", hdrExpectSubj, on)
			case 5:
				add("%s: %s", hdrRollup, rapid.SampledFrom([]string{rollupSubject, rollupAll}).Draw(rt, "rollup"))
			case 6:
				add("%s: %d", hdrExpectMsgID, rapid.IntRange(0, 5).Draw(rt, "last"))
			case 7:
				add("X-Other: y")
			}
			return x
		}
		rt.Repeat(map[string]func(*rapid.T){
			"publish": func(rt *rapid.T) {
				var list []testMsg
				for range rapid.IntRange(1, 6).Draw(rt, "n") {
					list = append(list, message())
				}
				// What depends on removals sees those of messages before it once they are applied.
				alone := cfg.Discard == jsapi.DiscardNew || slices.ContainsFunc(list, func(x testMsg) bool {
					return len(x.headers) > 0 && (strings.HasPrefix(x.headers[0], hdrRollup) || strings.HasPrefix(x.headers[0], hdrExpectSubjSeq))
				})
				var acks []jsapi.PubAck
				if alone {
					for _, x := range list {
						acks = append(acks, b.pub(x))
					}
				} else {
					acks = b.pubs(list...)
				}
				for i, ack := range acks {
					seq, dup, code := m.publish(list[i], now.read())
					var got jsapi.Code
					if ack.Error != nil {
						got = ack.Error.Code
					}
					if got != code || code == 0 && (ack.Sequence != seq || ack.Duplicate != dup) {
						rt.Fatalf("%+v: got %+v %+v, want %d %v %d", list[i], ack, ack.Error, seq, dup, code)
					}
				}
			},
			"purge": func(rt *rapid.T) {
				r := jsapi.PurgeRequest{Subject: rapid.SampledFrom([]string{"", ">", "s.a", "s.*", "s.b.>"}).Draw(rt, "filter")}
				switch rapid.IntRange(0, 2).Draw(rt, "kind") {
				case 1:
					r.Sequence = rapid.Uint64Range(1, m.last+3).Draw(rt, "seq")
				case 2:
					r.Keep = rapid.Uint64Range(1, 5).Draw(rt, "keep")
				}
				got, err := b.p.Purge(&r)
				if want := m.purge(&r); err != nil || got != want {
					rt.Fatalf("purge %+v: %d, %v, want %d", r, got, err, want)
				}
			},
			"delete": func(rt *rapid.T) {
				seq := rapid.Uint64Range(0, m.last+1).Draw(rt, "seq")
				has := slices.ContainsFunc(m.msgs, func(x modelMsg) bool { return x.seq == seq })
				if err := b.p.Delete(seq); (err == nil) != has {
					rt.Fatalf("delete %d: %v, stored: %v", seq, err, has)
				}
				m.keep(func(x modelMsg) bool { return x.seq != seq })
			},
			"time":       func(rt *rapid.T) { now.pass(4e8) },
			"checkpoint": func(*rapid.T) { b.checkpoint() },
			"restart": func(rt *rapid.T) {
				b.close()
				b = b.reopen(b.fs)
			},
			"power cut": func(rt *rapid.T) {
				seed := rapid.Uint64().Draw(rt, "seed")
				fs := b.fs.CrashClone(rand.New(rand.NewPCG(seed, 1)))
				b.p.Close()
				b = b.reopen(fs)
			},
			"": func(rt *rapid.T) {
				steps++
				checkPartition(rt, b, m, steps%4 == 0)
			},
		})
	})
}

// checkPartition compares numbers, and everything that is stored if it is to be thorough.
func checkPartition(t *rapid.T, b *bench, m *streamModel, thorough bool) {
	st := b.state()
	wantFirst := m.first
	if m.last == 0 {
		wantFirst = 0
	}
	if st.Msgs != uint64(len(m.msgs)) || st.Bytes != uint64(m.bytes()) || st.FirstSeq != wantFirst || st.LastSeq != m.last {
		t.Fatalf("state %+v, want %d messages, %d bytes, %d to %d", st, len(m.msgs), m.bytes(), m.first, m.last)
	}
	if b.quota.used != m.bytes() {
		t.Fatalf("quota counts %d bytes, want %d", b.quota.used, m.bytes())
	}
	counts := map[string]uint64{}
	stored := map[uint64]modelMsg{}
	for _, x := range m.msgs {
		counts[x.subject]++
		stored[x.seq] = x
	}
	if len(st.Subjects) != len(counts) || st.NumSubjects != len(counts) {
		t.Fatalf("subjects %v, want %v", st.Subjects, counts)
	}
	for s, n := range counts {
		if st.Subjects[s] != n {
			t.Fatalf("%d messages on %s, want %d", st.Subjects[s], s, n)
		}
	}
	holes := 0
	if len(m.msgs) > 0 {
		holes = int(m.last-m.first) + 1 - len(m.msgs)
	}
	if st.NumDeleted != holes || len(m.msgs) > 0 && len(st.Deleted) != holes {
		t.Fatalf("%d removed, listed %v, want %d", st.NumDeleted, st.Deleted, holes)
	}
	if !thorough {
		return
	}
	for seq := uint64(1); seq <= m.last+1; seq++ {
		x, want := stored[seq]
		got, ok := b.get(jsapi.MsgGetRequest{Seq: seq})
		if ok != want || ok && (got.Subject != x.subject || string(got.Data) != x.value) {
			t.Fatalf("message %d: %+v, want %+v", seq, got, x)
		}
	}
	for _, p := range append([]string{"s.*", "s.>"}, modelSubjects...) {
		last := m.lastOn(p)
		if got, ok := b.get(jsapi.MsgGetRequest{LastFor: p}); ok != (last > 0) || ok && got.Sequence != last {
			t.Fatalf("last on %s: %+v, want %d", p, got, last)
		}
		from := m.first + (m.last-min(m.last, m.first))/2
		next := uint64(0)
		for _, x := range slices.Backward(m.msgs) {
			if x.seq >= from && subject.Match(p, x.subject) {
				next = x.seq
			}
		}
		if got, ok := b.get(jsapi.MsgGetRequest{NextFor: p, Seq: from}); ok != (next > 0) || ok && got.Sequence != next {
			t.Fatalf("next on %s from %d: %+v, want %d", p, from, got, next)
		}
		var n, want uint64
		if err := b.p.do(func() { n = b.p.countMatching([]string{p}, from) }); err != nil {
			t.Fatal(err)
		}
		for _, x := range m.msgs {
			if x.seq >= from && subject.Match(p, x.subject) {
				want++
			}
		}
		if n != want {
			t.Fatalf("%d messages on %s from %d, want %d", n, p, from, want)
		}
	}
}
