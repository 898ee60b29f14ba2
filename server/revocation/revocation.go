// Package revocation asks responders for the state of certificates (OCSP, RFC 6960): of the server's own, so that handshakes can
// staple the answer (RFC 6066), and of those that the other side presents.
package revocation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ocsp"
)

// Logger hears of what operators have to know.
type Logger interface {
	Debugf(format string, args ...any)
	Noticef(format string, args ...any)
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
}

// What can be wrong.
var (
	ErrNoResponder = errors.New("no OCSP responder is known for the certificate")
	ErrNoIssuer    = errors.New("the certificate of the issuer is neither in the chain nor in ca_file")
	ErrNotCurrent  = errors.New("OCSP response is not current")
	ErrDelegate    = errors.New("OCSP response is signed by a certificate that is not made for that")
)

const (
	// answerMost bounds what is read of a responder's answer, in bytes. Real ones have one to four thousand.
	answerMost = 128 << 10
	// getMost is the longest encoded request that is sent as part of an address (RFC 6960, appendix A).
	getMost = 255
)

// Answer is a response whose signature holds.
type Answer struct {
	*ocsp.Response
	Raw []byte // DER
}

// current reports whether the response counts at now, by clocks that may differ by skew. One that does not say how long it
// counts does so for ttl.
func (a *Answer) current(now time.Time, skew, ttl time.Duration) bool {
	until := a.until(ttl)
	return !a.ThisUpdate.After(now.Add(skew)) && until.After(now.Add(-skew))
}

func (a *Answer) until(ttl time.Duration) time.Time {
	if a.NextUpdate.IsZero() {
		return a.ThisUpdate.Add(ttl)
	}
	return a.NextUpdate
}

// parse verifies a response about a certificate.
func parse(raw []byte, cert, issuer *x509.Certificate) (*Answer, error) {
	r, err := ocsp.ParseResponseForCert(raw, cert, issuer)
	if err != nil {
		return nil, err
	}
	if d := r.Certificate; d != nil && !d.Equal(issuer) {
		now := time.Now()
		if !slices.Contains(d.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) || now.Before(d.NotBefore) || now.After(d.NotAfter) {
			return nil, ErrDelegate
		}
	}
	return &Answer{r, raw}, nil
}

// ask asks responders in turn until one gives a response about the certificate that counts now.
func ask(ctx context.Context, client *http.Client, responders []string, cert, issuer *x509.Certificate, skew, ttl time.Duration) (*Answer, error) {
	question, err := ocsp.CreateRequest(cert, issuer, nil)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, u := range responders {
		if !web(u) {
			continue
		}
		a, err := askOne(ctx, client, u, question, cert, issuer)
		if err == nil && !a.current(time.Now(), skew, ttl) {
			err = ErrNotCurrent
		}
		if err == nil {
			return a, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", u, err))
	}
	if len(errs) == 0 {
		return nil, ErrNoResponder
	}
	return nil, errors.Join(errs...)
}

// askOne sends the question as a body, and, to a responder that does not take that, as part of the address.
func askOne(ctx context.Context, client *http.Client, responder string, question []byte, cert, issuer *x509.Certificate) (*Answer, error) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, responder, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Content-Type", "application/ocsp-request")
	raw, err := fetch(client, post)
	if encoded := base64.StdEncoding.EncodeToString(question); err != nil && ctx.Err() == nil && len(encoded) <= getMost {
		get, gerr := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(responder, "/")+"/"+url.PathEscape(encoded), nil)
		if gerr != nil {
			return nil, gerr
		}
		var gotten []byte
		if gotten, gerr = fetch(client, get); gerr == nil {
			raw, err = gotten, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return parse(raw, cert, issuer)
}

func fetch(client *http.Client, req *http.Request) ([]byte, error) {
	req.Header.Set("Accept", "application/ocsp-response")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerMost+1))
	if err == nil && len(raw) > answerMost {
		return nil, fmt.Errorf("answer of more than %d bytes", answerMost)
	}
	return raw, err
}

// web reports whether an address is one that can be asked.
func web(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// statusText is the word for a state.
func statusText(status int) string {
	switch status {
	case ocsp.Good:
		return "good"
	case ocsp.Revoked:
		return "revoked"
	}
	return "unknown"
}

// Fingerprint names a certificate: base64 of the SHA-256 of its DER.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// newClient returns a client that keeps no idle connections: responders are asked seldom.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
}
