package consumer

import (
	"strconv"
	"testing"
)

func TestDecimal(t *testing.T) {
	var d decimal
	check := func(v uint64) {
		if got := string(d.digits(v)); got != strconv.FormatUint(v, 10) {
			t.Fatalf("%d: got %s", v, got)
		}
	}
	for v := uint64(0); v < 12000; v++ {
		check(v)
	}
	for v := uint64(12000); v > 0; v-- {
		check(v)
	}
	check(0)
	check(^uint64(0))
}
