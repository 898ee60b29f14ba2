package ws

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"
)

const goodRequest = "GET / HTTP/1.1\r\nHost: x:1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

func request(t testing.TB, text string) *http.Request {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestCheckRequest(t *testing.T) {
	tests := []struct {
		name     string
		old, new string // replaced in a good request
		status   int    // 0: accepted
		cause    string
	}{
		{"good", "", "", 0, ""},
		{"HTTP/1.0", "HTTP/1.1", "HTTP/1.0", 0, ""},
		{"POST", "GET", "POST", 405, "method is not GET"},
		{"no host", "Host: x:1\r\n", "", 400, "no Host header"},
		{"no upgrade", "Upgrade: websocket\r\n", "", 400, "Upgrade header does not ask for websocket"},
		{"another upgrade", "websocket", "h2c", 400, "Upgrade header does not ask for websocket"},
		{"upgrade in capitals", "websocket", "WebSocket", 0, ""},
		{"upgrade list", "websocket", "h2c, websocket", 0, ""},
		{"no connection", "Connection: Upgrade\r\n", "", 400, "Connection header does not ask for an upgrade"},
		{"connection list", "Connection: Upgrade", "Connection: keep-alive, upgrade", 0, ""},
		{"two connection headers", "Connection: Upgrade", "Connection: keep-alive\r\nConnection: Upgrade", 0, ""},
		{"no key", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", 400, "no key"},
		{"short key", "dGhlIHNhbXBsZSBub25jZQ==", "AAAA", 400, "key is not 16 bytes in base64"},
		{"long key", "dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQAA", 400, "key is not 16 bytes in base64"},
		{"key not base64", "dGhlIHNhbXBsZSBub25jZQ==", "!!!", 400, "key is not 16 bytes in base64"},
		{"no version", "Sec-WebSocket-Version: 13\r\n", "", 400, "version is not 13"},
		{"version 8", "Version: 13", "Version: 8", 400, "version is not 13"},
		{"versions", "Version: 13", "Version: 8, 13", 0, ""},
		{"first of two mistakes", "GET / HTTP/1.1\r\nHost: x:1\r\n", "PUT / HTTP/1.1\r\n", 405, "method is not GET"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			offer, err := CheckRequest(request(t, strings.Replace(goodRequest, tt.old, tt.new, 1)))
			if tt.status == 0 {
				if err != nil || *offer != (Offer{Key: "dGhlIHNhbXBsZSBub25jZQ=="}) {
					t.Fatalf("got %+v, %v", offer, err)
				}
				return
			}
			if r, ok := err.(*Refusal); !ok || r.Status != tt.status || r.Error() != tt.cause {
				t.Fatalf("got %v, want %d %s", err, tt.status, tt.cause)
			}
		})
	}
}

func TestOffers(t *testing.T) {
	tests := []struct {
		headers            string
		deflate, noMasking bool
	}{
		{"Sec-WebSocket-Extensions: permessage-deflate", true, false},
		{"Sec-WebSocket-Extensions: Permessage-Deflate", true, false},
		{"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover", true, false},
		{"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", true, false},
		{`Sec-WebSocket-Extensions: permessage-deflate;client_max_window_bits="12" ; server_max_window_bits=15`, true, false},
		{"Sec-WebSocket-Extensions: x-webkit-deflate-frame, permessage-deflate", true, false},
		{"Sec-WebSocket-Extensions: foo\r\nSec-WebSocket-Extensions: permessage-deflate", true, false},
		{"Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10", false, false},
		{"Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10, permessage-deflate", true, false},
		{"Sec-WebSocket-Extensions: permessage-deflate; level=9", false, false},
		{"Sec-WebSocket-Extensions: permessage-deflated", false, false},
		{"Nats-No-Masking: true", false, true},
		{"Nats-No-Masking: TRUE", false, false},
		{"Nats-No-Masking: 1", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.headers, func(t *testing.T) {
			offer, err := CheckRequest(request(t, strings.TrimSuffix(goodRequest, "\r\n")+tt.headers+"\r\n\r\n"))
			if err != nil || offer.Deflate != tt.deflate || offer.NoMasking != tt.noMasking {
				t.Fatalf("got %+v, %v", offer, err)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	const start = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
	headers := HeaderLines(map[string]string{"x-foo": "a", "X-Bar": "b", "A-Z": "c"})
	tests := []struct {
		name string
		a    Answer
		want string
	}{
		{"plain", Answer{}, start + "\r\n"},
		{"everything", Answer{Deflate: true, NoMasking: true, Subprotocol: "mqtt", Headers: headers}, start +
			"Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n" +
			"Nats-No-Masking: true\r\nSec-Websocket-Protocol: mqtt\r\nA-Z: c\r\nX-Bar: b\r\nx-foo: a\r\n\r\n"},
		{"no masking", Answer{NoMasking: true}, start + "Nats-No-Masking: true\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Key = "dGhlIHNhbXBsZSBub25jZQ=="
			if got := string(tt.a.Append(nil)); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 58, 37, 0, time.UTC)
	const head = "\r\nContent-Type: text/plain; charset=utf-8\r\nSec-Websocket-Version: 13\r\nX-Content-Type-Options: nosniff\r\n" +
		"Date: Mon, 30 Nov 2026 22:58:37 GMT\r\nContent-Length: "
	tests := []struct {
		name, req string
		status    int
		last      bool
		want      string
	}{
		{"400", goodRequest, 400, false, "HTTP/1.1 400 Bad Request" + head + "12\r\n\r\nBad Request\n"},
		{"403", goodRequest, 403, false, "HTTP/1.1 403 Forbidden" + head + "10\r\n\r\nForbidden\n"},
		{"404", goodRequest, 404, false, "HTTP/1.1 404 Not Found" + head + "10\r\n\r\nNot Found\n"},
		{"405 and close", goodRequest, 405, true, "HTTP/1.1 405 Method Not Allowed" + head + "19\r\nConnection: close\r\n\r\nMethod Not Allowed\n"},
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 400, true, "HTTP/1.0 400 Bad Request" + head + "12\r\n\r\nBad Request\n"},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", 405, false, "HTTP/1.1 405 Method Not Allowed" + head + "19\r\n\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendRefusal(nil, request(t, tt.req), tt.status, now, tt.last)); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}
