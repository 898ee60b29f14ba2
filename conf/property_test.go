package conf

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// write renders plain Go values in the language.
func write(v any) string {
	switch v := v.(type) {
	case string:
		return "'" + v + "'"
	case []any:
		var b strings.Builder
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(write(e))
		}
		return b.String() + " ]"
	case map[string]any:
		var b strings.Builder
		b.WriteString("{")
		for k, e := range v {
			fmt.Fprintf(&b, "\n'%s': %s", k, write(e))
			if _, text := e.(string); text {
				b.WriteString(" # a comment")
			}
		}
		return b.String() + "\n}"
	case time.Time:
		return v.Format("2006-01-02T15:04:05Z")
	case float64:
		return fmt.Sprintf("%f", v)
	}
	return fmt.Sprint(v)
}

func values(depth int) *rapid.Generator[any] {
	word := rapid.StringMatching(`[a-z #/{}\[\],;:=$"\\\n]{0,12}`)
	leaves := []*rapid.Generator[any]{
		word.AsAny(),
		rapid.Int64().AsAny(),
		rapid.Bool().AsAny(),
		rapid.Map(rapid.Int64Range(-1e9, 1e9), func(n int64) float64 { return float64(n) / 64 }).AsAny(),
		rapid.Map(rapid.Int64Range(0, 4e9), func(n int64) time.Time { return time.Unix(n, 0).UTC() }).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := values(depth - 1)
	return rapid.OneOf(append(leaves,
		rapid.SliceOfN(inner, 0, 4).AsAny(),
		rapid.MapOfN(rapid.StringMatching(`[a-z .}{]{1,6}`), inner, 0, 4).AsAny())...)
}

// TestWrittenValuesComeBack: parsing what was written gives the values again.
func TestWrittenValuesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := values(3).Draw(t, "value")
		text := "v: " + write(want) + "\n"
		doc, err := Loader{LookupEnv: noEnv}.Text("x.conf", text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if got := doc.Root.Map.Get("v").Any(); !reflect.DeepEqual(got, normal(want)) {
			t.Fatalf("got %#v, want %#v in\n%s", got, want, text)
		}
	})
}

// normal makes empty lists equal.
func normal(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = normal(e)
		}
		return out
	}
	return v
}

// FuzzParse: no text makes the parser fail in another way than with one of its errors, and the places of
// all values are within the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "{", "port: 4222", "a {b: [1, 2 ]}\n", "a = 'x'; b: \"\\x41\\n\"", "a: (\nx\n)\n", "a: $b", "include x", "a: 1kb, b: -1.5",
		"a: 2016-05-04T18:53:41Z", "# c\n// d\n/", "'", "a:}", "{a\n}}", "x: 1.2.3.4:5", "A={a:}\n}", "\x00a:\x00", "a: 'b'c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		loader := files(map[string]string{"x": "a: 1", "y": "include y"}, map[string]string{"b": "[$c]", "c": "5", "d": "$d"})
		doc, err := loader.Text("f.conf", text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		lines := 1 + strings.Count(text, "\n")
		var walk func(v *Value)
		walk = func(v *Value) {
			if v.Pos.File == "f.conf" && (v.Pos.Line < 1 || v.Pos.Line > lines || v.Pos.Col < 0 || v.Pos.Col > len(text)+1) {
				t.Fatalf("place %v is outside of %q", v.Pos, text)
			}
			for _, e := range v.List {
				walk(e)
			}
			if v.Map != nil {
				for _, m := range v.Map.Members {
					walk(m.Value)
				}
			}
		}
		walk(doc.Root)
		again, err := loader.Text("f.conf", text)
		if err != nil || again.Digest != doc.Digest {
			t.Fatalf("a second time: %v, %s and %s", err, doc.Digest, again.Digest)
		}
	})
}
