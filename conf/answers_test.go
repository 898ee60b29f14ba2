package conf

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// answer is what nats-server v2.15.2 said to `-t` about a file x.conf.
type answer struct {
	Conf string `json:"conf"`
	Exit int    `json:"exit"`
	Out  string `json:"out"`
}

// meant are texts about which this parser says something else on purpose: numbers that do not fit into 64
// bits and units that do not exist.
var meant = map[string]string{
	"A=9223372036854775807k\nport:$A\nport:4222\n": "integer '9223372036854775807k' is out of the range",
	"A=16e\nport:$A\nport:4222\n":                  "integer '16e' is out of the range",
	"A=8eb\nport:$A\nport:4222\n":                  "integer '8eb' is out of the range",
	"A=1kbi\nport:$A\nport:4222\n":                 "Parse error on line 1: 'Unknown unit 'kbi' of a number'",
	"A=1kbb\nport:$A\nport:4222\n":                 "Parse error on line 1: 'Unknown unit 'kbb' of a number'",
	"A=1kii\nport:$A\nport:4222\n":                 "Parse error on line 1: 'Unknown unit 'kii' of a number'",
	"A=1kibi\nport:$A\nport:4222\n":                "Parse error on line 1: 'Unknown unit 'kibi' of a number'",
}

// TestAnswersOfNatsServer parses what nats-server was asked about: good texts give the same values, by their
// digest, bad ones the same words. What nats-server says about settings it does not know is no matter here.
func TestAnswersOfNatsServer(t *testing.T) {
	f, err := os.Open("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	checked := 0
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		doc, err := Loader{LookupEnv: noEnv}.Text("x.conf", a.Conf)
		want, ofLanguage := "", true
		switch _, digest, ok := strings.Cut(a.Out, " is valid ("); {
		case ok:
			want = strings.TrimRight(digest, ")\n")
		case strings.HasPrefix(a.Out, "x.conf:"), a.Out[0] != 'P' && strings.Contains(a.Out, "x.conf:") && !strings.HasPrefix(a.Out, "config is"):
			ofLanguage = false
		default:
			want = strings.TrimRight(a.Out, "\n")
		}
		if m, ok := meant[a.Conf]; ok {
			want = m
		}
		var got string
		switch {
		case err != nil:
			got = err.Error()
		case ofLanguage:
			got = doc.Digest
		}
		if !ofLanguage {
			want = ""
		}
		if got != want {
			t.Errorf("%q\n  ours   %q\n  theirs %q", a.Conf, got, want)
		}
		checked++
	}
	if checked < 700 {
		t.Errorf("only %d answers", checked)
	}
}

func noEnv(string) (string, bool) { return "", false }

// parse is Text for tests, without an environment.
func parse(t testing.TB, text string) *Document {
	t.Helper()
	doc, err := Loader{LookupEnv: noEnv}.Text("x.conf", text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return doc
}

// dump writes a tree with its places.
func dump(v *Value) string {
	at := fmt.Sprintf("@%d:%d", v.Pos.Line, v.Pos.Col)
	switch v.Kind {
	case List:
		var out []string
		for _, e := range v.List {
			out = append(out, dump(e))
		}
		return "[" + strings.Join(out, " ") + "]" + at
	case MapKind:
		var out []string
		for _, m := range v.Map.Members {
			out = append(out, m.Key+"="+dump(m.Value))
		}
		return "{" + strings.Join(out, " ") + "}" + at
	}
	return fmt.Sprintf("%s:%v%s", v.GoType(), v, at)
}

func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"first line counts from 0", `a: 1`, "{a=int64:1@1:0}@1:0"},
		{"other lines count from 1", "\na: 1\n  b: x", "{a=int64:1@2:1 b=string:x@3:3}@1:0"},
		{"quotes are not counted", "'a': 1\n\"b\" 2", "{a=int64:1@1:1 b=int64:2@2:2}@1:0"},
		{"elements of lists", "a: [x, 'y', 3 \n  true]", "{a=[string:x@1:4 string:y@1:8 int64:3@1:12 bool:true@2:3]@1:0}@1:0"},
		{"a map in a list is at its end", "a: [ {b: 1} ]", "{a=[{b=int64:1@1:6}@1:11]@1:0}@1:0"},
		{"a variable's value is where it is used", "a: {x: 1}\nb: $a", "{a={x=int64:1@1:4}@1:0 b={x=int64:1@1:4}@2:1}@1:0"},
		{"the last of equal keys wins", "a: 1\nb: 2\na: 3", "{a=int64:3@3:1 b=int64:2@2:1}@1:0"},
		{"keys differ in case", "a: 1\nA: 2", "{a=int64:1@1:0 A=int64:2@2:1}@1:0"},
		{"all kinds", "a: 1.5, b: 2016-05-04T18:53:41Z, c: off, d: (\nx\n)\n", "{a=float64:1.5@1:0 b=time.Time:2016-05-04 18:53:41 +0000 UTC@1:8 c=bool:false@1:33 d=string:\nx\n@1:41}@1:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := dump(parse(t, tt.in).Root); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValuesAsGo(t *testing.T) {
	root := parse(t, "a: [1 , {b: 2.5}, x, yes]").Root
	if got := fmt.Sprint(root.Any()); got != "map[a:[1 map[b:2.5] x true]]" {
		t.Error(got)
	}
	if got := root.Map.Get("a").String(); got != "[1 map[b:2.5] x true]" {
		t.Error(got)
	}
	if root.Map.Get("A") != nil {
		t.Error("keys are matched exactly")
	}
	var types []string
	for _, e := range root.Map.Get("a").List {
		types = append(types, e.GoType())
	}
	if want := []string{"int64", "map[string]interface {}", "string", "bool"}; !slices.Equal(types, want) {
		t.Error(types)
	}
}
