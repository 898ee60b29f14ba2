package websocket

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"godwit/protocol/ws"
	"godwit/server/monitor"
	"godwit/server/options"
)

func TestControlFrames(t *testing.T) {
	r := listen(t, nil)
	c := r.open("/", "")
	s := r.take()
	c.send(raw(ws.OpPing, 0, "hi"))
	c.send(raw(ws.OpPing, 0, ""))
	c.send(raw(ws.OpPong, 0, "unasked"))
	c.send(raw(ws.OpText, 0, "data"))
	if got := readString(t, s, 4); got != "data" {
		t.Fatalf("got %q", got)
	}
	c.expect(ws.OpPong, "hi")
	c.expect(ws.OpPong, "")
	// Between fragments.
	c.send(raw(ws.OpBinary, 0x80, "a"))
	c.send(raw(ws.OpPing, 0, strings.Repeat("p", ws.MaxControl)))
	c.send(raw(ws.OpContinuation, 0, "b"))
	if got := readString(t, s, 2); got != "ab" {
		t.Fatalf("got %q", got)
	}
	c.expect(ws.OpPong, strings.Repeat("p", ws.MaxControl))
}

func TestCloseIsEchoed(t *testing.T) {
	for _, payload := range []string{"", closePayload(1000, "bye"), closePayload(1001, strings.Repeat("x", 123)), closePayload(4321, "")} {
		r := listen(t, nil)
		c := r.open("/", "")
		s := r.take()
		c.send(raw(ws.OpBinary, 0, "last"))
		c.send(raw(ws.OpClose, 0, payload))
		if b, err := io.ReadAll(s); string(b) != "last" || err != nil {
			t.Fatalf("got %q, %v", b, err)
		}
		if n, err := s.Write([]byte("answer")); n != 6 || err != nil { // to what came before
			t.Fatalf("got %d, %v", n, err)
		}
		c.expect(ws.OpBinary, "answer")
		s.ClosingFor(monitor.ReasonClientClosed)
		s.Close()
		c.expect(ws.OpClose, payload)
		c.expectEnd()
	}
}

func TestViolations(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		code  ws.CloseCode
		text  string
	}{
		{"not masked", []byte("\x82\x01a"), 1002, "frame is not masked"},
		{"opcode", raw(3, 0, "a"), 1002, "unknown opcode 3"},
		{"RSV2", raw(ws.OpBinary, 0x20, "a"), 1002, "reserved bits RSV2 and RSV3 are set"},
		{"compressed", raw(ws.OpBinary, 0x40, "a"), 1002, "message is compressed without agreement"},
		{"continuation", raw(ws.OpContinuation, 0, "a"), 1002, "continuation of no message"},
		{"long ping", raw(ws.OpPing, 0, strings.Repeat("a", 126)), 1002, "control frame is longer than 125 bytes"},
		{"close with half a status", raw(ws.OpClose, 0, "\x03"), 1002, "close frame has half a status"},
		{"close with a reserved status", raw(ws.OpClose, 0, closePayload(1005, "")), 1002, "invalid close status 1005"},
		{"close with bad text", raw(ws.OpClose, 0, closePayload(1000, "\xff")), 1007, "close frame's text is not UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := listen(t, nil)
			c := r.open("/", "")
			s := r.take()
			c.send(append(raw(ws.OpBinary, 0, "before"), tt.frame...))
			b, err := io.ReadAll(s)
			if v := ws.IsViolation(err); string(b) != "before" || v == nil || v.Text != tt.text {
				t.Fatalf("got %q, %v", b, err)
			}
			s.ClosingFor(monitor.ReasonReadError) // says less than the violation
			s.Close()
			c.expect(ws.OpClose, closePayload(tt.code, tt.text))
			c.expectEnd()
		})
	}
}

func TestCloseTellsTheReason(t *testing.T) {
	tests := map[monitor.Reason]string{
		monitor.ReasonClientClosed:                  closePayload(1000, "Client Closed"),
		monitor.ReasonReadError:                     closePayload(1001, "Read Error"),
		monitor.ReasonWriteError:                    closePayload(1001, "Write Error"),
		monitor.ReasonStaleConnection:               closePayload(1001, "Stale Connection"),
		monitor.ReasonServerShutdown:                closePayload(1001, "Server Shutdown"),
		monitor.ReasonParseError:                    closePayload(1002, "Parse Error"),
		monitor.ReasonProtocolViolation:             closePayload(1002, "Protocol Violation"),
		monitor.ReasonBadClientProtocolVersion:      closePayload(1002, "Bad Client Protocol Version"),
		monitor.ReasonAuthenticationTimeout:         closePayload(1008, "Authentication Timeout"),
		monitor.ReasonAuthenticationViolation:       closePayload(1008, "Authentication Failure"),
		monitor.ReasonAuthenticationExpired:         closePayload(1008, "Authentication Expired"),
		monitor.ReasonRevocation:                    closePayload(1008, "Credentials Revoked"),
		monitor.ReasonMissingAccount:                closePayload(1008, "Missing Account"),
		monitor.ReasonSlowConsumerPendingBytes:      closePayload(1008, "Slow Consumer (Pending Bytes)"),
		monitor.ReasonSlowConsumerWriteDeadline:     closePayload(1008, "Slow Consumer (Write Deadline)"),
		monitor.ReasonMaxConnectionsExceeded:        closePayload(1008, "Maximum Connections Exceeded"),
		monitor.ReasonMaxAccountConnectionsExceeded: closePayload(1008, "Maximum Account Connections Exceeded"),
		monitor.ReasonMaxControlLineExceeded:        closePayload(1008, "Maximum Control Line Exceeded"),
		monitor.ReasonMaxSubscriptionsExceeded:      closePayload(1008, "Maximum Subscriptions Exceeded"),
		monitor.ReasonMaxPayloadExceeded:            closePayload(1009, "Maximum Message Payload Exceeded"),
		monitor.ReasonTLSHandshakeError:             closePayload(1015, "TLS Handshake Failure"),
		monitor.ReasonKicked:                        closePayload(1011, "Kicked"),
		monitor.ReasonNoRespondersRequiresHeaders:   closePayload(1011, "No Responders Requires Headers"),
	}
	r := listen(t, nil)
	for reason, want := range tests {
		c := r.open("/", "")
		s := r.take()
		if _, err := s.Write([]byte("-ERR\r\n")); err != nil {
			t.Fatal(err)
		}
		s.ClosingFor(reason)
		s.ClosingFor(monitor.ReasonWriteError) // only the first counts
		s.Close()
		c.expect(ws.OpBinary, "-ERR\r\n")
		c.expect(ws.OpClose, want)
		c.expectEnd()
		if err := s.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	}
}

func TestCloseWithoutReason(t *testing.T) {
	r := listen(t, nil)
	c := r.open("/", "")
	r.take().Close()
	c.expect(ws.OpClose, closePayload(1001, ""))
	c.expectEnd()
}

const stuckBytes = 8 << 20 // more than the sockets hold

// stuck returns an open connection whose client does not read, and the end of a Write that waits for it.
func stuck(t *testing.T, r *rig) (*client, opened, chan error) {
	t.Helper()
	c := r.open("/", "")
	s := r.take()
	s.SetDeadline(time.Time{})
	c.Conn.(*net.TCPConn).SetReadBuffer(32 << 10)
	s.nc.(*net.TCPConn).SetWriteBuffer(32 << 10)
	end := make(chan error, 1)
	go func() {
		_, err := s.Write(make([]byte, stuckBytes))
		end <- err
	}()
	if _, err := c.br.Peek(1); err != nil { // the frame has begun, and will not end
		t.Fatal(err)
	}
	return c, s, end
}

// TestReaderIsNotHeldUpByWriter pings while a write waits for the client: the reader goes on, and the newest ping is
// answered when the frame is out.
func TestReaderIsNotHeldUpByWriter(t *testing.T) {
	r := listen(t, nil)
	c, s, end := stuck(t, r)
	for _, p := range []string{"1", "2", "3"} {
		c.send(raw(ws.OpPing, 0, p))
	}
	c.send(raw(ws.OpBinary, 0, "data"))
	if got := readString(t, s, 4); got != "data" {
		t.Fatalf("got %q", got)
	}
	if h, payload, err := c.frame(); h.Op != ws.OpBinary || len(payload) != stuckBytes || err != nil {
		t.Fatalf("got %+v, %v", h, err)
	}
	c.expect(ws.OpPong, "3")
	if err := <-end; err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsStuckWrite(t *testing.T) {
	r := listen(t, nil)
	_, s, end := stuck(t, r)
	s.ClosingFor(monitor.ReasonSlowConsumerPendingBytes)
	s.Close()
	if err := <-end; !errors.Is(err, net.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("got %v", err)
	}
}

// TestNothingFollowsHalfAFrame lets a write run into its deadline: neither a close frame nor other bytes may follow.
func TestNothingFollowsHalfAFrame(t *testing.T) {
	r := listen(t, nil)
	c, s, end := stuck(t, r)
	s.SetWriteDeadline(time.Now())
	if err := <-end; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	s.SetWriteDeadline(time.Time{})
	if n, err := s.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %d, %v", n, err)
	}
	go s.Close()
	if h, _, err := c.frame(); h.Op != ws.OpBinary || err != io.ErrUnexpectedEOF {
		t.Fatalf("got %+v, %v", h, err)
	}
}

func TestDeadlines(t *testing.T) {
	r := listen(t, nil)
	c := r.open("/", "")
	s := r.take()
	read := make(chan error, 1)
	s.SetReadDeadline(time.Time{})
	go func() {
		_, err := s.Read(make([]byte, 10))
		read <- err
	}()
	s.SetReadDeadline(time.Unix(1, 0)) // as the server wakes a reader
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if err := s.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	c.send(raw(ws.OpBinary, 0, "on"))
	if got := readString(t, s, 2); got != "on" {
		t.Fatalf("got %q", got)
	}
	if s.RemoteAddr().String() != c.LocalAddr().String() || s.LocalAddr().String() != c.RemoteAddr().String() {
		t.Fatalf("addresses %v, %v", s.LocalAddr(), s.RemoteAddr())
	}
}

func TestPongKeepsTheWriteDeadline(t *testing.T) {
	nc := &deadlines{}
	c := newConn(nc, ws.Config{})
	set := time.Unix(1000, 0)
	for _, want := range []time.Time{{}, set} {
		nc.got = nil
		c.SetWriteDeadline(want)
		if err := c.control(ws.OpPing, nil); err != nil {
			t.Fatal(err)
		}
		if last := nc.got[len(nc.got)-1]; !last.Equal(want) {
			t.Fatalf("deadlines %v, want %v at last", nc.got, want)
		}
		if bounded := nc.at; bounded.IsZero() {
			t.Fatal("the pong was sent without a deadline")
		}
	}
}

// deadlines is a connection that notes its write deadlines.
type deadlines struct {
	net.Conn
	got []time.Time
	at  time.Time // when the last write happened
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.got = append(d.got, t); return nil }
func (d *deadlines) Write(p []byte) (int, error)        { d.at = d.got[len(d.got)-1]; return len(p), nil }

func TestFramesForBrowsers(t *testing.T) {
	const (
		chrome = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36\r\n"
		safari = "User-Agent: Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15\r\n"
		squash = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
	)
	// Halves that do and do not compress: more than a frame is left.
	text := make([]byte, 20000)
	x := uint32(1)
	for i := range text[:10000] {
		x = x*1664525 + 1013904223
		text[i] = byte(x >> 24)
	}
	tests := []struct {
		name, lines string
		want        []string // opcodes and flags
	}{
		{"program", "User-Agent: nats/1\r\n", []string{"2F"}},
		{"program, compressed", squash, []string{"2FZ"}},
		{"browser", chrome, []string{"2F", "2F", "2F", "2F", "2F"}},
		{"browser, compressed", chrome + squash, []string{"2Z", "0", "0F"}},
		{"Safari", safari, []string{"2F", "2F", "2F", "2F", "2F"}},
		{"Safari, compressed", safari + squash, []string{"2FZ"}},
		{"not at the start", "User-Agent: My Mozilla/5.0\r\n", []string{"2F"}},
	}
	r := listen(t, withOptions(func(o *options.Websocket) { o.Compression = true }))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := r.open("/", tt.lines)
			s := r.take()
			if _, err := s.Write(text); err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				h, payload, err := c.frame()
				if err != nil {
					t.Fatal(err)
				}
				got := string('0' + byte(h.Op))
				if h.Final {
					got += "F"
				}
				if h.Compressed {
					got += "Z"
				}
				if got != want || strings.Contains(tt.lines, "Mozilla/5.0 (") && !h.Compressed && len(payload) > 4096 {
					t.Fatalf("frame %d: got %s of %d bytes, want %s", i, got, len(payload), want)
				}
			}
		})
	}
}

func TestCompressionLimit(t *testing.T) {
	const payload = 1000
	r := listen(t, func(c *Config) {
		c.Options.Compression = true
		c.MaxPayload = func() int64 { return payload }
	})
	send := func(n int) (string, error) {
		c := r.open("/", "Sec-WebSocket-Extensions: permessage-deflate\r\n")
		s := r.take()
		if _, err := c.w.Write([]byte(strings.Repeat("x", n))); err != nil {
			t.Fatal(err)
		}
		if err := c.w.Control(ws.OpClose, nil); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(s)
		if err != nil {
			s.Close()
			c.expect(ws.OpClose, closePayload(1009, "compressed message is too large"))
		}
		return string(b), err
	}
	if got, err := send(payload + messageSlack); len(got) != payload+messageSlack || err != nil {
		t.Fatalf("at the limit: %d bytes, %v", len(got), err)
	}
	if got, err := send(payload + messageSlack + 1); len(got) > payload+messageSlack || err != ws.ErrTooLarge {
		t.Fatalf("above: %d bytes, %v", len(got), err)
	}
	if got, err := send(10 << 20); len(got) > payload+messageSlack || err != ws.ErrTooLarge {
		t.Fatalf("bomb: %d bytes, %v", len(got), err)
	}
}

func TestConnDoesNotAllocate(t *testing.T) {
	r := listen(t, nil)
	c := r.open("/", "")
	s := r.take()
	frame := raw(ws.OpBinary, 0, strings.Repeat("x", 16<<10))
	block := []byte(strings.Repeat("y", 16<<10))
	in, out := make([]byte, 64<<10), make([]byte, 16<<10+4)
	n := testing.AllocsPerRun(50, func() {
		c.Write(frame)
		for got := 0; got < len(block); {
			k, err := s.Read(in)
			if err != nil {
				t.Fatal(err)
			}
			got += k
		}
		if _, err := s.Write(block); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c.br, out); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 1 && !raceEnabled {
		t.Fatalf("%v allocations for a frame in and a frame out", n)
	}
}
