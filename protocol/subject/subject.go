// Package subject knows what subjects are: their validity, how wildcards match, cover and overlap, how
// they are transformed, and sets of patterns for permissions. It does no I/O and keeps no state.
//
// A subject is a list of tokens separated by dots. In a pattern the token "*" stands for any one token and
// the token ">", which must be the last, for one or more. As part of a longer token both are plain text.
package subject

// Text is what the functions of this package read: a string, or bytes in a buffer, which are lent.
type Text interface{ ~string | ~[]byte }

const (
	separator = '.'
	anyToken  = '*'
	anyRest   = '>'
)

// WellFormed reports whether s has the shape of a pattern: no empty token and nothing after ">". It is
// what SUB demands, which lets through every byte that the splitting of arguments lets through.
func WellFormed[T Text](s T) bool {
	for start := 0; ; {
		end := tokenEnd(s, start)
		if end == start {
			return false
		}
		if end == len(s) {
			return true
		}
		if isAnyRest(s, start, end) {
			return false
		}
		start = end + 1
	}
}

// Valid reports whether s is a pattern as configurations and API requests must write it: well formed
// and without white space.
func Valid[T Text](s T) bool {
	return !hasSpace(s) && WellFormed(s)
}

// ValidLiteral reports whether s names a single subject: no empty token and no wildcard. White space is
// not looked at, as in the check of a pedantic client's publishes; see ValidName for that.
func ValidLiteral[T Text](s T) bool {
	for start := 0; ; {
		end := tokenEnd(s, start)
		if end == start || isWildcard(s, start, end) {
			return false
		}
		if end == len(s) {
			return true
		}
		start = end + 1
	}
}

// ValidName reports whether s is a single subject without white space.
func ValidName[T Text](s T) bool {
	return !hasSpace(s) && ValidLiteral(s)
}

// HasEmptyToken reports whether some token of s is empty: such a subject is matched by nothing.
func HasEmptyToken[T Text](s T) bool {
	if len(s) == 0 || s[0] == separator {
		return true
	}
	return !noEmptyToken(s, 0)
}

// HasWildcard reports whether a token of s is a wildcard. It asks nothing else of s.
func HasWildcard[T Text](s T) bool {
	for start := 0; start < len(s); {
		end := tokenEnd(s, start)
		if isWildcard(s, start, end) {
			return true
		}
		start = end + 1
	}
	return false
}

// NumTokens returns the number of tokens, empty ones included: one more than there are dots, and 0 for
// an empty text.
func NumTokens[T Text](s T) int {
	if len(s) == 0 {
		return 0
	}
	n := 1
	for i := range len(s) {
		if s[i] == separator {
			n++
		}
	}
	return n
}

// Tokens returns an iterator over the tokens, which are parts of s. An empty text has none.
func Tokens[T Text](s T) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		if len(s) == 0 {
			return
		}
		for start := 0; start <= len(s); {
			end := tokenEnd(s, start)
			if !yield(s[start:end]) {
				return
			}
			start = end + 1
		}
	}
}

// tokenEnd returns the position of the dot after the token that begins at start, or len(s).
func tokenEnd[T Text](s T, start int) int {
	for i := start; i < len(s); i++ {
		if s[i] == separator {
			return i
		}
	}
	return len(s)
}

func isAnyRest[T Text](s T, start, end int) bool {
	return end-start == 1 && s[start] == anyRest
}

func isAnyToken[T Text](s T, start, end int) bool {
	return end-start == 1 && s[start] == anyToken
}

func isWildcard[T Text](s T, start, end int) bool {
	return end-start == 1 && (s[start] == anyToken || s[start] == anyRest)
}

func hasSpace[T Text](s T) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\f', '\r':
			return true
		}
	}
	return false
}
