package compat

import (
	"fmt"
	"strings"
	"testing"

	"godwit/tests/harness"
)

func TestControlLineLimit(t *testing.T) {
	long := strings.Repeat("x", 4200)
	t.Run("default", func(t *testing.T) {
		runAll(t, harness.Start(t, harness.Options{}), []exchange{
			{name: "PUB just short enough", send: "PUB " + strings.Repeat("x", 4090) + " 0\r\n\r\n"},
			{name: "PUB too long", send: "PUB " + long + " 0\r\n\r\n", want: tooLong, closed: true},
			{name: "SUB too long", send: "SUB " + long + " 1\r\n", want: tooLong, closed: true},
			{name: "UNSUB too long", send: "UNSUB " + long + "\r\n", want: tooLong, closed: true},
			{name: "HPUB too long", send: "HPUB " + long + " 0 0\r\n\r\n", want: tooLong, closed: true},
			{name: "no end in sight", send: "PUB " + long, want: tooLong, closed: true},
			{name: "CONNECT too long", connect: connectLine(quiet + `,"name":"` + long + `"`), want: tooLong, closed: true},
		})
	})
	t.Run("configured", func(t *testing.T) {
		runAll(t, harness.Start(t, harness.Options{Config: "max_control_line: 200"}), []exchange{
			{name: "short enough", send: "PUB " + strings.Repeat("x", 190) + " 0\r\n\r\n"},
			{name: "too long", send: "PUB " + strings.Repeat("x", 200) + " 0\r\n\r\n", want: tooLong, closed: true},
		})
	})
}

func TestPayloadLimit(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "max_payload: 100"})
	if got := s.Raw(t).Info.MaxPayload; got != 100 {
		t.Errorf("INFO tells max_payload %d", got)
	}
	head := "NATS/1.0\r\n\r\n"
	runAll(t, s, []exchange{
		{name: "just allowed", send: "SUB a 1\r\nPUB a 100\r\n" + strings.Repeat("x", 100) + "\r\n",
			want: "MSG a 1 100\r\n" + strings.Repeat("x", 100) + "\r\n"},
		{name: "refused before the payload comes", send: "PUB a 101\r\n", want: tooLarge, closed: true},
		{name: "headers count", send: fmt.Sprintf("HPUB a %d 101\r\n", len(head)), want: tooLarge, closed: true},
		{name: "headers and payload together", send: fmt.Sprintf("SUB a 1\r\nHPUB a %d 100\r\n%s%s\r\n", len(head), head, strings.Repeat("x", 100-len(head))),
			want: fmt.Sprintf("HMSG a 1 %d 100\r\n%s%s\r\n", len(head), head, strings.Repeat("x", 100-len(head)))},
	})
}

// A payload far larger than any read buffer arrives whole.
func TestLargePayload(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	body := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB, the default limit
	r.Send("SUB a 1\r\n")
	go r.Send(fmt.Sprintf("PUB a %d\r\n%s\r\n", len(body), body))
	r.Expect(fmt.Sprintf("MSG a 1 %d\r\n%s\r\n", len(body), body))
}

func TestSubscriptionLimit(t *testing.T) {
	const tooMany = "-ERR 'maximum subscriptions exceeded'\r\n"
	runAll(t, harness.Start(t, harness.Options{Config: "max_subscriptions: 2"}), []exchange{
		{name: "the connection stays", send: "SUB a 1\r\nSUB b 2\r\nSUB c 3\r\nPUB c 0\r\n\r\nPUB b 0\r\n\r\n",
			want: tooMany + "MSG b 2 0\r\n\r\n"},
		{name: "room again", send: "SUB a 1\r\nSUB b 2\r\nUNSUB 1\r\nSUB c 3\r\nPUB c 0\r\n\r\n", want: "MSG c 3 0\r\n\r\n"},
		{name: "not confirmed", connect: connectLine(`"verbose":true,"pedantic":false`),
			send: "SUB a 1\r\nSUB b 2\r\nSUB c 3\r\n", want: ok + ok + ok + tooMany},
	})
}

func TestSubscriptionTokenLimit(t *testing.T) {
	runAll(t, harness.Start(t, harness.Options{Config: "max_sub_tokens: 3"}), []exchange{
		{name: "few enough", send: "SUB a.b.c 1\r\nPUB a.b.c 0\r\n\r\n", want: "MSG a.b.c 1 0\r\n\r\n"},
		{name: "too many", send: "SUB a.b.c.d 1\r\nPUB a.b.c.d 0\r\n\r\n",
			want: "-ERR 'Permissions Violation for Subscription to \"a.b.c.d\", too many tokens'\r\n"},
	})
}

func TestConnectionLimit(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "max_connections: 2"})
	harness.Eventually(t, func() error { // the harness's own probe may not be gone yet
		var varz struct{ Connections int }
		s.Monitor(t, "/varz", &varz)
		return harness.Want("connections", varz.Connections, 0)
	})
	first, second := s.Raw(t), s.Raw(t)
	first.Connect(harness.QuietConnect)
	second.Connect(harness.QuietConnect)

	third := s.Raw(t) // gets its INFO
	if got, want := third.UntilClosed(), "-ERR 'maximum connections exceeded'\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	first.Flush()
	second.Flush()

	first.Close()
	harness.Eventually(t, func() error {
		r := s.Raw(t)
		defer r.Close()
		r.Send(harness.QuietConnect + "PING\r\n")
		if line := r.Line(); line != "PONG\r\n" {
			return fmt.Errorf("got %q", line)
		}
		return nil
	})
}
