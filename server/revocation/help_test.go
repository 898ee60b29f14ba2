package revocation

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"godwit/server/tlsconf/tlstest"
)

// responder answers for an authority.
type responder struct {
	*httptest.Server
	ca     *tlstest.CA
	asked  atomic.Int64
	status atomic.Int64
	edit   func(*ocsp.Response) // changes the answer; nil leaves it
	signer *tlstest.Pair        // nil: the authority
	only   string               // method that is taken; empty takes all
	broken atomic.Bool
}

func newResponder(t *testing.T, ca *tlstest.CA) *responder {
	r := &responder{ca: ca}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *responder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.asked.Add(1)
	if r.broken.Load() || r.only != "" && r.only != req.Method {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	var body []byte
	if req.Method == http.MethodPost {
		body, _ = io.ReadAll(req.Body)
	} else {
		text, _ := url.PathUnescape(strings.TrimPrefix(req.URL.EscapedPath(), "/"))
		body, _ = base64.StdEncoding.DecodeString(text)
	}
	q, err := ocsp.ParseRequest(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := ocsp.Response{Status: int(r.status.Load()), SerialNumber: q.SerialNumber, ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour),
		RevokedAt: time.Now().Add(-time.Hour)}
	if r.edit != nil {
		r.edit(&a)
	}
	cert, key := r.ca.Cert, crypto.Signer(r.ca.Sign())
	if r.signer != nil {
		cert, key = r.signer.Cert, r.signer.TLS.PrivateKey.(crypto.Signer)
		a.Certificate = cert
	}
	raw, err := ocsp.CreateResponse(r.ca.Cert, cert, a, key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Write(raw)
}

// testLog gathers what was logged.
type testLog struct {
	mu    sync.Mutex
	lines []string
	told  chan struct{}
}

func newLog() *testLog { return &testLog{told: make(chan struct{}, 1000)} }

func (l *testLog) add(format string, args ...any) {
	l.mu.Lock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
	l.mu.Unlock()
	l.told <- struct{}{}
}

func (l *testLog) Debugf(format string, args ...any)  { l.add("DBG "+format, args...) }
func (l *testLog) Noticef(format string, args ...any) { l.add("INF "+format, args...) }
func (l *testLog) Warnf(format string, args ...any)   { l.add("WRN "+format, args...) }
func (l *testLog) Errorf(format string, args ...any)  { l.add("ERR "+format, args...) }

func (l *testLog) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// chains is the state of a handshake in which the other side has presented a certificate of the authority.
func chains(ca *tlstest.CA, cert *x509.Certificate) *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert, ca.Cert}}}
}
