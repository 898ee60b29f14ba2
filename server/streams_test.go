package server

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"godwit/server/options"
)

// openFiles counts the files that the process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the system does not tell: %v", err)
	}
	return len(list)
}

func TestStreamsAreThereAgainAndShutdownLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	files := openFiles(t)
	dir := t.TempDir()
	start := func() *Server {
		return run(t, func(o *options.Options) { o.JetStream.Enabled, o.JetStream.StoreDir = true, dir })
	}
	s := start()
	nc := connect(t, s)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	const n = 100
	for i := range n {
		if _, err := js.Publish(fmt.Sprintf("s.%d", i%7), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := js.PullSubscribe("s.>", "C")
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := sub.Fetch(40, nats.MaxWait(5*time.Second))
	if err != nil || len(msgs) != 40 {
		t.Fatalf("fetched %d: %v", len(msgs), err)
	}
	for _, m := range msgs {
		if err := m.AckSync(); err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	s.Shutdown()

	s = start()
	nc = connect(t, s)
	if js, err = nc.JetStream(); err != nil {
		t.Fatal(err)
	}
	if sub, err = js.PullSubscribe("s.>", "C"); err != nil {
		t.Fatal(err)
	}
	for next := 40; next < n; {
		msgs, err := sub.Fetch(25, nats.MaxWait(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			if string(m.Data) != fmt.Sprint(next) {
				t.Fatalf("got %s, want %d", m.Data, next)
			}
			if err := m.Ack(); err != nil {
				t.Fatal(err)
			}
			next++
		}
	}
	nc.Close()
	s.Shutdown()
	goleak.VerifyNone(t, ignore)
	if now := openFiles(t); now > files {
		t.Errorf("%d files are open, %d before", now, files)
	}
}

// A busy stream audits its consumers, and finds nothing wrong.
func TestBusyStreamsAuditThemselves(t *testing.T) {
	s := run(t, func(o *options.Options) {
		o.JetStream.Enabled, o.JetStream.StoreDir, o.JetStream.SegmentSize = true, t.TempDir(), 4<<10
	})
	js, err := connect(t, s).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: "C", AckPolicy: nats.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	totals := func() (audited, violations uint64) {
		info := source{Server: s}.JetStream(false)
		return info.Audited, info.Violations
	}
	for n := 0; ; n++ {
		if _, err := js.Publish("s", make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
		audited, violations := totals()
		if violations > 0 {
			t.Fatalf("%d violations", violations)
		}
		if audited > 0 {
			return
		}
		if n > 10_000 {
			t.Fatal("nobody audits")
		}
	}
}
