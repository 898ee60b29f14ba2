package router

import (
	"bytes"
	"strings"
)

// patterns finds which of some patterns match a literal subject. It is built once and read by any number of goroutines
// afterwards. The zero value has none.
type patterns[T any] struct {
	root *patternNode[T]
}

type patternNode[T any] struct {
	values     []T // of the patterns that end here
	kids       map[string]*patternNode[T]
	star, full *patternNode[T]
}

// add puts a value under a valid pattern.
func (ps *patterns[T]) add(pattern string, v T) {
	if ps.root == nil {
		ps.root = &patternNode[T]{}
	}
	n := ps.root
	for tok := range strings.SplitSeq(pattern, ".") {
		next := &n.star
		switch tok {
		case "*":
		case ">":
			next = &n.full
		default:
			if n.kids == nil {
				n.kids = make(map[string]*patternNode[T])
			}
			kid := n.kids[tok]
			if kid == nil {
				kid = &patternNode[T]{}
				n.kids[tok] = kid
			}
			n = kid
			continue
		}
		if *next == nil {
			*next = &patternNode[T]{}
		}
		n = *next
	}
	n.values = append(n.values, v)
}

// each calls f for the values whose patterns match the subject, until f returns false; it reports whether f never did.
// A subject with an empty token matches nothing; its "*" and ">" are plain text.
func (ps *patterns[T]) each(subject []byte, f func(T) bool) bool {
	if ps.root == nil || !validRest(subject) {
		return true
	}
	return ps.root.each(subject, f)
}

// any reports whether a pattern matches the subject.
func (ps *patterns[T]) any(subject []byte) bool {
	return !ps.each(subject, func(T) bool { return false })
}

func (n *patternNode[T]) each(rest []byte, f func(T) bool) bool {
	tok, deeper := rest, false
	if i := bytes.IndexByte(rest, '.'); i >= 0 {
		tok, rest, deeper = rest[:i], rest[i+1:], true
	}
	if n.full != nil && !n.full.all(f) {
		return false
	}
	for _, next := range [2]*patternNode[T]{n.star, n.kids[string(tok)]} {
		if next == nil {
			continue
		}
		if deeper && !next.each(rest, f) || !deeper && !next.all(f) {
			return false
		}
	}
	return true
}

func (n *patternNode[T]) all(f func(T) bool) bool {
	for _, v := range n.values {
		if !f(v) {
			return false
		}
	}
	return true
}
