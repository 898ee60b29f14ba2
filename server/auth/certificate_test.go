package auth

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"

	"godwit/server/options"
	"godwit/server/tlsconf/tlstest"
)

var (
	oidCountry = asn1.ObjectIdentifier{2, 5, 4, 6}
	oidOrg     = asn1.ObjectIdentifier{2, 5, 4, 10}
	oidUnit    = asn1.ObjectIdentifier{2, 5, 4, 11}
	oidCommon  = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidDC      = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}
	oidEmail   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}
)

// rdn is a relative name of one attribute.
func rdn(kind asn1.ObjectIdentifier, value any) pkix.RelativeDistinguishedNameSET {
	return pkix.RelativeDistinguishedNameSET{{Type: kind, Value: value}}
}

func der(tb testing.TB, seq ...pkix.RelativeDistinguishedNameSET) []byte {
	tb.Helper()
	raw, err := asn1.Marshal(pkix.RDNSequence(seq))
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestCertificateMapping(t *testing.T) {
	ca := tlstest.NewCA(t)
	simple := der(t, rdn(oidCountry, "US"), rdn(oidOrg, "Org"), rdn(oidUnit, "Unit"), rdn(oidCommon, "bob"))
	full := ca.Issue(t, tlstest.Request{Client: true, RawSubject: simple, Emails: []string{"bob@x.y"}, Hosts: []string{"bob.dns"}, URIs: []string{"spiffe://x/bob"}}).Cert
	plain := ca.Issue(t, tlstest.Request{Client: true, RawSubject: simple}).Cert
	domain := ca.Issue(t, tlstest.Request{Client: true,
		RawSubject: der(t, rdn(oidDC, "com"), rdn(oidDC, "acme"), rdn(oidOrg, "Org"), rdn(oidCommon, "bob"), rdn(oidEmail, "bob@mail"))}).Cert
	units := ca.Issue(t, tlstest.Request{Client: true,
		RawSubject: der(t, rdn(oidOrg, "Org"), rdn(oidUnit, "A"), rdn(oidUnit, "B"), rdn(oidCommon, "bob"))}).Cert
	nameless := ca.Issue(t, tlstest.Request{Client: true, RawSubject: der(t)}).Cert
	comma := ca.Issue(t, tlstest.Request{Client: true, RawSubject: der(t, rdn(oidOrg, "Org, Inc"), rdn(oidCommon, "bob"))}).Cert

	const rfc, forward, mixed = "CN=bob,OU=Unit,O=Org,C=US", "C=US,O=Org,OU=Unit,CN=bob", "O=Org,CN=bob,OU=Unit,C=US"
	tests := []struct {
		name  string
		cert  *x509.Certificate
		users []string
		want  string // empty: refused
	}{
		{"e-mail is first", full, []string{rfc, "spiffe://x/bob", "bob.dns", "bob@x.y"}, "bob@x.y"},
		{"DNS name is next", full, []string{rfc, "spiffe://x/bob", "bob.dns"}, "bob.dns"},
		{"URI is next", full, []string{rfc, "spiffe://x/bob"}, "spiffe://x/bob"},
		{"subject is last", full, []string{rfc}, rfc},
		{"exact order", plain, []string{mixed, forward, rfc}, rfc},
		{"any order", plain, []string{forward}, forward},
		{"any order, first configured", plain, []string{mixed, forward}, mixed},
		{"kinds in any case, blanks", plain, []string{"cn = bob , Ou=Unit, o=Org,c=US"}, "cn = bob , Ou=Unit, o=Org,c=US"},
		{"values in their case", plain, []string{"CN=Bob,OU=Unit,O=Org,C=US"}, ""},
		{"kinds by number", plain, []string{"2.5.4.3=bob,OU=Unit,O=Org,C=US"}, "2.5.4.3=bob,OU=Unit,O=Org,C=US"},
		{"less than all", plain, []string{"CN=bob,OU=Unit,O=Org"}, ""},
		{"more than all", plain, []string{rfc + ",C=US"}, ""},
		{"common name alone", plain, []string{"bob"}, ""},
		{"unknown", plain, []string{"CN=alice,OU=Unit,O=Org,C=US", "x"}, ""},
		{"other attributes", domain, []string{"emailAddress=bob@mail,CN=bob,O=Org,DC=acme,DC=com", "CN=bob,O=Org"}, "emailAddress=bob@mail,CN=bob,O=Org,DC=acme,DC=com"},
		{"text with domain", domain, []string{"CN=bob,O=Org", "CN=bob,O=Org,DC=com,DC=acme"}, "CN=bob,O=Org,DC=com,DC=acme"},
		{"text with domain in the other order", domain, []string{"CN=bob,O=Org,DC=acme,DC=com"}, ""},
		{"text", domain, []string{"CN=bob,O=Org"}, "CN=bob,O=Org"},
		{"repeated kind", units, []string{"CN=bob,OU=B,OU=A,O=Org"}, "CN=bob,OU=B,OU=A,O=Org"},
		{"repeated kind, other order", units, []string{"CN=bob,OU=A,OU=B,O=Org"}, "CN=bob,OU=A,OU=B,O=Org"},
		{"repeated kind, twice the same", units, []string{"CN=bob,OU=A,OU=A,O=Org"}, ""},
		{"text joins repeated kinds", units, []string{"CN=bob,OU=A+OU=B,O=Org"}, "CN=bob,OU=A+OU=B,O=Org"},
		{"nameless", nameless, []string{"", "bob"}, ""},
		{"escaped comma", comma, []string{`CN=bob,O=Org\, Inc`}, `CN=bob,O=Org\, Inc`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var users []*options.User
			for _, name := range tt.users {
				users = append(users, &options.User{Username: name})
			}
			a := mustNew(t, Config{Users: users, MapCertificates: true})
			id, err := a.Authenticate(&Request{User: "ignored", TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{tt.cert, ca.Cert}}})
			switch {
			case tt.want == "" && err == nil:
				t.Fatalf("is %q", id.Name)
			case tt.want != "" && (err != nil || id.Name != tt.want):
				t.Fatalf("is %+v, %v; want %q", id, err, tt.want)
			}
		})
	}
}

func TestCertificateAndOtherMethods(t *testing.T) {
	ca := tlstest.NewCA(t)
	state := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{ca.Client(t, "bob").Cert}}
	users := []*options.User{
		{Username: "CN=bob", Account: "B"},
		{Username: "a", Password: "pw"},
	}
	a := mustNew(t, Config{Users: users, NoAuthUser: "a", MapCertificates: true})
	checkLogins(t, a, []login{
		{"certificate", Request{TLS: state}, "B", "CN=bob", ""},
		{"certificate and a user", Request{TLS: state, User: "a"}, "B", "CN=bob", ""},
		{"plaintext", Request{User: "a", Pass: "pw"}, "", "", ""},
		{"plaintext without credentials", Request{}, "", "", ""},
		{"TLS without certificate", Request{TLS: &tls.ConnectionState{}}, "", "", ""},
	})
	both := []*options.User{{Username: "CN=bob", Password: "pw"}}
	checkLogins(t, mustNew(t, Config{Users: both, MapCertificates: true}), []login{
		{"password missing", Request{TLS: state}, "", "", ""},
		{"password wrong", Request{TLS: state, Pass: "x"}, "", "", ""},
		{"password", Request{TLS: state, Pass: "pw"}, "$G", "CN=bob", ""},
	})
	types := []*options.User{{Username: "CN=bob", ConnectionTypes: []string{"WEBSOCKET"}}, {Username: "CN = bob"}}
	checkLogins(t, mustNew(t, Config{Users: types, MapCertificates: true}), []login{
		{"the user whose connection type it is", Request{TLS: state}, "$G", "CN = bob", ""},
		{"and the other", Request{TLS: state, Type: WebSocket}, "$G", "CN=bob", ""},
	})
	checkLogins(t, mustNew(t, Config{Authorization: options.Authorization{Token: "t"}, MapCertificates: true}), []login{
		{"token, without users to map to", Request{TLS: state, Token: "t"}, "$G", "[REDACTED]", ""},
		{"no token", Request{TLS: state}, "", "", ""},
	})
	checkLogins(t, mustNew(t, Config{Users: users}), []login{
		{"without mapping", Request{TLS: state}, "", "", ""},
	})
}
