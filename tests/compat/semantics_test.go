package compat

import (
	"fmt"
	"strings"
	"testing"

	"godwit/tests/harness"
)

func TestVerbose(t *testing.T) {
	loud := connectLine(`"verbose":true,"pedantic":false,"headers":true,"protocol":1`)
	runAll(t, harness.Start(t, harness.Options{}), []exchange{
		{name: "every verb is confirmed", connect: loud,
			send: "SUB a 1\r\nPUB b 1\r\nx\r\nHPUB b 12 12\r\nNATS/1.0\r\n\r\n\r\nUNSUB 1\r\nPING\r\n",
			want: ok + ok + ok + ok + ok + "PONG\r\n"},
		{name: "the default is verbose", connect: "CONNECT {}\r\n", send: "PUB a 1\r\nx\r\n", want: ok + ok},
		{name: "confirmed before the message", connect: loud, send: "SUB a 1\r\nPUB a 1\r\nx\r\n",
			want: ok + ok + ok + "MSG a 1 1\r\nx\r\n"},
		{name: "unsubscribing what does not exist", connect: loud, send: "UNSUB 9\r\n", want: ok + ok},
		{name: "a sid that is taken", connect: loud, send: "SUB a 1\r\nSUB b 1\r\nPUB a 0\r\n\r\nPUB b 0\r\n\r\n",
			want: ok + ok + ok + ok + "MSG a 1 0\r\n\r\n" + ok},
		{name: "a refused subscription is not confirmed", connect: loud, send: "SUB a..b 1\r\n", want: ok + badSub},
		{name: "NULL is an empty object", connect: "CONNECT null\r\n", send: "PUB a 1\r\nx\r\n", want: ok + ok},
		{name: "unknown fields do not matter", connect: connectLine(quiet + `,"whatever":{"a":[1]}`), send: "PING\r\n", want: "PONG\r\n"},
	})
}

func TestPedantic(t *testing.T) {
	strict := connectLine(`"verbose":false,"pedantic":true,"protocol":1`)
	runAll(t, harness.Start(t, harness.Options{}), []exchange{
		{name: "wildcard", connect: strict, send: "PUB a.* 1\r\nx\r\n", want: badPub},
		{name: "full wildcard", connect: strict, send: "PUB a.> 1\r\nx\r\n", want: badPub},
		{name: "empty token", connect: strict, send: "PUB a..b 1\r\nx\r\n", want: badPub},
		{name: "leading dot", connect: strict, send: "PUB .a 1\r\nx\r\n", want: badPub},
		{name: "trailing dot", connect: strict, send: "PUB a. 1\r\nx\r\n", want: badPub},
		{name: "a star inside a token", connect: strict, send: "SUB a*b 1\r\nPUB a*b 1\r\nx\r\n", want: "MSG a*b 1 1\r\nx\r\n"},
		{name: "the message is handled all the same", connect: strict, send: "SUB > 1\r\nPUB a.* 1\r\nx\r\n",
			want: badPub + "MSG a.* 1 1\r\nx\r\n"},
		{name: "confirmed all the same", connect: connectLine(`"verbose":true,"pedantic":true`), send: "PUB a.* 1\r\nx\r\n",
			want: ok + badPub + ok},
		{name: "the default is pedantic", connect: connectLine(`"verbose":false`), send: "PUB a.* 1\r\nx\r\n", want: badPub},
		{name: "silent otherwise", send: "PUB a.* 1\r\nx\r\nPUB a..b 1\r\nx\r\n"},
	})
}

func TestSubjects(t *testing.T) {
	list := []exchange{
		{name: "a published wildcard is literal", send: "SUB a.b 1\r\nSUB a.* 2\r\nPUB a.* 1\r\nx\r\n", want: "MSG a.* 2 1\r\nx\r\n"},
		{name: "a published full wildcard is literal", send: "SUB a.b 1\r\nSUB a.> 2\r\nPUB a.> 1\r\nx\r\n", want: "MSG a.> 2 1\r\nx\r\n"},
		{name: "one token", send: "SUB a.*.c 1\r\nPUB a.b.c 0\r\n\r\nPUB a.b.b.c 0\r\n\r\nPUB a.c 0\r\n\r\n", want: "MSG a.b.c 1 0\r\n\r\n"},
		{name: "one or more tokens", send: "SUB a.> 1\r\nPUB a 0\r\n\r\nPUB a.b 0\r\n\r\nPUB a.b.c 0\r\n\r\n",
			want: "MSG a.b 1 0\r\n\r\nMSG a.b.c 1 0\r\n\r\n"},
		{name: "case matters", send: "SUB a 1\r\nPUB A 0\r\n\r\n"},
		{name: "invalid UTF-8 is a token like any other", send: "SUB a.\xff\xfe 1\r\nPUB a.\xff\xfe 1\r\nx\r\n", want: "MSG a.\xff\xfe 1 1\r\nx\r\n"},
		{name: "NUL is a token like any other", send: "SUB a.\x00 1\r\nPUB a.\x00 1\r\nx\r\n", want: "MSG a.\x00 1 1\r\nx\r\n"},
		{name: "wildcards inside tokens are literal", send: "SUB a*.>b 1\r\nPUB a*.>b 0\r\n\r\nPUB ax.yb 0\r\n\r\n", want: "MSG a*.>b 1 0\r\n\r\n"},
		{name: "two subscriptions, two messages", send: "SUB a 1\r\nSUB a 2\r\nUNSUB 1\r\nPUB a 0\r\n\r\nUNSUB 2\r\nSUB a 1\r\nPUB a 0\r\n\r\n",
			want: "MSG a 2 0\r\n\r\nMSG a 1 0\r\n\r\n"},
	}
	for _, subject := range []string{"a..b", ".a", "a.", ".", "a.>.b", ">.a", ".."} {
		list = append(list, exchange{name: "subscribe to " + subject, send: "SUB " + subject + " 1\r\n", want: badSub})
	}
	for _, subject := range []string{"a..b", ".a", "a."} {
		list = append(list, exchange{name: "publish to " + subject, send: "SUB > 1\r\nSUB a.> 2\r\nPUB " + subject + " 0\r\n\r\n"})
	}
	runAll(t, harness.Start(t, harness.Options{}), list)
}

func TestSubscriptions(t *testing.T) {
	message := "PUB a 0\r\n\r\n"
	runAll(t, harness.Start(t, harness.Options{}), []exchange{
		{name: "unsubscribe", send: "SUB a 1\r\nUNSUB 1\r\n" + message},
		{name: "unsubscribe after two", send: "SUB a 1\r\nUNSUB 1 2\r\n" + strings.Repeat(message, 4),
			want: strings.Repeat("MSG a 1 0\r\n\r\n", 2)},
		{name: "unsubscribe after what was delivered already", send: "SUB a 1\r\n" + strings.Repeat(message, 2) + "UNSUB 1 2\r\n" + message,
			want: strings.Repeat("MSG a 1 0\r\n\r\n", 2)},
		{name: "the count starts at the subscription", send: "SUB a 1\r\n" + message + "UNSUB 1 2\r\n" + strings.Repeat(message, 3),
			want: strings.Repeat("MSG a 1 0\r\n\r\n", 2)},
		{name: "a maximum of zero ends it now", send: "SUB a 1\r\nUNSUB 1 0\r\n" + message},
		{name: "a maximum that is no number ends it now", send: "SUB a 1\r\nUNSUB 1 x\r\n" + message},
		{name: "a maximum may be raised", send: "SUB a 1\r\nUNSUB 1 1\r\nUNSUB 1 2\r\n" + strings.Repeat(message, 3),
			want: strings.Repeat("MSG a 1 0\r\n\r\n", 2)},
		{name: "a sid may be used again", send: "SUB a 1\r\nUNSUB 1\r\nSUB b 1\r\nPUB b 0\r\n\r\n", want: "MSG b 1 0\r\n\r\n"},
		{name: "a sid that is taken keeps its subject", send: "SUB a 1\r\nSUB b 1\r\nPUB b 0\r\n\r\n" + message, want: "MSG a 1 0\r\n\r\n"},
		{name: "a queue gets it once", send: "SUB a q 1\r\nSUB a q 2\r\nUNSUB 2\r\n" + message, want: "MSG a 1 0\r\n\r\n"},
		{name: "a queue besides a plain one", send: "SUB a 1\r\nSUB a q 2\r\n" + message, want: "MSG a 1 0\r\n\r\nMSG a 2 0\r\n\r\n"},
		{name: "echo off", connect: connectLine(quiet + `,"echo":false,"protocol":1`), send: "SUB a 1\r\nSUB a q 2\r\n" + message},
		{name: "a second connect drops the subscriptions", send: "SUB a 1\r\n" + harness.QuietConnect + message},
		{name: "a second connect changes the mode", send: "CONNECT {\"verbose\":true}\r\n" + message, want: ok + ok},
		{name: "a second connect that is wrong", send: "CONNECT {\"protocol\":7}\r\n", want: "-ERR 'invalid client protocol'\r\n", closed: true},
	})
}

func TestNoResponders(t *testing.T) {
	status := func(reply, sid, subject string) string {
		head := "NATS/1.0 503\r\nNats-Subject: " + subject + "\r\n\r\n"
		return fmt.Sprintf("HMSG %s %s %d %d\r\n%s\r\n", reply, sid, len(head), len(head), head)
	}
	runAll(t, harness.Start(t, harness.Options{}), []exchange{
		{name: "told on the reply's subscription", send: "SUB r.1 7\r\nPUB nobody r.1 2\r\nhi\r\n", want: status("r.1", "7", "nobody")},
		{name: "told through a wildcard", send: "SUB r.* 7\r\nPUB nobody r.1 2\r\nhi\r\n", want: status("r.1", "7", "nobody")},
		{name: "told with headers", send: "SUB r.1 7\r\nHPUB nobody r.1 12 12\r\nNATS/1.0\r\n\r\n\r\n", want: status("r.1", "7", "nobody")},
		{name: "not without a subscription", send: "PUB nobody r.1 2\r\nhi\r\n"},
		{name: "not to a queue subscription", send: "SUB r.1 q 7\r\nPUB nobody r.1 2\r\nhi\r\n"},
		{name: "not without a reply", send: "SUB r.1 7\r\nPUB nobody 2\r\nhi\r\n"},
		{name: "not when somebody gets it", send: "SUB r.1 7\r\nSUB a 8\r\nPUB a r.1 2\r\nhi\r\n", want: "MSG a 8 r.1 2\r\nhi\r\n"},
		{name: "not unless asked for", connect: connectLine(quiet + `,"headers":true,"protocol":1`), send: "SUB r.1 7\r\nPUB nobody r.1 2\r\nhi\r\n"},
		{name: "told again after the only subscriber left", send: "SUB r.1 7\r\nSUB left 8\r\nUNSUB 8\r\nPUB left r.1 0\r\n\r\n", want: status("r.1", "7", "left")},
	})
}

// A receiver that did not announce headers gets the message without them.
func TestHeadersAreCutForWhoDidNotAnnounceThem(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	plain, full := s.Raw(t), s.Raw(t)
	plain.Connect(connectLine(quiet + `,"protocol":1`))
	full.Connect(harness.QuietConnect)
	plain.Send("SUB a 1\r\n")
	plain.Flush()
	full.Send("HPUB a r 18 20\r\nNATS/1.0\r\nK: V\r\n\r\nhi\r\nHPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n")
	plain.Expect("MSG a 1 r 2\r\nhi\r\nMSG a 1 0\r\n\r\n")
}

// The members of a queue group are one group by the queue's name, whatever they subscribed to.
func TestQueueGroupIsItsName(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	r.Send("SUB foo q 1\r\nSUB foo.* q 2\r\nSUB > q 3\r\nSUB > other 4\r\n")
	const messages = 200
	r.Send(strings.Repeat("PUB foo 0\r\n\r\n", messages))
	bySid := map[string]int{}
	for range 2 * messages {
		fields := strings.Fields(r.Line())
		if len(fields) != 4 || fields[1] != "foo" {
			t.Fatalf("got %q", fields)
		}
		r.Expect("\r\n")
		bySid[fields[2]]++
	}
	r.Flush()
	if bySid["4"] != messages || bySid["1"]+bySid["3"] != messages || bySid["2"] != 0 {
		t.Errorf("deliveries by sid: %v", bySid)
	}
	if bySid["1"] < messages/10 || bySid["3"] < messages/10 {
		t.Errorf("one member of the group gets nearly all: %v", bySid)
	}
}

// Messages of one connection arrive in the order in which they were published, on every
// subscription, whatever reads and writes they travel in.
func TestOrderPerPublisher(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	sub, pub := s.Raw(t), s.Raw(t)
	sub.Connect(harness.QuietConnect)
	pub.Connect(harness.QuietConnect)
	sub.Send("SUB a.> 1\r\nSUB a.b 2\r\n")
	sub.Flush()
	const messages = 20000
	go func() {
		var b strings.Builder
		for i := range messages {
			text := fmt.Sprint(i)
			fmt.Fprintf(&b, "PUB a.b %d\r\n%s\r\n", len(text), text)
		}
		pub.Send(b.String())
	}()
	next := map[string]int{}
	for range 2 * messages {
		fields := strings.Fields(sub.Line())
		if len(fields) != 4 {
			t.Fatalf("got %q", fields)
		}
		if got, want := strings.TrimSpace(sub.Line()), fmt.Sprint(next[fields[2]]); got != want {
			t.Fatalf("subscription %s: got message %s, want %s", fields[2], got, want)
		}
		next[fields[2]]++
	}
}
