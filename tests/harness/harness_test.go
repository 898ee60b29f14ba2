package harness

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestLogWakesWhoWaits(t *testing.T) {
	l := newServerLog()
	never := make(chan struct{})
	found := make(chan []string)
	go func() { found <- l.wait(regexp.MustCompile(`on (\S+)$`), never, Patience) }()
	for _, piece := range []string{"first line\nlisten", "ing on here", "\nmore"} {
		l.Write([]byte(piece))
	}
	if got := <-found; len(got) != 2 || got[1] != "here" {
		t.Errorf("found %q", got)
	}
	if l.text() != "first line\nlistening on here\nmore" {
		t.Errorf("text %q", l.text())
	}
}

func TestLogGivesUpWhenTheServerEnds(t *testing.T) {
	l := newServerLog()
	ended := make(chan struct{})
	close(ended)
	if got := l.wait(regexp.MustCompile("x"), ended, time.Hour); got != nil {
		t.Errorf("found %q", got)
	}
	if _, ok := l.waitCount(regexp.MustCompile("x"), 1, make(chan struct{}), time.Millisecond); ok {
		t.Error("a line that never came was counted")
	}
}

func TestLogIsBounded(t *testing.T) {
	l := newServerLog()
	for range 3 {
		l.Write([]byte(strings.Repeat("a line\n", maxLogLines)))
	}
	l.Write([]byte("the last\n"))
	if n := len(l.lines); n > maxLogLines*5/4+1 {
		t.Errorf("%d lines kept", n)
	}
	if l.find(regexp.MustCompile("the last")) == nil {
		t.Error("the last line is gone")
	}
}
