package jsapi

import (
	"math"
	"time"
)

// Nanos returns t in ns since 1970. What lies beyond what can be counted so (the years before 1678 and after 2261) is the
// earliest or the latest that can, and does not wrap around.
func Nanos(t time.Time) int64 {
	switch y := t.UTC().Year(); {
	case y > 2261:
		return math.MaxInt64
	case y < 1678:
		return math.MinInt64
	}
	return t.UnixNano()
}
