package segment

import (
	"sync"

	"godwit/stream/latency"
	"godwit/stream/vfs"
)

// Scheduler runs the writes and syncs of all logs of a process on a bounded number of goroutines. A log has at most one
// pass of writes and syncs in it at a time, which covers everything that came before it starts, so the queue is bounded
// by the number of logs. Work that nobody waits for (index files, zeros written ahead) goes behind and never takes all
// of the goroutines.
//
// If the logs have a file system of their own, one sync of all of it serves the passes that wait; see group.go.
type Scheduler struct {
	workers int // bound; they are started as needed and stay
	// Syncs is how long syncs of segments, and of the volume, took.
	Syncs latency.Histogram
	done  sync.WaitGroup
	mu    struct {
		sync.Mutex
		work       *sync.Cond // signalled for each task; its lock is this one
		passes     fifo[*Log]
		background fifo[func()]
		volume     vfs.Volume // nil: each file is synced by itself
		grouping   bool       // a worker syncs the volume
		running    int        // workers started
		idle       int        // of these, waiting
		busy       int        // of these, with background work
		closed     bool
	}
}

const defaultWorkers = 8

// NewScheduler returns a scheduler of at least 2 and usually 8 goroutines; 0 means 8. Beyond that a disk gains little.
func NewScheduler(workers int) *Scheduler {
	if workers <= 0 {
		workers = defaultWorkers
	}
	s := &Scheduler{workers: max(workers, 2)}
	s.mu.work = sync.NewCond(&s.mu)
	return s
}

// Close waits for the work that is queued and stops the goroutines. All logs that use the scheduler must be closed.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.mu.closed = true
	s.mu.work.Broadcast()
	s.mu.Unlock()
	s.done.Wait()
}

// submit queues background work.
func (s *Scheduler) submit(task func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.background.push(task)
	s.wakeLocked()
}

// submitPass queues the pass of a log.
func (s *Scheduler) submitPass(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.passes.push(l)
	s.wakeLocked()
}

// wakeLocked sees to it that somebody takes what was queued.
func (s *Scheduler) wakeLocked() {
	if s.mu.idle == 0 && s.mu.running < s.workers {
		s.mu.running++
		s.done.Go(s.run)
		return
	}
	s.mu.work.Signal()
}

// run is one worker.
func (s *Scheduler) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.runPassLocked() {
			continue
		}
		if task := s.backgroundLocked(); task != nil {
			s.mu.busy++
			s.mu.Unlock()
			task()
			s.mu.Lock()
			s.mu.busy--
			s.mu.work.Signal() // another one may now take background work
			continue
		}
		if s.mu.closed && s.mu.passes.len()+s.mu.background.len() == 0 {
			s.mu.running--
			s.mu.work.Broadcast()
			return
		}
		s.mu.idle++
		s.mu.work.Wait()
		s.mu.idle--
	}
}

// runPassLocked runs a pass that waits, or many at once; the lock is released meanwhile. It reports false if there was
// nothing to do.
func (s *Scheduler) runPassLocked() bool {
	if s.mu.volume != nil && s.mu.passes.len() >= groupFrom {
		if s.mu.grouping {
			return false // the worker that syncs the volume takes them next
		}
		s.runGroupLocked()
		return true
	}
	if l := s.mu.passes.pop(); l != nil {
		s.mu.Unlock()
		l.pass()
		s.mu.Lock()
		return true
	}
	return false
}

func (s *Scheduler) backgroundLocked() func() {
	if s.mu.busy < s.workers/2 {
		return s.mu.background.pop()
	}
	return nil
}

// fifo is a queue that reuses its space.
type fifo[T any] struct {
	items []T
	first int
}

func (q *fifo[T]) len() int { return len(q.items) - q.first }

func (q *fifo[T]) push(item T) {
	if q.first > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	q.items = append(q.items, item)
}

// pop returns the zero value if there is nothing.
func (q *fifo[T]) pop() (item T) {
	if q.len() == 0 {
		return item
	}
	var none T
	item, q.items[q.first] = q.items[q.first], none
	q.first++
	if q.len() == 0 {
		q.items, q.first = q.items[:0], 0
	}
	return item
}
