package main

import (
	"errors"
	"os"

	"godwit/tests/load/fleet"
	"godwit/tests/load/scenario"
	"godwit/tests/load/versus"
)

// runCommand measures the named scenarios at every size and prints the table. A failure of one
// does not keep the others from running.
func runCommand(args []string) error {
	var names []string
	for len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		names, args = append(names, args[0]), args[1:]
	}
	var o versus.Options
	var sizes string
	f := versus.Flags(&o, &sizes)
	f.Parse(args)
	list, err := scenario.Find(append(names, f.Args()...))
	if err != nil {
		return err
	}
	if err := o.Finish(sizes); err != nil {
		return err
	}
	o.Log = os.Stderr
	if err := errors.Join(fleet.CheckBinary(&o.A), fleet.CheckBinary(&o.B)); err != nil {
		return err
	}
	if o.ProfDir != "" {
		if err := os.MkdirAll(o.ProfDir, 0o755); err != nil {
			return err
		}
	}
	scratch, err := fleet.NewScratch(o.Dir, o.Keep)
	if err != nil {
		return err
	}
	defer scratch.Close()
	defer cleanOnSignal(scratch)()

	runner := versus.NewRunner(&o, scratch)
	report := versus.NewReport(&o)
	var failures []error
	for _, sc := range list {
		for _, size := range o.Sizes {
			c, err := runner.Case(sc, size)
			report.Cases = append(report.Cases, c)
			failures = append(failures, err)
		}
	}
	report.Table(os.Stdout, o.Markdown)
	if o.JSON != "" {
		failures = append(failures, report.Write(o.JSON))
	}
	return errors.Join(failures...)
}
