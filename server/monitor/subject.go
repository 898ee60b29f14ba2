package monitor

import "strings"

// validLiteral says whether s is a subject a message can be published to.
func validLiteral(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\r\n\f") {
		return false
	}
	for t := range strings.SplitSeq(s, ".") {
		if t == "" || t == "*" || t == ">" {
			return false
		}
	}
	return true
}

// overlap says whether some literal subject matches both a and b.
func overlap(a, b string) bool {
	for {
		ta, restA, moreA := strings.Cut(a, ".")
		tb, restB, moreB := strings.Cut(b, ".")
		switch {
		case ta == ">" || tb == ">":
			return true
		case ta != tb && ta != "*" && tb != "*":
			return false
		case moreA != moreB:
			return false
		case !moreA:
			return true
		}
		a, b = restA, restB
	}
}
