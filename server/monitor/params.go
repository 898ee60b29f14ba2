package monitor

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// query reads the parameters of an HTTP request. After the first bad one err is set and everything else is zero.
type query struct {
	values url.Values
	err    error
}

func (q *query) text(name string) string { return q.values.Get(name) }

func (q *query) bool(name string) bool {
	return parse(q, "boolean", name, strconv.ParseBool)
}

func (q *query) int(name string) int {
	return parse(q, "int", name, strconv.Atoi)
}

func (q *query) uint64(name string) uint64 {
	return parse(q, "uint64", name, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
}

// subs reads a flag that may also be the word "detail".
func (q *query) subs(name string) SubsMode {
	if strings.EqualFold(q.values.Get(name), "detail") {
		return SubsDetailed
	}
	if q.bool(name) {
		return SubsList
	}
	return SubsNone
}

// state reads the state of connections by name.
func (q *query) state(name string) ConnState {
	s := q.values.Get(name)
	switch strings.ToLower(s) {
	case "", "open":
		return ConnOpen
	case "closed":
		return ConnClosed
	case "any", "all":
		return ConnAll
	}
	q.fail(fmt.Errorf("Error decoding state for %s", s))
	return ConnOpen
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// parse reads an optional parameter; an empty one is zero.
func parse[T any](q *query, kind, name string, f func(string) (T, error)) (v T) {
	s := q.values.Get(name)
	if s == "" || q.err != nil {
		return v
	}
	v, err := f(s)
	if err != nil {
		q.fail(fmt.Errorf("Error decoding %s for '%s': %w", kind, name, err))
	}
	return v
}
