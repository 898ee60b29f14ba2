package jsapi

import (
	"math"
	"testing"
	"time"
)

func TestNanos(t *testing.T) {
	for text, want := range map[string]int64{
		"0001-01-01T00:00:00Z":      math.MinInt64,
		"0000-01-01T00:00:00+23:59": math.MinInt64,
		"1677-12-31T23:59:59Z":      math.MinInt64,
		"1970-01-01T00:00:00Z":      0,
		"1969-12-31T23:59:59Z":      -1e9,
		"1970-01-01T01:00:00+01:00": 0,
		"2262-01-01T00:00:00Z":      math.MaxInt64,
		"9999-12-31T23:59:59-23:59": math.MaxInt64,
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Nanos(at); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for _, y := range []int{1678, 2261} {
		if at := time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC); !time.Unix(0, Nanos(at)).Equal(at) {
			t.Errorf("%v: %d", at, Nanos(at))
		}
	}
}
