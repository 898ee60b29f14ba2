package jwtauth

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/auth"
	"godwit/server/options"
)

func TestLogin(t *testing.T) {
	w := newWorld(t)
	signing, scopedKey, foreign := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	revoked, late := newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser)
	w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) {
		c.SigningKeys.Add(pub(signing))
		s := jwt.NewUserScope()
		s.Key = pub(scopedKey)
		s.Template.Pub.Allow.Add("only.{{name()}}")
		c.SigningKeys.AddScopedSigner(s)
		c.Revoke(pub(revoked))
		c.RevokeAt(pub(late), time.Now().Add(-time.Hour))
	})
	m, _ := w.start()
	edit := func(f func(*jwt.UserClaims)) func(*jwt.UserClaims) { return f }
	tests := []struct {
		name string
		p    person
		want string // part of the reason; empty lets in
	}{
		{"by the account", w.user(w.acc, nil), ""},
		{"by the account, which is named", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.IssuerAccount = pub(w.acc) })), ""},
		{"by a signing key", w.user(signing, edit(func(c *jwt.UserClaims) { c.IssuerAccount = pub(w.acc) })), ""},
		{"by a signing key, account not named", w.user(signing, nil), "account missing"},
		{"by a foreign key", w.user(foreign, edit(func(c *jwt.UserClaims) { c.IssuerAccount = pub(w.acc) })), "not issued by its account"},
		{"by a foreign account", w.user(foreign, nil), "account missing"},
		{"by the account, another named", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.IssuerAccount = pub(w.sys) })), "not issued by its account"},
		{"scoped", w.user(scopedKey, w.scoped(nil)), ""},
		{"scoped with limits of its own", w.user(scopedKey, w.scoped(func(c *jwt.UserClaims) { c.Limits.Subs = 5 })), "scoped users require no permissions"},
		{"scoped with permissions of its own", w.user(scopedKey, w.scoped(func(c *jwt.UserClaims) { c.Pub.Allow.Add(">") })), "scoped users require no permissions"},
		{"scoped as bearer of its own", w.user(scopedKey, w.scoped(func(c *jwt.UserClaims) { c.BearerToken = true })), "scoped users require no permissions"},
		{"not scoped by a scoped key", w.user(scopedKey, edit(func(c *jwt.UserClaims) { c.IssuerAccount = pub(w.acc) })), "scoped users require no permissions"},
		{"expired", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() - 2 })), "claim is expired"},
		{"expires now", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() })), "expired"},
		{"not yet valid", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.NotBefore = time.Now().Unix() + 60 })), "claim is not yet valid"},
		{"revoked", w.userOf(revoked, w.acc, nil), "revoked"},
		{"issued after the revocation", w.userOf(late, w.acc, nil), ""},
		{"type allowed", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("STANDARD") })), ""},
		{"type allowed in lower case", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("standard") })), ""},
		{"type among unknown ones", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("X", "STANDARD") })), ""},
		{"only unknown types", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("X") })), "connection type"},
		{"other type", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("MQTT") })), "connection type"},
		{"source", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Src.Add("10.0.0.0/8", "127.0.0.1/32") })), ""},
		{"other source", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Src.Add("10.0.0.0/8") })), "source 127.0.0.1 is not allowed"},
		{"source that is none", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Src.Add("127.0.0.1/32", "x") })), "invalid cidr"},
		{"zone that is none", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Locale = "Mars/Olympus" })), "time zone"},
		{"window never open", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Times = []jwt.TimeRange{{Start: "10:00:00", End: "10:00:00"}} })), "outside of the allowed times"},
		{"queue to publish to", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Pub.Allow.Add("a q") })), "not allowed to contain queue"},
		{"too many words in a permission", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.Sub.Deny.Add("a q x") })), "too many spaces"},
		{"proxy required", w.user(w.acc, edit(func(c *jwt.UserClaims) { c.ProxyRequired = true })), "proxy connection required"},
		{"no JWT", person{}, "a user JWT is required"},
		{"no JWT at all", person{token: "a.b.c"}, "a user JWT is required"},
		{"an account's JWT", person{w.acc, w.tokens[pub(w.acc)]}, "not user claim"},
		{"signed by another user", person{revoked, w.user(w.acc, nil).token}, "signature does not fit"},
		{"not signed", person{nil, w.user(w.acc, nil).token}, "signature missing"},
		{"bearer", person{nil, w.user(w.acc, edit(func(c *jwt.UserClaims) { c.BearerToken = true })).token}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := m.Login(tt.p.request())
			var f *auth.Failure
			switch {
			case tt.want == "" && err != nil:
				t.Fatalf("refused: %v", err)
			case tt.want == "":
				if u.Account != pub(w.acc) || u.NameTag != "ACC" || u.Label != "joe" || u.Name != u.Key {
					t.Fatalf("user %+v", u)
				}
			case !errors.As(err, &f) || !strings.Contains(f.Reason, tt.want):
				t.Fatalf("got %v, want a refusal with %q", err, tt.want)
			case !errors.Is(err, auth.ErrAuthorization):
				t.Fatalf("%v is not what clients are told", err)
			}
		})
	}
}

func TestLoginDescribesTheUser(t *testing.T) {
	w := newWorld(t)
	w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) { c.DefaultPermissions.Pub.Deny.Add("no") })
	m, _ := w.start()
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	p := w.user(w.acc, func(c *jwt.UserClaims) {
		c.Tags.Add("team:red")
		c.Expires = expires.Unix()
		c.Limits.Subs, c.Limits.Payload = 3, 100
		c.Pub.Allow.Add("a.>")
		c.Sub.Allow.Add("b q")
		c.Resp = &jwt.ResponsePermission{MaxMsgs: 2, Expires: time.Second}
	})
	u := mustLogin(t, m, p)
	if !u.Expires.Equal(expires) || u.Limits != (UserLimits{3, 100}) || u.Issuer != pub(w.acc) || len(u.Tags) != 1 || u.JWT != p.token || u.ShownJWT() != p.token {
		t.Fatalf("user %+v", u)
	}
	if !u.Permissions.CanPublish([]byte("a.b")) || u.Permissions.CanPublish([]byte("b")) || !u.Permissions.CanSubscribe("b", "q") || u.Permissions.CanSubscribe("b", "") {
		t.Fatal("permissions of the JWT do not hold")
	}
	if r := u.Permissions.Responses(); r == nil || r.Max != 2 || r.TTL != time.Second {
		t.Fatalf("responses %v", r)
	}
	u = mustLogin(t, m, w.user(w.acc, nil))
	if u.Permissions.CanPublish([]byte("no")) || !u.Permissions.CanPublish([]byte("yes")) {
		t.Fatal("the account's default permissions do not hold for a user without any")
	}
	if u.Limits != (UserLimits{options.Unlimited, options.Unlimited}) {
		t.Fatalf("limits %v", u.Limits)
	}
	bearer := w.user(w.acc, func(c *jwt.UserClaims) { c.BearerToken = true; c.Limits.Subs, c.Limits.Payload = 0, -5 })
	u = mustLogin(t, m, bearer)
	if u.ShownJWT() != "" || u.JWT != bearer.token || u.Limits != (UserLimits{}) {
		t.Fatalf("bearer %+v", u)
	}
}

func TestPermissionsThatAreNoSubjects(t *testing.T) {
	w := newWorld(t)
	m, _ := w.start()
	u := mustLogin(t, m, w.user(w.acc, func(c *jwt.UserClaims) { c.Pub.Allow.Add("a.>.b"); c.Sub.Allow.Add("a", "b.>.c") }))
	if u.Permissions.CanPublish([]byte("a.x.b")) || u.Permissions.CanPublish([]byte("z")) {
		t.Error("an allow list of nothing that is a subject allows something")
	}
	if !u.Permissions.CanSubscribe("a", "") || u.Permissions.CanSubscribe("z", "") {
		t.Error("the entry that is a subject does not hold")
	}
	u = mustLogin(t, m, w.user(w.acc, func(c *jwt.UserClaims) { c.Sub.Deny.Add("a.>.b", "no") }))
	if !u.Permissions.CanSubscribe("z", "") || u.Permissions.CanSubscribe("no", "") {
		t.Error("deny list does not hold")
	}
}

func TestSignatureForms(t *testing.T) {
	w := newWorld(t)
	m, _ := w.start()
	p := w.user(w.acc, nil)
	raw, err := p.key.Sign([]byte(testNonce))
	if err != nil {
		t.Fatal(err)
	}
	for name, sig := range map[string]string{
		"for URLs": base64.RawURLEncoding.EncodeToString(raw),
		"standard": base64.StdEncoding.EncodeToString(raw),
	} {
		r := p.request()
		r.Sig = sig
		if _, err := m.Login(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := p.request()
	r.Sig = "*"
	if got := refusal(t, m, r); !strings.Contains(got, "base64") {
		t.Errorf("reason %q", got)
	}
	r = p.request()
	r.Nonce = "another"
	if got := refusal(t, m, r); !strings.Contains(got, "does not fit") {
		t.Errorf("reason %q", got)
	}
	sig, err := p.key.Sign(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Nonce, r.Sig = "", base64.RawURLEncoding.EncodeToString(sig)
	if got := refusal(t, m, r); !strings.Contains(got, "does not fit") {
		t.Errorf("an empty nonce proves something: %q", got)
	}
}

func TestNkeyAndUserInConnectMeanNothing(t *testing.T) {
	w := newWorld(t)
	m, _ := w.start()
	r := w.user(w.acc, nil).request()
	r.User, r.Pass, r.Nkey, r.Token = "admin", "x", pub(newKey(t, nkeys.CreateUser)), "t"
	u, err := m.Login(r)
	if err != nil {
		t.Fatal(err)
	}
	if u.Name != u.Key {
		t.Errorf("shown as %q, which nobody has proven", u.Name)
	}
	r.Sig = ""
	var f *auth.Failure
	if _, err := m.Login(r); !errors.As(err, &f) || f.User != "admin" || !f.Token || f.Close != auth.CloseAuthentication {
		t.Fatalf("failure %+v", f)
	}
}

func TestProxy(t *testing.T) {
	w := newWorld(t)
	proxy, other := newKey(t, nkeys.CreateServer), newKey(t, nkeys.CreateServer)
	scope := newKey(t, nkeys.CreateAccount)
	w.options.Proxies = &options.Proxies{Trusted: []string{pub(proxy)}}
	w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) {
		s := jwt.NewUserScope()
		s.Key = pub(scope)
		s.Template.ProxyRequired = true
		c.SigningKeys.AddScopedSigner(s)
	})
	m, _ := w.start()
	for name, p := range map[string]person{
		"user":  w.user(w.acc, func(c *jwt.UserClaims) { c.ProxyRequired = true }),
		"scope": w.user(scope, w.scoped(nil)),
	} {
		r := p.request()
		for _, by := range []nkeys.KeyPair{nil, other} {
			if by != nil {
				sig, _ := by.Sign([]byte(testNonce))
				r.ProxySig = base64.RawURLEncoding.EncodeToString(sig)
			}
			var f *auth.Failure
			if _, err := m.Login(r); !errors.As(err, &f) || f.Close != auth.CloseProxyRequired {
				t.Errorf("%s: %v", name, f)
			}
		}
		sig, _ := proxy.Sign([]byte(testNonce))
		r.ProxySig = base64.RawURLEncoding.EncodeToString(sig)
		if _, err := m.Login(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPinnedAccounts(t *testing.T) {
	w := newWorld(t)
	other := newKey(t, nkeys.CreateAccount)
	w.tokens[pub(other)] = w.accountOf(other, w.op, nil)
	w.options.ResolverPinned = []string{pub(w.acc)}
	m, _ := w.start()
	mustLogin(t, m, w.user(w.acc, nil))
	mustLogin(t, m, w.user(w.sys, nil))
	if got := refusal(t, m, w.user(other, nil).request()); !strings.Contains(got, "pinned") {
		t.Errorf("reason %q", got)
	}
	if m.PinnedFails() != 1 || m.Loaded(pub(other)) != nil {
		t.Errorf("%d failures; the account was looked for: %v", m.PinnedFails(), m.Loaded(pub(other)) != nil)
	}
}

func TestSentinel(t *testing.T) {
	w := newWorld(t)
	w.options.DefaultSentinel = w.user(w.acc, func(c *jwt.UserClaims) { c.BearerToken = true; c.Name = "sentinel" }).token
	m, _ := w.start()
	for _, token := range []string{"", "x"} {
		u, err := m.Login(&auth.Request{JWT: token, User: "joe", Nonce: testNonce})
		if err != nil || u.Label != "sentinel" {
			t.Errorf("JWT %q: %v, %v", token, u, err)
		}
	}
	expired := w.user(w.acc, func(c *jwt.UserClaims) { c.Expires = 5 })
	if got := refusal(t, m, expired.request()); !strings.Contains(got, "expired") {
		t.Errorf("an expired JWT is replaced: %q", got)
	}
}

func TestStrictSigningKeys(t *testing.T) {
	w := newWorld(t)
	opSigning, accSigning := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount)
	w.options.Operators[0].StrictSigning = true
	w.options.Operators[0].SigningKeys = []string{pub(opSigning)}
	w.tokens[pub(w.sys)] = w.accountOf(w.sys, opSigning, nil)
	w.tokens[pub(w.acc)] = w.accountOf(w.acc, opSigning, func(c *jwt.AccountClaims) { c.SigningKeys.Add(pub(accSigning)) })
	byRoot := newKey(t, nkeys.CreateAccount)
	w.tokens[pub(byRoot)] = w.accountOf(byRoot, w.op, nil)
	m, _ := w.start()
	mustLogin(t, m, w.user(accSigning, func(c *jwt.UserClaims) { c.IssuerAccount = pub(w.acc) }))
	if got := refusal(t, m, w.user(w.acc, nil).request()); !strings.Contains(got, "not issued by") {
		t.Errorf("user by the account itself: %q", got)
	}
	if got := refusal(t, m, w.user(byRoot, nil).request()); !strings.Contains(got, "requires issuer to be a signing key") {
		t.Errorf("account by the operator itself: %q", got)
	}
}

func TestTrustedKeys(t *testing.T) {
	w := newWorld(t)
	w.options.Operators, w.options.TrustedKeys = nil, []string{pub(w.op)}
	m, _ := w.start()
	mustLogin(t, m, w.user(w.acc, nil))
	if !m.NonceRequired() {
		t.Error("no nonce")
	}
	id, err := m.Authenticate(w.user(w.acc, nil).request(), func() (*auth.Identity, error) { return nil, errors.New("asked for configured users") })
	if err != nil || id.Account != pub(w.acc) {
		t.Errorf("%v, %v", id, err)
	}
	if _, err := m.Authenticate(&auth.Request{User: "a", Pass: "b"}, func() (*auth.Identity, error) { return &auth.Identity{}, nil }); !errors.Is(err, auth.ErrAuthorization) {
		t.Errorf("a configured user: %v", err)
	}
}

func TestExpiresWithTheEarlierOfJWTAndWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock starts at midnight UTC
		w := newWorld(t)
		m, _ := w.start()
		window := func(exp time.Duration) *User {
			return mustLogin(t, m, w.user(w.acc, func(c *jwt.UserClaims) {
				c.Times, c.Locale = []jwt.TimeRange{{Start: "00:00:00", End: "01:00:00"}}, "UTC"
				c.Expires = time.Now().Add(exp).Unix()
			}))
		}
		if got := time.Until(window(2 * time.Hour).Expires); got != time.Hour {
			t.Errorf("window: %v", got)
		}
		if got := time.Until(window(time.Minute).Expires); got != time.Minute {
			t.Errorf("JWT: %v", got)
		}
	})
}
