// Package tlstest makes certificate authorities and certificates for tests, in memory and as files in the
// test's own temporary directory.
package tlstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is a certificate authority that lives as long as the test.
type CA struct {
	Cert *x509.Certificate
	Pool *x509.CertPool // holds just this authority
	File string         // its certificate in PEM

	key *ecdsa.PrivateKey
	dir string
}

// Pair is a certificate and its key, both in memory and in PEM files.
type Pair struct {
	Cert     *x509.Certificate
	TLS      tls.Certificate
	CertFile string
	KeyFile  string
}

// Request says what a certificate is to hold. The zero Request is for a server at localhost.
type Request struct {
	Subject    pkix.Name
	RawSubject []byte   // DER, instead of Subject
	Hosts      []string // DNS names and IP addresses; default for a server: localhost, 127.0.0.1, ::1
	Emails     []string
	URIs       []string
	Client     bool          // for a client, not a server
	NotBefore  time.Time     // default: an hour ago
	Lifetime   time.Duration // from NotBefore; default: a day
	Responders []string      // for OCSP
	MustStaple bool
}

// NewCA makes an authority.
func NewCA(tb testing.TB) *CA {
	tb.Helper()
	ca := &CA{key: newKey(tb), dir: tb.TempDir(), Pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber:          serial(tb),
		Subject:               pkix.Name{CommonName: "Test Authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, ca.key.Public(), ca.key)
	check(tb, err)
	ca.Cert, err = x509.ParseCertificate(der)
	check(tb, err)
	ca.Pool.AddCert(ca.Cert)
	ca.File = filepath.Join(ca.dir, "ca.pem")
	writePEM(tb, ca.File, "CERTIFICATE", der)
	return ca
}

// Server makes a certificate for a server with the given DNS names and IP addresses, or for localhost.
func (ca *CA) Server(tb testing.TB, hosts ...string) *Pair {
	tb.Helper()
	return ca.Issue(tb, Request{Subject: pkix.Name{CommonName: "server"}, Hosts: hosts})
}

// Client makes a certificate for a client with the common name.
func (ca *CA) Client(tb testing.TB, commonName string) *Pair {
	tb.Helper()
	return ca.Issue(tb, Request{Subject: pkix.Name{CommonName: commonName}, Client: true})
}

// Issue makes a certificate.
func (ca *CA) Issue(tb testing.TB, r Request) *Pair {
	tb.Helper()
	if r.NotBefore.IsZero() {
		r.NotBefore = time.Now().Add(-time.Hour)
	}
	if r.Lifetime == 0 {
		r.Lifetime = 24 * time.Hour
	}
	template := &x509.Certificate{
		SerialNumber:   serial(tb),
		Subject:        r.Subject,
		RawSubject:     r.RawSubject,
		NotBefore:      r.NotBefore,
		NotAfter:       r.NotBefore.Add(r.Lifetime),
		KeyUsage:       x509.KeyUsageDigitalSignature,
		ExtKeyUsage:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		EmailAddresses: r.Emails,
		OCSPServer:     r.Responders,
	}
	if r.MustStaple { // a list of one feature, status_request
		template.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: []byte{0x30, 3, 2, 1, 5}}}
	}
	if r.Client {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	} else if len(r.Hosts) == 0 {
		r.Hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	for _, h := range r.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	for _, s := range r.URIs {
		u, err := url.Parse(s)
		check(tb, err)
		template.URIs = append(template.URIs, u)
	}
	key := newKey(tb)
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Cert, key.Public(), ca.key)
	check(tb, err)
	p := &Pair{}
	p.Cert, err = x509.ParseCertificate(der)
	check(tb, err)
	p.TLS = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: p.Cert}
	name := template.SerialNumber.Text(16)
	p.CertFile = filepath.Join(ca.dir, name+".pem")
	p.KeyFile = filepath.Join(ca.dir, name+"-key.pem")
	writePEM(tb, p.CertFile, "CERTIFICATE", der)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(tb, err)
	writePEM(tb, p.KeyFile, "PRIVATE KEY", keyDER)
	return p
}

// Sign gives a responder what it needs to answer for the authority: the key, whose certificate is ca.Cert.
func (ca *CA) Sign() crypto.Signer { return ca.key }

// ClientConfig returns the TLS configuration of a client that trusts the authority, expects a server at
// localhost and presents the pair; nil presents none.
func (ca *CA) ClientConfig(p *Pair) *tls.Config {
	c := &tls.Config{RootCAs: ca.Pool, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	if p != nil {
		c.Certificates = []tls.Certificate{p.TLS}
	}
	return c
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(tb, err)
	return key
}

func serial(tb testing.TB) *big.Int {
	tb.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	check(tb, err)
	return n
}

func writePEM(tb testing.TB, path, kind string, der []byte) {
	tb.Helper()
	check(tb, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
