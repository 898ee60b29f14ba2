package subject

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTransform(t *testing.T) {
	tests := []struct{ source, dest, subject, want string }{
		// wildcards
		{"foo", "bar", "foo", "bar"},
		{"foo.*", "bar", "foo.x", "bar"},
		{"foo.*", "a.$1", "foo.x", "a.x"},
		{"foo.*", "a.{{wildcard(1)}}", "foo.x", "a.x"},
		{"foo.*", "{{wildcard(1)}}", "foo.x", "x"},
		{"*.*", "$2.$1", "x.y", "y.x"},
		{"foo.*.*", "b.{{wildcard(2)}}.{{wildcard(1)}}.{{wildcard(2)}}", "foo.x.y", "b.y.x.y"},
		{"foo.*", "a.$0", "foo.x", "a.foo"}, // an index below 1 is the first token
		{"foo.*", "a.{{wildcard(-1)}}", "foo.x", "a.foo"},
		{"foo.*", "a.$+1", "foo.x", "a.x"},
		{"foo.*", "a.{{wildcard(01)}}", "foo.x", "a.x"},
		// how functions are written
		{"foo.*", "a.{{ Wildcard ( 1 ) }}", "foo.x", "a.x"},
		{"foo.*", "a.{{wildcard(1 )}}", "foo.x", "a.x"},
		{"foo.*", "a.{{{wildcard(1)}}", "foo.x", "a.x"},
		{"foo.*", "a.{{wildcard(1)}}}", "foo.x", "a.x"},
		{"foo.*", "a.{{SplitFromLeft(1,3)}}", "foo.abcdefgh", "a.abc.defgh"},
		{"foo.*", "a.{{splitFromleft(1, 3)}}", "foo.abcdefgh", "a.abc.defgh"},
		{"foo.*", "a.{{splitfromLeft(1,3)}}", "foo.abcdefgh", "a.abc.defgh"},
		// what looks like one but is text
		{"foo.*", "a.{{wildcard(1)}}x", "foo.x", "a.{{wildcard(1)}}x"},
		{"foo.*", "a.x{{wildcard(1)}}", "foo.x", "a.x{{wildcard(1)}}"},
		{"foo.*", "a.{{}}", "foo.x", "a.{{}}"},
		{"foo.*", "a.{{split(1,.)}}", "foo.x", "a.{{split(1,.)}}"},
		{"foo.*", "a.$x", "foo.x", "a.$x"},
		{"foo.*", "a.$", "foo.x", "a.$"},
		{"foo.*", "a.$1x", "foo.x", "a.$1x"},
		{"foo.*", "a.$99999999999999999999", "foo.x", "a.$99999999999999999999"},
		{"foo.*", "a b", "foo.x", "a b"},
		// rest
		{">", "a.>", "foo.x", "a.foo.x"},
		{"", "a.>", "foo.x", "a.foo.x"},
		{">", ">", "foo.x", "foo.x"},
		{"foo.>", "a.>", "foo.x.y", "a.x.y"},
		{"foo.>", ">", "foo.x.y", "x.y"},
		{"foo.*.>", "a.$1.b.>", "foo.x.y.z", "a.x.b.y.z"},
		// partition
		{"foo.*", "a.{{partition(5,1)}}", "foo.a", "a.0"},
		{"foo.*", "a.{{partition(5,1)}}", "foo.b", "a.2"},
		{"foo.*", "a.{{partition(5, 1)}}", "foo.hello", "a.3"},
		{"foo.*.*", "a.{{partition(10,1,2)}}", "foo.foo.bar", "a.0"},
		{"foo.*", "a.{{partition(5)}}", "foo.x", "a.0"},
		{"foo", "a.{{partition(5)}}", "foo", "a.3"},
		{"foo", "a.{{partition(5,1)}}", "foo", "a.3"}, // nothing to point at: the whole subject
		{"foo.>", "a.{{partition(5)}}.>", "foo.b.c", "a.3.b.c"},
		{"*.b.*", "x.{{partition(3)}}", "a.b.c", "x.0"},
		{"foo.*", "a.{{partition(0,1)}}", "foo.a", "a.0"},
		{"foo.*", "a.{{partition(-3,1)}}", "foo.a", "a.3826002220"},
		{"foo.*", "a.{{partition(2147483647,1)}}", "foo.a", "a.1678518573"},
		{"foo.*", "a.{{partition(5,0)}}", "foo.a", "a.3"},
		// random
		{"foo.*", "a.{{random(1)}}", "foo.x", "a.0"},
		{"foo.*", "a.{{random(0)}}", "foo.x", "a.0"},
		{"foo.*", "a.{{random(-1)}}", "foo.x", "a.0"},
		{"foo", "a.{{random(1)}}", "foo", "a.0"},
		// split
		{"foo.*", "a.{{split(1,-)}}", "foo.-a--b-c-", "a.a.b.c"},
		{"foo.*", "a.{{split(1,-)}}", "foo.--a---b", "a.a.b"},
		{"foo.*", "a.{{split(1,-)}}", "foo.a--", "a.a"},
		{"foo.*", "a.{{split(1,-)}}", "foo.---", "a."}, // reaches nobody
		{"foo.*", "a.{{split(1,--)}}", "foo.x--z-y", "a.x.z-y"},
		{"foo.*", "a.{{split(1, -)}}", "foo.x-z", "a.x.z"},
		{"foo.*", "a.{{split(1,)}}", "foo.xyz", "a.x.y.z"},
		{"foo.*", "a.{{split(1, )}}", "foo.xyz", "a.x.y.z"},
		{"foo.*", "a.{{split(1,)}}", "foo.éa", "a.é.a"},
		{"foo.*", "a.{{split(1,()}}", "foo.x(y", "a.x.y"},
		{"foo.*", "a.{{split(1,))}}", "foo.x)y", "a.x.y"},
		{"foo.*", "a.{{split(0,o)}}", "foo.x", "a.f"},
		// cutting
		{"foo.*", "a.{{splitfromleft(1,3)}}", "foo.abcdefgh", "a.abc.defgh"},
		{"foo.*", "a.{{splitfromleft(1,8)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{splitfromleft(1,0)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{splitfromleft(1,-1)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{splitfromright(1,3)}}", "foo.abcdefgh", "a.abcde.fgh"},
		{"foo.*", "a.{{splitfromright(1,8)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{slicefromleft(1,3)}}", "foo.abcdefgh", "a.abc.def.gh"},
		{"foo.*", "a.{{slicefromleft(1,4)}}", "foo.abcdefgh", "a.abcd.efgh"},
		{"foo.*", "a.{{slicefromleft(1,8)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{slicefromright(1,3)}}", "foo.abcdefgh", "a.ab.cde.fgh"},
		{"foo.*", "a.{{slicefromright(1,4)}}", "foo.abcdefgh", "a.abcd.efgh"},
		{"foo.*", "a.{{slicefromright(1,0)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{slicefromright(1,-2)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{left(1,3)}}", "foo.abcdefgh", "a.abc"},
		{"foo.*", "a.{{left(1,0)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{left(1,9)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{left(1,1)}}", "foo.éa", "a.\xc3"}, // bytes, not characters
		{"foo.*", "a.{{right(1,3)}}", "foo.abcdefgh", "a.fgh"},
		{"foo.*", "a.{{right(1,9)}}", "foo.abcdefgh", "a.abcdefgh"},
		{"foo.*", "a.{{right(0,2)}}", "foo.x", "a.oo"},
		{"foo.*", "bar.$1.{{partition(3,1)}}.{{left(1,1)}}", "foo.xyz", "bar.xyz.0.x"},
	}
	for _, tt := range tests {
		t.Run(tt.source+" to "+tt.dest, func(t *testing.T) {
			tr, err := NewTransform(tt.source, tt.dest)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := tr.Apply(tt.subject); got != tt.want || !ok {
				t.Errorf("Apply(%q) = %q, %v; want %q", tt.subject, got, ok, tt.want)
			}
			if got, ok := tr.Append([]byte("x"), tt.subject); string(got) != "x"+tt.want || !ok {
				t.Errorf("Append(%q) = %q, %v", tt.subject, got, ok)
			}
		})
	}
}

func TestTransformLeavesOthersAlone(t *testing.T) {
	tr, err := NewTransform("foo.*", "a.$1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"bar.x", "foo", "foo.x.y", "foo.*", "foo.>", "foo..", "foo.", ""} {
		if got, ok := tr.Apply(s); got != s || ok {
			t.Errorf("Apply(%q) = %q, %v", s, got, ok)
		}
		if got, ok := tr.Append([]byte("x"), s); string(got) != "x" || ok {
			t.Errorf("Append(%q) = %q, %v", s, got, ok)
		}
	}
	if tr.Source() != "foo.*" || tr.Dest() != "a.$1" {
		t.Errorf("from %q to %q", tr.Source(), tr.Dest())
	}
}

func TestNoTransform(t *testing.T) {
	tr, err := NewTransform("foo.*", "")
	if tr != nil || err != nil {
		t.Fatalf("%v, %v", tr, err)
	}
	if got, ok := tr.Apply("foo.x"); got != "foo.x" || !ok {
		t.Errorf("Apply = %q, %v", got, ok)
	}
	if got, ok := tr.Append(nil, "foo.x"); string(got) != "foo.x" || !ok {
		t.Errorf("Append = %q, %v", got, ok)
	}
	if tr.Source() != ">" || tr.Dest() != ">" {
		t.Errorf("from %q to %q", tr.Source(), tr.Dest())
	}
}

func TestTransformErrors(t *testing.T) {
	const prefix = "invalid mapping destination: "
	tests := []struct {
		source, dest, text string
		cause              error
	}{
		{"foo.*", "*.a", "invalid subject", ErrInvalid},
		{"foo.*", "a.*.{{nope(2)}}", "invalid subject", ErrInvalid},
		{"foo.*", "a.>", "invalid subject", ErrInvalid},
		{"*", ">", "invalid subject", ErrInvalid},
		{"foo.>", "a.b", "invalid subject", ErrInvalid},
		{"foo..bar", "a", "invalid subject", ErrInvalid},
		{"foo.>.x", "a", "invalid subject", ErrInvalid},
		{"foo.*", "a..b", "invalid subject", ErrInvalid},
		{"foo.*", ".a", "invalid subject", ErrInvalid},
		{"foo.>", "a.>.b", "invalid subject", ErrInvalid},
		{"foo.*", "a.$2", prefix + "wildcard index out of range in $2: [2]", ErrWildcardIndex},
		{"foo.*", "a.{{wildcard(3)}}", prefix + "wildcard index out of range in {{wildcard(3)}}: [3]", ErrWildcardIndex},
		{"foo.*", "a.{{wildcard(99999999999)}}", prefix + "wildcard index out of range in {{wildcard(99999999999)}}: [99999999999]", ErrWildcardIndex},
		{"foo.*", "a.{{partition(5,1,2)}}", prefix + "wildcard index out of range in {{partition(5,1,2)}}: [2]", ErrWildcardIndex},
		{"foo.*", "a.{{split(2,-)}}", prefix + "wildcard index out of range in {{split(2,-)}}: [2]", ErrWildcardIndex},
		{"foo.*", "a.{{right(2,9)}}", prefix + "wildcard index out of range in {{right(2,9)}}: [2]", ErrWildcardIndex},
		{"foo.>", "a.{{partition(5,1)}}.>", prefix + "wildcard index out of range in {{partition(5,1)}}: [1]", ErrWildcardIndex},
		{"foo", "a.{{wildcard(1)}}", prefix + "wildcard index out of range in {{wildcard(1)}}", ErrWildcardIndex},
		{"foo", "a.$0", prefix + "wildcard index out of range in $0", ErrWildcardIndex},
		{"foo", "a.{{left(1,2)}}", prefix + "wildcard index out of range in {{left(1,2)}}", ErrWildcardIndex},
		{"foo.*", "a.{{wildcard()}}", prefix + "not enough arguments passed to the function in {{wildcard()}}", ErrTooFewArguments},
		{"foo.*", "a.{{wildcard(1,2)}}", prefix + "too many arguments passed to the function in {{wildcard(1,2)}}", ErrTooManyArguments},
		{"foo.*", "a.{{wildcard(x)}}", prefix + "function argument is invalid or in the wrong format in {{wildcard(x)}}", ErrArgument},
		{"foo.*", "a.{{wildcard((1))}}", prefix + "function argument is invalid or in the wrong format in {{wildcard((1))}}", ErrArgument},
		{"foo.*", "a.{{wildcard(99999999999999999999)}}", prefix + "function argument is invalid or in the wrong format in {{wildcard(99999999999999999999)}}", ErrArgument},
		{"foo.*", "a.{{partition()}}", prefix + "function argument is invalid or in the wrong format in {{partition()}}", ErrArgument},
		{"foo.*", "a.{{partition(5,)}}", prefix + "function argument is invalid or in the wrong format in {{partition(5,)}}", ErrArgument},
		{"foo.*", "a.{{partition(2147483648,1)}}", prefix + "function argument is invalid or in the wrong format in {{partition(2147483648,1)}}", ErrArgument},
		{"foo.*", "a.{{random()}}", prefix + "function argument is invalid or in the wrong format in {{random()}}", ErrArgument},
		{"foo.*", "a.{{random(1,2)}}", prefix + "not enough arguments passed to the function in {{random(1,2)}}", ErrTooFewArguments},
		{"foo.*", "a.{{split(1)}}", prefix + "not enough arguments passed to the function in {{split(1)}}", ErrTooFewArguments},
		{"foo.*", "a.{{split(1,,)}}", prefix + "too many arguments passed to the function in {{split(1,,)}}", ErrTooManyArguments},
		{"foo.*", "a.{{split(x,-)}}", prefix + "function argument is invalid or in the wrong format in {{split(x,-)}}", ErrArgument},
		{"foo.*", "a.{{split(1,a b)}}", prefix + "function argument is invalid or in the wrong format in {{split(1,a b)}}", ErrArgument},
		{"foo.*", "a.{{split(1,- )}}", prefix + "function argument is invalid or in the wrong format in {{split(1,- )}}", ErrArgument},
		{"foo.*", "a.{{splitfromleft()}}", prefix + "not enough arguments passed to the function in {{splitfromleft()}}", ErrTooFewArguments},
		{"foo.*", "a.{{splitfromleft(1,3,4)}}", prefix + "too many arguments passed to the function in {{splitfromleft(1,3,4)}}", ErrTooManyArguments},
		{"foo.*", "a.{{left(x)}}", prefix + "not enough arguments passed to the function in {{left(x)}}", ErrTooFewArguments},
		{"foo.*", "a.{{left(,)}}", prefix + "function argument is invalid or in the wrong format in {{left(,)}}", ErrArgument},
		{"foo.*", "a.{{left(1,99999999999)}}", prefix + "function argument is invalid or in the wrong format in {{left(1,99999999999)}}", ErrArgument},
		{"foo.*", "a.{{foo(1)}}", prefix + "unknown function in {{foo(1)}}", ErrUnknownFunction},
		{"foo.*", "a.{{x}}", prefix + "unknown function in {{x}}", ErrUnknownFunction},
		{"foo.*", "a.{{WILDCARD(1)}}", prefix + "unknown function in {{WILDCARD(1)}}", ErrUnknownFunction},
		{"foo.*", "a.{{SPLITFROMLEFT(1,3)}}", prefix + "unknown function in {{SPLITFROMLEFT(1,3)}}", ErrUnknownFunction},
		{"foo.*", "a.{{wildcard 1}}", prefix + "unknown function in {{wildcard 1}}", ErrUnknownFunction},
		{"foo.*", "a.{{wildcard(1)z}}", prefix + "unknown function in {{wildcard(1)z}}", ErrUnknownFunction},
		{"foo.*", "a.{{zwildcard(1)}}", prefix + "unknown function in {{zwildcard(1)}}", ErrUnknownFunction},
		{"foo.*", "a.{{wildcard(1}}", prefix + "unknown function in {{wildcard(1}}", ErrUnknownFunction},
		{"foo.*", "a.{{wildcard(2)}}.{{nope(2)}}", prefix + "wildcard index out of range in {{wildcard(2)}}: [2]", ErrWildcardIndex},
	}
	for _, tt := range tests {
		t.Run(tt.source+" to "+tt.dest, func(t *testing.T) {
			tr, err := NewTransform(tt.source, tt.dest)
			if tr != nil || err == nil || err.Error() != tt.text || !errors.Is(err, tt.cause) {
				t.Fatalf("got  %v\nwant %s", err, tt.text)
			}
		})
	}
}

func TestImportTransform(t *testing.T) {
	tests := []struct{ source, dest, text string }{
		{"a.*.*", "b.$2.$1", ""},
		{"a.*.*", "b.$1.{{wildcard(2)}}.$2", ""},
		{"a.>", "b.>", ""},
		{"a", "b", ""},
		{"a.*.*", "b.$1", "invalid mapping destination: not using all of the token wildcard(s) in b.$1"},
		{"a.*.*", "b.$1.$1", "invalid mapping destination: not using all of the token wildcard(s) in b.$1.$1"},
		{"a.*", "b.$0", "invalid mapping destination: not using all of the token wildcard(s) in b.$0"},
		{"a.*.*", "b.$1.{{partition(1,2)}}", "invalid mapping destination: the only mapping function allowed for import transforms is {{Wildcard()}} in {{partition(1,2)}}"},
		{"a.*.*", "b.$1.$3", "invalid mapping destination: wildcard index out of range in $3: [3]"},
		{"a.>", "b", "invalid subject"},
	}
	for _, tt := range tests {
		_, err := NewImportTransform(tt.source, tt.dest)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != tt.text {
			t.Errorf("%s to %s: %q, want %q", tt.source, tt.dest, text, tt.text)
		}
	}
}

func TestValidateMapping(t *testing.T) {
	const prefix = "invalid mapping destination: "
	tests := []struct{ source, dest, text string }{
		{"foo.*", "", ""},
		{"foo.*", "a.{{ wildcard(1) }}", ""},
		{"foo.*", "a.{{split(1, )}}", ""},
		{"foo.*", "a.{{}}", ""},
		{"foo.>", "a.>", ""},
		{"foo", "a..b", prefix + "invalid transform"},
		{"foo", "a b", prefix + "invalid transform"},
		{"foo.*", "a.>.b", prefix + "invalid transform in b"},
		{"foo.*", "a.*", "invalid subject"},
		{"foo.*", "a.>", "invalid subject"},
		{"foo.*", "a.{{x}}", prefix + "unknown function in {{x}}"},
		{"foo.*", "a.{{wildcard(2)}}", prefix + "wildcard index out of range in {{wildcard(2)}}: [2]"},
	}
	for _, tt := range tests {
		text := ""
		if err := ValidateMapping(tt.source, tt.dest); err != nil {
			text = err.Error()
		}
		if text != tt.text {
			t.Errorf("%s to %s: %q, want %q", tt.source, tt.dest, text, tt.text)
		}
	}
}

func TestRandomStaysInRange(t *testing.T) {
	tr, err := NewTransform("foo", "{{random(3)}}")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 1000 {
		s, _ := tr.Apply("foo")
		seen[s] = true
	}
	if len(seen) != 3 || !seen["0"] || !seen["1"] || !seen["2"] {
		t.Errorf("1000 times random(3) gave %v", seen)
	}
}

// Whatever the size, the pieces are those of a token, and only the one that takes the remainder is shorter.
func TestSlicesKeepTheToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tok := rapid.StringMatching(`[a-z]{1,20}`).Draw(t, "token")
		size := rapid.IntRange(-3, 25).Draw(t, "size")
		for _, f := range []string{"slicefromleft", "slicefromright"} {
			tr, err := NewTransform("*", "{{"+f+"(1,"+strconv.Itoa(size)+")}}")
			if err != nil {
				t.Fatal(err)
			}
			got, _ := tr.Apply(tok)
			pieces := strings.Split(got, ".")
			if strings.Join(pieces, "") != tok || slices.Contains(pieces, "") {
				t.Fatalf("%s(%q, %d) = %q", f, tok, size, got)
			}
			if size <= 0 || size >= len(tok) {
				if got != tok {
					t.Fatalf("%s(%q, %d) = %q", f, tok, size, got)
				}
				continue
			}
			short := 0
			if f == "slicefromleft" {
				short = len(pieces) - 1
			}
			for i, p := range pieces {
				if len(p) > size || len(p) < size && i != short {
					t.Fatalf("%s(%q, %d) = %q", f, tok, size, got)
				}
			}
		}
	})
}

func TestAppendDoesNotAllocate(t *testing.T) {
	tr, err := NewTransform("foo.*.*.>", "a.$2.{{partition(7,1,2)}}.{{split(1,-)}}.{{left(1,2)}}.>")
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		if _, ok := tr.Append(buf, "foo.x-y.bar.baz"); !ok {
			t.Fatal("no match")
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func FuzzTransform(f *testing.F) {
	for _, d := range []string{
		"", ">", "a.>", "$1", "a.$2.$1", "{{wildcard(1)}}", "{{partition(3)}}", "{{partition(3,1,2)}}.b", "{{random(4)}}",
		"{{split(1,-)}}", "{{split(1,)}}", "{{splitfromleft(1,2)}}", "{{SplitFromRight(1,2)}}.x", "{{slicefromleft(1,2)}}",
		"{{slicefromright(1, 2)}}", "{{left(1,2)}}", "{{right(1,2)}}", "{{left(1,-2147483649)}}", "{{}}", "{{)(}}", "{{{{(}}", "{{left(}}", "a..b", "*",
	} {
		f.Add("foo.*.*", d, "foo.a-b-c.defgh")
		f.Add("*.>", d, "x.y.z")
		f.Add("", d, "x.y")
	}
	f.Fuzz(func(t *testing.T, source, dest, subject string) {
		tr, err := NewTransform(source, dest)
		if err != nil {
			var mapping *MappingError
			if tr != nil || !errors.As(err, &mapping) && !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v, %v", tr, err)
			}
			if ValidateMapping(source, dest) == nil {
				t.Fatalf("%q to %q is valid as a mapping, but not as a transform", source, dest)
			}
			return
		}
		strict, err := NewImportTransform(source, dest)
		got, ok := tr.Apply(subject)
		if !ok && got != subject {
			t.Fatalf("Apply(%q) = %q without a match", subject, got)
		}
		if tr != nil && ok != (Match(tr.Source(), subject) && ValidLiteral(subject)) && tr.Dest() != ">" {
			t.Fatalf("%q to %q: Apply(%q) = %q, %v", source, dest, subject, got, ok)
		}
		if err == nil && ok { // an import's result is always a subject
			s, _ := strict.Apply(subject)
			if s != got || tr != nil && tr.Dest() != ">" && HasEmptyToken(s) {
				t.Fatalf("%q to %q: %q as an import, %q else", source, dest, s, got)
			}
		}
	})
}
