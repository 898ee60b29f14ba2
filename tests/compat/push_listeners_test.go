package compat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// A push consumer goes on only while somebody listens on its very subject, in its group if it has one: who looks on with
// wildcards, or in another group, takes no messages out of it.
func TestPushNeedsAListener(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish("s.1", []byte("m")); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		group            string // of the consumer
		subject, inGroup string // of the subscription; %s is the consumer's subject without its last token
		bound            bool
	}{
		{"", "%s.x", "", true},
		{"", "%s.x", "q", false},
		{"", "%s.*", "", false},
		{"", ">", "", false},
		{"q", "%s.x", "q", true},
		{"q", "%s.x", "", false},
		{"q", "%s.x", "other", false},
		{"q", "%s.*", "q", false},
	} {
		t.Run(fmt.Sprintf("%q in %q, consumer in %q", tt.subject, tt.inGroup, tt.group), func(t *testing.T) {
			name := fmt.Sprintf("C%d", i)
			other := s.Connect(t)
			subject := strings.Replace(tt.subject, "%s", name, 1)
			got, err := other.QueueSubscribeSync(subject, tt.inGroup)
			if err == nil {
				err = other.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			info, err := js.AddConsumer("S", &nats.ConsumerConfig{Name: name, Durable: name, DeliverSubject: name + ".x", DeliverGroup: tt.group, AckPolicy: nats.AckNonePolicy})
			if err != nil {
				t.Fatal(err)
			}
			if info.PushBound != tt.bound {
				t.Errorf("bound: %v", info.PushBound)
			}
			if tt.bound {
				if m := next(t, got); m.Subject != "s.1" {
					t.Errorf("got %q", m.Subject)
				}
				return
			}
			other.Close() // a member of the group would get the message
			// Somebody comes who listens: the message is still there.
			if sub, err := nc.QueueSubscribeSync(name+".x", tt.group); err != nil {
				t.Fatal(err)
			} else if m := next(t, sub); m.Subject != "s.1" || strings.Split(m.Reply, ".")[4] != "1" {
				t.Errorf("got %q %q", m.Subject, m.Reply)
			}
		})
	}
}
