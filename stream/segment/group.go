package segment

import (
	"fmt"
	"time"

	"godwit/stream/vfs"
)

// groupFrom is from how many passes that wait on one sync of the file system serves them all: it takes as long as a few
// syncs of single files.
const groupFrom = 8

// groupMost bounds how many passes are served at once, as they are written one after the other.
const groupMost = 512

// SyncTogether makes the scheduler sync the file system v as a whole where many of its logs wait for a sync. They should
// be the only ones to write there: what others write is synced too. Logs that lie elsewhere are synced by themselves. It
// is called before the scheduler is used. v stays the caller's, to be closed after the scheduler.
func (s *Scheduler) SyncTogether(v vfs.Volume) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.volume = v
}

// holds says whether syncing the volume syncs the files in a directory.
func (s *Scheduler) holds(dir string) bool {
	s.mu.Lock()
	v := s.mu.volume
	s.mu.Unlock()
	return v != nil && v.Holds(dir)
}

// groupPass is the pass of one log of a group.
type groupPass struct {
	log     *Log
	work    passWork
	written bool       // all of it; the sync of the volume is to follow
	final   []*segment // sealed and wholly written
}

// runGroupLocked serves the passes that wait, by one sync of the volume. An error of that fails all their logs, and the
// volume is not used again: which files it was about is not known, and later syncs of it may say nothing.
func (s *Scheduler) runGroupLocked() {
	s.mu.grouping = true
	volume := s.mu.volume
	group := make([]groupPass, 0, min(s.mu.passes.len(), groupMost))
	for len(group) < groupMost {
		l := s.mu.passes.pop()
		if l == nil {
			break
		}
		group = append(group, groupPass{log: l})
	}
	s.mu.Unlock()
	written := false
	for i := range group {
		group[i].begin()
		written = written || group[i].written
	}
	var err error
	if written {
		start := time.Now()
		err = volume.Sync()
		s.Syncs.Observe(time.Since(start), 1)
	}
	for i := range group {
		group[i].end(err)
	}
	s.mu.Lock()
	s.mu.grouping = false
	if err != nil {
		s.mu.volume = nil
	}
	s.mu.work.Broadcast() // who has waited for the group to end
}

// begin writes. A log that is not on the volume is done with then.
func (g *groupPass) begin() {
	if !g.log.together {
		g.log.pass()
		g.log = nil
		return
	}
	g.work = g.log.takeWork()
	g.written = g.log.writeAll(&g.work)
	if !g.written {
		return
	}
	if g.work.last != nil {
		g.work.dirty = append(g.work.dirty, g.work.last)
		g.work.last = nil
	}
	for _, s := range g.work.dirty {
		if s.complete() {
			g.final = append(g.final, s)
		}
	}
}

// end takes note of what the sync of the volume has made durable: the files and their names.
func (g *groupPass) end(err error) {
	l := g.log
	if l == nil {
		return
	}
	switch {
	case !g.written:
	case err != nil:
		l.fail(fmt.Errorf("sync file system: %w", err))
	default:
		for _, s := range g.work.dirty {
			s.dirDirty.Store(false)
		}
		for _, s := range g.final {
			s.closeWriter()
		}
		l.nowDurable(g.work.index)
	}
	l.endWork(&g.work)
}
