package conn

import (
	"sync"
	"sync/atomic"

	"godwit/server/monitor"
	"godwit/server/router"
)

// Registry knows all connections of a server, and what closed ones have counted.
type Registry struct {
	total  atomic.Uint64 // connections accepted
	stale  atomic.Uint64
	slowly struct{ pending, deadline atomic.Uint64 }
	closed struct{ inMsgs, inBytes, outMsgs, outBytes, stalls atomic.Int64 }
	ring   *monitor.ClosedRing

	// mu ranks before Conn.mu. Nothing is waited for under it.
	mu    sync.RWMutex
	conns map[uint64]*Conn
}

// NewRegistry returns an empty one; ring remembers closed connections.
func NewRegistry(ring *monitor.ClosedRing) *Registry {
	return &Registry{ring: ring, conns: make(map[uint64]*Conn)}
}

// Add registers c, unless there are limit connections already; a negative limit refuses all.
func (r *Registry) Add(c *Conn, limit int) bool {
	r.total.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit < 0 || len(r.conns) >= limit {
		return false
	}
	r.conns[c.id] = c
	return true
}

func (r *Registry) remove(c *Conn, last *monitor.Conn) {
	r.mu.Lock()
	delete(r.conns, c.id)
	r.mu.Unlock()
	r.closed.inMsgs.Add(last.InMsgs)
	r.closed.inBytes.Add(last.InBytes)
	r.closed.outMsgs.Add(last.OutMsgs)
	r.closed.outBytes.Add(last.OutBytes)
	r.closed.stalls.Add(last.Stalls)
	r.ring.Add(last)
}

func (r *Registry) slow(c *Conn, reason monitor.Reason) {
	if reason == monitor.ReasonSlowConsumerPendingBytes {
		r.slowly.pending.Add(1)
	} else {
		r.slowly.deadline.Add(1)
	}
	c.mu.Lock()
	acc := c.mu.acc
	c.mu.Unlock()
	if acc != nil {
		acc.SlowConsumers().Add(1)
	}
}

// Get returns an open connection, or nil.
func (r *Registry) Get(id uint64) *Conn {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.conns[id]
}

// Len is the number of open connections.
func (r *Registry) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.conns)
}

// All returns the open connections in no order.
func (r *Registry) All() []*Conn {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]*Conn, 0, len(r.conns))
	for _, c := range r.conns {
		all = append(all, c)
	}
	return all
}

// Closed returns the ring of closed connections.
func (r *Registry) Closed() *monitor.ClosedRing { return r.ring }

// Totals are the figures of all connections since the start, open and closed.
type Totals struct {
	Accepted                           uint64
	InMsgs, InBytes, OutMsgs, OutBytes int64
	Stalls, Stale                      int64
	SlowPending, SlowDeadline          uint64
}

// Totals sums up.
func (r *Registry) Totals() Totals {
	t := Totals{Accepted: r.total.Load(), Stale: int64(r.stale.Load()),
		InMsgs: r.closed.inMsgs.Load(), InBytes: r.closed.inBytes.Load(),
		OutMsgs: r.closed.outMsgs.Load(), OutBytes: r.closed.outBytes.Load(), Stalls: r.closed.stalls.Load(),
		SlowPending: r.slowly.pending.Load(), SlowDeadline: r.slowly.deadline.Load()}
	for _, c := range r.All() {
		t.InMsgs += int64(c.seen.inMsgs.Load())
		t.InBytes += int64(c.seen.inBytes.Load())
		msgs, bytes := c.out.counts()
		t.OutMsgs += int64(msgs)
		t.OutBytes += int64(bytes)
		t.Stalls += c.stalls.Load()
	}
	return t
}

// IDOf is the number of the connection that a subscription belongs to; 0 for one inside the server.
func IDOf(s *router.Sub) uint64 {
	if c, ok := s.Dest().Sink().(*Conn); ok {
		return c.id
	}
	return 0
}
