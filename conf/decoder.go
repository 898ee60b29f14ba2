package conf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is something wrong with a setting, or suspicious about it. Its text names the place if it has one.
type Problem struct {
	Pos    Pos // Line 0: no place
	Text   string
	serial int
}

// Error returns "file:line:col: text".
func (p *Problem) Error() string {
	if p.Pos.Line == 0 {
		return p.Text
	}
	return p.Pos.String() + ": " + p.Text
}

// Decoder gathers what decoding finds wrong; it goes on after each problem, so that one run shows them all.
// The zero value is ready. It is used by one goroutine.
type Decoder struct {
	errors   []*Problem
	warnings []*Problem
	stops    int // errors noted by Stopf
}

// Errorf notes an error at the place of v, or at none if v is nil.
func (d *Decoder) Errorf(v *Value, format string, args ...any) {
	d.errors = append(d.errors, d.problem(v, format, args...))
}

// Stopf notes an error, such as one about the type of a value, that leaves nothing to say about the whole
// block that the value is in.
func (d *Decoder) Stopf(v *Value, format string, args ...any) {
	d.stops++
	d.Errorf(v, format, args...)
}

// Stops returns how many errors Stopf has noted.
func (d *Decoder) Stops() int { return d.stops }

// Warnf notes a warning at the place of v.
func (d *Decoder) Warnf(v *Value, format string, args ...any) {
	d.warnings = append(d.warnings, d.problem(v, format, args...))
}

// Misused warns that a setting is better written in another way.
func (d *Decoder) Misused(v *Value, field, format string, args ...any) {
	d.Warnf(v, "invalid use of field %q: %s", field, fmt.Sprintf(format, args...))
}

func (d *Decoder) problem(v *Value, format string, args ...any) *Problem {
	p := &Problem{Text: fmt.Sprintf(format, args...), serial: len(d.errors) + len(d.warnings)}
	if v != nil {
		p.Pos = v.Pos
	}
	return p
}

// Errors returns the errors in the order of the text; those without a place come first.
func (d *Decoder) Errors() []*Problem { return inOrder(d.errors) }

// Warnings returns the warnings in the order of the text.
func (d *Decoder) Warnings() []*Problem { return inOrder(d.warnings) }

// Failed tells whether there are errors.
func (d *Decoder) Failed() bool { return len(d.errors) > 0 }

// Count returns how many errors there are, to see whether a step added some.
func (d *Decoder) Count() int { return len(d.errors) }

func inOrder(list []*Problem) []*Problem {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b *Problem) int {
		return cmp.Or(
			strings.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.serial, b.serial))
	})
	return out
}

// want tells whether v is of the kind, and notes the original's words if it is not.
func (d *Decoder) want(v *Value, kind Kind) bool {
	if v.Kind == kind {
		return true
	}
	d.Stopf(v, "interface conversion: interface {} is %s, not %s", v.GoType(), (&Value{Kind: kind}).GoType())
	return false
}

// String returns the text of v; ok is false, and the error noted, if v is of another kind.
func (d *Decoder) String(v *Value) (s string, ok bool) { return v.Text, d.want(v, String) }

// Int returns the number of v.
func (d *Decoder) Int(v *Value) (n int64, ok bool) { return v.Num, d.want(v, Int) }

// Bool returns the flag of v.
func (d *Decoder) Bool(v *Value) (b bool, ok bool) { return v.Flag, d.want(v, Bool) }

// List returns the elements of v.
func (d *Decoder) List(v *Value) (list []*Value, ok bool) { return v.List, d.want(v, List) }

// Map returns the members of v.
func (d *Decoder) Map(v *Value) (m *Map, ok bool) { return v.Map, d.want(v, MapKind) }
