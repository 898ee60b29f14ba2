package compat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// With js_ack_fc_v2 deliveries name the domain and the account; both forms are understood.
func TestLongAcknowledgements(t *testing.T) {
	for _, tt := range []struct{ flag, domain, place string }{
		{"false", "", ""},
		{"true", "", "_.szMpdrwD."},
		{"true", "DOM", "DOM.szMpdrwD."},
	} {
		t.Run(tt.flag+tt.domain, func(t *testing.T) {
			config := ""
			if tt.domain != "" {
				config = "domain: " + tt.domain
			}
			s := harness.Start(t, harness.Options{Streams: true, StreamConfig: config, Config: "feature_flags { js_ack_fc_v2: " + tt.flag + " }"})
			nc := s.Connect(t)
			js, err := nc.JetStream()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
				t.Fatal(err)
			}
			payload := make([]byte, 100<<10)
			for range 40 {
				if _, err := js.Publish("s.1", payload); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Name: "P", Durable: "P", AckPolicy: nats.AckExplicitPolicy}); err != nil {
				t.Fatal(err)
			}
			sub, err := js.PullSubscribe("", "P", nats.Bind("S", "P"))
			if err != nil {
				t.Fatal(err)
			}
			msgs, err := sub.Fetch(2, nats.MaxWait(harness.Patience))
			if err != nil || len(msgs) != 2 {
				t.Fatal(len(msgs), err)
			}
			for i, m := range msgs {
				prefix := fmt.Sprintf("$JS.ACK.%sS.P.1.%d.%d.", tt.place, i+1, i+1)
				if !strings.HasPrefix(m.Reply, prefix) {
					t.Errorf("acknowledged on %q, want %q", m.Reply, prefix)
				}
				if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream != uint64(i+1) {
					t.Errorf("metadata %+v, %v", meta, err)
				}
			}
			if err := msgs[0].AckSync(nats.AckWait(harness.Patience)); err != nil {
				t.Error(err)
			}
			short := strings.Replace(msgs[1].Reply, tt.place, "", 1)
			if _, err := nc.Request(short, nil, harness.Patience); err != nil {
				t.Errorf("acknowledgement on %q: %v", short, err)
			}
			info, err := js.ConsumerInfo("S", "P")
			if err != nil || info.AckFloor.Stream != 2 {
				t.Errorf("%+v, %v", info, err)
			}

			flow := subscribe(t, nc, "flow")
			if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Name: "F", Durable: "F", DeliverSubject: "flow", FlowControl: true,
				Heartbeat: 10 * time.Second, AckPolicy: nats.AckNonePolicy}); err != nil {
				t.Fatal(err)
			}
			for count := 0; count < 40; {
				m := next(t, flow)
				switch {
				case m.Subject == "s.1":
					count++
				case m.Header.Get("Description") == "FlowControl Request":
					if want := "$JS.FC." + tt.place + "S.F."; !strings.HasPrefix(m.Reply, want) {
						t.Errorf("flow control on %q, want %q", m.Reply, want)
					}
					if err := m.Respond(nil); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
