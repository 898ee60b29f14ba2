package subject

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Transform rewrites subjects that match a source pattern: account mappings, imports, streams' subject
// transforms and republishing. It never changes, so any number of goroutines may apply it. The nil
// Transform matches every subject and leaves it as it is.
type Transform struct {
	source, dest string
	steps        []step
	wildcards    []int // the position among the source's tokens of each "*", in order
	rest         int   // number of the source's tokens before its ">"; -1 without one
	identity     bool  // from ">" to ">"
}

// step makes one token of the result, or several.
type step struct {
	function function
	text     string // literal: the token; split: the delimiter
	inputs   []int  // positions of source tokens; empty for partition and random of the whole subject
	number   int32  // position, size, or modulus
}

// NewTransform compiles a transform. An empty source means ">"; with an empty dest the result is nil, which
// changes nothing. Errors are ErrInvalid or a *MappingError.
func NewTransform(source, dest string) (*Transform, error) {
	return compile(source, dest, false)
}

// NewImportTransform is NewTransform with the rules of stream and service imports: the only function is the
// wildcard, and every wildcard of the source is used.
func NewImportTransform(source, dest string) (*Transform, error) {
	return compile(source, dest, true)
}

// ValidateMapping says what is wrong with a mapping as the configuration writes it. Beyond NewTransform it
// demands that the destination's plain tokens are free of white space.
func ValidateMapping(source, dest string) error {
	if dest == "" {
		return nil
	}
	closed := false
	for tok := range Tokens(dest) {
		switch {
		case tok == "" || closed:
			return &MappingError{Token: tok, Cause: ErrInvalidTransform}
		case isFunction(tok):
		case hasSpace(tok):
			return &MappingError{Cause: ErrInvalidTransform}
		case tok == ">":
			closed = true
		}
	}
	_, err := NewTransform(source, dest)
	return err
}

func compile(source, dest string, imports bool) (*Transform, error) {
	if dest == "" {
		return nil, nil
	}
	if source == "" {
		source = ">"
	}
	if !WellFormed(source) || !WellFormed(dest) {
		return nil, ErrInvalid
	}
	t := &Transform{source: source, dest: dest, rest: -1, identity: source == ">" && dest == ">"}
	i := 0
	for tok := range Tokens(source) {
		switch tok {
		case "*":
			t.wildcards = append(t.wildcards, i)
		case ">":
			t.rest = i
		}
		i++
	}
	destRest := false
	for tok := range Tokens(dest) {
		if tok == "*" {
			return nil, ErrInvalid
		}
		destRest = tok == ">"
	}
	if destRest != (t.rest >= 0) {
		return nil, ErrInvalid
	}
	for tok := range Tokens(dest) {
		if tok == ">" {
			break
		}
		if err := t.addStep(tok, imports); err != nil {
			return nil, err
		}
	}
	if imports && !t.usesAll() {
		return nil, &MappingError{Token: dest, Cause: ErrUnusedWildcard}
	}
	return t, nil
}

// addStep compiles one token of the destination.
func (t *Transform) addStep(tok string, imports bool) error {
	c, err := parseCall(tok)
	if err != nil {
		return err
	}
	if imports && c.function != literal && c.function != wildcard {
		return &MappingError{Token: tok, Cause: ErrImportFunction}
	}
	s := step{function: c.function, text: c.text, number: c.number}
	if len(t.wildcards) == 0 && t.rest < 0 {
		// A literal source has nothing to point at; hashing falls back to the whole subject.
		switch c.function {
		case literal, partition, random:
			t.steps = append(t.steps, s)
			return nil
		}
		return &MappingError{Token: tok, Cause: ErrWildcardIndex}
	}
	for _, index := range c.indexes {
		if index > len(t.wildcards) {
			return &MappingError{Token: tok, Index: index, Cause: ErrWildcardIndex}
		}
		at := 0 // an index below 1 means the subject's first token
		if index > 0 {
			at = t.wildcards[index-1]
		}
		s.inputs = append(s.inputs, at)
	}
	t.steps = append(t.steps, s)
	return nil
}

func (t *Transform) usesAll() bool {
	used := make(map[int]bool)
	for _, s := range t.steps {
		for _, at := range s.inputs {
			used[at] = true
		}
	}
	for _, at := range t.wildcards {
		if !used[at] {
			return false
		}
	}
	return true
}

// Source returns the pattern of subjects that are transformed; ">" for the nil Transform.
func (t *Transform) Source() string {
	if t == nil {
		return ">"
	}
	return t.source
}

// Dest returns the destination as it was written; ">" for the nil Transform.
func (t *Transform) Dest() string {
	if t == nil {
		return ">"
	}
	return t.dest
}

// Apply returns the transformed subject, and whether the subject matches the source; if not, the subject
// is returned unchanged. A subject that is no valid literal never matches. The result may be malformed:
// a split of nothing but delimiters leaves an empty token, and such a message reaches nobody.
func (t *Transform) Apply(subject string) (string, bool) {
	if t == nil || t.identity {
		return subject, true
	}
	out, ok := t.Append(make([]byte, 0, len(subject)+len(t.dest)), subject)
	if !ok {
		return subject, false
	}
	return string(out), true
}

// Append appends the transformed subject to dst. If the subject does not match, dst comes back as it was
// and false with it.
func (t *Transform) Append(dst []byte, subject string) ([]byte, bool) {
	if t == nil || t.identity {
		return append(dst, subject...), true
	}
	if !ValidLiteral(subject) {
		return dst, false
	}
	return t.AppendText(dst, subject)
}

// AppendText is Append for subjects in which the tokens "*" and ">" stand for themselves, as in requests whose subject
// names a pattern.
func (t *Transform) AppendText(dst []byte, subject string) ([]byte, bool) {
	if t == nil || t.identity {
		return append(dst, subject...), true
	}
	if HasEmptyToken(subject) || !Match(t.source, subject) {
		return dst, false
	}
	for i := range t.steps {
		if i > 0 {
			dst = append(dst, separator)
		}
		dst = t.steps[i].append(dst, subject)
	}
	if t.rest >= 0 {
		if len(t.steps) > 0 {
			dst = append(dst, separator)
		}
		dst = append(dst, subject[tokenStart(subject, t.rest):]...)
	}
	return dst, true
}

func (s *step) append(dst []byte, subject string) []byte {
	switch s.function {
	case literal:
		return append(dst, s.text...)
	case partition:
		return strconv.AppendUint(dst, uint64(s.partition(subject)), 10)
	case random:
		n := 0
		if s.number > 0 {
			n = rand.IntN(int(s.number))
		}
		return strconv.AppendInt(dst, int64(n), 10)
	}
	start := tokenStart(subject, s.inputs[0])
	tok, size := subject[start:tokenEnd(subject, start)], int(s.number)
	if s.function == wildcard {
		return append(dst, tok...)
	}
	if s.function == split {
		return appendSplit(dst, tok, s.text)
	}
	if size <= 0 || size >= len(tok) {
		return append(dst, tok...)
	}
	switch s.function {
	case splitFromLeft:
		return appendPair(dst, tok[:size], tok[size:])
	case splitFromRight:
		return appendPair(dst, tok[:len(tok)-size], tok[len(tok)-size:])
	case sliceFromLeft:
		return appendSlices(dst, tok, size, size)
	case sliceFromRight:
		return appendSlices(dst, tok, (len(tok)-1)%size+1, size)
	case left:
		return append(dst, tok[:size]...)
	default: // right
		return append(dst, tok[len(tok)-size:]...)
	}
}

// partition hashes the chosen tokens, one behind the other without dots, or else the whole subject.
func (s *step) partition(subject string) uint32 {
	if len(s.inputs) == 0 {
		return Partition(subject, uint32(s.number))
	}
	h := uint32(fnvOffset)
	for _, at := range s.inputs {
		start := tokenStart(subject, at)
		h = fnvAdd(h, subject[start:tokenEnd(subject, start)])
	}
	return modulo(h, uint32(s.number))
}

func appendPair(dst []byte, a, b string) []byte {
	dst = append(dst, a...)
	dst = append(dst, separator)
	return append(dst, b...)
}

// appendSlices cuts tok into a first piece of the given size and further ones of size bytes; the last may be shorter.
func appendSlices(dst []byte, tok string, first, size int) []byte {
	dst = append(dst, tok[:first]...)
	for tok = tok[first:]; tok != ""; {
		n := min(size, len(tok))
		dst = append(dst, separator)
		dst = append(dst, tok[:n]...)
		tok = tok[n:]
	}
	return dst
}

// appendSplit appends the pieces between delimiters that are not empty. An empty delimiter stands between
// any two characters.
func appendSplit(dst []byte, tok, delimiter string) []byte {
	begin := len(dst)
	for more := true; more; {
		var piece string
		if delimiter == "" {
			_, n := utf8.DecodeRuneInString(tok)
			piece, tok = tok[:n], tok[n:]
			more = tok != ""
		} else {
			piece, tok, more = strings.Cut(tok, delimiter)
		}
		if piece == "" {
			continue
		}
		if len(dst) > begin {
			dst = append(dst, separator)
		}
		dst = append(dst, piece...)
	}
	return dst
}

// tokenStart returns the position of the token with the given number, counted from 0. There must be one.
func tokenStart(s string, number int) int {
	start := 0
	for range number {
		start = tokenEnd(s, start) + 1
	}
	return start
}

// Repeatable reports whether a subject is always transformed to the same one: no random number is in it.
func (t *Transform) Repeatable() bool {
	if t == nil {
		return true
	}
	for i := range t.steps {
		if t.steps[i].function == random {
			return false
		}
	}
	return true
}
