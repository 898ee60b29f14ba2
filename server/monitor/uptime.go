package monitor

import (
	"strconv"
	"time"
)

// FormatUptime writes d as uptimes and idle times are written: whole seconds in the units y (of 365 days),
// d, h, m and s, from the largest that isn't zero on: "5s", "2m3s", "1d2h3m4s".
func FormatUptime(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	units := []struct {
		seconds int64
		letter  byte
	}{{365 * 24 * 3600, 'y'}, {24 * 3600, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}}
	var b []byte
	for _, u := range units {
		if len(b) == 0 && s < u.seconds && u.seconds > 1 {
			continue
		}
		b = strconv.AppendInt(b, s/u.seconds, 10)
		b = append(b, u.letter)
		s %= u.seconds
	}
	return string(b)
}

// formatRTT writes a round trip time as Go writes durations; below a millisecond in whole microseconds.
func formatRTT(d time.Duration) string {
	if d < time.Millisecond {
		d = d.Truncate(time.Microsecond)
	}
	return d.String()
}
