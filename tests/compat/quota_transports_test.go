package compat

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// Quotas hold however a client is connected: it is slowed down, nothing is lost or out of order, and what is beyond is
// refused.
func TestQuotasOverTLSAndWebSocket(t *testing.T) {
	k := newKeys(t)
	s := startQuotas(t, `
		accounts { A { users: [
			{user: watch, password: p}
			{user: tls, password: p, quota {messages: 1000, burst: 100ms}}
			{user: ws, password: p, quota {messages: 1000, burst: 100ms}}
			{user: wsz, password: p, quota {bytes: "100KB", burst: 100ms}}
			{user: beyond, password: p, quota {messages: 100, burst: 1s, max_delay: 0s}}
		] } }
		`+k.config("")+"\n"+websocketBlock(k.config("")+"\ncompression: true"))
	connect := func(url, user string, opts ...nats.Option) *nats.Conn {
		t.Helper()
		nc, err := nats.Connect(url, append([]nats.Option{as(user), nats.Secure(k.dial(false)), nats.NoReconnect()}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	watch := connect(s.URL(), "watch")
	var wg sync.WaitGroup
	for _, tt := range []struct {
		user, url  string
		opts       []nats.Option
		msgs, size int
		least      time.Duration
	}{
		{"tls", s.URL(), nil, 1400, 10, 1100 * time.Millisecond},
		{"ws", websocketURL(s), nil, 1400, 10, 1100 * time.Millisecond},
		{"wsz", websocketURL(s), []nats.Option{nats.Compression(true)}, 150, 1 << 10, 1100 * time.Millisecond}, // what counts is the size of messages
	} {
		sub := subscribe(t, watch, tt.user)
		nc := connect(tt.url, tt.user, tt.opts...)
		wg.Go(func() {
			if took := flood(t, nc, tt.user, tt.msgs, tt.size); took < tt.least || took > 10*tt.least {
				t.Errorf("%s: %d messages of %d bytes took %v", tt.user, tt.msgs, tt.size, took)
			}
			if got := received(t, sub, watch); got != tt.msgs || nc.LastError() != nil {
				t.Errorf("%s: %d of %d messages came; %v", tt.user, got, tt.msgs, nc.LastError())
			}
			cid, _ := nc.GetClientID()
			var connz struct {
				Connections []struct {
					Cid       uint64
					Throttled string
				}
			}
			s.Monitor(t, "/connz", &connz)
			for _, c := range connz.Connections {
				if d, _ := time.ParseDuration(c.Throttled); c.Cid == cid && d < tt.least/2 {
					t.Errorf("%s: throttled for %q", tt.user, c.Throttled)
				}
			}
		})
	}
	wg.Wait()
	for name, url := range map[string]string{"TLS": s.URL(), "WebSocket": websocketURL(s)} {
		told := make(chan error, 100)
		nc := connect(url, "beyond", nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { told <- err }))
		flood(t, nc, "beyond", 500, 1)
		if err := harness.Receive(t, "error over "+name, told); !strings.Contains(err.Error(), "publish quota exceeded: messages of the user") {
			t.Errorf("%s: %v", name, err)
		}
		if !nc.IsConnected() {
			t.Errorf("%s: the client was closed", name)
		}
	}
}
