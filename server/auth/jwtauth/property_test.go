package jwtauth

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"godwit/server/options"
)

// modelVersion is what the model knows of an account JWT.
type modelVersion struct {
	trusted          bool
	notBefore, ends  int64 // 0 is none
	revoked          map[string]int64
	signing, scope   bool // the keys are listed
	bearersForbidden bool
}

func (v *modelVersion) validAt(now int64) bool {
	return v.trusted && v.notBefore <= now && (v.ends == 0 || now < v.ends)
}

// modelUser is what the model knows of a user JWT.
type modelUser struct {
	token           string
	key             nkeys.KeyPair
	issued          int64
	notBefore, ends int64
	by              string // account, signing, scope or foreign
	bearer, signed  bool
}

// mayUse says whether the version lets the user in, apart from the user's own times.
func (v *modelVersion) mayUse(u *modelUser) bool {
	for _, who := range []string{pub(u.key), "*"} {
		if at, ok := v.revoked[who]; ok && at >= u.issued {
			return false
		}
	}
	if u.bearer && v.bearersForbidden {
		return false
	}
	return u.by == "account" || u.by == "signing" && v.signing || u.by == "scope" && v.scope
}

// history is an account through pushes, deletions and time, with a Manager and the model of it.
type history struct {
	w              *world
	m              *Manager
	foreign        nkeys.KeyPair
	signing, scope nkeys.KeyPair
	people         []nkeys.KeyPair
	users          []*modelUser

	stored, inForce *modelVersion // nil if there is none
	known           bool          // it was in force, and has not been deleted since
	live            []liveUser
}

// liveUser is a user who has logged in, and not been told to leave.
type liveUser struct {
	*User
	model *modelUser
}

// now is the time in seconds. Nothing happens between full seconds.
func now() int64 { return time.Now().Unix() }

func (h *history) tick() {
	if h.inForce != nil && h.inForce.ends != 0 && now() >= h.inForce.ends {
		h.inForce = nil
	}
}

func (h *history) push(t *rapid.T) {
	v := &modelVersion{revoked: map[string]int64{}}
	signer := h.w.op
	switch rapid.SampledFrom([]string{"operator", "operator", "operator", "foreign", "itself"}).Draw(t, "signer") {
	case "operator":
		v.trusted = true
	case "foreign":
		signer = h.foreign
	case "itself":
		signer = h.w.acc
	}
	around := rapid.Int64Range(-20, 40)
	token := h.w.accountOf(h.w.acc, signer, func(c *jwt.AccountClaims) {
		if rapid.Bool().Draw(t, "expires") {
			v.ends = now() + around.Draw(t, "exp")
		}
		if rapid.IntRange(0, 4).Draw(t, "later") == 0 {
			v.notBefore = now() + around.Draw(t, "nbf")
		}
		c.Expires, c.NotBefore = v.ends, v.notBefore
		for _, who := range append([]string{"*"}, pub(h.people[0]), pub(h.people[1])) {
			if rapid.IntRange(0, 3).Draw(t, "revoke") == 0 {
				v.revoked[who] = now() + rapid.Int64Range(-60, 5).Draw(t, "at")
			}
		}
		c.Revocations = v.revoked
		if v.signing = rapid.Bool().Draw(t, "signing"); v.signing {
			c.SigningKeys.Add(pub(h.signing))
		}
		if v.scope = rapid.Bool().Draw(t, "scope"); v.scope {
			s := jwt.NewUserScope()
			s.Key = pub(h.scope)
			c.SigningKeys.AddScopedSigner(s)
		}
		v.bearersForbidden = rapid.IntRange(0, 3).Draw(t, "no bearers") == 0
		c.Limits.DisallowBearer = v.bearersForbidden
	})
	_, err := h.m.Update(token)
	if (err == nil) != v.trusted {
		t.Fatalf("push by a trusted key %v: %v", v.trusted, err)
	}
	if err != nil {
		return
	}
	h.stored = v
	if h.known && v.validAt(now()) {
		h.inForce = v
	}
}

func (h *history) remove(t *rapid.T) {
	if _, err := h.m.Delete([]string{pub(h.w.acc)}); err != nil {
		t.Fatal(err)
	}
	h.stored, h.inForce, h.known = nil, nil, false
}

func (h *history) mint(t *rapid.T) {
	u := &modelUser{key: rapid.SampledFrom(h.people).Draw(t, "key"), issued: now(), by: rapid.SampledFrom([]string{"account", "signing", "scope", "foreign"}).Draw(t, "by"), signed: rapid.IntRange(0, 5).Draw(t, "signs") > 0}
	signer := map[string]nkeys.KeyPair{"account": h.w.acc, "signing": h.signing, "scope": h.scope, "foreign": h.foreignAccount(t)}[u.by]
	if rapid.Bool().Draw(t, "expires") {
		u.ends = now() + rapid.Int64Range(-5, 30).Draw(t, "exp")
	}
	if rapid.IntRange(0, 4).Draw(t, "later") == 0 {
		u.notBefore = now() + rapid.Int64Range(-5, 30).Draw(t, "nbf")
	}
	u.bearer = u.by != "scope" && rapid.IntRange(0, 3).Draw(t, "bearer") == 0
	p := h.w.userOf(u.key, signer, func(c *jwt.UserClaims) {
		if u.by == "scope" {
			c.SetScoped(true)
		}
		c.IssuerAccount, c.Expires, c.NotBefore, c.BearerToken = pub(h.w.acc), u.ends, u.notBefore, u.bearer
	})
	u.token = p.token
	h.users = append(h.users, u)
}

func (h *history) foreignAccount(t *rapid.T) nkeys.KeyPair {
	k, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (h *history) login(t *rapid.T) {
	if len(h.users) == 0 {
		t.Skip("nobody")
	}
	u := rapid.SampledFrom(h.users).Draw(t, "user")
	p := person{u.key, u.token}
	if !u.signed {
		p.key = h.people[(indexOf(h.people, u.key)+1)%len(h.people)]
	}
	valid := u.notBefore <= now() && (u.ends == 0 || now() < u.ends)
	if valid && h.inForce == nil && h.stored != nil && h.stored.validAt(now()) {
		h.inForce, h.known = h.stored, true // looked up
	}
	want := valid && (u.signed || u.bearer) && h.inForce != nil && h.inForce.mayUse(u)
	got, err := h.m.Login(p.request())
	if (err == nil) != want {
		t.Fatalf("login %+v\ninto %+v: %v, want %v", u, h.inForce, err, want)
	}
	if err == nil {
		h.live = append(h.live, liveUser{got, u})
	}
}

func indexOf(list []nkeys.KeyPair, k nkeys.KeyPair) int {
	for i, o := range list {
		if o == k {
			return i
		}
	}
	return -1
}

// check asks about everybody who is logged in. A user whose key's scope came or went may be sent away although it is
// the same again, so only who may stay is told by the model, not who must.
func (h *history) check(t *rapid.T) {
	h.tick()
	stay := h.live[:0]
	for _, u := range h.live {
		_, e := h.m.Recheck(u.User)
		may := h.inForce != nil && h.inForce.mayUse(u.model)
		if e == nil && !may {
			t.Fatalf("user %+v stays in %+v", u.model, h.inForce)
		}
		if e != nil && may {
			t.Fatalf("user %+v is sent away from %+v: %+v", u.model, h.inForce, e)
		}
		if e == nil {
			stay = append(stay, u)
		}
	}
	h.live = stay
}

// No JWT that is revoked, expired, not valid yet, or not signed by those who may, is ever accepted, and nobody stays
// whose JWT has become one of these; all others are accepted, and stay.
func TestNobodyGetsInWhoMustNot(t *testing.T) {
	w := newWorld(t)
	foreign, signing, scope := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	people := []nkeys.KeyPair{newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser)}
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w.options.Resolver = &options.Resolver{Kind: options.ResolverFull, Dir: fmt.Sprintf("%s/%d", base, n), AllowDelete: true}
		w.tokens = map[string]string{}
		inBubble(t, func() {
			cfg, _ := w.config(nil)
			m, err := New(cfg)
			if err != nil {
				rt.Fatal(err)
			}
			defer m.Close()
			m.directory().unsynced = true
			h := &history{w: w, m: m, foreign: foreign, signing: signing, scope: scope, people: people}
			rt.Repeat(map[string]func(*rapid.T){
				"push":   h.push,
				"mint":   h.mint,
				"mint 2": h.mint,
				"login":  h.login,
				"log in": h.login,
				"remove": func(t *rapid.T) {
					if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
						h.remove(t)
					}
				},
				"wait": func(t *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second)
					synctest.Wait()
					h.tick()
				},
				"": h.check,
			})
		})
	})
}

// inBubble runs f, which may panic as package rapid does, with fake time.
func inBubble(t *testing.T, f func()) {
	var panicked any
	synctest.Test(t, func(*testing.T) {
		defer func() { panicked = recover() }()
		f()
	})
	switch {
	case panicked == nil:
	case fmt.Sprintf("%T", panicked) == "rapid.invalidData":
		panic(panicked) // on a line of its own: failures are told apart by where they come from
	default:
		panic(panicked)
	}
}

// A JWT of which a byte was changed is worth nothing.
func TestChangedTokens(t *testing.T) {
	w := newWorld(t)
	m, _ := w.start()
	p := w.user(w.acc, nil)
	mustLogin(t, m, p)
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(p.token)
		i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		b[i] = rapid.SampledFrom([]byte("abcXYZ019-_.=\n")).Draw(t, "byte")
		if string(b) == p.token {
			t.Skip("not changed")
		}
		changed := person{p.key, string(b)}
		if u, err := m.Login(changed.request()); err == nil {
			// The last character of a signature has bits that mean nothing, and line ends are nothing in base64.
			if !sameSignature(p.token, string(b)) || u.Key != pub(p.key) {
				t.Fatalf("%q is accepted", b)
			}
		}
	})
}

// sameSignature reports whether two JWTs differ at most in how their signatures are written.
func sameSignature(a, b string) bool {
	ca, err := decodeGeneric(a)
	if err != nil {
		return false
	}
	cb, err := decodeGeneric(b)
	return err == nil && ca.ID == cb.ID && a[:len(a)-86] == b[:len(a)-86]
}
