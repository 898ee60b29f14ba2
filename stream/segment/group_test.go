package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"godwit/stream/vfs"
)

// groupBench is many logs on one volume, whose syncs are counted and held.
type groupBench struct {
	disk    *vfs.Mem
	writers []*writer
	sched   *Scheduler
	volumes atomic.Int32 // syncs of the volume
	files   atomic.Int32 // syncs of log files
	fail    atomic.Bool  // syncs of the volume fail
	hold    chan struct{}
	durable []durableWatch
	failed  atomic.Int32
	changed chan struct{}
}

func openGroupBench(t *testing.T, n int, policy SyncPolicy) *groupBench {
	b := &groupBench{disk: vfs.NewMem(), hold: make(chan struct{}), durable: make([]durableWatch, n), changed: make(chan struct{}, 1000)}
	fsys := vfs.Inject(b.disk, func(op vfs.Op) *vfs.Fault {
		if op.Kind == vfs.OpSync && len(op.Path) > 4 && op.Path[len(op.Path)-4:] == extLog {
			b.files.Add(1)
			<-b.hold
		}
		return nil
	})
	b.sched = NewScheduler(4)
	b.sched.SyncTogether(vfs.InjectVolume(b.disk.Volume(), func(vfs.Op) *vfs.Fault {
		b.volumes.Add(1)
		if b.fail.Load() {
			return &vfs.Fault{Err: syscall.EIO}
		}
		return nil
	}))
	for i := range n {
		o := testOptions(fsys)
		o.Dir, o.Scheduler, o.Sync = fmt.Sprintf("/data/p%d", i), b.sched, policy
		o.SegmentBytes = 1 << 20
		o.OnDurable = func(index uint64) { b.durable[i].set(index); b.changed <- struct{}{} }
		o.OnFailure = func(error) { b.failed.Add(1); b.changed <- struct{}{} }
		w, _ := openWriter(t, o)
		b.writers = append(b.writers, w)
	}
	return b
}

// TestManyPassesShareOneSync hands over batches of 40 logs while the workers are held in syncs of single files.
func TestManyPassesShareOneSync(t *testing.T) {
	b := openGroupBench(t, 40, SyncAlways)
	for _, w := range b.writers {
		must(t, w.append("first"))
		w.log.active.zero.off = true // its syncs are not to be counted
		w.flush(t, false)
	}
	close(b.hold)
	for range b.writers {
		<-b.changed
	}
	if v, f := b.volumes.Load(), b.files.Load(); v < 1 || f > 20 {
		t.Errorf("%d syncs of the volume, %d of files, for 40 logs", v, f)
	}
	// Nothing but syncs makes this survive.
	crashed := b.disk.CrashClone(rand.New(rand.NewPCG(1, 2)))
	for i, w := range b.writers {
		o := testOptions(crashed)
		o.Dir = fmt.Sprintf("/data/p%d", i)
		again, report := openWriter(t, o)
		if len(report.Damage) > 0 || b.durable[i].index.Load() != 1 {
			t.Errorf("log %d: %+v, durable %d", i, report, b.durable[i].index.Load())
		}
		checkAll(t, again.log, w.messages)
		must(t, again.log.Close())
		must(t, w.log.Close())
	}
	b.sched.Close()
}

// TestFailedSyncOfVolumeFailsItsLogs lets the sync that serves many logs fail: none of them reports anything durable any
// more, others go on, and the volume is not synced again.
func TestFailedSyncOfVolumeFailsItsLogs(t *testing.T) {
	b := openGroupBench(t, 40, SyncAlways)
	b.fail.Store(true)
	for _, w := range b.writers {
		must(t, w.append("first"))
		w.log.active.zero.off = true // its syncs are not to be counted
		w.flush(t, false)
	}
	close(b.hold)
	for range b.writers {
		<-b.changed
	}
	if v := b.volumes.Load(); v != 1 {
		t.Errorf("the volume was synced %d times", v)
	}
	b.fail.Store(false)
	failed := 0
	for i, w := range b.writers {
		err := w.append("second")
		durable := b.durable[i].index.Load()
		if errors.Is(err, ErrFailed) {
			failed++
			if durable != 0 || !errors.Is(err, syscall.EIO) {
				t.Errorf("log %d has failed: %v, durable %d", i, err, durable)
			}
		} else if err != nil || durable != 1 {
			t.Errorf("log %d goes on: %v, durable %d", i, err, durable)
		} else {
			w.flush(t, false)
			<-b.changed
		}
		if err := w.log.Close(); errors.Is(err, ErrFailed) != (durable == 0) {
			t.Errorf("log %d: close %v", i, err)
		}
	}
	if failed < groupFrom || failed != int(b.failed.Load()) {
		t.Errorf("%d logs failed, %d said so", failed, b.failed.Load())
	}
	if v := b.volumes.Load(); v != 1 {
		t.Errorf("the volume was synced again: %d", v)
	}
	b.sched.Close()
}

// TestGroupsUnderLoad has many owners append at the same time, with segments that roll; for the race detector.
func TestGroupsUnderLoad(t *testing.T) {
	for _, policy := range []SyncPolicy{SyncAlways, SyncInterval} {
		b := openGroupBench(t, 0, policy)
		close(b.hold)
		var done sync.WaitGroup
		for i := range 24 {
			o := testOptions(b.disk)
			o.Dir, o.Scheduler, o.Sync, o.SegmentBytes, o.SyncEvery = fmt.Sprintf("/data/p%d", i), b.sched, policy, 8<<10, 1
			w, _ := openWriter(t, o)
			done.Go(func() {
				for k := range 100 {
					if err := w.append(text(k, 200)); err != nil {
						t.Error(err)
						return
					}
					if _, err := w.log.Flush(false); err != nil {
						t.Error(err)
						return
					}
				}
				if err := w.log.SaveCheckpoint(w.index, nil); err != nil {
					t.Error(err)
				}
				if w.log.Durable() != w.index {
					t.Errorf("durable %d of %d", w.log.Durable(), w.index)
				}
				if err := compareAll(w.log, w.messages); err != nil {
					t.Error(err)
				}
				if err := w.log.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		b.sched.Close()
	}
}

// TestFullDiskInAGroup has one log of a group find no room while the sync of the others takes long: it is not tried again
// before the group is done, the others become durable, and so does it when there is room.
func TestFullDiskInAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		var full atomic.Bool
		var tries, syncs atomic.Int32
		files, volume := make(chan struct{}), make(chan struct{})
		disk := vfs.NewMem()
		fsys := vfs.Inject(disk, func(op vfs.Op) *vfs.Fault {
			switch {
			case op.Kind == vfs.OpSync && filepath.Ext(op.Path) == extLog:
				<-files
			case op.Kind == vfs.OpWrite && full.Load() && filepath.Base(filepath.Dir(op.Path)) == "p19":
				tries.Add(1)
				return &vfs.Fault{Err: syscall.ENOSPC}
			}
			return nil
		})
		sched := NewScheduler(4)
		sched.SyncTogether(vfs.InjectVolume(disk.Volume(), func(vfs.Op) *vfs.Fault {
			syncs.Add(1)
			<-volume
			return nil
		}))
		full.Store(true)
		var writers []*writer
		for i := range n {
			o := testOptions(fsys)
			o.Dir, o.Scheduler = fmt.Sprintf("/data/p%d", i), sched
			o.OnFailure = func(err error) { t.Error(err) }
			w, _ := openWriter(t, o)
			writers = append(writers, w)
			must(t, w.append("first"))
			w.flush(t, false)
			if i < 4 {
				synctest.Wait() // each worker waits in the sync of a file
			}
		}
		close(files)
		synctest.Wait()
		time.Sleep(10 * stallRetry)
		if syncs.Load() != 1 || tries.Load() != 1 {
			t.Errorf("%d syncs, %d tries to write to a full disk", syncs.Load(), tries.Load())
		}
		close(volume)
		synctest.Wait()
		last := writers[n-1].log
		for i, w := range writers[:n-1] {
			if w.log.Durable() != 1 {
				t.Errorf("log %d is not durable", i)
			}
		}
		if last.Durable() != 0 || !errors.Is(last.Stalled(), syscall.ENOSPC) {
			t.Errorf("durable %d, stalled %v", last.Durable(), last.Stalled())
		}
		full.Store(false)
		time.Sleep(2 * stallRetry)
		if last.Durable() != 1 || last.Stalled() != nil {
			t.Errorf("durable %d, stalled %v, though there is room", last.Durable(), last.Stalled())
		}
		for _, w := range writers {
			must(t, w.log.Close())
		}
		sched.Close()
	})
}
