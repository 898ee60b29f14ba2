package compat

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

func TestClientPublishAndSubscribe(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	sub, pub := s.Connect(t), s.Connect(t)
	got := make(chan *nats.Msg, 10)
	if _, err := sub.ChanSubscribe("greet.*", got); err != nil {
		t.Fatal(err)
	}
	if err := sub.Flush(); err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg("greet.joe")
	msg.Header.Set("Lang", "en")
	msg.Data = []byte("hello")
	if err := pub.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	m := harness.Receive(t, "message", got)
	if m.Subject != "greet.joe" || string(m.Data) != "hello" || m.Header.Get("Lang") != "en" {
		t.Errorf("got %+v", m)
	}
}

func TestClientRequest(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	responder, requester := s.Connect(t), s.Connect(t)
	if _, err := responder.Subscribe("up", func(m *nats.Msg) { m.Respond([]byte(strings.ToUpper(string(m.Data)))) }); err != nil {
		t.Fatal(err)
	}
	if err := responder.Flush(); err != nil {
		t.Fatal(err)
	}
	reply, err := requester.Request("up", []byte("abc"), harness.Patience)
	if err != nil || string(reply.Data) != "ABC" {
		t.Errorf("got %v, %v", reply, err)
	}
	began := time.Now()
	if _, err := requester.Request("nobody", nil, harness.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > harness.Patience/2 {
		t.Errorf("it took %v to learn that nobody listens", took)
	}
}

// Each message goes to one member of the group, and every member gets its share.
func TestClientQueueGroup(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	const members, messages = 5, 2000
	var counts [members]atomic.Int64
	var seen sync.Map
	var all sync.WaitGroup
	all.Add(messages)
	for i := range members {
		nc := s.Connect(t)
		_, err := nc.QueueSubscribe("work", "group", func(m *nats.Msg) {
			if _, twice := seen.LoadOrStore(string(m.Data), true); twice {
				t.Errorf("message %s came twice", m.Data)
			}
			counts[i].Add(1)
			all.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	pub := s.Connect(t)
	for i := range messages {
		if err := pub.Publish("work", []byte(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := pub.Flush(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	for i := range counts {
		if n := counts[i].Load(); n < messages/members/2 {
			t.Errorf("member %d got %d of %d messages", i, n, messages)
		}
	}
}

// A client comes back by itself when the server was restarted on the same port.
func TestClientReconnects(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	s.Stop()
	s = harness.Start(t, harness.Options{Port: portOf(s.Addr())})
	back := make(chan bool, 1)
	nc, err := nats.Connect(s.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.ReconnectHandler(func(*nats.Conn) { back <- true }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	got := make(chan *nats.Msg, 1)
	if _, err := nc.ChanSubscribe("a", got); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	harness.Receive(t, "reconnect", back)
	if err := nc.Publish("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	harness.Receive(t, "message", got)
}

func portOf(addr string) (port int) {
	fmt.Sscan(addr[strings.LastIndexByte(addr, ':')+1:], &port)
	return port
}

// The first durable stream: created, published to with acknowledgements, read by sequence, and
// consumed with explicit acks; all of it is there again after SIGKILL.
func TestClientDurableStream(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, StreamConfig: "sync_interval: always"})
	ctx := t.Context()
	connect := func() jetstream.JetStream {
		js, err := jetstream.New(s.Connect(t))
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	js := connect()
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Storage: jetstream.FileStorage})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 10; i++ {
		ack, err := js.Publish(ctx, fmt.Sprintf("orders.%d", i%2), []byte(fmt.Sprint(i)))
		if err != nil || ack.Stream != "ORDERS" || ack.Sequence != uint64(i) {
			t.Fatalf("publish %d: %+v, %v", i, ack, err)
		}
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(4, jetstream.FetchMaxWait(harness.Patience))
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}

	s.Kill()
	s.Start()
	js = connect()
	if stream, err = js.Stream(ctx, "ORDERS"); err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs != 10 || info.State.FirstSeq != 1 || info.State.LastSeq != 10 || info.Config.Subjects[0] != "orders.>" {
		t.Fatalf("after the kill: %+v, %v", info, err)
	}
	for i := 1; i <= 10; i++ {
		m, err := stream.GetMsg(ctx, uint64(i))
		if err != nil || string(m.Data) != fmt.Sprint(i) || m.Subject != fmt.Sprintf("orders.%d", i%2) {
			t.Fatalf("message %d: %+v, %v", i, m, err)
		}
	}
	if _, err := stream.GetMsg(ctx, 11); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("message 11: %v", err)
	}
	if consumer, err = stream.Consumer(ctx, "worker"); err != nil {
		t.Fatal(err)
	}
	// Godwit differs on purpose: an ack that was confirmed stays confirmed. nats-server writes the
	// state of consumers a little later and may deliver the first four messages again.
	if harness.OnPeer() {
		return
	}
	rest, err := consumer.Fetch(6, jetstream.FetchMaxWait(harness.Patience))
	if err != nil {
		t.Fatal(err)
	}
	next := 5
	for m := range rest.Messages() {
		if string(m.Data()) != fmt.Sprint(next) {
			t.Fatalf("got message %s, want %d", m.Data(), next)
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
		next++
	}
	ci, err := consumer.Info(ctx)
	if err != nil || next != 11 || ci.NumPending != 0 || ci.AckFloor.Stream != 10 || ci.NumAckPending != 0 {
		t.Errorf("at the end (next %d): %+v, %v", next, ci, err)
	}
}
