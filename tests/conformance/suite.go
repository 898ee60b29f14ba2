package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"godwit/tests/conformance/suite"
	"godwit/tests/conformance/tester"
)

// suiteFlags are the flags of the suite command.
type suiteFlags struct {
	service *serviceFlags

	run, pkgs  string
	list       string
	listed     bool
	update     bool
	unsteady   string
	out        string
	log        string
	limit      time.Duration
	retry      int
	retryLimit int
	version    string
	work       string
}

func parseSuiteFlags(args []string) (*suiteFlags, error) {
	fs := flag.NewFlagSet("suite", flag.ExitOnError)
	f := &suiteFlags{service: addServiceFlags(fs)}
	fs.StringVar(&f.run, "run", "", "run only tests that match this expression, as in go test -run")
	fs.StringVar(&f.pkgs, "pkg", "./...", "packages of the client module to test, separated by blanks or commas")
	fs.StringVar(&f.list, "list", "", "stored list of tests that pass: the run fails when one of them does")
	fs.BoolVar(&f.listed, "listed", false, "run only the tests of the stored list")
	fs.BoolVar(&f.update, "update", false, "add to the stored list what passed at the first attempt; nothing is ever removed")
	fs.StringVar(&f.unsteady, "unsteady", "", "list of tests that --update does not add, because their outcome depends on the machine's timing")
	fs.StringVar(&f.out, "out", "", "write everything as JSON to this file: status, seconds, subtests, output of failures")
	fs.StringVar(&f.log, "log", "", "write the service's log to this file: every request, with its duration")
	fs.DurationVar(&f.limit, "test-timeout", 2*time.Minute, "a test that runs longer is killed and counts as failed")
	fs.IntVar(&f.retry, "retry", 3, "further chances for a failed test")
	fs.IntVar(&f.retryLimit, "retry-limit", 60, "no retries when more tests than this have failed; counted apart for listed tests and others")
	fs.StringVar(&f.version, "version", "v1.55.0", "version of the client module that brings the suite")
	fs.StringVar(&f.work, "work", "", "scratch directory (default: a temporary one, removed afterwards)")
	fs.Parse(args)
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case f.list == "" && (f.listed || f.update):
		return nil, fmt.Errorf("--listed and --update need --list")
	case f.listed && f.update:
		return nil, fmt.Errorf("--listed runs only what the list holds: --update would add nothing")
	}
	if err := suite.CheckRun(f.run); err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	return f, nil
}

// suiteCommand runs the suite and judges it. The status is 0 when all tests of the stored list
// are as they should be (without a list: all tests), 1 when not, 2 when the run itself broke.
func suiteCommand(args []string) (status int, err error) {
	f, err := parseSuiteFlags(args)
	if err != nil {
		return 2, err
	}
	listed, err := suite.ReadList(f.list)
	if f.list == "" {
		listed, err = nil, nil
	}
	if err != nil {
		return 2, err
	}
	if f.work == "" {
		dir, remove, err := scratch()
		if err != nil {
			return 2, err
		}
		defer remove()
		f.work = dir
	}
	if f.service.data == "" {
		f.service.data = filepath.Join(f.work, "data")
	}
	cfg, err := f.service.config()
	if err != nil {
		return 2, err
	}
	if f.log != "" {
		file, err := os.Create(f.log)
		if err != nil {
			return 2, err
		}
		defer file.Close()
		cfg.Log = file
	}
	rep, err := runSuite(f, cfg, listed)
	if rep == nil {
		return 2, err
	}
	if f.out != "" {
		if werr := writeJSON(f.out, rep); werr != nil {
			return 2, werr
		}
	}
	if err != nil {
		printCounts(os.Stdout, rep)
		return 2, err
	}
	return conclude(os.Stdout, rep, f, listed)
}

// runSuite gets the client module, starts the service and runs the tests. A report with an error
// is incomplete.
func runSuite(f *suiteFlags, cfg tester.Config, listed *suite.List) (*suite.Report, error) {
	began := time.Now()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	dir := filepath.Join(f.work, "suite")
	if err := suite.Fetch(f.version, dir); err != nil {
		return nil, err
	}
	packages, err := suite.Packages(dir, strings.FieldsFunc(f.pkgs, func(r rune) bool { return r == ' ' || r == ',' }))
	if err != nil {
		return nil, err
	}
	svc, err := tester.Start(cfg)
	if err != nil {
		return nil, err
	}
	defer svc.Close()
	version, err := svc.Probe()
	if err != nil {
		return nil, fmt.Errorf("the server under test does not run a plain configuration: %w", err)
	}

	run := suite.New(suite.Options{
		Dir: dir, URL: svc.URL(), Reset: svc.Reset, Run: f.run, Listed: listed, OnlyList: f.listed,
		Limit: f.limit, Retry: f.retry, RetryLimit: f.retryLimit, Progress: os.Stderr,
	})
	finished := make(chan *suite.Report, 1)
	go func() { finished <- run.All(packages) }()
	var rep *suite.Report
	select {
	case rep = <-finished:
	case sig := <-stop:
		err = fmt.Errorf("incomplete: %v", sig)
	case state := <-svc.Died():
		err = fmt.Errorf("incomplete: the server behind the service ended: %s", state)
	}
	if rep == nil {
		run.Stop()
		rep = <-finished
	}
	rep.Server, rep.Version, rep.Suite = filepath.Base(cfg.Server), version, suite.ClientModule+"@"+f.version
	rep.Started, rep.Seconds = began, time.Since(began).Round(time.Second).Seconds()
	rep.Alarms = svc.Alarms()
	return rep, err
}

func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
