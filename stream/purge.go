package stream

import (
	"godwit/protocol/subject"
	"godwit/stream/segment"
)

// purge removes messages: those that filter matches (empty: all) and that lie below seq (if not 0), or all but the
// newest keep (if not 0). It returns how many.
func (s *state) purge(filter string, seq, keep uint64) (n uint64) {
	before := s.msgs
	all := filter == "" || filter == ">"
	switch {
	case all && seq > 1:
		s.purgeTo(seq)
	case all && seq == 1:
	case all && keep > 0:
		if keep < s.msgs {
			s.keepNewest(keep)
		}
	case all:
		s.purgeTo(s.last + 1)
	default:
		s.purgeSubjects(filter, seq, keep)
	}
	return before - s.msgs
}

// purgeTo removes everything below seq. Beyond the end it leaves an empty stream that goes on at seq.
func (s *state) purgeTo(seq uint64) {
	if seq <= s.last {
		s.removeBelow(seq)
		return
	}
	s.grown -= int64(s.bytes)
	s.first, s.last = seq, seq-1
	s.msgs, s.bytes = 0, 0
	s.p.next = max(s.p.next, seq)
	s.deleted.clear()
	s.ttl.pinned.clear()
	s.subjects.clear()
	s.watch.invalidate()
	s.watch.recount = true
}

// keepNewest removes all but the newest keep messages.
func (s *state) keepNewest(keep uint64) {
	for s.msgs > keep {
		s.removeFirst()
	}
}

// doomed is a message that is about to be removed.
type doomed struct {
	seq, bytes uint64
	subject    string
}

// purgeSubjects removes the messages on subjects that filter matches, below seq (if not 0) or all but the newest keep
// (if not 0).
func (s *state) purgeSubjects(filter string, seq, keep uint64) {
	var total uint64
	from, to := s.last+1, uint64(0)
	look := func(i int) bool {
		e := &s.subjects.entries[i]
		from, to = min(from, e.first), max(to, e.last)
		total += e.count
		return true
	}
	s.subjects.match(filter, look)
	if seq > 0 {
		to = min(to, seq-1)
	}
	if total <= keep {
		return
	}
	left := total - keep
	var list []doomed
	s.scan(from, to, func(seq uint64, _ int64, r *segment.Record) bool {
		if subject.Match(filter, r.Subject) {
			list = append(list, doomed{seq, s.size(r), string(r.Subject)})
			left--
		}
		return left > 0
	})
	s.removeAll(list, "")
}

// deleteSeq removes one message and says whether it was there.
func (s *state) deleteSeq(seq uint64) bool {
	var r segment.Record
	if _, err := s.read(seq, &r); err != nil {
		return false
	}
	i := s.subjects.find(s.subjects.hash(r.Subject), r.Subject)
	s.remove(i, seq, s.size(&r), "Unacknowledged message was deleted")
	return true
}

// trimAll removes the oldest messages of every subject that has more than limit.
func (s *state) trimAll(limit uint64) {
	over := map[string]uint64{} // messages to remove
	for i := range s.subjects.entries {
		if e := &s.subjects.entries[i]; e.count > limit {
			over[string(s.subjects.name(i))] = e.count - limit
		}
	}
	if len(over) == 0 {
		return
	}
	var list []doomed
	s.scan(s.first, s.last, func(seq uint64, _ int64, r *segment.Record) bool {
		if n := over[string(r.Subject)]; n > 0 {
			list = append(list, doomed{seq, s.size(r), string(r.Subject)})
			if n--; n == 0 {
				delete(over, string(r.Subject))
			} else {
				over[string(r.Subject)] = n
			}
		}
		return len(over) > 0
	})
	s.removeAll(list, "")
}
