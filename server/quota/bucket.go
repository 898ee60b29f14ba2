// Package quota bounds what accounts and users publish, by token buckets: messages, bytes and requests per second.
// Whoever publishes more is slowed down first and refused only when that does not help. The package does no I/O and never
// sleeps: a Meter says how long its connection is to wait.
package quota

import (
	"math"
	"sync/atomic"
	"time"

	"godwit/server/options"
)

// Kind is what is counted.
type Kind int

// The kinds; each has a bucket of its own.
const (
	Messages Kind = iota
	Bytes         // of header blocks and payloads
	Requests      // to the JetStream API
	kinds    = 3
)

func (k Kind) String() string { return [kinds]string{"messages", "bytes", "requests"}[k] }

const (
	// never lies before all other times. One may be subtracted from half of the range.
	never = math.MinInt64 / 2
	// debtMax bounds what a bucket owes, in ns: no single message blocks it for longer, whatever its size.
	debtMax = int64(time.Minute)
)

// limits are a quota made ready. Immutable.
type limits struct {
	options.Quota
	cost  [kinds]float64 // ns that one unit takes at the rate; 0 is no limit
	burst [kinds]int64   // ns: Burst, but room for at least one unit
}

// newLimits returns nil if q bounds nothing.
func newLimits(q *options.Quota) *limits {
	if !q.Limits() {
		return nil
	}
	l := &limits{Quota: *q}
	if l.Burst <= 0 {
		l.Burst = options.DefaultQuotaBurst
	}
	for k, rate := range [kinds]int64{q.Messages, q.Bytes, q.Requests} {
		if rate > 0 {
			l.cost[k] = 1e9 / float64(rate)
			l.burst[k] = max(int64(l.Burst), int64(math.Ceil(l.cost[k])))
		}
	}
	return l
}

// Bucket is what one account or one user has left. It is safe for concurrent use.
//
// For each kind it is one number: the time at which all that was taken is paid for. As far as that lies ahead of now the
// bucket is in debt; as far as it lies behind, but not further than the burst, there is something to take at once. Times are
// in ns since the epoch of the Tenant.
type Bucket struct {
	limits atomic.Pointer[limits] // nil: none
	paid   [kinds]atomic.Int64
	counts Counts
}

// Counts say what quotas did to the connections of an account or a user.
type Counts struct {
	Throttled atomic.Int64 // ns that they were held back, summed up
	Messages  atomic.Int64 // refused
	Bytes     atomic.Int64 // of the refused messages
	Requests  atomic.Int64 // of the refused messages: requests to the JetStream API
}

// fill makes b full.
func (b *Bucket) fill() {
	for k := range b.paid {
		b.paid[k].Store(never)
	}
}

// Quota returns the limits in force, with their defaults; nil if there are none. Shared.
func (b *Bucket) Quota() *options.Quota {
	if l := b.limits.Load(); l != nil {
		return &l.Quota
	}
	return nil
}

// Counts returns what the quota has done, which goes on counting.
func (b *Bucket) Counts() *Counts { return &b.counts }

// debt is how far the bucket is behind at now, in ns; what is below 0 can be taken at once.
func (b *Bucket) debt(l *limits, k Kind, now int64) int64 {
	return max(b.paid[k].Load(), now-l.burst[k]) - now
}

// take takes n units and returns the debt.
func (b *Bucket) take(l *limits, k Kind, n, now int64) int64 {
	cost := int64(min(math.Ceil(float64(n)*l.cost[k]), float64(l.burst[k]+debtMax)))
	for {
		old := b.paid[k].Load()
		paid := min(max(old, now-l.burst[k])+cost, now+debtMax)
		if b.paid[k].CompareAndSwap(old, paid) {
			return paid - now
		}
	}
}

// full reports whether all of the burst is there.
func (b *Bucket) full(now int64) bool {
	l := b.limits.Load()
	for k := range Kind(kinds) {
		if l != nil && l.cost[k] > 0 && b.debt(l, k, now) > -l.burst[k] {
			return false
		}
	}
	return true
}
