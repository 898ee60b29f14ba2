package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxLineBytes bounds one line of the input; keptBytes is how much of a failing test's output is
// kept, its end.
const (
	maxLineBytes = 16 << 20
	keptBytes    = 64 << 10
)

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// tally counts top-level tests. A package that fails without a failing test, because it does not
// build or its process dies, counts as one failed test.
type tally struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                map[string]*packageTally
	build                   map[string]string // output of the compiler by import path
}

type packageTally struct {
	passed, failed, skipped int
	output                  map[string]string // by top-level test; "" is the package's own
	skips                   []string
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, packages: map[string]*packageTally{}, build: map[string]string{}}
}

func (t *tally) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		var ev event
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil || ev.Action == "" {
			fmt.Fprintln(t.out, lines.Text()) // go itself complains in plain text
			continue
		}
		t.event(&ev)
	}
	return lines.Err()
}

func (t *tally) event(ev *event) {
	if ev.Action == "build-output" {
		path, _, _ := strings.Cut(ev.ImportPath, " ")
		t.build[path] += ev.Output
		return
	}
	if ev.Package == "" {
		return
	}
	p := t.packages[ev.Package]
	if p == nil {
		p = &packageTally{output: map[string]string{}}
		t.packages[ev.Package] = p
	}
	test, _, isSub := strings.Cut(ev.Test, "/")
	switch ev.Action {
	case "output":
		text := p.output[test] + ev.Output
		p.output[test] = text[max(0, len(text)-keptBytes):]
	case "pass", "fail", "skip":
		switch {
		case isSub:
		case test == "":
			t.endPackage(ev, p)
		default:
			t.endTest(ev.Action, test, p)
		}
	}
}

func (t *tally) endTest(action, test string, p *packageTally) {
	switch action {
	case "pass":
		p.passed++
	case "skip":
		p.skipped++
		p.skips = append(p.skips, test)
	default:
		p.failed++
		fmt.Fprint(t.out, p.output[test])
	}
	if action != "skip" {
		delete(p.output, test)
	}
}

func (t *tally) endPackage(ev *event, p *packageTally) {
	if ev.Action == "fail" && p.failed == 0 {
		p.failed = 1
		path, _, _ := strings.Cut(ev.Package, " ")
		fmt.Fprint(t.out, t.build[path])
		for _, test := range slices.Sorted(maps.Keys(p.output)) { // of tests that never ended, too
			fmt.Fprint(t.out, p.output[test])
		}
	}
	t.passed, t.failed, t.skipped = t.passed+p.passed, t.failed+p.failed, t.skipped+p.skipped
	status := "ok  "
	if ev.Action == "fail" {
		status = "FAIL"
	}
	if total := p.passed + p.failed + p.skipped; total > 0 {
		fmt.Fprintf(t.out, "%s %-40s %4d passed %3d failed %3d skipped %7.1f s\n", status, ev.Package, p.passed, p.failed, p.skipped, ev.Elapsed)
	}
	slices.Sort(p.skips)
	for _, test := range p.skips {
		fmt.Fprintf(t.out, "     skipped %s: %s\n", test, reason(p.output[test]))
	}
	delete(t.packages, ev.Package)
}

// reason finds what a skipped test said: its output without the lines of the test runner.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}
