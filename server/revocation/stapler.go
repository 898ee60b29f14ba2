package revocation

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ocsp"

	"godwit/server/options"
)

const (
	stapleTimeout  = 10 * time.Second // for the answers of all responders
	stapleAgain    = 2 * time.Minute  // after a failure, and at least between two questions
	stapleInterval = 24 * time.Hour   // if an answer does not say when the next one is due
	stapleMode     = 0o600
	stapleDirMode  = 0o700
)

// stapleFeature is the extension of a certificate that says that its holder staples (RFC 7633).
const stapleFeature = "1.3.6.1.5.5.7.1.24"

// StapleOptions says how a Stapler works.
type StapleOptions struct {
	Kind   string        // of the listener, for the log
	TLS    *options.TLS  // shared
	OCSP   *options.OCSP // nil: as the certificate says
	Dir    string        // where answers are kept over restarts; empty: nowhere
	Log    Logger
	Revoke func(err error) // called once if the server must not go on with its certificate; on a goroutine of its own
}

// Stapler keeps the answers about the certificates of one listener fresh.
type Stapler struct {
	o       StapleOptions
	client  *http.Client
	certs   []*stapled
	stop    context.CancelFunc
	ctx     context.Context
	working sync.WaitGroup
	revoked sync.Once

	again time.Duration // stapleAgain
	least time.Duration // between two questions; the same
}

// stapled is one certificate.
type stapled struct {
	name     string // of its file
	cert     tls.Certificate
	leaf     *x509.Certificate
	issuer   *x509.Certificate // nil: nothing is stapled
	urls     []string
	strict   bool // the server ends with it
	answer   atomic.Pointer[Answer]
	withWord atomic.Pointer[tls.Certificate] // with the answer stapled
}

// NewStapler asks for the state of the certificates that c presents, and lets its handshakes staple the answers. It returns nil if none
// of them is to be stapled. An error says that an answer that has to be there cannot be had, or that a certificate is revoked which
// the server must not use then. Start keeps the answers fresh until Close.
func NewStapler(c *tls.Config, o StapleOptions) (*Stapler, error) {
	s := &Stapler{o: o, client: newClient(), again: stapleAgain, least: stapleAgain}
	s.ctx, s.stop = context.WithCancel(context.Background())
	any := false
	for i := range c.Certificates {
		t, err := s.prepare(&c.Certificates[i], i)
		if err != nil {
			return nil, err
		}
		any = any || t.issuer != nil
		s.certs = append(s.certs, t)
	}
	if !any {
		return nil, nil
	}
	for _, t := range s.certs {
		if t.issuer == nil {
			continue
		}
		a, err := s.first(t)
		if err != nil {
			return nil, fmt.Errorf("bad OCSP status update for certificate at '%s': %w", t.name, err)
		}
		if a.Status != ocsp.Good && t.strict {
			return nil, fmt.Errorf("found existing OCSP status for certificate at '%s': %s", t.name, statusText(a.Status))
		}
		t.set(a)
	}
	c.GetCertificate = s.certificate
	c.Certificates = nil
	return s, nil
}

// prepare decides whether a certificate is stapled.
func (s *Stapler) prepare(cert *tls.Certificate, i int) (*stapled, error) {
	t := &stapled{name: s.o.TLS.CertFile, cert: *cert, leaf: cert.Leaf}
	if t.name == "" && i < len(s.o.TLS.Certs) {
		t.name = s.o.TLS.Certs[i].CertFile
	}
	if t.leaf == nil {
		var err error
		if t.leaf, err = x509.ParseCertificate(cert.Certificate[0]); err != nil {
			return nil, err
		}
	}
	mode, must := options.OCSPModeAuto, mustStaple(t.leaf)
	t.urls = t.leaf.OCSPServer
	if s.o.OCSP != nil {
		mode = s.o.OCSP.Mode
		if len(s.o.OCSP.OverrideURLs) > 0 {
			t.urls = s.o.OCSP.OverrideURLs
		}
	}
	switch {
	case mode == options.OCSPModeNever && must:
		s.o.Log.Warnf("Certificate at '%s' has to be stapled, but OCSP is off", t.name)
		return t, nil
	case mode == options.OCSPModeNever, mode != options.OCSPModeAlways && !must:
		return t, nil
	}
	t.strict = mode == options.OCSPModeAlways || mode == options.OCSPModeMust
	if len(t.urls) == 0 {
		return nil, fmt.Errorf("OCSP for certificate at '%s': %w", t.name, ErrNoResponder)
	}
	var err error
	if t.issuer, err = issuerOf(t, s.o.TLS.CAFile); err != nil {
		return nil, fmt.Errorf("OCSP for certificate at '%s': %w", t.name, err)
	}
	return t, nil
}

// mustStaple reports whether a certificate says that its holder staples.
func mustStaple(cert *x509.Certificate) bool {
	for _, e := range cert.Extensions {
		// The value lists features as DER integers; status_request is 5.
		if e.Id.String() == stapleFeature {
			for i := 2; i+2 < len(e.Value); i += 2 + int(e.Value[i+1]) {
				if e.Value[i] == 2 && e.Value[i+1] == 1 && e.Value[i+2] == 5 {
					return true
				}
			}
		}
	}
	return false
}

// issuerOf finds who has signed the certificate, in its chain or in the file of authorities.
func issuerOf(t *stapled, caFile string) (*x509.Certificate, error) {
	for _, der := range t.cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil && t.leaf.CheckSignatureFrom(c) == nil {
			return c, nil
		}
	}
	if caFile == "" {
		return nil, ErrNoIssuer
	}
	rest, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, ErrNoIssuer
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && t.leaf.CheckSignatureFrom(c) == nil {
			return c, nil
		}
	}
}

// certificate implements tls.Config.GetCertificate.
func (s *Stapler) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	for _, t := range s.certs {
		if c := t.presented(); len(s.certs) == 1 || hello.SupportsCertificate(c) == nil {
			return c, nil
		}
	}
	return s.certs[0].presented(), nil
}

// presented is the certificate with the answer, as long as that counts.
func (t *stapled) presented() *tls.Certificate {
	if a := t.answer.Load(); a != nil && a.until(stapleInterval).After(time.Now()) {
		return t.withWord.Load()
	}
	return &t.cert
}

func (t *stapled) set(a *Answer) {
	c := t.cert
	c.OCSPStaple = a.Raw
	t.withWord.Store(&c)
	t.answer.Store(a)
}

// first returns the answer of the last run if that still counts, and asks otherwise.
func (s *Stapler) first(t *stapled) (*Answer, error) {
	if s.o.Dir != "" {
		if raw, err := os.ReadFile(s.path(t)); err == nil && len(raw) <= answerMost {
			if a, err := parse(raw, t.leaf, t.issuer); err == nil && a.current(time.Now(), 0, stapleInterval) {
				return a, nil
			}
		}
	}
	return s.ask(t)
}

func (s *Stapler) ask(t *stapled) (*Answer, error) {
	ctx, cancel := context.WithTimeout(s.ctx, stapleTimeout)
	defer cancel()
	a, err := ask(ctx, s.client, t.urls, t.leaf, t.issuer, 0, stapleInterval)
	if err != nil {
		return nil, err
	}
	if s.o.Dir != "" {
		if err := s.keep(t, a.Raw); err != nil {
			s.o.Log.Warnf("OCSP status of certificate at '%s' cannot be kept: %v", t.name, err)
		}
	}
	return a, nil
}

// path is the file of the answer about a certificate.
func (s *Stapler) path(t *stapled) string {
	sum := sha256.Sum256(t.leaf.Raw)
	return filepath.Join(s.o.Dir, hex.EncodeToString(sum[:]))
}

func (s *Stapler) keep(t *stapled, raw []byte) error {
	if err := os.MkdirAll(s.o.Dir, stapleDirMode); err != nil {
		return err
	}
	return replaceFile(s.path(t), raw)
}

// replaceFile writes a file so that a crash leaves the old one or the new one.
func replaceFile(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Chmod(stapleMode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Start keeps the answers fresh. s may be nil.
func (s *Stapler) Start() {
	if s == nil {
		return
	}
	for _, t := range s.certs {
		if t.issuer != nil {
			s.working.Add(1)
			go s.refresh(t)
		}
	}
}

// Close ends that, and waits for it. The last answers are stapled as long as they count. s may be nil.
func (s *Stapler) Close() {
	if s != nil {
		s.stop()
		s.working.Wait()
	}
}

func (s *Stapler) refresh(t *stapled) {
	defer s.working.Done()
	a := t.answer.Load()
	wait := s.due(a)
	s.o.Log.Noticef("OCSP status of %s certificate at '%s': %s, next update %s, checking again in %s", s.o.Kind, t.name,
		statusText(a.Status), a.until(stapleInterval).UTC().Format(time.RFC3339), wait.Round(time.Second))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-timer.C:
		}
		a, err := s.ask(t)
		switch {
		case s.ctx.Err() != nil:
			return
		case err != nil:
			wait = s.again
			s.o.Log.Errorf("Bad OCSP status update for certificate at '%s': %v, trying again in %v", t.name, err, wait)
		default:
			t.set(a)
			wait = s.due(a)
			if a.Status == ocsp.Good {
				s.o.Log.Noticef("OCSP status of %s certificate at '%s': good, checking again in %s", s.o.Kind, t.name, wait.Round(time.Second))
				break
			}
			s.o.Log.Errorf("OCSP status of %s certificate at '%s': %s", s.o.Kind, t.name, statusText(a.Status))
			if t.strict {
				s.revoked.Do(func() {
					go s.o.Revoke(fmt.Errorf("OCSP status of %s certificate at '%s': %s", s.o.Kind, t.name, statusText(a.Status)))
				})
				return
			}
		}
		timer.Reset(wait)
	}
}

// due is the time until the next question: half of that for which the answer counts, so that there is time for failures.
func (s *Stapler) due(a *Answer) time.Duration {
	if a.NextUpdate.IsZero() {
		return stapleInterval
	}
	return max(time.Until(a.NextUpdate)/2, s.least)
}
