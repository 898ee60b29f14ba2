// Package suite runs the tests of the public Go client in a scratch copy of its module, one
// package at a time, and keeps the outcome of every top-level test, whatever the tests do to the
// process they run in.
package suite

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"godwit/tests/conformance/tester"
)

// Outcomes of a test.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Result is the outcome of one top-level test.
type Result struct {
	Package  string    `json:"package"` // relative to the module: test, jetstream/test, or a dot for the root
	Name     string    `json:"name"`
	Status   string    `json:"status"` // Pass, Fail or Skip
	Seconds  float64   `json:"seconds"`
	Attempts int       `json:"attempts"`
	Note     string    `json:"note,omitempty"`
	Subtests []Subtest `json:"subtests,omitempty"`
	Output   string    `json:"output,omitempty"`  // of a failed test
	Earlier  []string  `json:"earlier,omitempty"` // output of failed attempts before this one
}

// Subtest is the outcome of one test below a top-level one.
type Subtest struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// Key is the name under which a test is listed: package, slash, test.
func (r *Result) Key() string { return r.Package + "/" + r.Name }

// Report is all that one run found out.
type Report struct {
	Server   string         `json:"server"`
	Version  string         `json:"server_version"`
	Suite    string         `json:"suite"`
	Started  time.Time      `json:"started"`
	Seconds  float64        `json:"seconds"`
	Passed   int            `json:"passed"`
	Failed   int            `json:"failed"`
	Skipped  int            `json:"skipped"`
	Packages []PackageCount `json:"packages"`
	Alarms   []tester.Alarm `json:"server_alarms"`
	Tests    []*Result      `json:"tests"` // ordered by Key
}

// PackageCount sums up one package.
type PackageCount struct {
	Package string  `json:"package"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	Skipped int     `json:"skipped"`
	Seconds float64 `json:"seconds"`
}

// newReport counts the results; seconds holds the time spent per package.
func newReport(results map[string]*Result, seconds map[string]float64) *Report {
	rep := &Report{Tests: slices.SortedFunc(maps.Values(results), func(a, b *Result) int { return cmp.Compare(a.Key(), b.Key()) })}
	counts := map[string]*PackageCount{}
	for pkg, s := range seconds {
		counts[pkg] = &PackageCount{Package: pkg, Seconds: float64(int(s*10)) / 10}
	}
	for _, t := range rep.Tests {
		c := counts[t.Package]
		switch t.Status {
		case Pass:
			c.Passed++
			rep.Passed++
		case Skip:
			c.Skipped++
			rep.Skipped++
		default:
			c.Failed++
			rep.Failed++
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(counts)) {
		rep.Packages = append(rep.Packages, *counts[pkg])
	}
	return rep
}
