package segment

import (
	"math"
	"sort"
)

const (
	indexEvery = 4 << 10  // bytes of log per sparse entry
	timesEvery = 64 << 10 // bytes of log per time entry
)

// sparseEntry says where a batch lies. Numbers are relative to the segment: to its base, its first index, and position 0.
type sparseEntry struct {
	seq   uint32 // base of the batch
	index uint32
	pos   uint32
}

// timeEntry says what came before a batch that has a sparse entry too.
type timeEntry struct {
	time int64 // largest time of the messages before, math.MinInt64 if there are none
	seq  uint32
	pos  uint32
}

// sparse is the index of one segment while it lies in memory. The segment's lock guards it.
type sparse struct {
	entries []sparseEntry // at least one per indexEvery bytes of batches, by position
	times   []timeEntry   // at least one per timesEvery bytes, by position
}

// due says whether a batch at pos needs an entry.
func (x *sparse) due(pos int64) bool {
	n := len(x.entries)
	return n == 0 || pos-int64(x.entries[n-1].pos) >= indexEvery
}

// noteDue adds an entry for a batch if one is due.
func (x *sparse) noteDue(s *segmentHead, h *Head, pos, maxTime int64) {
	if x.due(pos) {
		x.note(s, h, pos, maxTime)
	}
}

// note adds an entry for a batch. maxTime is the largest time of the messages before it.
func (x *sparse) note(s *segmentHead, h *Head, pos, maxTime int64) {
	e := sparseEntry{uint32(h.Base - s.base), uint32(h.Index - s.first), uint32(pos)}
	x.entries = append(x.entries, e)
	if n := len(x.times); n == 0 || pos-int64(x.times[n-1].pos) >= timesEvery {
		x.times = append(x.times, timeEntry{maxTime, e.seq, e.pos})
	}
}

// place is where to start looking for something.
type place struct {
	pos   int64
	seq   uint64 // base of the batch at pos
	index uint64 // and its index
}

// start is the place of a segment's first batch.
func (s *segmentHead) start() place { return place{segmentHeadBytes, s.base, s.first} }

func (s *segmentHead) place(e sparseEntry) place {
	return place{int64(e.pos), s.base + uint64(e.seq), s.first + uint64(e.index)}
}

// lastAtOrBefore returns the last of n entries whose key is at most want, -1 if there is none; keys do not decrease.
func lastAtOrBefore(n int, key func(i int) uint64, want uint64) int {
	return sort.Search(n, func(i int) bool { return key(i) > want }) - 1
}

// relative returns v - from, clamped to what an entry can hold.
func relative(v, from uint64) uint64 {
	if v < from {
		return 0
	}
	return min(v-from, math.MaxUint32)
}

// bySeq returns the last place at or before the batch that holds seq.
func (x *sparse) bySeq(s *segmentHead, seq uint64) place {
	if i := lastAtOrBefore(len(x.entries), func(i int) uint64 { return uint64(x.entries[i].seq) }, relative(seq, s.base)); i >= 0 {
		return s.place(x.entries[i])
	}
	return s.start()
}

// timePos returns the position and sequence from which on the first message at or after t is to be looked for.
func timePos(times []timeEntry, s *segmentHead, t int64) (pos int64, seq uint64) {
	// The last entry before which every message is older than t. Times do not decrease.
	i := sort.Search(len(times), func(i int) bool { return times[i].time >= t }) - 1
	if i < 0 {
		return segmentHeadBytes, s.base
	}
	return int64(times[i].pos), s.base + uint64(times[i].seq)
}
