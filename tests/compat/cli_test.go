package compat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
	"godwit/tests/harness/child"
)

// cli runs the unmodified nats command line tool against one server.
type cli struct {
	path string
	env  []string
}

func newCLI(t *testing.T, s *harness.Server) *cli {
	t.Helper()
	home := t.TempDir() // contexts of the person who runs the tests must not matter
	c := &cli{path: harness.CLI(t), env: append(os.Environ(), "NATS_URL="+s.URL(), "HOME="+home,
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_DATA_HOME="+filepath.Join(home, "data"), "NATS_CONTEXT=", "NO_COLOR=1")}
	return c
}

// run runs one command to its end and returns all that it printed.
func (c *cli) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.path, args...)
	cmd.Env = c.env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ok runs a command that must succeed, and looks for texts in what it prints.
func (c *cli) ok(t *testing.T, want []string, args ...string) string {
	t.Helper()
	out, err := c.run(t, args...)
	if err != nil {
		t.Fatalf("nats %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("nats %s: no %q in\n%s", strings.Join(args, " "), text, out)
		}
	}
	return out
}

// start runs a command in the background and waits until it prints the text; lines delivers what
// it prints from then on.
func (c *cli) start(t *testing.T, ready string, args ...string) (p *child.Process, lines <-chan string) {
	t.Helper()
	cmd := exec.Command(c.path, args...)
	cmd.Env = c.env
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	p, err = child.Start(cmd)
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.KillGroup(); read.Close() })
	begun, out := make(chan bool, 1), make(chan string, 1000)
	go func() {
		defer close(out)
		in := bufio.NewScanner(read)
		for seen := false; in.Scan(); {
			if seen {
				out <- in.Text()
			} else if strings.Contains(in.Text(), ready) {
				seen = true
				begun <- true
			}
		}
		io.Copy(io.Discard, read)
	}()
	harness.Receive(t, "start of nats "+strings.Join(args, " "), begun)
	return p, out
}

// until reads lines until one holds the text, and returns all of them.
func until(t *testing.T, lines <-chan string, text string) string {
	t.Helper()
	var all strings.Builder
	for {
		line := harness.Receive(t, fmt.Sprintf("line with %q after %q", text, all.String()), lines)
		all.WriteString(line + "\n")
		if strings.Contains(line, text) {
			return all.String()
		}
	}
}

func subscriptions(t *testing.T, s *harness.Server, atLeast int) {
	t.Helper()
	harness.Eventually(t, func() error {
		var connz struct {
			Connections []struct{ Subscriptions int }
		}
		s.Monitor(t, "/connz", &connz)
		n := 0
		for _, c := range connz.Connections {
			n += c.Subscriptions
		}
		if n < atLeast {
			return fmt.Errorf("%d subscriptions", n)
		}
		return nil
	})
}

func TestCLIPublishAndSubscribe(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := newCLI(t, s)
	_, lines := c.start(t, "Subscribing on", "sub", "greet.>")
	subscriptions(t, s, 1)
	c.ok(t, []string{"Published 5 bytes"}, "pub", "greet.joe", "hello", "-H", "Lang:en")
	out := until(t, lines, "hello")
	if !strings.Contains(out, "greet.joe") || !strings.Contains(out, "Lang: en") {
		t.Errorf("got %s", out)
	}
	c.ok(t, nil, "pub", "greet.count", "message {{.Count}}", "--count", "3")
	until(t, lines, "message 3")
}

func TestCLIRequestAndReply(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := newCLI(t, s)
	c.start(t, "Listening on", "reply", "help", "answer")
	subscriptions(t, s, 1)
	c.ok(t, []string{"answer"}, "request", "help", "please")
	out, _ := c.run(t, "request", "nobody", "please", "--timeout", "5s")
	if !strings.Contains(out, "No responders") {
		t.Errorf("asking nobody: %s", out)
	}
}

func TestCLIQueueGroup(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := newCLI(t, s)
	_, one := c.start(t, "Subscribing on", "sub", "work", "--queue", "group")
	_, two := c.start(t, "Subscribing on", "sub", "work", "--queue", "group")
	_, all := c.start(t, "Subscribing on", "sub", "work")
	subscriptions(t, s, 3)
	const messages = 200
	c.ok(t, nil, "pub", "work", "task-{{.Count}}-", "--count", fmt.Sprint(messages))
	got := [2]int{}
	timeout := time.After(harness.Patience)
	for got[0]+got[1] < messages {
		select {
		case line := <-one:
			if strings.HasPrefix(line, "task-") {
				got[0]++
			}
		case line := <-two:
			if strings.HasPrefix(line, "task-") {
				got[1]++
			}
		case <-timeout:
			t.Fatalf("got %v of %d messages", got, messages)
		}
	}
	until(t, all, fmt.Sprintf("task-%d-", messages))
	if got[0] < messages/10 || got[1] < messages/10 {
		t.Errorf("shares %v", got)
	}
}

func TestCLIServerCheck(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	c := newCLI(t, s)
	c.ok(t, []string{"OK Connection OK"}, "server", "check", "connection")
	var result struct {
		Status string `json:"status"`
	}
	out := c.ok(t, nil, "server", "check", "connection", "--format", "json")
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.Status != "OK" {
		t.Errorf("got %s, %v", out, err)
	}
	c.ok(t, []string{s.Addr()}, "rtt", "--json")
}

func TestCLIBench(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	c := newCLI(t, s)
	const messages = "20000"
	c.ok(t, []string{"msgs/sec"}, "bench", "pub", "b", "--msgs", messages, "--size", "128", "--no-progress")
	c.ok(t, []string{"msgs/sec"}, "bench", "pub", "b", "--msgs", messages, "--clients", "4", "--no-progress")

	for _, clients := range []string{"1", "4"} {
		sub, subOut := c.start(t, "", "bench", "sub", "b"+clients, "--msgs", messages, "--clients", clients, "--no-progress")
		harness.Eventually(t, func() error {
			var connz struct {
				Connections []struct{ Subscriptions int }
			}
			s.Monitor(t, "/connz", &connz)
			n := 0
			for _, c := range connz.Connections {
				n += c.Subscriptions
			}
			return harness.Want("subscriptions", fmt.Sprint(n), clients)
		})
		c.ok(t, []string{"msgs/sec"}, "bench", "pub", "b"+clients, "--msgs", messages, "--no-progress")
		until(t, subOut, "msgs/sec")
		if state := sub.State(); !state.Success() {
			t.Errorf("bench sub: %v", state)
		}
	}

	serve, _ := c.start(t, "", "bench", "service", "serve", "b.service", "--no-progress")
	subscriptions(t, s, 1)
	c.ok(t, []string{"msgs/sec"}, "bench", "service", "request", "b.service", "--msgs", "2000", "--no-progress")
	serve.Kill()
}

func TestCLITrace(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	c := newCLI(t, s)
	c.ok(t, nil, "stream", "add", "S", "--subjects", "s.*", "--defaults")
	c.ok(t, []string{`--J JetStream action:"stored" stream:"S" subject:"s.1"`}, "trace", "s.1", "x")
	c.ok(t, []string{"No active interest"}, "trace", "nobody", "x")
	nc := s.Connect(t, nats.Name("listener"))
	sub := subscribe(t, nc, "t.>")
	c.ok(t, []string{`--C Client "listener" cid:`, `subject:"t.>"`}, "trace", "t.1", "x")
	nothing(t, sub, nc)
	c.ok(t, []string{`--C Client "listener" cid:`}, "trace", "t.1", "x", "--deliver")
	if m := next(t, sub); string(m.Data) != "x" {
		t.Errorf("%s", m.Data)
	}
}

// The stream and consumer commands of the first durable stream.
func TestCLIStream(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	c := newCLI(t, s)
	c.ok(t, []string{"Stream ORDERS was created"}, "stream", "add", "ORDERS", "--subjects", "orders.>", "--storage", "file", "--defaults")
	c.ok(t, []string{"Stored in Stream: ORDERS", "Sequence: 1"}, "pub", "orders.1", "first", "--jetstream")
	c.ok(t, nil, "pub", "orders.2", "number {{.Count}}", "--count", "4", "--jetstream")
	c.ok(t, []string{"orders.>", "Messages: 5", "Storage: File"}, "stream", "info", "ORDERS")
	var info struct {
		State struct {
			Messages uint64
			LastSeq  uint64 `json:"last_seq"`
		}
	}
	out := c.ok(t, nil, "stream", "info", "ORDERS", "--json")
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.State.Messages != 5 || info.State.LastSeq != 5 {
		t.Errorf("info: %v in %s", err, out)
	}
	c.ok(t, []string{"ORDERS"}, "stream", "ls")
	c.ok(t, []string{"ORDERS#3", "number 2"}, "stream", "get", "ORDERS", "3")

	c.ok(t, []string{"Information for Consumer ORDERS > worker"}, "consumer", "add", "ORDERS", "worker", "--pull", "--defaults")
	c.ok(t, []string{"first", "Acknowledged message"}, "consumer", "next", "ORDERS", "worker")
	c.ok(t, []string{"number 4"}, "consumer", "next", "ORDERS", "worker", "--count", "4")
	c.ok(t, []string{"Last Delivered Message: Consumer sequence: 5 Stream sequence: 5"}, "consumer", "info", "ORDERS", "worker")
}
