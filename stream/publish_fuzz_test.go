package stream

import (
	"bytes"
	"slices"
	"testing"

	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// FuzzSetHeader changes header blocks as clients can send them, which may be anything.
func FuzzSetHeader(f *testing.F) {
	for _, s := range []string{"", "NATS/1.0\r\n\r\n", "NATS/1.0\r\nNats-TTL: 1\r\nA: b\r\nNats-TTL: 2\r\n\r\n", "NATS/1.0\r\nNats-TTL", "NATS/1.0\nA:b", "\n\n:\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		set := setHeader(nil, block, hdrTTL, "7")
		if v := headerValue(set, hdrTTL); string(v) != "7" {
			t.Fatalf("%q became %q, which has %q", block, set, v)
		}
		if again := setHeader(nil, set, hdrTTL, "7"); !bytes.Equal(again, set) {
			t.Fatalf("%q is set again to %q", set, again)
		}
		if rest := dropHeader(nil, set, hdrTTL); hasHeader(rest, hdrTTL) {
			t.Fatalf("%q without the header is %q", set, rest)
		}
	})
}

// FuzzDecodePublishState decodes the parts of a checkpoint that times to live and schedules have. What is taken is
// encoded to the same again.
func FuzzDecodePublishState(f *testing.F) {
	s := &state{first: 1, last: 100}
	s.ttl.heap.add(expiry{5e9, 7})
	s.ttl.heap.add(expiry{1e9, 8})
	s.ttl.pinned.add(9)
	s.timers.add(&timer{subject: "s.a", seq: 3, due: 1e9, pattern: "@every 5s"})
	s.timers.add(&timer{subject: "s.b", seq: 4, due: 2e9, pattern: "0 0 9 * * *", zone: "Europe/Berlin"})
	f.Add(s.timers.appendTo(s.ttl.appendTo(nil, s), s))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := &state{first: 1, last: 100}
		d := decoder{b: b}
		if got.ttl.decode(&d) != nil || got.timers.decode(&d) != nil {
			return
		}
		again := &state{first: 1, last: 100}
		d = decoder{b: got.timers.appendTo(got.ttl.appendTo(nil, got), got)}
		if again.ttl.decode(&d) != nil || again.timers.decode(&d) != nil || len(d.b) > 0 {
			t.Fatal("what was encoded cannot be decoded")
		}
		live := 0
		for _, e := range got.ttl.heap {
			if got.has(e.seq) {
				live++
			}
		}
		if len(again.ttl.heap) != live || again.ttl.pinned.n != got.ttl.pinned.n {
			t.Fatalf("%+v became %+v", got.ttl, again.ttl)
		}
		for _, x := range again.timers.bySeq {
			if y := got.timers.bySeq[x.seq]; y == nil || y.due != x.due || y.pattern != x.pattern {
				t.Fatalf("%+v became %+v", y, x)
			}
		}
	})
}

func TestExpireSeqsCommand(t *testing.T) {
	for _, seqs := range [][]uint64{nil, {1}, {1, 2, 3}, {5, 1 << 40, 1<<63 + 1}} {
		c, err := decodeCommand((&command{op: opExpireSeqs, seqs: seqs}).appendTo(nil))
		if err != nil || c.op != opExpireSeqs || !slices.Equal(c.seqs, seqs) {
			t.Errorf("%v became %+v, %v", seqs, c, err)
		}
	}
	if _, err := decodeCommand([]byte{byte(opExpireSeqs), 0x80}); err == nil {
		t.Error("a cut command was taken")
	}
}

// TestRollupTakesWholeSubject: a rollup removes every earlier message of its subject, with and without lists of them.
func TestRollupTakesWholeSubject(t *testing.T) {
	for perSubject, left := range map[int64]uint64{-1: 4, 1: 1, 5: 4} {
		cfg := ttlConfig()
		cfg.AllowRollup, cfg.MaxMsgsPerSubject = true, perSubject
		b := openBench(t, vfs.NewMem(), cfg, nil, nil)
		for range 4 {
			b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
		}
		if err := b.p.Delete(b.state().LastSeq - 1); err != nil {
			t.Fatal(err)
		}
		b.accept(testMsg{subject: "s.a", headers: []string{hdrRollup + ": sub"}})
		if st := b.state(); st.Subjects["s.a"] != 1 || st.Subjects["s.b"] != left {
			t.Errorf("%d per subject: %+v", perSubject, st)
		}
		b.close()
	}
}

func TestHeaderLines(t *testing.T) {
	block := storeHeader(nil, []byte("NATS/1.0 100 x\r\nA: b \r\nno colon\r\nA: c\r\nEmpty:\r\n\r\n"))
	if v := headerValue(block, "A"); string(v) != "b" {
		t.Errorf("A is %q", v)
	}
	if headerValue(block, "Empty") != nil || !hasHeader(block, "Empty") || hasHeader(block, "no colon") {
		t.Errorf("%q is read wrongly", block)
	}
	var r segment.Record
	if v := headerValue(r.Header, "A"); v != nil {
		t.Errorf("no block has %q", v)
	}
}
