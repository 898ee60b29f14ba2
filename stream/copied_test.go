package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// A mirror holds what it was given under the same sequences and times, through gaps, repetitions, restarts and power cuts.
func TestMirrorKeepsSequencesAndTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Mirror: &jsapi.StreamSource{Name: "O"}}, &clock{now: 2e18}, nil)
		defer func() { b.p.Close() }()
		var want []string
		seq := uint64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"copy": func(rt *rapid.T) {
				var list []Copied
				first := seq + 1
				if seq > 3 && rapid.Bool().Draw(rt, "again") {
					first = seq - 2 // what was sent before a connection broke comes again
				}
				for k := range rapid.IntRange(1, 20).Draw(rt, "n") {
					at := first + uint64(k)
					if at > seq {
						at = seq + rapid.SampledFrom([]uint64{1, 1, 1, 2, 50, 200}).Draw(rt, "gap")
						seq = at
					} else if !slices.ContainsFunc(want, func(s string) bool { return len(s) > 0 }) {
						continue
					}
					when := int64(1e18) + int64(at)
					list = append(list, Copied{Subject: fmt.Appendf(nil, "s.%d", at%3), Value: fmt.Append(nil, at), Header: []byte("NATS/1.0\r\nA: b\r\n\r\n"), Seq: at, Time: when})
				}
				for _, m := range list {
					line := fmt.Sprintf("%d %d %s %q %q", m.Seq, m.Time, m.Subject, m.Header, m.Value)
					if !slices.Contains(want, line) && m.Seq > lastOfLines(want) {
						want = append(want, line)
					}
				}
				if err := b.p.Mirror(list); err != nil {
					rt.Fatal(err)
				}
			},
			"checkpoint": func(*rapid.T) { b.checkpoint() },
			"restart": func(*rapid.T) {
				b.close()
				b = b.reopen(b.fs)
			},
			"power cut": func(rt *rapid.T) {
				fs := b.fs.CrashClone(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
				b.p.Close()
				b = b.reopen(fs)
			},
			"": func(rt *rapid.T) {
				if got := b.all(); !slices.Equal(got, want) {
					rt.Fatalf("stored\n%v\nwant\n%v", got, want)
				}
				if got := b.p.LastSeq(); got != lastOfLines(want) {
					rt.Fatalf("last is %d, want %d", got, lastOfLines(want))
				}
			},
		})
	})
}

func lastOfLines(lines []string) (seq uint64) {
	if len(lines) > 0 {
		fmt.Sscanf(lines[len(lines)-1], "%d", &seq)
	}
	return seq
}

// How far a stream is with its sources is known from its log, also when the messages are gone.
func TestSourcePositionSurvives(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Sources: []*jsapi.StreamSource{{Name: "O"}}, Duplicates: time.Minute}, &clock{now: 1e18}, nil)
	msg := func(seq uint64, identity, id string) Copied {
		h := fmt.Sprintf("NATS/1.0\r\n%s: O %d > > s.a %s\r\n", HeaderSource, seq, identity)
		if id != "" {
			h += "Nats-Msg-Id: " + id + "\r\n"
		}
		return Copied{Subject: []byte("s.a"), Header: []byte(h + "\r\n"), Value: []byte("v"), Seq: seq}
	}
	expect := func(want OriginPosition, msgs uint64) {
		t.Helper()
		if got, err := b.p.Sourced(OriginKey("O", ">", ">")); err != nil || got != want {
			t.Errorf("position %+v, want %+v; %v", got, want, err)
		}
		if st := b.state(); st.Msgs != msgs {
			t.Errorf("%d messages, want %d", st.Msgs, msgs)
		}
	}
	if err := b.p.Source([]Copied{msg(5, "aaaaaaaa", "1"), msg(6, "aaaaaaaa", "1"), msg(9, "aaaaaaaa", "2")}); err != nil {
		t.Fatal(err)
	}
	expect(OriginPosition{9, "aaaaaaaa"}, 2) // one had an id that was there
	if ack := b.pub(testMsg{subject: "s.a", headers: []string{HeaderSource + ": O 99 > > s.a aaaaaaaa"}}); ack.Error == nil || ack.Error.Code != jsapi.ErrMessageSourceHdrNotAllowed {
		t.Errorf("a client may pose as a source: %+v", ack)
	}
	if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err != nil {
		t.Fatal(err)
	}
	b.close()
	b = b.reopen(b.fs)
	expect(OriginPosition{9, "aaaaaaaa"}, 0)
	b.checkpoint()
	b = b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 1))))
	if err := b.p.Source([]Copied{msg(2, "bbbbbbbb", "")}); err != nil { // the origin was made again
		t.Fatal(err)
	}
	expect(OriginPosition{2, "bbbbbbbb"}, 1)
	b.close()
}
