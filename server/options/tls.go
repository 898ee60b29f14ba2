package options

import (
	"crypto/tls"
	"time"
)

// TLS is a tls block. Files are read when the configuration is built from it, not when it is parsed.
type TLS struct {
	CertFile, KeyFile      string
	CAFile                 string
	Certs                  []CertPair // instead of CertFile
	Insecure               bool       // outgoing links: do not verify
	Verify                 bool       // require and verify client certificates
	VerifyAndMap           bool       // and take the user from the certificate
	VerifyKnownURLs        bool       // cluster and gateway: check the certificate against known URLs
	AllowInsecureCiphers   bool
	CipherSuites           []uint16
	Curves                 []tls.CurveID
	MinVersion             uint16        // tls.VersionTLS12 or tls.VersionTLS13; 0 means 1.2
	Timeout                time.Duration // for the handshake; 0 means 2 s
	RateLimit              int64         // handshakes per second; 0 means unlimited
	PinnedCerts            map[string]struct{}
	HandshakeFirst         bool          // TLS before INFO
	HandshakeFirstFallback time.Duration // wait this long for a client hello, then send INFO in clear; 0 means for ever
	OCSPPeer               *OCSPPeer
}

// CertPair names the files of one certificate and its key.
type CertPair struct{ CertFile, KeyFile string }

// OCSPPeer asks for the revocation state of the other side's certificate.
type OCSPPeer struct {
	Verify                 bool
	ClockSkew              time.Duration
	CATimeout              time.Duration
	TTLUnsetNextUpdate     time.Duration
	WarnOnly               bool
	UnknownIsGood          bool
	AllowWhenCAUnreachable bool
}
