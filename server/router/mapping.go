package router

import (
	"math"

	"godwit/protocol/subject"
)

// Mapping says where messages go instead that are published to its source. It never changes.
type Mapping struct {
	source string
	dests  []mappingDest
	fixed  bool // the subject decides alone
}

// rankedMapping is a mapping and its place among those of its account.
type rankedMapping struct {
	*Mapping
	order int
}

// mappingDest is a destination and the share of messages up to it.
type mappingDest struct {
	to     *subject.Transform // nil leaves the subject as it is
	weight int                // percent, summed up with those before
}

// WeightedSubject is a destination of a mapping and the percentage of messages that go there.
type WeightedSubject struct {
	Subject string
	Weight  int
}

// NewMapping compiles a mapping. If the weights sum up to less than 100 the others keep the subject that they have; but
// if the source is among the destinations, they are lost. Errors are those of subject.NewTransform.
func NewMapping(source string, dests []WeightedSubject) (*Mapping, error) {
	m := &Mapping{source: source}
	sum, own := 0, false
	for _, d := range dests {
		if d.Weight <= 0 && d.Subject != source {
			continue
		}
		var t *subject.Transform
		if d.Subject == source {
			own = true
		} else {
			var err error
			if t, err = subject.NewTransform(source, d.Subject); err != nil {
				return nil, err
			}
		}
		sum = min(sum+d.Weight, 100)
		m.dests = append(m.dests, mappingDest{t, sum})
	}
	if sum < 100 && !own {
		m.dests = append(m.dests, mappingDest{nil, 100})
	}
	m.fixed = len(m.dests) == 1 && m.dests[0].weight == 100 && m.dests[0].to.Repeatable()
	return m, nil
}

// apply appends the subject that a message goes to instead; chance is a random number from 0 to 99. It reports false if
// the message is lost.
func (m *Mapping) apply(dst []byte, subj []byte, chance int) ([]byte, bool) {
	for _, d := range m.dests {
		if chance < d.weight {
			if d.to == nil {
				return append(dst, subj...), true
			}
			return d.to.AppendText(dst, string(subj))
		}
	}
	return dst, false
}

// any reports whether f accepts a subject that messages on subj go to instead.
func (m *Mapping) any(subj []byte, f func(to []byte) bool) bool {
	below := 0
	for _, d := range m.dests {
		if d.weight > below {
			below = d.weight
			if to, ok := m.apply(nil, subj, below-1); ok && f(to) {
				return true
			}
		}
	}
	return false
}

// mapping returns the first of the mappings, in their order, whose source covers the subject; nil if there is none.
func (l *Links) mapping(subj []byte) *Mapping {
	first := rankedMapping{order: math.MaxInt}
	l.mappings.each(subj, func(m rankedMapping) bool {
		if m.order < first.order {
			first = m
		}
		return true
	})
	return first.Mapping
}
