package server

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/server/options"
)

// A client that names the domain reaches everything: the API, pull requests, direct gets, keys and objects.
func TestDomainReachesEverything(t *testing.T) {
	s := run(t, func(o *options.Options) {
		o.JetStream.Enabled, o.JetStream.Domain, o.JetStream.StoreDir = true, "hub", t.TempDir()
	})
	nc := connect(t, s)
	js, err := jetstream.NewWithDomain(nc, "hub")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	st, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	if ack, err := js.Publish(ctx, "s.a", []byte("x")); err != nil || ack.Domain != "hub" {
		t.Fatalf("%+v %v", ack, err)
	}
	if m, err := st.GetLastMsgForSubject(ctx, "s.a"); err != nil || string(m.Data) != "x" {
		t.Fatalf("%+v %v", m, err)
	}
	c, err := st.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DoubleAck(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s.a", nil); err != nil {
		t.Fatal(err)
	}
	if m, err = c.Next(jetstream.FetchMaxWait(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// The longer form of an acknowledgement's subject, with the domain and the account.
	long := strings.Replace(m.Reply(), "$JS.ACK.", "$JS.ACK.hub.ABC.", 1) + ".more"
	if _, err := nc.Request(long, nil, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if info, err := c.Info(ctx); err != nil || info.NumAckPending != 0 || info.AckFloor.Stream != 2 {
		t.Fatalf("%+v %v", info, err)
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(ctx, "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if e, err := kv.Get(ctx, "k"); err != nil || string(e.Value()) != "v" {
		t.Fatalf("%v %v", e, err)
	}
	obj, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "O"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := obj.PutString(ctx, "o", "data"); err != nil {
		t.Fatal(err)
	}
	if got, err := obj.GetString(ctx, "o"); err != nil || got != "data" {
		t.Fatalf("%q %v", got, err)
	}
	if _, err := nc.Request("$JS.other.API.INFO", nil, 5*time.Second); err != nats.ErrNoResponders {
		t.Errorf("another domain: %v", err)
	}
}
