package jetstream

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// spaceFS says how much is free.
type spaceFS struct {
	vfs.FS
	total, free atomic.Int64
	looks       atomic.Int32
}

func (f *spaceFS) Space(string) (total, free int64, err error) {
	f.looks.Add(1)
	return f.total.Load(), f.free.Load(), nil
}

func TestDiskRefusesBeforeItIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &spaceFS{FS: vfs.NewMem()}
		fs.total.Store(100 << 20)
		fs.free.Store(50 << 20)
		var told []bool
		d := newDisk(fs, "/s", 0, func(full bool, _ int64) { told = append(told, full) }) // the reserve is 5 MiB
		var account, server usage
		q := &quota{&account, &server, -1, -1, d}
		if !q.Limited() || q.Admit(1000) != nil {
			t.Fatal("refused though there is room")
		}
		looks := fs.looks.Load()
		for range 100 {
			if q.Admit(1000) != nil {
				t.Fatal("refused though there is room")
			}
			q.Used(1000)
		}
		if fs.looks.Load() != looks {
			t.Error("looks at the disk for each message")
		}
		// A burst is noticed before the clock is.
		fs.free.Store(4 << 20)
		q.Used(20 << 20)
		if err := q.Admit(1000); err == nil || err.Code != jsapi.ErrInsufficientResources {
			t.Errorf("admitted on a full disk: %v", err)
		}
		fs.free.Store(5<<20 + 1000) // hardly more than the reserve
		time.Sleep(2 * diskEvery)
		synctest.Wait()
		if q.Admit(1000) == nil {
			t.Error("admitted on a disk that is almost full")
		}
		fs.free.Store(30 << 20)
		time.Sleep(2 * diskEvery)
		synctest.Wait()
		if err := q.Admit(1000); err != nil {
			t.Errorf("refused after there was room again: %v", err)
		}
		// Others fill the disk.
		fs.free.Store(1 << 20)
		time.Sleep(2 * diskEvery)
		synctest.Wait()
		if q.Admit(1) == nil {
			t.Error("admitted on a disk that others have filled")
		}
		d.close()
		if len(told) != 3 || !told[0] || told[1] || !told[2] {
			t.Errorf("told %v", told)
		}
	})
}
