// Package timetable reads when scheduled messages are due: once, at intervals, or by the fields of a calendar in a time
// zone. It holds its own copy of the time zones, so that all replicas come to the same times.
package timetable

import (
	"errors"
	"math"
	"strings"
	"time"
	_ "time/tzdata" // zones where the system has none

	"godwit/protocol/jsapi"
)

var (
	// ErrPattern: the text is no timetable, or one that is never due.
	ErrPattern = errors.New("timetable: invalid pattern")
	// ErrZone: there is no such time zone.
	ErrZone = errors.New("timetable: invalid time zone")
)

// Never is a time that does not come, in ns since 1970.
const Never = int64(math.MaxInt64)

// Table says when something is due. It never changes. The zero Table is not valid.
type Table struct {
	at    int64         // once; ns since 1970
	every time.Duration // at intervals; 0 if not
	cal   *calendar     // by the calendar; nil if not
}

// shorthands are names for calendars.
var shorthands = map[string]string{
	"@yearly": "0 0 0 1 1 *", "@annually": "0 0 0 1 1 *", "@monthly": "0 0 0 1 * *", "@weekly": "0 0 0 * * 0",
	"@daily": "0 0 0 * * *", "@midnight": "0 0 0 * * *", "@hourly": "0 0 * * * *",
}

// Parse reads a timetable: "@at" and a time as in RFC 3339, "@every" and a duration of at least a second, six fields
// (second, minute, hour, day of month, month, day of week), or one of the names for such. The zone is the name of a
// time zone and only for calendars; empty means UTC. Errors: ErrPattern, ErrZone.
func Parse(pattern, zone string) (Table, error) {
	if text, ok := strings.CutPrefix(pattern, "@at "); ok {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil || zone != "" {
			return Table{}, ErrPattern
		}
		return Table{at: jsapi.Nanos(t)}, nil
	}
	if text, ok := strings.CutPrefix(pattern, "@every "); ok {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || zone != "" {
			return Table{}, ErrPattern
		}
		return Table{every: d}, nil
	}
	if fields, ok := shorthands[pattern]; ok {
		pattern = fields
	}
	cal, err := parseCalendar(pattern)
	if err != nil {
		return Table{}, err
	}
	if cal.zone = time.UTC; zone != "" {
		if zone == "Local" { // which depends on the machine
			return Table{}, ErrZone
		}
		if cal.zone, err = time.LoadLocation(zone); err != nil {
			return Table{}, ErrZone
		}
	}
	return Table{cal: cal}, nil
}

// First returns when something scheduled at now is due first; for a calendar without such a time Never.
func (t Table) First(now int64) int64 {
	switch {
	case t.cal != nil:
		return t.cal.next(now)
	case t.every > 0:
		return after(now, t.every)
	}
	return t.at
}

// Next returns when something that was due at due, and served at now, is due again; Never if it is not. What was missed
// meanwhile is left out.
func (t Table) Next(due, now int64) int64 {
	switch {
	case t.cal != nil:
		return t.cal.next(max(due, now))
	case t.every == 0:
		return Never
	case due <= Never-int64(t.every) && due+int64(t.every) > now:
		return due + int64(t.every)
	}
	return after(now, t.every)
}

// after counts an interval from the nearest whole second.
func after(now int64, d time.Duration) int64 {
	now = time.Unix(0, now).Round(time.Second).UnixNano()
	if now > Never-int64(d) {
		return Never
	}
	return now + int64(d)
}

// Repeats says whether it can be due more than once.
func (t Table) Repeats() bool { return t.cal != nil || t.every > 0 }
