package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// startQuotas starts a server of our own kind: nats-server has no quotas.
func startQuotas(t *testing.T, config string) *harness.Server {
	t.Helper()
	if harness.OnPeer() {
		t.Skip("quotas are ours")
	}
	return harness.Start(t, harness.Options{Streams: true, Config: config})
}

// flood publishes n messages and waits until the server has seen them.
func flood(t *testing.T, nc *nats.Conn, subject string, n, size int) time.Duration {
	t.Helper()
	start := time.Now()
	body := make([]byte, size)
	for range n {
		if err := nc.Publish(subject, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.FlushTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// received is how many messages have come to sub; its connection is flushed.
func received(t *testing.T, sub *nats.Subscription, nc *nats.Conn) int {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	n, _, err := sub.Pending()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFastPublishersAreSlowedDown(t *testing.T) {
	s := startQuotas(t, `
		accounts {
			A { users: [{user: a, password: p}, {user: a2, password: p, quota {bytes: "40KB", burst: 100ms}}], jetstream: enabled
				quota {messages: 2000, burst: 100ms} }
			B { users: [{user: b, password: p}] }
		}`)
	a, a2, b, watch := s.Connect(t, as("a")), s.Connect(t, as("a2")), s.Connect(t, as("b")), s.Connect(t, as("a"))
	sub := subscribe(t, watch, "x")
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		if took := flood(t, a, "x", 3200, 10); took < 1400*time.Millisecond {
			t.Errorf("3200 messages at 2000/s took %v", took)
		}
	})
	floods := 0
	for waiting := true; waiting; floods++ { // who is in another account notices nothing
		flood(t, b, "x", 2000, 10)
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	wg.Wait()
	if floods < 3 {
		t.Errorf("another account published %d times 2000 messages meanwhile", floods)
	}
	if got := received(t, sub, watch); got != 3200 {
		t.Errorf("%d messages came of 3200", got)
	}
	if took := flood(t, a2, "x", 60, 1<<10); took < 1300*time.Millisecond {
		t.Errorf("60 KB at 40 KB/s took %v", took)
	}
	if a.LastError() != nil || a2.LastError() != nil {
		t.Error(a.LastError(), a2.LastError())
	}

	var accountz struct {
		Detail struct {
			Quota struct {
				Messages, Burst int64
				MaxDelay        int64 `json:"max_delay"`
				Throttled       int64 `json:"throttled_time"`
				Refused         int64 `json:"refused_msgs"`
				Users           map[string]struct {
					Bytes     int64
					Throttled int64 `json:"throttled_time"`
				}
			}
		} `json:"account_detail"`
	}
	s.Monitor(t, "/accountz?acc=A", &accountz)
	q := accountz.Detail.Quota
	if q.Messages != 2000 || q.Burst != 1e8 || q.MaxDelay != 2e9 || q.Throttled < 2e9 || q.Refused != 0 || len(q.Users) != 1 ||
		q.Users["a2"].Bytes != 40<<10 || q.Users["a2"].Throttled < 1e9 {
		t.Errorf("/accountz: %+v", q)
	}
	if page := string(s.Page(t, "/accountz?acc=B")); strings.Contains(page, "quota") {
		t.Errorf("/accountz shows a quota of one who has none: %s", page)
	}
	var connz struct {
		Connections []struct {
			Cid       uint64
			Throttled string
		}
	}
	s.Monitor(t, "/connz", &connz)
	first, _ := a.GetClientID()
	second, _ := a2.GetClientID()
	for _, c := range connz.Connections {
		if d, _ := time.ParseDuration(c.Throttled); (d > time.Second) != (c.Cid == first || c.Cid == second) {
			t.Errorf("/connz: %+v", c)
		}
	}
	var varz struct {
		Throttled int64 `json:"throttled_time"`
	}
	if s.Monitor(t, "/varz", &varz); varz.Throttled != q.Throttled {
		t.Errorf("/varz: %d, /accountz: %d", varz.Throttled, q.Throttled)
	}
	metrics := string(s.Page(t, "/metrics"))
	for _, want := range []string{`godwit_quota_limit{account="A",of="messages"} 2000`, `godwit_quota_throttled_seconds_total{account="A"} `,
		`godwit_quota_refused_messages_total{account="A"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

// Beyond what may be held back messages are refused. The client is told and stays; requests are answered.
func TestMessagesBeyondTheQuotaAreRefused(t *testing.T) {
	s := startQuotas(t, `
		accounts {
			A { users: [{user: a, password: p}], jetstream: enabled, quota {messages: 1, burst: 1h, max_delay: 0s} }
			B { users: [{user: b, password: p}], jetstream: enabled }
		}
		no_auth_user: a`)
	told := make(chan error, 100)
	a := s.Connect(t, as("a"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { told <- err }))
	watch := s.Connect(t, as("b"))
	b, sub := s.Connect(t, as("b")), subscribe(t, watch, "x")
	if _, err := streamsOf(t, a, "").CreateStream(waiting(t), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	seen := subscribe(t, a, "x")
	flood(t, a, "x", 5000, 10)
	err := harness.Receive(t, "an error", told)
	if !errors.Is(err, nats.ErrPermissionViolation) ||
		!strings.Contains(err.Error(), `Permissions Violation for Publish to "x": publish quota exceeded: messages of the account, try again in `) ||
		!strings.Contains(err.Error(), " (20001), ") {
		t.Error(err)
	}
	if got := received(t, seen, a); got < 3590 || got > 3630 {
		t.Errorf("%d of 5000 came, 3600 may", got)
	}
	drain := func() { flood(t, a, "drain", 50, 0) } // takes what has come in meanwhile
	drain()
	m, err := a.Request("nobody", []byte("x"), harness.Patience)
	if err != nil || m.Header.Get("Status") != "429" || m.Header.Get("Description") != "Too Many Requests" {
		t.Fatalf("%+v %v", m, err)
	}
	if d, err := time.ParseDuration(m.Header.Get("Godwit-Retry-After")); err != nil || d <= 0 || d > 2*time.Second {
		t.Error(m.Header)
	}
	var answer struct{ Error *jetstream.APIError }
	if err := json.Unmarshal(m.Data, &answer); err != nil || answer.Error == nil || answer.Error.Code != 429 || answer.Error.ErrorCode != 20001 {
		t.Errorf("%s", m.Data)
	}
	var refused *jetstream.APIError
	drain()
	if _, err := streamsOf(t, a, "").Publish(waiting(t), "s", nil); !errors.As(err, &refused) || refused.ErrorCode != 20001 {
		t.Errorf("publish into a stream: %v", err)
	}
	drain()
	if _, err := streamsOf(t, a, "").Stream(waiting(t), "S"); !errors.As(err, &refused) || refused.ErrorCode != 20001 {
		t.Errorf("request: %v", err)
	}
	if !a.IsConnected() {
		t.Error("the client was closed")
	}
	if flood(t, b, "x", 1000, 1); received(t, sub, watch) != 1000 {
		t.Error("another account is bounded, too")
	}

	// On the wire: one word for what a read brought, or one for each message to those who wait for it.
	raw := s.Raw(t)
	raw.Connect(harness.QuietConnect)
	drain()
	raw.Send("PUB y 1\r\nx\r\nPUB y 1\r\nx\r\nPUB y 1\r\nx\r\n")
	text := raw.UntilPong(0)
	if !strings.HasPrefix(text, `-ERR 'Permissions Violation for Publish to "y": publish quota exceeded: messages of the account, try again in `) ||
		!strings.Contains(text, " (20001), ") || !strings.Contains(text, " refused'\r\n") {
		t.Errorf("got %q", text)
	}
	verbose := s.Raw(t)
	verbose.Send("CONNECT {\"verbose\":true}\r\n")
	verbose.Expect("+OK\r\n")
	verbose.Send(strings.Repeat("PUB y 1\r\nx\r\n", 100))
	if text := verbose.UntilPong(0); strings.Count(text, ", 1 refused'\r\n") < 90 || strings.Count(text, "\r\n") != 100 {
		t.Errorf("got %q", text)
	}
	var connz struct {
		Connections []struct {
			Cid     uint64
			Refused int64 `json:"refused_msgs"`
		}
	}
	s.Monitor(t, "/connz", &connz)
	id, _ := a.GetClientID()
	for _, c := range connz.Connections {
		if c.Cid == id && (c.Refused < 1370 || c.Refused > 1700) {
			t.Errorf("/connz: %+v", c)
		}
	}
}

// Requests to the JetStream API have a rate of their own. Pull requests and direct gets get a status, others an answer of
// their type, and acknowledgements are never refused.
func TestRequestsBeyondTheQuotaAreRefused(t *testing.T) {
	s := startQuotas(t, `quotas { account {requests: 1, burst: 8s, max_delay: 0s} }`)
	nc := s.Connect(t)
	ctx := waiting(t)
	js := streamsOf(t, nc, "")
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
	m, err := c.Next()
	if err != nil {
		t.Fatal(err)
	}
	var refused *jetstream.APIError
	for n := 0; ; n++ {
		if _, err = stream.Info(ctx); err != nil {
			break
		} else if n > 1000 {
			t.Fatal("requests are not refused")
		}
	}
	if !errors.As(err, &refused) || refused.Code != 429 || refused.ErrorCode != 20002 ||
		!strings.HasPrefix(refused.Description, "request quota exceeded: requests of the account, try again in ") {
		t.Errorf("%v", err)
	}
	r, err := nc.Request("$JS.API.STREAM.NAMES", nil, harness.Patience)
	if err != nil || !strings.HasPrefix(string(r.Data), `{"type":"io.nats.jetstream.api.v1.stream_names_response","error":{"code":429,"err_code":20002,`) ||
		!strings.HasSuffix(string(r.Data), `"total":0,"offset":0,"limit":0,"streams":null}`) {
		t.Errorf("%s %v", r.Data, err)
	}
	for _, subject := range []string{"$JS.API.CONSUMER.MSG.NEXT.S.C", "$JS.API.DIRECT.GET.S"} {
		if r, err := nc.Request(subject, nil, harness.Patience); err != nil || len(r.Data) > 0 || r.Header.Get("Status") != "429" {
			t.Errorf("%s: %+v %v", subject, r, err)
		}
	}
	if err := m.DoubleAck(ctx); err != nil {
		t.Errorf("an acknowledgement was refused: %v", err)
	}
	if _, err := js.Publish(ctx, "s", []byte("y")); err != nil {
		t.Errorf("a publish was refused: %v", err)
	}
	if metrics := string(s.Page(t, "/metrics")); !strings.Contains(metrics, `godwit_quota_refused_requests_total{account="$G"} `) {
		t.Error("/metrics does not show it")
	}
	if page := string(s.Page(t, "/accountz?acc=$SYS")); strings.Contains(page, "quota") {
		t.Errorf("the system account has a quota: %s", page)
	}
}

// A reload changes rates of connections that are there, and takes them away.
func TestReloadChangesQuotas(t *testing.T) {
	config := func(account, user string) string {
		return fmt.Sprintf("accounts { A { users: [{user: a, password: p%s}]%s } }", user, account)
	}
	s := startQuotas(t, config("", ""))
	a := s.Connect(t, as("a"))
	flood(t, a, "x", 10_000, 10)
	s.Configure(config(", quota {messages: 1000, burst: 100ms}", ""))
	s.Reload()
	if took := flood(t, a, "x", 1600, 10); took < time.Second {
		t.Errorf("1600 messages at 1000/s took %v", took)
	}
	s.Configure(config("", ", quota {messages: 1000, burst: 100ms}"))
	s.Reload()
	if took := flood(t, a, "x", 1600, 10); took < time.Second {
		t.Errorf("1600 messages at 1000/s of the user took %v", took)
	}
	s.Configure("quotas {account {messages: 1000, burst: 100ms}}\n" + config(", quota {}", ""))
	s.Reload()
	fast := flood(t, a, "x", 10_000, 10)
	s.Configure("quotas {user {messages: 1000, burst: 100ms}}\n" + config(", quota {}", ""))
	s.Reload()
	if took := flood(t, a, "x", 1600, 10); took < time.Second {
		t.Errorf("1600 messages at 1000/s of each user took %v", took)
	}
	s.Configure(config("", ""))
	s.Reload()
	if fast += flood(t, a, "x", 10_000, 10); fast > 10*time.Second { // 20 s with the quota
		t.Errorf("20,000 messages without a quota took %v", fast)
	}
}

// A connection that is held back is there: it answers when its time has come, and a shutdown does not wait for it.
func TestShutdownWhileHeldBack(t *testing.T) {
	s := startQuotas(t, "quotas {account {messages: 1, burst: 1ms, max_delay: 30s}}")
	raw := s.Raw(t)
	raw.Connect(harness.QuietConnect)
	raw.Send("PUB x 1\r\nx\r\nPING\r\nPUB x 1\r\nx\r\nPUB x 1\r\nx\r\n" + strings.Repeat("PUB x 1\r\nx\r\n", 100))
	raw.UntilPong(0) // of what came before the first pause
	harness.Eventually(t, func() error {
		var connz struct {
			Connections []struct{ Throttled string }
		}
		s.Monitor(t, "/connz", &connz)
		if len(connz.Connections) != 1 || connz.Connections[0].Throttled == "" {
			return fmt.Errorf("%+v", connz)
		}
		return nil
	})
	start := time.Now()
	s.Signal(syscall.SIGTERM)
	s.WaitEnd()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the server took %v to stop", took)
	}
}
