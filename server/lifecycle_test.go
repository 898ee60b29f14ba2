package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"godwit/server/monitor"
	"godwit/server/options"
)

// raw is a client without a library.
type raw struct {
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, s *Server) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", s.ClientAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	c := &raw{nc, bufio.NewReader(nc)}
	if line := c.line(t); !strings.HasPrefix(line, "INFO {") {
		t.Fatalf("got %q, want INFO", line)
	}
	return c
}

func (c *raw) line(t testing.TB) string {
	t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		t.Fatalf("after %q: %v", line, err)
	}
	return strings.TrimRight(line, "\r\n")
}

func (c *raw) send(t testing.TB, text string) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// sync sends text and a PING and returns what comes before the PONG.
func (c *raw) sync(t testing.TB, text string) []string {
	t.Helper()
	c.send(t, text+"PING\r\n")
	var lines []string
	for {
		line := c.line(t)
		if line == "PONG" {
			return lines
		}
		if !strings.HasPrefix(line, "INFO ") {
			lines = append(lines, line)
		}
	}
}

const connectQuiet = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}` + "\r\n"

func TestShutdownLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := run(t, func(o *options.Options) {
		o.Monitoring.HTTPHost, o.Monitoring.HTTPPort = "127.0.0.1", options.RandomPort
	})
	for i := range 20 {
		c := dial(t, s)
		c.sync(t, fmt.Sprintf("%sSUB a.%d 1\r\nSUB b.* q 2\r\n", connectQuiet, i))
		if i%2 == 0 {
			c.Close()
		}
	}
	s.Shutdown()
	for _, a := range s.accounts.All() {
		if n := a.Index().Stats().Subscriptions; n != 0 {
			t.Errorf("%d subscriptions are left in %s", n, a.Name())
		}
		if n, _ := a.Conns(); n != 0 {
			t.Errorf("%d connections are left in %s", n, a.Name())
		}
	}
	if n := s.env.Registry.Len(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func TestReaderThatNeverReadsDelaysNobody(t *testing.T) {
	s := run(t, func(o *options.Options) { o.MaxPending = 4 << 20 })
	deaf := dial(t, s)
	deaf.sync(t, connectQuiet+"SUB big 1\r\n") // and reads nothing more
	sub := connect(t, s)
	got, err := sub.SubscribeSync("big")
	if err != nil {
		t.Fatal(err)
	}
	got.SetPendingLimits(-1, -1)
	if err := sub.Flush(); err != nil {
		t.Fatal(err)
	}
	pub := connect(t, s)
	const n = 400
	payload := make([]byte, 64<<10)
	for range n {
		if err := pub.Publish("big", payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := pub.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := got.NextMsg(10 * time.Second); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if n := s.env.Registry.Totals().SlowPending; n != 1 {
		t.Errorf("%d slow consumers, want 1", n)
	}
}

func TestLameDuckTellsClientsAndClosesThem(t *testing.T) {
	s := run(t, func(o *options.Options) {
		o.LameDuckDuration, o.LameDuckGrace = 200*time.Millisecond, 50*time.Millisecond
	})
	told, closed := make(chan struct{}), make(chan struct{})
	connect(t, s, nats.LameDuckModeHandler(func(*nats.Conn) { close(told) }), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	addr := s.ClientAddr().String()
	go s.LameDuck()
	<-told
	if nc, err := net.Dial("tcp", addr); err == nil {
		nc.Close()
		t.Error("a new client could connect")
	}
	<-closed
	<-s.Done()
}

func TestReloadChangesLimitsAndRights(t *testing.T) {
	users := func(allow string) []*options.User {
		return []*options.User{{Username: "a", Password: "pa", Permissions: &options.Permissions{
			Subscribe: &options.SubjectPermission{Allow: []string{allow, "_INBOX.>"}}, Publish: &options.SubjectPermission{Allow: []string{allow}}}},
			{Username: "b", Password: "pb"}}
	}
	s := run(t, func(o *options.Options) { o.Authorization.Users = users("old.>") })
	errs := make(chan error, 10)
	a := connect(t, s, nats.UserInfo("a", "pa"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	if _, err := a.SubscribeSync("old.x"); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	connect(t, s, nats.UserInfo("b", "pb"), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { gone <- err }))

	next := *s.options()
	next.Authorization.Users = users("new.>")[:1]
	next.MaxPayload = 10
	if err := s.Reload(&next); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("user that is gone: got %v, want %v", err, nats.ErrAuthorization)
	}
	if err := <-errs; !strings.Contains(err.Error(), `Subscription to "old.x"`) {
		t.Errorf("got %v", err)
	}
	sub, err := a.SubscribeSync("new.x")
	if err != nil {
		t.Fatal(err)
	}
	for _, subj := range []string{"old.x", "new.x"} {
		if err := a.Publish(subj, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sub.NextMsg(5 * time.Second); err != nil {
		t.Error(err)
	}
	if err := <-errs; !strings.Contains(err.Error(), `Publish to "old.x"`) {
		t.Errorf("got %v", err)
	}
}

func TestReloadWithLowerMaxConnectionsClosesSurplus(t *testing.T) {
	s := run(t, nil)
	closed := make(chan error, 3)
	for range 3 {
		connect(t, s, nats.NoReconnect(), nats.ClosedHandler(func(nc *nats.Conn) { closed <- nc.LastError() }))
	}
	next := *s.options()
	next.MaxConn = 1
	if err := s.Reload(&next); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-closed; err != nats.ErrMaxConnectionsExceeded {
			t.Errorf("got %v", err)
		}
	}
	c, err := net.Dial("tcp", s.ClientAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(c)
	for _, want := range []string{"INFO ", "-ERR 'maximum connections exceeded'"} {
		if line, err := r.ReadString('\n'); !strings.HasPrefix(line, want) {
			t.Errorf("got %q, %v; want %s", line, err, want)
		}
	}
}

func TestSubscriptionsOfSecondConnectAreGone(t *testing.T) {
	s := run(t, nil)
	c := dial(t, s)
	c.sync(t, connectQuiet+"SUB a 1\r\n")
	if got := c.sync(t, connectQuiet+"PUB a 0\r\n\r\n"); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	if got := c.sync(t, "SUB a 1\r\nPUB a 0\r\n\r\n"); len(got) != 2 || got[0] != "MSG a 1 0" {
		t.Errorf("got %q", got)
	}
}

// Monitoring measures round trips, but a client that is connecting must not get a PING where it waits for PONG.
func TestMonitoringDoesNotDisturbClientsThatConnect(t *testing.T) {
	s := run(t, nil)
	src := source{Server: s}
	c := dial(t, s)
	poll := func() { src.EachConn(func(*monitor.Conn) bool { return true }) }
	c.send(t, `CONNECT {"verbose":true,"lang":"go"}`+"\r\n")
	if got := c.line(t); got != "+OK" {
		t.Fatalf("got %q", got)
	}
	poll()
	c.send(t, "PING\r\n")
	if got := c.line(t); got != "PONG" {
		t.Fatalf("got %q, want PONG", got)
	}
	for deadline := time.Now().Add(10 * time.Second); ; poll() { // once it is connected, it is asked
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		line, err := c.r.ReadString('\n')
		if err == nil && strings.HasPrefix(line, "PING") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no PING; got %q, %v", line, err)
		}
	}
}
