package jwtauth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// full makes the world keep its accounts in a directory.
func (w *world) full() string {
	dir := filepath.Join(w.t.TempDir(), "jwt")
	w.options.Resolver = &options.Resolver{Kind: options.ResolverFull, Dir: dir, AllowDelete: true}
	return dir
}

// crowd is a set of users of every kind in one account, logged in.
type crowd struct {
	w                *world
	m                *Manager
	rec              *record
	signing, scope   nkeys.KeyPair
	plain, bySigning *User
	scoped, bearer   *User
}

func newCrowd(t *testing.T) *crowd {
	w := newWorld(t)
	w.full()
	c := &crowd{w: w, signing: newKey(t, nkeys.CreateAccount), scope: newKey(t, nkeys.CreateAccount)}
	w.tokens[pub(w.acc)] = w.account(c.base)
	c.m, c.rec = w.start()
	c.plain = mustLogin(t, c.m, w.user(w.acc, nil))
	c.bySigning = mustLogin(t, c.m, w.user(c.signing, func(u *jwt.UserClaims) { u.IssuerAccount = pub(w.acc) }))
	c.scoped = mustLogin(t, c.m, w.user(c.scope, w.scoped(nil)))
	c.bearer = mustLogin(t, c.m, person{nil, w.user(w.acc, func(u *jwt.UserClaims) { u.BearerToken = true }).token})
	c.rec.take()
	return c
}

func (c *crowd) base(a *jwt.AccountClaims) {
	a.SigningKeys.Add(pub(c.signing))
	a.SigningKeys.AddScopedSigner(c.scopeFor("foo", "role"))
	a.DefaultPermissions.Pub.Deny.Add("no")
}

func (c *crowd) scopeFor(subject, role string) *jwt.UserScope {
	s := jwt.NewUserScope()
	s.Key, s.Role = pub(c.scope), role
	s.Template.Sub.Allow.Add(subject)
	return s
}

// push updates the account with the base edited.
func (c *crowd) push(t *testing.T, edit func(*jwt.AccountClaims)) {
	t.Helper()
	token := c.w.account(func(a *jwt.AccountClaims) {
		c.base(a)
		edit(a)
	})
	if out, err := c.m.Update(token); err != nil || out != Updated {
		t.Fatalf("update: %v, %v", out, err)
	}
}

const stays = "stays"

// fate is what a change means for a user.
func fate(c Change, u *User) string {
	_, e := c.Recheck(u)
	if e == nil {
		return stays
	}
	return e.Text + "|" + e.Reason
}

// A live connection sees each effect of an update at once.
func TestUpdateOfLiveUsers(t *testing.T) {
	const (
		revoked = "User Authentication Revoked|Credentials Revoked"
		silent  = "|Authentication Failure"
	)
	tests := []struct {
		name                         string
		edit                         func(*crowd, *jwt.AccountClaims)
		plain, signed, scoped, other string
	}{
		{"nothing of importance", func(c *crowd, a *jwt.AccountClaims) { a.Description = "x" }, stays, stays, stays, stays},
		{"limits", func(c *crowd, a *jwt.AccountClaims) { a.Limits.Conn = 1 }, stays, stays, stays, stays},
		{"one user revoked", func(c *crowd, a *jwt.AccountClaims) { a.Revoke(c.plain.Key) }, revoked, stays, stays, stays},
		{"all revoked", func(c *crowd, a *jwt.AccountClaims) { a.Revoke("*") }, revoked, revoked, revoked, revoked},
		{"all revoked before they were issued", func(c *crowd, a *jwt.AccountClaims) { a.RevokeAt("*", time.Now().Add(-time.Hour)) }, stays, stays, stays, stays},
		{"signing key removed", func(c *crowd, a *jwt.AccountClaims) { a.SigningKeys.Remove(pub(c.signing)) }, stays, silent, stays, stays},
		{"scoped key removed", func(c *crowd, a *jwt.AccountClaims) { a.SigningKeys.Remove(pub(c.scope)) }, stays, stays, silent, stays},
		{"scope changed", func(c *crowd, a *jwt.AccountClaims) { a.SigningKeys.AddScopedSigner(c.scopeFor("bar", "role")) }, stays, stays, silent, stays},
		{"role changed", func(c *crowd, a *jwt.AccountClaims) { a.SigningKeys.AddScopedSigner(c.scopeFor("foo", "x")) }, stays, stays, silent, stays},
		{"scope lifted", func(c *crowd, a *jwt.AccountClaims) { a.SigningKeys.Add(pub(c.scope)) }, stays, stays, silent, stays},
		{"key gets a scope", func(c *crowd, a *jwt.AccountClaims) {
			s := c.scopeFor("foo", "role")
			s.Key = pub(c.signing)
			a.SigningKeys.AddScopedSigner(s)
		}, stays, silent, stays, stays},
		{"bearers forbidden", func(c *crowd, a *jwt.AccountClaims) { a.Limits.DisallowBearer = true }, stays, stays, stays, "Authorization Violation|Authentication Failure"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCrowd(t)
			c.push(t, func(a *jwt.AccountClaims) { tt.edit(c, a) })
			changes := c.rec.take()
			if len(changes) != 1 || changes[0].Ended || changes[0].Before == nil || changes[0].Account != c.m.Loaded(pub(c.w.acc)) {
				t.Fatalf("changes %+v", changes)
			}
			for _, u := range []struct {
				name string
				*User
				want string
			}{{"plain", c.plain, tt.plain}, {"signed", c.bySigning, tt.signed}, {"scoped", c.scoped, tt.scoped}, {"bearer", c.bearer, tt.other}} {
				if got := fate(changes[0], u.User); got != u.want {
					t.Errorf("%s: %q, want %q", u.name, got, u.want)
				}
				if _, e := c.m.Recheck(u.User); (e == nil) != (u.want == stays) {
					t.Errorf("%s: the manager says %v", u.name, e)
				}
			}
		})
	}
}

func TestDefaultPermissionsChangeForLiveUsers(t *testing.T) {
	c := newCrowd(t)
	c.push(t, func(a *jwt.AccountClaims) {
		a.DefaultPermissions = jwt.Permissions{}
		a.DefaultPermissions.Pub.Deny.Add("x")
	})
	change := c.rec.take()[0]
	p, e := change.Recheck(c.plain)
	if e != nil || p.CanPublish([]byte("x")) || !p.CanPublish([]byte("no")) {
		t.Errorf("user without permissions: %v", e)
	}
	p, e = change.Recheck(c.scoped)
	if e != nil || p != c.scoped.Permissions {
		t.Errorf("user with permissions: %v", e)
	}
	c.push(t, func(a *jwt.AccountClaims) { a.DefaultPermissions = jwt.Permissions{} })
	change = c.rec.take()[0]
	if p, e := change.Recheck(c.plain); e != nil || p != nil {
		t.Errorf("no default permissions: %v, %v", p, e)
	}
}

func TestUpdateGivesTheServerTheNewSettings(t *testing.T) {
	c := newCrowd(t)
	c.push(t, func(a *jwt.AccountClaims) {
		a.Limits.Conn, a.Limits.Subs, a.Limits.Payload, a.Limits.LeafNodeConn = 1, 2, 3, 4
	})
	a := c.rec.take()[0].Account
	if a.Settings.Limits != (options.AccountLimits{MaxConn: 1, MaxSubs: 2, MaxPayload: 3, MaxLeafs: 4}) {
		t.Errorf("limits %+v", a.Settings.Limits)
	}
}

// A user who logged in while the account changed is found by looking again.
func TestRecheckAfterLoginSeesWhatChangedMeanwhile(t *testing.T) {
	c := newCrowd(t)
	if p, e := c.m.Recheck(c.plain); e != nil || p != c.plain.Permissions {
		t.Fatalf("nothing has changed: %v, %v", p, e)
	}
	c.push(t, func(a *jwt.AccountClaims) { a.Revoke(c.plain.Key) })
	if _, e := c.m.Recheck(c.plain); e == nil || e.Reason != "Credentials Revoked" {
		t.Errorf("got %v", e)
	}
	if _, err := c.m.Delete([]string{pub(c.w.acc)}); err != nil {
		t.Fatal(err)
	}
	if _, e := c.m.Recheck(c.scoped); e == nil || e.Text != "Account Authentication Expired" {
		t.Errorf("got %v", e)
	}
}

func TestAccountExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) { c.Expires = time.Now().Add(time.Minute).Unix() })
		m, rec := w.start()
		p := w.user(w.acc, nil)
		u := mustLogin(t, m, p)
		rec.take()
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if c := rec.take(); len(c) != 0 {
			t.Fatalf("too early: %+v", c)
		}
		mustLogin(t, m, p)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		c := rec.take()
		if len(c) != 1 || !c[0].Ended {
			t.Fatalf("changes %+v", c)
		}
		if got := fate(c[0], u); got != "Account Authentication Expired|Authentication Expired" {
			t.Errorf("got %q", got)
		}
		if got := refusal(t, m, p.request()); !strings.Contains(got, "not valid at this time") {
			t.Errorf("reason %q", got)
		}
		m.Close()
	})
}

func TestExpiredAccountComesBackWithANewJWT(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.full()
		short := func(c *jwt.AccountClaims) { c.Expires = time.Now().Add(time.Minute).Unix() }
		w.tokens[pub(w.acc)] = w.account(short)
		m, rec := w.start()
		p := w.user(w.acc, nil)
		mustLogin(t, m, p)
		// Renewed in time, it does not end.
		time.Sleep(30 * time.Second)
		if _, err := m.Update(w.account(short)); err != nil {
			t.Fatal(err)
		}
		rec.take()
		time.Sleep(45 * time.Second)
		synctest.Wait()
		if c := rec.take(); len(c) != 0 {
			t.Fatalf("the time of the JWT before holds: %+v", c)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if c := rec.take(); len(c) != 1 || !c[0].Ended {
			t.Fatalf("changes %+v", c)
		}
		if out, err := m.Update(w.account(nil)); out != Updated || err != nil {
			t.Fatal(out, err)
		}
		mustLogin(t, m, p)
		if c := rec.take(); len(c) != 1 || c[0].Ended {
			t.Fatalf("changes %+v", c)
		}
		m.Close()
	})
}

// What is pushed without being valid now is kept for later, and what is in force stays.
func TestPushOfWhatIsNotValidNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.full()
		m, rec := w.start()
		p := w.user(w.acc, nil)
		mustLogin(t, m, p)
		before := m.Loaded(pub(w.acc))
		rec.take()
		for name, edit := range map[string]func(*jwt.AccountClaims){
			"expired":       func(c *jwt.AccountClaims) { c.Expires = time.Now().Unix() - 5 },
			"not yet valid": func(c *jwt.AccountClaims) { c.NotBefore = time.Now().Unix() + 50 },
		} {
			token := w.account(edit)
			if out, err := m.Update(token); out != Updated || err != nil {
				t.Fatalf("%s: %v, %v", name, out, err)
			}
			if got, err := m.directory().Load(pub(w.acc)); got != token || err != nil {
				t.Errorf("%s: not stored", name)
			}
			if c := rec.take(); len(c) != 0 || m.Loaded(pub(w.acc)) != before {
				t.Errorf("%s: changes %+v", name, c)
			}
		}
		m.Close()
	})
}

func TestUpdateRefusals(t *testing.T) {
	w := newWorld(t)
	w.full()
	m, rec := w.start()
	mustLogin(t, m, w.user(w.acc, nil))
	rec.take()
	before := m.Loaded(pub(w.acc))
	foreign := newKey(t, nkeys.CreateOperator)
	tests := []struct {
		name, token string
		is          error
		text        string
	}{
		{"nothing", "", nil, "expected 3 chunks"},
		{"a user's", w.user(w.acc, nil).token, errNotAccount, ""},
		{"by a foreign operator", w.accountOf(w.acc, foreign, nil), ErrInvalidAccount, ""},
		{"by itself", w.accountOf(w.acc, w.acc, nil), ErrInvalidAccount, ""},
		{"malformed export", w.account(func(c *jwt.AccountClaims) { c.Exports.Add(&jwt.Export{Subject: "a..b", Type: jwt.Stream}) }), ErrInvalidAccount, ""},
		{"malformed default permissions", w.account(func(c *jwt.AccountClaims) { c.DefaultPermissions.Pub.Allow.Add("a b") }), ErrInvalidAccount, ""},
	}
	for _, tt := range tests {
		_, err := m.Update(tt.token)
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || tt.text != "" && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if m.Loaded(pub(w.acc)) != before || len(rec.take()) != 0 {
		t.Error("something has changed")
	}
	if got, _ := m.directory().Load(pub(w.acc)); got != before.JWT {
		t.Error("something was stored")
	}
}

func TestStrictOperatorsPushes(t *testing.T) {
	w := newWorld(t)
	signing := newKey(t, nkeys.CreateOperator)
	w.options.Operators[0].StrictSigning, w.options.Operators[0].SigningKeys = true, []string{pub(signing)}
	w.tokens = map[string]string{pub(w.sys): w.accountOf(w.sys, signing, nil)}
	w.full()
	m, _ := w.start()
	if _, err := m.Update(w.account(nil)); !errors.Is(err, ErrSigningKey) {
		t.Errorf("by the operator itself: %v", err)
	}
	if _, err := m.Update(w.accountOf(w.acc, signing, nil)); err != nil {
		t.Errorf("by its signing key: %v", err)
	}
}

func TestDelete(t *testing.T) {
	for _, hard := range []bool{false, true} {
		c := newCrowdWith(t, hard)
		dir := c.w.options.Resolver.Dir
		unknown := pub(newKey(t, nkeys.CreateAccount))
		if n, err := c.m.Delete([]string{pub(c.w.acc), unknown}); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		ch := c.rec.take()
		if len(ch) != 1 || !ch[0].Ended || ch[0].Account.Key != pub(c.w.acc) {
			t.Fatalf("changes %+v", ch)
		}
		if got := fate(ch[0], c.plain); got != "Account Authentication Expired|Authentication Expired" {
			t.Errorf("got %q", got)
		}
		if _, err := os.Stat(filepath.Join(dir, pub(c.w.acc)+".jwt")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is there: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, pub(c.w.acc)+".jwt.deleted")); (err == nil) == hard {
			t.Errorf("hard %v, renamed: %v", hard, err)
		}
		if got := refusal(t, c.m, c.w.user(c.w.acc, nil).request()); !strings.Contains(got, "account missing") {
			t.Errorf("reason %q", got)
		}
		c.push(t, func(*jwt.AccountClaims) {})
		mustLogin(t, c.m, c.w.user(c.w.acc, nil))
	}
}

func newCrowdWith(t *testing.T, hard bool) *crowd {
	c := newCrowd(t)
	if hard {
		c.m.directory().delete = deleteRemove
	}
	return c
}

func TestDeleteRefusals(t *testing.T) {
	c := newCrowd(t)
	for _, tt := range []struct {
		list []string
		want error
	}{
		{[]string{pub(c.w.acc), pub(c.w.sys)}, errDeleteSystem},
		{[]string{pub(c.w.acc), "../x"}, errMalformed},
	} {
		if _, err := c.m.Delete(tt.list); !errors.Is(err, tt.want) {
			t.Errorf("%v: %v", tt.list, err)
		}
	}
	if len(c.rec.take()) != 0 || !c.m.directory().Has(pub(c.w.acc)) {
		t.Error("a part was deleted")
	}
	c.m.directory().delete = deleteNothing
	if _, err := c.m.Delete([]string{pub(c.w.acc)}); !errors.Is(err, errDeleteOff) {
		t.Errorf("%v", err)
	}
}

func TestMemoryAndURLSkipWhatIsNotLoaded(t *testing.T) {
	w := newWorld(t)
	m, rec := w.start()
	rec.take()
	token := w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 7 })
	if out, err := m.Update(token); out != Skipped || err != nil {
		t.Errorf("not loaded: %v, %v", out, err)
	}
	mustLogin(t, m, w.user(w.acc, nil))
	rec.take()
	if out, err := m.Update(token); out != Updated || err != nil {
		t.Errorf("loaded: %v, %v", out, err)
	}
	if c := rec.take(); len(c) != 1 || c[0].Account.Settings.Limits.MaxConn != 7 {
		t.Errorf("changes %+v", c)
	}
	// An older one may come back: that is how an operator takes an update back.
	if out, err := m.Update(w.tokens[pub(w.acc)]); out != Updated || err != nil || m.Loaded(pub(w.acc)).JWT != w.tokens[pub(w.acc)] {
		t.Errorf("older: %v, %v", out, err)
	}
	// Without a directory there is nothing that could be stored for later.
	if _, err := m.Update(w.account(func(c *jwt.AccountClaims) { c.Expires = time.Now().Unix() - 5 })); !errors.Is(err, ErrInvalidAccount) {
		t.Errorf("expired: %v", err)
	}
}

func TestReload(t *testing.T) {
	w := newWorld(t)
	other := newKey(t, nkeys.CreateAccount)
	w.tokens[pub(other)] = w.accountOf(other, w.op, nil)
	m, rec := w.start()
	p := w.user(w.acc, nil)
	u := mustLogin(t, m, p)
	mustLogin(t, m, w.user(other, nil))
	rec.take()

	w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 3; c.Revoke(u.Key) })
	delete(w.tokens, pub(other))
	w.options.DefaultSentinel = w.user(w.acc, func(c *jwt.UserClaims) { c.BearerToken = true }).token
	cfg, _ := w.config(nil)
	if err := m.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	seen := map[string]Change{}
	for _, c := range rec.take() {
		seen[c.Account.Key] = c
	}
	if c := seen[pub(w.acc)]; len(seen) != 2 || c.Ended || c.Account.Settings.Limits.MaxConn != 3 {
		t.Errorf("changes %+v", seen)
	}
	if c := seen[pub(other)]; !c.Ended {
		t.Errorf("the account that is gone: %+v", c)
	}
	if got := refusal(t, m, p.request()); !strings.Contains(got, "revoked") {
		t.Errorf("reason %q", got)
	}
	if _, err := m.Login((person{}).request()); err != nil {
		t.Errorf("sentinel: %v", err)
	}
	// Nothing new: nothing changes, and the resolver may be kept.
	cfg.Resolver = nil
	if err := m.Reload(cfg); err != nil || len(rec.take()) != 0 {
		t.Errorf("reload without changes: %v", err)
	}
	cfg.TrustedProxies = []string{"x"}
	if err := m.Reload(cfg); err == nil {
		t.Error("a proxy key that is none")
	}
}

// An account of the configuration that has expired can be renewed by a push; one that was taken out of it cannot be
// brought back by one.
func TestPushOfWhatIsNotInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) { c.Expires = time.Now().Add(time.Minute).Unix() })
		m, rec := w.start()
		p := w.user(w.acc, nil)
		mustLogin(t, m, p)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		rec.take()
		renewed := w.account(func(c *jwt.AccountClaims) { c.Expires = time.Now().Add(time.Hour).Unix() })
		if out, err := m.Update(renewed); out != Updated || err != nil {
			t.Fatal(out, err)
		}
		if c := rec.take(); len(c) != 1 || c[0].Ended || c[0].Account.JWT != renewed {
			t.Errorf("changes %+v", c)
		}
		mustLogin(t, m, p)

		delete(w.tokens, pub(w.acc))
		cfg, _ := w.config(nil)
		if err := m.Reload(cfg); err != nil {
			t.Fatal(err)
		}
		if c := rec.take(); len(c) != 1 || !c[0].Ended {
			t.Errorf("changes %+v", c)
		}
		if out, err := m.Update(renewed); out != Skipped || err != nil || m.Loaded(pub(w.acc)) != nil {
			t.Error(out, err)
		}
		m.Close()
	})
}
