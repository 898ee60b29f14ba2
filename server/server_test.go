package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/server/logging"
	"godwit/server/options"
)

// run starts a server on a free port and ends it with the test.
func run(t testing.TB, change func(*options.Options)) *Server {
	t.Helper()
	o := options.Defaults()
	o.Host, o.Port = "127.0.0.1", options.RandomPort
	if change != nil {
		change(o)
	}
	s, err := New(o, logging.Discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t testing.TB, s *Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("nats://"+s.ClientAddr().String(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestPublishReachesSubscriber(t *testing.T) {
	s := run(t, nil)
	a, b := connect(t, s), connect(t, s)
	sub, err := a.SubscribeSync("foo.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	const n = 10000
	for i := range n {
		if err := b.Publish("foo.bar", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.Data); got != fmt.Sprint(i) {
			t.Fatalf("message %d: got %q", i, got)
		}
	}
}

func TestRequestWithoutResponderFailsAtOnce(t *testing.T) {
	s := run(t, nil)
	nc := connect(t, s)
	if _, err := nc.Request("nobody", nil, 5*time.Second); err != nats.ErrNoResponders {
		t.Fatalf("got %v, want %v", err, nats.ErrNoResponders)
	}
	if _, err := nc.Subscribe("somebody", func(m *nats.Msg) { m.Respond(m.Data) }); err != nil {
		t.Fatal(err)
	}
	m, err := nc.Request("somebody", []byte("hi"), 5*time.Second)
	if err != nil || string(m.Data) != "hi" {
		t.Fatalf("got %v, %v", m, err)
	}
}
