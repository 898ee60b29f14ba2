package compat

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// streamsConfig has an account with streams and two that use them from outside, one of which has streams of its own.
const streamsConfig = `
accounts {
  A {
    jetstream: enabled
    users: [{user: a, password: p}]
    exports: [
      {service: "$JS.API.>", response_type: stream}
      {service: "$JS.ACK.>"}
      {service: "$JS.FC.>"}
      {service: "$KV.>"}
      {service: "orders.>"}
      {stream: "deliver.>"}
      {stream: "events.>"}
    ]
  }
  B {
    users: [{user: b, password: p}]
    imports: [
      {service: {account: A, subject: "$JS.API.>"}, to: "shop.API.>"}
      {service: {account: A, subject: "$JS.ACK.>"}}
      {service: {account: A, subject: "$JS.FC.>"}}
      {service: {account: A, subject: "$KV.>"}, to: "shop.API.$KV.>"}
      {service: {account: A, subject: "orders.>"}, to: "buy.>"}
      {stream: {account: A, subject: "deliver.>"}}
    ]
  }
  C {
    jetstream: enabled
    users: [{user: c, password: p}]
    imports: [{stream: {account: A, subject: "events.>"}, prefix: "a"}, {service: {account: A, subject: "$JS.API.STREAM.NAMES"}, to: "shop.names"}]
  }
}
`

func streamsOf(t *testing.T, nc *nats.Conn, prefix string) jetstream.JetStream {
	t.Helper()
	make := func() (jetstream.JetStream, error) { return jetstream.New(nc) }
	if prefix != "" {
		make = func() (jetstream.JetStream, error) { return jetstream.NewWithAPIPrefix(nc, prefix) }
	}
	js, err := make()
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func waiting(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

func TestStreamsOfAnotherAccount(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: streamsConfig})
	ctx := waiting(t)
	a, b := s.Connect(t, as("a")), s.Connect(t, as("b"), nats.Name("buyer"))
	own, shop := streamsOf(t, a, ""), streamsOf(t, b, "shop.API")
	audit := subscribe(t, a, "$JS.EVENT.ADVISORY.API")
	st, err := shop.CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Client map[string]any }
	if err := json.Unmarshal(next(t, audit).Data, &event); err != nil {
		t.Fatal(err)
	}
	if event.Client["acc"] != "B" || event.Client["user"] != nil || event.Client["name"] != nil || event.Client["host"] != nil {
		t.Errorf("the audit says of the other account %v", event.Client)
	}
	for _, body := range []string{"1", "2", "3"} {
		ack, err := shop.PublishMsg(ctx, &nats.Msg{Subject: "buy.x", Data: []byte(body), Header: nats.Header{"K": {"v"}}})
		if err != nil || ack.Stream != "ORDERS" {
			t.Fatalf("publish: %v, %v", ack, err)
		}
	}
	stream, err := own.Stream(ctx, "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetMsg(ctx, 2)
	if err != nil || m.Subject != "orders.x" || string(m.Data) != "2" || m.Header.Get("K") != "v" || m.Header.Get("Nats-Request-Info") != "" {
		t.Errorf("stored is %+v, %v", m, err)
	}
	if m, err := st.GetLastMsgForSubject(ctx, "orders.x"); err != nil || string(m.Data) != "3" {
		t.Errorf("a direct get: %+v, %v", m, err)
	}

	c, err := st.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "pull", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(3, jetstream.FetchMaxWait(harness.Patience))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := range batch.Messages() {
		if n++; m.Subject() != "orders.x" {
			t.Errorf("fetched %q", m.Subject())
		}
		if err := m.DoubleAck(ctx); err != nil {
			t.Errorf("ack: %v", err)
		}
	}
	if info, err := c.Info(ctx); n != 3 || err != nil || info.AckFloor.Stream != 3 {
		t.Errorf("%d messages fetched: %v, %v", n, info, err)
	}

	// A push consumer wakes up when somebody in the other account subscribes.
	legacy, err := b.JetStream(nats.APIPrefix("shop.API"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := legacy.AddConsumer("ORDERS", &nats.ConsumerConfig{Durable: "push", DeliverSubject: "deliver.push", AckPolicy: nats.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	sub, err := legacy.SubscribeSync("", nats.Bind("ORDERS", "push"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		m := next(t, sub)
		if m.Subject != "orders.x" {
			t.Errorf("pushed %q", m.Subject)
		}
		if err := m.AckSync(nats.Context(ctx)); err != nil {
			t.Errorf("ack: %v", err)
		}
	}
}

func TestStreamOfImportedMessages(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: streamsConfig})
	ctx := waiting(t)
	a, c := s.Connect(t, as("a")), s.Connect(t, as("c"))
	js := streamsOf(t, c, "")
	st, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "HEARD", Subjects: []string{"a.events.*"}})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, a, "events.1")
	publish(t, a, "events.1.2")
	harness.Eventually(t, func() error {
		info, err := st.Info(ctx)
		if err != nil {
			return err
		}
		return harness.Want("messages", info.State.Msgs, uint64(1))
	})
	if m, err := st.GetMsg(ctx, 1); err != nil || m.Subject != "a.events.1" {
		t.Errorf("stored is %+v, %v", m, err)
	}
	// Its own API speaks of its own streams, the imported one of the others'.
	if _, err := streamsOf(t, a, "").CreateStream(ctx, jetstream.StreamConfig{Name: "SECRET", Subjects: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]string{"$JS.API.STREAM.NAMES": `"streams":["HEARD"]`, "shop.names": `"streams":["SECRET"]`} {
		m, err := c.RequestWithContext(ctx, subject, nil)
		if err != nil || !strings.Contains(string(m.Data), want) {
			t.Errorf("%s: %v, %v", subject, m, err)
		}
	}
}

func TestKeyValueOfAnotherAccount(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: streamsConfig})
	ctx := waiting(t)
	own := streamsOf(t, s.Connect(t, as("a")), "")
	shop := streamsOf(t, s.Connect(t, as("b"), nats.CustomInboxPrefix("deliver.b")), "shop.API")
	kv, err := own.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "PRICES", History: 3})
	if err != nil {
		t.Fatal(err)
	}
	there, err := shop.KeyValue(ctx, "PRICES")
	if err != nil {
		t.Fatal(err)
	}
	w, err := there.WatchAll(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if e := harness.Receive(t, "end of what is there", w.Updates()); e != nil {
		t.Fatalf("got %v", e)
	}
	if _, err := there.Put(ctx, "tea", []byte("3")); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(ctx, "tea", []byte("4")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3", "4"} {
		if e := harness.Receive(t, "update", w.Updates()); e == nil || string(e.Value()) != want || e.Key() != "tea" {
			t.Errorf("got %v, want %s", e, want)
		}
	}
	if e, err := there.Get(ctx, "tea"); err != nil || string(e.Value()) != "4" {
		t.Errorf("got %v, %v", e, err)
	}
	if err := there.Delete(ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	if e := harness.Receive(t, "update", w.Updates()); e == nil || e.Operation() != jetstream.KeyValueDelete {
		t.Errorf("got %v", e)
	}
}
