package monitor

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenShapes reads recorded answers of nats-server 2.15.2 strictly into our types and writes them again.
// That the bytes are the same shows keys, their order, when they are present, and the formats of their values.
// (Subtrees that our types hold as any are stored with sorted keys.)
func TestGoldenShapes(t *testing.T) {
	types := map[string]func() any{
		"varz": func() any { return new(Varz) }, "connz": func() any { return new(Connz) },
		"routez": func() any { return new(Routez) }, "gatewayz": func() any { return new(Gatewayz) },
		"leafz": func() any { return new(Leafz) }, "subsz": func() any { return new(Subsz) },
		"accountz": func() any { return new(Accountz) }, "accstatz": func() any { return new(AccountStatz) },
		"jsz": func() any { return new(JSInfo) }, "raftz": func() any { return new(Raftz) },
		"ipqueuesz": func() any { return new(map[string]IpqueueStatus) },
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := strings.Cut(name, "_")
			v := types[kind]()
			d := json.NewDecoder(bytes.NewReader(want))
			d.DisallowUnknownFields()
			if err := d.Decode(v); err != nil {
				t.Fatal(err)
			}
			indent := "  "
			if kind == "raftz" || kind == "ipqueuesz" {
				indent = "   "
			}
			got, err := json.MarshalIndent(v, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("written again it differs:\n%s", lineDiff(string(want), string(got)))
			}
		})
	}
}

// lineDiff shows the first lines that differ.
func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			lo := max(0, i-2)
			return "want\n" + strings.Join(w[lo:min(i+3, len(w))], "\n") + "\ngot\n" + strings.Join(g[lo:min(i+3, len(g))], "\n")
		}
	}
	return "one is longer"
}
