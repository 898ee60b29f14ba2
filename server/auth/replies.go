package auth

import (
	"container/list"
	"sync"
	"time"
)

// MaxReplies is how many reply subjects a ReplyTracker remembers. At the bound the oldest is forgotten: its late
// reply is refused like any publish that is not permitted.
const MaxReplies = 1 << 16

// ReplyTracker remembers the reply subjects of messages that were delivered to one connection with the right to
// reply, and how often each may still be used. It is safe for concurrent use: deliveries come from the
// goroutines of publishers, replies from the connection's own.
type ReplyTracker struct {
	max   int           // replies per message; negative means unlimited
	ttl   time.Duration // negative means for ever
	bound int

	// mu ranks last: nothing is called while it is held.
	mu       sync.Mutex
	subjects map[string]*list.Element
	order    list.List // of *reply, by the time they were tracked, so also by the time they end
}

type reply struct {
	subject string
	at      time.Time
	left    int
}

// NewReplyTracker returns the tracker of one connection.
func NewReplyTracker(r *Responses) *ReplyTracker {
	return newReplyTracker(r, MaxReplies)
}

func newReplyTracker(r *Responses, bound int) *ReplyTracker {
	t := &ReplyTracker{max: r.Max, ttl: r.TTL, bound: bound, subjects: make(map[string]*list.Element)}
	t.order.Init()
	return t
}

// Track permits replies to the subject, which is lent, from now on. It is for the reply subject of a
// message that is being delivered, if the connection cannot publish there anyway. Tracking a subject
// again starts its count and time anew.
func (t *ReplyTracker) Track(subject []byte) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire(now)
	if e := t.subjects[string(subject)]; e != nil {
		r := e.Value.(*reply)
		r.at, r.left = now, t.max
		t.order.MoveToBack(e)
		return
	}
	if t.order.Len() >= t.bound {
		t.forget(t.order.Front())
	}
	r := &reply{subject: string(subject), at: now, left: t.max}
	t.subjects[r.subject] = t.order.PushBack(r)
}

// Allow reports whether a message may be published to the subject, which is lent, as a reply, and counts it.
func (t *ReplyTracker) Allow(subject []byte) bool {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.subjects[string(subject)]
	if e == nil {
		return false
	}
	r := e.Value.(*reply)
	if t.ended(r, now) {
		t.forget(e)
		return false
	}
	if t.max < 0 {
		return true
	}
	if r.left--; r.left <= 0 {
		t.forget(e)
	}
	return true
}

// Len returns how many reply subjects are remembered, those included whose time is over but not yet noticed.
func (t *ReplyTracker) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.order.Len()
}

// expire forgets what has ended. Each Track adds at most one, so two per call keep up with that.
func (t *ReplyTracker) expire(now time.Time) {
	for range 2 {
		e := t.order.Front()
		if e == nil || !t.ended(e.Value.(*reply), now) {
			return
		}
		t.forget(e)
	}
}

func (t *ReplyTracker) ended(r *reply, now time.Time) bool {
	return t.ttl >= 0 && now.Sub(r.at) > t.ttl
}

func (t *ReplyTracker) forget(e *list.Element) {
	delete(t.subjects, e.Value.(*reply).subject)
	t.order.Remove(e)
}
