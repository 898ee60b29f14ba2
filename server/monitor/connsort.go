package monitor

import (
	"cmp"
	"time"
)

// SortOpt names an order of connections.
type SortOpt string

// The orders.
const (
	ByCid      SortOpt = "cid" // ascending, the default
	ByStart    SortOpt = "start"
	BySubs     SortOpt = "subs"
	ByPending  SortOpt = "pending"
	ByOutMsgs  SortOpt = "msgs_to"
	ByInMsgs   SortOpt = "msgs_from"
	ByOutBytes SortOpt = "bytes_to"
	ByInBytes  SortOpt = "bytes_from"
	ByLast     SortOpt = "last"
	ByIdle     SortOpt = "idle"
	ByUptime   SortOpt = "uptime" // ascending
	ByStop     SortOpt = "stop"   // closed connections only
	ByReason   SortOpt = "reason" // closed connections only; ascending
	ByRTT      SortOpt = "rtt"
)

// order returns the comparison for s; unless said otherwise at the constants it is descending.
func (s SortOpt) order(state ConnState) (func(a, b *Conn, now time.Time) int, error) {
	switch s {
	case "", ByCid, ByStart:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(a.CID, b.CID) }, nil
	case BySubs:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.NumSubs, a.NumSubs) }, nil
	case ByPending:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.Pending, a.Pending) }, nil
	case ByOutMsgs:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.OutMsgs, a.OutMsgs) }, nil
	case ByInMsgs:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.InMsgs, a.InMsgs) }, nil
	case ByOutBytes:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.OutBytes, a.OutBytes) }, nil
	case ByInBytes:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.InBytes, a.InBytes) }, nil
	case ByLast:
		return func(a, b *Conn, _ time.Time) int { return b.LastActivity.Compare(a.LastActivity) }, nil
	case ByIdle: // longest idle first, which is the oldest activity first
		return func(a, b *Conn, _ time.Time) int { return a.LastActivity.Compare(b.LastActivity) }, nil
	case ByUptime:
		return func(a, b *Conn, now time.Time) int { return cmp.Compare(a.uptime(now), b.uptime(now)) }, nil
	case ByRTT:
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(b.RTT, a.RTT) }, nil
	case ByStop:
		if state != ConnClosed {
			return nil, ErrSortByStop
		}
		return func(a, b *Conn, _ time.Time) int { return b.Stop.Compare(a.Stop) }, nil
	case ByReason:
		if state != ConnClosed {
			return nil, ErrSortByReason
		}
		return func(a, b *Conn, _ time.Time) int { return cmp.Compare(a.Reason.String(), b.Reason.String()) }, nil
	}
	return nil, &SortError{string(s)}
}

// uptime is how long c has been or was open.
func (c *Conn) uptime(now time.Time) time.Duration {
	if !c.Stop.IsZero() {
		now = c.Stop
	}
	return now.Sub(c.Start)
}
