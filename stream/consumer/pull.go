package consumer

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"godwit/protocol/jsapi"
)

// Pull is a pull request as read from its body, which depends on nothing else.
type Pull struct {
	jsapi.PullRequest
	// Bad is the text of a status that refuses the request, empty for a good one.
	Bad string
	// Plain says that it is no JSON, and so cannot say anything about priorities.
	Plain bool
}

// ParsePull reads a pull request: nothing is 1, a number is itself, an object is JSON, anything else is 1.
func ParsePull(body []byte) (p Pull) {
	b := bytes.TrimSpace(body)
	if len(b) == 0 {
		p.Batch, p.Plain = 1, true
		return p
	}
	if b[0] != '{' {
		p.Batch, _ = strconv.Atoi(string(b))
		p.Batch, p.Plain = max(1, p.Batch), true
		return p
	}
	if err := json.Unmarshal(b, &p.PullRequest); err != nil {
		return Pull{Bad: statusBad + err.Error()}
	}
	if p.Heartbeat > 0 && (p.Heartbeat > math.MaxInt64/2 || 2*p.Heartbeat > p.Expires) {
		p.Bad = statusBad + "heartbeat value too large"
	}
	return p
}

// PullBatch is what one read buffer brought as pull requests for one consumer.
type PullBatch struct {
	C     *Consumer
	pulls []Pull
	ends  []uint32 // of each reply subject in text
	text  []byte

	body  []byte // the last body read, and what it meant: clients repeat themselves
	known bool
	last  Pull
}

// pullBodyMax bounds a body that is remembered, in bytes.
const pullBodyMax = 512

// Add reads a request; all slices are lent. One without a reply subject is left out: nobody would get an answer.
// tooNew says that the client demands a higher API level than this server has.
func (b *PullBatch) Add(reply, body []byte, tooNew bool) {
	if len(reply) == 0 {
		return
	}
	if !b.known || !bytes.Equal(body, b.body) {
		b.last = ParsePull(body)
		b.known = len(body) <= pullBodyMax
		if b.known {
			b.body = append(b.body[:0], body...)
		}
	}
	p := b.last
	if tooNew {
		p = Pull{Bad: statusLevel}
	}
	b.pulls = append(b.pulls, p)
	b.text = append(b.text, reply...)
	b.ends = append(b.ends, uint32(len(b.text)))
}

// Len is the number of requests.
func (b *PullBatch) Len() int { return len(b.pulls) }

// Size is the memory in use, in bytes.
func (b *PullBatch) Size() int { return 160*len(b.pulls) + len(b.text) }

// Reset empties the batch for another use.
func (b *PullBatch) Reset() {
	clear(b.pulls)
	b.C, b.pulls, b.ends, b.text = nil, b.pulls[:0], b.ends[:0], b.text[:0]
	if cap(b.pulls) > 1<<10 {
		b.pulls, b.text = nil, nil
	}
}

// request is an open pull request.
type request struct {
	reply   []byte
	left    int   // messages
	bytes   int   // budget left; meaningful if limited
	limited bool  // max_bytes was given
	noWait  bool  // ends when there is nothing more
	served  bool  // got a message
	expires int64 // ns since 1970; 0 never
	beat    int64 // idle heartbeat in ns; 0 none
	beatAt  int64 // when the next one is due
	rank    *rank // nil if priorities do not matter, or the request knows of none
}

// deadline is when the request wants attention.
func (r *request) deadline() int64 {
	due := int64(math.MaxInt64)
	if r.expires > 0 {
		due = r.expires
	}
	if r.beat > 0 {
		due = min(due, r.beatAt)
	}
	return due
}

// waiting is the queue of open requests, a ring: they are served one message each in turn.
type waiting struct {
	ring  []*request // length is a power of two, or 0
	head  int
	n     int
	spare []*request
	due   int64 // no deadline is earlier; math.MaxInt64 if there is none
}

func (w *waiting) at(i int) **request { return &w.ring[(w.head+i)&(len(w.ring)-1)] }

func (w *waiting) front() *request {
	if w.n == 0 {
		return nil
	}
	return *w.at(0)
}

// get returns an unused request.
func (w *waiting) get() *request {
	if n := len(w.spare); n > 0 {
		r := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return r
	}
	return &request{}
}

// put gives back a request that is not in the queue.
func (w *waiting) put(r *request) {
	if len(w.spare) < 16 {
		*r = request{reply: r.reply[:0]}
		w.spare = append(w.spare, r)
	}
}

func (w *waiting) push(r *request) {
	if w.n == len(w.ring) {
		bigger := make([]*request, max(4, 2*len(w.ring)))
		for i := range w.n {
			bigger[i] = *w.at(i)
		}
		w.ring, w.head = bigger, 0
	}
	if w.n == 0 {
		w.due = math.MaxInt64
	}
	w.n++
	*w.at(w.n - 1) = r
	w.due = min(w.due, r.deadline())
}

// pop takes the front out.
func (w *waiting) pop() *request {
	p := w.at(0)
	r := *p
	*p = nil
	w.head = (w.head + 1) & (len(w.ring) - 1)
	w.n--
	return r
}

// rotate moves the front to the back.
func (w *waiting) rotate() {
	if w.n > 1 {
		r := w.pop()
		w.n++
		*w.at(w.n - 1) = r
	}
}

// filter keeps the requests for which keep is true and finds the earliest deadline.
func (w *waiting) filter(keep func(*request) bool) {
	n := 0
	w.due = math.MaxInt64
	for i := range w.n {
		r := *w.at(i)
		if !keep(r) {
			w.put(r)
			continue
		}
		*w.at(n) = r
		w.due = min(w.due, r.deadline())
		n++
	}
	for i := n; i < w.n; i++ {
		*w.at(i) = nil
	}
	w.n = n
}
