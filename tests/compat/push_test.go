package compat

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// A push consumer without a deliver group does not begin because members of a queue group listen, and one with a group does not because
// of others. Once it has begun, all who listen get what it delivers.
func TestPushConsumerWaitsForItsOwnListeners(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := js.Publish("s", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, group, wrong string }{{"alone", "", "g"}, {"grouped", "g", ""}} {
		config := &nats.ConsumerConfig{Durable: tt.name, DeliverSubject: "to." + tt.name, DeliverGroup: tt.group, AckPolicy: nats.AckExplicitPolicy}
		if _, err := js.AddConsumer("S", config); err != nil {
			t.Fatal(err)
		}
		listen := func(group string) *nats.Subscription {
			var sub *nats.Subscription
			if group == "" {
				sub, err = nc.SubscribeSync("to." + tt.name)
			} else {
				sub, err = nc.QueueSubscribeSync("to."+tt.name, group)
			}
			if err != nil {
				t.Fatal(err)
			}
			return sub
		}
		listen(tt.wrong)
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		// Publishing makes it look whether somebody listens; the answers to later requests come after that.
		if _, err := js.Publish("s", nil); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			m, err := nc.Request(fmt.Sprintf("$JS.API.CONSUMER.INFO.S.%s", tt.name), nil, harness.Patience)
			if err != nil {
				t.Fatal(err)
			}
			var info struct {
				Delivered struct {
					Consumer uint64 `json:"consumer_seq"`
				}
				Bound bool `json:"push_bound"`
			}
			if err := json.Unmarshal(m.Data, &info); err != nil || info.Delivered.Consumer != 0 || info.Bound {
				t.Errorf("%s: %s", tt.name, m.Data)
			}
		}
		right := listen(tt.group)
		for range 3 {
			if _, err := right.NextMsg(harness.Patience); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
	}
}
