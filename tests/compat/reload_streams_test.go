package compat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// A reload gives streams to accounts, takes them away, and changes what accounts may use, while clients are connected.
// Streams on disk are there again when their account may have them again.
func TestReloadChangesStreamsOfAccounts(t *testing.T) {
	config := func(a, b string) string {
		return fmt.Sprintf("accounts {\n A { users: [{user: a, password: p}], jetstream: %s },\n B { users: [{user: b, password: p}], jetstream: %s }\n}", a, b)
	}
	s := harness.Start(t, harness.Options{Streams: true, StreamConfig: "max_mem: 8MB, max_file: 64MB", Config: config("{max_mem: 2MB, max_file: 16MB}", "disabled")})
	js := func(user string) nats.JetStreamContext {
		js, err := s.Connect(t, as(user)).JetStream(nats.MaxWait(harness.Patience))
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	a, b := js("a"), js("b")
	reload := func(config string) {
		t.Helper()
		s.Configure(config)
		if line := s.Reload(); !strings.Contains(line, "Reloaded server configuration") {
			t.Fatal(line)
		}
	}
	limits := func(js nats.JetStreamContext, want string) {
		t.Helper()
		info, err := js.AccountInfo()
		got := fmt.Sprint(err)
		if err == nil {
			l := info.Limits
			got = fmt.Sprint(l.MaxMemory>>20, " ", l.MaxStore>>20, " ", l.MaxStreams, " ", l.MaxConsumers, " with ", info.Streams)
		}
		if got != want {
			t.Errorf("limits %s, want %s", got, want)
		}
	}
	add := func(js nats.JetStreamContext, cfg nats.StreamConfig, want error) {
		t.Helper()
		if _, err := js.AddStream(&cfg); !errors.Is(err, want) {
			t.Errorf("adding %s: %v, want %v", cfg.Name, err, want)
		}
	}
	none := nats.ErrJetStreamNotEnabledForAccount.Error()
	tooMany := &nats.APIError{ErrorCode: 10027}
	limits(a, "2 16 -1 -1 with 0")
	limits(b, none)
	add(a, nats.StreamConfig{Name: "S", Subjects: []string{"s"}}, nil)
	add(a, nats.StreamConfig{Name: "M", Subjects: []string{"m"}, Storage: nats.MemoryStorage}, nil)
	if _, err := a.Publish("s", make([]byte, 600<<10)); err != nil {
		t.Fatal(err)
	}

	reload(config("{max_mem: 1MB, max_file: 1MB, max_streams: 2, max_consumers: 3}", "disabled"))
	limits(a, "1 1 2 3 with 2")
	add(a, nats.StreamConfig{Name: "T", Subjects: []string{"t"}}, tooMany)
	if _, err := a.Publish("s", make([]byte, 600<<10)); err == nil {
		t.Error("a publish beyond the new limit was accepted")
	}

	reload(config("{max_mem: 2MB, max_file: 16MB}", "enabled"))
	limits(a, "2 16 -1 -1 with 2")
	limits(b, "-1 -1 -1 -1 with 0")
	add(a, nats.StreamConfig{Name: "T", Subjects: []string{"t"}}, nil)
	if _, err := a.Publish("s", make([]byte, 600<<10)); err != nil {
		t.Errorf("a publish within the new limit: %v", err)
	}
	add(b, nats.StreamConfig{Name: "S", Subjects: []string{"s"}}, nil)

	reload(config("disabled", "enabled"))
	limits(a, none)
	if _, err := a.Publish("s", nil); err != nats.ErrNoStreamResponse {
		t.Errorf("a publish into a stream that was closed: %v", err)
	}
	limits(b, "-1 -1 -1 -1 with 1")
	if _, err := b.Publish("s", nil); err != nil {
		t.Errorf("another account's stream: %v", err)
	}

	reload(config("{max_mem: 2MB, max_file: 16MB}", "enabled"))
	limits(a, "2 16 -1 -1 with 2") // the one in memory is gone
	if m, err := a.GetMsg("S", 2); err != nil || len(m.Data) != 600<<10 {
		t.Errorf("the message stored before: %v", err)
	}
	if _, err := a.Publish("s", nil); err != nil {
		t.Errorf("a publish after all: %v", err)
	}

	// More than the server has is not promised to anybody; what was in force stays so.
	reload(config("{max_mem: 2MB, max_file: 1GB}", "enabled"))
	limits(a, "2 16 -1 -1 with 2")
	s.WaitLog("insufficient storage resources available")
}

// Accounts are promised no more than the server has.
func TestMoreStorageThanThereIs(t *testing.T) {
	for _, tt := range []struct{ limits, want string }{
		{"{max_mem: 5MB, max_file: 1MB}", "insufficient memory resources available"},
		{"{max_mem: 1MB, max_file: 50MB}", "insufficient storage resources available"},
	} {
		s := harness.New(t, harness.Options{Streams: true, StreamConfig: "max_mem: 8MB, max_file: 64MB",
			Config: fmt.Sprintf("accounts { A { jetstream: %s }, B { jetstream: %s } }", tt.limits, tt.limits)})
		if log := s.StartExpectingFailure(); !strings.Contains(log, "Can't start JetStream: ") || !strings.Contains(log, tt.want) {
			t.Errorf("%s: %s", tt.limits, log)
		}
	}
}

// A reload turns streams off and on, and changes their bounds.
func TestReloadTurnsStreamsOffAndOn(t *testing.T) {
	s := harness.New(t, harness.Options{})
	block := func(file, more string) string {
		return fmt.Sprintf("jetstream { store_dir: %q, max_mem: 8MB, max_file: %s, %s }", s.Dir()+"/data", file, more)
	}
	s.Configure(block("1MB", ""))
	s.Start()
	nc := s.Connect(t)
	js, err := nc.JetStream(nats.MaxWait(harness.Patience))
	if err != nil {
		t.Fatal(err)
	}
	reload := func(config string, enabled bool) {
		t.Helper()
		s.Configure(config)
		if line := s.Reload(); !strings.Contains(line, "Reloaded server configuration") {
			t.Fatal(line)
		}
		if info := s.Raw(t).Info; info.JetStream != enabled {
			t.Errorf("INFO says %v", info.JetStream)
		}
		var z struct {
			Disabled bool
			Streams  int
			Config   struct {
				Max int64 `json:"max_storage"`
			}
			Limits struct {
				Pending int `json:"max_ack_pending"`
			}
		}
		s.Monitor(t, "/jsz", &z)
		if z.Disabled == enabled || enabled && z.Streams != 1 {
			t.Errorf("/jsz: %+v", z)
		}
		if want := strings.Contains(config, "max_ack_pending: 7"); (z.Limits.Pending == 7) != want {
			t.Errorf("/jsz shows max_ack_pending %d", z.Limits.Pending)
		}
		if want := strings.Contains(config, "2MB"); (z.Config.Max == 2<<20) != want {
			t.Errorf("/jsz shows max_storage %d", z.Config.Max)
		}
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish("s", make([]byte, 800<<10)); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish("s", make([]byte, 800<<10)); err == nil && !harness.OnPeer() {
		t.Error("a publish beyond max_file was accepted")
	}
	reload(block("2MB", "limits: {max_ack_pending: 7}"), true)
	if _, err := js.Publish("s", make([]byte, 800<<10)); err != nil {
		t.Errorf("a publish within the new max_file: %v", err)
	}
	if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: "C", AckPolicy: nats.AckExplicitPolicy, MaxAckPending: 8}); err == nil {
		t.Error("a consumer beyond the new max_ack_pending was made")
	}
	if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: "C", AckPolicy: nats.AckExplicitPolicy, MaxAckPending: 7}); err != nil {
		t.Error(err)
	}

	reload("", false)
	if _, err := js.Publish("s", nil); err != nats.ErrNoStreamResponse {
		t.Errorf("a publish without streams: %v", err)
	}
	sub := subscribe(t, nc, "s") // core messaging goes on
	publish(t, nc, "s")
	next(t, sub)

	reload(block("1MB", ""), true)
	if _, err := js.ConsumerInfo("S", "C"); err != nil {
		t.Error(err)
	}
	if m, err := js.GetMsg("S", 2); err != nil || len(m.Data) != 800<<10 {
		t.Errorf("the last message: %v", err)
	}
	s.Restart()
	if _, err := s.Connect(t).Request("$JS.API.STREAM.INFO.S", nil, harness.Patience); err != nil {
		t.Error(err)
	}
}
