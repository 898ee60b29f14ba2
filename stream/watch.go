package stream

import "slices"

// watchers finds the counted consumers that want a subject. The answer is kept in the subject's entry until a consumer
// comes, goes or changes its filter.
type watchers struct {
	gen      uint32
	literals map[string][]*member // by filter without wildcards
	patterns []*member            // consumers with another filter
	open     []*member            // consumers that are not counted: they want everything
	n        int
	sets     [][]*member // the answers; the first is empty
	recount  bool        // the backlogs have to be counted anew
}

func (w *watchers) init() {
	*w = watchers{gen: w.gen + 1, literals: map[string][]*member{}, sets: [][]*member{nil}}
}

// invalidate forgets the answers.
func (w *watchers) invalidate() {
	w.gen++
	w.sets = append(w.sets[:0], nil)
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
		e.watchGen, e.watch = w.gen, w.find(s.subjects.name(i))
	}
	return w.sets[e.watch]
}

// find returns the number of the set of consumers that want a subject.
func (w *watchers) find(subj []byte) uint32 {
	lit := w.literals[string(subj)]
	var set []*member
	for _, m := range w.patterns {
		if m.c.Wants(subj) {
			set = append(set, m)
		}
	}
	if len(set) == 0 {
		if len(lit) == 0 {
			return 0
		}
		set = lit
	} else {
		set = append(set, lit...)
	}
	w.sets = append(w.sets, set)
	return uint32(len(w.sets) - 1)
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
