// Package tlsconf makes TLS configurations from tls blocks: for listeners, and for links to other servers.
// It reads the files that a block names; so what is built is what was there at that time, and a reload
// builds anew.
package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"godwit/server/options"
)

// DefaultTimeout is how long a handshake may take when the block does not say.
const DefaultTimeout = 2 * time.Second

// What can be wrong with a block. The texts are the configuration language's.
var (
	ErrNoKeyFile  = errors.New("missing 'key_file' in TLS configuration")
	ErrNoCertFile = errors.New("missing 'cert_file' in TLS configuration")
	ErrCertsTwice = errors.New("error parsing tls config, cannot combine 'cert_file' option with 'certs' option")
	ErrHalfPair   = errors.New("error parsing certificates config: both 'cert_file' and 'cert_key' options are required")
	ErrCA         = errors.New("failed to parse root ca certificate")
	// ErrOCSPPeer: the block asks for a check that would not be made; better no link than one that only seems safe.
	ErrOCSPPeer = errors.New("'ocsp_peer' verification is not available here")
)

// Server returns the configuration of a listener. With verify, or verify_and_map, clients must present a
// certificate that ca_file, or else the system, vouches for. Stapling and ocsp_peer are the caller's.
func Server(o *options.TLS) (*tls.Config, error) {
	c, pool, err := build(o)
	if err != nil {
		return nil, err
	}
	if o.Verify || o.VerifyAndMap || o.VerifyKnownURLs {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.ClientCAs = pool
	return c, nil
}

// Client returns the configuration of a link to another server. The caller sets ServerName for each
// connection, on a clone. Servers are verified against ca_file, or else the system's authorities, except
// with insecure.
func Client(o *options.TLS) (*tls.Config, error) {
	if o.OCSPPeer != nil && o.OCSPPeer.Verify {
		return nil, ErrOCSPPeer
	}
	c, pool, err := build(o)
	if err != nil {
		return nil, err
	}
	c.RootCAs = pool
	c.InsecureSkipVerify = o.Insecure
	return c, nil
}

// Timeout returns how long a handshake may take.
func Timeout(o *options.TLS) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return DefaultTimeout
}

// build makes what both sides have in common. The pool is nil without ca_file.
func build(o *options.TLS) (*tls.Config, *x509.CertPool, error) {
	if err := checkCiphers(o); err != nil {
		return nil, nil, err
	}
	c := &tls.Config{
		MinVersion:       tls.VersionTLS12,
		CipherSuites:     o.CipherSuites,
		CurvePreferences: o.Curves,
	}
	if o.MinVersion != 0 {
		c.MinVersion = o.MinVersion
	}
	var err error
	if c.Certificates, err = loadCertificates(o); err != nil {
		return nil, nil, err
	}
	if len(o.PinnedCerts) > 0 {
		pins := o.PinnedCerts
		c.VerifyConnection = func(s tls.ConnectionState) error { return CheckPins(pins, &s) }
	}
	var pool *x509.CertPool
	if o.CAFile != "" {
		if pool, err = loadCA(o.CAFile); err != nil {
			return nil, nil, err
		}
	}
	return c, pool, nil
}

func checkCiphers(o *options.TLS) error {
	if o.AllowInsecureCiphers {
		return nil
	}
	var bad []string
	for _, id := range o.CipherSuites {
		for _, s := range tls.InsecureCipherSuites() {
			if s.ID == id {
				bad = append(bad, s.Name)
			}
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("insecure cipher suites configured without 'allow_insecure_cipher_suites' option set: %s", strings.Join(bad, ", "))
	}
	return nil
}

func loadCertificates(o *options.TLS) ([]tls.Certificate, error) {
	switch {
	case o.CertFile != "" && len(o.Certs) > 0:
		return nil, ErrCertsTwice
	case o.CertFile != "" && o.KeyFile == "":
		return nil, ErrNoKeyFile
	case o.CertFile == "" && o.KeyFile != "":
		return nil, ErrNoCertFile
	case o.CertFile != "":
		cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("error parsing X509 certificate/key pair: %w", err)
		}
		return []tls.Certificate{cert}, nil
	}
	var certs []tls.Certificate
	for i, p := range o.Certs {
		if p.CertFile == "" || p.KeyFile == "" {
			return nil, ErrHalfPair
		}
		cert, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("error parsing X509 certificate/key pair %d/%d: %w", i+1, len(o.Certs), err)
		}
		certs = append(certs, cert)
	}
	return certs, nil
}

func loadCA(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, ErrCA
	}
	return pool, nil
}
