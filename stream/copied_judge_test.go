package stream

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// sourced is a message as a source gives it to a stream.
func sourced(seq uint64, subj, value string, headers ...string) Copied {
	m := testMsg{headers: append(headers, fmt.Sprintf("%s: O %d > > %s aaaaaaaa", HeaderSource, seq, subj))}
	return Copied{Subject: []byte(subj), Header: m.block(), Value: []byte(value), Seq: seq}
}

// lines are the subjects and values of what is stored.
func (b *bench) lines() (out []string) {
	b.t.Helper()
	st := b.state()
	for seq := st.FirstSeq; seq <= st.LastSeq; seq++ {
		if m, ok := b.get(jsapi.MsgGetRequest{Seq: seq}); ok {
			out = append(out, fmt.Sprintf("%d %s %s", seq, m.Subject, m.Data))
		}
	}
	return out
}

// What the headers of a sourced message asked of the stream that it was published to is stored, and happens only if this
// stream allows it.
func TestSourcedHeadersAreNotRefused(t *testing.T) {
	list := []Copied{sourced(1, "a", "1"), sourced(2, "b", "2", "Nats-TTL: 1h"), sourced(3, "a", "3", "Nats-Rollup: sub"),
		sourced(4, "c", "4", "Nats-Schedule: @at 2099-01-01T00:00:00Z", "Nats-Schedule-Target: d"), sourced(5, "d", "5", "Nats-TTL: bad"),
		sourced(6, "e", `{"val":"5"}`, "Nats-Incr: 5"), sourced(7, "f", "7", "Nats-Schedule-Next: purge", "Nats-Scheduler: a")}
	for _, tt := range []struct {
		name string
		cfg  jsapi.StreamConfig
		left int // after two hours
		want []string
	}{
		{"nothing allowed", jsapi.StreamConfig{}, 7, []string{"1 a 1", "2 b 2", "3 a 3", "4 c 4", "5 d 5", `6 e {"val":"5"}`, "7 f 7"}},
		{"rollup and ttl", jsapi.StreamConfig{AllowRollup: true, AllowMsgTTL: true}, 5, []string{"2 b 2", "3 a 3", "4 c 4", "5 d 5", `6 e {"val":"5"}`, "7 f 7"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Name, tt.cfg.Sources = "S", []*jsapi.StreamSource{{Name: "O"}}
			b := openBench(t, vfs.NewMem(), tt.cfg, &clock{now: 1e18}, nil)
			if err := b.p.Source(list); err != nil {
				t.Fatal(err)
			}
			if got := b.lines(); !slices.Equal(got, tt.want) {
				t.Errorf("stored %q, want %q", got, tt.want)
			}
			b.close()
			b = b.reopen(b.fs)
			if got := b.lines(); !slices.Equal(got, tt.want) {
				t.Errorf("after a restart %q, want %q", got, tt.want)
			}
			b.now.pass(2 * time.Hour)
			deadline := time.Now().Add(10 * time.Second)
			for int(b.state().Msgs) != tt.left {
				b.p.box.wake()
				if time.Now().After(deadline) {
					t.Fatalf("%d messages left, want %d", b.state().Msgs, tt.left)
				}
			}
			b.close()
		})
	}
}

// A source whose message is refused gets no further, so that it comes again and the order is kept.
func TestSourceStopsAtRefusal(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Sources: []*jsapi.StreamSource{{Name: "O"}}, MaxMsgs: 3, Discard: jsapi.DiscardNew,
		MaxMsgSize: 100}, &clock{now: 1e18}, nil)
	defer func() { b.close() }()
	list := []Copied{sourced(1, "a", "1"), sourced(2, "b", "2"), sourced(3, "c", string(make([]byte, 100))), sourced(4, "d", "4"), sourced(5, "e", "5")}
	if err := b.p.Source(list); err == nil || err.Code != jsapi.ErrStreamMessageExceedsMaximum {
		t.Fatalf("a large message: %v", err)
	}
	if at, _ := b.p.Sourced(OriginKey("O", ">", ">")); at.Seq != 2 {
		t.Errorf("taken up to %d, want 2", at.Seq)
	}
	if err := b.p.Source(list[3:]); err == nil || err.Code != jsapi.ErrStreamStoreFailed {
		t.Fatalf("a full stream: %v", err)
	}
	if at, _ := b.p.Sourced(OriginKey("O", ">", ">")); at.Seq != 4 {
		t.Errorf("taken up to %d, want 4", at.Seq)
	}
	if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := b.p.Source(list[4:]); err != nil {
		t.Fatal(err)
	}
	if got, want := b.lines(), []string{"4 e 5"}; !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
}

// A mirror that refuses what is new when it is full stops there; with room it goes on without a hole.
func TestMirrorStopsWhenFull(t *testing.T) {
	var list []Copied
	for seq := uint64(1); seq <= 6; seq++ {
		list = append(list, Copied{Subject: fmt.Appendf(nil, "s.%d", seq%2), Value: fmt.Append(nil, seq), Seq: seq, Time: int64(seq)})
	}
	for _, tt := range []struct {
		name string
		cfg  jsapi.StreamConfig
		want []string
	}{
		{"messages", jsapi.StreamConfig{MaxMsgs: 2}, []string{"1 s.1 1", "2 s.0 2"}},
		{"bytes", jsapi.StreamConfig{MaxBytes: 3 * (30 + 4)}, []string{"1 s.1 1", "2 s.0 2"}}, // 30 and a subject of 3 with a value of 1, each
		{"per subject", jsapi.StreamConfig{MaxMsgsPerSubject: 2, DiscardNewPerSubject: true}, []string{"1 s.1 1", "2 s.0 2", "3 s.1 3", "4 s.0 4"}},
		{"replaced per subject", jsapi.StreamConfig{MaxMsgsPerSubject: 1, MaxMsgs: 2}, []string{"5 s.1 5", "6 s.0 6"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Name, tt.cfg.Mirror, tt.cfg.Discard = "S", &jsapi.StreamSource{Name: "O"}, jsapi.DiscardNew
			if tt.cfg.MaxBytes > 0 {
				tt.cfg.MaxBytes = 2*int64(22+3+1+8) + 1
			}
			b := openBench(t, vfs.NewMem(), tt.cfg, &clock{now: 1e18}, nil)
			defer func() { b.close() }()
			err := b.p.Mirror(list)
			if full := len(tt.want) < 6 && tt.want[0][0] == '1'; full != (err != nil) {
				t.Errorf("error %v", err)
			}
			if got := b.lines(); !slices.Equal(got, tt.want) {
				t.Fatalf("stored %q, want %q", got, tt.want)
			}
			if err == nil {
				return
			}
			last := b.p.LastSeq()
			if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err != nil {
				t.Fatal(err)
			}
			if err := b.p.Mirror(list[last : last+2]); err != nil {
				t.Fatal(err)
			}
			if got := b.lines(); len(got) != 2 || b.p.LastSeq() != last+2 {
				t.Errorf("stored %q, last is %d", got, b.p.LastSeq())
			}
		})
	}
}

// A mirror goes on behind what its origin does not have any more, and after a restart too.
func TestMirrorSkips(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Mirror: &jsapi.StreamSource{Name: "O"}}, &clock{now: 1e18}, nil)
	for _, step := range []struct {
		skip        uint64 // 0: a message
		first, last uint64
	}{{10, 11, 10}, {7, 11, 10}, {0, 11, 11}, {1_000_000_000, 11, 1_000_000_000}, {0, 11, 1_000_000_001}} {
		var err *jsapi.Error
		if step.skip > 0 {
			err = b.p.Skip(step.skip)
		} else {
			err = b.p.Mirror([]Copied{{Subject: []byte("a"), Seq: step.last, Time: 5}})
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var st jsapi.StreamState
			if e := b.p.do(func() { st.FirstSeq, st.LastSeq = b.p.first, b.p.last }); e != nil {
				t.Fatal(e)
			}
			if st.FirstSeq != step.first || st.LastSeq != step.last {
				t.Fatalf("after %+v: %d to %d", step, st.FirstSeq, st.LastSeq)
			}
			b.close()
			b = b.reopen(b.fs)
		}
	}
	b.close()
}

func TestSeqSetRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var quick, slow seqSet
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			from := rapid.Uint64Range(0, 20_000).Draw(t, "from")
			to := from + rapid.Uint64Range(0, 15_000).Draw(t, "len")
			quick.addRange(from, to)
			for s := from; s < to; s++ {
				slow.add(s)
			}
		}
		if quick.n != slow.n {
			t.Fatalf("%d members, want %d", quick.n, slow.n)
		}
		for s := uint64(0); s < 36_000; s += 13 {
			if quick.has(s) != slow.has(s) || quick.next(s) != slow.next(s) || quick.count(0, s) != slow.count(0, s) {
				t.Fatalf("differ at %d", s)
			}
		}
	})
}
