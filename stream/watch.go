package stream

import (
	"encoding/binary"
	"slices"
)

// watchers finds the counted consumers that want a subject. The answer is kept in the subject's entry until a consumer
// comes, goes or changes its filter. There are as many sets as there are answers that differ, however many subjects come.
type watchers struct {
	gen      uint32
	literals map[string][]*member // by filter without wildcards
	patterns []*member            // consumers with another filter
	open     []*member            // consumers that are not counted: they want everything
	n        int
	sets     [][]*member       // the answers; the first is empty
	known    map[string]uint32 // sets by who is in them; see find
	recount  bool              // the backlogs have to be counted anew

	// Scratch of find.
	key []byte
	set []*member
}

// setsMax bounds the sets. Beyond it all answers are forgotten and found again as they are needed.
const setsMax = 1 << 16

func (w *watchers) init() {
	*w = watchers{gen: w.gen + 1, literals: map[string][]*member{}, sets: [][]*member{nil}, known: map[string]uint32{}}
}

// rivals says whether f holds for any of the consumers that may want a subject which filters match.
func (w *watchers) rivals(filters []string, f func(m *member) bool) bool {
	if slices.ContainsFunc(w.open, f) || slices.ContainsFunc(w.patterns, f) {
		return true
	}
	if hasPattern(filters) {
		for _, list := range w.literals {
			if slices.ContainsFunc(list, f) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(filters, func(filter string) bool { return slices.ContainsFunc(w.literals[filter], f) })
}

// invalidate forgets the answers.
func (w *watchers) invalidate() {
	w.gen++
	clear(w.sets)
	w.sets = w.sets[:1]
	clear(w.known)
}

// rebuild takes in who is there.
func (w *watchers) rebuild(all map[uint64]*member) {
	clear(w.literals)
	w.patterns, w.open, w.n = w.patterns[:0], w.open[:0], 0
	for _, m := range all {
		if !m.gone {
			w.join(m)
		}
	}
	w.invalidate()
}

// join takes in one consumer.
func (w *watchers) join(m *member) {
	if !m.c.Counted() {
		w.open = append(w.open, m)
		return
	}
	w.n++
	filters := m.c.Filters()
	if len(filters) == 0 || hasPattern(filters) {
		w.patterns = append(w.patterns, m)
	} else {
		for _, f := range filters {
			w.literals[f] = append(w.literals[f], m)
		}
	}
	w.invalidate()
}

// leave takes out one consumer, whose filters are still those that it joined with.
func (w *watchers) leave(m *member) {
	out := func(list []*member) []*member {
		if i := slices.Index(list, m); i >= 0 {
			return slices.Delete(list, i, i+1)
		}
		return list
	}
	if !m.c.Counted() {
		w.open = out(w.open)
		return
	}
	w.n--
	filters := m.c.Filters()
	if len(filters) == 0 || hasPattern(filters) {
		w.patterns = out(w.patterns)
	} else {
		for _, f := range filters {
			if w.literals[f] = out(w.literals[f]); len(w.literals[f]) == 0 {
				delete(w.literals, f)
			}
		}
	}
	w.invalidate()
}

// of returns the consumers that want the subject of an entry.
func (w *watchers) of(s *state, i int) []*member {
	if w.n == 0 {
		return nil
	}
	e := &s.subjects.entries[i]
	if e.watchGen != w.gen {
		e.watch = w.find(s.subjects.name(i))
		e.watchGen = w.gen
	}
	return w.sets[e.watch]
}

// find returns the number of the set of consumers that want a subject. The key of a set is how many have patterns, their ids,
// and the subject if there are others, whose filter it is.
func (w *watchers) find(subj []byte) uint32 {
	if len(w.sets) > setsMax {
		w.invalidate()
	}
	lit := w.literals[string(subj)]
	w.key, w.set = append(w.key[:0], 0, 0, 0, 0), w.set[:0]
	for _, m := range w.patterns {
		if m.c.Wants(subj) {
			w.set = append(w.set, m)
			w.key = binary.LittleEndian.AppendUint64(w.key, m.c.ID)
		}
	}
	if len(w.set) == 0 && len(lit) == 0 {
		return 0
	}
	binary.LittleEndian.PutUint32(w.key, uint32(len(w.set)))
	if len(lit) > 0 {
		w.key = append(w.key, subj...)
	}
	n, ok := w.known[string(w.key)]
	if !ok {
		n = uint32(len(w.sets))
		w.sets = append(w.sets, append(slices.Clone(w.set), lit...))
		w.known[string(w.key)] = n
	}
	clear(w.set)
	return n
}

// stored tells those who want it of a new message.
func (w *watchers) stored(s *state, i int, seq uint64) {
	for _, m := range w.of(s, i) {
		m.c.Stored(seq)
		s.p.ready(m)
	}
}

// removed tells those who want it that a message is going.
func (w *watchers) removed(s *state, i int, seq uint64) {
	for _, m := range w.of(s, i) {
		m.c.Uncount(seq)
	}
}

// settleCounts counts backlogs anew if they became uncertain.
func (p *Partition) settleCounts() {
	if !p.watch.recount || p.log == nil {
		return
	}
	p.watch.recount = false
	for _, m := range p.members.byID {
		if m.c.Counted() {
			m.c.SetBacklog(p.backlog(m))
		}
	}
}

// backlog counts the messages a counted consumer has not come to.
func (p *Partition) backlog(m *member) (n uint64) {
	from := m.c.Next()
	if seqs, resume, ok := m.c.Lasts(); ok && len(seqs) > 0 {
		for _, seq := range seqs {
			if p.has(seq) {
				n++
			}
		}
		from = resume + 1
	}
	return n + p.countMatching(m.c.Filters(), from)
}
