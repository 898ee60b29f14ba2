package stream

import (
	"fmt"
	"math"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// A stream that was purged up to the last sequences says that none are left, and goes on otherwise.
func TestPurgeThatLeavesNoSequences(t *testing.T) {
	for _, to := range []uint64{math.MaxUint64, math.MaxUint64 - 1, seqEnd} {
		cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowAtomicPublish: true, AllowRollup: true}
		b := openBench(t, vfs.NewMem(), cfg, &clock{now: 1e9}, nil)
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		b.pub(testMsg{subject: "s.a"})
		if _, err := b.p.Purge(&jsapi.PurgeRequest{Sequence: to}); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			for _, m := range []testMsg{{subject: "s.a"}, {subject: "s.a", headers: []string{"Nats-Rollup: sub"}},
				{subject: "s.a", headers: []string{"Nats-Batch-Id: x", "Nats-Batch-Sequence: 1", "Nats-Batch-Commit: 1"}}} {
				ack := b.pub(m)
				if ack.Error == nil || ack.Error.Code != jsapi.ErrStreamStoreFailed || ack.Error.Description != "no sequences are left" {
					t.Errorf("purged to %d, round %d, %v: %+v %v", to, round, m.headers, ack, ack.Error)
				}
			}
			if err := b.p.Skip(math.MaxUint64); err == nil {
				t.Error("a copy skipped to the end")
			}
			if st := b.state(); st.FirstSeq != to || st.LastSeq != to-1 || st.Msgs != 0 {
				t.Errorf("purged to %d: %+v", to, st)
			}
			b.consumer(fmt.Sprint("D", round), jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit}) // the log still takes something
			if _, err := b.p.Purge(&jsapi.PurgeRequest{}); err != nil {
				t.Error(err)
			}
			if b.hooks.failed != nil {
				t.Fatal(b.hooks.failed)
			}
			b.close()
			b = b.reopen(b.fs)
		}
		b.close()
	}
}

// Messages get sequences up to the last one there is.
func TestLastSequences(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, FirstSeq: seqEnd - 2}, &clock{now: 1e9}, nil)
	defer func() { b.close() }()
	for _, want := range []uint64{seqEnd - 2, seqEnd - 1, 0} {
		if ack := b.pub(testMsg{subject: "s.a"}); ack.Sequence != want || (ack.Error != nil) != (want == 0) {
			t.Fatalf("%+v, want %d", ack, want)
		}
	}
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.*"})
	if seqs, _ := b.pull("C", 5); len(seqs) != 2 || seqs[1] != seqEnd-1 {
		t.Fatalf("delivered %v", seqs)
	}
	b.close()
	b = b.reopen(b.fs)
	if st := b.state(); st.FirstSeq != seqEnd-2 || st.LastSeq != seqEnd-1 || st.Msgs != 2 {
		t.Fatalf("%+v", st)
	}
}
