package websocket

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"godwit/protocol/ws"
	"godwit/server/options"
	"godwit/server/tlsconf/tlstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// logbook is a Logger that keeps its lines.
type logbook struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // has room for one
}

func newLogbook() *logbook { return &logbook{more: make(chan struct{}, 1)} }

func (b *logbook) add(level, format string, args []any) {
	b.mu.Lock()
	b.lines = append(b.lines, level+" "+fmt.Sprintf(format, args...))
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (b *logbook) Noticef(format string, args ...any) { b.add("INF", format, args) }
func (b *logbook) Warnf(format string, args ...any)   { b.add("WRN", format, args) }
func (b *logbook) Errorf(format string, args ...any)  { b.add("ERR", format, args) }
func (b *logbook) Debugf(format string, args ...any)  { b.add("DBG", format, args) }

func (b *logbook) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

// await waits for a line with part in it.
func (b *logbook) await(t *testing.T, part string) {
	t.Helper()
	timeout := time.After(patience)
	for !strings.Contains(b.text(), part) {
		select {
		case <-b.more:
		case <-timeout:
			t.Fatalf("no line with %q in:\n%s", part, b.text())
		}
	}
}

// opened is a connection that was adopted.
type opened struct {
	*Conn
	meta *Meta
}

// rig is a listener with what it adopts.
type rig struct {
	*Listener
	t     testing.TB
	log   *logbook
	conns chan opened // the adopted connections, unless adopt was set
	ca    *tlstest.CA // nil without TLS
}

// listen starts a listener that ends with the test. change may be nil.
func listen(t testing.TB, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, log: newLogbook(), conns: make(chan opened, 10)}
	cfg := Config{Options: &options.Websocket{Host: "127.0.0.1", Port: options.RandomPort, NoTLS: true}, Log: r.log,
		MaxPayload: func() int64 { return 1 << 20 }, Adopt: func(c *Conn, m *Meta) { r.conns <- opened{c, m} }}
	if change != nil {
		change(&cfg)
	}
	if cfg.Options.TLS != nil && cfg.TLS == nil {
		r.ca = tlstest.NewCA(t)
		pair := r.ca.Issue(t, tlstest.Request{})
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS}}
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Listener = l
	t.Cleanup(func() {
		l.Close()
		for {
			select {
			case c := <-r.conns:
				c.Close()
			default:
				return
			}
		}
	})
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func withOptions(change func(*options.Websocket)) func(*Config) {
	return func(c *Config) { change(c.Options) }
}

func withTLS(o *options.Websocket) { o.NoTLS, o.TLS = false, &options.TLS{} }

// dial opens a connection, with TLS if the listener has it.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	if r.ca != nil {
		nc = tls.Client(nc, &tls.Config{RootCAs: r.ca.Pool, ServerName: "localhost"})
	}
	nc.SetDeadline(time.Now().Add(patience))
	r.t.Cleanup(func() { nc.Close() })
	return nc
}

const upgradeLines = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

// get is a request for an upgrade with more lines.
func get(path, lines string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: x:1\r\n" + upgradeLines + lines + "\r\n"
}

// client is the other side of an open connection.
type client struct {
	net.Conn
	t    testing.TB
	br   *bufio.Reader
	resp *http.Response
	w    *ws.Writer
}

// open does a handshake with more lines in the request.
func (r *rig) open(path, lines string) *client {
	r.t.Helper()
	c := &client{Conn: r.dial(), t: r.t}
	c.br = bufio.NewReader(c.Conn)
	if _, err := io.WriteString(c.Conn, get(path, lines)); err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c.resp = resp
	if resp.StatusCode != http.StatusSwitchingProtocols {
		r.t.Fatalf("got %s\n%s", resp.Status, r.log.text())
	}
	cfg := ws.Config{Client: true, NoMasking: resp.Header.Get("Nats-No-Masking") == "true",
		Deflate: resp.Header.Get("Sec-WebSocket-Extensions") != ""}
	c.w = ws.NewWriter(c.Conn, cfg)
	return c
}

// take waits for an adopted connection.
func (r *rig) take() opened {
	r.t.Helper()
	select {
	case c := <-r.conns:
		c.SetDeadline(time.Now().Add(patience))
		r.t.Cleanup(func() { c.Close() })
		return c
	case <-time.After(patience):
		r.t.Fatalf("no connection\n%s", r.log.text())
	}
	panic("unreachable")
}

// frame reads one frame as it is on the wire.
func (c *client) frame() (ws.Header, string, error) {
	var b []byte
	for {
		h, n, err := ws.ParseHeader(b)
		if err != nil {
			return h, "", err
		}
		if n > 0 {
			payload := make([]byte, h.Length)
			_, err := io.ReadFull(c.br, payload)
			return h, string(payload), err
		}
		x, err := c.br.ReadByte()
		if err != nil {
			return h, "", err
		}
		b = append(b, x)
	}
}

// expect reads one frame.
func (c *client) expect(op ws.Opcode, payload string) {
	c.t.Helper()
	h, got, err := c.frame()
	if err != nil || h.Op != op || !h.Final || h.Masked || got != payload {
		c.t.Fatalf("got %+v %q, %v; want %v %q", h, got, err, op, payload)
	}
}

// expectEnd reads the end of the connection. That the system resets it, because bytes of ours were not read, is one.
func (c *client) expectEnd() {
	c.t.Helper()
	if h, got, err := c.frame(); err == nil {
		c.t.Fatalf("got %+v %q; want the end", h, got)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatal("the connection stays open")
	}
}

// send writes raw bytes.
func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// raw makes a masked frame; bits are added to the first byte of a final frame.
func raw(op ws.Opcode, bits byte, payload string) []byte {
	h := ws.Header{Op: op, Final: true, Masked: true, Key: 0x01020304, Length: int64(len(payload))}
	b := h.Append(nil)
	b[0] ^= bits
	at := len(b)
	b = append(b, payload...)
	ws.Mask(b[at:], b[at:], h.Key)
	return b
}

func closePayload(code ws.CloseCode, text string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(code))) + text
}

// readString reads n bytes.
func readString(t testing.TB, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatalf("read %q: %v", bytes.TrimRight(b, "\x00"), err)
	}
	return string(b)
}
