package stream

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"godwit/protocol/jsapi"
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
	for busy := true; busy; runtime.Gosched() {
		b.inTurn(func() { busy = b.p.ckpt.saving })
	}
	want := b.all()
	r := openBench(t, mem.CrashClone(rand.New(rand.NewPCG(1, 1))), b.cfg, now, func(o *Options) { o.SegmentBytes, o.TailBytes = 4<<10, 4<<10 })
	if got := r.all(); !slices.Equal(got, want) || r.state().Msgs != 13 || r.state().NumSubjects != 13 {
		t.Fatalf("%+v\n%v\nwant\n%v", r.state(), got, want)
	}
	r.close()
	b.close()
}
