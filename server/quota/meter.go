package quota

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// slice is how far into debt a connection may publish before it waits for its turn; less, the further the bucket is behind
	// already, down to one message. So connections share what there is, and messages are refused when that leaves not even
	// one message for each of them in the longest time that they may wait.
	slice = 20 * time.Millisecond
	// waitLeast is not worth a sleep: the debt stays, and adds up.
	waitLeast = time.Millisecond
)

// Verdict is what becomes of a message.
type Verdict int

// The verdicts.
const (
	Admitted Verdict = iota
	Later            // a slice is used up: Pay, wait, Begin, and Take again
	Refused          // see Excess
)

// Meter is one connection's view of the buckets that it draws on. It looks at them at the beginning of a group of messages,
// such as those of a read buffer, lets messages through without touching them, and pays for all at once. The connection's
// reader uses it.
type Meter struct {
	tenant  *Tenant
	user    *userBucket  // nil if the user has no quota
	buckets [2]*Bucket   // of the account and of the user, nil as above
	limits  [2]*limits   // of the buckets, at Begin; nil: none
	left    [kinds]int64 // may be taken before the next Begin
	used    [kinds]int64 // taken since Begin
	short   [kinds]int   // whose bucket left is of
	debt    [kinds]int64 // of that bucket
	barred  [kinds]bool  // refused since Open
	now     int64        // of the last Begin
}

// Excess says why a message is refused.
type Excess struct {
	Kind  Kind
	User  bool          // it is the user's quota; else the account's
	After time.Duration // when another one has a chance
}

// Open begins a group of messages at now.
func (m *Meter) Open(now time.Time) {
	m.barred = [kinds]bool{}
	m.Begin(now)
}

// Begin looks at the buckets. Everything taken is paid for.
func (m *Meter) Begin(now time.Time) {
	t := m.tenant.at(now)
	m.now = t
	m.left = [kinds]int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}
	for i, b := range m.buckets {
		if m.limits[i] = nil; b == nil {
			continue
		}
		l := b.limits.Load()
		if m.limits[i] = l; l == nil {
			continue
		}
		for k := range Kind(kinds) {
			if l.cost[k] == 0 {
				continue
			}
			debt := b.debt(l, k, t)
			if n := l.grant(k, debt); n < m.left[k] {
				m.left[k], m.short[k], m.debt[k] = n, i, debt
			}
		}
	}
}

// grant is how many units may be taken from a bucket with that debt: what is there and a slice, at least one unit; nothing if it is
// further behind than anybody is to wait.
func (l *limits) grant(k Kind, debt int64) int64 {
	most := int64(l.MaxDelay)
	there := float64(max(0, -debt))
	switch {
	case most == 0:
		return int64(there / l.cost[k])
	case debt > most:
		return 0
	}
	part := float64(min(most, int64(slice))) * (1 - float64(max(0, debt))/float64(most))
	return max(1, int64((there+part)/l.cost[k]))
}

// Take asks for a message of that many bytes. One that is larger than what is left is let through if there is anything left.
func (m *Meter) Take(bytes int, request bool) Verdict {
	k := Messages
	switch {
	case m.left[Messages] <= 0:
	case m.left[Bytes] <= 0:
		k = Bytes
	case request && m.left[Requests] <= 0:
		k = Requests
	default:
		m.Count(bytes, request)
		return Admitted
	}
	if !m.barred[k] && m.used[k] > 0 {
		return Later
	}
	m.barred[k] = true
	return Refused
}

// Count takes a message that is not to be refused.
func (m *Meter) Count(bytes int, request bool) {
	m.left[Messages]--
	m.left[Bytes] -= int64(bytes)
	m.used[Messages]++
	m.used[Bytes] += int64(bytes)
	if request {
		m.left[Requests]--
		m.used[Requests]++
	}
}

// Excess tells of the last refusal.
func (m *Meter) Excess() Excess {
	k := Messages
	for k < Requests && m.left[k] > 0 {
		k++
	}
	l := m.limits[m.short[k]]
	after := m.debt[k] - int64(l.MaxDelay)
	if l.MaxDelay == 0 {
		after = m.debt[k] + int64(l.cost[k])
	}
	return Excess{k, m.short[k] == 1, max(waitLeast, time.Duration(after))}
}

// Pay takes from the buckets what was used, and returns how long after Begin the connection may go on.
func (m *Meter) Pay() time.Duration {
	var wait time.Duration
	refused := false
	for i, b := range m.buckets {
		l := m.limits[i]
		if l == nil {
			continue
		}
		for k := range Kind(kinds) {
			var debt int64
			switch {
			case l.cost[k] == 0:
			case m.used[k] > 0:
				debt = b.take(l, k, m.used[k], m.now)
			case m.barred[k]:
				refused = true
				debt = b.debt(l, k, m.now)
			}
			wait = max(wait, min(time.Duration(debt), l.MaxDelay))
		}
	}
	m.used = [kinds]int64{}
	if refused { // so that they do not all come back at once, behind those who got something
		wait = wait/2 + rand.N(wait/2+1)
	}
	if wait < waitLeast {
		return 0
	}
	return wait
}

// Waited counts the time that the connection was held back.
func (m *Meter) Waited(d time.Duration) {
	for _, b := range m.buckets {
		if b != nil {
			b.counts.Throttled.Add(int64(d))
		}
	}
}

// Refuse counts a refused message.
func (m *Meter) Refuse(bytes int, request bool) {
	for _, b := range m.buckets {
		if b == nil {
			continue
		}
		b.counts.Messages.Add(1)
		b.counts.Bytes.Add(int64(bytes))
		if request {
			b.counts.Requests.Add(1)
		}
	}
}

// Leave ends the meter. It may be nil. What was used and not paid is forgotten.
func (m *Meter) Leave() {
	if m != nil && m.user != nil {
		m.tenant.leave(m.user)
	}
}
