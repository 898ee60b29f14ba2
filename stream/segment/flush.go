package segment

import (
	"fmt"
	"time"
)

// inlineBelow is the average sync time below which a lone caller of Flush syncs itself: it then waits no longer than two
// goroutine switches and a sync take anyway.
const inlineBelow = 500 * time.Microsecond

// ioRange is a write that is due: bytes [from, to) of a block, which nobody changes any more.
type ioRange struct {
	b        *block
	from, to int
}

// gather takes what was appended since the last time, in order. The owner calls it; the result is l.due.
func (l *Log) gather() {
	l.due = l.due[:0]
	l.unflushed = 0
	blocks := l.tail.Load().blocks
	i := len(blocks)
	for i > 0 && blocks[i-1].given < int(blocks[i-1].len.Load()) {
		i--
	}
	for _, b := range blocks[i:] {
		to := int(b.len.Load())
		l.due = append(l.due, ioRange{b, b.given, to})
		b.given = to
	}
}

// Flush hands everything appended to the file, as the policy says, and reports whether all of it is as safe as the
// policy promises: durable under SyncAlways, written under the others.
//
// Under SyncAlways the scheduler writes and syncs, all at once what came during the sync before, and OnDurable tells
// when it is done. If the caller is alone, which means that it has nothing else to do, and the log has no sync under way
// and its syncs have been fast, Flush writes and syncs itself and spares two goroutine switches.
//
// Where the disk is full, Flush reports false until there is room, whatever the policy; see Log.Stalled.
//
// Flush waits while too much has not reached the disk (32 MiB, or one batch that is larger).
func (l *Log) Flush(alone bool) (durable bool, err error) {
	if err := l.usable(); err != nil {
		return false, err
	}
	l.gather()
	defer func() { clear(l.due) }() // it must not hold blocks
	if l.opts.Sync != SyncAlways {
		return l.flushLazily()
	}
	if len(l.due) == 0 {
		return l.durable.Load() >= l.last.Load(), nil
	}
	index := l.last.Load()
	n := size(l.due)
	l.mu.Lock()
	for l.mu.pendingBytes+n > l.maxUnwritten && l.mu.pass != passIdle && l.mu.pass != passStalled && l.failure.Load() == nil {
		l.mu.changed.Wait()
	}
	if alone && l.mu.pass == passIdle && l.syncTime.Load() < int64(inlineBelow) {
		l.mu.pass = passRunning
		l.mu.handed = index
		l.mu.Unlock()
		done := l.do(&passWork{ranges: l.due, index: index})
		return done, l.usable()
	}
	l.handOverLocked(l.due)
	l.mu.Unlock()
	return false, l.usable()
}

// handOverLocked leaves the last ranges of what is due to the next pass.
func (l *Log) handOverLocked(ranges []ioRange) {
	for _, r := range ranges {
		// Bytes that follow in the same block extend the range that waits: one write for all.
		if k := len(l.mu.pending); k > 0 && l.mu.pending[k-1].b == r.b {
			l.mu.pending[k-1].to = r.to
			continue
		}
		l.mu.pending = append(l.mu.pending, r)
	}
	l.mu.handed = l.last.Load()
	l.mu.pendingBytes += size(ranges)
	l.requestPassLocked()
}

// size returns how many bytes the ranges are.
func size(ranges []ioRange) (n int64) {
	for _, r := range ranges {
		n += int64(r.to - r.from)
	}
	return n
}

// flushLazily writes, and leaves syncing to the timer or to nobody; where the disk is full it leaves writing too, to the
// passes. The owner calls it.
func (l *Log) flushLazily() (bool, error) {
	if len(l.due) == 0 {
		return true, nil
	}
	l.mu.Lock()
	if l.mu.behind { // what came before is still to be written
		l.handOverLocked(l.due)
		l.mu.Unlock()
		return false, l.usable()
	}
	l.mu.Unlock()
	if written, err := l.writeDue(); err != nil {
		if !IsFull(err) {
			l.fail(err)
			return false, l.usable()
		}
		l.mu.Lock()
		l.mu.behind = true
		l.noteDirtyLocked(l.due[:written])
		l.handOverLocked(l.due[written:])
		l.mu.Unlock()
		return false, l.usable()
	}
	l.mu.Lock()
	rolled := l.noteDirtyLocked(l.due)
	l.mu.handed = l.last.Load()
	if rolled {
		l.requestPassLocked() // bounds what a crash can take, and how long damage could be taken for a crash
	} else if l.opts.Sync == SyncInterval && !l.mu.timed {
		l.mu.timed = true
		if l.mu.timer == nil {
			l.mu.timer = time.AfterFunc(l.opts.SyncEvery, l.timeToSync)
		} else {
			l.mu.timer.Reset(l.opts.SyncEvery)
		}
	}
	l.mu.Unlock()
	return true, nil
}

// noteDirtyLocked notes that the segments of ranges were written, and reports whether there are several to be synced now.
func (l *Log) noteDirtyLocked(ranges []ioRange) (rolled bool) {
	for _, r := range ranges {
		if k := len(l.mu.dirty); k == 0 || l.mu.dirty[k-1] != r.b.seg {
			rolled = rolled || k > 0
			l.mu.dirty = append(l.mu.dirty, r.b.seg)
		}
	}
	return rolled
}

// writeDue writes what gather found, and returns how many ranges it could. It holds appending, so that nobody closes the
// file meanwhile.
func (l *Log) writeDue() (int, error) {
	l.appending.Lock()
	defer l.appending.Unlock()
	for i, r := range l.due {
		if err := l.write(r); err != nil {
			return i, err
		}
	}
	return len(l.due), nil
}

// timeToSync is the timer of SyncInterval.
func (l *Log) timeToSync() {
	l.mu.Lock()
	l.mu.timed = false
	if !l.closed.Load() {
		l.requestPassLocked()
	}
	l.mu.Unlock()
}

// write writes a range to its file, which it creates if need be.
func (l *Log) write(r ioRange) error {
	s := r.b.seg
	f, err := l.openForWriting(s)
	if err != nil {
		return err
	}
	end := r.b.pos + int64(r.to)
	l.keepZeros(s, end, r.to-r.from)
	if _, err := f.WriteAt(r.b.bytes[r.from:r.to], r.b.pos+int64(r.from)); err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	s.written.Store(end)
	l.sealIfWritten(s)
	return nil
}

// syncSegment makes what was written to s durable, with its name.
func (l *Log) syncSegment(s *segment) error {
	f := s.writer()
	if f == nil {
		return nil // synced, and nothing was written since
	}
	final := s.complete()
	start := time.Now()
	if err := f.Datasync(); err != nil {
		return l.fail(fmt.Errorf("sync segment: %w", err))
	}
	took := time.Since(start)
	l.sched.Syncs.Observe(took, 1)
	old := l.syncTime.Load() // a moving average over about 8 syncs
	l.syncTime.Store(old + (int64(took)-old)/8)
	if s.dirDirty.Load() {
		s.dirDirty.Store(false)
		if err := l.opts.FS.SyncDir(l.opts.Dir); err != nil {
			return l.fail(fmt.Errorf("sync directory of segment: %w", err))
		}
	}
	if final {
		s.closeWriter()
	}
	return nil
}

// syncTo waits until everything up to index is durable, and asks for that if need be.
func (l *Log) syncTo(index uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if index > l.mu.handed {
		return fmt.Errorf("%w: %d, last was %d", ErrNotFlushed, index, l.mu.handed)
	}
	for l.durable.Load() < index {
		if err := l.usable(); err != nil {
			return err
		}
		if l.mu.pass == passStalled {
			return fmt.Errorf("%w: %w", ErrNoSpace, *l.stalled.Load())
		}
		l.requestPassLocked()
		l.mu.changed.Wait()
	}
	return nil
}
