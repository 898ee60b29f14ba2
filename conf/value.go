// Package conf reads the NATS configuration language: a relaxed form of JSON with comments, includes and
// variables. It turns text into a tree of values that know where they were written, and decodes such a
// tree into Go values by declarations that also give the reference page of all settings.
//
// It knows nothing of any particular setting and imports nothing of ours.
package conf

import (
	"fmt"
	"strconv"
	"time"
)

// Kind is the type of a Value.
type Kind int

const (
	String Kind = iota
	Int
	Float
	Bool
	Time
	List
	MapKind
)

// Pos is a place in a configuration. Line counts from 1. Col is the byte in the line, from 0 on the first
// line and from 1 on all others: clients of the original tool parse these numbers, so they are the same here.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns "file:line:col".
func (p Pos) String() string { return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col) }

// Value is one value of a configuration. Values are shared: nobody changes them after parsing.
type Value struct {
	Kind Kind
	Text string    // of a String
	Num  int64     // of an Int
	Real float64   // of a Float
	Flag bool      // of a Bool
	At   time.Time // of a Time
	List []*Value  // of a List
	Map  *Map      // of a MapKind

	// Pos is the place of the key for a member of a map and of the value itself for an element of a list
	// (behind its closing bracket if the element is a list or a map).
	Pos Pos

	// used says that a variable reference named this value's key, so an unknown key is no mistake.
	used bool
}

// Used tells whether a variable reference has named this value.
func (v *Value) Used() bool { return v.used }

// GoType returns the Go type that the value has in nats-server, as its messages name it.
func (v *Value) GoType() string {
	switch v.Kind {
	case Int:
		return "int64"
	case Float:
		return "float64"
	case Bool:
		return "bool"
	case Time:
		return "time.Time"
	case List:
		return "[]interface {}"
	case MapKind:
		return "map[string]interface {}"
	}
	return "string"
}

// String returns the value as messages show it.
func (v *Value) String() string {
	if v.Kind == String {
		return v.Text
	}
	return fmt.Sprint(v.Any())
}

// Any returns the value in plain Go types: string, int64, float64, bool, time.Time, []any, map[string]any.
func (v *Value) Any() any {
	switch v.Kind {
	case Int:
		return v.Num
	case Float:
		return v.Real
	case Bool:
		return v.Flag
	case Time:
		return v.At
	case List:
		out := make([]any, len(v.List))
		for i, e := range v.List {
			out[i] = e.Any()
		}
		return out
	case MapKind:
		out := make(map[string]any, len(v.Map.Members))
		for _, m := range v.Map.Members {
			out[m.Key] = m.Value.Any()
		}
		return out
	}
	return v.Text
}

// at returns a copy of v that stands at another place and that no variable reference has named yet.
func (v *Value) at(pos Pos) *Value {
	c := *v
	c.Pos, c.used = pos, false
	return &c
}

// Map holds keys and values in the order in which the keys were first written. Keys that differ in case
// are different here; decoding makes them equal.
type Map struct {
	Members []Member
	index   map[string]int
}

// Member is one key of a map and its value.
type Member struct {
	Key   string
	Value *Value
}

func newMap() *Map { return &Map{index: make(map[string]int)} }

// Get returns the value of the key, written exactly so, or nil.
func (m *Map) Get(key string) *Value {
	if i, ok := m.index[key]; ok {
		return m.Members[i].Value
	}
	return nil
}

// set gives the key a value; the last one wins.
func (m *Map) set(key string, v *Value) {
	if i, ok := m.index[key]; ok {
		m.Members[i].Value = v
		return
	}
	m.index[key] = len(m.Members)
	m.Members = append(m.Members, Member{Key: key, Value: v})
}
