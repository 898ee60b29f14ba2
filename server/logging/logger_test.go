package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at is the time in test logs; its zone is two hours east of UTC.
var at = time.Date(2026, 11, 30, 22, 10, 34, 941869123, time.FixedZone("", 2*3600))

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// open returns a Logger that the test closes.
func open(t *testing.T, o Options) *Logger {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return at }
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func flush(t *testing.T, l *Logger) {
	t.Helper()
	if err := l.Flush(time.Minute); err != nil {
		t.Fatal(err)
	}
}

func TestLineForms(t *testing.T) {
	pid := fmt.Sprint(os.Getpid())
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"with time", Options{Time: true, Debug: true, Trace: true}, `
[PID] 2026/11/30 22:10:34.941869 [INF] notice 1
[PID] 2026/11/30 22:10:34.941869 [WRN] warn 2
[PID] 2026/11/30 22:10:34.941869 [ERR] error 3
[PID] 2026/11/30 22:10:34.941869 [FTL] fatal 4
[PID] 2026/11/30 22:10:34.941869 [DBG] debug 5
[PID] 2026/11/30 22:10:34.941869 [TRC] trace 6
`},
		{"in UTC", Options{Time: true, UTC: true}, `
[PID] 2026/11/30 20:10:34.941869 [INF] notice 1
[PID] 2026/11/30 20:10:34.941869 [WRN] warn 2
[PID] 2026/11/30 20:10:34.941869 [ERR] error 3
[PID] 2026/11/30 20:10:34.941869 [FTL] fatal 4
`},
		{"without time", Options{Debug: true}, `
[PID] [INF] notice 1
[PID] [WRN] warn 2
[PID] [ERR] error 3
[PID] [FTL] fatal 4
[PID] [DBG] debug 5
`},
		{"JSON", Options{Time: true, JSON: true, Trace: true}, `
{"time":"2026-11-30T22:10:34.941869+02:00","level":"INFO","pid":PID,"msg":"notice 1"}
{"time":"2026-11-30T22:10:34.941869+02:00","level":"WARN","pid":PID,"msg":"warn 2"}
{"time":"2026-11-30T22:10:34.941869+02:00","level":"ERROR","pid":PID,"msg":"error 3"}
{"time":"2026-11-30T22:10:34.941869+02:00","level":"FATAL","pid":PID,"msg":"fatal 4"}
{"time":"2026-11-30T22:10:34.941869+02:00","level":"TRACE","pid":PID,"msg":"trace 6"}
`},
		{"JSON in UTC, debug", Options{Time: true, UTC: true, JSON: true, Debug: true}, `
{"time":"2026-11-30T20:10:34.941869Z","level":"INFO","pid":PID,"msg":"notice 1"}
{"time":"2026-11-30T20:10:34.941869Z","level":"WARN","pid":PID,"msg":"warn 2"}
{"time":"2026-11-30T20:10:34.941869Z","level":"ERROR","pid":PID,"msg":"error 3"}
{"time":"2026-11-30T20:10:34.941869Z","level":"FATAL","pid":PID,"msg":"fatal 4"}
{"time":"2026-11-30T20:10:34.941869Z","level":"DEBUG","pid":PID,"msg":"debug 5"}
`},
		{"JSON without time", Options{JSON: true}, `
{"level":"INFO","pid":PID,"msg":"notice 1"}
{"level":"WARN","pid":PID,"msg":"warn 2"}
{"level":"ERROR","pid":PID,"msg":"error 3"}
{"level":"FATAL","pid":PID,"msg":"fatal 4"}
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out safeBuffer
			tt.o.Stderr = &out
			l := open(t, tt.o)
			l.Noticef("notice %d", 1)
			l.Warnf("warn %d", 2)
			l.Errorf("error %d", 3)
			l.Fatalf("fatal %d", 4)
			if !strings.Contains(out.String(), "fatal 4") {
				t.Error("Fatalf returned before its line was written")
			}
			l.Debugf("debug %d", 5)
			l.Tracef("trace %d", 6)
			flush(t, l)
			if want := strings.ReplaceAll(tt.want[1:], "PID", pid); out.String() != want {
				t.Errorf("got\n%swant\n%s", out.String(), want)
			}
		})
	}
}

func TestSwitchesAtRunTime(t *testing.T) {
	var out safeBuffer
	l := open(t, Options{Stderr: &out})
	if l.DebugEnabled() || l.TraceEnabled() {
		t.Error("on from the start")
	}
	l.Debugf("no")
	l.Tracef("no")
	l.SetDebug(true)
	l.Debugf("d1")
	l.SetDebug(false)
	l.SetTrace(true)
	l.Debugf("no")
	l.Tracef("t1")
	l.RateLimitDebugf("no")
	flush(t, l)
	if got := regexp.MustCompile(`\[\d+\] `).ReplaceAllString(out.String(), ""); got != "[DBG] d1\n[TRC] t1\n" {
		t.Errorf("%q", got)
	}
	if l.DebugEnabled() || !l.TraceEnabled() {
		t.Error("switches not shown")
	}
}

func TestTextCannotPassForALine(t *testing.T) {
	f := &form{pid: "1", tags: &plainTags}
	for text, want := range map[string]string{
		"a\n\n":                       "[1] [INF] a\n",
		"":                            "[1] [INF] \n",
		"a\n[1] [ERR] b":              "[1] [INF] a\n\t[1] [ERR] b\n",
		"tab\tand\x1b[31m\r\x00\x7f":  "[1] [INF] tab\tand\\x1b[31m\\x0d\\x00\\x7f\n",
		"ä€ and \xff stay what they…": "[1] [INF] ä€ and \xff stay what they…\n",
	} {
		if got := string(f.append(nil, Info, at, text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "text", "a\nb", "\x00\x1b", "\xff\xfe", `"quoted" <tag>`, "\n\n"} {
		f.Add(s)
	}
	text, js := &form{pid: "1", time: true, tags: &plainTags}, &form{pid: "1", time: true, json: true}
	f.Fuzz(func(t *testing.T, s string) {
		got := text.append(nil, Warn, at, s)
		for i, line := range bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n")) {
			if first := bytes.HasPrefix(line, []byte("[1] 2026/11/30 ")); first != (i == 0) || i > 0 && line[0] != '\t' {
				t.Errorf("line %d of %q: %q", i, s, line)
			}
		}
		got = js.append(nil, Warn, at, s)
		var v struct {
			Time  time.Time
			Level string
			PID   int
			Msg   string
		}
		if err := json.Unmarshal(got, &v); err != nil || bytes.Count(got, []byte("\n")) != 1 || v.Level != "WARN" || v.PID != 1 {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	})
}

func TestColoursOnlyOnATerminal(t *testing.T) {
	if f := newForm(Options{Stderr: &safeBuffer{}}); f.tags != &plainTags {
		t.Error("colours for a buffer")
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if f := newForm(Options{Stderr: null}); f.tags != &plainTags {
		t.Error("colours for " + os.DevNull)
	}
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	defer pty.Close()
	f := newForm(Options{Stderr: pty})
	f.pid = "1"
	var got []byte
	for level := Info; level <= Trace; level++ {
		got = f.append(got, level, at, "x")
	}
	want := "[1] [\x1b[32mINF\x1b[0m] x\n[1] [\x1b[0;93mWRN\x1b[0m] x\n[1] [\x1b[31mERR\x1b[0m] x\n" +
		"[1] [\x1b[31mFTL\x1b[0m] x\n[1] [\x1b[36mDBG\x1b[0m] x\n[1] [\x1b[33mTRC\x1b[0m] x\n"
	if string(got) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if f := newForm(Options{Stderr: pty, File: "x"}); f.tags != &plainTags {
		t.Error("colours for a file")
	}
}

// slowWriter takes lines only when it is let.
type slowWriter struct {
	let     chan struct{}
	entered chan struct{}
	safeBuffer
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.entered <- struct{}{}
	<-w.let
	return w.safeBuffer.Write(b)
}

func TestSlowTargetLosesLinesAndSaysSo(t *testing.T) {
	w := &slowWriter{let: make(chan struct{}), entered: make(chan struct{}, 100)}
	l := open(t, Options{Stderr: w, QueueBytes: 4000, Debug: true})
	l.Noticef("first")
	<-w.entered
	line := strings.Repeat("x", 99-len(fmt.Sprintf("[%d] [INF] ", os.Getpid())))
	for range 50 { // 5000 bytes into 3000, the share of details
		l.Debugf("%s", line)
	}
	if s := l.Stats(); s.Lost != 20 {
		t.Errorf("lost %d details", s.Lost)
	}
	for range 20 { // 2000 bytes into the remaining 1000
		l.Noticef("%s", line)
	}
	if s := l.Stats(); s.Lost != 30 {
		t.Errorf("lost %d", s.Lost)
	}
	close(w.let)
	flush(t, l)
	out := w.String()
	if strings.Count(out, "[DBG]") != 30 || strings.Count(out, "[INF]") != 11 {
		t.Errorf("%d details, %d notices written", strings.Count(out, "[DBG]"), strings.Count(out, "[INF]"))
	}
	if n := strings.Count(out, "[WRN] 30 log lines lost, the log target is too slow\n"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out)
	}
	l.Noticef("after")
	flush(t, l)
	if out := w.String(); !strings.HasSuffix(out, "[INF] after\n") || strings.Count(out, "lost") != 1 {
		t.Error("the log doesn't go on as usual")
	}
}

func TestStuckTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{let: make(chan struct{}), entered: make(chan struct{}, 100)}
		l, err := New(Options{Stderr: w})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		l.Fatalf("dying")
		if d := time.Since(start); d != flushTimeout {
			t.Errorf("Fatalf took %v", d)
		}
		if err := l.Flush(time.Minute); !errors.Is(err, ErrSlow) {
			t.Error(err)
		}
		if err := l.Reopen(); !errors.Is(err, ErrSlow) {
			t.Error(err)
		}
		start = time.Now()
		if err := l.Close(); !errors.Is(err, ErrSlow) || time.Since(start) != flushTimeout {
			t.Error(err, time.Since(start))
		}
		close(w.let)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		l.Noticef("too late")
		if err := l.Flush(time.Minute); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if !strings.Contains(w.String(), "dying") || strings.Contains(w.String(), "too late") {
			t.Errorf("%q", w.String())
		}
	})
}

// brokenWriter fails.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestFailuresAreCountedAndToldOnce(t *testing.T) {
	var stderr safeBuffer
	q := newQueue(writerSink{brokenWriter{io.ErrShortWrite}}, 1000, nil, &stderr)
	for range 3 {
		q.add(Info, []byte("x\n"))
		if err := q.do(time.Minute, func(s sink) (sink, error) { return s, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.close(time.Minute); err != nil {
		t.Error(err)
	}
	if s := q.stats(); s.WriteErrors != 3 {
		t.Errorf("%+v", s)
	}
	if stderr.String() != "Error writing to the log: short write\n" {
		t.Errorf("%q", stderr.String())
	}
}

func TestManyGoroutines(t *testing.T) {
	var out safeBuffer
	l := open(t, Options{Stderr: &out, Time: true, Trace: true})
	var wg sync.WaitGroup
	const each = 200
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				l.Tracef("g%d line %d of %s", g, i, strings.Repeat("y", i))
			}
		})
	}
	wg.Wait()
	flush(t, l)
	next := make([]int, 8)
	for line := range strings.Lines(out.String()) {
		var g, i int
		_, text, _ := strings.Cut(line, "[TRC] ")
		if _, err := fmt.Sscanf(text, "g%d line %d of", &g, &i); err != nil || i != next[g] || !strings.HasSuffix(text, strings.Repeat("y", i)+"\n") {
			t.Fatalf("%q, %v", line, err)
		}
		next[g]++
	}
	for g, n := range next {
		if n != each {
			t.Errorf("goroutine %d: %d lines", g, n)
		}
	}
}

func TestDiscard(t *testing.T) {
	l := Discard()
	l.SetDebug(true)
	l.Noticef("x")
	l.Debugf("x")
	l.RateLimitWarnf("x")
	l.Fatalf("x")
	if err := errors.Join(l.Flush(0), l.Reopen(), l.Reconfigure(Options{File: "/nonexistent/x"}), l.Close()); err != nil {
		t.Error(err)
	}
	if l.Stats() != (Stats{}) {
		t.Error(l.Stats())
	}
}

func TestLevelWriter(t *testing.T) {
	var out safeBuffer
	l := open(t, Options{Stderr: &out})
	if n, err := fmt.Fprintf(l.Writer(Error), "from net/http: %s\n", "100%"); n != 20 || err != nil {
		t.Error(n, err)
	}
	flush(t, l)
	if want := fmt.Sprintf("[%d] [ERR] from net/http: 100%%\n", os.Getpid()); out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestRateLimit(t *testing.T) {
	var out safeBuffer
	now := at
	l := open(t, Options{Stderr: &out, RepeatEvery: time.Minute, Debug: true, Now: func() time.Time { return now }})
	for range 3 {
		l.RateLimitWarnf("client %d is slow", 1)
		l.RateLimitWarnf("client %d is slow", 2)
		l.RateLimitFormatWarnf("%d is one of many", now.Minute())
		now = now.Add(time.Second)
	}
	now = at.Add(time.Minute - 1)
	l.RateLimitWarnf("client %d is slow", 1)
	now = at.Add(time.Minute)
	l.RateLimitWarnf("client %d is slow", 1)
	l.RateLimitErrorf("100%%")
	l.RateLimitDebugf("detail")
	l.RateLimitDebugf("detail")
	now = now.Add(time.Hour)
	l.RateLimitWarnf("client %d is slow", 1)
	flush(t, l)
	want := strings.ReplaceAll(`[P] [WRN] client 1 is slow
[P] [WRN] client 2 is slow
[P] [WRN] 10 is one of many
[P] [WRN] client 1 is slow (3 more like this left out)
[P] [ERR] 100%
[P] [DBG] detail
[P] [WRN] client 1 is slow
`, "P]", fmt.Sprint(os.Getpid())+"]")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestRateLimitForgetsTheOldest(t *testing.T) {
	r := newRepeats(time.Hour)
	for i := range 3 * repeatsMax {
		if _, ok := r.allow(fmt.Sprint(i), at); !ok {
			t.Fatal("new text not allowed: ", i)
		}
		if len(r.mu.seen) > repeatsMax || len(r.mu.seen) != len(r.mu.order) {
			t.Fatal(len(r.mu.seen), len(r.mu.order))
		}
	}
	if _, ok := r.allow(fmt.Sprint(3*repeatsMax-1), at); ok {
		t.Error("the newest is forgotten")
	}
	if _, ok := r.allow("0", at); !ok {
		t.Error("the oldest isn't forgotten")
	}
}
