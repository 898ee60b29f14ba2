package segment

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultPace = 64 << 20 // bytes per second
	paceBurst   = 4 << 20  // bytes that go without waiting
	paceTurns   = 2        // segments that are rewritten at the same time: each takes a few MiB of memory
)

// Pace bounds the rewriting of segments, of all logs that share it: the bytes per second that are read and written, and how
// many are worked on at the same time. All methods are safe for concurrent use.
type Pace struct {
	rate  int64         // bytes per second
	turns chan struct{} // holds one for each segment that is being rewritten

	segments, freed, failed atomic.Uint64 // see Rewritten

	mu   sync.Mutex
	free time.Time // when all that was taken is paid for
}

// NewPace returns a pace of that many bytes per second; 0 means 64 MiB.
func NewPace(rate int64) *Pace {
	if rate <= 0 {
		rate = defaultPace
	}
	return &Pace{rate: rate, turns: make(chan struct{}, paceTurns)}
}

// Rewritten returns how many segments were made smaller, by how many bytes, and how often that failed.
func (p *Pace) Rewritten() (segments, freed, failed uint64) {
	return p.segments.Load(), p.freed.Load(), p.failed.Load()
}

// begin waits for a turn; end must follow. It reports false if stop was closed before.
func (p *Pace) begin(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return false
	case p.turns <- struct{}{}:
		return true
	}
}

// end gives the turn back, and counts what came of it.
func (p *Pace) end(freed int64, err error) {
	<-p.turns
	switch {
	case err == nil:
		p.segments.Add(1)
		p.freed.Add(uint64(freed))
	case !errors.Is(err, ErrNotWorth) && !errors.Is(err, ErrClosed) && !errors.Is(err, errChanged):
		p.failed.Add(1)
	}
}

// take waits until n more bytes are due. It reports false if stop was closed before.
func (p *Pace) take(n int64, stop <-chan struct{}) bool {
	p.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-p.duration(paceBurst)); p.free.Before(earliest) {
		p.free = earliest
	}
	p.free = p.free.Add(p.duration(n))
	wait := p.free.Sub(now)
	p.mu.Unlock()
	select {
	case <-stop:
		return false
	default:
	}
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

func (p *Pace) duration(n int64) time.Duration {
	return time.Duration(float64(n) / float64(p.rate) * float64(time.Second))
}
