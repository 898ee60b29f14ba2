package callout

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/auth"
	"godwit/server/options"
)

// request makes the message to the service: a JWT that the server signs, sealed if the service has a curve key. key is
// the public nkey that the user shall have.
func (d *Delegate) request(cfg *options.AuthCallout, key string, req *auth.Request) (header, body []byte, err error) {
	c := jwt.NewAuthorizationRequestClaims(cfg.Issuer)
	c.Audience = requestAudience
	c.Expires = time.Now().Add(d.o.Timeout).Unix()
	c.Server = d.o.Server()
	c.UserNkey = key
	c.ClientInformation = jwt.ClientInformation{Host: req.Host, ID: req.Client.ID, User: claimed(req), Name: req.Client.Name,
		Kind: req.Client.Kind, Type: req.Client.Type, Nonce: req.Nonce}
	c.ConnectOptions = jwt.ConnectOptions{JWT: req.JWT, Nkey: req.Nkey, SignedNonce: req.Sig, Token: req.Token,
		Username: req.User, Password: req.Pass, Name: req.Client.Name, Lang: req.Client.Lang, Version: req.Client.Version,
		Protocol: req.Client.Protocol}
	c.TLS = describeTLS(req.TLS)
	if cfg.XKey != "" {
		if c.Server.XKey, err = d.o.Curve.PublicKey(); err != nil {
			return nil, nil, err
		}
	}
	token, err := c.Encode(d.o.Key)
	if err != nil || cfg.XKey == "" {
		return nil, []byte(token), err
	}
	body, err = d.o.Curve.Seal([]byte(token), cfg.XKey)
	return []byte("NATS/1.0\r\n" + HeaderXKey + ": " + c.Server.XKey + "\r\n\r\n"), body, err
}

// describeTLS shows the handshake; nil without. Certificates that were verified are in the chains only.
func describeTLS(cs *tls.ConnectionState) *jwt.ClientTLS {
	if cs == nil {
		return nil
	}
	t := &jwt.ClientTLS{Version: strings.TrimPrefix(tls.VersionName(cs.Version), "TLS "), Cipher: tls.CipherSuiteName(cs.CipherSuite)}
	if len(cs.VerifiedChains) == 0 {
		t.Certs = encodeCerts(cs.PeerCertificates)
	}
	for _, chain := range cs.VerifiedChains {
		t.VerifiedChains = append(t.VerifiedChains, encodeCerts(chain))
	}
	return t
}

func encodeCerts(list []*x509.Certificate) (out jwt.StringList) {
	for _, c := range list {
		out = append(out, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})))
	}
	return out
}
