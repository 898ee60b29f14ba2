package conn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"godwit/server/monitor"
	"godwit/server/router"
)

const (
	handOver  = 16 << 10 // less than this is copied to the end of the queue, not handed over with its chunk
	directMax = 4 << 10  // written by the sender itself even if it has other destinations to serve
	softBytes = 1 << 20  // queued bytes above which senders wait a little, or half of max_pending
	stallTime = 5 * time.Millisecond
	// overflowTime is how long a sender waits whose frames would make the destination a slow consumer.
	overflowTime = 10 * time.Millisecond
	writeItems   = 16 // chunks per write of the writer goroutine
)

// outbound is the shared side of a connection: what senders queue, and who writes to the socket. The writer goroutine
// exists only while there is a queue; whoever sets busy starts it, or writes himself.
type outbound struct {
	nc       net.Conn
	sock     *socket                      // nil if nc is not plain TCP: then only the writer goroutine writes
	deadline atomic.Int64                 // write deadline in ns; 0 is none
	retry    bool                         // a write that timed out is tried again if it had got something out
	pending  int64                        // bytes queued at which the connection is a slow consumer
	soft     int64                        // bytes queued above which senders wait
	failed   func(monitor.Reason, string) // called without locks held
	done     chan struct{}                // closed when nobody writes and nobody ever will

	// mu ranks last: nothing is locked and no system call is made under it.
	mu      sync.Mutex
	busy    bool // a sender or the writer goroutine is writing to the socket
	closed  bool
	ending  bool          // close the socket when the queue is written
	lagging bool          // did not drain within stallTime; senders no longer wait for it
	dropMax int64         // queued bytes at which new frames are dropped instead of stalling; 0 is never
	queue   []item        // in order; only who is busy takes from it
	queued  int64         // bytes in queue or being written by the writer goroutine
	room    chan struct{} // closed when senders may go on; nil if none waits
	msgs    uint64
	bytes   uint64
}

// item is a piece of queue. The block, if any, is released after it is written.
type item struct {
	b     []byte
	chunk *router.Block
}

// take queues the frames of h, or writes them at once. See router.Sink.
//
// If nobody writes to the destination, the sender does, without blocking: that spares a goroutine switch and keeps
// the bytes in this core's cache. Only what the socket does not take is queued.
func (o *outbound) take(h router.Handover) (d router.Done) {
	bl, n, sent := h.Block, h.N, 0
	o.mu.Lock()
	if o.queued > 0 && o.queued+int64(n) > o.pending && h.MayWait {
		d.Waited = true
		o.waitLocked(overflowTime) // rather than be cut off for what one fast sender brings at once
	}
	if o.closed || o.dropMax > 0 && o.queued > o.dropMax && h.Counts.Msgs > 0 {
		o.mu.Unlock()
		return d
	}
	o.msgs += h.Counts.Msgs
	o.bytes += h.Counts.Bytes
	direct := o.sock != nil && (h.Alone || n <= directMax) && !o.busy && len(o.queue) == 0
	if direct {
		o.busy = true
		o.mu.Unlock()
		o.sock.start(bl.B[:n])
		sent, _ = o.sock.write(false) // a dead socket shows in its reader
		o.sock.done()
		o.mu.Lock()
		if o.closed || sent == n && len(o.queue) == 0 {
			end := o.rest()
			o.mu.Unlock()
			if end {
				o.nc.Close()
			}
			return d
		}
	}
	if sent < n {
		behind := o.queue // what others queued while we wrote comes after our rest
		if direct {
			o.queue = nil
		}
		d.Kept = o.enqueue(bl, bl.B[sent:n])
		if direct {
			o.queue = append(o.queue, behind...)
		}
	}
	if direct || !o.busy {
		o.busy = true
		go o.writeLoop()
	}
	d.Full = o.queued > o.soft
	slow := o.queued > o.pending
	o.mu.Unlock()
	if slow {
		o.failed(monitor.ReasonSlowConsumerPendingBytes, fmt.Sprintf("MaxPending of %d Exceeded", o.pending))
	}
	return d
}

// enqueue adds b, which lies in bl, to the queue and reports whether bl goes with it. Called with mu held.
func (o *outbound) enqueue(bl *router.Block, b []byte) (kept bool) {
	o.queued += int64(len(b))
	if len(b) >= handOver {
		o.queue = append(o.queue, item{b: b, chunk: bl})
		return true
	}
	if n := len(o.queue); n > 0 {
		if last := &o.queue[n-1]; cap(last.b)-len(last.b) >= len(b) {
			last.b = append(last.b, b...)
			return false
		}
	}
	chunk := router.NewBlock(max(4*handOver, len(b)))
	o.queue = append(o.queue, item{b: append(chunk.B[:0], b...), chunk: chunk})
	return false
}

// writeLoop drains the queue and ends.
func (o *outbound) writeLoop() {
	var batch [writeItems]item
	for {
		o.mu.Lock()
		n := copy(batch[:], o.queue)
		if n == 0 || o.closed {
			end := o.rest()
			o.mu.Unlock()
			if end {
				o.nc.Close()
			}
			return
		}
		rest := copy(o.queue, o.queue[n:])
		clear(o.queue[rest:])
		o.queue = o.queue[:rest]
		o.mu.Unlock()

		size := int64(0)
		for _, it := range batch[:n] {
			size += int64(len(it.b))
		}
		err := o.write(batch[:n])
		for _, it := range batch[:n] {
			it.chunk.Release()
		}
		clear(batch[:n])

		o.mu.Lock()
		o.queued -= size
		if o.queued < o.soft/2 || err != nil {
			o.lagging = false
			o.free()
		}
		o.mu.Unlock()
		if err != nil {
			o.fail(err, n, size)
		}
	}
}

// free lets waiting senders go on. Called with mu held.
func (o *outbound) free() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// write sends the items, all or until the deadline.
func (o *outbound) write(items []item) error {
	if o.sock == nil {
		return o.writeStream(items)
	}
	s := o.sock
	var segs [writeItems][]byte
	size := 0
	for i, it := range items {
		segs[i] = it.b
		size += len(it.b)
	}
	s.start(segs[:len(items)]...)
	defer s.done()
	n, err := s.write(false)
	if err != nil || n == size {
		return err
	}
	for {
		limit := time.Duration(o.deadline.Load())
		if limit > 0 {
			o.nc.SetWriteDeadline(time.Now().Add(limit))
		}
		n, err := s.write(true)
		if limit > 0 {
			o.nc.SetWriteDeadline(time.Time{})
		}
		if !o.retry || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
}

// writeStream sends the items over TLS and other wrapped connections, as few large writes.
func (o *outbound) writeStream(items []item) error {
	if limit := time.Duration(o.deadline.Load()); limit > 0 {
		o.nc.SetWriteDeadline(time.Now().Add(limit))
		defer o.nc.SetWriteDeadline(time.Time{})
	}
	for _, it := range items {
		if _, err := o.nc.Write(it.b); err != nil {
			return err
		}
	}
	return nil
}

// fail ends a connection that could not be written to.
func (o *outbound) fail(err error, chunks int, size int64) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		o.failed(monitor.ReasonSlowConsumerWriteDeadline, fmt.Sprintf("WriteDeadline of %v exceeded with %d chunks of %d total bytes.",
			time.Duration(o.deadline.Load()), chunks, size))
		return
	}
	o.failed(monitor.ReasonWriteError, "")
}

// stall waits until there is room again, for stallTime at most: a fast publisher then works in step with its
// subscribers while the bytes are still in cache. It is not what protects the server: a destination that does not
// drain in time is marked and no longer waited for until it has caught up, so that it neither blocks the publisher
// nor, with two clients that only write, causes a deadlock.
func (o *outbound) stall() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.dropMax > 0 || o.queued <= o.soft || o.lagging && o.queued < o.pending/4*3 {
		return false
	}
	if !o.waitLocked(stallTime) {
		o.lagging = true
	}
	return true
}

// waitLocked waits until there is room again, or for the time given, and reports which. Called with mu held, which it
// gives up meanwhile.
func (o *outbound) waitLocked(most time.Duration) bool {
	if o.room == nil {
		o.room = make(chan struct{})
	}
	room := o.room
	o.mu.Unlock()
	defer o.mu.Lock()
	timer := timers.Get().(*time.Timer)
	defer timers.Put(timer)
	timer.Reset(most)
	defer timer.Stop()
	select {
	case <-room:
		return true
	case <-timer.C:
		return false
	}
}

// timers are stopped; waiting for room happens too often to make one each time.
var timers = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}}

// rest ends a turn of writing and reports whether the socket is to be closed now. Called with mu held.
func (o *outbound) rest() (end bool) {
	o.busy = false
	if o.ending && !o.closed {
		o.closed, end = true, true
		o.free()
	}
	if o.closed {
		close(o.done)
	}
	return end
}

// finish closes the socket once all that is queued was written, at the latest when the writer meets the deadline.
func (o *outbound) finish() {
	o.mu.Lock()
	o.ending = true
	end := false
	if !o.busy && !o.closed {
		end = o.rest()
	}
	o.mu.Unlock()
	if end {
		o.nc.Close()
	}
}

// abort drops what is queued and closes the socket.
func (o *outbound) abort() {
	o.mu.Lock()
	dropped := o.queue
	o.queue = nil
	for _, it := range dropped {
		o.queued -= int64(len(it.b))
	}
	if !o.closed {
		o.closed = true
		o.free()
		if !o.busy {
			close(o.done)
		}
	}
	o.mu.Unlock()
	for _, it := range dropped {
		it.chunk.Release()
	}
	o.nc.Close()
}

func (o *outbound) queuedBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued
}

func (o *outbound) counts() (msgs, bytes uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.msgs, o.bytes
}
