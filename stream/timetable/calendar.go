package timetable

import (
	"strconv"
	"strings"
	"time"
)

// searchYears bounds how far ahead a calendar looks for a match.
const searchYears = 5

// calendar matches seconds. Bit n of a field is set if value n matches.
type calendar struct {
	second, minute, hour, day, month, weekday uint64
	anyDay, anyWeekday                        bool // the field restricts nothing
	zone                                      *time.Location
}

// field is the range of one field and the names of its values.
type field struct {
	low, high int
	names     []string // of low and following
}

var fields = [6]field{{0, 59, nil}, {0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}}

func parseCalendar(pattern string) (*calendar, error) {
	texts := strings.Fields(pattern)
	if len(texts) != len(fields) {
		return nil, ErrPattern
	}
	var sets [6]uint64
	var open [6]bool
	for i, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			set, all, ok := fields[i].parse(part)
			if !ok {
				return nil, ErrPattern
			}
			sets[i] |= set
			open[i] = open[i] || all
		}
	}
	return &calendar{second: sets[0], minute: sets[1], hour: sets[2], day: sets[3], month: sets[4], weekday: sets[5],
		anyDay: open[3], anyWeekday: open[5]}, nil
}

// parse reads one part of a field: a value, a range or everything, and how many values to go on by.
func (f *field) parse(part string) (set uint64, all, ok bool) {
	span, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		n, err := strconv.ParseUint(stepText, 10, 8)
		if err != nil || n == 0 {
			return 0, false, false
		}
		step = int(n)
	}
	low, high := f.low, f.high
	if span == "*" || span == "?" {
		all = step == 1
	} else {
		from, to, isRange := strings.Cut(span, "-")
		if low, ok = f.value(from); !ok {
			return 0, false, false
		}
		switch {
		case isRange:
			if high, ok = f.value(to); !ok || high < low {
				return 0, false, false
			}
		case !stepped:
			high = low
		}
	}
	for v := low; v <= high; v += step {
		set |= 1 << v
	}
	return set, all, true
}

func (f *field) value(text string) (int, bool) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.low + i, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int(n), err == nil && int(n) >= f.low && int(n) <= f.high
}

func has(set uint64, v int) bool { return set>>v&1 != 0 }

// onDay says whether a day matches. If both fields restrict it, one is enough.
func (c *calendar) onDay(t time.Time) bool {
	day, weekday := has(c.day, t.Day()), has(c.weekday, int(t.Weekday()))
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// next returns the first match after now, Never if there is none within searchYears.
func (c *calendar) next(now int64) int64 {
	if now >= Never-int64(searchYears*366*24*time.Hour) {
		return Never
	}
	t := time.Unix(0, now).Truncate(time.Second).Add(time.Second).In(c.zone)
	for last := t.Year() + searchYears; t.Year() <= last; {
		to := t
		switch {
		case !has(c.month, int(t.Month())):
			to = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, c.zone)
		case !c.onDay(t):
			to = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, c.zone)
		case !has(c.hour, t.Hour()): // counted in elapsed time: clocks that are put forward or back pass by
			to = t.Add(time.Hour - time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second)
		case !has(c.minute, t.Minute()):
			to = t.Add(time.Minute - time.Duration(t.Second())*time.Second)
		case !has(c.second, t.Second()):
			to = t.Add(time.Second)
		default:
			return t.UnixNano()
		}
		if !to.After(t) { // a midnight that the clocks left out
			to = t.Add(time.Hour)
		}
		t = to
	}
	return Never
}
