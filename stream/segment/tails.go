package segment

import (
	"sync"
	"sync/atomic"
	"time"
)

// defaultTailsBytes bounds the tail blocks of a log that shares no budget.
const defaultTailsBytes = 8 << 20

// tailsIdle is how long a log may go without a batch until its tail blocks are dropped: twice at most.
const tailsIdle = 10 * time.Second

// tailsLook bounds how many blocks are looked at to find one that may go.
const tailsLook = 256

// Tails is the memory for tail blocks of all logs of a process: one bound, of which busy logs take what they need. Beyond
// it the oldest blocks go whose bytes are in their files, whichever log they belong to; what still has to be written
// stays, so the bound may be passed by that (see Log.Flush for how much). A log without new batches gives back its
// blocks after a while.
//
// All methods are safe for concurrent use. Close it after its logs.
type Tails struct {
	max   int64
	bytes atomic.Int64
	// sweeping is what Close waits for.
	sweeping sync.WaitGroup

	// mu ranks after Log.appending, but a goroutine that holds it may try the appending of another log.
	mu struct {
		sync.Mutex
		first, last *block // in the order in which they were made
		timer       *time.Timer
		timed       bool // the timer runs
		closed      bool
	}
}

// NewTails returns a budget of max bytes.
func NewTails(max int64) *Tails { return &Tails{max: max} }

// Bytes is the memory in use.
func (t *Tails) Bytes() int64 { return t.bytes.Load() }

// Max is the bound.
func (t *Tails) Max() int64 { return t.max }

// Close ends the release of idle blocks.
func (t *Tails) Close() {
	t.mu.Lock()
	t.mu.closed = true
	if t.mu.timer != nil {
		t.mu.timer.Stop()
	}
	t.mu.Unlock()
	t.sweeping.Wait()
}

// add counts a new block, and makes room for it. own is the log of the block, whose appending the caller holds.
func (t *Tails) add(b *block, own *Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.before = t.mu.last; b.before != nil {
		b.before.after = b
	} else {
		t.mu.first = b
	}
	t.mu.last = b
	t.bytes.Add(int64(len(b.bytes)))
	looked := 0
	for o := t.mu.first; o != b && t.bytes.Load() > t.max && looked < tailsLook; looked++ {
		next := o.after
		t.dropLocked(o, own)
		o = next
	}
	if !t.mu.timed && !t.mu.closed {
		t.mu.timed = true
		if t.mu.timer == nil {
			t.mu.timer = time.AfterFunc(tailsIdle, t.dropIdle)
		} else {
			t.mu.timer.Reset(tailsIdle)
		}
	}
}

// remove stops counting a block that its log dropped.
func (t *Tails) remove(b *block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeLocked(b)
}

// replace counts n, of the same size, in the place of b: blocks of a log go in their order.
func (t *Tails) replace(b, n *block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.before == nil && t.mu.first != b {
		return // it was removed before
	}
	n.before, n.after, n.seen = b.before, b.after, b.seen
	if n.before != nil {
		n.before.after = n
	} else {
		t.mu.first = n
	}
	if n.after != nil {
		n.after.before = n
	} else {
		t.mu.last = n
	}
	b.before, b.after = nil, nil
}

func (t *Tails) removeLocked(b *block) {
	if b.before == nil && t.mu.first != b {
		return // it was removed before
	}
	if b.before != nil {
		b.before.after = b.after
	} else {
		t.mu.first = b.after
	}
	if b.after != nil {
		b.after.before = b.before
	} else {
		t.mu.last = b.before
	}
	b.before, b.after = nil, nil
	t.bytes.Add(-int64(len(b.bytes)))
}

// dropLocked takes a block from its log, if its bytes are in the file and the log does not append right now. It reports
// whether it did.
func (t *Tails) dropLocked(b *block, own *Log) bool {
	l := b.log
	if l != own {
		if !l.appending.TryLock() {
			return false
		}
		defer l.appending.Unlock()
	}
	if b.end() > b.seg.written.Load() {
		return false
	}
	l.forgetBlock(b)
	t.removeLocked(b)
	return true
}

// dropIdle is the timer's: it drops the blocks of logs that got no batch since it came by the last time.
func (t *Tails) dropIdle() {
	t.mu.Lock()
	if t.mu.closed {
		t.mu.Unlock()
		return
	}
	t.sweeping.Add(1)
	defer t.sweeping.Done()
	t.mu.timed = false
	var idle []*Log
	for b := t.mu.first; b != nil; {
		next := b.after
		if last := b.log.last.Load(); b.seen == last {
			if t.dropLocked(b, nil) && len(b.log.tail.Load().blocks) == 0 {
				idle = append(idle, b.log)
			}
		} else {
			b.seen = last
		}
		b = next
	}
	if t.mu.first != nil {
		t.mu.timed = true
		t.mu.timer.Reset(tailsIdle)
	}
	t.mu.Unlock()
	for _, l := range idle {
		l.rest()
		l.opts.OnIdle()
	}
}

// rest closes the files of a log that has nothing to do; they are opened again when needed.
func (l *Log) rest() {
	if !l.appending.TryLock() {
		return
	}
	defer l.appending.Unlock()
	l.mu.Lock()
	busy := l.mu.pass != passIdle || len(l.mu.pending) > 0 || len(l.mu.dirty) > 0 || l.mu.tasks > 0
	if busy || l.closed.Load() || l.failure.Load() != nil {
		l.mu.Unlock()
		return
	}
	l.mu.pass = passRunning // nobody else writes or syncs; under the lazy policies writing takes appending
	l.mu.Unlock()
	if segs := *l.segs.Load(); len(segs) > 0 {
		if s := segs[len(segs)-1]; s.written.Load() == s.size.Load() {
			s.closeWriter()
			s.shut()
		}
	}
	l.mu.Lock()
	l.endPassLocked()
	l.mu.Unlock()
}

// forgetBlock takes a block out of the tail. appending is held; readers that have found the block keep it.
func (l *Log) forgetBlock(b *block) {
	old := l.tail.Load().blocks
	kept := make([]*block, 0, len(old))
	for _, o := range old {
		if o != b {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		l.blockBytes = min(firstBlockBytes, l.maxBlock) // it starts small again
	}
	l.tail.Store(&tail{kept})
}
