package subject

// Match reports whether the pattern matches the literal subject. Wildcards in literal count as plain
// text, as in a publish to a subject that looks like a pattern. A subject with an empty token is
// matched by nothing. It does not allocate.
func Match[P, L Text](pattern P, literal L) bool {
	p, l := 0, 0
	for {
		pEnd, lEnd := tokenEnd(pattern, p), tokenEnd(literal, l)
		if lEnd == l {
			return false
		}
		if isAnyRest(pattern, p, pEnd) {
			return pEnd == len(pattern) && noEmptyToken(literal, lEnd)
		}
		if !isAnyToken(pattern, p, pEnd) && !sameToken(pattern, p, pEnd, literal, l, lEnd) {
			return false
		}
		if pEnd == len(pattern) || lEnd == len(literal) {
			return pEnd == len(pattern) && lEnd == len(literal)
		}
		p, l = pEnd+1, lEnd+1
	}
}

// Subset reports whether every subject that sub matches is matched by super too. Both may have wildcards.
func Subset[A, B Text](sub A, super B) bool {
	a, b := 0, 0
	for {
		aEnd, bEnd := tokenEnd(sub, a), tokenEnd(super, b)
		if aEnd == a {
			return false
		}
		if isAnyRest(super, b, bEnd) {
			return bEnd == len(super) && WellFormed(sub[a:])
		}
		if isAnyRest(sub, a, aEnd) { // more than any one token of super can cover
			return false
		}
		if !isAnyToken(super, b, bEnd) && !sameToken(sub, a, aEnd, super, b, bEnd) {
			return false
		}
		if aEnd == len(sub) || bEnd == len(super) {
			return aEnd == len(sub) && bEnd == len(super)
		}
		a, b = aEnd+1, bEnd+1
	}
}

// Overlap reports whether some subject is matched by both patterns.
func Overlap[A, B Text](x A, y B) bool {
	a, b := 0, 0
	for {
		aEnd, bEnd := tokenEnd(x, a), tokenEnd(y, b)
		if aEnd == a || bEnd == b {
			return false
		}
		if isAnyRest(x, a, aEnd) || isAnyRest(y, b, bEnd) {
			return WellFormed(x[a:]) && WellFormed(y[b:])
		}
		if !isAnyToken(x, a, aEnd) && !isAnyToken(y, b, bEnd) && !sameToken(x, a, aEnd, y, b, bEnd) {
			return false
		}
		if aEnd == len(x) || bEnd == len(y) {
			return aEnd == len(x) && bEnd == len(y)
		}
		a, b = aEnd+1, bEnd+1
	}
}

func sameToken[A, B Text](x A, a, aEnd int, y B, b, bEnd int) bool {
	if aEnd-a != bEnd-b {
		return false
	}
	for i := range aEnd - a {
		if x[a+i] != y[b+i] {
			return false
		}
	}
	return true
}

// noEmptyToken reports whether no two dots follow each other, and no dot ends s, from the position at on.
func noEmptyToken[T Text](s T, at int) bool {
	for ; at < len(s); at++ {
		if s[at] == separator && (at+1 == len(s) || s[at+1] == separator) {
			return false
		}
	}
	return true
}
