package stream

import (
	"sync"
	"time"

	"godwit/stream/consumer"
)

// work is what a turn handles: everything that arrived during the last one.
type work struct {
	pubs  []*PubBatch
	acks  []*consumer.AckBatch
	pulls []*consumer.PullBatch
	gets  []*GetBatch
	calls []func()
	wake  bool // something became durable, a timer fired, or the last turn left deliveries undone
}

func (w *work) empty() bool {
	return len(w.pubs)+len(w.acks)+len(w.pulls)+len(w.gets)+len(w.calls) == 0 && !w.wake
}

func (w *work) reset() {
	clear(w.pubs)
	clear(w.acks)
	clear(w.pulls)
	clear(w.gets)
	clear(w.calls)
	*w = work{pubs: w.pubs[:0], acks: w.acks[:0], pulls: w.pulls[:0], gets: w.gets[:0], calls: w.calls[:0]}
}

// mailbox brings work to a partition, all that waits in one turn. At most one goroutine runs turns at any time: the one
// that found the partition idle, which saves two goroutine switches per request, or one of the mailbox's own, which
// exists only while there is work.
//
// It is bounded by bytes, counted from admit to release. Beyond the bound a sender waits for a short time, then its
// work is refused.
type mailbox struct {
	turn  func(w *work, alone bool) (again bool)
	bound int // bytes

	mu struct {
		sync.Mutex
		in, spare work
		bytes     int
		running   bool
		closed    bool
		space     chan struct{} // closed when there is room again; nil if nobody waits
		idle      chan struct{} // closed when no turn runs any more; nil if nobody waits
	}
}

// admitWait is how long a sender waits for room.
const admitWait = 500 * time.Millisecond

// inlineTurns is how many turns a sender runs before it leaves the rest to a goroutine, so that one connection does not
// work for all.
const inlineTurns = 2

// admit takes n bytes of the bound and says whether it could. A sender that may not wait is let in up to twice the
// bound, as it may be another partition's turn.
func (m *mailbox) admit(n int, mayWait bool) bool {
	var timeout <-chan time.Time
	for {
		m.mu.Lock()
		limit := m.bound
		if !mayWait {
			limit *= 2
		}
		if m.mu.closed {
			m.mu.Unlock()
			return false
		}
		if m.mu.bytes == 0 || m.mu.bytes+n <= limit {
			m.mu.bytes += n
			m.mu.Unlock()
			return true
		}
		if !mayWait {
			m.mu.Unlock()
			return false
		}
		if m.mu.space == nil {
			m.mu.space = make(chan struct{})
		}
		space := m.mu.space
		m.mu.Unlock()
		if timeout == nil {
			t := time.NewTimer(admitWait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-space:
		case <-timeout:
			return false
		}
	}
}

// release gives back bytes taken by admit.
func (m *mailbox) release(n int) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	m.mu.bytes -= n
	if m.mu.space != nil && m.mu.bytes <= m.bound/2 {
		close(m.mu.space)
		m.mu.space = nil
	}
	m.mu.Unlock()
}

// waiting is how many bytes are in use.
func (m *mailbox) waiting() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(m.mu.bytes)
}

// begin locks the mailbox for adding to m.mu.in; false means that it is closed and not locked.
func (m *mailbox) begin() bool {
	m.mu.Lock()
	if m.mu.closed {
		m.mu.Unlock()
		return false
	}
	return true
}

// end unlocks the mailbox and sees to it that somebody runs a turn: the caller, if it may.
func (m *mailbox) end(inline bool) {
	idle := !m.mu.running
	m.mu.running = true
	m.mu.Unlock()
	if !idle {
		return
	}
	if inline {
		m.drain(inlineTurns)
	} else {
		go m.drain(0)
	}
}

// wake makes a turn run soon, on another goroutine.
func (m *mailbox) wake() {
	if m.begin() {
		m.mu.in.wake = true
		m.end(false)
	}
}

// call queues f for the turn; false means that the mailbox is closed.
func (m *mailbox) call(f func(), inline bool) bool {
	if !m.begin() {
		return false
	}
	m.mu.in.calls = append(m.mu.in.calls, f)
	m.end(inline)
	return true
}

// drain runs turns until there is no work, or limit (if not 0) of them, and leaves the rest to a goroutine.
func (m *mailbox) drain(limit int) {
	for i := 1; ; i++ {
		m.mu.Lock()
		if m.mu.in.empty() {
			m.mu.running = false
			if m.mu.idle != nil {
				close(m.mu.idle)
				m.mu.idle = nil
			}
			m.mu.Unlock()
			return
		}
		if limit > 0 && i > limit {
			m.mu.Unlock()
			go m.drain(0)
			return
		}
		w := m.mu.in
		m.mu.in, m.mu.spare = m.mu.spare, work{}
		m.mu.Unlock()
		again := m.turn(&w, limit > 0)
		w.reset()
		m.mu.Lock()
		m.mu.spare = w
		if again {
			m.mu.in.wake = true
		}
		m.mu.Unlock()
	}
}

// close lets in nothing more and waits until what is in was handled.
func (m *mailbox) close() {
	m.mu.Lock()
	m.mu.closed = true
	if m.mu.space != nil {
		close(m.mu.space)
		m.mu.space = nil
	}
	for m.mu.running {
		if m.mu.idle == nil {
			m.mu.idle = make(chan struct{})
		}
		idle := m.mu.idle
		m.mu.Unlock()
		<-idle
		m.mu.Lock()
	}
	m.mu.Unlock()
}
