package harness

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"time"
)

// maxLogLines bounds what is kept of a server's output; the oldest lines are dropped beyond it.
const maxLogLines = 20000

// serverLog collects a server's output by lines and wakes whoever waits for one. Its methods may
// be called from any goroutine.
type serverLog struct {
	mu      sync.Mutex
	partial []byte
	lines   []string
	dropped int
	changed chan struct{} // closed and replaced when lines arrive
}

func newServerLog() *serverLog { return &serverLog{changed: make(chan struct{})} }

// Write implements io.Writer for the server's standard output and error.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		eol := bytes.IndexByte(l.partial, '\n')
		if eol < 0 {
			break
		}
		l.lines = append(l.lines, string(l.partial[:eol]))
		l.partial = l.partial[eol+1:]
	}
	if extra := len(l.lines) - maxLogLines; extra > maxLogLines/4 {
		l.lines = append([]string(nil), l.lines[extra:]...)
		l.dropped += extra
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

func (l *serverLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n") + "\n" + string(l.partial)
}

// find returns the submatches of the first line that matches, or nil.
func (l *serverLog) find(re *regexp.Regexp) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.findLocked(re)
}

func (l *serverLog) findLocked(re *regexp.Regexp) []string {
	for _, line := range l.lines {
		if m := re.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	return nil
}

// count tells how many lines match.
func (l *serverLog) count(re *regexp.Regexp) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.countLocked(re)
	return n
}

func (l *serverLog) countLocked(re *regexp.Regexp) (n int, last string) {
	for _, line := range l.lines {
		if m := re.FindString(line); m != "" {
			n, last = n+1, m
		}
	}
	return n, last
}

// wait waits for a line that matches and returns its submatches; nil when the server ended or the
// limit is over without one.
func (l *serverLog) wait(re *regexp.Regexp, ended <-chan struct{}, limit time.Duration) (found []string) {
	l.until(ended, limit, func() bool {
		found = l.findLocked(re)
		return found != nil
	})
	return found
}

// waitCount waits until n lines match and returns the match of the last.
func (l *serverLog) waitCount(re *regexp.Regexp, n int, ended <-chan struct{}, limit time.Duration) (last string, ok bool) {
	l.until(ended, limit, func() bool {
		var have int
		have, last = l.countLocked(re)
		ok = have >= n
		return ok
	})
	return last, ok
}

// until calls done, with the lock held, after every change until it returns true.
func (l *serverLog) until(ended <-chan struct{}, limit time.Duration, done func() bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for over := false; ; {
		l.mu.Lock()
		ready, changed := done(), l.changed
		l.mu.Unlock()
		if ready || over {
			return
		}
		select {
		case <-changed:
		case <-ended:
			over = true // what it printed last is looked at once more
		case <-timer.C:
			over = true
		}
	}
}
