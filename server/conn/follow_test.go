package conn

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"godwit/server/account"
	"godwit/server/options"
	"godwit/server/router"
)

func TestSampled(t *testing.T) {
	const id = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
	for header, want := range map[string]bool{"traceparent: " + id + "01": true, "TraceParent:" + id + "ff": true, "traceparent: " + id + "02": false,
		"traceparent: " + id: false, "traceparent: " + id + "1": false, "traceparent: " + id + "+1": false, "xtraceparent: " + id + "01": false, "traceparent": false} {
		if got := sampled([]byte("NATS/1.0\r\n" + header + "\r\n\r\n")); got != want {
			t.Errorf("%s: %v", header, got)
		}
	}
}

// Header blocks are the client's: any bytes are taken, and looked at in bounds.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nNats-Trace-Dest: a\r\nX: 1\r\nX:2\r\n\r\n"))
	f.Add([]byte("NATS/1.0 503\r\n\r\n"))
	f.Add([]byte("\r\nNats-Trace-Dest:"))
	f.Add([]byte("NATS/1.0\r\n: x\r\n:\r\nno colon\r\n"))
	f.Fuzz(func(t *testing.T, block []byte) {
		before := bytes.Clone(block)
		sampled(block)
		for key, values := range headers(block) {
			for _, v := range values {
				if v == "" || strings.TrimSpace(v) != v || !bytes.Contains(block, []byte(key+":")) {
					t.Errorf("%q: %q", key, v)
				}
			}
		}
		if _, err := json.Marshal(headers(block)); err != nil {
			t.Error(err)
		}
		if v := headerOf(block, []byte(router.TraceHeader), false); len(v) > 0 && !bytes.Contains(block, v) {
			t.Errorf("%q", v)
		}
		if !bytes.Equal(block, before) {
			t.Error("the block was changed")
		}
	})
}

// BenchmarkHandleHeaders shows what it costs that a message with headers might ask for a trace: looking for the name.
func BenchmarkHandleHeaders(b *testing.B) {
	header := "NATS/1.0\r\nNats-Msg-Id: 0123456789012345678901\r\nX-Other: something\r\n\r\n"
	buf := []byte(strings.Repeat("HPUB some.subject 78 206\r\n"+header+strings.Repeat("x", 206-len(header))+"\r\n", 200))
	for name, follow := range map[string]func(*account.Account, *router.Trace, []any){"untraceable": nil, "traceable": func(*account.Account, *router.Trace, []any) {}} {
		b.Run(name, func(b *testing.B) {
			e, _ := newEnv(b, (*options.Quota)(nil))
			e.Follow = follow
			client, served := net.Pipe()
			defer client.Close()
			go io.Copy(io.Discard, client)
			c, err := New(e, 1, served, nil)
			if err != nil {
				b.Fatal(err)
			}
			c.admit()
			if _, err := c.handle([]byte("CONNECT {\"verbose\":false,\"headers\":true}\r\n")); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.handle(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
