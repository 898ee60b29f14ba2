package conf

import (
	"strings"
	"testing"
	"time"
)

// sample is what the blocks of these tests fill.
type sample struct {
	Name  string
	On    bool
	Count int
	Small int32
	Wait  time.Duration
	Inner struct{ Port int }
}

func sampleBlock() *Block[sample] {
	inner := NewBlock(Block[sample]{Name: "inner", Doc: "Inner.", Unknown: func(k string) string { return "no key " + k + " here" }},
		Field[sample]{Key: "port", Type: "integer", Doc: "Port.", Set: Number(func(s *sample) *int { return &s.Inner.Port })})
	return NewBlock(Block[sample]{Name: "Sample", Doc: "A sample."},
		Field[sample]{Key: "name", Aliases: []string{"title"}, Type: "string", Doc: "Name.", Set: Str(func(s *sample) *string { return &s.Name })},
		Field[sample]{Key: "on", Type: "boolean", Default: "false", Reload: Live, Doc: "Switch.", Set: Flag(func(s *sample) *bool { return &s.On })},
		Field[sample]{Key: "count", Type: "integer", Unit: "apples|pears", Bounds: "any", Reload: Partly, Doc: "How many.", Set: Number(func(s *sample) *int { return &s.Count })},
		Field[sample]{Key: "small", Type: "integer", Doc: "Few.", Set: Number(func(s *sample) *int32 { return &s.Small })},
		Field[sample]{Key: "wait", Type: "duration", Doc: "How long.", Set: Span("wait", func(s *sample) *time.Duration { return &s.Wait })},
		Field[sample]{Key: "inner", Type: "map", Block: "inner", Doc: "More.", Set: func(d *Decoder, _ string, v *Value, s *sample) { inner.Decode(d, v, s) }},
	)
}

func decode(t *testing.T, text string) (sample, string) {
	t.Helper()
	var s sample
	d := &Decoder{}
	sampleBlock().Decode(d, parse(t, text).Root, &s)
	var out []string
	for _, p := range d.Warnings() {
		out = append(out, "warning "+p.Error())
	}
	for _, p := range d.Errors() {
		out = append(out, p.Error())
	}
	if d.Failed() != (d.Count() > 0) {
		t.Error("Failed and Count differ")
	}
	return s, strings.Join(out, "\n")
}

func TestDecode(t *testing.T) {
	got, problems := decode(t, "TITLE: x\nOn: yes\ncount: 2k\nsmall: -5\nwait: 1m30s\ninner { port: 5 }")
	want := sample{Name: "x", On: true, Count: 2000, Small: -5, Wait: 90 * time.Second}
	want.Inner.Port = 5
	if got != want || problems != "" {
		t.Errorf("got %+v, %s", got, problems)
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"type", "name: 5", "x.conf:1:0: interface conversion: interface {} is int64, not string"},
		{"type of a map", "inner: 5", "x.conf:1:0: interface conversion: interface {} is int64, not map[string]interface {}"},
		{"all of them, in order", "on: 1\nname: 2\ncount: x", "x.conf:1:0: interface conversion: interface {} is int64, not bool\n" +
			"x.conf:2:1: interface conversion: interface {} is int64, not string\nx.conf:3:1: interface conversion: interface {} is string, not int64"},
		{"unknown, with the nearest", "nmae: x", `x.conf:1:0: unknown field "nmae" (did you mean "name"?)`},
		{"unknown, nearest is an alias", "titel: x", `x.conf:1:0: unknown field "titel" (did you mean "title"?)`},
		{"unknown, in any case", "COUNTS: x", `x.conf:1:0: unknown field "COUNTS" (did you mean "count"?)`},
		{"unknown, none near", "frobnicate: x", `x.conf:1:0: unknown field "frobnicate"`},
		{"unknown, in a block's own words", "inner { prt: 1 }", `x.conf:1:8: no key prt here (did you mean "port"?)`},
		{"unknown, but a variable", "v: 5\ncount: $v", ""},
		{"unknown and a variable that nothing names", "v: 5\nw: $v", `x.conf:2:1: unknown field "w"`},
		{"too big", "small: 2147483648", "x.conf:1:0: small value is too big"},
		{"duration", "wait: x", `x.conf:1:0: error parsing wait: time: invalid duration "x"`},
		{"duration as a number", "wait: 5", `warning x.conf:1:0: invalid use of field "wait": wait should be converted to a duration`},
		{"duration that is too long", "wait: 99999999999", "warning x.conf:1:0: invalid use of field \"wait\": wait should be converted to a duration\nx.conf:1:0: wait value is too big"},
		{"duration as a flag", "wait: on", "warning x.conf:1:0: invalid use of field \"wait\": wait should be converted to a duration\nx.conf:1:0: interface conversion: interface {} is bool, not int64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := decode(t, tt.in); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if got, _ := decode(t, "wait: 5"); got.Wait != 5*time.Second {
		t.Errorf("a plain number is %v, not seconds", got.Wait)
	}
	d := &Decoder{}
	d.Errorf(nil, "somewhere")
	if got := d.Errors()[0].Error(); got != "somewhere" {
		t.Errorf("an error without a place is %q", got)
	}
	lenient := NewBlock(Block[sample]{Lenient: true})
	if !lenient.Decode(d, parse(t, "any: 1").Root, &sample{}) || d.Count() != 1 {
		t.Error("a lenient block does not pass over unknown keys")
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"prot", "port", 1}, {"port", "port", 0}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abc", "xyz", 3}} {
		if got := distance(tt.a, tt.b, 10); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestBadDeclarationsPanic(t *testing.T) {
	set := Str(func(s *sample) *string { return &s.Name })
	for name, fields := range map[string][]Field[sample]{
		"twice":      {{Key: "a", Set: set}, {Key: "b", Aliases: []string{"a"}, Set: set}},
		"upper case": {{Key: "A", Set: set}},
		"no setter":  {{Key: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			NewBlock(Block[sample]{Name: "bad"}, fields...)
		})
	}
}

func TestReferencePage(t *testing.T) {
	got := Reference("Title", "Intro.", []Section{sampleBlock().Section()})
	for _, want := range []string{
		"# Title\n\nIntro.\n\n## Sample\n\nA sample.\n",
		"| `name` (`title`) | string |  | no | Name. |\n",
		"| `on` | boolean | `false` | yes | Switch. |\n",
		`| ` + "`count`" + ` | integer, apples\|pears |  | partly | How many. Bounds: any. |`,
		"| `inner` | map → [inner](#inner) |  | no | More. |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if got := anchor("Account JetStream (limits)"); got != "account-jetstream-limits" {
		t.Error(got)
	}
}
