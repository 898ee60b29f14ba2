package subject

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What can be wrong with a transform. The texts are the protocol's.
var (
	// ErrInvalid: source or destination is no valid subject, only one of them ends in ">", or the destination has a "*".
	ErrInvalid = errors.New("invalid subject")

	ErrWildcardIndex    = errors.New("wildcard index out of range")
	ErrTooFewArguments  = errors.New("not enough arguments passed to the function")
	ErrTooManyArguments = errors.New("too many arguments passed to the function")
	ErrArgument         = errors.New("function argument is invalid or in the wrong format")
	ErrUnknownFunction  = errors.New("unknown function")
	ErrUnusedWildcard   = errors.New("not using all of the token wildcard(s)")
	ErrImportFunction   = errors.New("the only mapping function allowed for import transforms is {{Wildcard()}}")
	ErrInvalidTransform = errors.New("invalid transform")
)

// MappingError says which token of a destination is wrong.
type MappingError struct {
	Token string // empty if there is none to show
	Index int    // the wildcard index that does not exist; 0 if it is not to be shown
	Cause error  // one of the errors above
}

func (e *MappingError) Error() string {
	s := "invalid mapping destination: " + e.Cause.Error()
	if e.Token != "" {
		s += " in " + e.Token
	}
	if e.Index != 0 {
		s += fmt.Sprintf(": [%d]", e.Index)
	}
	return s
}

func (e *MappingError) Unwrap() error { return e.Cause }

// function is what makes a token of the result.
type function uint8

const (
	literal function = iota
	wildcard
	partition
	random
	split
	splitFromLeft
	splitFromRight
	sliceFromLeft
	sliceFromRight
	left
	right
)

// call is a token of a destination, read.
type call struct {
	function function
	text     string // literal: the token; split: the delimiter
	indexes  []int  // of wildcards, counted from 1
	number   int32
}

// functionNames are the names in lower case. In what people write, the first letter of each of the words,
// which the second column counts, may be upper case too.
var functionNames = map[string]struct {
	words    []int // positions where a word starts
	function function
}{
	"wildcard":       {[]int{0}, wildcard},
	"partition":      {[]int{0}, partition},
	"random":         {[]int{0}, random},
	"split":          {[]int{0}, split},
	"splitfromleft":  {[]int{0, 5, 9}, splitFromLeft},
	"splitfromright": {[]int{0, 5, 9}, splitFromRight},
	"slicefromleft":  {[]int{0, 5, 9}, sliceFromLeft},
	"slicefromright": {[]int{0, 5, 9}, sliceFromRight},
	"left":           {[]int{0}, left},
	"right":          {[]int{0}, right},
}

// isFunction reports whether a token has the double braces of a function and something between them.
func isFunction(tok string) bool {
	return len(tok) > 4 && strings.HasPrefix(tok, "{{") && strings.HasSuffix(tok, "}}")
}

// parseCall reads a token of a destination: "$n", "{{name(arguments)}}", or text that stands for itself.
func parseCall(tok string) (call, error) {
	if len(tok) > 1 && tok[0] == '$' {
		if n, err := strconv.Atoi(tok[1:]); err == nil {
			return call{function: wildcard, indexes: []int{n}}, nil
		}
	}
	if !isFunction(tok) {
		return call{text: tok}, nil
	}
	f, args, ok := cutCall(tok)
	if !ok {
		return call{}, &MappingError{Token: tok, Cause: ErrUnknownFunction}
	}
	c := call{function: f}
	if err := c.setArguments(args); err != nil {
		return call{}, &MappingError{Token: tok, Cause: err}
	}
	return c, nil
}

// cutCall takes a function's token apart. Braces beyond two are ignored.
func cutCall(tok string) (function, []string, bool) {
	body := strings.TrimSpace(strings.TrimRight(strings.TrimLeft(tok, "{"), "}"))
	name, args, ok := strings.Cut(body, "(")
	if !ok || !strings.HasSuffix(args, ")") {
		return 0, nil, false
	}
	f, ok := lookupFunction(strings.TrimSpace(name))
	if !ok {
		return 0, nil, false
	}
	list := strings.Split(args[:len(args)-1], ",")
	for i := 1; i < len(list); i++ {
		list[i] = strings.TrimLeft(list[i], " \t\n\f\r")
	}
	return f, list, true
}

func lookupFunction(name string) (function, bool) {
	lower := []byte(name)
	entry, ok := functionNames[strings.ToLower(name)]
	if !ok {
		return 0, false
	}
	for _, at := range entry.words {
		if at < len(lower) && lower[at] >= 'A' && lower[at] <= 'Z' {
			lower[at] += 'a' - 'A'
		}
	}
	e, ok := functionNames[string(lower)]
	return e.function, ok
}

// setArguments reads the arguments, of which there is always at least one, though it may be empty.
func (c *call) setArguments(args []string) (err error) {
	switch c.function {
	case wildcard:
		return c.setWildcard(args)
	case partition:
		if c.number, err = parseNumber(args[0]); err != nil {
			return err
		}
		for _, a := range args[1:] {
			if err := c.addIndex(a); err != nil {
				return err
			}
		}
		return nil
	case random:
		if len(args) != 1 {
			return ErrTooFewArguments
		}
		c.number, err = parseNumber(args[0])
		return err
	}
	if len(args) < 2 {
		return ErrTooFewArguments
	}
	if len(args) > 2 {
		return ErrTooManyArguments
	}
	if err := c.addIndex(args[0]); err != nil {
		return err
	}
	if c.function != split {
		c.number, err = parseNumber(args[1])
		return err
	}
	if strings.Contains(args[1], " ") {
		return ErrArgument
	}
	c.text = args[1]
	return nil
}

func (c *call) setWildcard(args []string) error {
	if len(args) > 1 {
		return ErrTooManyArguments
	}
	if args[0] == "" {
		return ErrTooFewArguments
	}
	return c.addIndex(args[0])
}

func (c *call) addIndex(arg string) error {
	n, err := strconv.Atoi(strings.Trim(arg, " "))
	if err != nil {
		return ErrArgument
	}
	c.indexes = append(c.indexes, n)
	return nil
}

func parseNumber(arg string) (int32, error) {
	n, err := strconv.Atoi(strings.Trim(arg, " "))
	if err != nil || n > math.MaxInt32 || n < math.MinInt32 {
		return 0, ErrArgument
	}
	return int32(n), nil
}

// WildcardIndex returns the number of the wildcard, from 1, that a token of a destination stands for, as in "$1" and
// "{{wildcard(1)}}". It reports false for all other tokens.
func WildcardIndex(tok string) (int, bool) {
	c, err := parseCall(tok)
	if err != nil || c.function != wildcard || len(c.indexes) != 1 || c.indexes[0] < 1 {
		return 0, false
	}
	return c.indexes[0], true
}
