package segment

import "sync"

// Scheduler runs the writes and syncs of all logs of a process on a bounded number of goroutines. A log has at most one
// pass of writes and syncs in it at a time, which covers everything that came before it starts, so the queue is bounded
// by the number of logs. Work that nobody waits for (index files, zeros written ahead) goes behind and never takes all
// of the goroutines.
type Scheduler struct {
	workers int // bound; they are started as needed and stay
	done    sync.WaitGroup
	mu      struct {
		sync.Mutex
		work       *sync.Cond // signalled for each task; its lock is this one
		urgent     fifo
		background fifo
		running    int // workers started
		idle       int // of these, waiting
		busy       int // of these, with background work
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

// submit queues a task. An urgent one goes before all that are not.
func (s *Scheduler) submit(task func(), urgent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if urgent {
		s.mu.urgent.push(task)
	} else {
		s.mu.background.push(task)
	}
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
		task, urgent := s.nextLocked()
		if task == nil {
			if s.mu.closed && s.mu.urgent.empty() && s.mu.background.empty() {
				s.mu.running--
				s.mu.work.Broadcast()
				return
			}
			s.mu.idle++
			s.mu.work.Wait()
			s.mu.idle--
			continue
		}
		if !urgent {
			s.mu.busy++
		}
		s.mu.Unlock()
		task()
		s.mu.Lock()
		if !urgent {
			s.mu.busy--
			s.mu.work.Signal() // another one may now take background work
		}
	}
}

func (s *Scheduler) nextLocked() (task func(), urgent bool) {
	if task = s.mu.urgent.pop(); task != nil {
		return task, true
	}
	if s.mu.busy < s.workers/2 {
		return s.mu.background.pop(), false
	}
	return nil, false
}

// fifo is a queue that reuses its space.
type fifo struct {
	tasks []func()
	first int
}

func (q *fifo) empty() bool { return q.first == len(q.tasks) }

func (q *fifo) push(task func()) {
	if q.first > 0 && len(q.tasks) == cap(q.tasks) {
		n := copy(q.tasks, q.tasks[q.first:])
		clear(q.tasks[n:])
		q.tasks, q.first = q.tasks[:n], 0
	}
	q.tasks = append(q.tasks, task)
}

func (q *fifo) pop() func() {
	if q.empty() {
		return nil
	}
	task := q.tasks[q.first]
	q.tasks[q.first] = nil
	q.first++
	if q.empty() {
		q.tasks, q.first = q.tasks[:0], 0
	}
	return task
}
