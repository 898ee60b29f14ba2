package jwtauth

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
)

func TestSources(t *testing.T) {
	tests := []struct {
		sources string
		host    string
		ok      bool
	}{
		{"", "10.1.2.3", true},
		{"", "", true},
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.0.0.0/8", "11.1.2.3", false},
		{"192.168.0.0/16,10.0.0.0/8", "10.1.2.3", true},
		{"10.0.0.0/8", "", false},
		{"10.0.0.0/8", "pipe", false},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "11.1.2.3", false},
		{"2001:db8::/32", "2001:db8::1", true},
		{"2001:db8::/32", "2001:db9::1", false},
		{"fe80::/10", "fe80::1%eth0", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"::/0", "10.1.2.3", false},
		{"10.0.0.0", "10.0.0.0", false},
	}
	for _, tt := range tests {
		var list jwt.CIDRList
		if tt.sources != "" {
			list = strings.Split(tt.sources, ",")
		}
		if err := allowsSource(list, tt.host); (err == nil) != tt.ok {
			t.Errorf("%q from %q: %v", tt.sources, tt.host, err)
		}
	}
}

func TestTimeWindows(t *testing.T) {
	tests := []struct {
		name    string
		windows string // start-end, separated by commas
		zone    string
		now     string
		until   string // empty: closed
	}{
		{"inside", "08:00:00-17:00:00", "UTC", "2026-03-10T12:00:00Z", "2026-03-10T17:00:00Z"},
		{"at the start", "08:00:00-17:00:00", "UTC", "2026-03-10T08:00:00Z", "2026-03-10T17:00:00Z"},
		{"at the end", "08:00:00-17:00:00", "UTC", "2026-03-10T17:00:00Z", ""},
		{"just before the end", "08:00:00-17:00:00", "UTC", "2026-03-10T16:59:59.999Z", "2026-03-10T17:00:00Z"},
		{"before", "08:00:00-17:00:00", "UTC", "2026-03-10T07:59:59Z", ""},
		{"the second", "01:00:00-02:00:00,08:00:00-17:00:00", "UTC", "2026-03-10T12:00:00Z", "2026-03-10T17:00:00Z"},
		{"the longest of two", "08:00:00-13:00:00,08:00:00-17:00:00", "UTC", "2026-03-10T12:00:00Z", "2026-03-10T17:00:00Z"},
		{"past midnight, before it", "22:00:00-02:00:00", "UTC", "2026-03-10T23:00:00Z", "2026-03-11T02:00:00Z"},
		{"past midnight, after it", "22:00:00-02:00:00", "UTC", "2026-03-10T01:00:00Z", "2026-03-10T02:00:00Z"},
		{"past midnight, closed", "22:00:00-02:00:00", "UTC", "2026-03-10T02:00:00Z", ""},
		{"until midnight", "22:00:00-00:00:00", "UTC", "2026-03-10T23:00:00Z", "2026-03-11T00:00:00Z"},
		{"until midnight, after it", "22:00:00-00:00:00", "UTC", "2026-03-10T00:10:00Z", ""},
		{"never", "10:00:00-10:00:00", "UTC", "2026-03-10T10:00:00Z", ""},
		{"zone", "08:00:00-17:00:00", "America/New_York", "2026-01-10T13:00:00Z", "2026-01-10T22:00:00Z"},
		{"zone in summer", "08:00:00-17:00:00", "America/New_York", "2026-07-10T12:00:00Z", "2026-07-10T21:00:00Z"},
		{"zone, too early", "08:00:00-17:00:00", "America/New_York", "2026-01-10T12:59:59Z", ""},
		{"zone a day ahead", "00:00:00-01:00:00", "Asia/Tokyo", "2026-01-10T15:30:00Z", "2026-01-10T16:00:00Z"},
		{"the day that clocks go forward", "00:00:00-06:00:00", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T04:00:00Z"},
		{"the day that clocks go back", "00:00:00-06:00:00", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T05:00:00Z"},
		{"no such zone", "00:00:00-06:00:00", "Mars/Olympus", "2026-10-25T01:30:00Z", ""},
		{"no time", "x-06:00:00", "UTC", "2026-10-25T01:30:00Z", ""},
		{"no end", "00:00:00-", "UTC", "2026-10-25T01:30:00Z", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var windows []jwt.TimeRange
			for _, w := range strings.Split(tt.windows, ",") {
				start, end, _ := strings.Cut(w, "-")
				windows = append(windows, jwt.TimeRange{Start: start, End: end})
			}
			now, err := time.Parse(time.RFC3339, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			until, err := allowedUntil(windows, tt.zone, now)
			if tt.until == "" {
				if err == nil {
					t.Fatalf("open until %v", until)
				}
				return
			}
			if want, _ := time.Parse(time.RFC3339, tt.until); err != nil || !until.Equal(want) {
				t.Fatalf("open until %v, %v", until.UTC(), err)
			}
		})
	}
	if until, err := allowedUntil(nil, "Mars/Olympus", time.Now()); err != nil || !until.IsZero() {
		t.Errorf("without windows: %v, %v", until, err)
	}
}

func TestEarlier(t *testing.T) {
	a, b := time.Unix(1, 0), time.Unix(2, 0)
	var never time.Time
	for _, tt := range []struct{ a, b, want time.Time }{{a, b, a}, {b, a, a}, {a, never, a}, {never, a, a}, {never, never, never}} {
		if got := earlier(tt.a, tt.b); !got.Equal(tt.want) {
			t.Errorf("earlier(%v, %v) = %v", tt.a, tt.b, got)
		}
	}
}
