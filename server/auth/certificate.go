package auth

import (
	"crypto/x509"
	"slices"
	"strings"
)

// byCertificate finds the user that the client's certificate names. The certificate has been verified by the
// handshake. A user name in CONNECT plays no part, but a user that has a password must present that as well.
func (a *Authenticator) byCertificate(req *Request) (*Identity, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, refuse(req, CloseAuthentication, "user required in certificate, but there is none")
	}
	u := a.mappedUser(req.TLS.PeerCertificates[0], req.Type)
	if u == nil {
		return nil, refuse(req, CloseAuthentication, "certificate names no user")
	}
	return a.checkPassword(req, u)
}

// mappedUser looks a certificate up. The order is the contract: e-mail, DNS and URI names, the subject as a
// distinguished name (in its order, then in any), its text with the domain components, its text.
func (a *Authenticator) mappedUser(cert *x509.Certificate, t ConnectionType) *user {
	byName := func(name string) *user {
		if u := a.users[name]; name != "" && u != nil && u.allowsType(t) {
			return u
		}
		return nil
	}
	var names []string
	names = append(names, cert.EmailAddresses...)
	names = append(names, cert.DNSNames...)
	for _, uri := range cert.URIs {
		names = append(names, uri.String())
	}
	for _, name := range names {
		if u := byName(name); u != nil {
			return u
		}
	}
	dn, ok := subjectDN(cert.RawSubject)
	if ok {
		if u := a.byDN(dn, t); u != nil {
			return u
		}
	}
	text := cert.Subject.ToRDNSequence().String()
	if components := domainComponents(dn); components != "" {
		if u := byName(text + "," + components); u != nil {
			return u
		}
	}
	return byName(text)
}

func (a *Authenticator) byDN(dn distinguishedName, t ConnectionType) *user {
	for _, equal := range []func(distinguishedName) bool{dn.equal, dn.equalInAnyOrder} {
		i := slices.IndexFunc(a.named, func(n namedUser) bool { return n.user.allowsType(t) && equal(n.name) })
		if i >= 0 {
			return a.named[i].user
		}
	}
	return nil
}

// domainComponents returns the text of the domain components in the order of the certificate, which is the
// reverse of that of RFC 4514.
func domainComponents(dn distinguishedName) string {
	var parts []string
	for _, rdn := range slices.Backward(dn) {
		for _, a := range rdn {
			if a.kind == domainComponent {
				parts = append(parts, a.kind+"="+a.value)
			}
		}
	}
	return strings.Join(parts, ",")
}
