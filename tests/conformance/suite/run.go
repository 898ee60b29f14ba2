package suite

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options says what to run and how patiently.
type Options struct {
	Dir      string        // copy of the client module, made by Fetch
	URL      string        // of the tester
	Reset    func()        // drops what a test process left behind in the tester
	Run      string        // only tests that match, as in go test -run; empty for all
	Listed   *List         // tests that are known to pass: retried first; may be nil
	OnlyList bool          // run the tests of Listed and no others
	Limit    time.Duration // a test that runs longer is killed and counts as failed

	Retry      int       // further chances for a failed test
	RetryLimit int       // failed tests are not retried when they are more than this
	Progress   io.Writer // what runs and what fails, as it happens
}

// Run is one run of the client's tests. All may be called once; Stop at any time.
type Run struct {
	opts    Options
	results map[string]*Result // by Key; the goroutine in All alone

	mu      sync.Mutex
	stopped bool
	test    *goTest // the test process under way
}

// New prepares a run.
func New(opts Options) *Run { return &Run{opts: opts, results: map[string]*Result{}} }

// Stop ends the test process under way and lets All return with what is known so far.
func (r *Run) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.test != nil {
		r.test.kill()
	}
}

func (r *Run) isStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// All runs every package, then gives failed tests their further chances.
func (r *Run) All(packages []string) *Report {
	seconds := map[string]float64{}
	for _, pkg := range packages {
		expr := r.opts.Run
		if r.opts.OnlyList {
			tests := r.opts.Listed.InPackage(name(pkg), r.opts.Run)
			if len(tests) == 0 {
				continue
			}
			expr = exactly(tests)
		}
		if r.isStopped() {
			break
		}
		began := time.Now()
		fmt.Fprintf(r.opts.Progress, "== %s\n", pkg)
		r.runPackage(pkg, expr)
		seconds[name(pkg)] = time.Since(began).Seconds()
	}
	for range r.opts.Retry {
		failed := r.toRetry()
		if r.isStopped() || len(failed) == 0 {
			break
		}
		for _, pkg := range slices.Sorted(maps.Keys(failed)) {
			fmt.Fprintf(r.opts.Progress, "== %s: %d failed, trying again\n", pkg, len(failed[pkg]))
			r.runPackage("./"+pkg, exactly(failed[pkg]))
		}
	}
	return newReport(r.results, seconds)
}

// toRetry picks the failed tests, by package. A great many failures have a common cause, which
// trying again does not cure; so the listed tests and the others are each dropped when there are
// too many of them.
func (r *Run) toRetry() map[string][]string {
	var listed, others []*Result
	for _, t := range r.results {
		switch {
		case t.Status != Fail || t.Name == buildFailure:
		case r.opts.Listed.Has(t.Key()):
			listed = append(listed, t)
		default:
			others = append(others, t)
		}
	}
	out := map[string][]string{}
	for _, group := range [][]*Result{listed, others} {
		if len(group) > r.opts.RetryLimit {
			continue
		}
		for _, t := range group {
			out[t.Package] = append(out[t.Package], t.Name)
		}
	}
	return out
}

// name is the short form of a package in results: test, jetstream/test, and a plain dot for the
// module root.
func name(pkg string) string { return filepath.Clean(pkg) }

// exactly is the -run or -skip expression for these top-level tests.
func exactly(tests []string) string {
	quoted := make([]string, len(tests))
	for i, t := range slices.Sorted(slices.Values(tests)) {
		quoted[i] = regexp.QuoteMeta(t)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// buildFailure stands for a test's name when a package got no test to run.
const buildFailure = "[package]"

// runPackage runs the tests of one package. When a test hangs or takes the test binary down, the
// others continue in a new process.
func (r *Run) runPackage(pkg, expr string) {
	var done []string
	for {
		t := &goTest{dir: r.opts.Dir, pkg: pkg, run: expr, skip: done, url: r.opts.URL, limit: r.opts.Limit, progress: r.opts.Progress}
		if !r.begin(t) {
			return
		}
		out := t.wait()
		stopped := r.end()
		for _, res := range out.tests {
			if stopped && res.Note != "" {
				continue // it did not end by itself
			}
			done = append(done, res.Name)
			r.record(res)
		}
		if stopped {
			return
		}
		r.opts.Reset()
		if out.complete {
			return
		}
		if len(out.tests) == 0 {
			r.record(&Result{Package: name(pkg), Name: buildFailure, Status: Fail, Attempts: 1, Note: "no test ran", Output: out.text})
			return
		}
	}
}

// begin starts a test process, unless the run is stopped.
func (r *Run) begin(t *goTest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	t.start()
	r.test = t
	return true
}

func (r *Run) end() (stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.test = nil
	return r.stopped
}

// record keeps the latest outcome of a test and how many runs it took.
func (r *Run) record(t *Result) {
	if old := r.results[t.Key()]; old != nil {
		t.Attempts = old.Attempts + 1
		t.Earlier = append(old.Earlier, old.Note+"\n"+old.Output)
		if t.Status == Pass {
			t.Note = fmt.Sprintf("passed on attempt %d", t.Attempts)
		}
	}
	r.results[t.Key()] = t
}
