package monitor

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"time"
)

// The kinds and types of connections as they are shown.
const (
	KindClient   = "Client"
	KindLeafnode = "Leafnode"
	KindGateway  = "Gateway"

	TypeNATS      = "nats"
	TypeWebSocket = "websocket"
	TypeMQTT      = "mqtt"
)

// Conn is a snapshot of one connection.
type Conn struct {
	CID          uint64
	Kind         string // KindClient or KindLeafnode
	Type         string // TypeNATS, TypeWebSocket or TypeMQTT; empty unless Kind is KindClient
	IP           string
	Port         int
	Start        time.Time
	LastActivity time.Time
	Stop         time.Time // zero while the connection is open
	Reason       Reason    // ReasonNone while the connection is open
	RTT          time.Duration
	Pending      int64 // bytes waiting to be written
	InMsgs       int64
	OutMsgs      int64
	InBytes      int64
	OutBytes     int64
	Stalls       int64
	Throttled    time.Duration // that quotas have held the connection back
	Refused      int64         // messages that quotas have refused
	NumSubs      uint32

	Name, Lang, Version string   // from CONNECT
	TLS                 *TLSInfo // nil without TLS; shared
	TLSFirst            bool     // the handshake came before INFO

	User       string // user name, nkey or JWT subject; "[REDACTED]" for a token; empty before authentication
	Account    string
	NameTag    string   // name of the account, or the one its JWT carries
	JWT        string   // empty for a bearer JWT
	IssuerKey  string   // of the user JWT
	Tags       []string // of the user JWT
	MQTTClient string   // MQTT client id
	ProxyKey   string   // of the trusted proxy in between

	// Subs lists the subscriptions a closed connection had; nil for open ones, which are asked for theirs
	// only when they are shown. Shared.
	Subs []SubDetail
}

// TLSInfo describes a finished TLS handshake.
type TLSInfo struct {
	Version   string // "1.2", "1.3", …
	Cipher    string // Go's name of the cipher suite
	PeerCerts []TLSPeerCert
}

// TLSPeerCert identifies a certificate that a client presented.
type TLSPeerCert struct {
	Subject          string `json:"subject,omitempty"`
	SubjectPKISha256 string `json:"spki_sha256,omitempty"` // of the public key, hex
	CertSha256       string `json:"cert_sha256,omitempty"` // of the whole certificate, hex
}

// NewTLSInfo describes the handshake of cs. Call it once per connection: it hashes the peer's certificates.
func NewTLSInfo(cs *tls.ConnectionState) *TLSInfo {
	info := &TLSInfo{Version: TLSVersionText(cs.Version), Cipher: tls.CipherSuiteName(cs.CipherSuite)}
	for _, c := range cs.PeerCertificates {
		key, whole := sha256.Sum256(c.RawSubjectPublicKeyInfo), sha256.Sum256(c.Raw)
		info.PeerCerts = append(info.PeerCerts, TLSPeerCert{
			Subject:          c.Subject.String(),
			SubjectPKISha256: hex.EncodeToString(key[:]),
			CertSha256:       hex.EncodeToString(whole[:]),
		})
	}
	return info
}

// TLSVersionText returns "1.0" to "1.3", or "Unknown [0x…]".
func TLSVersionText(v uint16) string {
	if v >= tls.VersionTLS10 && v <= tls.VersionTLS13 {
		return "1." + string('0'+rune(v-tls.VersionTLS10))
	}
	return fmt.Sprintf("Unknown [0x%x]", v)
}
