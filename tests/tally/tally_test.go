package main

import (
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	const input = `
{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/sub"}
{"Action":"pass","Package":"p","Test":"A/sub","Elapsed":0}
{"Action":"pass","Package":"p","Test":"A","Elapsed":0}
{"Action":"output","Package":"p","Test":"B","Output":"    b_test.go:1: broken\n"}
{"Action":"fail","Package":"p","Test":"B/sub","Elapsed":0}
{"Action":"fail","Package":"p","Test":"B","Elapsed":0}
{"Action":"output","Package":"p","Test":"C","Output":"=== RUN   C\n"}
{"Action":"output","Package":"p","Test":"C","Output":"    c_test.go:1: no tool\n"}
{"Action":"skip","Package":"p","Test":"C","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":1.5}
{"Action":"build-output","ImportPath":"q [q.test]","Output":"q.go:1: syntax error\n"}
{"Action":"build-fail","ImportPath":"q [q.test]"}
{"Action":"fail","Package":"q","Elapsed":0,"FailedBuild":"q [q.test]"}
{"Action":"output","Package":"r","Test":"D","Output":"panic: boom\n"}
{"Action":"fail","Package":"r","Elapsed":0}
{"Action":"skip","Package":"empty","Elapsed":0}
go: some complaint
`
	var out strings.Builder
	tl := newTally(&out)
	if err := tl.read(strings.NewReader(strings.TrimPrefix(input, "\n"))); err != nil {
		t.Fatal(err)
	}
	if tl.passed != 1 || tl.failed != 3 || tl.skipped != 1 {
		t.Errorf("%d passed, %d failed, %d skipped", tl.passed, tl.failed, tl.skipped)
	}
	for _, want := range []string{"b_test.go:1: broken", "q.go:1: syntax error", "panic: boom", "go: some complaint", "skipped C: c_test.go:1: no tool", "FAIL p "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "empty") {
		t.Errorf("a package without tests has a line:\n%s", out.String())
	}
}
