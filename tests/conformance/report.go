package main

import (
	"fmt"
	"io"
	"strings"

	"godwit/tests/conformance/suite"
)

// conclude prints the report and the verdict, updates the stored list when asked to, and returns
// the exit status. The last line printed is "N passed, N failed, N skipped".
func conclude(w io.Writer, rep *suite.Report, f *suiteFlags, listed *suite.List) (status int, err error) {
	printTests(w, rep)
	defer printCounts(w, rep)
	if f.list == "" {
		if rep.Failed > 0 {
			status = 1
		}
		return status, nil
	}
	v, err := suite.Judge(rep, listed, f.run)
	if err != nil {
		return 2, err
	}
	printVerdict(w, v, listed)
	if f.update {
		var unsteady *suite.List
		if f.unsteady != "" {
			if unsteady, err = suite.ReadList(f.unsteady); err != nil {
				return 2, err
			}
		}
		added := v.Extend(listed, unsteady)
		if added > 0 {
			if err := listed.Write(f.list); err != nil {
				return 2, err
			}
		}
		fmt.Fprintf(w, "\n%d tests added to the stored list, which now holds %d\n", added, listed.Len())
	}
	if !v.OK() {
		status = 1
	}
	return status, nil
}

func printTests(w io.Writer, rep *suite.Report) {
	fmt.Fprintf(w, "\n%s %s, %s, %.0f s\n\n", rep.Server, rep.Version, rep.Suite, rep.Seconds)
	fmt.Fprintf(w, "%-24s %6s %6s %6s %9s\n", "package", "pass", "fail", "skip", "seconds")
	for _, c := range rep.Packages {
		fmt.Fprintf(w, "%-24s %6d %6d %6d %9.1f\n", c.Package, c.Passed, c.Failed, c.Skipped, c.Seconds)
	}
	var failing, repeated []string
	for _, t := range rep.Tests {
		line := t.Key()
		if t.Note != "" {
			line += "  (" + t.Note + ")"
		}
		switch {
		case t.Status == suite.Fail:
			failing = append(failing, line)
		case t.Status == suite.Pass && t.Attempts > 1:
			repeated = append(repeated, line)
		}
	}
	printSection(w, "failing tests", failing)
	printSection(w, "passed only when repeated", repeated)
	var alarms []string
	for _, a := range rep.Alarms {
		alarms = append(alarms, fmt.Sprintf("%s  %s  %s", a.Server, a.Test, a.What))
	}
	printSection(w, "servers that ended unasked, or logged a panic or a data race", alarms)
}

func printVerdict(w io.Writer, v *suite.Verdict, listed *suite.List) {
	printSection(w, fmt.Sprintf("of the %d tests of the stored list, these did not pass", listed.Len()), v.Broken)
	printSection(w, "tests of the stored list during which a server panicked or raced", v.Faulty)
	printSection(w, "passing tests that the stored list does not hold yet (--update adds those that passed at the first attempt)", v.New)
}

func printSection(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
}

func printCounts(w io.Writer, rep *suite.Report) {
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", rep.Passed, rep.Failed, rep.Skipped)
}
