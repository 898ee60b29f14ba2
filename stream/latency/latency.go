// Package latency counts how long things take, in histograms that many goroutines write to without locks.
package latency

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// buckets have upper bounds of 1, 2, 4, … microseconds up to 67 seconds; what takes longer is in one more.
const buckets = 27

// Histogram is ready for use as it is. A nil one counts nothing.
type Histogram struct {
	counts [buckets + 1]atomic.Uint64
	sum    atomic.Int64 // ns
}

// Observe counts n things that took d each. Times below 0, as of a clock that was set back, count as 0.
func (h *Histogram) Observe(d time.Duration, n int) {
	if h == nil || n <= 0 {
		return
	}
	d = max(d, 0)
	h.counts[bucketOf(d)].Add(uint64(n))
	h.sum.Add(int64(d) * int64(n))
}

// bucketOf returns the first bucket whose bound is not below d.
func bucketOf(d time.Duration) int {
	us := uint64(d+time.Microsecond-1) / uint64(time.Microsecond)
	if us <= 1 {
		return 0
	}
	return min(bits.Len64(us-1), buckets)
}

// Bounds returns the upper bounds of the buckets, in seconds.
func Bounds() []float64 {
	b := make([]float64, buckets)
	for i := range b {
		b[i] = float64(uint64(1)<<i) / 1e6
	}
	return b
}

// Counts returns how many there are in each bucket, one more than there are bounds, and the sum of all times in seconds.
func (h *Histogram) Counts() (counts []uint64, sum float64) {
	counts = make([]uint64, buckets+1)
	if h == nil {
		return counts, 0
	}
	for i := range counts {
		counts[i] = h.counts[i].Load()
	}
	return counts, float64(h.sum.Load()) / 1e9
}
