package suite

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sampleMod = "module sample\n\ngo 1.26\n"

// A module whose tests pass, fail, skip, panic, exit and hang.
func sampleModule(t *testing.T) string {
	return writeModule(t, map[string]string{
		"a/a_test.go": `package a

import (
	"os"
	"testing"
	"time"
)

func TestPass(t *testing.T)  { t.Run("sub", func(t *testing.T) {}) }
func TestFail(t *testing.T)  { t.Fatal("wrong") }
func TestPanic(t *testing.T) { panic("boom") }
func TestSkip(t *testing.T)  { t.Skip() }
func TestHang(t *testing.T)  { time.Sleep(time.Minute) }
func TestExit(t *testing.T)  { os.Exit(7) }
func TestURL(t *testing.T) {
	if os.Getenv("TESTER_NATS_URL") != "nats://sample" {
		t.Fatal("no tester")
	}
}
func TestLast(t *testing.T) {}
`,
		"b/b_test.go": "package b\n\nfunc broken() { return 1 }\n",
	})
}

func writeModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"], files["go_test.mod"] = sampleMod, sampleMod
	for path, text := range files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// statuses is a run's outcome, one test a line.
func statuses(rep *Report) string {
	var b strings.Builder
	for _, t := range rep.Tests {
		b.WriteString(t.Key() + " " + t.Status + "\n")
	}
	return b.String()
}

func TestSuiteSurvivesPanicsAndHangs(t *testing.T) {
	resets := 0
	r := New(Options{
		Dir: sampleModule(t), URL: "nats://sample", Reset: func() { resets++ },
		Limit: 2 * time.Second, Progress: io.Discard,
	})
	rep := r.All([]string{"./a", "./b"})

	want := strings.Join([]string{
		"a/TestExit fail", "a/TestFail fail", "a/TestHang fail", "a/TestLast pass", "a/TestPanic fail",
		"a/TestPass pass", "a/TestSkip skip", "a/TestURL pass", "b/[package] fail", "",
	}, "\n")
	if got := statuses(rep); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if rep.Passed != 3 || rep.Failed != 5 || rep.Skipped != 1 {
		t.Errorf("%d passed, %d failed, %d skipped", rep.Passed, rep.Failed, rep.Skipped)
	}
	if resets < 4 {
		t.Errorf("%d resets", resets)
	}
	if note := r.results["a/TestHang"].Note; !strings.Contains(note, "hung") {
		t.Errorf("note of the hung test: %q", note)
	}
	if out := r.results["a/TestPanic"].Output; !strings.Contains(out, "boom") {
		t.Errorf("output of the panicking test: %q", out)
	}
}

func TestOnlyListedTestsRun(t *testing.T) {
	listed := listOf("a/TestPass", "a/TestFail", "a/TestGone", "c/TestOther")
	r := New(Options{
		Dir: sampleModule(t), Reset: func() {}, Listed: listed, OnlyList: true,
		Limit: time.Minute, Progress: io.Discard,
	})
	rep := r.All([]string{"./a", "./b"})
	if got, want := statuses(rep), "a/TestFail fail\na/TestPass pass\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	v, err := Judge(rep, listed, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(v.Broken, ", "), "a/TestFail, a/TestGone (did not run)"; got != want {
		t.Errorf("broken: %s, want %s", got, want)
	}
}

func TestRetryKeepsTheBetterOutcome(t *testing.T) {
	dir := writeModule(t, map[string]string{"root_test.go": `package sample

import (
	"os"
	"testing"
)

func TestSecondTime(t *testing.T) {
	if _, err := os.Stat("seen"); err != nil {
		os.WriteFile("seen", nil, 0o644)
		t.Fatal("first time")
	}
}
`})
	r := New(Options{Dir: dir, Reset: func() {}, Limit: time.Minute, Retry: 1, RetryLimit: 10, Progress: io.Discard})
	rep := r.All([]string{"."})
	got := r.results["./TestSecondTime"]
	if got == nil || got.Status != Pass || got.Attempts != 2 {
		t.Fatalf("got %+v", got)
	}
	listed := listOf()
	v, err := Judge(rep, listed, "")
	if err != nil || len(v.New) != 1 || v.Extend(listed, nil) != 0 {
		t.Errorf("a test that needed two attempts was put on the list: %v", listed.Keys())
	}
}

// Listed tests get their retries however many others fail.
func TestRetryLimitsCountApart(t *testing.T) {
	r := New(Options{Listed: listOf("p/A"), RetryLimit: 1})
	for _, name := range []string{"A", "B", "C"} {
		r.record(&Result{Package: "p", Name: name, Status: Fail, Attempts: 1})
	}
	if got := r.toRetry()["p"]; len(got) != 1 || got[0] != "A" {
		t.Errorf("retries %v, want A alone", got)
	}
}

func TestStopEndsTheRun(t *testing.T) {
	dir := writeModule(t, map[string]string{"hang_test.go": `package sample

import (
	"os"
	"testing"
	"time"
)

func TestHang(t *testing.T) {
	os.WriteFile("begun", nil, 0o644)
	time.Sleep(time.Hour)
}
`})
	r := New(Options{Dir: dir, Reset: func() {}, Limit: time.Hour, Progress: io.Discard})
	done := make(chan *Report)
	go func() { done <- r.All([]string{"."}) }()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the test never began")
		}
	}
	r.Stop()
	select {
	case rep := <-done:
		if len(rep.Tests) != 0 {
			t.Errorf("a test cut short has an outcome: %s", statuses(rep))
		}
	case <-time.After(30 * time.Second):
		t.Fatal("still running")
	}
}
