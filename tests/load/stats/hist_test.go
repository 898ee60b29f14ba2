package stats

import (
	"testing"
	"time"
)

func TestHist(t *testing.T) {
	var h Hist
	for i := 1; i <= 100000; i++ {
		h.Add(time.Duration(i) * time.Microsecond)
	}
	for _, q := range []float64{0.5, 0.99, 0.999} {
		want := float64(time.Duration(q*100000) * time.Microsecond)
		if got := float64(h.Quantile(q)); got < want*0.98 || got > want*1.02 {
			t.Errorf("quantile %v: %v instead of %v", q, time.Duration(got), time.Duration(want))
		}
	}
	if h.Quantile(1) > h.max || h.max != 100*time.Millisecond {
		t.Errorf("max %v", h.max)
	}
	for v := uint64(1); v < 1<<62; v = v*3 + 1 {
		if low := histValue(histIndex(v)); low > v || float64(v-low) > float64(v)/100 {
			t.Errorf("%d falls into the bucket of %d", v, low)
		}
	}
}
