package tlsconf

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrPinned is the cause of a connection closed because its certificate is not among the pinned ones.
var ErrPinned = errors.New("certificate is not pinned")

// KeyHash returns the hash by which pinned_certs names a certificate: lower-case hex of the SHA-256 of its
// SubjectPublicKeyInfo in DER.
func KeyHash(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// CheckPins demands that the other side has presented a certificate, and that its own, which is the leaf of
// every verified chain, is among the pins. Configurations made by Server and Client with pinned_certs
// have this check in their handshake.
func CheckPins(pins map[string]struct{}, s *tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return fmt.Errorf("%w: the other side presented none", ErrPinned)
	}
	leaf := s.PeerCertificates[0]
	if len(s.VerifiedChains) > 0 {
		leaf = s.VerifiedChains[0][0]
	}
	hash := KeyHash(leaf)
	if _, ok := pins[hash]; !ok {
		return fmt.Errorf("%w: key id %s", ErrPinned, hash)
	}
	return nil
}
