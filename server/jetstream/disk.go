package jetstream

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"godwit/stream/vfs"
)

const (
	diskEvery = 500 * time.Millisecond // how often the free space is looked at, at least
	diskMost  = 256 << 20              // bytes of the reserve that is taken by default, at most
	diskPart  = 20                     // one part in so many of the disk is the reserve by default, at most
)

// disk watches the free space of the store directory. While less is free than the reserve, publishes into file streams
// are refused; acknowledgements, deletes, purges and checkpoints use the reserve, so that a full disk can be emptied.
//
// The space is looked at by a goroutine, and by whoever stores so much that it could be used up in between. A nil disk is
// never full.
type disk struct {
	fs      vfs.FS
	dir     string
	reserve int64                       // bytes; 0: the default, below: none
	changed func(full bool, free int64) // called by the goroutine when full has changed

	full atomic.Bool
	free atomic.Int64 // bytes, as of the last look
	left atomic.Int64 // bytes that may be stored before the next look
	look sync.Mutex   // held by who looks

	stop chan struct{}
	done sync.WaitGroup
}

func newDisk(fs vfs.FS, dir string, reserve int64, changed func(full bool, free int64)) *disk {
	d := &disk{fs: fs, dir: dir, reserve: reserve, changed: changed, stop: make(chan struct{})}
	d.check()
	d.done.Go(d.watch)
	return d
}

func (d *disk) close() {
	if d != nil {
		close(d.stop)
		d.done.Wait()
	}
}

func (d *disk) watch() {
	t := time.NewTicker(diskEvery)
	defer t.Stop()
	told := false
	for {
		if full := d.full.Load(); full != told {
			told = full
			d.changed(full, d.free.Load())
		}
		select {
		case <-t.C:
			d.check()
		case <-d.stop:
			return
		}
	}
}

// isFull says whether n more bytes, which are about to be stored, must be refused.
func (d *disk) isFull(n int64) bool {
	if d == nil {
		return false
	}
	if n > d.left.Load() && !d.full.Load() {
		d.check()
	}
	return d.full.Load()
}

// used tells of bytes stored.
func (d *disk) used(n int64) {
	if d != nil && n > 0 {
		d.left.Add(-n)
	}
}

// check looks at the free space, unless somebody does already. What cannot be looked at counts as enough.
func (d *disk) check() {
	if !d.look.TryLock() {
		return
	}
	defer d.look.Unlock()
	total, free, err := d.fs.Space(d.dir)
	if err != nil {
		d.left.Store(diskMost)
		d.full.Store(false)
		return
	}
	reserve := max(d.reserve, 0)
	if d.reserve == 0 {
		reserve = min(diskMost, total/diskPart)
	}
	d.free.Store(free)
	d.left.Store((free - reserve) / 4)
	if d.full.Load() {
		reserve += reserve / 8 // so that it does not change with every message
	}
	d.full.Store(free < reserve)
}

// diskChanged tells the operator that there is no room for messages any more, or that there is again.
func (s *Service) diskChanged(full bool, free int64) {
	dir := s.opts.StoreDir
	if !full {
		s.opts.Logf("JetStream: there is room again in %s: %d MiB are free", dir, free>>20)
		return
	}
	s.opts.Warnf("JetStream: %s has %d MiB left: publishes into file streams are refused until there is more", dir, free>>20)
	if s.opts.SystemAdvisory == nil {
		return
	}
	body, err := json.Marshal(outOfSpace{advisory: newAdvisory("server_out_of_space", ""), Server: s.opts.ServerName,
		ServerID: s.opts.ServerID, Domain: s.opts.Domain})
	if err == nil {
		s.opts.SystemAdvisory(advisoryPrefix+"SERVER.OUT_OF_STORAGE", body)
	}
}

// outOfSpace is the advisory about a full disk.
type outOfSpace struct {
	advisory
	Server   string `json:"server"`
	ServerID string `json:"server_id"`
	Cluster  string `json:"cluster"` // empty: this server is in none
	Domain   string `json:"domain,omitempty"`
}

// diskProblems says that the disk is full, and which streams wait for room to write.
func (s *Service) diskProblems() (list []Problem) {
	if s.disk.isFull(0) {
		list = append(list, Problem{Text: fmt.Sprintf("%s is full: publishes into file streams are refused", s.opts.StoreDir)})
	}
	for _, a := range s.Accounts() {
		for _, st := range a.all() {
			if err := st.set.Stalled(); err != nil && len(list) < maxProblems {
				list = append(list, Problem{Account: a.name, Stream: st.name, Text: "waits for room: " + err.Error()})
			}
		}
	}
	return list
}
