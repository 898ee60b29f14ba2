package subject

import (
	"fmt"
	"strings"
	"unsafe"
)

// Set is a set of patterns, such as an allow or a deny list. It never changes, so any number of goroutines
// may ask it, and asking does not allocate. The nil set is empty.
type Set struct {
	root node
	size int
}

// node is what the tokens so far lead to. Every node but the root of an empty set lies on the way to a pattern.
type node struct {
	kids map[string]*node // by the next token, when it is not a wildcard
	star *node            // the next token is "*"
	rest bool             // a pattern ends here with ">" as its next token
	end  bool             // a pattern ends here
}

// NewSet returns the set of the patterns. The only error is a pattern that is not well formed.
func NewSet(patterns ...string) (*Set, error) {
	s := &Set{}
	for _, p := range patterns {
		if !WellFormed(p) {
			return nil, fmt.Errorf("subject %q is not a valid subject", p)
		}
		s.add(p)
	}
	return s, nil
}

func (s *Set) add(pattern string) {
	n := &s.root
	for tok := range strings.SplitSeq(pattern, ".") {
		switch tok {
		case ">":
			if !n.rest {
				n.rest = true
				s.size++
			}
			return
		case "*":
			if n.star == nil {
				n.star = &node{}
			}
			n = n.star
		default:
			kid := n.kids[tok]
			if kid == nil {
				kid = &node{}
				if n.kids == nil {
					n.kids = make(map[string]*node)
				}
				n.kids[strings.Clone(tok)] = kid
			}
			n = kid
		}
	}
	if !n.end {
		n.end = true
		s.size++
	}
}

// Len returns the number of different patterns.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return s.size
}

// Match reports whether a pattern of the set matches the literal subject, with the meaning of the function
// Match. literal is lent.
func (s *Set) Match(literal []byte) bool {
	return s.MatchString(unsafe.String(unsafe.SliceData(literal), len(literal)))
}

// MatchString is Match for a string.
func (s *Set) MatchString(literal string) bool {
	return s.Len() > 0 && !HasEmptyToken(literal) && s.root.match(literal, 0)
}

// Covers reports whether a single pattern of the set matches every subject that sub matches.
func (s *Set) Covers(sub string) bool {
	return s.Len() > 0 && WellFormed(sub) && s.root.covers(sub, 0)
}

// Overlaps reports whether a pattern of the set and pattern have a subject in common.
func (s *Set) Overlaps(pattern string) bool {
	return s.Len() > 0 && WellFormed(pattern) && s.root.overlaps(pattern, 0)
}

// match looks at the tokens of the literal from start on. Each node is visited at most once, as there is
// one way to it.
func (n *node) match(literal string, start int) bool {
	if n.rest {
		return true
	}
	end := tokenEnd(literal, start)
	for _, next := range [2]*node{n.kids[literal[start:end]], n.star} {
		if next == nil {
			continue
		}
		if end == len(literal) {
			if next.end {
				return true
			}
		} else if next.match(literal, end+1) {
			return true
		}
	}
	return false
}

func (n *node) covers(sub string, start int) bool {
	if n.rest {
		return true
	}
	end := tokenEnd(sub, start)
	if isAnyRest(sub, start, end) {
		return false
	}
	for _, next := range [2]*node{n.kids[sub[start:end]], n.star} { // no kid is named "*"
		if next == nil {
			continue
		}
		if end == len(sub) {
			if next.end {
				return true
			}
		} else if next.covers(sub, end+1) {
			return true
		}
	}
	return false
}

func (n *node) overlaps(pattern string, start int) bool {
	end := tokenEnd(pattern, start)
	if n.rest || isAnyRest(pattern, start, end) {
		return n.rest || n.star != nil || len(n.kids) > 0
	}
	if n.star.overlapsFrom(pattern, end) {
		return true
	}
	if !isAnyToken(pattern, start, end) {
		return n.kids[pattern[start:end]].overlapsFrom(pattern, end)
	}
	for _, kid := range n.kids {
		if kid.overlapsFrom(pattern, end) {
			return true
		}
	}
	return false
}

// overlapsFrom continues behind the token of pattern that ends at end.
func (n *node) overlapsFrom(pattern string, end int) bool {
	if n == nil {
		return false
	}
	if end == len(pattern) {
		return n.end
	}
	return n.overlaps(pattern, end+1)
}
