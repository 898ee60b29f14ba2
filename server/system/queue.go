package system

import (
	"sync"
	"sync/atomic"

	"godwit/server/monitor"
)

// The bounds of a queue of requests. What comes beyond is dropped without an answer and counted, so that those who ask
// too much run into their own timeouts and nobody else waits.
const (
	queueItemsMax = 1024
	queueBytesMax = 8 << 20
)

// queue holds requests that wait for the goroutine which answers them. Any goroutine puts; one takes.
type queue struct {
	wake    chan struct{} // capacity 1, possibly of several queues
	refused atomic.Uint64
	working atomic.Int32 // taken and not answered yet

	// mu: nothing is locked under it.
	mu struct {
		sync.Mutex
		items  []*request // from next on
		next   int
		bytes  int
		closed bool
	}
}

func newQueue(wake chan struct{}) *queue { return &queue{wake: wake} }

// put adds r, which is given, or drops it. It does not wake the taker.
func (q *queue) put(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return
	}
	if len(q.mu.items)-q.mu.next >= queueItemsMax || q.mu.bytes+r.size() > queueBytesMax {
		q.refused.Add(1)
		return
	}
	q.mu.bytes += r.size()
	q.mu.items = append(q.mu.items, r)
}

// notify wakes the taker.
func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes the oldest request; nil if there is none.
func (q *queue) take() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.next == len(q.mu.items) {
		return nil
	}
	r := q.mu.items[q.mu.next]
	q.mu.items[q.mu.next] = nil
	q.mu.next++
	q.mu.bytes -= r.size()
	switch {
	case q.mu.next == len(q.mu.items):
		q.mu.items, q.mu.next = q.mu.items[:0], 0
	case q.mu.next >= queueItemsMax: // the taker never catches up: what it took must not pile up
		n := copy(q.mu.items, q.mu.items[q.mu.next:])
		clear(q.mu.items[n:])
		q.mu.items, q.mu.next = q.mu.items[:n], 0
	}
	return r
}

// close drops all that waits and all that comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed, q.mu.items, q.mu.next, q.mu.bytes = true, nil, 0, 0
}

func (q *queue) info(name string) monitor.QueueInfo {
	q.mu.Lock()
	defer q.mu.Unlock()
	return monitor.QueueInfo{Name: name, Pending: len(q.mu.items) - q.mu.next, InProgress: int(q.working.Load())}
}
