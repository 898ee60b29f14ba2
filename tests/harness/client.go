package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect opens a connection of the official client, closed at the end of the test. It does not
// reconnect by itself, unless an option says so.
func (s *Server) Connect(t testing.TB, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.URL(), append([]nats.Option{nats.NoReconnect(), nats.Timeout(Patience)}, opts...)...)
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, s.Log())
	}
	t.Cleanup(nc.Close)
	return nc
}

// Monitor fetches a monitoring page, such as /varz, and decodes it into out.
func (s *Server) Monitor(t testing.TB, path string, out any) {
	t.Helper()
	if err := json.Unmarshal(s.Page(t, path), out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Page fetches a monitoring page.
func (s *Server) Page(t testing.TB, path string) []byte {
	t.Helper()
	code, body := s.Answer(t, path)
	if code != http.StatusOK {
		t.Fatalf("%s: %d: %s", path, code, body)
	}
	return body
}

// Answer fetches a monitoring page that may say that something is wrong.
func (s *Server) Answer(t testing.TB, path string) (code int, body []byte) {
	t.Helper()
	if s.monitor == "" {
		t.Fatalf("no line in the log tells the monitoring port:\n%s", s.Log())
	}
	client := http.Client{Timeout: Patience}
	resp, err := client.Get(s.monitor + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// Eventually waits until check returns no error, and fails the test with the last one otherwise.
func Eventually(t testing.TB, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("after %v: %v", Patience, err)
}

// Receive takes the next value of a channel, or fails the test.
func Receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(Patience):
		t.Fatalf("no %s within %v", what, Patience)
		panic("unreachable")
	}
}

// Want is an error unless got equals want: a step of an Eventually check.
func Want[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// MonitorURL is the address of the monitoring port, without a slash at its end.
func (s *Server) MonitorURL() string { return s.monitor }
