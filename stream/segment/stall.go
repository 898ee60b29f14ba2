package segment

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// stallRetry is how long a log waits before it tries again to write to a disk that was full.
const stallRetry = 100 * time.Millisecond

// IsFull says whether something could not be written because there is no room, which is no fault of the disk: nothing that
// was written before is in doubt, and the same bytes may be written to the same place later. That a sync found no room is
// something else: it has made the log fail.
func IsFull(err error) bool {
	return !errors.Is(err, ErrFailed) &&
		(errors.Is(err, ErrNoSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
}

// Stalled returns why nothing can be written, nil if all is well, or if the log has failed: the disk is full. The log keeps
// what was appended, in memory, and writes it when there is room. Nothing of it is reported safe before. The owner should
// append no more than it must: nothing else bounds that.
func (l *Log) Stalled() error {
	if err := l.stalled.Load(); err != nil && l.failure.Load() == nil {
		return *err
	}
	return nil
}

// GiveUp makes the log fail instead of waiting for room on the disk, now and later. Call it before Close if somebody
// waits for what was appended.
func (l *Log) GiveUp() {
	l.mu.Lock()
	l.mu.giveUp = true
	waits := l.mu.pass == passStalled
	l.mu.Unlock()
	if err := l.stalled.Load(); waits && err != nil {
		l.fail(*err)
	}
}

// givesUp says whether a full disk is a failure.
func (l *Log) givesUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.giveUp
}

// stallLocked ends a pass that found no room: what it could not write is kept for another one in a while. A part of the
// first range may be in the file: it is written again, and recovery would take it for a torn tail.
func (l *Log) stallLocked(w *passWork) {
	rest := slices.Clone(w.ranges[w.rest:])
	l.mu.pendingBytes += size(rest)
	l.mu.pending = append(rest, l.mu.pending...)
	l.mu.dirty = append(w.dirty, l.mu.dirty...)
	l.mu.behind, l.mu.again = true, false
	l.mu.pass = passStalled
	err := w.full
	l.stalled.Store(&err)
	if l.mu.retry == nil {
		l.mu.retry = time.AfterFunc(stallRetry, l.tryAgain)
	} else {
		l.mu.retry.Reset(stallRetry)
	}
	l.mu.changed.Broadcast()
}

// tryAgain is the timer of a log that waits for room.
func (l *Log) tryAgain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.pass == passStalled && !l.closed.Load() {
		l.mu.pass = passQueued
		l.sched.submitPass(l)
	}
}
