package tlsconf

import (
	"sync"
	"time"
)

// Limiter bounds how many handshakes a listener starts per second (connection_rate_limit). A second begins
// with the first handshake after the last one's end. The nil Limiter, and one without a limit, let
// everything pass. It is safe for concurrent use.
type Limiter struct {
	limit int64

	mu       sync.Mutex
	end      time.Time // of the current second
	started  int64     // in the current second
	rejected uint64    // since TakeRejected was called last
}

// NewLimiter returns a Limiter; limit is in handshakes per second, and 0 or less means none.
func NewLimiter(limit int64) *Limiter {
	return &Limiter{limit: limit}
}

// Allow reports whether a handshake may start now, and counts it.
func (l *Limiter) Allow() bool {
	if l == nil || l.limit <= 0 {
		return true
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.end) {
		l.end = now.Add(time.Second)
		l.started = 0
	}
	if l.started >= l.limit {
		l.rejected++
		return false
	}
	l.started++
	return true
}

// TakeRejected returns how many handshakes were refused since it was called last, for a log line now and then.
func (l *Limiter) TakeRejected() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.rejected
	l.rejected = 0
	return n
}
