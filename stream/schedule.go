package stream

import (
	"math"
	"time"
)

// never is a time that does not come.
const never = int64(math.MaxInt64)

// schedule knows when a partition has something to do by the clock. A timer exists only while there is something.
type schedule struct {
	heap     []scheduled // consumers by due time; entries may be stale
	expire   int64       // old messages are to be removed
	expired  int64       // when that was last done
	batches  int64       // batches that clients have open may be idle for too long
	fire     int64       // a scheduled message is to produce another
	progress int64       // progress records are to be written
	check    int64       // a checkpoint is to be written because of the time
	saved    int64       // when the last one was
	armed    int64       // when the timer fires; 0 if it does not
}

type scheduled struct {
	at int64
	m  *member
}

func (s *schedule) init() {
	s.expire, s.batches, s.fire, s.progress, s.check = never, never, never, never, never
}

// due is when the next thing is to be done.
func (s *schedule) due() int64 {
	at := min(s.expire, s.batches, s.fire, s.progress, s.check)
	if len(s.heap) > 0 {
		at = min(at, s.heap[0].at)
	}
	return at
}

// set makes m come up at a time, unless it comes up before anyway.
func (s *schedule) set(m *member, at int64) {
	if at == never || m.due != 0 && m.due <= at {
		return
	}
	m.due = at
	h := append(s.heap, scheduled{at, m})
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].at <= h[i].at {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	s.heap = h
}

// next takes out the next consumer that is due at now, nil if there is none.
func (s *schedule) next(now int64) *member {
	for len(s.heap) > 0 && s.heap[0].at <= now {
		top := s.pop()
		if top.m.due == top.at {
			top.m.due = 0
			return top.m
		}
	}
	return nil
}

func (s *schedule) pop() scheduled {
	h := s.heap
	top := h[0]
	n := len(h) - 1
	h[0] = h[n]
	h[n] = scheduled{}
	h = h[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && h[down+1].at < h[down].at {
			down++
		}
		if h[i].at <= h[down].at {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	s.heap = h
	return top
}

// ring is the timer's.
func (p *Partition) ring() {
	p.rang.Store(true)
	p.box.wake()
}

// arm sees to it that a turn runs when something is due.
func (p *Partition) arm() {
	s := &p.sched
	at := s.due()
	if p.drained != nil || at == never {
		return
	}
	at = max(at, p.now+int64(tickMin))
	if p.rang.Load() { // whatever the clock says: it may have been set back meanwhile
		p.rang.Store(false)
		s.armed = 0
	}
	if s.armed > p.now && s.armed <= at {
		return
	}
	s.armed = at
	p.timer.Reset(time.Duration(at - p.now))
}
