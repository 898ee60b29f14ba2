package compat

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// stuck subscribes and then never reads again. The kernel's buffers of both sides hold about
// 10 MB for it before anything has to wait in the server.
func stuck(t *testing.T, s *harness.Server, subject string) *harness.Raw {
	t.Helper()
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	r.Send("SUB " + subject + " 1\r\n")
	r.Flush()
	return r
}

// closedReason waits until the monitoring tells that a client was closed for this reason.
func closedReason(t *testing.T, s *harness.Server, cid uint64, reason string) {
	t.Helper()
	harness.Eventually(t, func() error {
		var connz struct {
			Connections []struct {
				CID    uint64 `json:"cid"`
				Reason string `json:"reason"`
			}
		}
		s.Monitor(t, fmt.Sprintf("/connz?state=closed&cid=%d", cid), &connz)
		if len(connz.Connections) != 1 {
			return fmt.Errorf("%d closed connections with id %d", len(connz.Connections), cid)
		}
		return harness.Want("reason", connz.Connections[0].Reason, reason)
	})
}

func slowConsumers(t *testing.T, s *harness.Server) int64 {
	t.Helper()
	var varz struct {
		SlowConsumers int64 `json:"slow_consumers"`
	}
	s.Monitor(t, "/varz", &varz)
	return varz.SlowConsumers
}

// A subscriber that never reads is cut off once more than max_pending waits for it, without an
// error on the wire; who reads gets everything meanwhile, in order.
func TestReaderThatNeverReadsIsCutOff(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "max_pending: 1MB\nwrite_deadline: \"60s\""})
	slow := stuck(t, s, "a")
	good := s.Connect(t)
	const size, messages = 8 << 10, 4000 // 32 MB: more than any kernel buffer holds
	var received atomic.Int64
	done := make(chan struct{})
	disorder := make(chan string, 1)
	_, err := good.Subscribe("a", func(m *nats.Msg) {
		n := received.Add(1)
		if want := fmt.Sprintf("%08d", n-1); !strings.HasPrefix(string(m.Data), want) {
			select {
			case disorder <- fmt.Sprintf("message %d begins %.8s", n-1, m.Data):
			default:
			}
		}
		if n == messages {
			close(done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := good.Flush(); err != nil {
		t.Fatal(err)
	}
	pub := s.Connect(t)
	pad := strings.Repeat("x", size-8)
	for i := range messages {
		if err := pub.Publish("a", []byte(fmt.Sprintf("%08d", i)+pad)); err != nil {
			t.Fatal(err)
		}
	}
	if err := pub.FlushTimeout(harness.Patience); err != nil {
		t.Fatal(err)
	}
	harness.Receive(t, "last message", done)
	select {
	case what := <-disorder:
		t.Error(what)
	default:
	}
	closedReason(t, s, slow.Info.ClientID, "Slow Consumer (Pending Bytes)")
	if n := slowConsumers(t, s); n != 1 {
		t.Errorf("%d slow consumers", n)
	}
	if tail := slow.UntilClosed(); strings.Contains(tail[max(0, len(tail)-200):], "-ERR") {
		t.Errorf("an error was sent: %q", tail[max(0, len(tail)-200):])
	}
}

// A subscriber that takes nothing within write_deadline is cut off, however little waits for it.
func TestWriteDeadline(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "write_deadline: \"300ms\""})
	slow := stuck(t, s, "a")
	pub := s.Connect(t)
	body := make([]byte, 256<<10)
	for range 64 { // 16 MB: more than the kernel holds, less than max_pending
		if err := pub.Publish("a", body); err != nil {
			t.Fatal(err)
		}
	}
	if err := pub.FlushTimeout(harness.Patience); err != nil {
		t.Fatal(err)
	}
	closedReason(t, s, slow.Info.ClientID, "Slow Consumer (Write Deadline)")
	if n := slowConsumers(t, s); n != 1 {
		t.Errorf("%d slow consumers", n)
	}
}

// While one subscriber does not read, round trips of others stay short: nobody waits for it.
func TestStuckReaderDelaysNobody(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "write_deadline: \"60s\""})
	slow := stuck(t, s, "flood")
	responder, requester := s.Connect(t), s.Connect(t)
	if _, err := responder.Subscribe("echo", func(m *nats.Msg) { m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := responder.Flush(); err != nil {
		t.Fatal(err)
	}
	flooder := s.Connect(t)
	body := make([]byte, 64<<10)
	for range 512 { // 32 MB: fills the kernel's buffers and queues the rest, below max_pending
		if err := flooder.Publish("flood", body); err != nil {
			t.Fatal(err)
		}
	}
	if err := flooder.FlushTimeout(harness.Patience); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		began := time.Now()
		if err := flooder.Publish("flood", body); err != nil { // keeps the queue of the stuck one moving
			t.Fatal(err)
		}
		if _, err := requester.Request("echo", []byte("x"), harness.Patience); err != nil {
			t.Fatal(err)
		}
		// Generous: the machine may be busy, but a wait for the stuck reader would take a minute.
		if took := time.Since(began); took > 2*time.Second {
			t.Fatalf("a round trip took %v", took)
		}
	}
	var connz struct {
		Connections []struct {
			Pending int64 `json:"pending_bytes"`
		}
	}
	s.Monitor(t, fmt.Sprintf("/connz?cid=%d", slow.Info.ClientID), &connz)
	if len(connz.Connections) != 1 || connz.Connections[0].Pending == 0 {
		t.Errorf("the stuck reader has nothing pending: %+v", connz)
	}
}

// A client that does not answer pings is told that it is stale, and closed.
func TestStaleConnection(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "ping_interval: \"150ms\"\nping_max: 2"})
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	if got, want := r.UntilClosed(), "PING\r\nPING\r\n-ERR 'Stale Connection'\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	closedReason(t, s, r.Info.ClientID, "Stale Connection")
}

// Answering pings is all that a client needs to do to stay.
func TestPongKeepsTheConnection(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "ping_interval: \"100ms\"\nping_max: 1"})
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	for range 8 {
		r.Expect("PING\r\n")
		r.Send("PONG\r\n")
	}
	r.Flush()
}
