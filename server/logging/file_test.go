package logging

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), fmt.Sprintf("[%d] ", os.Getpid()), "")
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var n []string
	for _, e := range entries {
		n = append(n, e.Name())
	}
	return n
}

func TestFileIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	for i := range 2 {
		l, err := New(Options{File: path})
		if err != nil {
			t.Fatal(err)
		}
		l.Noticef("run %d", i)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "[INF] run 0\n[INF] run 1\n" {
		t.Errorf("%q", got)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o137 != 0 {
		t.Error(st.Mode(), err)
	}
	_, err := New(Options{File: filepath.Join(path, "y")})
	if want := "error opening file: open " + path + "/y: not a directory"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// ticking returns a clock that moves by a second at each reading.
func ticking() func() time.Time {
	now := at
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// TestFileRotates writes lines in batches and looks at the files afterwards.
func TestFileRotates(t *testing.T) {
	const limit, lineBytes, count = 1000, 150, 40
	dir := t.TempDir()
	path := filepath.Join(dir, "x.log")
	old := strings.Repeat("o", limit-lineBytes/2) + "\n" // counts: the first line goes over the limit
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openFile(path, limit, 0, newForm(Options{File: path}), ticking())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var b batch
	var want strings.Builder
	for i := range count {
		text := fmt.Sprintf("%-*d\n", lineBytes-1, i)
		want.WriteString(text)
		b.data = append(b.data, text...)
		b.lines = append(b.lines, line{len(b.data), Info})
		if i%7 == 6 || i == count-1 {
			if err := s.write(&b); err != nil {
				t.Fatal(err)
			}
			b.reset()
		}
	}
	files := names(t, dir)
	files = append(files[1:], files[0]) // the current one comes last
	if len(files) < 5 || files[0] != "x.log.2026.11.30.22.10.35.941869123" {
		t.Fatal(files)
	}
	var got strings.Builder
	for i, name := range files {
		text := read(t, filepath.Join(dir, name))
		if n := len(text); i < len(files)-1 && (n <= limit-20 || n > limit+lineBytes) { // read cuts the pid from a line
			t.Errorf("%s has %d bytes", name, n)
		}
		if i > 0 {
			head := fmt.Sprintf("[INF] Rotated log, backup saved as %q\n", filepath.Join(dir, files[i-1]))
			rest, ok := strings.CutPrefix(text, head)
			if !ok {
				t.Errorf("%s begins %.200q", name, text)
			}
			text = rest
		}
		got.WriteString(text)
	}
	if got.String() != old+want.String() {
		t.Error("the lines are not all there once and in order")
	}
}

func TestFileKeepsSoMany(t *testing.T) {
	tests := []struct {
		keep, want int
		purged     bool
	}{{0, 6, false}, {1, 1, true}, {2, 2, true}, {3, 3, true}, {9, 6, false}}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.keep), func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.log")
			others := []string{"x.log.2026", "x.log.old", "y.log.2020.01.01.00.00.00.000000000", "x.log.2020.01.01.00.00.00.000000000.gz"}
			for _, n := range others {
				if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l, err := New(Options{File: path, SizeLimit: 100, MaxFiles: tt.keep, Now: ticking()})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				l.Noticef("%d %s", i, strings.Repeat("x", 100))
				flush(t, l)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			got := names(t, dir)
			for _, n := range others {
				if !slices.Contains(got, n) {
					t.Errorf("%s was removed", n)
				}
			}
			if n := len(got) - len(others); n != tt.want {
				t.Errorf("%d files: %v", n, got)
			}
			// What rotation adds to the new file may itself take it past the limit; then the next line does.
			if purged := strings.Contains(read(t, path), "[INF] Purged log file \"x.log.2026."); purged != tt.purged {
				t.Errorf("%q", read(t, path))
			}
			if s := l.Stats(); s.WriteErrors != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestFileReopens(t *testing.T) {
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "x.log"), filepath.Join(dir, "moved.log")
	l := open(t, Options{File: path})
	l.Noticef("before")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	l.Noticef("still before")
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	l.Noticef("after")
	flush(t, l)
	if got := read(t, moved); got != "[INF] before\n[INF] still before\n" {
		t.Errorf("%q", got)
	}
	if got := read(t, path); got != "[INF] File log re-opened\n[INF] after\n" {
		t.Errorf("%q", got)
	}
}

func TestFileReopenFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.log")
	l := open(t, Options{File: path})
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	l.Noticef("goes on in the old file")
	flush(t, l)
	if got := read(t, filepath.Join(dir+"2", "x.log")); !strings.HasPrefix(got, "[ERR] Error re-opening log file: ") || !strings.HasSuffix(got, "[INF] goes on in the old file\n") {
		t.Errorf("%q", got)
	}
}

func TestReopenWithoutAFile(t *testing.T) {
	var out safeBuffer
	l := open(t, Options{Stderr: &out})
	if err := l.Reopen(); err != nil {
		t.Error(err)
	}
	flush(t, l)
	if !strings.HasSuffix(out.String(), "[INF] File log re-open ignored, not a file logger\n") {
		t.Errorf("%q", out.String())
	}
}

// TestFileRotationFails takes the directory away: the log goes on in the old file, and says so.
func TestFileRotationFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var stderr safeBuffer
	l := open(t, Options{File: filepath.Join(dir, "x.log"), SizeLimit: 400, Stderr: &stderr})
	if err := os.Rename(dir, dir+"2"); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		l.Noticef("%s", strings.Repeat("x", 200))
	}
	flush(t, l)
	got := read(t, filepath.Join(dir+"2", "x.log"))
	if n := strings.Count(got, "[ERR] Unable to rotate log file, will retry later: "); n < 1 || n > 5 || strings.Count(got, "[INF]") != 6 {
		t.Errorf("%q", got)
	}
	if l.Stats().WriteErrors == 0 || !strings.HasPrefix(stderr.String(), "Error writing to the log: ") {
		t.Errorf("%+v, %q", l.Stats(), stderr.String())
	}
}

func TestReconfigure(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	var stderr safeBuffer
	l := open(t, Options{File: a, Stderr: &stderr})
	l.Noticef("one")
	if err := l.Reconfigure(Options{File: filepath.Join(dir, "none", "c.log"), Debug: true}); err == nil || l.DebugEnabled() {
		t.Errorf("%v, debug %v", err, l.DebugEnabled())
	}
	l.Noticef("two")
	if err := l.Reconfigure(Options{File: a, JSON: true, Debug: true}); err != nil || !l.DebugEnabled() {
		t.Errorf("%v, debug %v", err, l.DebugEnabled())
	}
	l.Noticef("three")
	if err := l.Reconfigure(Options{File: b, Time: true, UTC: true, Trace: true}); err != nil || l.DebugEnabled() || !l.TraceEnabled() {
		t.Error(err)
	}
	l.Noticef("four")
	if err := l.Reconfigure(Options{}); err != nil {
		t.Error(err)
	}
	l.Noticef("five")
	flush(t, l)
	pid := os.Getpid()
	if got, want := read(t, a), fmt.Sprintf("[INF] one\n[INF] two\n{\"level\":\"INFO\",\"pid\":%d,\"msg\":\"three\"}\n", pid); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := read(t, b); got != "2026/11/30 20:10:34.941869 [INF] four\n" {
		t.Errorf("%q", got)
	}
	if got, want := stderr.String(), fmt.Sprintf("[%d] [INF] five\n", pid); got != want {
		t.Errorf("%q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Reconfigure(Options{File: b}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
