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
// policy promises: durable under SyncAlways, written under the others, which never report false.
//
// Under SyncAlways the scheduler writes and syncs, all at once what came during the sync before, and OnDurable tells
// when it is done. If the caller is alone, which means that it has nothing else to do, and the log has no sync under way
// and its syncs have been fast, Flush writes and syncs itself and spares two goroutine switches.
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
	var n int64
	for _, r := range l.due {
		n += int64(r.to - r.from)
	}
	l.mu.Lock()
	for l.mu.pendingBytes+n > l.maxUnwritten && l.mu.pass != passIdle && l.failure.Load() == nil {
		l.mu.changed.Wait()
	}
	if alone && l.mu.pass == passIdle && l.syncTime.Load() < int64(inlineBelow) {
		l.mu.pass = passRunning
		l.mu.handed = index
		l.mu.Unlock()
		err := l.commit(l.due, index)
		l.endPass()
		return err == nil, err
	}
	for _, r := range l.due {
		// Bytes that follow in the same block extend the range that waits: one write for all.
		if k := len(l.mu.pending); k > 0 && l.mu.pending[k-1].b == r.b {
			l.mu.pending[k-1].to = r.to
			continue
		}
		l.mu.pending = append(l.mu.pending, r)
	}
	l.mu.handed = index
	l.mu.pendingBytes += n
	l.requestPassLocked()
	l.mu.Unlock()
	return false, l.usable()
}

// flushLazily writes, and leaves syncing to the timer or to nobody. The owner calls it.
func (l *Log) flushLazily() (bool, error) {
	if len(l.due) == 0 {
		return true, nil
	}
	if err := l.writeDue(); err != nil {
		l.fail(err)
		return false, l.usable()
	}
	rolled := false
	l.mu.Lock()
	for _, r := range l.due {
		if k := len(l.mu.dirty); k == 0 || l.mu.dirty[k-1] != r.b.seg {
			rolled = rolled || k > 0
			l.mu.dirty = append(l.mu.dirty, r.b.seg)
		}
	}
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

// writeDue writes what gather found. It holds appending, so that nobody closes the file meanwhile.
func (l *Log) writeDue() error {
	l.appending.Lock()
	defer l.appending.Unlock()
	for _, r := range l.due {
		if err := l.write(r); err != nil {
			return err
		}
	}
	return nil
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

// passState says who writes and syncs: nobody, or a worker will, or somebody does. Under SyncAlways only that one
// writes the files.
type passState uint8

const (
	passIdle passState = iota
	passQueued
	passRunning
)

// requestPassLocked makes sure that a pass starts after this moment.
func (l *Log) requestPassLocked() {
	switch l.mu.pass {
	case passIdle:
		l.mu.pass = passQueued
		l.sched.submit(l.runPass, true)
	case passRunning:
		l.mu.again = true
	}
}

// endPass lets the next pass begin.
func (l *Log) endPass() {
	l.mu.Lock()
	l.mu.pass = passIdle
	if l.mu.again && l.failure.Load() == nil {
		l.requestPassLocked()
	}
	l.mu.again = false
	l.mu.changed.Broadcast()
	l.mu.Unlock()
}

// pass is a pass by a worker: it writes all that was handed over and syncs it.
func (l *Log) pass() {
	l.mu.Lock()
	l.mu.pass = passRunning
	ranges, dirty := l.mu.pending, l.mu.dirty
	l.mu.pending, l.spareRanges = l.spareRanges[:0], nil
	l.mu.dirty = nil
	l.mu.pendingBytes = 0
	index := l.mu.handed
	l.mu.Unlock()

	switch {
	case l.failure.Load() != nil: // never again
	case l.opts.Sync == SyncAlways:
		l.commit(ranges, index) // an error is kept in l.failure
	default:
		l.syncDirty(dirty, index)
	}
	clear(ranges)
	l.spareRanges = ranges[:0]
	l.endPass()
}

// commit writes ranges and syncs, then says that everything up to index is durable. A segment is synced before the next
// is written. Only the one that runs the pass calls it.
func (l *Log) commit(ranges []ioRange, index uint64) error {
	var s *segment
	for _, r := range ranges {
		if s != nil && r.b.seg != s {
			if err := l.syncSegment(s); err != nil {
				return err
			}
		}
		s = r.b.seg
		if err := l.write(r); err != nil {
			return l.fail(err)
		}
	}
	if s != nil {
		if err := l.syncSegment(s); err != nil {
			return err
		}
	}
	l.nowDurable(index)
	return nil
}

// syncDirty syncs what was written lazily.
func (l *Log) syncDirty(dirty []*segment, index uint64) {
	for _, s := range dirty {
		if s.dropped.Load() {
			continue
		}
		if err := l.syncSegment(s); err != nil {
			return
		}
	}
	l.nowDurable(index)
}

func (l *Log) nowDurable(index uint64) {
	if index > l.durable.Load() && l.failure.Load() == nil {
		l.durable.Store(index)
		l.opts.OnDurable(index)
	}
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
	final := s.sealed.Load() && s.written.Load() == s.size.Load()
	start := time.Now()
	if err := f.Datasync(); err != nil {
		return l.fail(fmt.Errorf("sync segment: %w", err))
	}
	old := l.syncTime.Load() // a moving average over about 8 syncs
	l.syncTime.Store(old + (int64(time.Since(start))-old)/8)
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
		l.requestPassLocked()
		l.mu.changed.Wait()
	}
	return nil
}
