package subject

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, literal string
		want             bool
	}{
		{"foo", "foo", true},
		{"foo", "bar", false},
		{"foo", "foo.bar", false},
		{"foo.bar", "foo", false},
		{"foo.bar", "foo.bar", true},
		{"*", "foo", true},
		{"*", "foo.bar", false},
		{"*.bar", "foo.bar", true},
		{"foo.*", "foo", false},
		{"foo.*", "foo.bar.baz", false},
		{">", "foo", true},
		{">", "foo.bar.baz", true},
		{"foo.>", "foo", false},
		{"foo.>", "foo.bar", true},
		{"foo.>", "foo.bar.baz", true},
		{"foo.*.>", "foo.bar", false},
		{"foo.*.>", "foo.bar.baz.x", true},
		{"foo.*", "foo.*", true}, // published to what looks like a pattern
		{"foo.>", "foo.>", true},
		{"foo.bar", "foo.*", false},
		{"foo.*", "foo.>", true},
		{"foo*", "foox", false},
		{"foo*", "foo*", true},
		{"foo.b>", "foo.b>", true},
		{"Foo", "foo", false},
		{">", "foo..bar", false},
		{">", "", false},
		{">", ".", false},
		{">", "foo.", false},
		{">", ".foo", false},
		{"*", "", false},
		{"", "", false},
		{"foo.*.bar", "foo..bar", false},
		{"foo.>.bar", "foo.x.bar", false},
		{"foo.>.bar", "foo.>.bar", false},
		{"foo..bar", "foo..bar", false},
	}
	for _, tt := range tests {
		if got := Match(tt.pattern, tt.literal); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.literal, got)
		}
		if got := Match([]byte(tt.pattern), []byte(tt.literal)); got != tt.want {
			t.Errorf("Match of bytes (%q, %q) = %v", tt.pattern, tt.literal, got)
		}
	}
}

func TestSubset(t *testing.T) {
	tests := []struct {
		sub, super string
		want       bool
	}{
		{"foo", "foo", true},
		{"foo", "*", true},
		{"foo", ">", true},
		{"foo.bar", "*", false},
		{"foo.*", "foo.*", true},
		{"foo.*", "foo.>", true},
		{"foo.>", "foo.*", false}, // not, although the tokens could be taken for text
		{"foo.>", "foo.>", true},
		{"foo.>", ">", true},
		{">", "foo.>", false},
		{">", ">", true},
		{">", "*", false},
		{">", "*.>", false},
		{"*.>", ">", true},
		{"*", ">", true},
		{"*", "foo", false},
		{"foo.*", "foo.bar", false},
		{"*.*.>", "*.>", true},
		{"*.>", "*.*.>", false},
		{"foo.*.baz", "foo.>", true},
		{"foo", "foo.>", false},
		{"foo.bar.>", "foo.*.>", true},
		{"foo..bar", "foo.>", false},
		{"foo.>.bar", "foo.>", false},
		{"", ">", false},
	}
	for _, tt := range tests {
		if got := Subset(tt.sub, tt.super); got != tt.want {
			t.Errorf("Subset(%q, %q) = %v", tt.sub, tt.super, got)
		}
	}
}

func TestOverlap(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"foo", "foo", true},
		{"foo", "bar", false},
		{"foo", "foo.bar", false},
		{"foo.*", "*.bar", true},
		{"foo.*", "foo.bar.baz", false},
		{"foo.>", "*.bar.baz", true},
		{"foo.>", "foo", false},
		{"foo.>", "bar.>", false},
		{">", "foo", true},
		{">", ">", true},
		{"*.*", "*.>", true},
		{"*", "*.>", false},
		{"a.*.c", "a.b.*", true},
		{"a.*.c", "a.b.d", false},
		{"foo.>", "foo..bar", false},
		{"foo..bar", "foo..bar", false},
	}
	for _, tt := range tests {
		if got := Overlap(tt.a, tt.b); got != tt.want {
			t.Errorf("Overlap(%q, %q) = %v", tt.a, tt.b, got)
		}
		if got := Overlap(tt.b, tt.a); got != tt.want {
			t.Errorf("Overlap(%q, %q) = %v", tt.b, tt.a, got)
		}
	}
}

// naiveMatch is what matching means, on tokens.
func naiveMatch(pattern, literal string) bool {
	p, l := strings.Split(pattern, "."), strings.Split(literal, ".")
	if slices.Contains(l, "") {
		return false
	}
	for i, tok := range p {
		if tok == ">" {
			return i == len(p)-1 && len(l) > i
		}
		if i >= len(l) || tok != "*" && tok != l[i] {
			return false
		}
	}
	return len(p) == len(l)
}

// enumerate returns all texts of 1 to n tokens from the alphabet; ">" only comes last.
func enumerate(n int, alphabet ...string) []string {
	var all []string
	last := []string{""}
	for range n {
		var next []string
		for _, prefix := range last {
			for _, tok := range alphabet {
				s := prefix + tok
				all = append(all, s)
				if tok != ">" {
					next = append(next, s+".")
				}
			}
		}
		last = next
	}
	return all
}

// With a token that no pattern names, and literals longer than any pattern, enumeration decides exactly.
func TestRelationsByEnumeration(t *testing.T) {
	patterns := enumerate(3, "a", "b", "*", ">")
	literals := enumerate(4, "a", "b", "c")
	matched := make([][]bool, len(patterns))
	for i, p := range patterns {
		matched[i] = make([]bool, len(literals))
		for j, l := range literals {
			matched[i][j] = Match(p, l)
			if matched[i][j] != naiveMatch(p, l) {
				t.Fatalf("Match(%q, %q) = %v", p, l, matched[i][j])
			}
		}
	}
	for i, p := range patterns {
		for j, q := range patterns {
			subset, overlap := true, false
			for k := range literals {
				subset = subset && (!matched[i][k] || matched[j][k])
				overlap = overlap || matched[i][k] && matched[j][k]
			}
			if got := Subset(p, q); got != subset {
				t.Fatalf("Subset(%q, %q) = %v", p, q, got)
			}
			if got := Overlap(p, q); got != overlap {
				t.Fatalf("Overlap(%q, %q) = %v", p, q, got)
			}
		}
	}
}

func drawSubject(t *rapid.T, label string, alphabet ...string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, 7).Draw(t, label), ".")
}

func TestMatchAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSubject(t, "pattern", "a", "b", "*", ">", "", "a*", "ab")
		l := drawSubject(t, "literal", "a", "b", "*", ">", "", "a*", "ab")
		if got := Match(p, []byte(l)); got != naiveMatch(p, l) {
			t.Fatalf("Match(%q, %q) = %v", p, l, got)
		}
	})
}

func TestMatchDoesNotAllocate(t *testing.T) {
	pattern, literal := []byte("foo.*.bar.>"), []byte("foo.x.bar.y.z")
	super := "foo.>"
	n := testing.AllocsPerRun(100, func() {
		if !Match(pattern, literal) || !Match(super, literal) || !Subset(literal, super) || !Overlap(pattern, super) || !ValidLiteral(literal) {
			t.Fatal("no match")
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzMatch(f *testing.F) {
	for _, p := range seeds {
		for _, l := range seeds {
			f.Add(p, l)
		}
	}
	f.Fuzz(func(t *testing.T, p, l string) {
		got := Match(p, l)
		if got != naiveMatch(p, l) || got != Match([]byte(p), []byte(l)) || got != Match(p, []byte(l)) {
			t.Fatalf("Match(%q, %q) = %v", p, l, got)
		}
		if ValidLiteral(l) && WellFormed(p) && got != Subset(l, p) {
			t.Fatalf("Match(%q, %q) = %v, but Subset is not", p, l, got)
		}
	})
}

func FuzzRelations(f *testing.F) {
	for _, a := range seeds {
		for _, b := range seeds {
			f.Add(a, b, "a.b")
		}
	}
	f.Fuzz(func(t *testing.T, a, b, l string) {
		if Overlap(a, b) != Overlap(b, a) {
			t.Fatalf("Overlap(%q, %q) is not symmetric", a, b)
		}
		if Subset(a, b) && (!WellFormed(a) || !WellFormed(b) || !Overlap(a, b)) {
			t.Fatalf("Subset(%q, %q), but they do not overlap", a, b)
		}
		if !WellFormed(a) || !WellFormed(b) {
			if Overlap(a, b) {
				t.Fatalf("Overlap(%q, %q) of a malformed pattern", a, b)
			}
			return
		}
		if !Subset(a, a) || !Subset(a, ">") || !Overlap(a, a) {
			t.Fatalf("%q does not contain itself, or is not in everything", a)
		}
		if Match(a, l) && !HasWildcard(l) {
			if Subset(a, b) && !Match(b, l) {
				t.Fatalf("Subset(%q, %q), but %q is only in the former", a, b, l)
			}
			if Match(b, l) && !Overlap(a, b) {
				t.Fatalf("%q and %q share %q, but do not overlap", a, b, l)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	pattern, literal := "orders.*.created.>", []byte("orders.1234.created.eu.west")
	b.ReportAllocs()
	for b.Loop() {
		if !Match(pattern, literal) {
			b.Fatal("no match")
		}
	}
}
