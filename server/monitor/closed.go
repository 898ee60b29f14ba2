package monitor

import "sync"

// closedSubsMax bounds the subscriptions remembered by a ClosedRing over all its connections. Beyond it the
// oldest connections lose their lists, not their counts.
const closedSubsMax = 1 << 16

// ClosedRing remembers the connections closed last. It is safe for concurrent use.
type ClosedRing struct {
	// mu ranks below every lock of a connection or a server: nothing is called while it is held.
	mu struct {
		sync.Mutex
		conns []*Conn // a ring once it has its full length; a Conn in it is never written
		next  int     // where the next one goes: the oldest once the ring is full
		total uint64
		subs  int // over all conns
		bare  int // conns that have lost their lists or never had one, counted from the oldest
	}
	size int
}

// NewClosedRing returns a ring for the size connections closed last. A size below 1 remembers none.
func NewClosedRing(size int) *ClosedRing { return &ClosedRing{size: max(size, 0)} }

// Add remembers c, which is given with all it refers to, in place of the oldest connection if the ring is full.
func (r *ClosedRing) Add(c *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.total++
	if r.size == 0 {
		return
	}
	r.mu.subs += len(c.Subs)
	if len(r.mu.conns) < r.size {
		r.mu.conns = append(r.mu.conns, c)
	} else {
		r.mu.subs -= len(r.mu.conns[r.mu.next].Subs)
		r.mu.conns[r.mu.next] = c
		r.mu.next = (r.mu.next + 1) % r.size
		r.mu.bare = max(r.mu.bare-1, 0)
	}
	for r.mu.subs > closedSubsMax && r.mu.bare < len(r.mu.conns) {
		i := (r.mu.next + r.mu.bare) % len(r.mu.conns)
		if old := r.mu.conns[i]; len(old.Subs) > 0 {
			r.mu.subs -= len(old.Subs)
			bare := *old
			bare.Subs = nil
			r.mu.conns[i] = &bare
		}
		r.mu.bare++
	}
}

// Total returns how many connections were ever added.
func (r *ClosedRing) Total() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.total
}

// Len returns how many connections are remembered.
func (r *ClosedRing) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.conns)
}

// Each calls f with the remembered connections, the one closed first at the front, until f returns false.
// What f is given is shared; f sees the ring as it was when Each was called and may take its time.
func (r *ClosedRing) Each(f func(*Conn) bool) {
	r.mu.Lock()
	conns := make([]*Conn, 0, len(r.mu.conns))
	conns = append(conns, r.mu.conns[r.mu.next:]...)
	conns = append(conns, r.mu.conns[:r.mu.next]...)
	r.mu.Unlock()
	for _, c := range conns {
		if !f(c) {
			return
		}
	}
}
