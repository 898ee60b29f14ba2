package websocket

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"godwit/server/options"
)

func TestNewChecksOptions(t *testing.T) {
	tests := []struct {
		name   string
		change func(*options.Websocket)
		want   string
	}{
		{"good", func(*options.Websocket) {}, ""},
		{"no TLS", func(o *options.Websocket) { o.NoTLS = false }, "websocket requires TLS configuration"},
		{"origin is no URL", func(o *options.Websocket) { o.AllowedOrigins = []string{"foo"} }, `unable to parse allowed origin: parse "foo": invalid URI for request`},
		{"origin is empty", func(o *options.Websocket) { o.AllowedOrigins = []string{""} }, `unable to parse allowed origin: parse "": empty url`},
		{"origin without scheme", func(o *options.Websocket) { o.AllowedOrigins = []string{"http://x", "//a"} }, `unable to parse allowed origin "//a": allowed origins must be absolute URLs with http or https scheme`},
		{"origin is host and port", func(o *options.Websocket) { o.AllowedOrigins = []string{"a.com:80"} }, `unable to parse allowed origin "a.com:80": allowed origins must be absolute URLs with http or https scheme`},
		{"origin of another scheme", func(o *options.Websocket) { o.AllowedOrigins = []string{"ftp://a"} }, `unable to parse allowed origin "ftp://a": allowed origins must be absolute URLs with http or https scheme`},
		{"origin without host", func(o *options.Websocket) { o.AllowedOrigins = []string{"http:///x"} }, `unable to parse allowed origin "http:///x": host is required`},
		{"header name", func(o *options.Websocket) { o.Headers = map[string]string{"a b": "c"} }, `websocket: header "a b" is not a valid name`},
		{"no header name", func(o *options.Websocket) { o.Headers = map[string]string{"": "c"} }, `websocket: header "" is not a valid name`},
		{"header of two lines", func(o *options.Websocket) { o.Headers = map[string]string{"a": "b\r\nc: d"} }, `websocket: value of header "a" has control characters`},
		{"header with a tab and letters", func(o *options.Websocket) { o.Headers = map[string]string{"X-a_1": "b\tcé"} }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &options.Websocket{Port: options.RandomPort, NoTLS: true}
			tt.change(o)
			_, err := New(Config{Options: o})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := New(Config{Options: &options.Websocket{Port: 1, TLS: &options.TLS{}, NoTLS: true}}); !errors.Is(err, options.ErrWebsocketTLS) {
		t.Fatalf("TLS that is not passed on: got %v", err)
	}
}

func TestListenerLines(t *testing.T) {
	r := listen(t, nil)
	want := "INF Listening for websocket clients on ws://" + r.Addr().String() + "\nWRN Websocket not configured with TLS. DO NOT USE IN PRODUCTION!"
	if got := r.log.text(); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestPortInUse(t *testing.T) {
	r := listen(t, nil)
	l, err := New(Config{Options: &options.Websocket{Host: "127.0.0.1", Port: r.Addr().(*net.TCPAddr).Port, NoTLS: true}, Log: newLogbook()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Start()
	if !errors.Is(err, ErrListen) || !strings.HasPrefix(err.Error(), "Unable to listen for websocket connections: listen tcp ") {
		t.Fatalf("got %v", err)
	}
	if l.Addr() != nil {
		t.Fatalf("address %v", l.Addr())
	}
}

// TestClose closes a listener with handshakes at every stage. That nothing is left is looked at after all tests.
func TestClose(t *testing.T) {
	r := listen(t, nil)
	open := r.open("/", "")
	s := r.take()
	pending := []net.Conn{r.dial(), r.dial(), r.dial()}
	io.WriteString(pending[1], "GET / HTTP/1.1\r\nHo")
	io.WriteString(pending[2], "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	readString(t, pending[2], len("HTTP/1.1 400"))
	r.Close()
	r.Close()
	for i, nc := range pending {
		if _, err := io.ReadAll(nc); isTimeout(err) {
			t.Errorf("handshake %d goes on", i)
		}
	}
	if nc, err := net.Dial("tcp", r.Addr().String()); err == nil {
		nc.Close()
		t.Error("the port is open")
	}
	// What is open stays open.
	if _, err := s.Write([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	open.expect(2, "hi")
	if err := r.Start(); err != ErrClosed {
		t.Errorf("start after close: %v", err)
	}
}

func TestCloseBeforeStart(t *testing.T) {
	l, err := New(Config{Options: &options.Websocket{Host: "127.0.0.1", Port: options.RandomPort, NoTLS: true}, Log: newLogbook()})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := l.Start(); err != ErrClosed {
		t.Fatalf("got %v", err)
	}
}

// TestAcceptSurvivesErrors has a listener whose first calls fail.
func TestAcceptSurvivesErrors(t *testing.T) {
	r := listen(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r.tasks.Add(1)
	go r.accept(&flaky{Listener: ln, left: 2})
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
	io.WriteString(nc, get("/", ""))
	r.take()
	r.log.await(t, "ERR Temporary Websocket Accept Error (too many open files), sleeping 10ms")
	r.log.await(t, "sleeping 20ms")
	ln.Close()
}

type flaky struct {
	net.Listener
	left int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.left--; f.left >= 0 {
		return nil, errors.New("too many open files")
	}
	return f.Listener.Accept()
}
