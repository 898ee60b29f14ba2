package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"godwit/stream/vfs"
)

// fullDisk is a memory file system that has no room while full is set. A write that does not fit leaves a part.
func fullDisk(full *atomic.Bool) (*vfs.Mem, vfs.FS) {
	disk := vfs.NewMem()
	return disk, vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
		if !full.Load() || filepath.Ext(op.Path) == ".checkpoint" {
			return nil
		}
		switch op.Kind {
		case vfs.OpWrite:
			return &vfs.Fault{Err: syscall.ENOSPC, Keep: op.Len / 2}
		case vfs.OpOpen:
			if _, err := disk.Stat(op.Path); err != nil {
				return &vfs.Fault{Err: syscall.ENOSPC}
			}
		}
		return nil
	})
}

// TestFullDiskIsWaitedFor fills the disk before the first batch, in the middle of a segment, and where one begins. What
// is appended meanwhile is read from memory, not reported safe, and becomes durable when there is room again.
func TestFullDiskIsWaitedFor(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncInterval, SyncOS} {
		for _, alone := range []bool{true, false} {
			for _, before := range []int{0, 3, 12} {
				t.Run(fmt.Sprint(policy, " alone ", alone, " after ", before), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { fillAndFree(t, policy, alone, before) })
				})
			}
		}
	}
}

func fillAndFree(t *testing.T, policy SyncPolicy, alone bool, before int) {
	var full atomic.Bool
	disk, fsys := fullDisk(&full)
	o := testOptions(fsys)
	o.Sync, o.SyncEvery, o.SegmentBytes = policy, 50*time.Millisecond, 8<<10
	o.Scheduler = NewScheduler(2)
	defer o.Scheduler.Close()
	var durable durableWatch
	o.OnDurable = durable.set
	o.OnFailure = func(err error) { t.Errorf("the log failed: %v", err) }
	w, _ := openWriter(t, o)
	for i := range before {
		must(t, w.append(text(i, 700)))
		w.flush(t, alone)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	full.Store(true)
	before64 := w.log.Durable()
	for i := range 30 { // several segments
		must(t, w.append(text(i, 700)))
		if safe, err := w.log.Flush(alone); safe || err != nil {
			t.Fatalf("flush to a full disk: %v %v", safe, err)
		}
		if i%10 == 9 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
	}
	if err := w.log.Stalled(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("stalled is %v", err)
	}
	if got := w.log.Durable(); got != before64 {
		t.Errorf("durable went from %d to %d", before64, got)
	}
	if err := w.log.SaveCheckpoint(w.index, nil); !errors.Is(err, ErrNoSpace) {
		t.Errorf("checkpoint on a full disk: %v", err)
	}
	must(t, compareAll(w.log, w.messages))

	// The power goes: what was durable is there, and the rest is no damage.
	for seed := range uint64(5) {
		o := testOptions(disk.CrashClone(rand.New(rand.NewPCG(seed, 0))))
		o.SegmentBytes = 8 << 10
		l, report, err := Open(o)
		must(t, err)
		if len(report.Damage) > 0 || l.LastIndex() < before64 {
			t.Fatalf("%+v, ends at %d, durable was %d", report, l.LastIndex(), before64)
		}
		must(t, l.Close())
	}

	full.Store(false)
	time.Sleep(2 * stallRetry)
	synctest.Wait()
	if got := durable.index.Load(); got != w.index || w.log.Durable() != w.index || w.log.Stalled() != nil {
		t.Errorf("durable is %d (%d reported) of %d, stalled: %v", w.log.Durable(), got, w.index, w.log.Stalled())
	}
	for i := range 5 {
		must(t, w.append(text(i, 700)))
		if safe, err := w.log.Flush(true); !safe || err != nil {
			t.Errorf("flush when there is room: %v %v", safe, err)
		}
	}
	must(t, w.log.SaveCheckpoint(w.index, nil))
	must(t, w.log.Close())
	messages := w.messages
	w, report := openWriter(t, o)
	if len(report.Damage) > 0 || report.Cut > 0 {
		t.Errorf("%+v", report)
	}
	checkAll(t, w.log, messages)
	must(t, w.log.Close())
}

// TestFullDiskAtTheEnd closes a log that waits for room: it fails, and keeps what was durable.
func TestFullDiskAtTheEnd(t *testing.T) {
	for _, giveUp := range []bool{true, false} {
		var full atomic.Bool
		disk, fsys := fullDisk(&full)
		o := testOptions(fsys)
		var failures atomic.Int32
		o.OnFailure = func(error) { failures.Add(1) }
		w, _ := openWriter(t, o)
		must(t, w.append("kept"))
		w.flush(t, true)
		full.Store(true)
		must(t, w.append("lost"))
		if safe, err := w.log.Flush(true); safe || err != nil {
			t.Fatal(safe, err)
		}
		if giveUp {
			w.log.GiveUp()
			if err := w.append("refused"); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("append after giving up: %v", err)
			}
		}
		if err := w.log.Close(); !errors.Is(err, syscall.ENOSPC) || failures.Load() != 1 {
			t.Fatalf("close: %v, %d failures", err, failures.Load())
		}
		o.FS = disk
		again, report := openWriter(t, o)
		if len(report.Damage) > 0 {
			t.Fatalf("%+v", report)
		}
		checkAll(t, again.log, w.messages[:1])
		must(t, again.log.Close())
	}
}
