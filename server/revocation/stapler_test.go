package revocation

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ocsp"

	"godwit/server/options"
	"godwit/server/tlsconf/tlstest"
)

func name(cn string) pkix.Name { return pkix.Name{CommonName: cn} }

// staple is what a client gets in a handshake.
func staple(t *testing.T, ca *tlstest.CA, c *tls.Config) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go tls.Server(b, c).Handshake()
	client := tls.Client(a, ca.ClientConfig(nil))
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	return client.ConnectionState().OCSPResponse
}

func TestStapling(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"))
	ca := tlstest.NewCA(t)
	for _, tt := range []struct {
		name    string
		must    bool // the certificate asks for it
		ocsp    *options.OCSP
		status  int
		stapled bool
		err     string
	}{
		{"not asked for", false, nil, ocsp.Good, false, ""},
		{"the certificate asks", true, nil, ocsp.Good, true, ""},
		{"auto", false, &options.OCSP{}, ocsp.Good, false, ""},
		{"auto, the certificate asks", true, &options.OCSP{}, ocsp.Good, true, ""},
		{"auto, revoked", true, &options.OCSP{}, ocsp.Revoked, true, ""},
		{"always", false, &options.OCSP{Mode: options.OCSPModeAlways}, ocsp.Good, true, ""},
		{"always, revoked", false, &options.OCSP{Mode: options.OCSPModeAlways}, ocsp.Revoked, false, "revoked"},
		{"must", false, &options.OCSP{Mode: options.OCSPModeMust}, ocsp.Good, false, ""},
		{"must, the certificate asks", true, &options.OCSP{Mode: options.OCSPModeMust}, ocsp.Good, true, ""},
		{"must, revoked", true, &options.OCSP{Mode: options.OCSPModeMust}, ocsp.Revoked, false, "revoked"},
		{"never", true, &options.OCSP{Mode: options.OCSPModeNever}, ocsp.Good, false, ""},
		{"no answer", true, nil, -1, false, "bad OCSP status update"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newResponder(t, ca)
			r.status.Store(int64(tt.status))
			r.broken.Store(tt.status < 0)
			pair := ca.Issue(t, tlstest.Request{Subject: name("server"), Responders: []string{r.URL}, MustStaple: tt.must})
			o := StapleOptions{Kind: "Client", TLS: &options.TLS{CertFile: pair.CertFile, CAFile: ca.File}, OCSP: tt.ocsp, Log: newLog()}
			c := &tls.Config{Certificates: []tls.Certificate{pair.TLS}}
			s, err := NewStapler(c, o)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			defer s.Close()
			raw := staple(t, ca, c)
			if (len(raw) > 0) != tt.stapled {
				t.Fatalf("stapled %d bytes", len(raw))
			}
			if tt.stapled {
				if a, err := ocsp.ParseResponseForCert(raw, pair.Cert, ca.Cert); err != nil || a.Status != tt.status {
					t.Fatal(a, err)
				}
			}
		})
	}
}

func TestStaplerCannotWork(t *testing.T) {
	ca := tlstest.NewCA(t)
	always := &options.OCSP{Mode: options.OCSPModeAlways}
	plain := ca.Server(t)
	named := ca.Issue(t, tlstest.Request{Subject: name("s"), Responders: []string{"http://127.0.0.1:1"}})
	for want, o := range map[string]StapleOptions{
		ErrNoResponder.Error(): {TLS: &options.TLS{CertFile: plain.CertFile, CAFile: ca.File}},
		ErrNoIssuer.Error():    {TLS: &options.TLS{CertFile: named.CertFile, CAFile: tlstest.NewCA(t).File}},
		"no such file":         {TLS: &options.TLS{CertFile: named.CertFile, CAFile: "/nope"}},
	} {
		pair := named
		if want == ErrNoResponder.Error() {
			pair = plain
		}
		o.OCSP, o.Log = always, newLog()
		if _, err := NewStapler(&tls.Config{Certificates: []tls.Certificate{pair.TLS}}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The issuer may come with the chain, answers are kept over restarts, and other responders may be named.
func TestStaplesAreKept(t *testing.T) {
	ca := tlstest.NewCA(t)
	r := newResponder(t, ca)
	pair := ca.Issue(t, tlstest.Request{Subject: name("s"), Responders: []string{"http://127.0.0.1:1"}})
	pair.TLS.Certificate = append(pair.TLS.Certificate, ca.Cert.Raw)
	dir := t.TempDir() + "/ocsp"
	o := StapleOptions{TLS: &options.TLS{CertFile: pair.CertFile}, Dir: dir, Log: newLog(),
		OCSP: &options.OCSP{Mode: options.OCSPModeAlways, OverrideURLs: []string{r.URL}}}
	for range 2 {
		c := &tls.Config{Certificates: []tls.Certificate{pair.TLS}}
		s, err := NewStapler(c, o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if len(staple(t, ca, c)) == 0 {
			t.Error("nothing is stapled")
		}
		s.Close()
	}
	if n := r.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	// One that does not verify is not used.
	if err := os.WriteFile(dir+"/"+files[0].Name(), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := NewStapler(&tls.Config{Certificates: []tls.Certificate{pair.TLS}}, o)
	if err != nil || r.asked.Load() != 2 {
		t.Fatalf("%v, asked %d", err, r.asked.Load())
	}
	s.Close()
}

// A certificate that is revoked while the server runs ends the server in the modes that say so, and an answer that cannot be renewed
// is stapled as long as it counts.
func TestStateChanges(t *testing.T) {
	ca := tlstest.NewCA(t)
	r := newResponder(t, ca)
	pair := ca.Issue(t, tlstest.Request{Subject: name("s"), Responders: []string{r.URL}})
	ended := make(chan error, 1)
	c := &tls.Config{Certificates: []tls.Certificate{pair.TLS}}
	log := newLog()
	s, err := NewStapler(c, StapleOptions{Kind: "Client", TLS: &options.TLS{CertFile: pair.CertFile, CAFile: ca.File}, Log: log,
		OCSP: &options.OCSP{Mode: options.OCSPModeAlways}, Revoke: func(err error) { ended <- err }})
	if err != nil {
		t.Fatal(err)
	}
	s.again, s.least = time.Millisecond, time.Millisecond
	cert := s.certs[0]
	a := *cert.answer.Load()
	a.Response.NextUpdate = time.Now().Add(2 * time.Second) // so that the next question is due soon
	cert.set(&a)
	r.broken.Store(true)
	s.Start()
	for !strings.Contains(log.all(), "Bad OCSP status update") {
		<-log.told
	}
	if time.Now().Before(a.NextUpdate) && len(staple(t, ca, c)) == 0 {
		t.Error("an answer that counts is not stapled")
	}
	for time.Now().Before(a.NextUpdate) {
		<-log.told
	}
	if len(staple(t, ca, c)) != 0 {
		t.Error("an answer that does not count is stapled")
	}
	r.status.Store(ocsp.Revoked)
	r.broken.Store(false)
	if err := <-ended; !strings.Contains(err.Error(), "revoked") {
		t.Error(err)
	}
	s.Close()
}

func TestMustStaple(t *testing.T) {
	ca := tlstest.NewCA(t)
	if !mustStaple(ca.Issue(t, tlstest.Request{Subject: name("s"), MustStaple: true}).Cert) || mustStaple(ca.Server(t).Cert) {
		t.Error("the extension is not recognized")
	}
	for _, value := range [][]byte{nil, {0x30}, {0x30, 3, 2, 1}, {0x30, 3, 2, 1, 6}, {0x30, 200, 2, 200, 5}, {0x30, 4, 2, 255, 1, 5}} {
		c := &x509.Certificate{Extensions: []pkix.Extension{{Id: []int{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: value}}}
		if mustStaple(c) {
			t.Errorf("% x", value)
		}
	}
}
