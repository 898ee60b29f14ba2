package segment

import (
	"os"
	"sync"
)

// Zeros written ahead of small synced appends spare their syncs the commit of metadata that a growing file needs.
const (
	zeroAhead = 1 << 20   // at most so far ahead
	zeroShare = 64        // and not further than this part of the length of the segment
	zeroFirst = 8 << 10   // at least so far
	zeroPiece = 256 << 10 // written and synced at a time: the log's own sync waits for whatever is dirty
	zeroBelow = 32 << 10  // larger writes grow the file: zeroing for them costs more than it saves
)

// zeros is what is written ahead; it is never changed.
var zeros [zeroPiece]byte

// zeroing is the state of writing ahead in one segment: [.., ready) of the file may be overwritten without changing its
// metadata. A background task, at most one per segment, writes [at, to) while the log's own writes stay below at.
type zeroing struct {
	mu    sync.Mutex
	cond  sync.Cond // signalled when the task ends
	ready int64
	state zeroState
	at    int64
	to    int64
	stop  bool // the task ends after the piece that it writes
	off   bool // zeros could not be written: leave it
	// submitted: the task is in the scheduler's queue, be it wanted any more or not.
	submitted bool
}

type zeroState uint8

const (
	zeroIdle zeroState = iota
	zeroQueued
	zeroRunning
)

// keepZeros is called before [end-n, end) of s is written. It queues zeroing if that is due, and makes sure that nobody
// writes zeros where the log is about to write.
func (l *Log) keepZeros(s *segment, end int64, n int) {
	if l.opts.Sync != SyncAlways {
		return
	}
	z := &s.zero
	step := min(zeroAhead, max(zeroFirst, end/zeroShare))
	queue := false
	z.mu.Lock()
	if z.state == zeroIdle && !z.off && n < zeroBelow && end+step/2 > z.ready {
		z.at = max(z.ready, end)
		z.to = min(z.at+step, l.opts.SegmentBytes)
		if z.at < z.to {
			z.state, z.stop = zeroQueued, false
			queue, z.submitted = !z.submitted, true
		}
	}
	for z.state != zeroIdle && end > z.at {
		if z.state == zeroQueued {
			z.state = zeroIdle // the task finds nothing to do
			break
		}
		z.stop = true
		z.cond.Wait()
	}
	z.mu.Unlock()
	if queue {
		l.background(func() { l.writeZeros(s) })
	}
}

// stopZeros ends zeroing of s for good.
func (s *segment) stopZeros() {
	z := &s.zero
	z.mu.Lock()
	defer z.mu.Unlock()
	z.off = true
	for z.state != zeroIdle {
		if z.state == zeroQueued {
			z.state = zeroIdle
			return
		}
		z.stop = true
		z.cond.Wait()
	}
}

// writeZeros is the background task. It opens the file itself: a failed sync is reported once to each opening, and must
// not be reported here instead of to the log's own sync.
func (l *Log) writeZeros(s *segment) {
	z := &s.zero
	f, err := s.fsys.OpenFile(s.logPath(), os.O_RDWR)
	if err == nil {
		defer f.Close()
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.submitted = false
	if z.state != zeroQueued {
		return
	}
	z.state = zeroRunning
	for err == nil && !z.stop && z.at < z.to && l.failure.Load() == nil {
		at, n := z.at, min(z.to-z.at, zeroPiece)
		z.mu.Unlock()
		_, err = f.WriteAt(zeros[:n], at)
		if err == nil {
			// What this sync fails to bring to the disk may be the log's own: no later one would tell.
			if serr := f.Datasync(); serr != nil {
				l.fail(serr)
			}
		}
		z.mu.Lock()
		if err == nil {
			z.at += n
			z.ready = z.at
		}
	}
	z.off = z.off || err != nil
	z.state = zeroIdle
	z.cond.Broadcast()
}
