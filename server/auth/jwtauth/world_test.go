package jwtauth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/auth"
	"godwit/server/options"
)

// world is a set of keys as an operator's tool keeps them: an operator, a system account, an account. The JWTs are made
// as they are needed.
type world struct {
	t            testing.TB
	op, sys, acc nkeys.KeyPair
	options      options.Options
	tokens       map[string]string // account JWTs to preload
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, op: newKey(t, nkeys.CreateOperator), sys: newKey(t, nkeys.CreateAccount), acc: newKey(t, nkeys.CreateAccount)}
	w.options = options.Options{
		Operators: []*options.Operator{{Subject: pub(w.op), Name: "OP", SystemAccount: pub(w.sys)}},
		Resolver:  &options.Resolver{Kind: options.ResolverMemory},
	}
	w.tokens = map[string]string{pub(w.sys): w.accountOf(w.sys, w.op, nil), pub(w.acc): w.account(nil)}
	return w
}

func newKey(t testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	k, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func pub(k nkeys.KeyPair) string {
	p, err := k.PublicKey()
	if err != nil {
		panic(err)
	}
	return p
}

// accountOf makes the JWT of an account.
func (w *world) accountOf(acc, signer nkeys.KeyPair, edit func(*jwt.AccountClaims)) string {
	w.t.Helper()
	c := jwt.NewAccountClaims(pub(acc))
	c.Name = "ACC"
	if edit != nil {
		edit(c)
	}
	token, err := c.Encode(signer)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// account makes a JWT of the account, signed by the operator.
func (w *world) account(edit func(*jwt.AccountClaims)) string {
	w.t.Helper()
	return w.accountOf(w.acc, w.op, edit)
}

// login is a user with a key.
type person struct {
	key   nkeys.KeyPair
	token string
}

func (w *world) user(signer nkeys.KeyPair, edit func(*jwt.UserClaims)) person {
	w.t.Helper()
	return w.userOf(newKey(w.t, nkeys.CreateUser), signer, edit)
}

func (w *world) userOf(key, signer nkeys.KeyPair, edit func(*jwt.UserClaims)) person {
	w.t.Helper()
	c := jwt.NewUserClaims(pub(key))
	c.Name = "joe"
	if edit != nil {
		edit(c)
	}
	token, err := c.Encode(signer)
	if err != nil {
		w.t.Fatal(err)
	}
	return person{key, token}
}

// scoped edits the claims of a user of a scoped signing key.
func (w *world) scoped(edit func(*jwt.UserClaims)) func(*jwt.UserClaims) {
	return func(c *jwt.UserClaims) {
		c.SetScoped(true)
		c.IssuerAccount = pub(w.acc)
		if edit != nil {
			edit(c)
		}
	}
}

const testNonce = "nonce-of-15-chr"

// request is a login with the JWT and a good signature.
func (p person) request() *auth.Request {
	r := &auth.Request{JWT: p.token, Nonce: testNonce, Host: "127.0.0.1", Type: auth.Standard}
	if p.key != nil {
		sig, err := p.key.Sign([]byte(testNonce))
		if err != nil {
			panic(err)
		}
		r.Sig = base64.RawURLEncoding.EncodeToString(sig)
	}
	return r
}

// record remembers changes and log lines.
type record struct {
	sync.Mutex
	changes []Change
	lines   []string
}

func (r *record) onChange(c Change) {
	r.Lock()
	defer r.Unlock()
	r.changes = append(r.changes, c)
}

// take returns the changes since it was called last.
func (r *record) take() []Change {
	r.Lock()
	defer r.Unlock()
	c := r.changes
	r.changes = nil
	return c
}

func (r *record) log(level, format string, args ...any) {
	r.Lock()
	defer r.Unlock()
	r.lines = append(r.lines, level+" "+fmt.Sprintf(format, args...))
}

func (r *record) takeLines() []string {
	r.Lock()
	defer r.Unlock()
	l := r.lines
	r.lines = nil
	return l
}

func (r *record) Warnf(format string, args ...any)  { r.log("WRN", format, args...) }
func (r *record) Errorf(format string, args ...any) { r.log("ERR", format, args...) }
func (r *record) Debugf(format string, args ...any) { r.log("DBG", format, args...) }

const testServer = `{"name":"S","id":"N"}`

// config makes the Config of the world's options.
func (w *world) config(peers Peers) (Config, *record) {
	w.t.Helper()
	o := w.options
	o.ResolverPreload = maps.Clone(w.tokens)
	r, err := NewResolver(&o, peers)
	if err != nil {
		w.t.Fatal(err)
	}
	rec := &record{}
	cfg := ConfigOf(&o)
	cfg.Resolver, cfg.OnChange, cfg.Log = r, rec.onChange, rec
	cfg.ServerInfo = func() json.RawMessage { return json.RawMessage(testServer) }
	return cfg, rec
}

// start makes a Manager that ends with the test.
func (w *world) start() (*Manager, *record) {
	w.t.Helper()
	cfg, rec := w.config(nil)
	m, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(m.Close)
	return m, rec
}

// mustLogin logs in.
func mustLogin(t testing.TB, m *Manager, p person) *User {
	t.Helper()
	u, err := m.Login(p.request())
	if err != nil {
		t.Fatalf("login refused: %v", err)
	}
	return u
}

// refusal is the reason of a login that must be refused.
func refusal(t testing.TB, m *Manager, r *auth.Request) string {
	t.Helper()
	_, err := m.Login(r)
	var f *auth.Failure
	if !errors.As(err, &f) {
		t.Fatalf("login not refused: %v", err)
	}
	if !errors.Is(err, auth.ErrAuthorization) {
		t.Fatalf("%v is not what clients are told", err)
	}
	return f.Reason
}

// signedBy makes a JWT of any claims, which the library would not write.
func signedBy(t testing.TB, signer nkeys.KeyPair, claims any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return signedBody(t, signer, `{"typ":"JWT","alg":"ed25519-nkey"}`, body)
}

func signedBody(t testing.TB, signer nkeys.KeyPair, header string, body []byte) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(body)
	signed := text
	if header != `{"typ":"JWT","alg":"ed25519-nkey"}` { // version 1 signs the claims alone
		signed = base64.RawURLEncoding.EncodeToString(body)
	}
	sig, err := signer.Sign([]byte(signed))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}
