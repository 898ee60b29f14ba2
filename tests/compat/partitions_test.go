package compat

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// partitioned makes a stream of several partitions as today's clients can: by metadata.
func partitioned(t *testing.T, js jetstream.JetStream, cfg jetstream.StreamConfig, partitions int, key string) jetstream.Stream {
	t.Helper()
	cfg.Metadata = map[string]string{"godwit.partitions": fmt.Sprint(partitions)}
	if key != "" {
		cfg.Metadata["godwit.partition_key"] = key
	}
	s, err := js.CreateStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func jetStream(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// What clients know of streams works with several partitions: every kind of consumer sees every message, and the order of each
// subject.
func TestClientsOfPartitionedStream(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js := jetStream(t, nc)
	stream := partitioned(t, js, jetstream.StreamConfig{Name: "P", Subjects: []string{"p.>"}, AllowDirect: true}, 16, "")
	const count = 500
	var pending []jetstream.PubAckFuture
	for i := range count {
		f, err := js.PublishAsync(fmt.Sprintf("p.%d", i%50), fmt.Appendf(nil, "%d", i))
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, f)
	}
	numbers := map[uint64]bool{}
	for _, f := range pending {
		select {
		case ack := <-f.Ok():
			numbers[ack.Sequence] = true
		case err := <-f.Err():
			t.Fatal(err)
		}
	}
	if len(numbers) != count {
		t.Fatalf("%d numbers for %d messages", len(numbers), count)
	}
	// follow checks what a consumer gets.
	follow := func(name string, next func() (subject string, data []byte, sequence uint64)) {
		t.Helper()
		last := map[string]int{}
		for n := range count {
			subject, data, sequence := next()
			at := 0
			if _, err := fmt.Sscan(string(data), &at); err != nil {
				t.Fatal(err)
			}
			if before, ok := last[subject]; ok && at <= before || fmt.Sprintf("p.%d", at%50) != subject || !numbers[sequence] {
				t.Fatalf("%s: message %d is %d on %s with number %d", name, n, at, subject, sequence)
			}
			last[subject] = at
		}
	}
	t.Run("pull", func(t *testing.T) {
		c, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "pull", AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		it, err := c.Messages()
		if err != nil {
			t.Fatal(err)
		}
		defer it.Stop()
		follow("pull", func() (string, []byte, uint64) {
			m, err := it.Next(jetstream.NextMaxWait(harness.Patience))
			if err != nil {
				t.Fatal(err)
			}
			meta, err := m.Metadata()
			if err != nil || m.DoubleAck(t.Context()) != nil {
				t.Fatal(err)
			}
			return m.Subject(), m.Data(), meta.Sequence.Stream
		})
		info, err := c.Info(t.Context())
		if err != nil || info.NumAckPending != 0 || info.NumPending != 0 || info.AckFloor.Stream != info.Delivered.Stream {
			t.Errorf("%+v %v", info, err)
		}
	})
	t.Run("ordered", func(t *testing.T) {
		c, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		it, err := c.Messages()
		if err != nil {
			t.Fatal(err)
		}
		defer it.Stop()
		follow("ordered", func() (string, []byte, uint64) {
			m, err := it.Next(jetstream.NextMaxWait(harness.Patience))
			if err != nil {
				t.Fatal(err)
			}
			meta, err := m.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			return m.Subject(), m.Data(), meta.Sequence.Stream
		})
	})
	old, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string][]nats.SubOpt{
		"push":         {nats.BindStream("P"), nats.ManualAck(), nats.AckExplicit()},
		"push ordered": {nats.BindStream("P"), nats.OrderedConsumer()},
	} {
		t.Run(name, func(t *testing.T) {
			sub, err := old.SubscribeSync("p.>", opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Unsubscribe()
			follow(name, func() (string, []byte, uint64) {
				m, err := sub.NextMsg(harness.Patience)
				if err != nil {
					t.Fatal(err)
				}
				meta, err := m.Metadata()
				if err != nil {
					t.Fatal(err)
				}
				if name == "push" {
					if err := m.Ack(); err != nil {
						t.Fatal(err)
					}
				}
				return m.Subject, m.Data, meta.Sequence.Stream
			})
		})
	}
	t.Run("many workers", func(t *testing.T) {
		if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "team", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 20}); err != nil {
			t.Fatal(err)
		}
		seen := make(chan uint64, 2*count)
		for range 5 {
			own := jetStream(t, s.Connect(t))
			c, err := own.Consumer(t.Context(), "P", "team")
			if err != nil {
				t.Fatal(err)
			}
			run, err := c.Consume(func(m jetstream.Msg) {
				meta, err := m.Metadata()
				if err == nil && m.Ack() == nil {
					seen <- meta.Sequence.Stream
				}
			}, jetstream.PullMaxMessages(10))
			if err != nil {
				t.Fatal(err)
			}
			defer run.Stop()
		}
		once := map[uint64]bool{}
		for range count {
			n := harness.Receive(t, "a message", seen)
			if once[n] {
				t.Errorf("%d came twice", n)
			}
			once[n] = true
		}
	})
	// What cannot be said of several partitions is refused.
	var api *jetstream.APIError
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "COPY", Mirror: &jetstream.StreamSource{Name: "P"}})
	if !errors.As(err, &api) || !strings.Contains(api.Description, "stream P has several partitions") {
		t.Errorf("mirror: %v", err)
	}
	for text, cfg := range map[string]jetstream.ConsumerConfig{
		"start sequence": {AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 7},
		"pinned_client": {AckPolicy: jetstream.AckExplicitPolicy, PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{"g"},
			PinnedTTL: time.Minute},
	} {
		if _, err := stream.CreateConsumer(t.Context(), cfg); !errors.As(err, &api) || !strings.Contains(api.Description, text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A key-value bucket may have partitions: reads, watches and deletes are as in any other.
func TestKeyValueOverPartitions(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	js := jetStream(t, s.Connect(t))
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B", History: 3, Metadata: map[string]string{"godwit.partitions": "8"}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := js.Stream(t.Context(), "KV_B")
	if err != nil || info.CachedInfo().Config.Metadata["godwit.partitions"] != "8" {
		t.Fatalf("%+v %v", info, err)
	}
	revisions := map[string]uint64{}
	for round := range 4 {
		for k := range 30 {
			key := fmt.Sprintf("k%d", k)
			var rev uint64
			if round == 0 {
				rev, err = kv.Create(t.Context(), key, []byte("0"))
			} else {
				rev, err = kv.Update(t.Context(), key, fmt.Append(nil, round), revisions[key])
			}
			if err != nil {
				t.Fatal(err)
			}
			revisions[key] = rev
		}
	}
	if _, err := kv.Update(t.Context(), "k1", []byte("x"), revisions["k2"]); err == nil {
		t.Error("an update with the revision of another key passed")
	}
	if _, err := kv.Create(t.Context(), "k1", nil); !errors.Is(err, jetstream.ErrKeyExists) {
		t.Errorf("create of a key that exists: %v", err)
	}
	w, err := kv.WatchAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for n := 0; ; n++ {
		e := harness.Receive(t, "an entry", w.Updates())
		if e == nil {
			if n != 30 {
				t.Errorf("%d entries before the end of what is stored", n)
			}
			break
		}
		if string(e.Value()) != "3" || e.Revision() != revisions[e.Key()] {
			t.Errorf("%s: %s at %d", e.Key(), e.Value(), e.Revision())
		}
	}
	if err := kv.Delete(t.Context(), "k3"); err != nil {
		t.Fatal(err)
	}
	if e := harness.Receive(t, "the deletion", w.Updates()); e == nil || e.Key() != "k3" || e.Operation() != jetstream.KeyValueDelete {
		t.Errorf("%+v", e)
	}
	if err := kv.Purge(t.Context(), "k4"); err != nil {
		t.Fatal(err)
	}
	keys, err := kv.Keys(t.Context())
	if err != nil || len(keys) != 28 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	history, err := kv.History(t.Context(), "k5")
	if err != nil || len(history) != 3 || string(history[0].Value()) != "1" {
		t.Errorf("%v %v", history, err)
	}
	if e, err := kv.Get(t.Context(), "k6"); err != nil || string(e.Value()) != "3" {
		t.Errorf("%v %v", e, err)
	}
	st, err := kv.Status(t.Context())
	if err != nil || st.Values() == 0 {
		t.Errorf("%+v %v", st, err)
	}
}

// The nats tool works with a stream of several partitions as with any other.
func TestCLIOfPartitionedStream(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	c := newCLI(t, s)
	c.ok(t, []string{"godwit.partitions: 4"}, "stream", "add", "P", "--subjects", "p.>", "--defaults", "--metadata", "godwit.partitions=4",
		"--metadata", "godwit.partition_key=tokens:2")
	js := jetStream(t, s.Connect(t))
	for i := range 40 {
		if _, err := js.Publish(t.Context(), fmt.Sprintf("p.%d.x", i%10), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	c.ok(t, []string{"Messages: 40"}, "stream", "info", "P")
	c.ok(t, []string{"p.3.x"}, "stream", "subjects", "P")
	c.ok(t, []string{"p.4.x", "34"}, "stream", "get", "P", "-S", "p.4.x")
	c.ok(t, []string{"Unprocessed Messages: 40"}, "consumer", "add", "P", "C", "--pull", "--defaults")
	c.ok(t, []string{"Acknowledged message"}, "consumer", "next", "P", "C", "--count", "15", "--ack")
	c.ok(t, []string{"Unprocessed Messages: 25", "Consumer sequence: 15"}, "consumer", "info", "P", "C")
	c.ok(t, []string{"Description: wide"}, "stream", "edit", "P", "--description", "wide", "--force")
	dir := filepath.Join(t.TempDir(), "backup")
	c.ok(t, []string{"Received"}, "stream", "backup", "P", dir, "--no-progress")
	c.ok(t, nil, "stream", "rm", "P", "--force")
	c.ok(t, nil, "stream", "restore", dir, "--no-progress")
	s.Kill() // what was restored is on disk
	s.Start()
	c = newCLI(t, s)
	c.ok(t, []string{"Messages: 40", "godwit.partition_key: tokens:2", "Description: wide"}, "stream", "info", "P")
	c.ok(t, []string{"Acknowledged message"}, "consumer", "next", "P", "C", "--count", "25", "--ack")
	c.ok(t, []string{"Unprocessed Messages: 0"}, "consumer", "info", "P", "C")
	c.ok(t, []string{"Messages: 0"}, "stream", "purge", "P", "--force")
}
