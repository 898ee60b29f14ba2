package jwtauth

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

func TestAuthorize(t *testing.T) {
	w := newWorld(t)
	exporter, signing, stranger := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	token := func(subject string, signer nkeys.KeyPair, edit func(*jwt.ActivationClaims)) string {
		c := jwt.NewActivationClaims(subject)
		c.ImportSubject, c.ImportType = "private.>", jwt.Stream
		if edit != nil {
			edit(c)
		}
		s, err := c.Encode(signer)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	me := pub(w.acc)
	tests := []struct {
		name    string
		subject string
		token   string
		kind    options.ExchangeKind
		revoke  string
		until   time.Time
		want    error  // nil if all is well
		text    string // or this
	}{
		{name: "public", subject: "public.a"},
		{name: "public, needless token", subject: "public.a", token: "x"},
		{name: "not exported", subject: "other", want: errNoExport},
		{name: "exported as another kind", subject: "public.a", kind: options.ServiceExchange, want: errNoExport},
		{name: "private without token", subject: "private.a", want: errNoActivation},
		{name: "private", subject: "private.a", token: token(me, exporter, nil)},
		{name: "for a while", subject: "private.a", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.Expires = end.Unix() }), until: end},
		{name: "by a signing key", subject: "private.a", token: token(me, signing, func(c *jwt.ActivationClaims) { c.IssuerAccount = pub(exporter) })},
		{name: "by a signing key, account not named", subject: "private.a", token: token(me, signing, nil), want: errActivationBy},
		{name: "by a stranger", subject: "private.a", token: token(me, stranger, nil), want: errActivationBy},
		{name: "by a stranger who names the account", subject: "private.a", token: token(me, stranger, func(c *jwt.ActivationClaims) { c.IssuerAccount = pub(exporter) }), want: errActivationBy},
		{name: "by the importer itself", subject: "private.a", token: token(me, w.acc, nil), want: errActivationBy},
		{name: "for another", subject: "private.a", token: token(pub(stranger), exporter, nil), want: errActivationFor},
		{name: "for another kind", subject: "private.a", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.ImportType = jwt.Service }), want: errActivationType},
		{name: "for a narrower subject", subject: "private.>", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.ImportSubject = "private.a" }), want: errActivationSub},
		{name: "expired", subject: "private.a", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.Expires = time.Now().Unix() - 5 }), want: errActivationEnd},
		{name: "expires now", subject: "private.a", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.Expires = time.Now().Unix() }), want: errActivationEnd},
		{name: "not yet valid", subject: "private.a", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.NotBefore = time.Now().Unix() + 50 }), want: errActivationEnd},
		{name: "revoked", subject: "private.a", token: token(me, exporter, nil), revoke: me, want: errActivationGone},
		{name: "all revoked", subject: "private.a", token: token(me, exporter, nil), revoke: "*", want: errActivationGone},
		{name: "another revoked", subject: "private.a", token: token(me, exporter, nil), revoke: pub(stranger)},
		{name: "garbage", subject: "private.a", token: "x", text: "expected 3 chunks"},
		{name: "a JWT of another kind", subject: "private.a", token: w.tokens[me], text: "not activation claim"},
		{name: "malformed", subject: "private.a", token: token(me, exporter, func(c *jwt.ActivationClaims) { c.ImportSubject = "a b" }), text: "cannot have spaces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from := accountFrom(t, w, w.accountOf(exporter, w.op, func(c *jwt.AccountClaims) {
				c.SigningKeys.Add(pub(signing))
				private := &jwt.Export{Subject: "private.>", Type: jwt.Stream, TokenReq: true}
				if tt.revoke != "" {
					private.Revoke(tt.revoke)
				}
				c.Exports.Add(private, &jwt.Export{Subject: "public.>", Type: jwt.Stream})
			}))
			// The import is not part of a JWT: the library refuses most of the tokens there already.
			to := accountFrom(t, w, w.tokens[me])
			to.Settings.Imports = []*options.Import{{Kind: tt.kind, Account: pub(exporter), Subject: tt.subject}}
			to.Activations = []string{tt.token}
			until, err := Authorize(to, from, 0)
			switch {
			case tt.want == nil && tt.text == "":
				if err != nil || !until.Equal(tt.until) {
					t.Errorf("got %v, %v", until, err)
				}
			case tt.text != "":
				if err == nil || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v", err)
				}
			case !errors.Is(err, tt.want):
				t.Errorf("got %v", err)
			}
		})
	}
}

func accountFrom(t *testing.T, w *world, token string) *Account {
	t.Helper()
	c, err := decodeAccount(token)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAccount(newTrust(w.options.Operators, nil), token, c)
	if err != nil {
		t.Fatal(reasonOf(err))
	}
	return a
}
