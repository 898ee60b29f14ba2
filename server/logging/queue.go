package logging

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// batch is a run of formatted lines.
type batch struct {
	data  []byte
	lines []line
}

// line is one entry of a batch; it starts where the one before ends.
type line struct {
	end   int
	level Level
}

func (b *batch) reset() {
	if cap(b.data) > 1<<20 {
		b.data = nil
	}
	b.data, b.lines = b.data[:0], b.lines[:0]
}

// each calls f with every line.
func (b *batch) each(f func(level Level, line []byte)) {
	start := 0
	for _, l := range b.lines {
		f(l.level, b.data[start:l.end])
		start = l.end
	}
}

// formatter makes a line.
type formatter func(dst []byte, level Level, at time.Time, text string) []byte

// queue holds lines until its goroutine has written them.
type queue struct {
	limit  int // bytes of pending; debug and trace lines may use three quarters of them
	format formatter
	stderr io.Writer // hears of the first failure of a target

	wake chan struct{} // capacity 1: something is pending
	acts chan act
	stop chan struct{} // closed by close
	done chan struct{} // closed when the goroutine has ended

	// mu is a leaf: nothing is called while it is held.
	mu struct {
		sync.Mutex
		pending  batch
		closed   bool
		lost     uint64 // since New
		reported uint64 // of lost, those the log has told of
		errors   uint64
	}
}

// act is work for the goroutine: change the sink when all earlier lines are written.
type act struct {
	change func(sink) (sink, error)
	err    chan error // capacity 1
}

func newQueue(s sink, limit int, format formatter, stderr io.Writer) *queue {
	q := &queue{
		limit: limit, format: format, stderr: stderr,
		wake: make(chan struct{}, 1), acts: make(chan act), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go q.run(s)
	return q
}

// add queues a line, which is lent, or counts it as lost.
func (q *queue) add(level Level, text []byte) {
	q.mu.Lock()
	room := q.limit
	if level == Debug || level == Trace {
		room -= room / 4
	}
	if q.mu.closed || len(q.mu.pending.data)+len(text) > room {
		q.mu.lost++
		q.mu.Unlock()
		return
	}
	q.mu.pending.data = append(q.mu.pending.data, text...)
	q.mu.pending.lines = append(q.mu.pending.lines, line{len(q.mu.pending.data), level})
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run owns the sink.
func (q *queue) run(s sink) {
	defer close(q.done)
	var b batch
	for {
		select {
		case <-q.wake:
			q.drain(s, &b)
		case a := <-q.acts:
			q.drain(s, &b)
			next, err := a.change(s)
			s = next
			a.err <- err
		case <-q.stop:
			q.drain(s, &b)
			if err := s.close(); err != nil {
				q.failed(err)
			}
			return
		}
	}
}

// drain writes all that is pending.
func (q *queue) drain(s sink, b *batch) {
	for q.take(b) {
		if err := s.write(b); err != nil {
			q.failed(err)
		}
		b.reset()
	}
}

// take swaps the pending lines into b, which is empty, and adds word of those that were lost.
func (q *queue) take(b *batch) bool {
	q.mu.Lock()
	q.mu.pending, *b = *b, q.mu.pending
	lost := q.mu.lost - q.mu.reported
	if q.mu.closed { // what comes after Close isn't lost because of a slow target
		lost = 0
	}
	q.mu.reported += lost
	q.mu.Unlock()
	if lost > 0 {
		text := fmt.Sprintf("%d log lines lost, the log target is too slow", lost)
		b.data = q.format(b.data, Warn, time.Now(), text)
		b.lines = append(b.lines, line{len(b.data), Warn})
	}
	return len(b.lines) > 0
}

// failed counts a failure of the target and tells of the first one where an operator may see it.
func (q *queue) failed(err error) {
	q.mu.Lock()
	q.mu.errors++
	first := q.mu.errors == 1
	q.mu.Unlock()
	if first {
		_, _ = fmt.Fprintf(q.stderr, "Error writing to the log: %v\n", err)
	}
}

func (q *queue) stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{q.mu.lost, q.mu.errors}
}

// do has the goroutine run change after the lines queued so far are written, and waits for it at most for timeout.
func (q *queue) do(timeout time.Duration, change func(sink) (sink, error)) error {
	t := time.NewTimer(timeout)
	defer t.Stop()
	a := act{change, make(chan error, 1)}
	select {
	case q.acts <- a:
	case <-q.done:
		return ErrClosed
	case <-t.C:
		return ErrSlow
	}
	select {
	case err := <-a.err:
		return err
	case <-t.C:
		return ErrSlow
	}
}

// close ends the goroutine. With a target that takes no more it gives up waiting after timeout.
func (q *queue) close(timeout time.Duration) error {
	q.mu.Lock()
	first := !q.mu.closed
	q.mu.closed = true
	q.mu.Unlock()
	if first {
		close(q.stop)
	}
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-q.done:
		return nil
	case <-t.C:
		return ErrSlow
	}
}
