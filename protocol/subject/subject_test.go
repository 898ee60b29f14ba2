package subject

import (
	"slices"
	"strings"
	"testing"
)

func TestValidity(t *testing.T) {
	tests := []struct {
		in                                      string
		wellFormed, valid, literal, name, wilds bool
	}{
		{"foo", true, true, true, true, false},
		{"foo.bar.baz", true, true, true, true, false},
		{"*", true, true, false, false, true},
		{">", true, true, false, false, true},
		{"foo.*", true, true, false, false, true},
		{"*.foo", true, true, false, false, true},
		{"foo.>", true, true, false, false, true},
		{"foo.>.bar", false, false, false, false, true},
		{">.foo", false, false, false, false, true},
		{">.", false, false, false, false, true},
		{"foo.*.>", true, true, false, false, true},
		{"", false, false, false, false, false},
		{".", false, false, false, false, false},
		{".foo", false, false, false, false, false},
		{"foo.", false, false, false, false, false},
		{"foo..bar", false, false, false, false, false},
		{"foo.**", true, true, true, true, false},
		{"foo.>>", true, true, true, true, false},
		{"f*o.b>r", true, true, true, true, false},
		{"*foo.bar>", true, true, true, true, false},
		{"$SYS.REQ", true, true, true, true, false},
		{"foo bar", true, false, true, false, false},
		{"foo. ", true, false, true, false, false},
		{"foo\tbar", true, false, true, false, false},
		{"foo\fbar", true, false, true, false, false},
		{"foo\nbar", true, false, true, false, false},
		{"foo\rbar", true, false, true, false, false},
		{"foo\x00bar", true, true, true, true, false},
		{"foo.\xff\xfe", true, true, true, true, false},
		{"häuser.ü", true, true, true, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			check := func(what string, got, want bool) {
				if got != want {
					t.Errorf("%s(%q) = %v", what, tt.in, got)
				}
			}
			check("WellFormed", WellFormed(tt.in), tt.wellFormed)
			check("Valid", Valid(tt.in), tt.valid)
			check("ValidLiteral", ValidLiteral(tt.in), tt.literal)
			check("ValidName", ValidName(tt.in), tt.name)
			check("HasWildcard", HasWildcard(tt.in), tt.wilds)
			check("WellFormed of bytes", WellFormed([]byte(tt.in)), tt.wellFormed)
			check("ValidLiteral of bytes", ValidLiteral([]byte(tt.in)), tt.literal)
			check("HasWildcard of bytes", HasWildcard([]byte(tt.in)), tt.wilds)
		})
	}
}

func TestTokens(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a.b.c", []string{"a", "b", "c"}},
		{".", []string{"", ""}},
		{"a.", []string{"a", ""}},
		{".a", []string{"", "a"}},
		{"a..b", []string{"a", "", "b"}},
	}
	for _, tt := range tests {
		if got := slices.Collect(Tokens(tt.in)); !slices.Equal(got, tt.want) {
			t.Errorf("Tokens(%q) = %q", tt.in, got)
		}
		if got := NumTokens(tt.in); got != len(tt.want) {
			t.Errorf("NumTokens(%q) = %d", tt.in, got)
		}
		for range Tokens(tt.in) { // stopping early must not go on
			break
		}
	}
}

func TestPartition(t *testing.T) {
	tests := []struct {
		key  string
		n    uint32
		want uint32
	}{
		{"a", 5, 0},
		{"b", 5, 2},
		{"hello", 5, 3},
		{"foobar", 10, 0},
		{"", 10, 1}, // the hash of nothing is its offset, 2166136261
		{"a", 0, 0},
		{"a", 1, 0},
		{"a", 1<<31 - 1, 1678518573},
	}
	for _, tt := range tests {
		if got := Partition(tt.key, tt.n); got != tt.want {
			t.Errorf("Partition(%q, %d) = %d, want %d", tt.key, tt.n, got, tt.want)
		}
		if got := Partition([]byte(tt.key), tt.n); got != tt.want {
			t.Errorf("Partition of bytes (%q, %d) = %d, want %d", tt.key, tt.n, got, tt.want)
		}
	}
}

// seeds are subjects and patterns for all fuzz targets.
var seeds = []string{"", ".", "a", "a.b", "*", ">", "a.*", "a.>", "*.*.>", "a..b", ".a", "a.", "a.>.b", "**", "a*.>b", "$SYS.>", "a b", "ü.\xff"}

func FuzzValid(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens := strings.Split(s, ".")
		empty := slices.Contains(tokens, "")
		rest := slices.Index(tokens, ">")
		wild := rest >= 0 || slices.Contains(tokens, "*")
		spaced := strings.ContainsAny(s, " \t\n\f\r")
		formed := !empty && (rest < 0 || rest == len(tokens)-1)
		for _, c := range []struct {
			what      string
			got, want bool
		}{
			{"WellFormed", WellFormed(s), formed},
			{"Valid", Valid(s), formed && !spaced},
			{"ValidLiteral", ValidLiteral(s), !empty && !wild},
			{"ValidName", ValidName(s), !empty && !wild && !spaced},
			{"HasWildcard", HasWildcard(s), wild},
			{"HasEmptyToken", HasEmptyToken(s), empty},
			{"WellFormed of bytes", WellFormed([]byte(s)), formed},
		} {
			if c.got != c.want {
				t.Errorf("%s(%q) = %v", c.what, s, c.got)
			}
		}
		got := slices.Collect(Tokens(s))
		if s == "" {
			tokens = nil
		}
		if !slices.Equal(got, tokens) || NumTokens(s) != len(tokens) {
			t.Errorf("Tokens(%q) = %q, NumTokens %d", s, got, NumTokens(s))
		}
	})
}
