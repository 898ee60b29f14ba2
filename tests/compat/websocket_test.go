package compat

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// websocketBlock is a listener for WebSocket clients beside the client port.
func websocketBlock(more string) string {
	return "websocket {\nlisten: \"127.0.0.1:-1\"\n" + more + "\n}\n"
}

// websocketURL is where the server listens for WebSocket clients.
func websocketURL(s *harness.Server) string {
	return s.WaitLog(`Listening for websocket clients on (wss?://\S+)`)[1]
}

// The official client does over WebSocket all that it does over TCP.
func TestWebSocketClients(t *testing.T) {
	k := newKeys(t)
	for _, tt := range []struct {
		name, block string
		opts        []nats.Option
	}{
		{"plain", "no_tls: true", nil},
		{"compressed", "no_tls: true\ncompression: true", []nats.Option{nats.Compression(true)}},
		{"TLS", k.config(""), []nats.Option{nats.Secure(k.dial(false))}},
		{"TLS, compressed", k.config("") + "\ncompression: true", []nats.Option{nats.Secure(k.dial(false)), nats.Compression(true)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true, Config: websocketBlock(tt.block)})
			connect := func() *nats.Conn {
				nc, err := nats.Connect(websocketURL(s), append([]nats.Option{nats.NoReconnect()}, tt.opts...)...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(nc.Close)
				return nc
			}
			a, b, tcp := connect(), connect(), s.Connect(t)
			sub, far := subscribe(t, b, "x"), subscribe(t, tcp, "x")
			for _, size := range []int{0, 1, 125, 126, 4096, 65535, 65536, 500_000} {
				m := &nats.Msg{Subject: "x", Data: bytes.Repeat([]byte("ab"), size/2+1)[:size], Header: nats.Header{"Size": {fmt.Sprint(size)}}}
				if err := a.PublishMsg(m); err != nil {
					t.Fatal(err)
				}
				for _, sub := range []*nats.Subscription{sub, far} {
					if got := next(t, sub); !bytes.Equal(got.Data, m.Data) || got.Header.Get("Size") != fmt.Sprint(size) {
						t.Errorf("of %d bytes came %d, headers %v", size, len(got.Data), got.Header)
					}
				}
			}
			if _, err := b.Subscribe("ask", func(m *nats.Msg) { m.Respond(m.Data) }); err != nil {
				t.Fatal(err)
			}
			if err := b.Flush(); err != nil {
				t.Fatal(err)
			}
			if m, err := a.Request("ask", []byte("?"), harness.Patience); err != nil || string(m.Data) != "?" {
				t.Errorf("%v, %v", m, err)
			}
			if _, err := a.Request("nobody", nil, harness.Patience); err != nats.ErrNoResponders {
				t.Error(err)
			}
			js, err := jetstream.New(a)
			if err != nil {
				t.Fatal(err)
			}
			kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kv.Put(t.Context(), "k", []byte("v")); err != nil {
				t.Fatal(err)
			}
			if e, err := kv.Get(t.Context(), "k"); err != nil || string(e.Value()) != "v" {
				t.Errorf("%v, %v", e, err)
			}
			var connz struct {
				Connections []struct {
					Type string
					TLS  string `json:"tls_version"`
				}
			}
			s.Monitor(t, "/connz", &connz)
			kinds := map[string]int{}
			for _, c := range connz.Connections {
				kinds[c.Type]++
				if c.Type == "websocket" && (c.TLS != "") != strings.HasPrefix(tt.name, "TLS") {
					t.Errorf("TLS version %q", c.TLS)
				}
			}
			if kinds["websocket"] != 2 || kinds["nats"] != 1 {
				t.Errorf("connections: %v", kinds)
			}
		})
	}
}

// Credentials may come in cookies, and browsers only from where they are allowed to.
func TestWebSocketCookiesAndOrigins(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `authorization { users: [{user: u, password: p}, {user: tcp, password: p, allowed_connection_types: [STANDARD]}] }
` + websocketBlock(`no_tls: true, user_cookie: "name", pass_cookie: "word", allowed_origins: ["http://good.example:8080"]`)})
	const refused = "authorization violation, or the client was still writing"
	for _, tt := range []struct {
		name, cookie, origin string
		opts                 []nats.Option
		want                 string // of the error
	}{
		{"cookies", "name=u; word=p", "", nil, ""},
		{"credentials", "", "", []nats.Option{as("u")}, ""},
		{"a wrong cookie", "name=u; word=x", "", nil, refused},
		{"none", "", "", nil, refused},
		{"a user for TCP", "", "", []nats.Option{as("tcp")}, refused},
		{"good origin", "name=u; word=p", "http://good.example:8080", nil, ""},
		{"bad origin", "name=u; word=p", "http://bad.example:8080", nil, "invalid websocket connection"},
		{"other port", "name=u; word=p", "http://good.example", nil, "invalid websocket connection"},
		{"other scheme", "name=u; word=p", "https://good.example:8080", nil, "invalid websocket connection"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			headers := http.Header{}
			if tt.cookie != "" {
				headers.Set("Cookie", tt.cookie)
			}
			if tt.origin != "" {
				headers.Set("Origin", tt.origin)
			}
			nc, err := nats.Connect(websocketURL(s), append([]nats.Option{nats.WebSocketConnectionHeaders(headers)}, tt.opts...)...)
			if err == nil {
				nc.Close()
			}
			if (err == nil) != (tt.want == "") || err != nil && tt.want != refused && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// Opcodes and flags of frames (RFC 6455, section 5.2, and RFC 7692).
const (
	wsContinuation, wsBinary, wsClose, wsPing, wsPong = 0, 2, 8, 9, 10
	wsFin, wsCompressed                               = 0x80, 0x40
)

// wsFrame is a masked frame.
func wsFrame(first byte, payload string) string { return wsFrameOf(first, payload, true) }

func wsFrameOf(first byte, payload string, masked bool) string {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	if !masked {
		return string(b) + payload
	}
	b[1] |= 0x80
	mask := []byte{0x37, 0xfa, 0x21, 0x3d}
	b = append(b, mask...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i%4])
	}
	return string(b)
}

// deflated is a compressed message without the end of its last block.
func deflated(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\x00\x00\xff\xff")
}

// wsTalk opens a connection, sends the pieces, each read by the server before the next one, and returns what came: the
// protocol text without INFO, and the control frames. It ends with the second PONG, or when the server closes.
func wsTalk(t *testing.T, s *harness.Server, pieces []string) (text string, controls []string) {
	t.Helper()
	nc, err := net.Dial("tcp", strings.TrimPrefix(websocketURL(s), "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(harness.Patience))
	in := bufio.NewReader(nc)
	io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	for i, piece := range pieces {
		if i > 0 {
			harness.WaitTaken(t, nc.(*net.TCPConn))
		}
		io.WriteString(nc, piece) // the server may have closed already
	}
	var got strings.Builder
	var message []byte
	compressed := false
	for strings.Count(got.String(), "PONG\r\n") < 2 {
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			break
		}
		size := uint64(head[1] & 0x7f)
		ext := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
		io.ReadFull(in, ext)
		if len(ext) > 0 {
			size = 0
			for _, b := range ext {
				size = size<<8 | uint64(b)
			}
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(in, payload); err != nil {
			t.Fatalf("half a frame: %v", err)
		}
		if op := head[0] & 0xf; op >= wsClose {
			controls = append(controls, fmt.Sprintf("%x %q", op, payload))
			continue
		} else if op != wsContinuation {
			compressed = head[0]&wsCompressed != 0
		}
		message = append(message, payload...)
		if head[0]&wsFin == 0 {
			continue
		}
		if compressed {
			message, _ = io.ReadAll(flate.NewReader(bytes.NewReader(append(message, "\x00\x00\xff\xff\x01\x00\x00\xff\xff"...))))
		}
		got.Write(message)
		message = message[:0]
	}
	for line := range strings.SplitAfterSeq(got.String(), "\r\n") {
		if !strings.HasPrefix(line, "INFO ") {
			text += line
		}
	}
	return text, controls
}

// Whatever frames a client sends, it does not matter where the server's reads end.
func TestWebSocketFramesCutAtEveryByte(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: websocketBlock("no_tls: true\ncompression: true")})
	long := strings.Repeat("l", 150)
	hello := wsFrame(wsFin|wsBinary, "CONNECT {\"verbose\":false}\r\nPING\r\nSUB a 1\r\n")
	for _, tt := range []struct {
		name, stream string
		text         string
		controls     []string
	}{
		{"messages", hello +
			wsFrame(wsFin|wsPing, "are you there") +
			wsFrame(wsBinary, "PUB a 5\r\nhe") + wsFrame(wsFin|wsPong, "") + wsFrame(wsContinuation, "llo") + wsFrame(wsFin|wsContinuation, "\r\nPU") +
			wsFrame(wsFin|wsBinary, "B a 0\r\n\r\n") +
			wsFrame(wsFin|wsBinary, "PUB a 150\r\n"+long+"\r\n") +
			wsFrame(wsFin|wsBinary|wsCompressed, deflated(t, "PUB a 150\r\n"+long+"\r\n")) +
			wsFrame(wsBinary|wsCompressed, deflated(t, "PUB a 2\r\nzz\r\n")[:4]) + wsFrame(wsFin|wsContinuation, deflated(t, "PUB a 2\r\nzz\r\n")[4:]) +
			wsFrame(wsFin|wsBinary, "") +
			wsFrame(wsFin|wsBinary, "PING\r\n"),
			"PONG\r\nMSG a 1 5\r\nhello\r\nMSG a 1 0\r\n\r\n" + strings.Repeat("MSG a 1 150\r\n"+long+"\r\n", 2) + "MSG a 1 2\r\nzz\r\nPONG\r\n",
			[]string{`a "are you there"`}},
		{"the end", hello + wsFrame(wsFin|wsClose, "\x03\xe8bye"), "PONG\r\n", []string{`8 "\x03\xe8bye"`}},
		{"not masked", hello + wsFrameOf(wsFin|wsBinary, "PING\r\n", false), "PONG\r\n", []string{`8 "\x03\xea`}},
		{"unknown kind", hello + wsFrame(wsFin|3, "PING\r\n"), "PONG\r\n", []string{`8 "\x03\xea`}},
		{"control in pieces", hello + wsFrame(wsPing, "x"), "PONG\r\n", []string{`8 "\x03\xea`}},
		{"long control", hello + wsFrame(wsFin|wsPing, strings.Repeat("x", 126)), "PONG\r\n", []string{`8 "\x03\xea`}},
		{"continuation of nothing", hello + wsFrame(wsFin|wsContinuation, "x"), "PONG\r\n", []string{`8 "\x03\xea`}},
		{"no continuation", hello + wsFrame(wsBinary, "PUB a 1\r\n") + wsFrame(wsFin|wsBinary, "x\r\n"), "PONG\r\n", []string{`8 "\x03\xea`}},
		{"wrong protocol", hello + wsFrame(wsFin|wsBinary, "HELLO\r\n"), "PONG\r\n-ERR 'Unknown Protocol Operation'\r\n", []string{`8 "`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if harness.OnPeer() && tt.name != "messages" && tt.name != "the end" {
				t.Skip("nats-server may close without a word")
			}
			check := func(what string, pieces ...string) {
				text, controls := wsTalk(t, s, pieces)
				ok := text == tt.text && len(controls) == len(tt.controls)
				for i := range controls {
					ok = ok && strings.HasPrefix(controls[i], tt.controls[i])
				}
				if !ok {
					t.Fatalf("%s: got %q and %q, want %q and %q", what, text, controls, tt.text, tt.controls)
				}
			}
			check("at once", tt.stream)
			from := 1
			if tt.name != "messages" {
				from = len(hello) // what is before is tried there
			}
			for at := from; at < len(tt.stream); at++ {
				check(fmt.Sprintf("cut at %d", at), tt.stream[:at], tt.stream[at:])
			}
			check("byte by byte", strings.SplitAfter(tt.stream, "")...)
		})
	}
}
