package segment

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"godwit/stream/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFailureIsFinal makes one operation fail once, after which all would succeed again.
func TestFailureIsFinal(t *testing.T) {
	cases := []struct {
		name   string
		kind   vfs.OpKind
		ext    string // of the file
		after  int    // operations of that kind on such files that succeed
		policy SyncPolicy
		alone  bool
		fault  vfs.Fault
	}{
		{"sync inline", vfs.OpSync, extLog, 2, SyncAlways, true, vfs.Fault{Err: syscall.EIO, Lose: true}},
		{"sync by the scheduler", vfs.OpSync, extLog, 2, SyncAlways, false, vfs.Fault{Err: syscall.EIO, Lose: true}},
		{"first sync", vfs.OpSync, extLog, 0, SyncAlways, true, vfs.Fault{Err: syscall.EIO, Lose: true}},
		{"sync of the directory", vfs.OpSyncDir, "", 1, SyncAlways, true, vfs.Fault{Err: syscall.EIO}},
		{"creation", vfs.OpOpen, extLog, 0, SyncAlways, false, vfs.Fault{Err: syscall.EIO}},
		{"write", vfs.OpWrite, extLog, 3, SyncAlways, false, vfs.Fault{Err: syscall.EIO, Keep: 10}},
		{"lazy write", vfs.OpWrite, extLog, 3, SyncOS, false, vfs.Fault{Err: syscall.EIO, Keep: 10}},
		{"lazy sync", vfs.OpSync, extLog, 0, SyncInterval, false, vfs.Fault{Err: syscall.EIO, Lose: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			disk := vfs.NewMem()
			var count, failed atomic.Int32
			o := testOptions(vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
				if op.Kind != c.kind || filepath.Ext(op.Path) != c.ext || op.Kind == vfs.OpSyncDir && op.Path != "/data/p0" {
					return nil
				}
				if op.Kind == vfs.OpWrite && op.Len%1024 == 0 { // zeros written ahead
					return nil
				}
				if int(count.Add(1)) == c.after+1 {
					f := c.fault
					failed.Add(1)
					return &f
				}
				return nil
			}))
			o.Sync, o.SyncEvery = c.policy, time.Millisecond
			o.SegmentBytes = 64 << 20 // one is enough: zeros are written ahead in each
			var durable durableWatch
			var failures atomic.Int32
			failure := make(chan error, 1)
			o.OnDurable = durable.set
			o.OnFailure = func(err error) { failures.Add(1); failure <- err }
			w, _ := openWriter(t, o)
			var err error
			for err == nil && failed.Load() == 0 {
				if err = w.append(text(1, 100)); err == nil {
					if w.index == 1 {
						w.log.active.zero.off = true // its syncs are not to be counted
					}
					_, err = w.log.Flush(c.alone)
				}
			}
			cause := <-failure
			if !errors.Is(cause, c.fault.Err) {
				t.Fatalf("cause %v", cause)
			}
			at := durable.index.Load()
			for range 5 {
				if err := w.append("more"); !errors.Is(err, ErrFailed) || !errors.Is(err, c.fault.Err) {
					t.Fatalf("append after failure: %v", err)
				}
				if ok, err := w.log.Flush(true); ok || !errors.Is(err, ErrFailed) {
					t.Fatalf("flush after failure: %v %v", ok, err)
				}
				if err := w.log.SaveCheckpoint(1, nil); !errors.Is(err, ErrFailed) {
					t.Fatalf("checkpoint after failure: %v", err)
				}
			}
			before := count.Load()
			if err := w.log.Close(); !errors.Is(err, ErrFailed) {
				t.Fatalf("close after failure: %v", err)
			}
			if n := count.Load(); n != before {
				t.Fatalf("%d operations after the failure", n-before)
			}
			if durable.index.Load() != at || failures.Load() != 1 || w.log.Durable() != at {
				t.Fatalf("durable %d, was %d, %d failures", durable.index.Load(), at, failures.Load())
			}
			// What was reported survives the power cut that follows such a failure often.
			for seed := range uint64(20) {
				o := testOptions(disk.CrashClone(rand.New(rand.NewPCG(seed, 0))))
				l, report, err := Open(o)
				must(t, err)
				if len(report.Damage) > 0 || l.LastIndex() < at {
					t.Fatalf("%+v, ends at %d, durable was %d", report, l.LastIndex(), at)
				}
				must(t, l.Close())
			}
		})
	}
}

// TestFailedCheckpointLeavesTheLog makes each step of saving a checkpoint fail.
func TestFailedCheckpointLeavesTheLog(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpOpen, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir} {
		disk := vfs.NewMem()
		var fail atomic.Bool
		o := testOptions(vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
			if fail.Load() && op.Kind == kind && filepath.Ext(op.Path) != extLog {
				return &vfs.Fault{Err: syscall.ENOSPC}
			}
			return nil
		}))
		w, _ := openWriter(t, o)
		must(t, w.append("one"))
		w.flush(t, true)
		must(t, w.log.SaveCheckpoint(1, []byte("first")))
		must(t, w.append("two"))
		w.flush(t, true)
		fail.Store(true)
		if err := w.log.SaveCheckpoint(2, []byte("second")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("kind %d: %v", kind, err)
		}
		fail.Store(false)
		must(t, w.append("three"))
		w.flush(t, true)
		must(t, w.log.Close())
		var restored string
		o.Restore = func(_ uint64, b []byte) error { restored = string(b); return nil }
		l, report, err := Open(o)
		must(t, err)
		if len(report.Damage) > 0 || restored != "first" && (kind != vfs.OpSyncDir || restored != "second") {
			t.Fatalf("kind %d: %q %+v", kind, restored, report)
		}
		checkAll(t, l, w.messages)
		must(t, l.Close())
	}
}

// TestReadErrorIsNoEnd makes the disk refuse to read.
func TestReadErrorIsNoEnd(t *testing.T) {
	var fail atomic.Bool
	o := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) *vfs.Fault {
		if fail.Load() && op.Kind == vfs.OpRead {
			return &vfs.Fault{Err: syscall.EIO}
		}
		return nil
	}))
	w, _ := openWriter(t, o)
	must(t, w.append("one"))
	must(t, w.log.Close())
	w2, _ := openWriter(t, o)
	fail.Store(true)
	var r Record
	c := w2.log.NewCursor(1)
	if _, _, ok, err := c.Next(1, &r); ok || !errors.Is(err, syscall.EIO) {
		t.Fatalf("%v %v", ok, err)
	}
	if _, _, err := Open(o); !errors.Is(err, syscall.EIO) {
		t.Fatalf("open: %v", err)
	}
	fail.Store(false)
	if seq, _, ok, err := c.Next(1, &r); seq != 1 || !ok || err != nil {
		t.Fatalf("%d %v %v", seq, ok, err)
	}
	must(t, w2.log.Close())
}

// TestFlippedReadIsNotServed lets the disk return a wrong bit once, and the right one later.
func TestFlippedReadIsNotServed(t *testing.T) {
	var flip atomic.Bool
	o := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) *vfs.Fault {
		if op.Kind == vfs.OpRead && op.Len > 500 && flip.Load() {
			return &vfs.Fault{Flip: 8 * 700}
		}
		return nil
	}))
	w, _ := openWriter(t, o)
	must(t, w.append(text(0, 1000)))
	must(t, w.append("two"))
	must(t, w.log.Close())
	w2, _ := openWriter(t, o)
	flip.Store(true)
	var r Record
	c := w2.log.NewCursor(1)
	var corrupt *CorruptError
	for range 2 { // it stands there until skipped
		if _, _, ok, err := c.Next(9, &r); ok || !errors.As(err, &corrupt) || corrupt.Position != segmentHeadBytes {
			t.Fatalf("%v %v", ok, err)
		}
	}
	if _, err := w2.log.Read(1, &r); !errors.As(err, &corrupt) {
		t.Fatal(err)
	}
	flip.Store(false)
	c.Skip()
	if seq, _, ok, err := c.Next(9, &r); seq != 2 || !ok || err != nil {
		t.Fatalf("%d %v %v", seq, ok, err)
	}
	c.Seek(1)
	if seq, _, ok, err := c.Next(9, &r); seq != 1 || !ok || err != nil {
		t.Fatalf("%d %v %v", seq, ok, err)
	}
	must(t, w2.log.Close())
}

func TestSyncInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions(vfs.NewMem())
		o.Sync, o.SyncEvery = SyncInterval, time.Second
		var durable durableWatch
		o.OnDurable = durable.set
		w, _ := openWriter(t, o)
		for round := range 3 {
			must(t, w.append("one"))
			if ok, err := w.log.Flush(true); !ok || err != nil {
				t.Fatalf("%v %v", ok, err)
			}
			time.Sleep(time.Second / 2)
			must(t, w.append("two"))
			w.flush(t, true)
			time.Sleep(time.Second/2 - 1)
			synctest.Wait()
			if d := durable.index.Load(); d != uint64(2*round) {
				t.Fatalf("round %d: durable %d too early", round, d)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if d := durable.index.Load(); d != uint64(2*round+2) || w.log.Durable() != d {
				t.Fatalf("round %d: durable %d", round, d)
			}
			time.Sleep(time.Minute)
		}
		must(t, w.log.Close())
	})
}

// TestGroupCommit holds a sync up while batches arrive: they become durable together with the next one.
func TestGroupCommit(t *testing.T) {
	var syncs, writes atomic.Int32
	hold, held := make(chan struct{}), make(chan struct{}, 100)
	o := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) *vfs.Fault {
		if filepath.Ext(op.Path) == extLog {
			switch op.Kind {
			case vfs.OpSync:
				syncs.Add(1)
				held <- struct{}{}
				<-hold
			case vfs.OpWrite:
				writes.Add(1)
			}
		}
		return nil
	}))
	o.SegmentBytes, o.TailBytes = 1<<20, 1<<20
	durable := make(chan uint64, 100)
	o.OnDurable = func(index uint64) { durable <- index }
	w, _ := openWriter(t, o)
	big := text(0, 40<<10)
	must(t, w.append(big))
	w.log.active.zero.off = true
	if ok, err := w.log.Flush(false); ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	<-held
	for i := range 20 {
		must(t, w.append(text(i, 10)))
		if ok, err := w.log.Flush(true); ok || err != nil { // not inline: a sync is under way
			t.Fatalf("%v %v", ok, err)
		}
	}
	must(t, w.append(big))
	w.flush(t, true)
	hold <- struct{}{}
	if d := <-durable; d != 1 {
		t.Fatalf("durable %d", d)
	}
	<-held
	hold <- struct{}{}
	if d := <-durable; d != 22 {
		t.Fatalf("durable %d", d)
	}
	if s, n := syncs.Load(), writes.Load(); s != 2 || n > 4 { // the head, and two blocks at most
		t.Fatalf("%d syncs, %d writes", s, n)
	}
	close(hold)
	must(t, w.log.Close())
}

// TestFlushWaitsAtTheBound fills the log faster than the disk takes it.
func TestFlushWaitsAtTheBound(t *testing.T) {
	hold := make(chan struct{})
	var once sync.Once
	o := testOptions(vfs.Inject(vfs.NewMem(), func(op vfs.Op) *vfs.Fault {
		if op.Kind == vfs.OpSync && filepath.Ext(op.Path) == extLog {
			<-hold
		}
		return nil
	}))
	o.SegmentBytes = 1 << 20
	w, _ := openWriter(t, o)
	w.log.maxUnwritten = 128 << 10
	done := make(chan struct{})
	var appended atomic.Int64
	go func() {
		defer close(done)
		for range 40 {
			if w.append(text(0, 30<<10)) != nil {
				return
			}
			appended.Add(30 << 10)
			if _, err := w.log.Flush(false); err != nil {
				return
			}
		}
	}()
	defer once.Do(func() { close(hold) })
	for appended.Load() < w.log.maxUnwritten {
		time.Sleep(time.Millisecond) // it must get there
	}
	// One piece is being synced, one waits, and the next is held in Flush.
	if n := appended.Load(); n > 3*w.log.maxUnwritten {
		t.Fatalf("%d bytes appended", n)
	}
	select {
	case <-done:
		t.Fatal("flush does not wait")
	case <-time.After(20 * time.Millisecond):
	}
	once.Do(func() { close(hold) })
	<-done
	checkAll(t, w.log, w.messages)
	must(t, w.log.Close())
}
