package tlsconf

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"godwit/server/options"
	"godwit/server/tlsconf/tlstest"
)

func TestBuildErrors(t *testing.T) {
	ca := tlstest.NewCA(t)
	a, b := ca.Server(t), ca.Server(t)
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	pair := func(cert, key string) []options.CertPair { return []options.CertPair{{CertFile: cert, KeyFile: key}} }
	tests := []struct {
		name string
		in   options.TLS
		text string
	}{
		{"no key", options.TLS{CertFile: a.CertFile}, "missing 'key_file' in TLS configuration"},
		{"no certificate", options.TLS{KeyFile: a.KeyFile}, "missing 'cert_file' in TLS configuration"},
		{"both forms", options.TLS{CertFile: a.CertFile, KeyFile: a.KeyFile, Certs: pair(a.CertFile, a.KeyFile)},
			"error parsing tls config, cannot combine 'cert_file' option with 'certs' option"},
		{"file not there", options.TLS{CertFile: "/nope", KeyFile: "/nope"}, "error parsing X509 certificate/key pair: open /nope: no such file or directory"},
		{"key of another", options.TLS{CertFile: a.CertFile, KeyFile: b.KeyFile}, "error parsing X509 certificate/key pair: tls: private key does not match public key"},
		{"no PEM", options.TLS{CertFile: junk, KeyFile: a.KeyFile}, "error parsing X509 certificate/key pair: tls: failed to find any PEM data in certificate input"},
		{"half a pair", options.TLS{Certs: pair(a.CertFile, "")}, "error parsing certificates config: both 'cert_file' and 'cert_key' options are required"},
		{"pair not there", options.TLS{Certs: append(pair(a.CertFile, a.KeyFile), pair("/nope", "/nope")...)}, "error parsing X509 certificate/key pair 2/2: open /nope: no such file or directory"},
		{"authority not there", options.TLS{CAFile: "/nope"}, "open /nope: no such file or directory"},
		{"authority without PEM", options.TLS{CAFile: junk}, "failed to parse root ca certificate"},
		{"insecure ciphers", options.TLS{CipherSuites: []uint16{tls.TLS_RSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA}},
			"insecure cipher suites configured without 'allow_insecure_cipher_suites' option set: TLS_RSA_WITH_RC4_128_SHA, TLS_RSA_WITH_AES_128_CBC_SHA"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, build := range []func(*options.TLS) (*tls.Config, error){Server, Client} {
				if c, err := build(&tt.in); c != nil || err == nil || err.Error() != tt.text {
					t.Errorf("got  %v\nwant %s", err, tt.text)
				}
			}
		})
	}
}

func TestLinksCheckNoStates(t *testing.T) {
	if c, err := Client(&options.TLS{OCSPPeer: &options.OCSPPeer{Verify: true}}); c != nil || err != ErrOCSPPeer {
		t.Errorf("got %v", err)
	}
}

func TestSettings(t *testing.T) {
	o := &options.TLS{
		CipherSuites: []uint16{tls.TLS_RSA_WITH_RC4_128_SHA}, AllowInsecureCiphers: true,
		Curves: []tls.CurveID{tls.CurveP384}, MinVersion: tls.VersionTLS13, Insecure: true,
		OCSPPeer: &options.OCSPPeer{},
	}
	server, err := Server(o)
	if err != nil {
		t.Fatal(err)
	}
	client, err := Client(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*tls.Config{server, client} {
		if len(c.CipherSuites) != 1 || c.CurvePreferences[0] != tls.CurveP384 || c.MinVersion != tls.VersionTLS13 || c.VerifyConnection != nil {
			t.Errorf("%+v", c)
		}
	}
	if server.InsecureSkipVerify || !client.InsecureSkipVerify {
		t.Error("insecure is for links only")
	}
	plain, err := Server(&options.TLS{})
	if err != nil || plain.MinVersion != tls.VersionTLS12 || plain.ClientAuth != tls.NoClientCert || plain.CipherSuites != nil {
		t.Errorf("%+v, %v", plain, err)
	}
	for _, o := range []options.TLS{{Verify: true}, {VerifyAndMap: true}, {VerifyKnownURLs: true}} {
		if c, err := Server(&o); err != nil || c.ClientAuth != tls.RequireAndVerifyClientCert {
			t.Errorf("%+v: %v, %v", o, c.ClientAuth, err)
		}
	}
	if Timeout(&options.TLS{}) != 2*time.Second || Timeout(&options.TLS{Timeout: time.Minute}) != time.Minute {
		t.Error("wrong timeout")
	}
}

// connect makes both ends shake hands and exchange a byte each way; TLS 1.3 tells the client only then that the
// server refused it.
func connect(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	exchange := func(c *tls.Conn) error {
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		if err := c.Handshake(); err != nil {
			return err
		}
		if _, err := c.Write([]byte{'x'}); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		done <- exchange(tls.Server(c, server))
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	clientErr = exchange(tls.Client(c, client))
	return <-done, clientErr
}

func TestHandshakes(t *testing.T) {
	ca, stranger := tlstest.NewCA(t), tlstest.NewCA(t)
	pair, member, alien := ca.Server(t), ca.Client(t, "member"), stranger.Client(t, "alien")
	late := ca.Issue(t, tlstest.Request{Client: true, NotBefore: time.Now().Add(-2 * time.Hour), Lifetime: time.Hour, Subject: pkix.Name{CommonName: "late"}})
	pins := func(p *tlstest.Pair) map[string]struct{} { return map[string]struct{}{KeyHash(p.Cert): {}} }
	own := options.TLS{CertFile: pair.CertFile, KeyFile: pair.KeyFile}
	with := func(change func(*options.TLS)) options.TLS { o := own; change(&o); return o }
	link := func(p *tlstest.Pair, change func(*options.TLS)) options.TLS {
		o := options.TLS{CAFile: ca.File}
		if p != nil {
			o.CertFile, o.KeyFile = p.CertFile, p.KeyFile
		}
		if change != nil {
			change(&o)
		}
		return o
	}
	verify := with(func(o *options.TLS) { o.CAFile, o.Verify = ca.File, true })
	pinned := with(func(o *options.TLS) { o.CAFile, o.Verify, o.PinnedCerts = ca.File, true, pins(member) })
	unverified := with(func(o *options.TLS) { o.PinnedCerts = pins(member) })
	tests := []struct {
		name           string
		server, client options.TLS
		cause          string // part of the error at the end that refuses; empty: all is well
	}{
		{"plain", own, link(nil, nil), ""},
		{"several certificates", options.TLS{Certs: []options.CertPair{{CertFile: pair.CertFile, KeyFile: pair.KeyFile}}}, link(nil, nil), ""},
		{"unknown authority", own, options.TLS{CAFile: stranger.File}, "unknown authority"},
		{"system's authorities", own, options.TLS{}, "certificate"},
		{"insecure link", own, options.TLS{Insecure: true}, ""},
		{"verify", verify, link(member, nil), ""},
		{"verify, no certificate", verify, link(nil, nil), "didn't provide a certificate"},
		{"verify, certificate of a stranger", verify, link(alien, nil), "unknown authority"},
		{"verify, expired", verify, link(late, nil), "expired"},
		{"verify, certificate of a server", verify, link(ca.Server(t), nil), ""},
		{"TLS 1.3 only", with(func(o *options.TLS) { o.MinVersion = tls.VersionTLS13 }), link(nil, nil), ""},
		{"curve", with(func(o *options.TLS) { o.Curves = []tls.CurveID{tls.CurveP384} }), link(nil, func(o *options.TLS) { o.Curves = []tls.CurveID{tls.CurveP256} }), "no"},
		{"pinned", pinned, link(member, nil), ""},
		{"pinned, another member", pinned, link(ca.Client(t, "member"), nil), "certificate is not pinned: key id "},
		{"pinned, none asked for", unverified, link(member, nil), "certificate is not pinned: the other side presented none"},
		{"link pins the server", own, link(nil, func(o *options.TLS) { o.PinnedCerts = pins(pair) }), ""},
		{"link pins another server", own, link(nil, func(o *options.TLS) { o.PinnedCerts = pins(member) }), "certificate is not pinned: key id "},
		{"insecure link pins another server", own, link(nil, func(o *options.TLS) { o.Insecure, o.PinnedCerts = true, pins(member) }), "certificate is not pinned: key id "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, err := Server(&tt.server)
			if err != nil {
				t.Fatal(err)
			}
			client, err := Client(&tt.client)
			if err != nil {
				t.Fatal(err)
			}
			client.ServerName = "localhost"
			serverErr, clientErr := connect(t, server, client)
			if tt.cause == "" {
				if serverErr != nil || clientErr != nil {
					t.Fatalf("server: %v; client: %v", serverErr, clientErr)
				}
				return
			}
			if serverErr == nil && clientErr == nil || !strings.Contains(errors.Join(serverErr, clientErr).Error(), tt.cause) {
				t.Fatalf("server: %v; client: %v; want %q", serverErr, clientErr, tt.cause)
			}
		})
	}
}

// A client that resumes a session is asked again: what it presented then must still be pinned.
func TestPinsHoldForResumedSessions(t *testing.T) {
	ca := tlstest.NewCA(t)
	pair, member := ca.Server(t), ca.Client(t, "member")
	pins := map[string]struct{}{KeyHash(member.Cert): {}}
	server, err := Server(&options.TLS{CertFile: pair.CertFile, KeyFile: pair.KeyFile, CAFile: ca.File, Verify: true, PinnedCerts: pins})
	if err != nil {
		t.Fatal(err)
	}
	client := ca.ClientConfig(member)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	resumed := false
	client.VerifyConnection = func(s tls.ConnectionState) error { resumed = s.DidResume; return nil }
	for range 2 {
		if s, c := connect(t, server, client); s != nil || c != nil {
			t.Fatalf("server: %v; client: %v", s, c)
		}
	}
	if !resumed {
		t.Fatal("the session was not resumed")
	}
	delete(pins, KeyHash(member.Cert))
	if s, _ := connect(t, server, client); !errors.Is(s, ErrPinned) {
		t.Fatalf("server: %v", s)
	}
}
