package stream

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// A message that was deleted while the record of its delivery was on its way is not waited for after a crash.
func TestDeleteInFlightIsNotPendingAfterCrash(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MaxDeliver: 1})
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.a"}, testMsg{subject: "s.a"})
	b.pull("C", 3)
	deleted := make(chan struct{})
	if err := b.p.do(func() {
		b.p.command(&command{op: opDelete, seq: 2, done: func() { close(deleted) }})
		b.p.logProgress()
	}); err != nil {
		t.Fatal(err)
	}
	<-deleted
	fs := b.fs.CrashClone(rand.New(rand.NewPCG(1, 1)))
	b.close()
	for range 2 {
		b = b.reopen(fs)
		if info, err := b.p.ConsumerInfo("C"); err != nil || info.NumAckPending != 2 {
			t.Fatalf("%+v %v", info, err)
		}
		b.close()
	}
}

// An audit sees what is wrong with the books of a partition and mends what it can.
func TestAuditOfPartition(t *testing.T) {
	for _, tt := range []struct {
		want      string
		retention jsapi.Retention
		damage    func(p *Partition, m *member)
		mended    bool
	}{
		{"nothing", jsapi.LimitsRetention, func(p *Partition, m *member) {}, true},
		{"counted as ahead", jsapi.LimitsRetention, func(p *Partition, m *member) { m.c.SetBacklog(7) }, true},
		{"looked at at", jsapi.LimitsRetention, func(p *Partition, m *member) { p.sched.heap, m.due = nil, 0 }, true},
		{"no consumer needs it", jsapi.InterestRetention, func(p *Partition, m *member) { m.c.Resolved = nil }, false},
		{"will not be delivered", jsapi.WorkQueueRetention, func(p *Partition, m *member) { m.c.Resolved = nil }, false},
	} {
		for _, filter := range []string{"", "s.a"} {
			b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: tt.retention}, &clock{now: 1e9}, nil)
			b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: filter})
			b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.a"}, testMsg{subject: "s.a"})
			_, replies := b.pull("C", 2)
			if got := b.audit(); len(got) > 0 {
				t.Fatalf("%s: at first: %q", tt.want, got)
			}
			damage := func() {
				if err := b.p.do(func() { tt.damage(b.p, b.p.members.byName["C"]) }); err != nil {
					t.Fatal(err)
				}
			}
			damage()
			b.ackSync("C", replies[0])
			b.settled()
			damage() // again, where the acknowledgement has mended it
			got := b.audit()
			if tt.want != "nothing" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Fatalf("%q: found %q", tt.want, got)
			}
			if again := b.audit(); (len(again) == len(got)) != tt.mended {
				t.Errorf("%q: found again: %q", tt.want, again[len(got):])
			}
			b.hooks.faults = nil
			_ = b.p.Close()
		}
	}
}

// Audits come with checkpoints, and not more often than they should.
func TestAuditsComeWithCheckpoints(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	defer b.close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	audits := func() (n int) {
		b.hooks.mu.Lock()
		defer b.hooks.mu.Unlock()
		return b.hooks.audited
	}
	b.pub(testMsg{subject: "s.a"})
	if n := audits(); n != 0 {
		t.Fatalf("%d consumers audited at first", n)
	}
	b.checkpoint()
	if n := audits(); n != 1 {
		t.Fatalf("%d consumers audited with a checkpoint", n)
	}
	if err := b.p.do(func() {
		b.p.audits.last = b.p.now
		if b.p.auditSoon(); b.p.audits.due {
			t.Error("an audit right after the last one")
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// A message that comes before the place from which the only consumer wants some is not kept for it.
func TestInterestFromALaterSequence(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.InterestRetention}, &clock{now: 1e9}, nil)
	defer b.close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, DeliverPolicy: jsapi.DeliverByStartSequence, OptStartSeq: 3})
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.a"}, testMsg{subject: "s.a"}, testMsg{subject: "s.a"})
	if got := b.stored(); !slices.Equal(got, []uint64{3, 4}) {
		t.Fatalf("stored %v", got)
	}
	if seqs, _ := b.pull("C", 2); !slices.Equal(seqs, []uint64{3, 4}) {
		t.Fatalf("delivered %v", seqs)
	}
}

// However many consumers there are, an audit is short.
func BenchmarkAudit(b *testing.B) {
	bench := openBench(b, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, func(o *Options) { o.DefaultMaxConsumers = 1 << 20 })
	defer func() { _ = bench.p.Close() }()
	for range 2000 {
		bench.pub(testMsg{subject: "s.a"})
	}
	for i := range 1000 {
		name := "C" + time.Duration(i).String()
		bench.consumer(name, jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MemoryStorage: true, FilterSubject: "s.>", MaxAckPending: 1 << 20})
		if i < 100 {
			bench.pull(name, 2000)
		}
	}
	for b.Loop() {
		if err := bench.p.do(func() { bench.p.audit() }); err != nil {
			b.Fatal(err)
		}
	}
}
