package segment

// passState says who writes and syncs: nobody, or a worker will, or somebody does. Under SyncAlways only that one
// writes the files.
type passState uint8

const (
	passIdle passState = iota
	passQueued
	passRunning
	passStalled // the disk is full: a timer queues the next one
)

// passWork is what one pass writes and syncs. Who runs the pass owns it.
type passWork struct {
	ranges []ioRange  // to be written
	dirty  []*segment // written before, and to be synced
	index  uint64     // everything up to it is durable afterwards
	last   *segment   // under SyncAlways: written by this pass and not synced yet
	taken  bool       // ranges may be used again for others
	full   error      // the disk is full: ranges from rest on could not be written
	rest   int
}

// requestPassLocked makes sure that a pass starts after this moment.
func (l *Log) requestPassLocked() {
	switch l.mu.pass {
	case passIdle:
		l.mu.pass = passQueued
		l.sched.submitPass(l)
	case passRunning:
		l.mu.again = true
	}
}

// endPassLocked lets the next pass begin.
func (l *Log) endPassLocked() {
	l.mu.pass = passIdle
	if len(l.mu.pending) == 0 {
		l.mu.behind = false
	}
	if l.mu.again && l.failure.Load() == nil {
		l.requestPassLocked()
	}
	l.mu.again = false
	l.mu.changed.Broadcast()
}

// pass is a pass by a worker: it writes all that was handed over and syncs it.
func (l *Log) pass() {
	w := l.takeWork()
	l.do(&w)
}

// takeWork begins a pass by a worker.
func (l *Log) takeWork() passWork {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.pass = passRunning
	w := passWork{ranges: l.mu.pending, dirty: l.mu.dirty, index: l.mu.handed, taken: true}
	l.mu.pending, l.mu.spare = l.mu.spare, nil
	l.mu.dirty = nil
	l.mu.pendingBytes = 0
	return w
}

// do runs a pass to its end and reports whether all of its work is durable.
func (l *Log) do(w *passWork) bool {
	done := l.writeAll(w) && l.syncAll(w)
	if done {
		l.nowDurable(w.index)
	}
	l.endWork(w)
	return done
}

// endWork ends a pass, after which somebody else may begin one.
func (l *Log) endWork(w *passWork) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.full != nil {
		l.stallLocked(w)
	}
	clear(w.ranges)
	if w.taken {
		l.mu.spare = w.ranges[:0]
	}
	if w.full == nil {
		l.endPassLocked()
	}
}

// writeAll writes the ranges, each segment only after the one before was synced if the policy is SyncAlways. It reports
// false if it could not: the log has failed, or waits for room.
func (l *Log) writeAll(w *passWork) bool {
	if l.failure.Load() != nil {
		return false // never again
	}
	if l.opts.Sync != SyncAlways && len(w.ranges) > 0 { // what waits for room must not keep what came before from the disk
		if !l.syncAll(w) {
			return false
		}
		w.dirty = nil
	}
	for i, r := range w.ranges {
		s := r.b.seg
		if l.opts.Sync == SyncAlways {
			if w.last != nil && w.last != s && l.syncSegment(w.last) != nil {
				return false
			}
			w.last = s
		} else if n := len(w.dirty); n == 0 || w.dirty[n-1] != s {
			w.dirty = append(w.dirty, s)
		}
		if err := l.write(r); err != nil {
			if IsFull(err) && !l.givesUp() {
				w.full, w.rest = err, i
			} else {
				l.fail(err)
			}
			return false
		}
	}
	if l.stalled.Load() != nil {
		l.stalled.Store(nil)
	}
	return true
}

// syncAll syncs what was written. An error has made the log fail.
func (l *Log) syncAll(w *passWork) bool {
	if w.last != nil && l.syncSegment(w.last) != nil {
		return false
	}
	for _, s := range w.dirty {
		if !s.dropped.Load() && l.syncSegment(s) != nil {
			return false
		}
	}
	return true
}

func (l *Log) nowDurable(index uint64) {
	if index > l.durable.Load() && l.failure.Load() == nil {
		l.durable.Store(index)
		l.opts.OnDurable(index)
	}
}
