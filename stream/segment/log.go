package segment

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Log is the log of one partition.
//
// One owner at a time calls Append and Flush; it also calls Close. Everything else is safe for concurrent use.
//
// Locks rank in this order: rewriting, files, erasing, appending, Tails.mu; and erasing, rebuilding, segList, mu, segment.mu, zeroing.mu;
// segment.content comes last. All but Tails.mu, segList and mu may be held across I/O.
type Log struct {
	opts         Options
	hash         *hasher
	sched        *Scheduler
	id           uint64 // in the cache
	ownSched     bool
	together     bool // its files may be synced as part of the scheduler's volume
	ownTails     bool
	maxUnwritten int64 // bound of bytes that wait to be written

	// The owner's.
	active     *segment // nil: the next batch begins a new one
	generation uint32
	// firstSerial is the serial number of the next segment if there is none: never one that counts as dropped.
	firstSerial uint64
	unflushed   int64 // bytes appended and not handed over
	due         []ioRange
	blockBytes  int    // of the next block
	plain       []byte // scratch of AppendPacked
	packed      []byte // the same
	maxBlock    int
	proven      struct{ durable, at uint64 } // what the head of the batch with index at said to be durable
	// appending is held by the owner while it appends, and by who takes blocks from the tail: so that no block goes that
	// is being filled. It guards changes of tail, and blockBytes.
	appending sync.Mutex

	// What readers see.
	segs    atomic.Pointer[[]*segment] // by serial; the list is immutable
	tail    atomic.Pointer[tail]
	last    atomic.Uint64 // index of the last batch
	next    atomic.Uint64 // sequence to be assigned
	durable atomic.Uint64
	bytes   atomic.Int64
	closed  atomic.Bool
	failure atomic.Pointer[error]
	stalled atomic.Pointer[error] // why nothing can be written right now
	open    openFiles

	syncTime atomic.Int64 // moving average, ns; who runs the pass writes it

	// mu guards the work of the next pass, and is not held across I/O.
	mu struct {
		sync.Mutex
		changed      *sync.Cond // a pass or task ended, or the log failed
		pass         passState
		again        bool // another pass is to follow the one that runs
		pending      []ioRange
		spare        []ioRange // empty, for pending
		pendingBytes int64
		dirty        []*segment // written lazily and not synced
		handed       uint64     // index of the last batch handed to Flush
		tasks        int        // background tasks queued or running
		indexing     int        // of them, those that make index files
		timer        *time.Timer
		timed        bool // the timer runs
		retry        *time.Timer
		behind       bool // lazy policies: what is flushed is left to passes, until they have caught up
		giveUp       bool // a full disk is a failure
	}

	segList    sync.Mutex               // guards changes of segs
	rewriting  sync.Mutex               // held while a segment is rewritten
	rewriter   atomic.Pointer[rewriter] // of it
	rebuilding sync.Mutex               // held while an index is made anew
	erasing    sync.Mutex               // held while batches are overwritten

	// files guards the set of files: checkpoints, mark, and which segments exist. It is held across I/O.
	files struct {
		sync.Mutex
		checkpoints []checkpointFile // kept, newest first, at most two once one was saved
		stale       []string         // files of others, to be removed with the next one saved
		detached    []string         // segments, without extension, that the newest one does not mention any more; likewise
		firstSerial uint64           // as the mark has it
	}
}

// Open opens the log in o.Dir, which it creates if it does not exist, and gives back the state through o.Restore and
// o.Replay. The report says what was found; with damage in it the log still opens, and serves what is intact.
func Open(o Options) (*Log, *Report, error) {
	start := time.Now()
	opts, err := o.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	l := &Log{opts: opts, ownTails: o.Tails == nil, hash: newHasher(opts.Key), sched: opts.Scheduler, id: opts.Cache.logs.Add(1)}
	l.mu.changed = sync.NewCond(&l.mu)
	l.maxUnwritten = maxUnwritten
	l.maxBlock = int(min(maxBlockBytes, max(firstBlockBytes, min(opts.TailBytes, opts.Tails.max)/4)))
	l.blockBytes = min(firstBlockBytes, l.maxBlock)
	l.tail.Store(&tail{})
	l.segs.Store(&[]*segment{})
	report, err := l.recover()
	if err != nil {
		for _, s := range *l.segs.Load() {
			s.finish()
		}
		return nil, nil, fmt.Errorf("open log %s: %w", opts.Dir, err)
	}
	if l.sched == nil {
		l.sched, l.ownSched = NewScheduler(2), true
	}
	l.together = l.opts.Sync != SyncOS && l.sched.holds(opts.Dir)
	for _, s := range *l.segs.Load() {
		if s.renew {
			l.background(func() { l.renewIndex(s) })
		}
	}
	report.Duration = time.Since(start)
	return l, report, nil
}

// LastIndex returns the index of the last batch appended, 0 if there was none.
func (l *Log) LastIndex() uint64 { return l.last.Load() }

// NextSeq returns the sequence after the last one given, 1 at the beginning.
func (l *Log) NextSeq() uint64 { return l.next.Load() }

// Durable returns the index up to which everything was synced, whatever the policy.
func (l *Log) Durable() uint64 { return l.durable.Load() }

// FirstBase returns the first sequence that the oldest segment can hold.
func (l *Log) FirstBase() uint64 {
	if segs := *l.segs.Load(); len(segs) > 0 {
		return segs[0].base
	}
	return l.next.Load()
}

// Bytes returns the size of all segments, without indexes, checkpoints and room written ahead.
func (l *Log) Bytes() int64 { return l.bytes.Load() }

// SegmentBytes returns the size at which a segment is sealed.
func (l *Log) SegmentBytes() int64 { return l.opts.SegmentBytes }

// usable returns ErrFailed or ErrClosed if the log takes no more batches.
func (l *Log) usable() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	if l.closed.Load() {
		return ErrClosed
	}
	return nil
}

// fail makes the log take no more batches, for good, and returns the error that says so.
func (l *Log) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	if l.failure.CompareAndSwap(nil, &err) {
		l.opts.OnFailure(cause)
		l.mu.Lock()
		l.mu.changed.Broadcast()
		l.mu.Unlock()
	}
	return *l.failure.Load()
}

// changeSegments replaces the list; change gets a copy that it may change.
func (l *Log) changeSegments(change func(list []*segment) []*segment) {
	l.segList.Lock()
	defer l.segList.Unlock()
	list := change(append(make([]*segment, 0, len(*l.segs.Load())+1), *l.segs.Load()...))
	l.segs.Store(&list)
}

// Close makes everything appended durable, whatever the policy, leaves a mark of it, stops all work of the log and
// closes its files. Cursors may still read what they find in memory. A log that failed is closed without writing.
func (l *Log) Close() error {
	l.files.Lock()
	defer l.files.Unlock()
	if l.closed.Swap(true) {
		return ErrClosed
	}
	l.mu.Lock()
	if l.mu.timer != nil {
		l.mu.timer.Stop()
	}
	if l.mu.retry != nil {
		l.mu.retry.Stop()
	}
	l.mu.giveUp = true
	for l.mu.pass != passIdle && l.mu.pass != passStalled {
		l.mu.changed.Wait()
	}
	l.mu.pass = passRunning // nobody else begins one
	l.mu.again = false
	w := passWork{ranges: l.mu.pending, dirty: l.mu.dirty, index: l.last.Load()}
	l.mu.pending, l.mu.dirty = nil, nil
	l.mu.Unlock()

	l.gather()
	w.ranges = append(w.ranges, l.due...)
	l.do(&w)
	var err error
	l.waitForTasks()
	if failure := l.failure.Load(); failure != nil {
		err = *failure
	} else {
		err = errors.Join(err, l.tidy())
	}
	for _, s := range *l.segs.Load() {
		s.finish()
	}
	l.leaveTails()
	if l.ownSched {
		l.sched.Close()
	}
	if l.ownTails {
		l.opts.Tails.Close()
	}
	return err
}

// leaveTails gives the memory of the tail back to the budget; cursors that have found a block keep it.
func (l *Log) leaveTails() {
	l.appending.Lock()
	defer l.appending.Unlock()
	for _, b := range l.tail.Load().blocks {
		l.opts.Tails.remove(b)
	}
}

// tidy cuts what was written ahead and writes the mark.
func (l *Log) tidy() error {
	if err := l.trim(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	durable := l.durable.Load()
	if durable == 0 && len(*l.segs.Load()) == 0 {
		return nil
	}
	m := mark{l.generation, durable, l.next.Load(), l.files.firstSerial}
	if err := writeMark(l.opts.FS, l.opts.Dir, m, l.hash); err != nil {
		return fmt.Errorf("write mark: %w", err)
	}
	return nil
}

// trim cuts the room written ahead in the active segment.
func (l *Log) trim() error {
	s := l.active
	if s == nil {
		return nil
	}
	f := s.writer()
	if f == nil {
		return nil
	}
	s.stopZeros()
	size, err := f.Size()
	if err != nil || size <= s.size.Load() {
		return err
	}
	if err := f.Truncate(s.size.Load()); err != nil {
		return err
	}
	return f.Sync()
}
