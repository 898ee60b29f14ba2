package segment

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"godwit/stream/vfs"
)

// manySegments returns a log with a checkpoint at its end, what is in it, and the segments that can be rewritten.
func manySegments(t *testing.T, fsys vfs.FS) (*writer, Options, []Inner) {
	t.Helper()
	o := testOptions(fsys)
	o.Pace = NewPace(1 << 40)
	w, _ := openWriter(t, o)
	w.next, w.packed = 1, true
	for i := range 200 {
		must(t, w.append(text(i, 20), text(i+1, 300), text(i+2, 50)))
		if i%7 == 0 {
			must(t, w.command(text(i, 100)))
		}
		w.flush(t, true)
	}
	must(t, w.log.SaveCheckpoint(w.index, []byte("state")))
	inner := w.log.Inner(w.index)
	if len(inner) < 4 {
		t.Fatalf("only %d segments", len(inner))
	}
	return w, o, inner
}

// readWanted reads what is live by a cursor and by sequence, and looks for it by time.
func readWanted(l *Log, want []message, live func(seq uint64) bool) error {
	c := l.NewCursor(0)
	var r Record
	at := 0
	for {
		seq, time, ok, err := c.Next(math.MaxUint64, &r)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if !live(seq) {
			continue
		}
		if at == len(want) || want[at].seq != seq {
			return fmt.Errorf("got %d at place %d", seq, at)
		}
		if err := want[at].check(time, &r); err != nil {
			return err
		}
		at++
		if seq%5 == 0 {
			c.Release()
		}
	}
	if at != len(want) {
		return fmt.Errorf("%d of %d messages", at, len(want))
	}
	for i := range want {
		time, err := l.Read(want[i].seq, &r)
		if err == nil {
			err = want[i].check(time, &r)
		}
		if err != nil {
			return fmt.Errorf("read %d: %w", want[i].seq, err)
		}
		if at := l.SeqAt(want[i].time); at > want[i].seq {
			return fmt.Errorf("message %d of time %d, but the first at that time is %d", want[i].seq, want[i].time, at)
		}
	}
	return nil
}

// TestRewriteBesideReaders rewrites segments again and again while others read all that is to stay.
func TestRewriteBesideReaders(t *testing.T) {
	w, o, inner := manySegments(t, vfs.NewMem())
	live := func(seq uint64) bool { return seq%17 == 3 }
	var want []message
	for _, m := range w.messages {
		if live(m.seq) {
			want = append(want, m)
		}
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !done.Load() {
				if err := readWanted(w.log, want, live); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	before := w.log.Bytes()
	for keep := uint64(2); keep <= 16; keep *= 2 {
		dead := func(seq uint64) bool { return !live(seq) && seq%16 >= 16/keep }
		for _, s := range inner {
			if _, err := w.log.Rewrite(Rewriting{s.Serial, w.index, dead, 1, false}, nil); err != nil && !errors.Is(err, ErrNotWorth) {
				t.Error(err)
			}
		}
	}
	done.Store(true)
	wg.Wait()
	if got := w.log.Bytes(); got > before/2 {
		t.Errorf("%d bytes were %d before", got, before)
	}
	must(t, readWanted(w.log, want, live))
	must(t, w.log.Close())
	again, report, err := Open(o)
	must(t, err)
	if len(report.Damage) > 0 {
		t.Fatalf("%+v", report)
	}
	must(t, readWanted(again, want, live))
	v, err := again.Verify(o.FS, func(int64) {})
	if err != nil || len(v.Faults) > 0 {
		t.Fatalf("%+v %v", v, err)
	}
	must(t, again.Close())
}

// TestRewriteThenLoseTheCheckpoints: without checkpoints a log with rewritten segments is scanned from the beginning, and no
// gap in it is taken for damage.
func TestRewriteThenLoseTheCheckpoints(t *testing.T) {
	fsys := vfs.NewMem()
	w, o, inner := manySegments(t, fsys)
	dead := func(seq uint64) bool { return seq%50 != 0 }
	for _, s := range inner {
		if _, err := w.log.Rewrite(Rewriting{s.Serial, w.index, dead, 1, false}, nil); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.log.Close())
	list, err := fsys.ReadDir(o.Dir)
	must(t, err)
	for _, e := range list {
		if _, ok := parseCheckpointName(e.Name); ok {
			must(t, fsys.Remove(o.Dir+"/"+e.Name))
		}
	}
	l, report, err := Open(o)
	must(t, err)
	if len(report.Damage) > 0 || report.Cut > 0 || l.LastIndex() != w.index || l.NextSeq() != w.next {
		t.Fatalf("%+v, ends at %d and %d", report, l.LastIndex(), l.NextSeq())
	}
	must(t, compareLive(l, w.messages, dead))
	must(t, l.Close())
}

// TestRewriteStops: it ends when it is told to, refuses what is not worth it, and leaves a damaged segment alone.
func TestRewriteStops(t *testing.T) {
	fsys := vfs.NewMem()
	w, o, inner := manySegments(t, fsys)
	most := func(seq uint64) bool { return seq%50 != 0 }
	few := func(seq uint64) bool { return seq%50 == 0 }
	stop := make(chan struct{})
	close(stop)
	r := Rewriting{inner[1].Serial, w.index, most, 1, false}
	if _, err := w.log.Rewrite(r, stop); !errors.Is(err, ErrClosed) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := w.log.Rewrite(Rewriting{inner[1].Serial, w.index, few, 1, false}, nil); !errors.Is(err, ErrNotWorth) {
		t.Errorf("little to gain: %v", err)
	}
	if _, err := w.log.Rewrite(Rewriting{inner[1].Serial, 1, most, 1, false}, nil); !errors.Is(err, ErrNotWorth) {
		t.Errorf("not reflected in a checkpoint: %v", err)
	}
	s := w.log.bySerial(r.Serial)
	s.shut()
	change(t, fsys, s.logPath(), func(b []byte) []byte { b[5000] ^= 1; return b })
	var damage *CorruptError
	if _, err := w.log.Rewrite(r, nil); !errors.As(err, &damage) {
		t.Errorf("damaged: %v", err)
	}
	list, err := fsys.ReadDir(o.Dir)
	must(t, err)
	for _, e := range list {
		if strings.HasSuffix(e.Name, ".tmp") {
			t.Errorf("%s was left", e.Name)
		}
	}
	must(t, w.log.Close())
	if _, err := w.log.Rewrite(r, nil); err == nil {
		t.Error("a closed log was rewritten")
	}
}

// TestPaceBounds: what is taken beyond the burst waits, and a stop ends the wait.
func TestPaceBounds(t *testing.T) {
	p := NewPace(paceBurst * 100)
	start := time.Now()
	for range 5 {
		if !p.take(paceBurst, nil) {
			t.Fatal("stopped by nobody")
		}
	}
	if took := time.Since(start); took < 35*time.Millisecond {
		t.Errorf("five bursts at 100 a second took %v", took)
	}
	stop := make(chan struct{})
	time.AfterFunc(time.Millisecond, func() { close(stop) })
	if NewPace(1).take(1<<30, stop) {
		t.Error("the stop was not seen")
	}
}

// TestPowerCutWhileRewriting cuts the power before every write, sync, rename and removal while segments are given up and
// rewritten: whatever is left opens without damage, holds what is needed, and gives "godwit check" nothing to find.
func TestPowerCutWhileRewriting(t *testing.T) {
	disk := vfs.NewMem()
	var on atomic.Bool
	var mu sync.Mutex
	var clones []*vfs.Mem
	kinds := map[vfs.OpKind]int{}
	w, o, inner := manySegments(t, vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
		if !on.Load() || op.Kind == vfs.OpRead || op.Kind == vfs.OpStat || op.Kind == vfs.OpReadDir {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		kinds[op.Kind]++
		for range 3 {
			clones = append(clones, disk.CrashClone(rand.New(rand.NewPCG(uint64(len(clones)), 3))))
		}
		return nil
	}))
	must(t, w.append("one more")) // so that the checkpoint before reflects less
	w.flush(t, true)
	given := inner[2]
	live := func(seq uint64) bool { return (seq < given.First || seq > given.Last) && seq%17 == 3 }
	dead := func(seq uint64) bool { return !live(seq) && seq <= inner[len(inner)-1].Last }
	on.Store(true)
	must(t, w.log.SaveCheckpointWithout(w.index, []byte("state"), map[uint64]bool{given.Serial: true}))
	for _, s := range inner {
		if _, err := w.log.Rewrite(Rewriting{s.Serial, w.index, dead, 1, false}, nil); err != nil && s != given {
			t.Fatal(err)
		}
	}
	must(t, w.append("after it")) // beside tail blocks that went
	w.flush(t, true)
	must(t, w.log.SaveCheckpoint(w.index, []byte("state")))
	on.Store(false)
	must(t, w.log.Close())
	for _, k := range []vfs.OpKind{vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpRemove, vfs.OpSyncDir} {
		if kinds[k] == 0 {
			t.Errorf("no operation of kind %d", k)
		}
	}
	for i, fsys := range clones {
		over := vfs.NewOverlay(fsys)
		p := o
		p.FS = over
		l, report, err := Open(p)
		must(t, err)
		v, err := l.Verify(fsys, func(int64) {})
		if err != nil || len(v.Faults)+len(report.Damage) > 0 {
			t.Fatalf("cut %d: %+v %+v %v", i, report, v, err)
		}
		must(t, l.Close())
		over.Close()
		p.FS = fsys
		l, report, err = Open(p)
		must(t, err)
		if len(report.Damage) > 0 {
			t.Fatalf("cut %d: %+v", i, report)
		}
		if err := compareLive(l, w.messages[:l.NextSeq()-1], dead); err != nil {
			t.Fatalf("cut %d: %v", i, err)
		}
		must(t, l.Close())
	}
	t.Logf("%d cuts", len(clones))
}

// TestRewrittenHeadIsMended: the head of a rewritten segment that is damaged is made again so that a scan from the
// beginning still takes no gap for damage.
func TestRewrittenHeadIsMended(t *testing.T) {
	fsys := vfs.NewMem()
	w, o, inner := manySegments(t, fsys)
	dead := func(seq uint64) bool { return seq%50 != 0 }
	for _, s := range inner {
		if _, err := w.log.Rewrite(Rewriting{s.Serial, w.index, dead, 1, false}, nil); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.log.SaveCheckpoint(w.index, []byte("state")))
	path := w.log.bySerial(inner[1].Serial).logPath()
	must(t, w.log.Close())
	change(t, fsys, path, func(b []byte) []byte { b[90] ^= 1; return b })
	l, _, err := Open(o)
	must(t, err)
	v, err := l.Verify(fsys, func(int64) {})
	must(t, err)
	if len(v.Faults) != 1 || !v.Faults[0].Derived || v.Faults[0].Path != path {
		t.Fatalf("found %+v", v.Faults)
	}
	must(t, l.Mend())
	must(t, l.Close())
	list, err := fsys.ReadDir(o.Dir)
	must(t, err)
	for _, e := range list {
		if _, ok := parseCheckpointName(e.Name); ok {
			must(t, fsys.Remove(o.Dir+"/"+e.Name))
		}
	}
	l, report, err := Open(o)
	must(t, err)
	if len(report.Damage) > 0 || l.NextSeq() != w.next {
		t.Fatalf("%+v, ends at %d", report, l.NextSeq())
	}
	must(t, compareLive(l, w.messages, dead))
	must(t, l.Close())
}
