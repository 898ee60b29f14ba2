package timetable

import (
	"errors"
	"testing"
	"time"
)

func at(t testing.TB, text string) int64 {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return v.UnixNano()
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ pattern, zone, now, want string }{
		{"@at 2030-01-02T03:04:05Z", "", "2029-01-01T00:00:00Z", "2030-01-02T03:04:05Z"},
		{"@at 2020-01-02T03:04:05+02:00", "", "2029-01-01T00:00:00Z", "2020-01-02T01:04:05Z"},
		{"@every 5s", "", "2026-11-30T23:50:40.677Z", "2026-11-30T23:50:46Z"},
		{"@every 1m30s", "", "2026-11-30T23:50:40.2Z", "2026-11-30T23:52:10Z"},
		{"* * * * * *", "", "2026-11-30T23:59:59.5Z", "2026-12-01T00:00:00Z"},
		{"0 30 * * * *", "", "2026-11-30T23:30:00Z", "2026-12-01T00:30:00Z"},
		{"@hourly", "", "2026-11-30T23:30:00Z", "2026-12-01T00:00:00Z"},
		{"@daily", "America/New_York", "2026-11-30T23:30:00Z", "2026-12-01T05:00:00Z"},
		{"@weekly", "", "2026-11-30T23:30:00Z", "2026-12-06T00:00:00Z"},
		{"@monthly", "", "2026-11-30T23:30:00Z", "2026-12-01T00:00:00Z"},
		{"@yearly", "", "2026-11-30T23:30:00Z", "2027-01-01T00:00:00Z"},
		{"0 0 9 * * MON-fri", "Europe/Berlin", "2026-11-28T00:00:00Z", "2026-11-30T08:00:00Z"},
		{"15/20 */7 1,3-4 ? * *", "", "2026-11-30T04:56:00Z", "2026-11-30T04:56:15Z"},
		{"15/20 */7 1,3-4 ? * *", "", "2026-11-30T04:56:55Z", "2026-12-01T01:00:15Z"},
		{"0 0 0 13 * fri", "", "2026-11-10T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"0 0 0 14 * fri", "", "2026-11-13T00:00:00Z", "2026-11-14T00:00:00Z"},
		{"0 0 0 29 feb *", "", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 30 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", "2026-03-30T00:30:00Z"}, // 02:30 was left out on the 29th
		{"0 0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-07T03:00:00Z"},
		{"0 0 5 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T08:00:00Z"}, // on a day without midnight
	} {
		table, err := Parse(c.pattern, c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := table.First(at(t, c.now)); got != at(t, c.want) {
			t.Errorf("%s in %q after %s: %v, want %s", c.pattern, c.zone, c.now, time.Unix(0, got).UTC(), c.want)
		}
	}
}

func TestRepeat(t *testing.T) {
	due, late := at(t, "2026-01-01T00:00:10Z"), at(t, "2026-01-01T00:01:00.2Z")
	for pattern, want := range map[string][2]string{
		"@every 5s":      {"2026-01-01T00:00:15Z", "2026-01-01T00:01:05Z"},
		"*/10 * * * * *": {"2026-01-01T00:00:20Z", "2026-01-01T00:01:10Z"},
	} {
		table, err := Parse(pattern, "")
		if err != nil || !table.Repeats() {
			t.Fatal(pattern, err)
		}
		if got := table.Next(due, due+1e8); got != at(t, want[0]) {
			t.Errorf("%s in time: %v", pattern, time.Unix(0, got).UTC())
		}
		if got := table.Next(due, late); got != at(t, want[1]) {
			t.Errorf("%s late: %v", pattern, time.Unix(0, got).UTC())
		}
	}
	once, err := Parse("@at 9999-01-01T00:00:00Z", "")
	if err != nil || once.Repeats() || once.First(due) != Never || once.Next(due, due) != Never {
		t.Errorf("a time far ahead: %+v, %v", once, err)
	}
	slow, err := Parse("@every 2000000h", "")
	if err != nil || slow.First(at(t, "2200-01-01T00:00:00Z")) != Never || slow.Next(Never-5, late) < late {
		t.Errorf("an interval beyond the clock: %+v, %v", slow, err)
	}
	none, err := Parse("0 0 0 30 2 *", "")
	if err != nil || none.First(due) != Never {
		t.Errorf("the thirtieth of February: %v, %v", none.First(due), err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, p := range []string{"", "@at", "@at ", "@at tomorrow", "@every 1", "@every 999ms", "@every -5s", "@never", "* * * * *", "* * * * * * *",
		"60 * * * * *", "* 60 * * * *", "* * 24 * * *", "* * * 0 * *", "* * * 32 * *", "* * * * 13 *", "* * * * 0 *", "* * * * * 7", "5-1 * * * * *",
		"*/0 * * * * *", "1-2-3 * * * * *", "a * * * * *", ", * * * * *", "1/ * * * * *", "-1 * * * * *"} {
		if _, err := Parse(p, ""); !errors.Is(err, ErrPattern) {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, z := range []string{"Nowhere/City", "Local", "../etc/passwd", "\x00"} {
		if _, err := Parse("@daily", z); !errors.Is(err, ErrZone) {
			t.Errorf("zone %q: %v", z, err)
		}
	}
	for _, p := range []string{"@at 2030-01-02T03:04:05Z", "@every 5s"} {
		if _, err := Parse(p, "UTC"); !errors.Is(err, ErrPattern) {
			t.Errorf("%s with a zone: %v", p, err)
		}
	}
}

// FuzzParse: what is taken is due later than now, or never.
func FuzzParse(f *testing.F) {
	f.Add("* * * * * *", "Europe/Berlin", int64(1))
	f.Add("@every 1s", "", int64(1e18))
	f.Add("@at 2030-01-02T03:04:05Z", "", int64(-5))
	f.Add("0 0 0 29 feb mon-fri/2", "America/Santiago", int64(1<<62))
	f.Fuzz(func(t *testing.T, pattern, zone string, now int64) {
		table, err := Parse(pattern, zone)
		if err != nil {
			return
		}
		now = max(now, 0)
		first := table.First(now)
		if table.Repeats() && first <= now {
			t.Fatalf("%q after %d: %d", pattern, now, first)
		}
		if next := table.Next(first, now); next <= max(now, min(first, Never-1)) && next <= now {
			t.Fatalf("%q after %d: again at %d", pattern, now, next)
		}
	})
}
