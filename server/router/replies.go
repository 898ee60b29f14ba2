package router

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"time"

	"godwit/protocol/subject"
)

// replyPrefix opens the subjects on which responses come back to another account.
var replyPrefix = []byte("_R_.")

func isReply(subj []byte) bool { return bytes.HasPrefix(subj, replyPrefix) }

const (
	// maxExpected bounds the responses that one account awaits from another, for each time that they may take. At the
	// bound the oldest request is forgotten: its response is not delivered.
	maxExpected = 1 << 16
	// DefaultThreshold is how long a response is awaited if nothing else is said.
	DefaultThreshold = 2 * time.Minute
	// trackedSuffix ends the reply subjects of requests that are measured.
	trackedSuffix = ".T"
)

// Replies are the responses that other accounts await from this one: each has a subject here that leads to the reply
// subject of the request there. The zero value awaits none.
type Replies struct {
	// mu ranks after Index.mu. Nothing is called under it.
	mu struct {
		sync.Mutex
		prefix  string // of all subjects; made with the first
		bySubj  map[string]*expected
		queues  map[replyQueue]*expectedList
		tracked int         // of those expected
		counts  ReplyCounts // without Awaited
		timer   *time.Timer // nil while nothing is due
		closed  bool
	}
	sweeping sync.Mutex // held while what is overdue is reported; ranks before mu
}

// replyQueue names those that end in the order in which they came.
type replyQueue struct {
	to  *Index
	ttl time.Duration
}

// expected is one awaited response, or several. What is not behind a lock never changes.
type expected struct {
	subject string
	to      *Index // of the requester
	account string // of the requester; for traces
	reply   []byte // there
	many    bool
	ttl     time.Duration
	measure *measure // nil: not measured

	// guarded by Replies.mu
	deadline   time.Time
	list       *expectedList // nil once it is over
	prev, next *expected
}

// expectedList is a queue of expected responses by deadline.
type expectedList struct {
	first, last *expected
	n           int
}

func (l *expectedList) push(e *expected) {
	e.list, e.prev, e.next = l, l.last, nil
	if l.last != nil {
		l.last.next = e
	} else {
		l.first = e
	}
	l.last = e
	l.n++
}

func (l *expectedList) remove(e *expected) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.last = e.prev
	}
	e.list, e.prev, e.next = nil, nil, nil
	l.n--
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendToken appends 6 characters that nobody can guess.
func appendToken(b []byte) []byte {
	n := rand.Uint64() // ChaCha8
	for range 6 {
		b = append(b, base62[n%62])
		n /= 62
	}
	return b
}

// expect adds e, whose reply it copies, and appends the subject in x on which its response will come, or nothing if x is
// closed.
func (r *Replies) expect(dst []byte, x *Index, e *expected, server string) []byte {
	e.reply = bytes.Clone(e.reply)
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return dst
	}
	if r.mu.bySubj == nil {
		r.mu.prefix = string(append(appendToken(bytes.Clone(replyPrefix)), '.'))
		r.mu.bySubj = make(map[string]*expected)
		r.mu.queues = make(map[replyQueue]*expectedList)
	}
	var buf [48]byte
	b := append(buf[:0], r.mu.prefix...)
	for {
		b = appendToken(b[:len(r.mu.prefix)])
		if e.measure != nil {
			b = append(append(append(b, '.'), server...), trackedSuffix...)
		}
		if r.mu.bySubj[string(b)] == nil {
			break
		}
	}
	e.subject = string(b)
	key := replyQueue{e.to, e.ttl}
	l := r.mu.queues[key]
	if l == nil {
		l = &expectedList{}
		r.mu.queues[key] = l
	}
	if l.n >= maxExpected {
		r.forgetLocked(l.first)
		r.mu.counts.Dropped++
	}
	e.deadline = now.Add(e.ttl)
	l.push(e)
	r.mu.bySubj[e.subject] = e
	if e.measure != nil {
		r.mu.tracked++
	}
	if r.mu.timer == nil {
		r.mu.timer = time.AfterFunc(e.ttl, func() { r.sweep(x) })
	} else if l.n == 1 {
		r.mu.timer.Reset(r.untilNextLocked(now))
	}
	return append(dst, e.subject...)
}

func (r *Replies) untilNextLocked(now time.Time) time.Duration {
	var next time.Time
	for _, l := range r.mu.queues {
		if l.first != nil && (next.IsZero() || l.first.deadline.Before(next)) {
			next = l.first.deadline
		}
	}
	return max(next.Sub(now), time.Millisecond)
}

// forgetLocked ends e; a second call does nothing.
func (r *Replies) forgetLocked(e *expected) {
	if e.list == nil {
		return
	}
	e.list.remove(e)
	delete(r.mu.bySubj, e.subject)
	if e.measure != nil {
		r.mu.tracked--
	}
}

// forget ends e. It reports false if it was over already.
func (r *Replies) forget(e *expected) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := e.list != nil
	r.forgetLocked(e)
	return open
}

// take returns what a response on subj is for, nil if nothing is awaited there. It ends with its only response, or with
// an empty one.
func (r *Replies) take(subj []byte, empty bool) *expected {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.mu.bySubj[string(subj)]
	switch {
	case e == nil:
	case !e.many || empty:
		r.forgetLocked(e)
	default:
		l := e.list
		l.remove(e)
		e.deadline = time.Now().Add(e.ttl)
		l.push(e)
	}
	return e
}

// awaits returns the account and the subject where a response on subj would go. The subject is shared.
func (r *Replies) awaits(subj []byte) (account string, reply []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.mu.bySubj[string(subj)]; e != nil {
		return e.account, e.reply, true
	}
	return "", nil, false
}

// target returns where a response on subj would go; nil if nothing is awaited there. The subject is shared.
func (r *Replies) target(subj []byte) (*Index, []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.mu.bySubj[string(subj)]; e != nil {
		return e.to, e.reply
	}
	return nil, nil
}

// sweep ends what is overdue.
func (r *Replies) sweep(x *Index) {
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
	now := time.Now()
	var late []*expected // measured ones
	r.mu.Lock()
	if r.mu.closed {
		r.mu.Unlock()
		return
	}
	for key, l := range r.mu.queues {
		for l.first != nil && !l.first.deadline.After(now) {
			if e := l.first; e.measure != nil {
				late = append(late, e)
			}
			r.forgetLocked(l.first)
			r.mu.counts.Expired++
		}
		if l.n == 0 {
			delete(r.mu.queues, key)
		}
	}
	r.mu.timer = nil
	if len(r.mu.queues) > 0 {
		r.mu.timer = time.AfterFunc(r.untilNextLocked(now), func() { r.sweep(x) })
	}
	r.mu.Unlock()
	report(x, late, statusServiceTimeout)
}

// left ends the measured requests of a connection that has gone, or of those the ones that ended holds for, which is called
// without a lock.
func (r *Replies) left(x *Index, from Origin, ended func(reply []byte) bool) {
	var candidates, gone []*expected
	r.mu.Lock()
	if r.mu.tracked > 0 {
		for _, e := range r.mu.bySubj {
			if e.measure != nil && e.measure.from == from {
				candidates = append(candidates, e)
			}
		}
	}
	r.mu.Unlock()
	for _, e := range candidates {
		if ended(e.reply) && r.forget(e) {
			gone = append(gone, e)
		}
	}
	if len(gone) > 0 {
		r.sweeping.Lock()
		defer r.sweeping.Unlock()
		report(x, gone, statusRequestTimeout)
	}
}

// ReplyCounts says what became of requests that came from other accounts.
type ReplyCounts struct {
	Awaited int    // responses awaited now
	Expired uint64 // requests whose time was over before there was a response, or the last of several
	Dropped uint64 // requests that were forgotten as too many waited
}

// Replies counts the requests from other accounts.
func (x *Index) Replies() ReplyCounts {
	r := &x.replies
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.mu.counts
	c.Awaited = len(r.mu.bySubj)
	return c
}

// Awaited describes a response that another account awaits.
type Awaited struct {
	Subject string
	To      *Index
	Reply   string
	Latency *Latency // how it is measured; nil if it is not
}

// Awaited lists the responses that others await from the account, at most max of them.
func (x *Index) Awaited(max int) (list []Awaited) {
	r := &x.replies
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.mu.bySubj {
		if len(list) == max {
			break
		}
		a := Awaited{Subject: e.subject, To: e.to, Reply: string(e.reply)}
		if e.measure != nil {
			a.Latency = e.measure.latency
		}
		list = append(list, a)
	}
	return list
}

// Left says that the connection has gone: measured requests that it waits for are reported so. Others end by
// themselves.
func (x *Index) Left(from Origin) {
	x.unheard(from, func([]byte) bool { return true })
}

// Unlistened is Left for a connection that has ended a subscription to the pattern: it is about the responses that nobody
// hears any more.
func (x *Index) Unlistened(from Origin, pattern string) {
	x.unheard(from, func(reply []byte) bool { return subject.Match(pattern, reply) && !x.HasInterest(reply) })
}

func (x *Index) unheard(from Origin, ended func(reply []byte) bool) {
	l := x.links.Load()
	if l == nil {
		return
	}
	for _, s := range l.measured {
		s.To.replies.left(s.To, from, ended)
	}
}

// Close ends what goes on by itself: no response is awaited any more. It waits for what is being reported.
func (x *Index) Close() {
	r := &x.replies
	r.mu.Lock()
	r.mu.closed = true
	if r.mu.timer != nil {
		r.mu.timer.Stop()
	}
	clear(r.mu.bySubj)
	clear(r.mu.queues)
	r.mu.Unlock()
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
}
