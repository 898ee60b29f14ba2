package websocket

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"godwit/protocol"
	"godwit/server/auth"
	"godwit/server/options"
)

var date = regexp.MustCompile(`Date: [^\r]*`)

// exchange sends a request and returns all bytes of the answer; what they are ends with the connection or an answer
// that keeps it open.
func (r *rig) exchange(request string) string {
	r.t.Helper()
	nc := r.dial()
	if _, err := io.WriteString(nc, request); err != nil {
		r.t.Fatal(err)
	}
	var got strings.Builder
	b := make([]byte, 4096)
	for {
		n, err := nc.Read(b)
		got.Write(b[:n])
		s := got.String()
		if err != nil || strings.HasPrefix(s, "HTTP/1.1 101") && strings.HasSuffix(s, "\r\n\r\n") ||
			strings.Contains(s, "\r\n\r\n") && !strings.Contains(s, "Connection: close") && strings.HasSuffix(s, "\n") && !strings.HasSuffix(s, "\r\n") {
			return date.ReplaceAllString(s, "Date: D")
		}
	}
}

func refusal(status int) string {
	text := http.StatusText(status)
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nSec-Websocket-Version: 13\r\n"+
		"X-Content-Type-Options: nosniff\r\nDate: D\r\nContent-Length: %d\r\n\r\n%s\n", status, text, len(text)+1, text)
}

const accepted = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

func TestHandshakeAnswers(t *testing.T) {
	r := listen(t, withOptions(func(o *options.Websocket) {
		o.Compression = true
		o.AllowedOrigins = []string{"http://good.com", "https://sec.com:8443"}
		o.Headers = map[string]string{"x-foo": "a", "X-Bar": "b"}
	}))
	const extra = "X-Bar: b\r\nx-foo: a\r\n\r\n"
	const deflate = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"
	tests := []struct {
		name, request, want string
		log                 string // a part of the line
	}{
		{"good", get("/", ""), accepted + extra, ""},
		{"with everything", get("/", "Sec-WebSocket-Extensions: permessage-deflate\r\nNats-No-Masking: true\r\nOrigin: http://good.com\r\n"),
			accepted + deflate + "Nats-No-Masking: true\r\n" + extra, ""},
		{"subprotocol is not agreed on", get("/", "Sec-WebSocket-Protocol: mqtt\r\n"), accepted + extra, ""},
		{"any path", get("/leafnodes/x?y=/leafnode", ""), accepted + extra, ""},
		{"method", strings.Replace(get("/", ""), "GET", "POST", 1), refusal(405), "ERR ADDR - websocket handshake error: method is not GET"},
		{"no upgrade", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", refusal(400), "Upgrade header"},
		{"version", strings.Replace(get("/", ""), "n: 13", "n: 12", 1), refusal(400), "version is not 13"},
		{"no host", strings.Replace(get("/", ""), "Host: x:1\r\n", "", 1), refusal(400), "no Host header"},
		{"origin", get("/", "Origin: http://bad.com\r\n"), refusal(403), "websocket handshake error: origin not allowed: not in the allowed list"},
		{"old origin header", get("/", "Sec-WebSocket-Origin: http://bad.com\r\n"), refusal(403), "origin not allowed"},
		{"origin comes after the rest", strings.Replace(get("/", "Origin: http://bad.com\r\n"), "n: 13", "n: 12", 1), refusal(400), "version is not 13"},
		{"MQTT", get("/mqtt", ""), refusal(404), "MQTT is not enabled"},
		{"MQTT comes before the rest", strings.Replace(get("/a/mqtt", ""), "GET", "POST", 1), refusal(404), "MQTT is not enabled"},
		{"leafnode", get("/a/leafnode", ""), accepted + extra, "leafnode connections are not configured"},
		{"garbage", "hello\r\n\r\n", answerMalformed, "DBG ADDR - websocket handshake error: malformed HTTP request"},
		{"too large", "GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("x", 2*headMax) + "\r\n\r\n", answerTooLarge, "head of the request is too large"},
		{"data before the answer", get("/", "") + "\x82\x80\x00\x00\x00\x00", "", "client sent data before the handshake was over"},
		{"body ends the connection", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", strings.Replace(refusal(405), "19\r\n", "19\r\nConnection: close\r\n", 1), "method is not GET"},
		{"told to close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", strings.Replace(refusal(400), "12\r\n", "12\r\nConnection: close\r\n", 1), "Upgrade header"},
		{"HTTP/1.0", "GET / HTTP/1.0\r\nHost: x\r\n\r\n", strings.Replace(refusal(400), "1.1", "1.0", 1), "Upgrade header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(r.log.text())
			if got := r.exchange(tt.request); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			if tt.log == "" {
				return
			}
			for _, part := range strings.Split(tt.log, "ADDR") {
				r.log.await(t, part)
				if !strings.Contains(r.log.text()[before:], part) {
					t.Fatalf("no %q in the new lines %q", part, r.log.text()[before:])
				}
			}
		})
	}
}

func TestRefusedClientMayTryAgain(t *testing.T) {
	r := listen(t, nil)
	nc := r.dial()
	io.WriteString(nc, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"+strings.Replace(get("/", ""), "GET", "PUT", 1)+get("/", ""))
	br := bufio.NewReader(nc)
	for _, want := range []int{400, 405, 101} {
		resp, err := http.ReadResponse(br, nil)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("got %+v, %v; want %d", resp, err, want)
		}
		if want != 101 {
			io.Copy(io.Discard, resp.Body)
		}
	}
	r.take()
}

func TestHandshakeTimeout(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			t.Parallel()
			const timeout = 500 * time.Millisecond // long enough for an honest handshake on a busy machine
			r := listen(t, withOptions(func(o *options.Websocket) {
				o.HandshakeTimeout = timeout
				if secure {
					withTLS(o)
				}
			}))
			for _, start := range []string{"", "GET / HTTP/1.1\r\nHost"} {
				nc, err := net.Dial("tcp", r.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				io.WriteString(nc, start)
				nc.SetReadDeadline(time.Now().Add(patience))
				if b, err := io.ReadAll(nc); isTimeout(err) {
					t.Fatalf("got %q; the connection stays open", b)
				}
			}
			// An open connection is not subject to it.
			c := r.open("/", "")
			s := r.take()
			time.AfterFunc(timeout+timeout/5, func() { s.Write([]byte("later")) })
			c.expect(2, "later")
		})
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

func TestTLS(t *testing.T) {
	r := listen(t, withOptions(withTLS))
	c := r.open("/", "")
	s := r.take()
	if s.meta.TLS == nil || s.meta.TLS.Version != tls.VersionTLS13 || !s.meta.TLS.HandshakeComplete {
		t.Fatalf("got %+v", s.meta.TLS)
	}
	if _, err := s.Write([]byte(strings.Repeat("x", 50000))); err != nil {
		t.Fatal(err)
	}
	c.expect(2, strings.Repeat("x", 50000))
	if _, err := c.w.Write([]byte(strings.Repeat("y", 50000))); err != nil {
		t.Fatal(err)
	}
	if got := readString(t, s, 50000); strings.Trim(got, "y") != "" {
		t.Fatal("wrong bytes")
	}
	r.log.await(t, "INF Listening for websocket clients on wss://127.0.0.1:")
	if strings.Contains(r.log.text(), "PRODUCTION") {
		t.Fatal(r.log.text())
	}
}

func TestPlainClientOfTLSListener(t *testing.T) {
	r := listen(t, withOptions(withTLS))
	for _, tt := range []struct{ name, send, want, log string }{
		{"HTTP", get("/", ""), answerPlain, "client speaks HTTP without TLS"},
		{"NATS", "CONNECT {}\r\nPING\r\n", "", "first record does not look like a TLS handshake"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nc, err := net.Dial("tcp", r.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			nc.SetDeadline(time.Now().Add(patience))
			io.WriteString(nc, tt.send)
			b, err := io.ReadAll(nc)
			if isTimeout(err) || !strings.HasPrefix(string(b), tt.want) {
				t.Fatalf("got %q, %v", b, err)
			}
			r.log.await(t, "ERR websocket: TLS handshake error from "+nc.LocalAddr().String())
			r.log.await(t, tt.log)
		})
	}
}

func TestTLSRateLimit(t *testing.T) {
	r := listen(t, func(c *Config) {
		withTLS(c.Options)
		c.AllowTLS = func() bool { return false }
	})
	nc := r.dial().(*tls.Conn)
	if err := nc.Handshake(); err == nil || isTimeout(err) {
		t.Fatalf("got %v", err)
	}
	r.log.await(t, "too many TLS handshakes per second")
}

func TestSetTLS(t *testing.T) {
	r := listen(t, withOptions(withTLS))
	other := listen(t, withOptions(withTLS))
	r.SetTLS(other.cfg.TLS)
	r.ca = other.ca
	r.open("/", "")
}

func TestMeta(t *testing.T) {
	cookies := func(o *options.Websocket) {
		o.JWTCookie, o.UsernameCookie, o.PasswordCookie, o.TokenCookie = "j", "u", "p", "t"
		o.Compression = true
	}
	tests := []struct {
		name, path, lines string
		change            func(*options.Websocket)
		want              Meta
	}{
		{"nothing", "/", "", cookies, Meta{}},
		{"all cookies", "/", "Cookie: a=b; j=jwt; u=user; p=pw; t=token; z=y\r\n", cookies, Meta{Credentials: Credentials{"jwt", "user", "pw", "token"}}},
		{"two headers", "/", "Cookie: u=user\r\nCookie: p=pw\r\n", cookies, Meta{Credentials: Credentials{User: "user", Pass: "pw"}}},
		{"quoted", "/", "Cookie: t=\"token\"\r\n", cookies, Meta{Credentials: Credentials{Token: "token"}}},
		{"the last counts", "/", "Cookie: t=a; t=b\r\n", cookies, Meta{Credentials: Credentials{Token: "b"}}},
		{"names matter", "/", "Cookie: T=a; user=b\r\n", cookies, Meta{}},
		{"no cookies configured", "/", "Cookie: =x; u=user\r\n", func(*options.Websocket) {}, Meta{}},
		{"one cookie for two", "/", "Cookie: t=x\r\n", func(o *options.Websocket) { o.UsernameCookie, o.TokenCookie = "t", "t" }, Meta{Credentials: Credentials{User: "x", Token: "x"}}},
		{"compression", "/", "Sec-WebSocket-Extensions: permessage-deflate\r\n", cookies, Meta{Compression: true}},
		{"compression is off", "/", "Sec-WebSocket-Extensions: permessage-deflate\r\n", func(*options.Websocket) {}, Meta{}},
		{"no masking", "/", "Nats-No-Masking: true\r\n", cookies, Meta{NoMasking: true}},
		{"forwarded", "/", "X-Forwarded-For: 1.2.3.4\r\n", cookies, Meta{Forwarded: "1.2.3.4"}},
		{"forwarded, IPv6", "/", "X-Forwarded-For: 2001:db8::1\r\n", cookies, Meta{Forwarded: "[2001:db8::1]"}},
		{"forwarded, a list", "/", "X-Forwarded-For: 1.2.3.4, 5.6.7.8\r\n", cookies, Meta{}},
		{"forwarded, first is no address", "/", "X-Forwarded-For: me\r\nX-Forwarded-For: 1.2.3.4\r\n", cookies, Meta{}},
		{"leafnode", "/x/leafnode", "", cookies, Meta{Kind: Leafnode}},
		{"MQTT", "/mqtt", "", cookies, Meta{Kind: MQTT}},
		{"escaped path", "/%6dqtt", "", cookies, Meta{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := listen(t, func(c *Config) {
				c.Leafnodes, c.MQTT = true, true
				tt.change(c.Options)
			})
			c := r.open(tt.path, tt.lines)
			if got := *r.take().meta; got != tt.want {
				t.Fatalf("got %+v, want %+v", got, tt.want)
			}
			if got, want := c.resp.Header.Get("Sec-WebSocket-Protocol"), map[Kind]string{MQTT: "mqtt"}[tt.want.Kind]; got != want {
				t.Fatalf("subprotocol %q", got)
			}
		})
	}
}

func TestCredentialsFillWhatIsEmpty(t *testing.T) {
	tests := []struct {
		name       string
		cookies    Credentials
		have, want protocol.Connect
	}{
		{"all", Credentials{"j", "u", "p", "t"}, protocol.Connect{}, protocol.Connect{JWT: "j", User: "u", Pass: "p", Token: "t"}},
		{"none", Credentials{}, protocol.Connect{JWT: "j", User: "u", Pass: "p", Token: "t"}, protocol.Connect{JWT: "j", User: "u", Pass: "p", Token: "t"}},
		{"client's own count", Credentials{"j", "u", "p", "t"}, protocol.Connect{User: "U", Token: "T"}, protocol.Connect{JWT: "j", User: "U", Pass: "p", Token: "T"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.cookies.Fill(&tt.have); tt.have != tt.want {
				t.Fatalf("got %+v, want %+v", tt.have, tt.want)
			}
		})
	}
}

func TestConnectionTypes(t *testing.T) {
	for kind, want := range map[Kind]auth.ConnectionType{Client: "WEBSOCKET", Leafnode: "LEAFNODE_WS", MQTT: "MQTT_WS"} {
		if got := kind.ConnectionType(); got != want {
			t.Errorf("%d: got %s, want %s", kind, got, want)
		}
	}
}
