package auth

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"

	"godwit/server/options"
)

func mustNew(tb testing.TB, cfg Config) *Authenticator {
	tb.Helper()
	a, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func hash(tb testing.TB, password string) string {
	tb.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		tb.Fatal(err)
	}
	return string(h)
}

// key is a user nkey for tests.
type key struct {
	nkeys.KeyPair
	public string
}

func newKey(tb testing.TB, prefix nkeys.PrefixByte) key {
	tb.Helper()
	kp, err := nkeys.CreatePairWithRand(prefix, rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	pub, err := kp.PublicKey()
	if err != nil {
		tb.Fatal(err)
	}
	return key{kp, pub}
}

func (k key) sign(tb testing.TB, nonce string) []byte {
	tb.Helper()
	sig, err := k.Sign([]byte(nonce))
	if err != nil {
		tb.Fatal(err)
	}
	return sig
}

// login is one attempt and what is to come of it.
type login struct {
	name    string
	req     Request
	account string // empty: refused
	shown   string
	close   CloseReason // default: CloseAuthentication
}

func checkLogins(t *testing.T, a *Authenticator, logins []login) {
	t.Helper()
	for _, l := range logins {
		t.Run(l.name, func(t *testing.T) {
			id, err := a.Authenticate(&l.req)
			if l.account != "" {
				if err != nil {
					t.Fatal(err)
				}
				if id.Account != l.account || id.Name != l.shown {
					t.Fatalf("is %q in %q, want %q in %q", id.Name, id.Account, l.shown, l.account)
				}
				return
			}
			if l.close == "" {
				l.close = CloseAuthentication
			}
			var f *Failure
			if id != nil || !errors.Is(err, ErrAuthorization) || !errors.As(err, &f) || f.Close != l.close || f.Reason == "" {
				t.Fatalf("is %+v, %v; want it refused as %s", id, err, l.close)
			}
		})
	}
}

func TestWithoutUsers(t *testing.T) {
	a := mustNew(t, Config{})
	if a.Required() || a.HasNoAuthUser() || a.Anonymous() || a.NonceRequired() {
		t.Error("something is required of nobody")
	}
	checkLogins(t, a, []login{
		{"nothing", Request{}, "$G", "", ""},
		{"user is ignored", Request{User: "a", Pass: "b"}, "$G", "a", ""},
		{"token is ignored and hidden", Request{Token: "secret"}, "$G", "[REDACTED]", ""},
		{"nkey is ignored", Request{Nkey: "UX", Sig: "x"}, "$G", "UX", ""},
		{"proxy signature is ignored", Request{ProxySig: "x"}, "$G", "", ""},
	})
}

func TestToken(t *testing.T) {
	for _, configured := range []string{"secret", hash(t, "secret")} {
		a := mustNew(t, Config{Authorization: options.Authorization{Token: configured, Defaults: &options.Permissions{
			Publish: &options.SubjectPermission{Allow: []string{"x"}}}}})
		if !a.Required() || a.NonceRequired() || a.Anonymous() {
			t.Error("wrong requirements")
		}
		checkLogins(t, a, []login{
			{"right", Request{Token: "secret"}, "$G", "[REDACTED]", ""},
			{"wrong", Request{Token: "secre"}, "", "", ""},
			{"the hash itself", Request{Token: hash(t, "secret")}, "", "", ""},
			{"none", Request{}, "", "", ""},
			{"as user", Request{User: "secret"}, "", "", ""},
			{"as password", Request{User: "secret", Pass: "secret"}, "", "", ""},
		})
		id, err := a.Authenticate(&Request{Token: "secret"})
		if err != nil || id.Permissions != nil || id.Source != nil {
			t.Errorf("%+v, %v: default permissions are not for tokens", id, err)
		}
	}
}

func TestSingleUser(t *testing.T) {
	a := mustNew(t, Config{Authorization: options.Authorization{Username: "a", Password: "pw"}})
	checkLogins(t, a, []login{
		{"right", Request{User: "a", Pass: "pw"}, "$G", "a", ""},
		{"wrong password", Request{User: "a", Pass: "pw2"}, "", "", ""},
		{"wrong user", Request{User: "b", Pass: "pw"}, "", "", ""},
		{"no password", Request{User: "a"}, "", "", ""},
		{"password as token", Request{User: "a", Token: "pw"}, "", "", ""},
		{"nothing", Request{}, "", "", ""},
	})
}

func TestUsers(t *testing.T) {
	permissions := &options.Permissions{Subscribe: &options.SubjectPermission{Allow: []string{"own"}}}
	defaults := &options.Permissions{Subscribe: &options.SubjectPermission{Allow: []string{"block"}}}
	a := mustNew(t, Config{
		Authorization: options.Authorization{
			Users: []*options.User{
				{Username: "plain", Password: "pw"},
				{Username: "hashed", Password: hash(t, "pw"), Permissions: permissions},
				{Username: "open"},
				{Username: "web", Password: "pw", ConnectionTypes: []string{"WEBSOCKET", "MQTT_WS"}},
			},
			Defaults: defaults,
		},
		Users: []*options.User{
			{Username: "b", Password: "pw", Account: "B"},
			{Username: "c", Password: "pw", Account: "C"},
		},
		AccountDefaults: map[string]*options.Permissions{"B": {Subscribe: &options.SubjectPermission{Allow: []string{"account"}}}},
	})
	checkLogins(t, a, []login{
		{"plain", Request{User: "plain", Pass: "pw"}, "$G", "plain", ""},
		{"plain, wrong", Request{User: "plain", Pass: "PW"}, "", "", ""},
		{"plain, none", Request{User: "plain"}, "", "", ""},
		{"hashed", Request{User: "hashed", Pass: "pw"}, "$G", "hashed", ""},
		{"hashed, wrong", Request{User: "hashed", Pass: "pw "}, "", "", ""},
		{"without password", Request{User: "open"}, "$G", "open", ""},
		{"without password, but one sent", Request{User: "open", Pass: "x"}, "", "", ""},
		{"unknown", Request{User: "nobody", Pass: "pw"}, "", "", ""},
		{"password only", Request{Pass: "pw"}, "", "", ""},
		{"token", Request{Token: "pw"}, "", "", ""},
		{"nothing", Request{}, "", "", ""},
		{"of an account", Request{User: "b", Pass: "pw"}, "B", "b", ""},
		{"connection type", Request{User: "web", Pass: "pw"}, "", "", ""},
		{"connection type allowed", Request{User: "web", Pass: "pw", Type: WebSocket}, "$G", "web", ""},
		{"connection type of leafnode", Request{User: "web", Pass: "pw", Type: Leafnode}, "", "", ""},
		{"unknown nkey is ignored without nkey users", Request{User: "plain", Pass: "pw", Nkey: "UX"}, "$G", "plain", ""},
	})
	for user, may := range map[string]string{"plain": "block", "hashed": "own", "b": "account"} {
		id, err := a.Authenticate(&Request{User: user, Pass: "pw"})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"block", "own", "account"} {
			if got := id.Permissions.CanSubscribe(s, ""); got != (s == may) {
				t.Errorf("%s: CanSubscribe(%s) = %v", user, s, got)
			}
		}
	}
	id, err := a.Authenticate(&Request{User: "c", Pass: "pw"})
	if err != nil || id.Permissions != nil {
		t.Errorf("%+v, %v: the block's defaults are not for users of accounts", id, err)
	}
}

func TestUserWithoutPasswordOnListenerWithoutMapping(t *testing.T) {
	a := mustNew(t, Config{RefuseEmptyPasswords: true, Users: []*options.User{{Username: "a"}, {Username: "b", Password: "pw"}}})
	checkLogins(t, a, []login{
		{"without", Request{User: "a"}, "", "", ""},
		{"with", Request{User: "b", Pass: "pw"}, "$G", "b", ""},
	})
}

func TestNkey(t *testing.T) {
	u, other := newKey(t, nkeys.PrefixByteUser), newKey(t, nkeys.PrefixByteUser)
	a := mustNew(t, Config{Users: []*options.User{
		{Nkey: u.public, Account: "A", ConnectionTypes: []string{"STANDARD"}},
		{Username: "b", Password: "pw"},
	}})
	if !a.Required() || !a.NonceRequired() {
		t.Error("wrong requirements")
	}
	const nonce = "abcdefghijklmno"
	raw := base64.RawURLEncoding.EncodeToString(u.sign(t, nonce))
	checkLogins(t, a, []login{
		{"signed", Request{Nkey: u.public, Sig: raw, Nonce: nonce}, "A", u.public, ""},
		{"standard base64", Request{Nkey: u.public, Sig: base64.StdEncoding.EncodeToString(u.sign(t, nonce)), Nonce: nonce}, "A", u.public, ""},
		{"no signature", Request{Nkey: u.public, Nonce: nonce}, "", "", ""},
		{"not base64", Request{Nkey: u.public, Sig: "!!", Nonce: nonce}, "", "", ""},
		{"other nonce", Request{Nkey: u.public, Sig: raw, Nonce: "other"}, "", "", ""},
		{"no nonce", Request{Nkey: u.public, Sig: base64.RawURLEncoding.EncodeToString(u.sign(t, ""))}, "", "", ""},
		{"other signer", Request{Nkey: u.public, Sig: base64.RawURLEncoding.EncodeToString(other.sign(t, nonce)), Nonce: nonce}, "", "", ""},
		{"unknown nkey", Request{Nkey: other.public, Sig: base64.RawURLEncoding.EncodeToString(other.sign(t, nonce)), Nonce: nonce}, "", "", ""},
		{"unknown nkey with good password", Request{Nkey: other.public, User: "b", Pass: "pw", Nonce: nonce}, "", "", ""},
		{"nkey comes before user", Request{Nkey: u.public, Sig: raw, Nonce: nonce, User: "b", Pass: "wrong"}, "A", u.public, ""},
		{"password", Request{User: "b", Pass: "pw", Nonce: nonce}, "$G", "b", ""},
		{"connection type", Request{Nkey: u.public, Sig: raw, Nonce: nonce, Type: MQTT}, "", "", ""},
	})
}

func TestNoAuthUser(t *testing.T) {
	users := []*options.User{{Username: "a", Password: "pw", Account: "A"}, {Username: "h", Password: hash(t, "pw")}}
	a := mustNew(t, Config{Users: users, NoAuthUser: "a"})
	if !a.Required() || !a.HasNoAuthUser() || !a.Anonymous() {
		t.Error("wrong requirements")
	}
	checkLogins(t, a, []login{
		{"nothing", Request{}, "A", "a", ""},
		{"jwt only", Request{JWT: "x"}, "A", "a", ""},
		{"nkey without nkey users", Request{Nkey: "UX"}, "A", "a", ""},
		{"user only", Request{User: "a"}, "", "", ""},
		{"wrong password", Request{User: "a", Pass: "x"}, "", "", ""},
		{"right password", Request{User: "a", Pass: "pw"}, "A", "a", ""},
		{"password only", Request{Pass: "x"}, "", "", ""},
		{"token", Request{Token: "x"}, "", "", ""},
	})
	checkLogins(t, mustNew(t, Config{Users: users, NoAuthUser: "h"}), []login{
		{"bcrypt", Request{}, "$G", "h", ""},
		{"bcrypt, hash as password", Request{User: "h", Pass: users[1].Password}, "", "", ""},
	})
	web := []*options.User{{Username: "a", ConnectionTypes: []string{"WEBSOCKET"}}}
	checkLogins(t, mustNew(t, Config{Users: web, NoAuthUser: "a"}), []login{
		{"connection type", Request{}, "", "", ""},
		{"connection type allowed", Request{Type: WebSocket}, "$G", "a", ""},
	})
}

func TestNoAuthNkey(t *testing.T) {
	u, other := newKey(t, nkeys.PrefixByteUser), newKey(t, nkeys.PrefixByteUser)
	a := mustNew(t, Config{Users: []*options.User{{Nkey: u.public}, {Nkey: other.public}}, NoAuthUser: u.public})
	checkLogins(t, a, []login{
		{"nothing", Request{Nonce: "n"}, "$G", u.public, ""},
		{"itself without signature", Request{Nkey: u.public, Nonce: "n"}, "$G", u.public, ""},
		{"other without signature", Request{Nkey: other.public, Nonce: "n"}, "", "", ""},
		{"user", Request{User: "a", Nonce: "n"}, "", "", ""},
	})
}

func TestAnonymousBesideSystemUsers(t *testing.T) {
	a := mustNew(t, Config{Users: []*options.User{{Username: "s", Password: "pw", Account: "$SYS"}}, AnonymousGlobal: true})
	if !a.Required() || a.HasNoAuthUser() || !a.Anonymous() {
		t.Error("wrong requirements")
	}
	checkLogins(t, a, []login{
		{"nothing", Request{}, "$G", "", ""},
		{"nkey", Request{Nkey: "UX"}, "$G", "", ""},
		{"system user", Request{User: "s", Pass: "pw"}, "$SYS", "s", ""},
		{"wrong password", Request{User: "s", Pass: "x"}, "", "", ""},
		{"unknown user", Request{User: "x"}, "", "", ""},
		{"token", Request{Token: "x"}, "", "", ""},
	})
}

func TestProxy(t *testing.T) {
	proxy, other := newKey(t, nkeys.PrefixByteServer), newKey(t, nkeys.PrefixByteServer)
	const nonce = "nonce"
	good := base64.RawURLEncoding.EncodeToString(proxy.sign(t, nonce))
	users := []*options.User{{Username: "p", Password: "pw", ProxyRequired: true}, {Username: "a", Password: "pw"}}
	a := mustNew(t, Config{Users: users, TrustedProxies: []string{other.public, proxy.public}})
	if !a.NonceRequired() {
		t.Error("no nonce for proxies to sign")
	}
	checkLogins(t, a, []login{
		{"required and there", Request{User: "p", Pass: "pw", Nonce: nonce, ProxySig: good}, "$G", "p", ""},
		{"required and missing", Request{User: "p", Pass: "pw", Nonce: nonce}, "", "", CloseProxyRequired},
		{"required, but wrong password", Request{User: "p", Pass: "x", Nonce: nonce}, "", "", ""},
		{"not required", Request{User: "a", Pass: "pw", Nonce: nonce}, "$G", "a", ""},
		{"other nonce", Request{User: "a", Pass: "pw", Nonce: "x", ProxySig: good}, "", "", CloseProxyNotTrusted},
		{"standard base64", Request{User: "a", Pass: "pw", Nonce: nonce, ProxySig: base64.StdEncoding.EncodeToString(proxy.sign(t, nonce))}, "", "", CloseProxyNotTrusted},
		{"not base64", Request{User: "a", Pass: "pw", Nonce: nonce, ProxySig: "!"}, "", "", CloseProxyNotTrusted},
		{"no nonce", Request{User: "a", Pass: "pw", ProxySig: base64.RawURLEncoding.EncodeToString(proxy.sign(t, ""))}, "", "", CloseProxyNotTrusted},
	})
	block := options.Authorization{Username: "u", Password: "pw", ProxyRequired: true}
	checkLogins(t, mustNew(t, Config{Authorization: block, TrustedProxies: []string{proxy.public}}), []login{
		{"block, there", Request{User: "u", Pass: "pw", Nonce: nonce, ProxySig: good}, "$G", "u", ""},
		{"block, missing", Request{User: "u", Pass: "pw", Nonce: nonce}, "", "", CloseProxyRequired},
	})
	checkLogins(t, mustNew(t, Config{Authorization: block}), []login{
		{"no trusted proxies", Request{User: "u", Pass: "pw", Nonce: nonce, ProxySig: good}, "", "", CloseProxyRequired},
	})
}

func TestOverride(t *testing.T) {
	u := &options.User{Username: "a", Password: "pw"}
	base := Config{Users: []*options.User{u}, NoAuthUser: "a", AnonymousGlobal: true, RefuseEmptyPasswords: true}
	same := base.Override(nil, "", true)
	if !same.MapCertificates || same.NoAuthUser != "a" || !same.AnonymousGlobal {
		t.Errorf("without own settings: %+v", same)
	}
	if c := base.Override(&options.Authorization{Timeout: 1}, "", false); c.NoAuthUser != "a" {
		t.Errorf("with a timeout only: %+v", c)
	}
	token := Config{NoAuthUser: ""}.Override(&options.Authorization{Token: "t"}, "", false)
	checkLogins(t, mustNew(t, token), []login{
		{"own token", Request{Token: "t"}, "$G", "[REDACTED]", ""},
		{"nothing", Request{}, "", "", ""},
	})
	single := Config{Authorization: options.Authorization{Token: "server"}}.Override(&options.Authorization{Username: "w", Password: "pw"}, "", false)
	checkLogins(t, mustNew(t, single), []login{
		{"own user", Request{User: "w", Pass: "pw"}, "$G", "w", ""},
		{"the server's token", Request{Token: "server"}, "", "", ""},
	})
	two := Config{Users: []*options.User{u, {Username: "b", Account: "B"}}, NoAuthUser: "a"}.Override(nil, "b", false)
	checkLogins(t, mustNew(t, two), []login{{"own no_auth_user", Request{}, "B", "b", ""}})
}

func TestConfigErrors(t *testing.T) {
	u := newKey(t, nkeys.PrefixByteUser)
	account := newKey(t, nkeys.PrefixByteAccount)
	bad := &options.Permissions{Publish: &options.SubjectPermission{Deny: []string{"a..b"}}}
	tests := []struct {
		cfg  Config
		text string
	}{
		{Config{Users: []*options.User{{Username: "a"}, {Username: "a", Account: "B"}}}, `Duplicate user "a" detected`},
		{Config{Authorization: options.Authorization{Users: []*options.User{{Nkey: u.public}}}, Users: []*options.User{{Nkey: u.public}}},
			`Duplicate nkey "` + u.public + `" detected`},
		{Config{Authorization: options.Authorization{Users: []*options.User{{Nkey: "x"}}}}, "Not a valid public nkey for a user"},
		{Config{Users: []*options.User{{Nkey: account.public}}}, "Not a valid public nkey for a user"},
		{Config{Users: []*options.User{{Nkey: "U"}}}, "Not a valid public nkey for a user"},
		{Config{NoAuthUser: "x"}, `no_auth_user: "x" not present as user or nkey in authorization block or account configuration`},
		{Config{Users: []*options.User{{Username: "u", Permissions: bad}}}, `invalid permissions for user "u": subject "a..b" is not a valid subject`},
		{Config{TrustedProxies: []string{"x"}}, `proxies: "x" is not a valid public nkey`},
	}
	for _, tt := range tests {
		if a, err := New(tt.cfg); a != nil || err == nil || err.Error() != tt.text {
			t.Errorf("got  %v\nwant %s", err, tt.text)
		}
	}
}

func TestLogText(t *testing.T) {
	a := mustNew(t, Config{Authorization: options.Authorization{Token: "t"}})
	tests := []struct {
		req  Request
		text string
	}{
		{Request{}, "authentication error"},
		{Request{User: "u\n"}, `authentication error - User "u\n"`},
		{Request{Nkey: "UX", User: "u"}, `authentication error - Nkey "UX"`},
		{Request{Token: "x"}, `authentication error - Token "[REDACTED]"`},
		{Request{User: "u", Token: "x"}, `authentication error - User "u"`},
	}
	for _, tt := range tests {
		_, err := a.Authenticate(&tt.req)
		var f *Failure
		if !errors.As(err, &f) || f.LogText() != tt.text || err.Error() != tt.text+": wrong token" {
			t.Errorf("%+v: %v", tt.req, err)
		}
	}
	if got := (&Failure{User: "u", JWT: true}).LogText(); got != `authentication error - JWT User "u"` {
		t.Error(got)
	}
}

// chooser is a Delegate that takes requests with a JWT and leaves others to the configured users.
type chooser struct{ nonce bool }

func (c chooser) NonceRequired() bool { return c.nonce }

func (c chooser) Authenticate(req *Request, local func() (*Identity, error)) (*Identity, error) {
	if req.JWT == "" {
		return local()
	}
	return &Identity{Account: "J", Name: req.JWT}, nil
}

func TestDelegate(t *testing.T) {
	a := mustNew(t, Config{Delegate: chooser{}})
	if !a.Required() || a.NonceRequired() {
		t.Error("wrong requirements")
	}
	a = mustNew(t, Config{Delegate: chooser{nonce: true}, Users: []*options.User{{Username: "a", Password: "pw"}}})
	if !a.NonceRequired() {
		t.Error("no nonce")
	}
	checkLogins(t, a, []login{
		{"its own", Request{JWT: "j"}, "J", "j", ""},
		{"left alone", Request{User: "a", Pass: "pw"}, "$G", "a", ""},
		{"left alone and wrong", Request{User: "a", Pass: "x"}, "", "", ""},
	})
}

// Many at once, most of them slow: the race detector looks for what they share.
func TestConcurrentLogins(t *testing.T) {
	a := mustNew(t, Config{Users: []*options.User{{Username: "a", Password: hash(t, "pw")}, {Username: "b", Password: "pw"}}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 6 {
				pass, want := "pw", true
				if i%2 == 1 {
					pass, want = "wrong", false
				}
				for _, u := range []string{"a", "b"} {
					if _, err := a.Authenticate(&Request{User: u, Pass: pass}); (err == nil) != want {
						t.Errorf("%s: %v", u, err)
					}
				}
			}
		})
	}
	wg.Wait()
}
