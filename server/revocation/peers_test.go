package revocation

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"godwit/server/options"
	"godwit/server/tlsconf/tlstest"
)

func TestPeers(t *testing.T) {
	ca := tlstest.NewCA(t)
	other := tlstest.NewCA(t)
	base := options.OCSPPeer{Verify: true, ClockSkew: 30 * time.Second, CATimeout: 2 * time.Second, TTLUnsetNextUpdate: time.Hour}
	for _, tt := range []struct {
		name   string
		set    func(*options.OCSPPeer)
		answer func(*responder)
		want   string // part of the reason; empty: let in
	}{
		{"good", nil, nil, ""},
		{"good, to GET only", nil, func(r *responder) { r.only = "GET" }, ""},
		{"good, to POST only", nil, func(r *responder) { r.only = "POST" }, ""},
		{"revoked", nil, func(r *responder) { r.status.Store(ocsp.Revoked) }, "CN=c: Invalid OCSP response status: revoked"},
		{"revoked, but only a warning", func(p *options.OCSPPeer) { p.WarnOnly = true }, func(r *responder) { r.status.Store(ocsp.Revoked) }, ""},
		{"unknown", nil, func(r *responder) { r.status.Store(ocsp.Unknown) }, "status: unknown"},
		{"unknown is good", func(p *options.OCSPPeer) { p.UnknownIsGood = true }, func(r *responder) { r.status.Store(ocsp.Unknown) }, ""},
		{"revoked is never good", func(p *options.OCSPPeer) { p.UnknownIsGood = true }, func(r *responder) { r.status.Store(ocsp.Revoked) }, "revoked"},
		{"unreachable", nil, func(r *responder) { r.broken.Store(true) }, "cannot be had"},
		{"unreachable, allowed", func(p *options.OCSPPeer) { p.AllowWhenCAUnreachable = true }, func(r *responder) { r.broken.Store(true) }, ""},
		{"unreachable, only a warning", func(p *options.OCSPPeer) { p.WarnOnly = true }, func(r *responder) { r.broken.Store(true) }, ""},
		{"expired", nil, func(r *responder) {
			r.edit = func(a *ocsp.Response) {
				a.ThisUpdate, a.NextUpdate = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Minute)
			}
		}, "cannot be had"},
		{"expired within the skew", nil, func(r *responder) {
			r.edit = func(a *ocsp.Response) { a.NextUpdate = time.Now().Add(-5 * time.Second) }
		}, ""},
		{"of the future", nil, func(r *responder) { r.edit = func(a *ocsp.Response) { a.ThisUpdate = time.Now().Add(time.Hour) } }, "cannot be had"},
		{"without an end", nil, func(r *responder) { r.edit = func(a *ocsp.Response) { a.NextUpdate = time.Time{} } }, ""},
		{"without an end, old", nil, func(r *responder) {
			r.edit = func(a *ocsp.Response) { a.ThisUpdate, a.NextUpdate = time.Now().Add(-2*time.Hour), time.Time{} }
		}, "cannot be had"},
		{"of another authority", nil, func(r *responder) { r.ca = other }, "cannot be had"},
		{"signed by a certificate that is not for that", nil, func(r *responder) { r.signer = ca.Client(t, "not a responder") }, "cannot be had"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newResponder(t, ca)
			if tt.answer != nil {
				tt.answer(r)
			}
			o := base
			if tt.set != nil {
				tt.set(&o)
			}
			var invalid, rejected []string
			log := newLog()
			p := NewPeers(Peers{Options: &o, Kind: "Client", Log: log,
				Invalid:  func(_, _ *x509.Certificate, reason string) { invalid = append(invalid, reason) },
				Rejected: func(_ *x509.Certificate, reason string) { rejected = append(rejected, reason) }})
			pair := ca.Issue(t, tlstest.Request{Subject: name("c"), Client: true, Responders: []string{"ldap://x", r.URL}})
			err := p.Verify(chains(ca, pair.Cert))
			if tt.want == "" {
				if err != nil || len(rejected) > 0 {
					t.Fatalf("%v %q\n%s", err, rejected, log.all())
				}
				return
			}
			if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), tt.want) || len(invalid) != 1 || len(rejected) != 1 {
				t.Fatalf("%v, want %q; %q %q\n%s", err, tt.want, invalid, rejected, log.all())
			}
		})
	}
	t.Run("no responder named", func(t *testing.T) {
		o := base
		if err := NewPeers(Peers{Options: &o, Log: newLog()}).Verify(chains(ca, ca.Client(t, "c").Cert)); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("one good chain is enough", func(t *testing.T) {
		r := newResponder(t, ca)
		r.status.Store(ocsp.Revoked)
		o := base
		pair := ca.Issue(t, tlstest.Request{Subject: name("c"), Client: true, Responders: []string{r.URL}})
		s := chains(ca, pair.Cert)
		s.VerifiedChains = append(s.VerifiedChains, []*x509.Certificate{other.Cert})
		if err := NewPeers(Peers{Options: &o, Log: newLog()}).Verify(s); err != nil {
			t.Fatal(err)
		}
	})
}

// Answers are kept while they count, over restarts, too; a revocation longer, if that is asked for.
func TestCache(t *testing.T) {
	ca := tlstest.NewCA(t)
	r := newResponder(t, ca)
	end := time.Now().Add(time.Hour)
	r.edit = func(a *ocsp.Response) { a.NextUpdate = end }
	dir := filepath.Join(t.TempDir(), "rc")
	co := options.OCSPCache{Local: true, LocalStore: dir, SaveInterval: time.Hour, PreserveRevoked: true}
	o := options.OCSPPeer{Verify: true, CATimeout: 2 * time.Second, TTLUnsetNextUpdate: time.Hour}
	pair := ca.Issue(t, tlstest.Request{Subject: name("c"), Client: true, Responders: []string{r.URL}})
	try := func(c *Cache) error {
		return NewPeers(Peers{Options: &o, Cache: c, Log: newLog()}).Verify(chains(ca, pair.Cert))
	}
	c := NewCache(co, newLog())
	for range 3 {
		if err := try(c); err != nil {
			t.Fatal(err)
		}
	}
	if st, ok := c.Stats(); !ok || st != (CacheStats{Hits: 2, Misses: 1, Good: 1}) || r.asked.Load() != 1 {
		t.Fatalf("%+v, asked %d", st, r.asked.Load())
	}
	c.Close()
	c = NewCache(co, newLog())
	if err := try(c); err != nil || r.asked.Load() != 1 {
		t.Fatalf("%v, asked %d", err, r.asked.Load())
	}

	// One that has been revoked stays so while the responder is silent.
	other := ca.Issue(t, tlstest.Request{Subject: name("d"), Client: true, Responders: []string{r.URL}})
	r.status.Store(ocsp.Revoked)
	end = time.Now().Add(-time.Second) // does not count any more at once, but for the skew
	o.ClockSkew = time.Minute
	pair = other
	if err := try(c); err == nil {
		t.Fatal("a revoked certificate passed")
	}
	c.Close()
	o.ClockSkew, o.AllowWhenCAUnreachable = 0, true
	r.broken.Store(true)
	c = NewCache(co, newLog())
	if err := try(c); err == nil || !strings.Contains(err.Error(), "when its state was had last") {
		t.Fatal(err)
	}
	c.Close()
	co.PreserveRevoked = false
	c = NewCache(co, newLog())
	c.Close() // and with it the old answer
	var kept map[string]map[string]any
	b, err := os.ReadFile(filepath.Join(dir, CacheFile))
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v %v", kept, err)
	}
	c = NewCache(co, newLog())
	if err := try(c); err != nil {
		t.Fatal(err)
	}
	c.Close()

	// What cannot be read is passed over.
	if err := os.WriteFile(filepath.Join(dir, CacheFile), []byte(`{"x":{"resp":"?"`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := newLog()
	c = NewCache(co, log)
	c.Close()
	if !strings.Contains(log.all(), "cannot be used") {
		t.Fatal(log.all())
	}
	if NewCache(options.OCSPCache{}, log) != nil {
		t.Error("a cache of type none is there")
	}
}
