package subject

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	s, err := NewSet("foo", "foo.*.bar", "a.>", "a.>", "$SYS.>", "*.end")
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 5 {
		t.Errorf("Len = %d", s.Len())
	}
	tests := []struct {
		subject                 string
		match, covers, overlaps bool
	}{
		{"foo", true, true, true},
		{"foo.x.bar", true, true, true},
		{"foo.*.bar", true, true, true},
		{"foo.>", false, false, true},
		{"foo.>.bar", true, false, false},
		{"a", false, false, false},
		{"a.b.c", true, true, true},
		{"a.>", true, true, true},
		{"a.*", true, true, true},
		{"a.", false, false, false},
		{"a..b", false, false, false},
		{"*", false, false, true},
		{">", false, false, true},
		{"*.*", false, false, true},
		{"x.end", true, true, true},
		{"*.end", true, true, true},
		{"*.*.foo", false, false, true}, // with a.>
		{"b.*.foo", false, false, false},
		{"$SYS.ACCOUNT.x", true, true, true},
		{"", false, false, false},
	}
	for _, tt := range tests {
		if got := s.Match([]byte(tt.subject)); got != tt.match {
			t.Errorf("Match(%q) = %v", tt.subject, got)
		}
		if got := s.Covers(tt.subject); got != tt.covers {
			t.Errorf("Covers(%q) = %v", tt.subject, got)
		}
		if got := s.Overlaps(tt.subject); got != tt.overlaps {
			t.Errorf("Overlaps(%q) = %v", tt.subject, got)
		}
	}
}

func TestEmptySet(t *testing.T) {
	empty, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Set{nil, empty} {
		if s.Len() != 0 || s.Match([]byte("a")) || s.Covers("a") || s.Overlaps(">") {
			t.Error("an empty set holds something")
		}
	}
}

func TestNewSetRefusesMalformedPatterns(t *testing.T) {
	for _, p := range []string{"", "a..b", ".a", "a.", "a.>.b"} {
		if _, err := NewSet("ok", p); err == nil {
			t.Errorf("NewSet(%q) is no error", p)
		}
	}
}

func TestSetDoesNotAllocate(t *testing.T) {
	s, err := NewSet("foo.*.bar", "foo.x.*", "a.>", "a.b.c.d")
	if err != nil {
		t.Fatal(err)
	}
	hit, miss := []byte("foo.x.baz"), []byte("foo.y.baz")
	n := testing.AllocsPerRun(100, func() {
		if !s.Match(hit) || s.Match(miss) {
			t.Fatal("wrong")
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// checkSet compares the answers of a set with those of its patterns one by one.
func checkSet(t interface{ Fatalf(string, ...any) }, patterns []string, s *Set, subject string) {
	any := func(holds func(p string) bool) bool { return slices.ContainsFunc(patterns, holds) }
	if got := s.Match([]byte(subject)); got != any(func(p string) bool { return Match(p, subject) }) {
		t.Fatalf("%q: Match(%q) = %v", patterns, subject, got)
	}
	if got := s.Covers(subject); got != any(func(p string) bool { return Subset(subject, p) }) {
		t.Fatalf("%q: Covers(%q) = %v", patterns, subject, got)
	}
	if got := s.Overlaps(subject); got != any(func(p string) bool { return Overlap(subject, p) }) {
		t.Fatalf("%q: Overlaps(%q) = %v", patterns, subject, got)
	}
}

func TestSetAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var patterns []string
		for range rapid.IntRange(0, 12).Draw(t, "size") {
			if p := drawSubject(t, "pattern", "a", "b", "c", "*", ">"); WellFormed(p) {
				patterns = append(patterns, p)
			}
		}
		s, err := NewSet(patterns...)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			checkSet(t, patterns, s, drawSubject(t, "subject", "a", "b", "c", "d", "*", ">", ""))
		}
		unique := slices.Clone(patterns)
		slices.Sort(unique)
		if got := s.Len(); got != len(slices.Compact(unique)) {
			t.Fatalf("%q: Len = %d", patterns, got)
		}
	})
}

func FuzzSet(f *testing.F) {
	f.Add("a.b a.* b.>", "a.b")
	f.Add("> *", "a..b")
	f.Add("$SYS.> a.*.c", "$SYS.x")
	f.Fuzz(func(t *testing.T, list, subject string) {
		patterns := strings.Fields(list)
		s, err := NewSet(patterns...)
		if err != nil {
			if !slices.ContainsFunc(patterns, func(p string) bool { return !WellFormed(p) }) {
				t.Fatalf("%q: %v", patterns, err)
			}
			return
		}
		checkSet(t, patterns, s, subject)
	})
}

func BenchmarkSetMatch(b *testing.B) {
	s, err := NewSet("orders.*.created", "orders.*.deleted", "metrics.>", "$JS.API.>", "_INBOX.>")
	if err != nil {
		b.Fatal(err)
	}
	subject := []byte("orders.1234.deleted")
	b.ReportAllocs()
	for b.Loop() {
		if !s.Match(subject) {
			b.Fatal("no match")
		}
	}
}
