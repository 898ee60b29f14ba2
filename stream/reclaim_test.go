package stream

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// Keys that are written again and again take a bounded amount of disk, although one that is never written again comes first;
// and a power cut at any moment of giving space back loses nothing.
func TestDiskStaysBoundedBehindAnOldKey(t *testing.T) {
	now := &clock{now: 1e18}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1}, now, func(o *Options) { o.SegmentBytes, o.TailBytes = 16<<10, 4<<10 })
	defer func() { b.close() }()
	b.pub(testMsg{subject: "s.old", value: "for ever"})
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	value := strings.Repeat("v", 200)
	most := int64(0)
	for round := range 60 {
		for k := range 5 {
			var list []testMsg
			for i := range 20 {
				list = append(list, testMsg{subject: fmt.Sprint("s.", i), value: fmt.Sprint(value, " ", round, " ", k)})
			}
			b.pubs(list...)
		}
		b.checkpoint()
		if size := b.p.log.Bytes(); round > 10 {
			most = max(most, size)
		}
		if round%10 == 9 {
			r := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(uint64(round), 1))))
			if got, want := r.all(), b.all(); !slices.Equal(got, want) {
				t.Fatalf("round %d: after a power cut\n%v\nwant\n%v", round, got, want)
			}
			if seqs, _ := r.pull("C", 100); len(seqs) != 21 {
				t.Fatalf("round %d: delivered %v", round, seqs)
			}
			c, err := Check(Options{Dir: "/s/0", FS: b.fs, Key: [32]byte{1}, SegmentBytes: 16 << 10, TailBytes: 4 << 10, Config: b.cfg}, func(int64) {})
			if err != nil || len(c.Faults) > 0 {
				t.Fatalf("round %d: %+v %v", round, c.Faults, err)
			}
			r.close()
		}
	}
	if most > 120<<10 { // 60 rounds wrote 1.5 MB
		t.Errorf("the log grew to %d bytes", most)
	}
	if len(b.stored()) != 21 {
		t.Fatalf("stored %v", b.stored())
	}
	b.close()
	b = b.reopen(b.fs)
	if seqs, _ := b.pull("C", 100); len(seqs) != 21 || seqs[0] != 1 {
		t.Fatalf("delivered %v", seqs)
	}
}

// Messages that are deleted while a checkpoint is being written are not gone in what it holds: a power cut brings the log
// back to it, and the deletes are applied again.
func TestDeletesDuringACheckpointSurvive(t *testing.T) {
	now := &clock{now: 1e18}
	mem := vfs.NewMem()
	hold := make(chan struct{})
	var held atomic.Bool
	slow := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if held.Load() && op.Kind == vfs.OpOpen && strings.Contains(op.Path, ".checkpoint") {
			<-hold
		}
		return nil
	})
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) { o.FS, o.SegmentBytes, o.TailBytes = slow, 4<<10, 4<<10 })
	for i := range 60 {
		b.pub(testMsg{subject: fmt.Sprint("s.", i), value: strings.Repeat("v", 200)})
	}
	b.checkpoint()
	b.pub(testMsg{subject: "s.60", value: "v"})
	held.Store(true)
	for saving := false; !saving; {
		now.pass(2 * checkpointWait)
		b.p.box.wake()
		b.inTurn(func() { saving = b.p.ckpt.saving })
	}
	for seq := uint64(2); seq < 50; seq++ {
		if err := b.p.Delete(seq); err != nil {
			t.Fatal(err)
		}
	}
	held.Store(false)
	close(hold)
	b.rewritten()
	want := b.all()
	r := openBench(t, mem.CrashClone(rand.New(rand.NewPCG(1, 1))), b.cfg, now, func(o *Options) { o.SegmentBytes, o.TailBytes = 4<<10, 4<<10 })
	if got := r.all(); !slices.Equal(got, want) || r.state().Msgs != 13 || r.state().NumSubjects != 13 {
		t.Fatalf("%+v\n%v\nwant\n%v", r.state(), got, want)
	}
	r.close()
	b.close()
}

// Keys that are written rarely lie among others that are overwritten all the time: the segments in which little is left are
// rewritten, so that disk use converges, whatever moment the power goes at. Compressed streams do the same.
func TestDiskStaysBoundedAmongColdKeys(t *testing.T) {
	for _, compression := range []jsapi.Compression{jsapi.NoCompression, jsapi.S2Compression} {
		now := &clock{now: 1e18}
		cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1, Compression: compression}
		b := openBench(t, vfs.NewMem(), cfg, now, func(o *Options) {
			o.SegmentBytes, o.TailBytes, o.Pace = 16<<10, 4<<10, segment.NewPace(1<<40)
		})
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		rng := rand.New(rand.NewPCG(1, 1))
		value := func() string { // hardly compressible
			v := make([]byte, 200)
			for i := range v {
				v[i] = byte(' ' + rng.IntN(90))
			}
			return string(v)
		}
		late := int64(0)
		for round := range 150 {
			var list []testMsg
			for i := range 40 {
				list = append(list, testMsg{subject: fmt.Sprint("s.hot", i%20), value: value()})
			}
			list[rng.IntN(40)].subject = fmt.Sprint("s.cold", round%50)
			b.pubs(list...)
			b.checkpoint()
			b.rewritten()
			if round >= 100 {
				late = max(late, b.p.log.Bytes())
			}
			if round%10 == 9 {
				b.sameAfterPowerCut(uint64(round))
			}
		}
		if stored := b.state().Bytes; late > 6*int64(stored) || late < int64(stored)/4 {
			t.Errorf("%d bytes are stored, the log grew to %d", stored, late) // 150 rounds wrote 1.2 MB
		}
		b.close()
	}
}

// sameAfterPowerCut opens what a power cut would leave now, and compares what is stored and delivered.
func (b *bench) sameAfterPowerCut(seed uint64) {
	b.t.Helper()
	fs := b.fs.CrashClone(rand.New(rand.NewPCG(seed, 2)))
	r := b.reopen(fs)
	if got, want := r.all(), b.all(); !slices.Equal(got, want) {
		b.t.Fatalf("seed %d: after a power cut\n%v\nwant\n%v", seed, got, want)
	}
	if seqs, _ := r.pull("C", 100); len(seqs) != len(b.stored()) {
		b.t.Fatalf("seed %d: delivered %v, stored %v", seed, seqs, b.stored())
	}
	r.close()
	c, err := Check(Options{Dir: "/s/0", FS: fs, Key: [32]byte{1}, SegmentBytes: 16 << 10, TailBytes: 4 << 10, Config: b.cfg}, func(int64) {})
	if err != nil || len(c.Faults) > 0 {
		b.t.Fatalf("seed %d: %+v %v", seed, c, err)
	}
}

// rewritten waits until no checkpoint is being written and no segment rewritten.
func (b *bench) rewritten() {
	b.t.Helper()
	for busy := true; busy; runtime.Gosched() {
		b.inTurn(func() { busy = b.p.reclaim.running || b.p.ckpt.saving })
	}
}

// A log that grows by what consumers do alone does not keep it.
func TestDiskStaysBoundedWhileConsumersWork(t *testing.T) {
	now := &clock{now: 1e18}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) { o.SegmentBytes, o.TailBytes = 4<<10, 4<<10 })
	defer func() { b.close() }()
	for i := range 20 {
		b.pub(testMsg{subject: "s.a", value: strings.Repeat("v", i)})
	}
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	most, written := int64(0), uint64(0)
	for range 300 {
		_, replies := b.pull("C", 20)
		batch := NewAckBatch(b.handle("C"))
		for _, r := range replies {
			batch.Add([]byte(r), nil, []byte("-NAK"))
		}
		b.p.Ack(batch, true)
		now.pass(progressEvery)
		b.checkpoint()
		most = max(most, b.p.log.Bytes())
	}
	b.inTurn(func() { written = b.p.index })
	if most > 32<<10 || written < 300 {
		t.Errorf("after %d batches the log grew to %d bytes", written, most)
	}
	b = b.restart(true)
	if seqs, _ := b.pull("C", 30); len(seqs) != 20 {
		t.Fatalf("delivered %v", seqs)
	}
}

// The segment that the stream begins with is rewritten too, unless it is about to be dropped anyway; and a disk without room
// for that is no damage.
func TestFirstSegmentIsRewritten(t *testing.T) {
	now := &clock{now: 1e18}
	var full atomic.Bool
	mem := vfs.NewMem()
	fsys := vfs.Inject(mem, func(op vfs.Op) *vfs.Fault {
		if full.Load() && op.Kind == vfs.OpWrite && strings.HasSuffix(op.Path, ".log.tmp") {
			return &vfs.Fault{Err: syscall.ENOSPC}
		}
		return nil
	})
	pace := segment.NewPace(1 << 40)
	b := openBench(t, mem, jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1}, now, func(o *Options) {
		o.FS, o.SegmentBytes, o.TailBytes, o.Pace = fsys, 64<<10, 4<<10, pace
	})
	defer func() { b.close() }()
	full.Store(true)
	value := strings.Repeat("v", 1000)
	b.pub(testMsg{subject: "s.cold", value: "for ever"})
	for range 130 {
		b.pub(testMsg{subject: "s.hot", value: value})
	}
	b.checkpoint() // sees where the stream begins
	b.rewritten()
	b.pub(testMsg{subject: "s.hot", value: value})
	b.checkpoint() // and that it still does
	b.rewritten()
	if n, _, failed := pace.Rewritten(); n > 0 || failed == 0 {
		t.Fatalf("%d segments rewritten on a full disk, %d failures", n, failed)
	}
	before := b.p.log.Bytes()
	full.Store(false)
	b.pub(testMsg{subject: "s.hot", value: value})
	b.checkpoint()
	b.rewritten()
	if after := b.p.log.Bytes(); after > before-60<<10 {
		t.Errorf("%d bytes were %d before", after, before)
	}
	if got := b.all(); len(got) != 2 {
		t.Fatalf("%v", got)
	}
}

// More sparse segments than are rewritten after one checkpoint are all done, although nothing is appended any more.
func TestRewritingGoesOnWithoutAppends(t *testing.T) {
	now := &clock{now: 1e18}
	pace := segment.NewPace(1 << 40)
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) {
		o.SegmentBytes, o.TailBytes, o.Pace = 4<<10, 4<<10, pace
	})
	defer func() { b.close() }()
	const segments = 3 * rewriteMost
	for range segments + 2 {
		b.pubs(testMsg{subject: "s.keep", value: "v"}, testMsg{subject: "s.go", value: strings.Repeat("v", 3000)})
	}
	b.checkpoint()
	if _, err := b.p.Purge(&jsapi.PurgeRequest{Subject: "s.go"}); err != nil {
		t.Fatal(err)
	}
	b.checkpoint()
	for done := uint64(0); done < segments-2; done, _, _ = pace.Rewritten() {
		b.rewritten()
		b.p.box.wake()
	}
	if got := b.p.log.Bytes(); got > segments*300 {
		t.Errorf("%d bytes are left", got)
	}
	if st := b.state(); st.Msgs != segments+2 {
		t.Fatalf("%+v", st)
	}
}

// What a crash left to be rewritten is rewritten after the next start, although nothing is appended.
func TestRewritingIsResumed(t *testing.T) {
	now := &clock{now: 1e18}
	pace := segment.NewPace(1 << 40)
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, func(o *Options) {
		o.SegmentBytes, o.TailBytes, o.Pace = 16<<10, 4<<10, pace
	})
	for range 100 {
		b.pubs(testMsg{subject: "s.keep", value: "v"}, testMsg{subject: "s.go", value: strings.Repeat("v", 1000)})
	}
	if _, err := b.p.Purge(&jsapi.PurgeRequest{Subject: "s.go"}); err != nil {
		t.Fatal(err)
	}
	r := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 1))))
	b.close()
	before := r.p.log.Bytes()
	for n := uint64(0); n < 3; n, _, _ = pace.Rewritten() {
		r.rewritten()
		now.pass(checkpointWait)
		r.p.box.wake()
	}
	r.rewritten()
	if after := r.p.log.Bytes(); after > before/2 || r.state().Msgs != 100 {
		t.Errorf("%d bytes were %d before, %+v", after, before, r.state())
	}
	r.close()
}

// What is not needed any more does not fill the disk until a segment of the usual size is full.
func TestDiskStaysBoundedInTheFirstSegment(t *testing.T) {
	for name, cfg := range map[string]jsapi.StreamConfig{
		"newest of each subject": {MaxMsgsPerSubject: 1},
		"newest messages":        {MaxMsgs: 10},
		"newest bytes":           {MaxBytes: 500_000},
		"work queue":             {Retention: jsapi.WorkQueueRetention},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Name, cfg.Subjects = "S", []string{"s.>"}
			b := openBench(t, vfs.NewMem(), cfg, &clock{now: 1e18}, func(o *Options) { o.SegmentBytes = 256 << 20 })
			defer func() { b.close() }()
			b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
			most := int64(0)
			for round := range 20 {
				for i := range 40 {
					b.accept(testMsg{subject: fmt.Sprint("s.", i%10), value: strings.Repeat("x", 50_000)})
				}
				if cfg.Retention == jsapi.WorkQueueRetention {
					_, replies := b.pull("C", 40)
					b.ackSync("C", replies...)
				}
				b.checkpoint()
				if round == 10 {
					b = b.restart(true)
				}
				most = max(most, b.p.log.Bytes())
			}
			if most > 10<<20 { // 40 MB were written
				t.Errorf("the log grew to %d bytes", most)
			}
		})
	}
}
