package latency

import (
	"math"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	bounds := Bounds()
	for _, d := range []time.Duration{-5, 0, 1, time.Microsecond, time.Microsecond + 1, 2 * time.Microsecond, 3 * time.Microsecond, 4 * time.Microsecond, 4*time.Microsecond + 1,
		time.Millisecond, time.Second, 67 * time.Second, 68 * time.Second, time.Hour, math.MaxInt64 - time.Second} {
		var h Histogram
		h.Observe(d, 3)
		counts, sum := h.Counts()
		s := max(d, 0).Seconds()
		for i, n := range counts {
			in := (i == 0 || s > bounds[i-1]) && (i == len(bounds) || s <= bounds[i])
			if in != (n == 3) || n != 0 && n != 3 {
				t.Errorf("%v: %d in bucket %d", d, n, i)
			}
		}
		if d < time.Hour && math.Abs(sum-3*s) > 1e-9 {
			t.Errorf("%v: sum %v", d, sum)
		}
	}
	var none *Histogram
	none.Observe(1, 1)
	if counts, sum := none.Counts(); len(counts) != len(bounds)+1 || sum != 0 {
		t.Error("a nil histogram counts")
	}
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Observe(37*time.Microsecond, 10)
		}
	})
}
