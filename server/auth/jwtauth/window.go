package jwtauth

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/nats-io/jwt/v2"
)

// allowsSource reports whether a user may connect from host, an address without a port. Users with a list of
// sources cannot come from where there are no addresses.
func allowsSource(sources jwt.CIDRList, host string) error {
	if len(sources) == 0 {
		return nil
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return fmt.Errorf("source %q is no address", host)
	}
	addr = addr.Unmap().WithZone("")
	for _, s := range sources {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			return fmt.Errorf("source limit %q is no network", s)
		}
		if unmap(prefix).Contains(addr) {
			return nil
		}
	}
	return fmt.Errorf("source %s is not allowed", host)
}

// unmap turns a network of IPv4 addresses that are written as IPv6 ones into one of IPv4.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// allowedUntil returns when the time window that now is in ends, the zero time for a user without windows. Windows
// are of each day, by the clocks of their zone (the server's if it has no name), and may go past midnight. A
// window is open from its start until, but not at, its end; one that ends when it starts is never open.
func allowedUntil(windows []jwt.TimeRange, zone string, now time.Time) (time.Time, error) {
	if len(windows) == 0 {
		return time.Time{}, nil
	}
	loc := time.Local
	if zone != "" {
		var err error
		if loc, err = time.LoadLocation(zone); err != nil {
			return time.Time{}, fmt.Errorf("time zone %q: %w", zone, err)
		}
	}
	now = now.In(loc)
	var until time.Time
	for _, w := range windows {
		start, err := time.Parse(time.TimeOnly, w.Start)
		if err != nil {
			return time.Time{}, fmt.Errorf("start of time window: %w", err)
		}
		end, err := time.Parse(time.TimeOnly, w.End)
		if err != nil {
			return time.Time{}, fmt.Errorf("end of time window: %w", err)
		}
		for _, day := range []int{-1, 0} { // windows of yesterday may still be open
			from := clock(now, day, start)
			to := clock(now, day, end)
			if end.Before(start) {
				to = clock(now, day+1, end)
			}
			if !now.Before(from) && now.Before(to) && to.After(until) {
				until = to
			}
		}
	}
	if until.IsZero() {
		return time.Time{}, fmt.Errorf("outside of the allowed times at %s", now.Format("15:04:05 MST"))
	}
	return until, nil
}

// clock is the time of day t, that many days from now's.
func clock(now time.Time, days int, t time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d+days, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
}

// earlier returns the earlier of two times, where the zero time is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
