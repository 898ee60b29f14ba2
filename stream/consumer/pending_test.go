package consumer

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// modelEntry is what the model knows of a delivered message.
type modelEntry struct {
	cseq       uint64
	deliveries uint32
	state      EntryState
	due        int64
}

// pendingModel is pending as a plain map, with everything found by looking at all of it.
type pendingModel map[uint64]*modelEntry

func (m pendingModel) lowest() (seq uint64, ok bool) {
	seq = math.MaxUint64
	for s := range m {
		seq, ok = min(seq, s), true
	}
	return seq, ok
}

func (m pendingModel) count(f func(*modelEntry) bool) (n int) {
	for _, e := range m {
		if f(e) {
			n++
		}
	}
	return n
}

func TestPendingAgainstModel(t *testing.T) {
	const wait = 1000
	rapid.Check(t, func(t *rapid.T) {
		var p pending
		m := pendingModel{}
		var cseq, seq uint64
		now := int64(1)
		maxDeliver := uint32(rapid.IntRange(2, 4).Draw(t, "maxDeliver"))
		park := func(e *Entry) bool { return e.Deliveries >= maxDeliver }
		pick := func() uint64 {
			if len(m) == 0 {
				return seq
			}
			var all []uint64
			for s := range m {
				all = append(all, s)
			}
			slices.Sort(all)
			return rapid.SampledFrom(all).Draw(t, "seq")
		}
		t.Repeat(map[string]func(*rapid.T){
			"deliver": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					cseq++
					seq += uint64(rapid.IntRange(1, 3).Draw(t, "gap"))
					p.deliver(cseq, seq, now)
					p.settle(wait)
					m[seq] = &modelEntry{cseq, 1, Flying, now + wait}
				}
			},
			"ack": func(t *rapid.T) {
				s := pick()
				hint := uint64(0)
				if e := m[s]; e != nil && rapid.Bool().Draw(t, "hint") {
					hint = e.cseq
				}
				if got, want := p.resolve(s, hint), m[s] != nil; got != want {
					t.Fatalf("resolve %d: %v, want %v", s, got, want)
				}
				delete(m, s)
			},
			"ackAll": func(t *rapid.T) {
				s := pick()
				want := 0
				for k := range m {
					if k <= s {
						delete(m, k)
						want++
					}
				}
				if got := p.resolveTo(s, func(uint64) {}); got != want {
					t.Fatalf("resolveTo %d: %d, want %d", s, got, want)
				}
			},
			"nak": func(t *rapid.T) {
				s := pick()
				e := m[s]
				if e == nil || e.state == Parked {
					return
				}
				o := p.take(s, e.cseq)
				if o == nil {
					t.Fatalf("%d is not there", s)
				}
				if rapid.Bool().Draw(t, "delay") {
					e.state, e.due = Waiting, now+50
				} else {
					e.state, e.due = Queued, 0
				}
				p.change(o, e.state, e.due)
			},
			"progress": func(t *rapid.T) {
				s := pick()
				if e := m[s]; e != nil && e.state == Flying {
					e.due = now + wait
					p.change(p.take(s, 0), Flying, e.due)
				}
			},
			"time": func(t *rapid.T) {
				now += int64(rapid.IntRange(1, wait).Draw(t, "step"))
				p.expire(now, wait, park)
				for _, e := range m {
					if (e.state == Flying || e.state == Waiting) && e.due <= now {
						if e.state == Flying && e.deliveries >= maxDeliver {
							e.state = Parked
						} else {
							e.state = Queued
						}
					}
				}
			},
			"redeliver": func(t *rapid.T) {
				want := uint64(0)
				for s, e := range m {
					if e.state == Queued && (want == 0 || s < want) {
						want = s
					}
				}
				e := p.nextQueued()
				if (e == nil) != (want == 0) || e != nil && e.Stream != want {
					t.Fatalf("next queued is %+v, want %d", e, want)
				}
				if e != nil {
					cseq++
					p.redeliver(e, now+wait)
					m[want].state, m[want].due = Flying, now+wait
					m[want].deliveries++
				}
			},
			"": func(t *rapid.T) { checkPending(t, &p, m, wait) },
		})
	})
}

func checkPending(t *rapid.T, p *pending, m pendingModel, wait int64) {
	parked := m.count(func(e *modelEntry) bool { return e.state == Parked })
	if got, want := p.len(), len(m)-parked; got != want {
		t.Fatalf("len is %d, want %d", got, want)
	}
	if got, want := p.repeat, m.count(func(e *modelEntry) bool { return e.deliveries > 1 }); got != want {
		t.Fatalf("repeat is %d, want %d", got, want)
	}
	if got, want := p.queued, m.count(func(e *modelEntry) bool { return e.state == Queued }); got != want {
		t.Fatalf("queued is %d, want %d", got, want)
	}
	seq, cseq, ok := p.lowest()
	wantSeq, wantOK := m.lowest()
	if ok != wantOK || ok && (seq != wantSeq || cseq != m[seq].cseq) {
		t.Fatalf("lowest is %d (%d), %v, want %d, %v", seq, cseq, ok, wantSeq, wantOK)
	}
	due := int64(never)
	for _, e := range m {
		if e.state == Flying || e.state == Waiting {
			due = min(due, e.due)
		}
	}
	if got := p.nextDue(wait); got != due {
		t.Fatalf("next due is %d, want %d", got, due)
	}
	seen := 0
	p.audit(1<<20, t.Fatalf, func(Entry) { seen++ })
	if seen != len(m) {
		t.Fatalf("%d looked at, want %d", seen, len(m))
	}
	p.audit(10, t.Fatalf, func(Entry) { seen-- })
	if seen < len(m)-10 {
		t.Fatalf("%d looked at, allowed were 10", len(m)-seen)
	}
	list := p.entries(wait)
	if len(list) != len(m) {
		t.Fatalf("%d entries, want %d", len(list), len(m))
	}
	for i, e := range list {
		w := m[e.Stream]
		if w == nil || e.Consumer != w.cseq || e.Deliveries != w.deliveries || e.State != w.state {
			t.Fatalf("entry is %+v, want %+v", e, w)
		}
		if i > 0 && list[i-1].Stream >= e.Stream {
			t.Fatal("entries are out of order")
		}
		if got, ok := p.get(e.Stream, 0); !ok || got.Consumer != w.cseq {
			t.Fatalf("get %d: %+v, %v", e.Stream, got, ok)
		}
	}
}

// A message that is never acknowledged does not make the ring grow with all that is delivered after it.
func TestPendingRingStaysSmall(t *testing.T) {
	var p pending
	p.deliver(1, 1, 0)
	for s := uint64(2); s < 200_000; s++ {
		p.deliver(s, s, 0)
		if p.lagging() {
			p.settle(1)
		}
		p.resolve(s, s)
	}
	if len(p.slots) > 4096 {
		t.Fatalf("ring of %d slots for one message", len(p.slots))
	}
	if p.len() != 1 {
		t.Fatalf("%d pending", p.len())
	}
}

// Deadlines that are moved again and again leave no trail.
func TestPendingHeapsStaySmall(t *testing.T) {
	var p pending
	p.silent = true
	p.deliver(1, 1, 0)
	for i := range int64(100_000) {
		p.change(p.take(1, 1), Flying, i)
	}
	if n := len(p.due); n > 100 {
		t.Fatalf("%d deadlines for one message", n)
	}
}

func TestPendingHotPathDoesNotAllocate(t *testing.T) {
	var p pending
	seq := uint64(0)
	step := func() {
		for range 100 {
			seq++
			p.deliver(seq, seq, 5)
		}
		for s := seq - 99; s <= seq; s++ {
			p.resolve(s, s)
		}
	}
	step()
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}
