package system

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"time"
)

const (
	typeLinkInvalid = "io.nats.server.advisory.v1.ocsp_peer_link_invalid"
	typePeerReject  = "io.nats.server.advisory.v1.ocsp_peer_reject"
)

// certificateInfo describes a certificate.
type certificateInfo struct {
	Subject     string `json:"subject,omitempty"`
	Issuer      string `json:"issuer,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // base64 of the SHA-256 of raw
	Raw         []byte `json:"raw,omitempty"`
}

func certificate(c *x509.Certificate) certificateInfo {
	sum := sha256.Sum256(c.Raw)
	return certificateInfo{c.Subject.String(), c.Issuer.String(), base64.StdEncoding.EncodeToString(sum[:]), c.Raw}
}

// CertificateInvalid tells that a certificate in the chain of a client is not good by its responder.
func (e *Events) CertificateInvalid(link, peer *x509.Certificate, reason string) {
	e.putMade("OCSP.PEER.LINK.INVALID", func(s *Service, at time.Time) any {
		a := s.advisory(typeLinkInvalid, at)
		return struct {
			Type   string          `json:"type"`
			ID     string          `json:"id"`
			Time   time.Time       `json:"timestamp"`
			Link   certificateInfo `json:"link"`
			Peer   certificateInfo `json:"peer"`
			Server *ServerInfo     `json:"server"`
			Reason string          `json:"reason"`
		}{a.Type, a.ID, a.Time, certificate(link), certificate(peer), a.Server, reason}
	})
}

// CertificateRejected tells that a client was not let in because of that.
func (e *Events) CertificateRejected(kind string, peer *x509.Certificate, reason string) {
	e.putMade("OCSP.PEER.CONN.REJECT", func(s *Service, at time.Time) any {
		a := s.advisory(typePeerReject, at)
		return struct {
			Type   string          `json:"type"`
			ID     string          `json:"id"`
			Time   time.Time       `json:"timestamp"`
			Kind   string          `json:"kind"`
			Peer   certificateInfo `json:"peer"`
			Server *ServerInfo     `json:"server"`
			Reason string          `json:"reason"`
		}{a.Type, a.ID, a.Time, kind, certificate(peer), a.Server, reason}
	})
}

// putMade queues an event of the server that value makes when it is sent, if somebody listens.
func (e *Events) putMade(what string, value func(s *Service, at time.Time) any) {
	if e == nil {
		return
	}
	if subj := e.serverSubject(what); e.wanted(e.s.system, subj) {
		e.put(event{subject: subj, kind: eventMade, at: time.Now(), value: value})
	}
}
