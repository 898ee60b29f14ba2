package revocation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/crypto/ocsp"

	"godwit/server/options"
)

// ErrRejected is the cause of a handshake that ended because of the state of the other side's certificates.
var ErrRejected = errors.New("client not OCSP valid")

// Peers checks the certificates that clients present. Any goroutine may use it.
type Peers struct {
	Options *options.OCSPPeer // shared
	Kind    string            // of the listener, for the log and events
	Cache   *Cache            // nil keeps nothing
	Log     Logger
	// Invalid and Rejected, unless nil, hear of a certificate in a chain that did not pass, and of a client that is not let in.
	Invalid  func(link, peer *x509.Certificate, reason string)
	Rejected func(peer *x509.Certificate, reason string)

	client *http.Client
}

// NewPeers fills in what p lacks.
func NewPeers(p Peers) *Peers {
	p.client = newClient()
	return &p
}

// Attach adds the check to the handshakes of c, after those that it has.
func (p *Peers) Attach(c *tls.Config) {
	before := c.VerifyConnection
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if before != nil {
			if err := before(s); err != nil {
				return err
			}
		}
		return p.Verify(&s)
	}
}

// Verify demands that at least one chain of the other side's certificates holds none whose state forbids it. Roots, and
// certificates that name no responder, are not asked for.
func (p *Peers) Verify(s *tls.ConnectionState) error {
	if len(s.VerifiedChains) == 0 {
		return p.reject(nil, "the client presented no certificate")
	}
	peer := s.VerifiedChains[0][0]
	reason := ""
	for _, chain := range s.VerifiedChains {
		bad := p.chain(chain)
		if bad == "" {
			return nil
		}
		reason = bad
	}
	return p.reject(peer, reason)
}

func (p *Peers) reject(peer *x509.Certificate, reason string) error {
	if p.Rejected != nil && peer != nil {
		p.Rejected(peer, ErrRejected.Error())
	}
	return fmt.Errorf("%w: %s", ErrRejected, reason)
}

// chain says what is wrong with one, empty if nothing is.
func (p *Peers) chain(chain []*x509.Certificate) string {
	for i := range len(chain) - 1 {
		cert, issuer := chain[i], chain[i+1]
		if !eligible(cert) {
			continue
		}
		if reason := p.link(cert, issuer); reason != "" {
			if p.Invalid != nil {
				p.Invalid(cert, chain[0], reason)
			}
			if !p.Options.WarnOnly {
				return fmt.Sprintf("%s: %s", cert.Subject, reason)
			}
			p.Log.Warnf("OCSP: %s of a %s is accepted all the same (warn_only): %s", cert.Subject, p.Kind, reason)
		}
	}
	return ""
}

// eligible reports whether a certificate names a responder that can be asked.
func eligible(cert *x509.Certificate) bool {
	for _, u := range cert.OCSPServer {
		if web(u) {
			return true
		}
	}
	return false
}

// link says what is wrong with a certificate, empty if nothing is.
func (p *Peers) link(cert, issuer *x509.Certificate) string {
	o := p.Options
	kept := p.Cache.get(cert, issuer)
	if kept != nil && kept.current(time.Now(), o.ClockSkew, o.TTLUnsetNextUpdate) {
		p.Cache.hit()
		return p.judge(kept)
	}
	p.Cache.miss()
	ctx, cancel := context.WithTimeout(context.Background(), o.CATimeout)
	defer cancel()
	a, err := ask(ctx, p.client, cert.OCSPServer, cert, issuer, o.ClockSkew, o.TTLUnsetNextUpdate)
	if err == nil {
		p.Cache.put(cert, a, o.TTLUnsetNextUpdate)
		return p.judge(a)
	}
	p.Log.Warnf("OCSP: the state of %s of a %s cannot be had: %v", cert.Subject, p.Kind, err)
	switch {
	case !o.AllowWhenCAUnreachable:
		return "its state cannot be had"
	case kept != nil && kept.Status == ocsp.Revoked:
		return "it was revoked when its state was had last"
	}
	p.Log.Warnf("OCSP: %s of a %s is accepted without an answer (allow_when_ca_unreachable)", cert.Subject, p.Kind)
	return ""
}

func (p *Peers) judge(a *Answer) string {
	switch {
	case a.Status == ocsp.Good, a.Status == ocsp.Unknown && p.Options.UnknownIsGood:
		return ""
	case a.Status == ocsp.Revoked:
		return "Invalid OCSP response status: revoked"
	}
	return "Invalid OCSP response status: unknown"
}
