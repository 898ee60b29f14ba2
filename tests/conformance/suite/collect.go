package suite

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"godwit/tests/harness/child"
)

// testEvent is a line of go test -json.
type testEvent struct {
	Action  string
	Test    string
	Output  string
	Elapsed float64
}

// running is a top-level test without an outcome yet.
type running struct {
	since  time.Time
	paused bool
	output tail
	subs   []Subtest
}

// tail keeps the end of a long output.
type tail struct{ text []byte }

func (t *tail) add(s string) {
	const keep = 32 << 10
	t.text = append(t.text, s...)
	if len(t.text) > 2*keep {
		t.text = append([]byte("...\n"), t.text[len(t.text)-keep:]...)
	}
}

// collector turns the event stream into results.
type collector struct {
	pkg      string
	progress io.Writer

	mu       sync.Mutex
	active   map[string]*running
	done     []*Result
	loose    tail
	complete bool
	hung     map[string]string // test -> note
}

func (c *collector) event(ev testEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	top, _, isSub := strings.Cut(ev.Test, "/")
	if top == "" {
		if ev.Action == "output" || ev.Action == "build-output" {
			// The test binary prints this word on a line of its own exactly
			// when it got through all its tests.
			if ev.Output == "PASS\n" || ev.Output == "FAIL\n" {
				c.complete = true
			}
			c.loose.add(ev.Output)
		}
		return
	}
	t := c.active[top]
	switch ev.Action {
	case "run":
		if !isSub {
			c.active[top] = &running{since: time.Now()}
		}
	case "pause":
		if t != nil && !isSub {
			t.paused = true
		}
	case "cont":
		if t != nil && !isSub {
			t.paused, t.since = false, time.Now()
		}
	case "output":
		if t != nil {
			t.output.add(ev.Output)
		}
	case Pass, Fail, Skip:
		if t == nil {
			return
		}
		if isSub {
			t.subs = append(t.subs, Subtest{ev.Test, ev.Action})
			return
		}
		c.settle(top, ev.Action, ev.Elapsed, c.hung[top])
	}
}

func (c *collector) settle(test, status string, seconds float64, note string) {
	t := c.active[test]
	delete(c.active, test)
	r := &Result{Package: c.pkg, Name: test, Status: status, Seconds: seconds, Attempts: 1, Note: note, Subtests: t.subs}
	if status == Fail {
		r.Output = string(t.output.text)
		fmt.Fprintf(c.progress, "   FAIL %s %s\n", test, note)
	}
	c.done = append(c.done, r)
}

// watch kills the test process when a test is over its limit: first with a signal that makes it
// print its goroutines. It returns when the process has ended.
func (c *collector) watch(p *child.Process, limit time.Duration) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-p.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		for test, t := range c.active {
			if !t.paused && time.Since(t.since) > limit {
				if c.hung == nil {
					c.hung = map[string]string{}
				}
				c.hung[test] = fmt.Sprintf("hung: killed after %v", limit)
			}
		}
		hung := len(c.hung) > 0
		c.mu.Unlock()
		if hung {
			p.SignalGroup(syscall.SIGQUIT)
			select {
			case <-p.Done():
			case <-time.After(10 * time.Second):
				p.KillGroup()
			}
			return
		}
	}
}

// finish blames tests that were running when the process ended. Paused ones
// get another chance, because they had not started in earnest.
func (c *collector) finish(stderr string) outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	for test, t := range c.active {
		if t.paused {
			continue
		}
		note := c.hung[test]
		if note == "" && len(c.hung) > 0 {
			continue // an innocent test beside a hung one
		}
		if note == "" {
			note = "the test binary ended during this test"
		}
		t.output.add(string(c.loose.text))
		c.settle(test, Fail, time.Since(t.since).Seconds(), note)
	}
	return outcome{tests: c.done, complete: c.complete && len(c.hung) == 0, text: string(c.loose.text) + stderr}
}
