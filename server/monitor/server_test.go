package monitor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestServerListensAndCloses(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, log := newTest(newFake())
	s, err := m.Listen(ServerOptions{Host: "127.0.0.1", Port: -1, BasePath: "nats"})
	if err != nil {
		t.Fatal(err)
	}
	port := s.Addr().Port
	if want := fmt.Sprintf("INF Starting http monitor on 127.0.0.1:%d", port); !slices.Equal(log.all(), []string{want}) {
		t.Errorf("log %q, want %q", log.all(), want)
	}
	client := &http.Client{Transport: &http.Transport{}}
	r, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/nats/healthz", port))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil || string(body) != `{"status":"ok"}` {
		t.Errorf("%s, %v", body, err)
	}
	idle, err := net.Dial("tcp", s.Addr().String()) // a connection that never asks anything
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("connection outlives the server")
	}
	_ = idle.Close()
	client.CloseIdleConnections()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal("the port is still taken: ", err)
	}
	_ = l.Close()
}

// TestServerCloseWaitsForRequests checks that no handler runs after Close.
func TestServerCloseWaitsForRequests(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newFake()
	f.hold, f.entered = make(chan struct{}), make(chan struct{}, 1)
	m := New(Options{Source: f, Logger: &lines{}})
	s, err := m.Listen(ServerOptions{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-f.entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	_, _ = c.Read(make([]byte, 1)) // Close has cut the connection
	select {
	case <-closed:
		t.Error("Close returned while a request was at work")
	default:
	}
	close(f.hold)
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestServerPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m, _ := newTest(newFake())
	_, err = m.Listen(ServerOptions{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port})
	want := fmt.Sprintf("can't listen to the monitor port: listen tcp %s: bind: address already in use", l.Addr())
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func testCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestServerHTTPS(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, log := newTest(newFake())
	cfg := &tls.Config{Certificates: []tls.Certificate{testCertificate(t)}}
	get := func(auth tls.ClientAuthType) error {
		cfg.ClientAuth = auth
		s, err := m.Listen(ServerOptions{Host: "127.0.0.1", TLS: cfg})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		defer client.CloseIdleConnections()
		r, err := client.Get(fmt.Sprintf("https://%s/healthz", s.Addr()))
		if err != nil {
			return err
		}
		return r.Body.Close()
	}
	if err := get(tls.NoClientCert); err != nil {
		t.Errorf("a client certificate was asked for: %v", err)
	}
	if err := get(tls.RequireAndVerifyClientCert); err == nil {
		t.Error("no client certificate was asked for")
	}
	if got := log.all(); len(got) < 2 || !strings.HasPrefix(got[0], "INF Starting https monitor on 127.0.0.1:") {
		t.Errorf("log %q", got)
	}
	if _, err := m.Listen(ServerOptions{Host: "127.0.0.1", TLS: &tls.Config{}}); err != ErrHTTPSWithoutTLS {
		t.Errorf("HTTPS without a certificate: %v", err)
	}
}
