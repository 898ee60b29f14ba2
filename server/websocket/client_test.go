package websocket

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/protocol"
	"godwit/server/options"
)

// hub is a server that knows just enough of the protocol for a client: subscriptions to literal subjects.
type hub struct {
	mu   sync.Mutex
	subs map[string]map[*hubConn]string // subject, connection, sid
	seen protocol.Connect               // the last CONNECT, with the credentials of cookies
	wg   sync.WaitGroup
}

type hubConn struct {
	mu sync.Mutex
	nc *Conn
}

func (h *hub) adopt(c *Conn, m *Meta) {
	h.wg.Go(func() {
		defer c.Close()
		h.serve(&hubConn{nc: c}, m)
	})
}

func (c *hubConn) write(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	io.WriteString(c.nc, s)
}

func (h *hub) serve(c *hubConn, m *Meta) {
	c.write(`INFO {"server_id":"HUB","version":"2.15.2","proto":1,"headers":true,"max_payload":1048576} ` + "\r\n")
	in := bufio.NewReader(c.nc)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		args := strings.Fields(rest)
		switch verb {
		case "CONNECT":
			var o protocol.Connect
			if json.Unmarshal([]byte(rest), &o) != nil {
				return
			}
			m.Credentials.Fill(&o)
			h.mu.Lock()
			h.seen = o
			h.mu.Unlock()
		case "PING":
			c.write("PONG\r\n")
		case "SUB":
			h.mu.Lock()
			if h.subs[args[0]] == nil {
				h.subs[args[0]] = make(map[*hubConn]string)
			}
			h.subs[args[0]][c] = args[len(args)-1]
			h.mu.Unlock()
		case "PUB":
			n, err := strconv.Atoi(args[len(args)-1])
			if err != nil {
				return
			}
			body := make([]byte, n+2)
			if _, err := io.ReadFull(in, body); err != nil {
				return
			}
			reply := strings.Join(args[1:], " ")
			h.mu.Lock()
			for to, sid := range h.subs[args[0]] {
				to.write(fmt.Sprintf("MSG %s %s %s\r\n%s", args[0], sid, reply, body))
			}
			h.mu.Unlock()
		}
	}
}

// TestOfficialClient publishes messages of many sizes with the official client, in all modes.
func TestOfficialClient(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, compression := range []bool{false, true} {
			t.Run(fmt.Sprintf("TLS %v, compression %v", secure, compression), func(t *testing.T) {
				h := &hub{subs: make(map[string]map[*hubConn]string)}
				defer h.wg.Wait()
				r := listen(t, func(c *Config) {
					c.Adopt = h.adopt
					c.Options.Compression = true
					c.Options.UsernameCookie, c.Options.PasswordCookie = "user", "pass"
					if secure {
						withTLS(c.Options)
					}
				})
				opts := []nats.Option{nats.Compression(compression), nats.NoReconnect(), nats.NoEcho(),
					nats.WebSocketConnectionHeaders(http.Header{"Cookie": {"user=alice; pass=secret"}})}
				if secure {
					opts = append(opts, nats.RootCAs(r.ca.File))
				}
				url := r.Scheme() + "://" + r.Addr().String()
				nc, err := nats.Connect(url, opts...)
				if err != nil {
					t.Fatalf("%v\n%s", err, r.log.text())
				}
				defer nc.Close()
				h.mu.Lock()
				if h.seen.User != "alice" || h.seen.Pass != "secret" || h.seen.Lang != "go" {
					t.Errorf("got %+v", h.seen)
				}
				h.mu.Unlock()
				sub, err := nc.SubscribeSync("foo")
				if err != nil {
					t.Fatal(err)
				}
				const rounds = 2
				sizes := []int{0, 1, 64, 65, 125, 126, 1000, 4096, 65535, 65536, 200000, 1 << 20}
				for i := range rounds * len(sizes) {
					if err := nc.Publish("foo", payload(i, sizes[i%len(sizes)])); err != nil {
						t.Fatal(err)
					}
				}
				for i := range rounds * len(sizes) {
					m, err := sub.NextMsg(patience)
					if err != nil {
						t.Fatalf("message %d: %v, %v\n%s", i, err, nc.LastError(), r.log.text())
					}
					if !bytes.Equal(m.Data, payload(i, sizes[i%len(sizes)])) {
						t.Fatalf("message %d has other bytes", i)
					}
				}
				if _, err := nc.RTT(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// payload is half random, half not.
func payload(seed, n int) []byte {
	b := bytes.Repeat([]byte("godwit "), n/7+1)[:n]
	x := uint32(seed)
	for i := range b[:n/2] {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func TestOfficialClientIsRefusedByOrigin(t *testing.T) {
	r := listen(t, withOptions(func(o *options.Websocket) { o.SameOrigin = true }))
	_, err := nats.Connect("ws://"+r.Addr().String(), nats.NoReconnect(), nats.WebSocketConnectionHeaders(http.Header{"Origin": {"http://elsewhere"}}))
	if err == nil {
		t.Fatal("connected")
	}
	r.log.await(t, "origin not allowed: not same origin")
}
