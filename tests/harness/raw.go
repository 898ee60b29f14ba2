package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// QuietConnect is a CONNECT line after which the server answers nothing but what was asked for.
const QuietConnect = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}` + "\r\n"

// Raw is a client connection that sends bytes as they are written and shows what comes back.
type Raw struct {
	t    testing.TB
	conn *net.TCPConn
	in   *bufio.Reader
	Info Info // the server's greeting
}

// Info is the part of INFO that tests look at.
type Info struct {
	ServerID     string   `json:"server_id"`
	ServerName   string   `json:"server_name"`
	Version      string   `json:"version"`
	Proto        int      `json:"proto"`
	Go           string   `json:"go"`
	Host         string   `json:"host"`
	Port         int      `json:"port"`
	Headers      bool     `json:"headers"`
	AuthRequired bool     `json:"auth_required"`
	TLSRequired  bool     `json:"tls_required"`
	MaxPayload   int      `json:"max_payload"`
	JetStream    bool     `json:"jetstream"`
	ClientID     uint64   `json:"client_id"`
	ClientIP     string   `json:"client_ip"`
	Nonce        string   `json:"nonce"`
	ConnectURLs  []string `json:"connect_urls"`
	LameDuck     bool     `json:"ldm"`
	ConnectInfo  bool     `json:"connect_info"`
	Account      string   `json:"remote_account"`
	IsSystem     bool     `json:"acc_is_sys"`
	APILevel     int      `json:"api_lvl"`
	XKey         string   `json:"xkey"`
}

// Raw connects and reads the greeting. The connection is closed at the end of the test.
func (s *Server) Raw(t testing.TB) *Raw {
	t.Helper()
	r, err := dialRaw(s.addr)
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, s.Log())
	}
	r.t = t
	t.Cleanup(r.Close)
	return r
}

func dialRaw(addr string) (*Raw, error) {
	conn, err := net.DialTimeout("tcp", addr, Patience)
	if err != nil {
		return nil, err
	}
	r := &Raw{conn: conn.(*net.TCPConn), in: bufio.NewReaderSize(conn, 64<<10)}
	conn.SetDeadline(time.Now().Add(Patience))
	line, err := r.in.ReadString('\n')
	if err == nil {
		r.Info, err = parseInfo(line)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

func parseInfo(line string) (info Info, err error) {
	body, ok := strings.CutPrefix(line, "INFO ")
	if !ok || !strings.HasSuffix(line, " \r\n") {
		return info, fmt.Errorf("no INFO line: %q", line)
	}
	return info, json.Unmarshal([]byte(body), &info)
}

// Close closes the connection.
func (r *Raw) Close() { r.conn.Close() }

// Send writes bytes. The server may have closed the connection in the meantime, so an error is
// left to the reading side.
func (r *Raw) Send(text string) {
	r.conn.SetWriteDeadline(time.Now().Add(Patience))
	io.WriteString(r.conn, text)
}

// SendCut writes text in pieces, and waits after each until the server has read it, so that a
// read of the server ends there.
func (r *Raw) SendCut(pieces ...string) {
	r.t.Helper()
	for i, piece := range pieces {
		if piece == "" {
			continue
		}
		r.Send(piece)
		if i < len(pieces)-1 {
			WaitTaken(r.t, r.conn)
		}
	}
}

// Line reads one line, with its end.
func (r *Raw) Line() string {
	r.t.Helper()
	r.conn.SetReadDeadline(time.Now().Add(Patience))
	line, err := r.in.ReadString('\n')
	if err != nil {
		r.t.Fatalf("read a line: got %q, %v", line, err)
	}
	return line
}

// Expect reads as many bytes as want has and compares.
func (r *Raw) Expect(want string) {
	r.t.Helper()
	r.conn.SetReadDeadline(time.Now().Add(Patience))
	got := make([]byte, len(want))
	n, err := io.ReadFull(r.in, got)
	if string(got[:n]) != want {
		r.t.Fatalf("got %q, want %q (%v)", got[:n], want, err)
	}
}

// ExpectInfo reads an INFO line.
func (r *Raw) ExpectInfo() Info {
	r.t.Helper()
	info, err := parseInfo(r.Line())
	if err != nil {
		r.t.Fatal(err)
	}
	return info
}

// Connect sends CONNECT and PING and reads the answers, so that what follows on the connection
// is only what the test asks for. connect is a whole CONNECT line with protocol 1.
func (r *Raw) Connect(connect string) {
	r.t.Helper()
	r.Send(connect + "PING\r\n")
	r.Expect("PONG\r\n")
	r.ExpectInfo()
}

// Flush makes sure that the server has processed everything sent before and that nothing else
// has arrived.
func (r *Raw) Flush() {
	r.t.Helper()
	r.Send("PING\r\n")
	r.Expect("PONG\r\n")
}

// UntilPong sends a PING and returns everything that arrives before its PONG, without INFO lines.
// earlier is the number of PONGs that the server still owes for PINGs sent before.
func (r *Raw) UntilPong(earlier int) string {
	r.t.Helper()
	r.Send("PING\r\n")
	var b strings.Builder
	for {
		line := r.Line()
		if line == "PONG\r\n" {
			if earlier == 0 {
				return b.String()
			}
			earlier--
		}
		if !strings.HasPrefix(line, "INFO ") {
			b.WriteString(line)
		}
	}
}

// UntilClosed returns everything that arrives until the server closes the connection, without
// INFO lines. A connection that stays open fails the test.
func (r *Raw) UntilClosed() string {
	r.t.Helper()
	var b strings.Builder
	for {
		r.conn.SetReadDeadline(time.Now().Add(Patience))
		line, err := r.in.ReadString('\n')
		if !strings.HasPrefix(line, "INFO ") {
			b.WriteString(line)
		}
		if err == nil {
			continue
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			r.t.Fatalf("the connection stays open after %q", b.String())
		}
		return b.String()
	}
}

// Silent checks that nothing arrives for a while.
func (r *Raw) Silent(d time.Duration) {
	r.t.Helper()
	r.conn.SetReadDeadline(time.Now().Add(d))
	if b, err := r.in.ReadByte(); err == nil {
		r.t.Fatalf("got a byte %q, want silence", b)
	} else if !errors.Is(err, net.ErrClosed) {
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			r.t.Fatalf("want silence, got %v", err)
		}
	}
}

// Conn is the connection below, for tests that need to go without the reading buffer.
func (r *Raw) Conn() *net.TCPConn { return r.conn }
