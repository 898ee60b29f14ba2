package jetstream

import (
	"fmt"
	"strings"
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

// TestFullDiskIsTold fills the disk of a service that has nothing on it.
func TestFullDiskIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &spaceFS{FS: vfs.NewMem()}
		fs.total.Store(1 << 40)
		fs.free.Store(1 << 30)
		var told []string
		note := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
		s, err := New(Options{FS: fs, StoreDir: "/store", Version: "0", ServerName: "A", ServerID: "N", Domain: "D", Reserve: 1 << 20, Logf: note, Warnf: note,
			SystemAdvisory: func(subject string, body []byte) { told = append(told, subject, string(body)) }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if list := s.Health(); len(list) > 0 || s.Info().DiskFull || s.Info().DiskFree != 1<<30 {
			t.Errorf("%v, %+v", list, s.Info())
		}
		fs.free.Store(1 << 19)
		time.Sleep(2 * diskEvery)
		synctest.Wait()
		if list := s.Health(); len(list) != 1 || list[0].Text != "/store is full: publishes into file streams are refused" || !s.Info().DiskFull {
			t.Errorf("%v, %+v", list, s.Info())
		}
		fs.free.Store(1 << 30)
		time.Sleep(2 * diskEvery)
		synctest.Wait()
		if list := s.Health(); len(list) > 0 || s.Info().DiskFull {
			t.Errorf("%v, %+v", list, s.Info())
		}
		if len(told) != 4 || !strings.Contains(told[0], "0 MiB left") || told[1] != "$JS.EVENT.ADVISORY.SERVER.OUT_OF_STORAGE" ||
			!strings.HasPrefix(told[2], `{"type":"io.nats.jetstream.advisory.v1.server_out_of_space",`) ||
			!strings.HasSuffix(told[2], `"server":"A","server_id":"N","cluster":"","domain":"D"}`) || !strings.Contains(told[3], "room again") {
			t.Errorf("%q", told)
		}
	})
}

func TestDiskRefusesBeforeItIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := &spaceFS{FS: vfs.NewMem()}
		fs.total.Store(100 << 20)
		fs.free.Store(50 << 20)
		var told []bool
		d := newDisk(fs, "/s", 0, func(full bool, _ int64) { told = append(told, full) }) // the reserve is 5 MiB
		var account, server usage
		account.max.Store(-1)
		server.max.Store(-1)
		q := &quota{&account, &server, d}
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
