package jsapi

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	anyTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	ackTime    = regexp.MustCompile(`(\$JS\.ACK\.[^.]+\.[^.]+\.\d+\.\d+\.\d+\.)\d+`)
	leader     = regexp.MustCompile(`"leader":"[^"]*"`)
	remaining  = regexp.MustCompile(`"pause_remaining":\d+`)
	fixedTimes = []string{"0001", "2000", "2100"} // years that requests name, or that mean no time
)

// withoutTimes replaces what differs from run to run.
func withoutTimes(s string) string {
	s = anyTime.ReplaceAllStringFunc(s, func(t string) string {
		for _, year := range fixedTimes {
			if strings.HasPrefix(t, year) {
				return t
			}
		}
		return "T"
	})
	s = ackTime.ReplaceAllString(s, "${1}T")
	s = leader.ReplaceAllString(s, `"leader":"L"`)
	return remaining.ReplaceAllString(s, `"pause_remaining":N`)
}

// exchange makes one request of a script and writes the answer as scripts have it.
func (c *client) exchange(line string) string {
	subject, body, _ := strings.Cut(line, " ")
	var header strings.Builder
	for strings.HasPrefix(body, "[") && !strings.HasPrefix(body, "[]") {
		h, rest, _ := strings.Cut(body[1:], "]")
		header.WriteString(h + "\r\n")
		body = strings.TrimPrefix(rest, " ")
	}
	if s, ok := strings.CutPrefix(subject, "!"); ok {
		subject = "$JS.API." + s
	}
	in := c.inbox()
	defer c.index.Unsubscribe(in.sub)
	if c.publish(subject, in.name, header.String(), body) == 0 {
		return "(nobody)\n"
	}
	var m msg
	select {
	case m = <-in.c:
	case <-time.After(c.patience):
		return "(silence)\n"
	}
	var out strings.Builder
	if m.reply != "" {
		out.WriteString(m.subject + " " + withoutTimes(m.reply) + "\n")
	}
	if m.header != "" {
		first, rest, _ := strings.Cut(m.header, "\r\n")
		if first != "NATS/1.0" {
			out.WriteString(first + "\n")
		}
		values := map[string]string{}
		for _, l := range strings.Split(rest, "\r\n") {
			k, v, _ := strings.Cut(l, ": ")
			values[k] = v
		}
		for _, k := range []string{"Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp", "Nats-Pending-Messages", "Nats-Pending-Bytes", "A"} {
			if v, ok := values[k]; ok {
				out.WriteString(k + ": " + withoutTimes(v) + "\n")
			}
		}
	}
	if m.data != "" {
		out.WriteString(withoutTimes(m.data) + "\n")
	}
	return out.String()
}

// TestScripts makes the requests of testdata/*.txt and compares the answers.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, c := startClient(t)
			var line string
			var want strings.Builder
			check := func() {
				if line == "" {
					return
				}
				if strings.Contains(want.String(), "(silence)") {
					c.patience = 20 * time.Millisecond
				} else {
					c.patience = 10 * time.Second
				}
				if got := c.exchange(line); got != want.String() {
					t.Errorf("%s\n got %s\nwant %s", line, got, want.String())
				}
			}
			for _, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				if strings.HasPrefix(l, "#") || l == "" {
					continue
				}
				if req, ok := strings.CutPrefix(l, "> "); ok {
					check()
					line = req
					want.Reset()
					continue
				}
				want.WriteString(l + "\n")
			}
			check()
		})
	}
}
