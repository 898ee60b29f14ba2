package consumer

import (
	"math"
	"slices"
	"sort"
)

// Entry is a message that was delivered and is not resolved.
type Entry struct {
	Stream     uint64 // sequence in the stream
	Consumer   uint64 // consumer sequence of the first delivery
	Deliveries uint32
	State      EntryState
	Due        int64 // Flying: end of the ack wait; Waiting: when it may go again; Queued: when the ack wait ended, 0 if it did
	// not or is not known any more; ns since 1970
}

// EntryState says what an Entry waits for.
type EntryState uint8

const (
	Flying  EntryState = iota // an acknowledgement or its deadline
	Waiting                   // the end of a delay the client asked for
	Queued                    // being delivered again
	Parked                    // nothing: it was delivered as often as allowed
)

// pending holds what is delivered and not acknowledged.
//
// First deliveries lie in a ring by consumer sequence, which also orders them by stream sequence and, as they have the
// same ack wait, by deadline: no map, heap or timer per message. All others are exceptions (odd): delivered again,
// refused, with a moved deadline, or left behind by the ring because they lag far.
type pending struct {
	slots      []slot // length is a power of two
	head, tail uint64 // consumer sequences [head, tail) have a slot
	live       int    // slots not resolved

	odd    map[uint64]*Entry // by stream sequence
	due    heap              // deadlines of Flying and Waiting exceptions; may be stale
	queue  heap              // Queued exceptions by stream sequence; may be stale
	order  heap              // stream sequences of exceptions; may be stale
	parked int
	queued int
	repeat int // exceptions delivered more than once

	// What a progress record has to say. Deliveries after the consumer sequence logged were in no record yet.
	silent   bool // there are no records
	logged   uint64
	resolved []uint64 // stream sequences resolved that a record had named
	touched  []uint64 // stream sequences of exceptions that changed
}

// slot is a first delivery; seq 0 is a resolved one.
type slot struct {
	seq uint64 // in the stream
	at  int64  // time of the delivery
}

// len is the number of messages that count against max_ack_pending.
func (p *pending) len() int { return p.live + len(p.odd) - p.parked }

// empty says that nothing at all holds back the ack floor.
func (p *pending) empty() bool { return p.live == 0 && len(p.odd) == 0 }

func (p *pending) at(cseq uint64) *slot { return &p.slots[cseq&uint64(len(p.slots)-1)] }

// deliver notes a first delivery. cseq grows; numbers left out belong to repeated deliveries.
func (p *pending) deliver(cseq, seq uint64, now int64) {
	if p.head == p.tail {
		p.head, p.tail = cseq, cseq
	}
	if n := cseq + 1 - p.head; n > uint64(len(p.slots)) {
		p.grow(n)
	}
	for ; p.tail < cseq; p.tail++ {
		*p.at(p.tail) = slot{}
	}
	*p.at(cseq) = slot{seq, now}
	p.tail = cseq + 1
	p.live++
}

// grow makes room for n slots, by moving lagging deliveries to the exceptions if they are what stretches the ring.
func (p *pending) grow(n uint64) {
	size := max(64, len(p.slots))
	for uint64(size) < n {
		size *= 2
	}
	bigger := make([]slot, size)
	for c := p.head; c < p.tail; c++ {
		bigger[c&uint64(size-1)] = *p.at(c)
	}
	p.slots = bigger
}

// lagging says that the ring is mostly holes behind a few old deliveries.
func (p *pending) lagging() bool {
	span := p.tail - p.head
	return span > 1024 && span > 4*uint64(p.live)
}

// settle keeps the ring dense; wait is the ack wait of first deliveries.
func (p *pending) settle(wait int64) {
	for p.lagging() {
		s := p.at(p.head)
		p.addOdd(&Entry{Stream: s.seq, Consumer: p.head, Deliveries: 1, Due: s.at + wait})
		p.clear(p.head)
	}
}

// clear resolves a slot.
func (p *pending) clear(cseq uint64) {
	p.at(cseq).seq = 0
	p.live--
	p.advance()
}

func (p *pending) advance() {
	for p.head < p.tail && p.at(p.head).seq == 0 {
		p.head++
	}
}

// find returns the consumer sequence of a live slot for a stream sequence; hint is tried first.
func (p *pending) find(seq, hint uint64) (cseq uint64, ok bool) {
	if p.live == 0 || seq == 0 {
		return 0, false
	}
	if hint >= p.head && hint < p.tail && p.at(hint).seq == seq {
		return hint, true
	}
	// Live slots ascend by stream sequence; holes have no number, so each probe looks on for a live one.
	lo, hi := p.head, p.tail
	for lo < hi {
		mid := lo + (hi-lo)/2
		m := mid
		for m < hi && p.at(m).seq == 0 {
			m++
		}
		switch {
		case m == hi || p.at(m).seq > seq:
			hi = mid
		case p.at(m).seq == seq:
			return m, true
		default:
			lo = m + 1
		}
	}
	return 0, false
}

func (p *pending) addOdd(e *Entry) {
	if p.odd == nil {
		p.odd = map[uint64]*Entry{}
	}
	p.odd[e.Stream] = e
	p.order.push(int64(e.Stream), e.Stream)
	p.count(e, 1)
	p.schedule(e)
}

// count keeps the sums over exceptions.
func (p *pending) count(e *Entry, by int) {
	switch e.State {
	case Parked:
		p.parked += by
	case Queued:
		p.queued += by
	}
	if e.Deliveries > 1 {
		p.repeat += by
	}
}

// schedule puts an exception where its state will be looked for.
func (p *pending) schedule(e *Entry) {
	if !p.silent {
		p.touched = append(p.touched, e.Stream)
	}
	switch e.State {
	case Flying, Waiting:
		p.due.push(e.Due, e.Stream)
	case Queued:
		p.queue.push(int64(e.Stream), e.Stream)
	}
	if n := 4*len(p.odd) + 64; len(p.due) > n || len(p.queue) > n || len(p.order) > n {
		p.rebuild()
	}
}

// rebuild makes the heaps anew without stale entries, so that they stay in proportion to the exceptions.
func (p *pending) rebuild() {
	p.due, p.queue, p.order = p.due[:0], p.queue[:0], p.order[:0]
	for _, e := range p.odd {
		p.order.push(int64(e.Stream), e.Stream)
		switch e.State {
		case Flying, Waiting:
			p.due.push(e.Due, e.Stream)
		case Queued:
			p.queue.push(int64(e.Stream), e.Stream)
		}
	}
}

// change gives an exception a new state.
func (p *pending) change(e *Entry, state EntryState, due int64) {
	p.count(e, -1)
	e.State, e.Due = state, due
	p.count(e, 1)
	p.schedule(e)
}

func (p *pending) dropOdd(e *Entry) {
	p.count(e, -1)
	delete(p.odd, e.Stream)
	p.noteResolved(e.Stream, e.Consumer)
	if len(p.odd) == 0 {
		p.due, p.queue, p.order = p.due[:0], p.queue[:0], p.order[:0]
	}
}

func (p *pending) noteResolved(seq, cseq uint64) {
	if cseq <= p.logged && !p.silent {
		p.resolved = append(p.resolved, seq)
	}
}

// get returns the entry of a stream sequence, wherever it is; hint is the consumer sequence it may have.
func (p *pending) get(seq, hint uint64) (e Entry, ok bool) {
	if c, ok := p.find(seq, hint); ok {
		return Entry{Stream: seq, Consumer: c, Deliveries: 1, Due: p.at(c).at}, true
	}
	if o := p.odd[seq]; o != nil {
		return *o, true
	}
	return Entry{}, false
}

// resolve removes a message and says whether it was there.
func (p *pending) resolve(seq, hint uint64) bool {
	if c, ok := p.find(seq, hint); ok {
		p.clear(c)
		p.noteResolved(seq, c)
		return true
	}
	if o := p.odd[seq]; o != nil {
		p.dropOdd(o)
		return true
	}
	return false
}

// resolveTo removes everything up to a stream sequence, calling f for each, and returns how many there were.
func (p *pending) resolveTo(seq uint64, f func(seq uint64)) (n int) {
	for p.head < p.tail && p.at(p.head).seq <= seq { // the head is live, unless the ring is empty
		c, s := p.head, p.at(p.head).seq
		p.clear(c)
		p.noteResolved(s, c)
		f(s)
		n++
	}
	for len(p.order) > 0 && p.order[0].seq <= seq {
		if o := p.odd[p.order.pop().seq]; o != nil {
			s := o.Stream
			p.dropOdd(o)
			f(s)
			n++
		}
	}
	return n
}

// take turns a message into an exception, if it is not one yet, and returns it; nil if it is not there.
func (p *pending) take(seq, hint uint64) *Entry {
	if c, ok := p.find(seq, hint); ok {
		e := &Entry{Stream: seq, Consumer: c, Deliveries: 1, State: Flying, Due: math.MaxInt64}
		p.clear(c)
		p.addOdd(e)
		return e
	}
	return p.odd[seq]
}

// expire queues all whose deadline has passed. wait is the ack wait of first deliveries. park decides about each
// whether it is not to be delivered again.
func (p *pending) expire(now, wait int64, park func(e *Entry) bool) {
	for p.head < p.tail && now-p.at(p.head).at >= wait {
		c := p.head
		e := &Entry{Stream: p.at(c).seq, Consumer: c, Deliveries: 1, State: Queued, Due: p.at(c).at + wait}
		p.clear(c)
		if park(e) {
			e.State = Parked
		}
		p.addOdd(e)
	}
	for len(p.due) > 0 && p.due[0].key <= now {
		top := p.due.pop()
		e := p.odd[top.seq]
		if e == nil || e.Due != top.key || e.State != Flying && e.State != Waiting {
			continue
		}
		if e.State == Flying && park(e) {
			p.change(e, Parked, 0)
		} else if e.State == Flying {
			p.change(e, Queued, e.Due)
		} else {
			p.change(e, Queued, 0)
		}
	}
}

// nextQueued returns the exception to be delivered next, nil if there is none. It stays in the queue.
func (p *pending) nextQueued() *Entry {
	for len(p.queue) > 0 {
		if e := p.odd[p.queue[0].seq]; e != nil && e.State == Queued {
			return e
		}
		p.queue.pop()
	}
	return nil
}

// redeliver notes another delivery of a queued exception.
func (p *pending) redeliver(e *Entry, due int64) {
	p.count(e, -1)
	e.Deliveries++
	e.State, e.Due = Flying, due
	p.count(e, 1)
	p.schedule(e)
}

// lowest returns the unresolved message with the lowest stream sequence.
func (p *pending) lowest() (seq, cseq uint64, ok bool) {
	if p.live > 0 {
		seq, cseq, ok = p.at(p.head).seq, p.head, true
	}
	for len(p.order) > 0 {
		e := p.odd[p.order[0].seq]
		if e == nil {
			p.order.pop()
			continue
		}
		if !ok || e.Stream < seq {
			return e.Stream, e.Consumer, true
		}
		break
	}
	return seq, cseq, ok
}

// nextDue returns the earliest deadline, math.MaxInt64 if there is none. It may be too early by a stale entry.
func (p *pending) nextDue(wait int64) int64 {
	due := int64(math.MaxInt64)
	if p.live > 0 {
		if at := p.at(p.head).at; at < math.MaxInt64-wait {
			due = at + wait
		}
	}
	for len(p.due) > 0 {
		top := p.due[0]
		if e := p.odd[top.seq]; e != nil && e.Due == top.key && (e.State == Flying || e.State == Waiting) {
			return min(due, top.key)
		}
		p.due.pop()
	}
	return due
}

// entries returns all unresolved messages, ascending by stream sequence; wait as in expire.
func (p *pending) entries(wait int64) []Entry {
	out := make([]Entry, 0, p.live+len(p.odd))
	for c := p.head; c < p.tail; c++ {
		if s := p.at(c); s.seq != 0 {
			out = append(out, Entry{Stream: s.seq, Consumer: c, Deliveries: 1, Due: s.at + wait})
		}
	}
	ring := len(out)
	for _, e := range p.odd {
		out = append(out, *e)
	}
	if ring < len(out) {
		sort.Slice(out, func(i, j int) bool { return out[i].Stream < out[j].Stream })
	}
	return out
}

// put sets an entry as a progress record or checkpoint has it.
func (p *pending) put(e Entry) {
	if old := p.odd[e.Stream]; old != nil {
		p.count(old, -1)
		*old = e
		p.count(old, 1)
		p.schedule(old)
		return
	}
	p.addOdd(&e)
}

// each calls f for the stream sequence of every message until it returns false.
func (p *pending) each(f func(seq uint64) bool) {
	for c := p.head; c < p.tail; c++ {
		if s := p.at(c); s.seq != 0 && !f(s.seq) {
			return
		}
	}
	for seq := range p.odd {
		if !f(seq) {
			return
		}
	}
}

// unstored takes out the exceptions whose messages are not stored, and returns their stream sequences: they were removed
// after the record that states them was made.
func (p *pending) unstored(s Store) (seqs []uint64) {
	for seq, e := range p.odd {
		if s.Next(seq) != seq {
			p.dropOdd(e)
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// reset forgets everything.
func (p *pending) reset() { *p = pending{slots: p.slots, silent: p.silent} }

// unlogged calls f for every entry that a record has to state, ascending by stream sequence, then for every stream
// sequence that a record has to take back; then it counts all of it as logged. tail is the last consumer sequence.
func (p *pending) unlogged(tail uint64, wait int64, state func(Entry), gone func(seq uint64)) {
	var out []Entry
	for c := max(p.head, p.logged+1); c < p.tail; c++ {
		if s := p.at(c); s.seq != 0 {
			out = append(out, Entry{Stream: s.seq, Consumer: c, Deliveries: 1, Due: s.at + wait})
		}
	}
	ring := len(out)
	slices.Sort(p.touched)
	for _, seq := range slices.Compact(p.touched) {
		if e := p.odd[seq]; e != nil {
			out = append(out, *e)
		}
	}
	if ring < len(out) {
		sort.Slice(out, func(i, j int) bool { return out[i].Stream < out[j].Stream })
	}
	for i := range out {
		state(out[i])
	}
	slices.Sort(p.resolved)
	for _, seq := range p.resolved {
		gone(seq)
	}
	p.touched, p.resolved = p.touched[:0], p.resolved[:0]
	p.logged = tail
}
