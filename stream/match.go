package stream

import (
	"slices"
	"sort"

	"godwit/protocol/subject"
	"godwit/stream/segment"
)

func hasPattern(filters []string) bool {
	return slices.ContainsFunc(filters, subject.HasWildcard[string])
}

func matchesAny(filters []string, subj []byte) bool {
	if len(filters) == 0 {
		return true
	}
	for _, f := range filters {
		if subject.Match(f, subj) {
			return true
		}
	}
	return false
}

// matchEntries calls f once for each subject that any of the filters matches; none match all.
func (s *state) matchEntries(filters []string, f func(i int)) {
	if len(filters) == 1 || len(filters) == 0 {
		filter := ""
		if len(filters) == 1 {
			filter = filters[0]
		}
		s.subjects.match(filter, func(i int) bool { f(i); return true })
		return
	}
	if !hasPattern(filters) {
		for _, filter := range filters {
			s.subjects.match(filter, func(i int) bool { f(i); return true })
		}
		return
	}
	s.subjects.match("", func(i int) bool {
		if matchesAny(filters, s.subjects.name(i)) {
			f(i)
		}
		return true
	})
}

// countMatching returns how many messages that the filters match are stored at or after from. It reads the log only if
// subjects have messages on both sides of from.
func (s *state) countMatching(filters []string, from uint64) (n uint64) {
	if from <= s.first && len(filters) == 0 {
		return s.msgs
	}
	low, high := s.last+1, uint64(0) // where messages of undecided subjects lie
	s.matchEntries(filters, func(i int) {
		e := &s.subjects.entries[i]
		switch {
		case e.first >= from || from <= s.first:
			n += e.count
		case e.last < from:
		case s.subjects.lists != nil:
			l := s.subjects.lists[i]
			n += uint64(len(l) - sort.Search(len(l), func(k int) bool { return l[k].seq >= from }))
		default:
			low, high = min(low, e.first), max(high, e.last)
		}
	})
	if high < from || low > s.last {
		return n
	}
	// Count those of the undecided subjects; the others lie on one side, so a look at the subject's entry tells.
	s.scan(from, high, func(_ uint64, _ int64, r *segment.Record) bool {
		if matchesAny(filters, r.Subject) {
			i := s.subjects.find(s.subjects.hash(r.Subject), r.Subject)
			if i >= 0 && s.subjects.entries[i].first < from {
				n++
			}
		}
		return true
	})
	return n
}

// lastsFor returns the last messages of the subjects that the filters match, ascending, if they lie in [from, to].
func (s *state) lastsFor(filters []string, from, to uint64) (seqs []uint64) {
	s.matchEntries(filters, func(i int) {
		if last := s.lastOf(i); last >= from && last <= to {
			seqs = append(seqs, last)
		}
	})
	slices.Sort(seqs)
	return seqs
}

// lastMatching returns the last message that the filters match, 0 if there is none.
func (s *state) lastMatching(filters []string) (seq uint64) {
	s.matchEntries(filters, func(i int) { seq = max(seq, s.lastOf(i)) })
	return seq
}

// nextMatching returns the first message at or after from that a filter matches, 0 if there is none, and reads it to r.
func (s *state) nextMatching(filter string, from uint64, r *segment.Record) (seq uint64, time int64) {
	low, high := s.last+1, uint64(0)
	s.subjects.match(filter, func(i int) bool {
		e := &s.subjects.entries[i]
		if e.last >= from {
			low, high = min(low, max(from, e.first)), max(high, e.last)
		}
		return true
	})
	s.scan(low, high, func(at uint64, t int64, rec *segment.Record) bool {
		if filter != "" && !subject.Match(filter, rec.Subject) {
			return true
		}
		seq, time, *r = at, t, *rec
		return false
	})
	return seq, time
}
