package jwtauth

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"godwit/server/options"
)

func openTest(t testing.TB, r options.Resolver) *Directory {
	t.Helper()
	d, err := openDirectory(&r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func accountKeys(t testing.TB, n int) []string {
	var keys []string
	for range n {
		keys = append(keys, pub(newKey(t, nkeys.CreateAccount)))
	}
	return keys
}

func TestDirectoryKeepsWhatItHas(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := options.Resolver{Kind: options.ResolverFull, Dir: dir}
	d := openTest(t, r)
	if got := d.Accounts(); len(got) != 0 || d.Hash() != (digest{}) {
		t.Fatalf("new directory has %v", got)
	}
	first := w.account(nil)
	if err := d.Save(pub(w.acc), first); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(pub(w.sys), w.tokens[pub(w.sys)]); err != nil {
		t.Fatal(err)
	}
	second := w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 1 })
	if err := d.Save(pub(w.acc), second+"\n"); err != nil {
		t.Fatal(err)
	}
	want := digest(sha256.Sum256([]byte(second)))
	want.toggle(sha256.Sum256([]byte(w.tokens[pub(w.sys)])))
	for _, d := range []*Directory{d, openTest(t, r)} {
		if got, err := d.Load(pub(w.acc)); got != second || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		keys := []string{pub(w.acc), pub(w.sys)}
		slices.Sort(keys)
		if got := d.Accounts(); !slices.Equal(got, keys) || d.Hash() != want {
			t.Errorf("accounts %v, hash %x", got, d.Hash())
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 2 {
		t.Errorf("files %v", names)
	}
}

func TestDirectoryRefusesNamesThatAreNoAccounts(t *testing.T) {
	root := t.TempDir()
	d := openTest(t, options.Resolver{Kind: options.ResolverFull, Dir: filepath.Join(root, "jwt"), AllowDelete: true})
	if err := os.WriteFile(filepath.Join(root, "secret.jwt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../secret", "", ".", "a/b", pub(newKey(t, nkeys.CreateUser)), strings.ToLower(accountKeys(t, 1)[0])} {
		if err := d.Save(name, "x.y.z"); err == nil {
			t.Errorf("%q was stored", name)
		}
		if got, err := d.Load(name); !errors.Is(err, ErrNoAccount) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if err := d.Delete(name); err == nil {
			t.Errorf("%q was deleted", name)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "secret.jwt")); err != nil {
		t.Error(err)
	}
}

func TestDirectoryReadsOnlyJWTs(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	key := pub(w.acc)
	for name, text := range map[string]string{
		key + ".jwt":                        w.account(nil) + "\n",
		key + ".jwt.deleted":                "x",
		pub(w.sys) + ".jwt" + partialSuffix: "half a",
		"x.jwt":                             "x",
		"readme":                            "x",
		accountKeys(t, 1)[0] + ".jwt":       "",
		pub(newKey(t, nkeys.CreateUser)) + ".jwt": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := openTest(t, options.Resolver{Kind: options.ResolverFull, Dir: dir})
	if got := d.Accounts(); !slices.Equal(got, []string{key}) {
		t.Errorf("accounts %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, pub(w.sys)+".jwt"+partialSuffix)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was not finished is there: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDirectory(&options.Resolver{Dir: file}); err == nil {
		t.Error("a file is no directory")
	}
}

// An operator may put a file there by hand.
func TestDirectoryFindsFilesOfOthers(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	d := openTest(t, options.Resolver{Kind: options.ResolverFull, Dir: dir})
	for _, token := range []string{w.account(nil), w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 5 })} {
		if err := os.WriteFile(filepath.Join(dir, pub(w.acc)+".jwt"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Load(pub(w.acc)); got != token || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		if want := sha256.Sum256([]byte(token)); d.Hash() != want || !d.Has(pub(w.acc)) {
			t.Error("hash or list is not that of the file")
		}
	}
}

func TestDirectoryLimit(t *testing.T) {
	keys := accountKeys(t, 4)
	full := openTest(t, options.Resolver{Kind: options.ResolverFull, Dir: t.TempDir(), Limit: 2})
	for i, k := range keys[:3] {
		if err := full.Save(k, "x.y.z"); (i < 2) != (err == nil) || i == 2 && !errors.Is(err, ErrStoreFull) {
			t.Errorf("JWT %d: %v", i, err)
		}
	}
	if err := full.Save(keys[0], "a.b.c"); err != nil {
		t.Errorf("another JWT of an account: %v", err)
	}

	r := options.Resolver{Kind: options.ResolverCache, Dir: t.TempDir(), Limit: 2}
	cache := openTest(t, r)
	for _, k := range keys[:2] {
		if err := cache.Save(k, "x.y.z"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cache.Load(keys[0]); err != nil { // now the other is the one that was used longest ago
		t.Fatal(err)
	}
	if err := cache.Save(keys[2], "x.y.z"); err != nil {
		t.Fatal(err)
	}
	if cache.Has(keys[1]) || !cache.Has(keys[0]) || !cache.Has(keys[2]) {
		t.Errorf("accounts %v", cache.Accounts())
	}
	if _, err := cache.Load(keys[1]); !errors.Is(err, ErrNoAccount) {
		t.Errorf("evicted: %v", err)
	}
	r.Limit = 1
	if got := openTest(t, r).Accounts(); len(got) != 1 {
		t.Errorf("with a lower limit: %v", got)
	}
	if d := openTest(t, options.Resolver{Kind: options.ResolverCache, Dir: t.TempDir()}); d.limit != CacheLimit {
		t.Errorf("default limit %d", d.limit)
	}
}

func TestCacheTTL(t *testing.T) {
	key := accountKeys(t, 1)[0]
	dir := t.TempDir()
	d := openTest(t, options.Resolver{Kind: options.ResolverCache, Dir: dir, TTL: time.Hour})
	if err := d.Save(key, "x.y.z"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(key); err != nil {
		t.Fatal(err)
	}
	// The age of a file survives a restart.
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, key+".jwt"), old, old); err != nil {
		t.Fatal(err)
	}
	d = openTest(t, options.Resolver{Kind: options.ResolverCache, Dir: dir, TTL: time.Hour})
	if _, err := d.Load(key); !errors.Is(err, ErrNoAccount) || d.Has(key) || d.Hash() != (digest{}) {
		t.Errorf("too old: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, key+".jwt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func TestSaveNewer(t *testing.T) {
	w := newWorld(t)
	d := openTest(t, options.Resolver{Kind: options.ResolverFull, Dir: t.TempDir()})
	at := func(iat int64) string {
		// The library sets the time itself, so the claims are encoded and signed here.
		return signedBy(t, w.op, map[string]any{"iat": iat, "iss": pub(w.op), "sub": pub(w.acc), "nats": map[string]any{"type": "account", "version": 2}})
	}
	for _, step := range []struct {
		iat   int64
		saved bool
		now   int64
	}{{100, true, 100}, {100, false, 100}, {50, false, 100}, {200, true, 200}, {199, false, 200}} {
		saved, err := d.SaveNewer(pub(w.acc), at(step.iat))
		got, _ := d.Load(pub(w.acc))
		if err != nil || saved != step.saved || issuedAt(got) != step.now {
			t.Errorf("issued at %d: %v, %v; now %d", step.iat, saved, err, issuedAt(got))
		}
	}
	if err := d.Save(pub(w.acc), "garbage"); err != nil {
		t.Fatal(err)
	}
	if saved, err := d.SaveNewer(pub(w.acc), at(1)); !saved || err != nil {
		t.Errorf("what cannot be read is newer: %v, %v", saved, err)
	}
}

func TestDirectoryConcurrently(t *testing.T) {
	keys := accountKeys(t, 5)
	d := openTest(t, options.Resolver{Kind: options.ResolverCache, Dir: t.TempDir(), Limit: 3, TTL: time.Hour})
	var g sync.WaitGroup
	for i := range 4 {
		g.Go(func() {
			for j := range 20 {
				k := keys[(i+j)%len(keys)]
				if err := d.Save(k, strings.Repeat("x", j+1)); err != nil {
					t.Error(err)
				}
				d.Load(keys[j%len(keys)])
				d.Delete(keys[(i*j)%len(keys)])
				d.Accounts()
			}
		})
	}
	g.Wait()
	checkSum(t, d)
}

// checkSum compares the hash with that of the files.
func checkSum(t interface{ Fatalf(string, ...any) }, d *Directory) {
	var want digest
	for _, k := range d.Accounts() {
		token, err := d.Load(k)
		if err != nil {
			t.Fatalf("%s is listed: %v", k, err)
		}
		want.toggle(sha256.Sum256([]byte(token)))
	}
	if d.Hash() != want {
		t.Fatalf("hash %x, that of the files is %x", d.Hash(), want)
	}
}

// A directory behaves like a map with an order of use, whatever is done to it and however often it is opened.
func TestDirectoryAgainstModel(t *testing.T) {
	keys := accountKeys(t, 5)
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, string(rune('a'+n%26)), time.Now().Format("150405.000000000"))
		r := options.Resolver{Kind: options.ResolverCache, Dir: dir, Limit: 3}
		d, err := openDirectory(&r)
		if err != nil {
			t.Fatal(err)
		}
		d.unsynced = true
		defer os.RemoveAll(dir)
		model := map[string]string{}
		var used []string // the one used last at the end
		touch := func(k string) {
			used = slices.DeleteFunc(used, func(o string) bool { return o == k })
			used = append(used, k)
		}
		forget := func(k string) {
			delete(model, k)
			used = slices.DeleteFunc(used, func(o string) bool { return o == k })
		}
		key := rapid.SampledFrom(keys)
		t.Repeat(map[string]func(*rapid.T){
			"save": func(t *rapid.T) {
				k, token := key.Draw(t, "key"), rapid.StringMatching("[a-z]{1,5}").Draw(t, "token")
				if err := d.Save(k, token); err != nil {
					t.Fatal(err)
				}
				if _, ok := model[k]; !ok && len(model) == 3 {
					forget(used[0])
				}
				model[k] = token
				touch(k)
			},
			"load": func(t *rapid.T) {
				k := key.Draw(t, "key")
				got, err := d.Load(k)
				if want, ok := model[k]; ok != (err == nil) || got != want {
					t.Fatalf("got %q, %v; want %q", got, err, want)
				}
				if err == nil {
					touch(k)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if err := d.Delete(k); err != nil {
					t.Fatal(err)
				}
				forget(k)
			},
			"": func(t *rapid.T) {
				if got := d.Accounts(); len(got) != len(model) {
					t.Fatalf("accounts %v, want %d", got, len(model))
				}
				var want digest
				for _, token := range model {
					want.toggle(sha256.Sum256([]byte(token)))
				}
				if d.Hash() != want {
					t.Fatal("hash is not that of the JWTs")
				}
			},
		})
	})
}
