package compat

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
	"godwit/tests/harness/certs"
)

// keys is what a server and its clients need for TLS: files of the server, pools of the client.
type keys struct {
	block  string // the tls block of a configuration, without its braces
	roots  *x509.CertPool
	client tls.Certificate
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	dir := t.TempDir()
	ca, err := certs.Issue("test authority", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := certs.Issue("server", []string{"localhost", "127.0.0.1"}, ca)
	if err != nil {
		t.Fatal(err)
	}
	client, err := certs.Issue("client", []string{"client.example"}, ca)
	if err != nil {
		t.Fatal(err)
	}
	k := &keys{roots: x509.NewCertPool()}
	k.roots.AppendCertsFromPEM([]byte(ca.CertPEM))
	if k.client, err = tls.X509KeyPair([]byte(client.CertPEM), []byte(client.KeyPEM)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"ca": ca.CertPEM, "cert": server.CertPEM, "key": server.KeyPEM} {
		file := filepath.Join(dir, name+".pem")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k.block += fmt.Sprintf("%s_file: %q\n", name, file)
	}
	return k
}

func (k *keys) config(more string) string { return "tls {\n" + k.block + more + "\n}" }

func (k *keys) dial(withClient bool) *tls.Config {
	config := &tls.Config{RootCAs: k.roots, MinVersion: tls.VersionTLS12}
	if withClient {
		config.Certificates = []tls.Certificate{k.client}
	}
	return config
}

// roundTrip connects and exchanges one message.
func roundTrip(t *testing.T, s *harness.Server, opts ...nats.Option) error {
	t.Helper()
	return roundTripTo("nats://localhost"+s.Addr()[strings.LastIndexByte(s.Addr(), ':'):], opts...)
}

func roundTripTo(url string, opts ...nats.Option) error {
	nc, err := nats.Connect(url, append(opts, nats.Timeout(5*time.Second))...)
	if err != nil {
		return err
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("a")
	if err != nil {
		return err
	}
	if err := nc.Publish("a", make([]byte, 100<<10)); err != nil {
		return err
	}
	m, err := sub.NextMsg(harness.Patience)
	if err == nil && len(m.Data) != 100<<10 {
		err = fmt.Errorf("%d bytes came", len(m.Data))
	}
	return err
}

func TestTLS(t *testing.T) {
	k := newKeys(t)
	s := harness.Start(t, harness.Options{Config: k.config("")})
	if !s.Raw(t).Info.TLSRequired {
		t.Error("INFO does not tell tls_required")
	}
	if err := roundTrip(t, s, nats.Secure(k.dial(false))); err != nil {
		t.Error(err)
	}
	if err := roundTrip(t, s, nats.Secure(&tls.Config{RootCAs: x509.NewCertPool()})); err == nil {
		t.Error("a client without the authority's certificate is content")
	}
	plain := s.Raw(t)
	plain.Send(harness.QuietConnect + "PING\r\n")
	if got := plain.UntilClosed(); strings.Contains(got, "PONG") {
		t.Errorf("a client without TLS got %q", got)
	}
}

func TestTLSVerify(t *testing.T) {
	k := newKeys(t)
	s := harness.Start(t, harness.Options{Config: k.config("verify: true")})
	if err := roundTrip(t, s, nats.Secure(k.dial(true))); err != nil {
		t.Error(err)
	}
	if err := roundTrip(t, s, nats.Secure(k.dial(false))); err == nil {
		t.Error("a client without a certificate got in")
	}
	other := newKeys(t) // of another authority
	stranger := k.dial(false)
	stranger.Certificates = []tls.Certificate{other.client}
	if err := roundTrip(t, s, nats.Secure(stranger)); err == nil {
		t.Error("a client with another authority's certificate got in")
	}
}

// With handshake_first the server says nothing before the handshake.
func TestTLSHandshakeFirst(t *testing.T) {
	k := newKeys(t)
	s := harness.New(t, harness.Options{Config: k.config("handshake_first: true\ntimeout: 2")})
	s.StartUnprobed()
	if err := roundTrip(t, s, nats.Secure(k.dial(false)), nats.TLSHandshakeFirst()); err != nil {
		t.Error(err)
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if b, err := bufio.NewReader(conn).ReadByte(); err == nil {
		t.Errorf("the server began with a byte %q", b)
	}
}

// With allow_non_tls the first byte decides.
func TestTLSAllowed(t *testing.T) {
	k := newKeys(t)
	s := harness.Start(t, harness.Options{Config: k.config("") + "\nallow_non_tls: true"})
	if err := roundTrip(t, s); err != nil {
		t.Error(err)
	}
	if err := roundTrip(t, s, nats.Secure(k.dial(false))); err != nil {
		t.Error(err)
	}
}
