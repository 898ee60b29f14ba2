package server

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/server/options"
	"godwit/server/tlsconf/tlstest"
)

// proxyDialer connects through a proxy that speaks for a client: the header comes first.
type proxyDialer struct{ header string }

func (d proxyDialer) Dial(network, address string) (net.Conn, error) {
	nc, err := net.Dial(network, address)
	if err == nil {
		_, err = io.WriteString(nc, d.header)
	}
	return nc, err
}

const proxyHeader = "PROXY TCP4 10.20.30.40 10.0.0.1 5555 4222\r\n"

func TestProxyHeaderNamesTheClient(t *testing.T) {
	ca := tlstest.NewCA(t)
	for _, mode := range []string{"plain", "optional", "TLS", "handshake first"} {
		s := run(t, func(o *options.Options) {
			o.ProxyProtocol = true
			if mode != "plain" {
				p := ca.Server(t)
				o.TLS = &options.TLS{CertFile: p.CertFile, KeyFile: p.KeyFile, Timeout: 10 * time.Second}
				o.TLS.HandshakeFirst = mode == "handshake first"
				o.AllowNonTLS = mode == "optional"
			}
		})
		var opts []nats.Option
		if mode == "TLS" || mode == "handshake first" {
			opts = append(opts, nats.Secure(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}))
		}
		if mode == "handshake first" {
			opts = append(opts, nats.TLSHandshakeFirst())
		}
		proxied, direct := connect(t, s, append(opts, nats.SetCustomDialer(proxyDialer{proxyHeader}))...), connect(t, s, opts...)
		for _, nc := range []*nats.Conn{proxied, direct} { // the INFO with the address comes behind the first PONG
			if err := nc.Flush(); err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
		}
		if ip, err := proxied.GetClientIP(); err != nil || ip.String() != "10.20.30.40" {
			t.Errorf("%s: client_ip is %v, %v", mode, ip, err)
		}
		if ip, err := direct.GetClientIP(); err != nil || !ip.IsLoopback() {
			t.Errorf("%s: client_ip without a proxy is %v, %v", mode, ip, err)
		}
		for _, c := range s.env.Registry.All() {
			snap := c.Snapshot()
			id, _ := proxied.GetClientID()
			if snap.CID == id && (snap.IP != "10.20.30.40" || snap.Port != 5555) {
				t.Errorf("%s: connz shows %s:%d", mode, snap.IP, snap.Port)
			}
		}
	}
}

func TestProxyProtocolOnTheWire(t *testing.T) {
	s := run(t, func(o *options.Options) { o.ProxyProtocol = true })
	dial := func(text string) (*bufio.Reader, net.Conn) {
		t.Helper()
		nc, err := net.Dial("tcp", s.ClientAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		nc.SetDeadline(time.Now().Add(20 * time.Second))
		r := bufio.NewReader(nc)
		line, err := r.ReadString('\n') // INFO comes at once
		if err != nil {
			t.Fatal(err)
		}
		var info struct {
			ClientIP *string `json:"client_ip"`
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil || info.ClientIP != nil {
			t.Errorf("first INFO: %s", line)
		}
		if _, err := io.WriteString(nc, text); err != nil {
			t.Fatal(err)
		}
		return r, nc
	}
	for _, text := range []string{"PING\r\n", "PROXY UNKNOWN\r\nPING\r\n", proxyHeader + "PING\r\n", "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00PING\r\n"} {
		r, _ := dial(text)
		line, err := r.ReadString('\n')
		if err == nil && strings.HasPrefix(line, "INFO") {
			line, err = r.ReadString('\n')
		}
		if err != nil || line != "PONG\r\n" {
			t.Errorf("%q: %q, %v", text, line, err)
		}
	}
	r, _ := dial("PROXY TCP4 nonsense\r\nPING\r\n")
	if rest, err := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("after a bad header: %q, %v", rest, err)
	}
}
