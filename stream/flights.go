package stream

import (
	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// flight is a batch that was appended, or only answers, waiting until everything up to index is safe.
type flight struct {
	index uint64
	head  segment.Head // Kind 0: nothing was appended
	pubs  []*PubBatch
	cmd   *command
	// confirms are reply subjects of acknowledgements that waited for this progress record; each gets an empty message.
	confirms []byte
	ends     []int // of each in confirms
	// gone are messages that nobody needs once this progress record is safe, ascending.
	gone []uint64
	// dones are called when this progress record is safe or has failed.
	dones []func(*jsapi.Error)
	// consumers is their part of a checkpoint that is to be written of the state at index; nil if none is wanted.
	consumers []byte
}

// reset empties f and keeps its memory.
func (f *flight) reset() {
	clear(f.pubs)
	*f = flight{pubs: f.pubs[:0], confirms: f.confirms[:0], ends: f.ends[:0], gone: f.gone[:0]}
	if cap(f.gone) > 8<<10 {
		f.gone = nil
	}
	if cap(f.confirms) > 64<<10 {
		f.confirms = nil
	}
}

// done calls those who wait for this progress record.
func (f *flight) done(err *jsapi.Error) {
	for _, done := range f.dones {
		done(err)
	}
	f.dones = nil
}

// confirm adds a reply subject, which is lent.
func (f *flight) confirm(reply []byte) {
	f.confirms = append(f.confirms, reply...)
	f.ends = append(f.ends, len(f.confirms))
}

// flights is the queue of what is in flight, in the order of the log.
type flights struct {
	list []flight
	head int
}

func (q *flights) len() int { return len(q.list) - q.head }

func (q *flights) front() *flight { return &q.list[q.head] }

// push adds an empty flight and returns it.
func (q *flights) push(index uint64) *flight {
	if q.head > 0 && q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	if n := len(q.list); n < cap(q.list) {
		q.list = q.list[:n+1]
		f := &q.list[n]
		f.reset()
		f.index = index
		return f
	}
	if q.head > len(q.list)/2 { // reuse the room of those that are done
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
		return q.push(index)
	}
	q.list = append(q.list, flight{index: index})
	return &q.list[len(q.list)-1]
}

func (q *flights) pop() {
	q.list[q.head].reset()
	q.head++
}

// recent are the subjects of messages in flight, so that expectations see them. The map over them is made only when
// somebody asks, and forgotten when nothing is in flight.
type recent struct {
	list    []recentSubject
	head    int
	indexed int // entries of list in the map
	last    map[uint64]uint64
}

type recentSubject struct{ hash, seq uint64 }

func (r *recent) push(hash, seq uint64) {
	if r.head > 4096 && r.head > len(r.list)/2 {
		n := copy(r.list, r.list[r.head:])
		r.list, r.indexed, r.head = r.list[:n], max(0, r.indexed-r.head), 0
	}
	r.list = append(r.list, recentSubject{hash, seq})
}

// pop forgets the n oldest.
func (r *recent) pop(n int) {
	r.head += n
	if r.head == len(r.list) {
		r.list, r.head, r.indexed = r.list[:0], 0, 0
		clear(r.last)
	}
}

// find returns the last sequence in flight of the subject with the hash, 0 if there is none above applied.
func (r *recent) find(hash, applied uint64) uint64 {
	if r.head == len(r.list) {
		return 0
	}
	if r.last == nil {
		r.last = map[uint64]uint64{}
	}
	for r.indexed = max(r.indexed, r.head); r.indexed < len(r.list); r.indexed++ {
		e := r.list[r.indexed]
		r.last[e.hash] = e.seq
	}
	if seq := r.last[hash]; seq > applied {
		return seq
	}
	return 0
}

// count returns how many messages of the subject with the hash are in flight.
func (r *recent) count(hash uint64) (n int64) {
	for _, e := range r.list[r.head:] {
		if e.hash == hash {
			n++
		}
	}
	return n
}
