package jwtauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// accountServer serves JWTs over HTTP.
type accountServer struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]string
	gets   []string // keys that were asked for
	status int      // of all answers, if it is not 0
}

func newAccountServer(t *testing.T, w *world) *accountServer {
	s := &accountServer{tokens: w.tokens}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		key := strings.TrimPrefix(r.URL.Path, "/accounts/")
		s.gets = append(s.gets, key)
		switch token, ok := s.tokens[key]; {
		case s.status != 0:
			rw.WriteHeader(s.status)
		case ok:
			fmt.Fprintln(rw, token)
		case key != "":
			rw.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *accountServer) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *accountServer) count(key string) (n int) {
	s.set(func() {
		for _, k := range s.gets {
			if k == key {
				n++
			}
		}
	})
	return n
}

func TestURLResolver(t *testing.T) {
	w := newWorld(t)
	s := newAccountServer(t, w)
	w.options.Resolver = nil // so that the operator's account server is asked
	w.options.Operators[0].AccountServerURL = s.URL
	m, rec := w.start()
	if s.count("") != 1 || s.count(pub(w.sys)) != 1 {
		t.Errorf("asked at the start: %v", s.gets)
	}
	p := w.user(w.acc, nil)
	for range 3 {
		mustLogin(t, m, p)
	}
	if n := s.count(pub(w.acc)); n != 1 {
		t.Errorf("the account was fetched %d times", n)
	}
	rec.takeLines()
	unknown := newKey(t, nkeys.CreateAccount)
	want := fmt.Sprintf(`could not fetch <"%s/accounts/%s">: 404 Not Found`, s.URL, pub(unknown))
	if got := refusal(t, m, w.user(unknown, nil).request()); !strings.HasSuffix(got, want) {
		t.Errorf("reason %q", got)
	}
	if l := rec.takeLines(); len(l) != 1 || l[0] != "WRN Account fetch failed: "+want {
		t.Errorf("log %q", l)
	}

	// After a reload the server is asked again at the next login; while it is down nobody is thrown out.
	cfg, _ := w.config(nil)
	s.set(func() { s.status = http.StatusInternalServerError })
	rec.take()
	if err := m.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	if got := refusal(t, m, p.request()); !strings.Contains(got, "500 Internal Server Error") {
		t.Errorf("reason %q", got)
	}
	if c := rec.take(); len(c) != 0 || m.Loaded(pub(w.acc)) == nil {
		t.Errorf("changes %+v", c)
	}
	s.set(func() { s.status = 0 })
	mustLogin(t, m, p)
	cfg, _ = w.config(nil)
	if err := m.Reload(cfg); err != nil {
		t.Fatal(err)
	}
	s.set(func() { delete(s.tokens, pub(w.acc)) })
	refusal(t, m, p.request())
	if c := rec.take(); len(c) != 1 || !c[0].Ended {
		t.Errorf("an account that is gone: changes %+v", c)
	}
}

func TestURLResolverStart(t *testing.T) {
	w := newWorld(t)
	s := newAccountServer(t, w)
	s.status = http.StatusNotFound
	for url, want := range map[string]string{
		s.URL + "/accounts/":    `could not fetch <"` + s.URL + `/accounts/">: 404 Not Found`,
		"/accounts/":            `could not fetch <"/accounts/">: Get "/accounts/": unsupported protocol scheme ""`,
		"http://127.0.0.1:1/x/": "connection refused",
		"http://%zz":            "invalid URL escape",
	} {
		w.options.Resolver = &options.Resolver{Kind: options.ResolverURL, URL: url}
		if _, err := NewResolver(&w.options, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	w.options.ResolverTLS = &options.TLS{CAFile: "/nowhere/at/all"}
	if _, err := NewResolver(&w.options, nil); err == nil || !strings.Contains(err.Error(), "resolver_tls") {
		t.Errorf("TLS: %v", err)
	}
}

func TestURLResolverBoundsAnswers(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			rw.Write(make([]byte, jwt.MaxTokenSize+2))
		case "/slow":
			<-r.Context().Done()
		}
	}))
	defer h.Close()
	r, err := newURLResolver(h.URL+"/", nil, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Fetch(t.Context(), "long"); !errors.Is(err, jwt.ErrTokenTooLarge) {
		t.Errorf("long: %v", err)
	}
	if _, err := r.Fetch(t.Context(), "slow"); err == nil {
		t.Error("an answer that does not come")
	}
	if _, err := r.Fetch(t.Context(), "empty"); !errors.Is(err, ErrNoAccount) {
		t.Errorf("empty: %v", err)
	}
}

// slowResolver answers when it is told to.
type slowResolver struct {
	memory
	calls   atomic.Int32
	running atomic.Int32
	most    atomic.Int32
	gate    chan struct{}
}

func (r *slowResolver) Fetch(ctx context.Context, account string) (string, error) {
	r.calls.Add(1)
	n := r.running.Add(1)
	defer r.running.Add(-1)
	for {
		if most := r.most.Load(); n <= most || r.most.CompareAndSwap(most, n) {
			break
		}
	}
	select {
	case <-r.gate:
		return r.memory.Fetch(ctx, account)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// slow makes a Manager with a slowResolver.
func (w *world) slow(timeout time.Duration) (*Manager, *slowResolver, *record) {
	r := &slowResolver{memory: memory{timeout: timeout, tokens: w.tokens}, gate: make(chan struct{})}
	w.options.Operators[0].SystemAccount = ""
	cfg, rec := w.config(nil)
	cfg.Resolver = r
	m, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return m, r, rec
}

func TestLookupsOfOneAccountAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, r, rec := w.slow(time.Second)
		p := w.user(w.acc, nil)
		var g sync.WaitGroup
		for range 50 {
			g.Go(func() { mustLogin(t, m, p) })
		}
		synctest.Wait()
		close(r.gate)
		g.Wait()
		if n := r.calls.Load(); n != 1 || len(rec.take()) != 1 {
			t.Errorf("%d lookups", n)
		}
		m.Close()
	})
}

func TestLookupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, r, _ := w.slow(time.Second)
		var g sync.WaitGroup
		for range maxFetches + 30 {
			p := w.user(newKey(t, nkeys.CreateAccount), nil)
			g.Go(func() {
				if got := refusal(t, m, p.request()); !strings.Contains(got, "timed out") {
					t.Errorf("reason %q", got)
				}
			})
		}
		synctest.Wait()
		if n := r.running.Load(); n != maxFetches {
			t.Errorf("%d lookups at the same time", n)
		}
		start := time.Now()
		g.Wait()
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("the last login took %v", d)
		}
		if n := r.most.Load(); n > maxFetches {
			t.Errorf("%d lookups at the same time", n)
		}
		m.Close()
	})
}

func TestCloseEndsLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, _, rec := w.slow(time.Hour)
		done := make(chan error)
		p := w.user(w.acc, nil)
		go func() {
			_, err := m.Login(p.request())
			done <- err
		}()
		synctest.Wait()
		m.Close()
		if err := <-done; err == nil {
			t.Error("logged in")
		}
		if got := refusal(t, m, p.request()); !strings.Contains(got, "shut down") {
			t.Errorf("reason %q", got)
		}
		m.Close()
		if len(rec.take()) != 0 {
			t.Error("the server was told something")
		}
	})
}

// The server looks for the accounts that an account imports from while it is told of it, and they may import from it.
func TestAccountsThatNeedEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		other := newKey(t, nkeys.CreateAccount)
		imports := func(from string) func(*jwt.AccountClaims) {
			return func(c *jwt.AccountClaims) {
				c.Imports.Add(&jwt.Import{Account: from, Subject: "x", Type: jwt.Stream})
			}
		}
		w.tokens[pub(w.acc)] = w.account(imports(pub(other)))
		w.tokens[pub(other)] = w.accountOf(other, w.op, imports(pub(w.acc)))
		cfg, _ := w.config(nil)
		var m *Manager
		var told atomic.Int32
		cfg.OnChange = func(c Change) {
			if c.Account.Key == pub(w.sys) {
				return
			}
			told.Add(1)
			for _, i := range c.Account.Settings.Imports {
				if a, err := m.Account(i.Account); err != nil || a.Key != i.Account {
					t.Errorf("%s: %v", i.Account, err)
				}
			}
		}
		var err error
		if m, err = New(cfg); err != nil {
			t.Fatal(err)
		}
		a, b := w.user(w.acc, nil), w.user(other, nil)
		var g sync.WaitGroup
		for range 10 {
			g.Go(func() { mustLogin(t, m, a) })
			g.Go(func() { mustLogin(t, m, b) })
		}
		g.Wait()
		if told.Load() != 2 || len(m.All()) != 3 {
			t.Errorf("told of %d accounts, %d are in force", told.Load(), len(m.All()))
		}
		m.Close()
	})
}

// Nobody logs into an account before the server knows it.
func TestLoginWaitsForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		cfg, _ := w.config(nil)
		gate := make(chan struct{})
		cfg.OnChange = func(c Change) {
			if c.Account.Key == pub(w.acc) {
				<-gate
			}
		}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := w.user(w.acc, nil)
		var in atomic.Int32
		var g sync.WaitGroup
		for range 5 {
			g.Go(func() {
				mustLogin(t, m, p)
				in.Add(1)
			})
		}
		synctest.Wait()
		if in.Load() != 0 {
			t.Errorf("%d have logged in", in.Load())
		}
		close(gate)
		g.Wait()
		m.Close()
	})
}

func TestDirectoriesAskPeers(t *testing.T) {
	for _, kind := range []options.ResolverKind{options.ResolverFull, options.ResolverCache} {
		w := newWorld(t)
		w.options.Resolver = &options.Resolver{Kind: kind, Dir: t.TempDir()}
		there := w.tokens[pub(w.acc)]
		delete(w.tokens, pub(w.acc))
		foreign := newKey(t, nkeys.CreateAccount)
		answers := map[string]string{pub(w.acc): there, pub(foreign): w.accountOf(foreign, newKey(t, nkeys.CreateOperator), nil)}
		asked := 0
		cfg, _ := w.config(func(_ context.Context, account string) (string, error) {
			asked++
			if a := answers[account]; a != "" {
				return a, nil
			}
			return "", ErrNoAccount
		})
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		mustLogin(t, m, w.user(w.acc, nil))
		if got, err := m.directory().Load(pub(w.acc)); got != there || err != nil {
			t.Errorf("%v: what a peer had is not stored: %v", kind, err)
		}
		refusal(t, m, w.user(foreign, nil).request())
		if m.directory().Has(pub(foreign)) {
			t.Errorf("%v: a foreign JWT is stored", kind)
		}
		refusal(t, m, w.user(newKey(t, nkeys.CreateAccount), nil).request())
		if asked != 3 {
			t.Errorf("%v: asked %d times", kind, asked)
		}
		m.Close()
	}
}

// What is pushed or deleted between the reading of a JWT and its coming into force is not lost.
func TestPushDuringALookup(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w := newWorld(t)
		w.full()
		cfg, rec := w.config(nil)
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		// The JWT that was read is put in force after the directory has changed.
		read, err := m.directory().Load(pub(w.acc))
		if err != nil {
			t.Fatal(err)
		}
		pushed := w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 4 })
		if deleted {
			_, err = m.Delete([]string{pub(w.acc)})
		} else {
			_, err = m.Update(pushed)
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.take()
		a, err := m.put(pub(w.acc), read)
		if err != nil {
			t.Fatal(err)
		}
		a, err = m.settle(pub(w.acc), a)
		switch {
		case deleted && !errors.Is(err, ErrNoAccount):
			t.Errorf("deleted: %v, %v", a, err)
		case !deleted && (err != nil || a.JWT != pushed || m.Loaded(pub(w.acc)) != a):
			t.Errorf("pushed: %v, %v", a, err)
		}
		m.Close()
	}
}

// A lookup that began before a reload counts for nothing.
func TestReloadDuringALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m, slow, rec := w.slow(time.Hour)
		p := w.user(w.acc, nil)
		done := make(chan *User)
		go func() { done <- mustLogin(t, m, p) }()
		synctest.Wait()
		newer := w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 6 })
		cfg, _ := w.config(nil)
		cfg.Resolver = &memory{timeout: time.Second, tokens: map[string]string{pub(w.acc): newer}}
		if err := m.Reload(cfg); err != nil {
			t.Fatal(err)
		}
		close(slow.gate)
		<-done
		if a := m.Loaded(pub(w.acc)); a == nil || a.JWT != newer || len(rec.take()) != 2 {
			t.Errorf("in force: %+v", a)
		}
		m.Close()
	})
}

// An account that is renewed while a login looks for what comes after the version that has just expired stays.
func TestRenewalDuringALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		short := w.account(func(c *jwt.AccountClaims) { c.Expires = time.Now().Add(time.Minute).Unix() })
		w.tokens[pub(w.acc)] = short
		m, slow, rec := w.slow(time.Hour)
		close(slow.gate)
		p := w.user(w.acc, nil)
		mustLogin(t, m, p)
		time.Sleep(time.Minute)
		synctest.Wait()
		slow.gate = make(chan struct{})
		done := make(chan error)
		go func() {
			_, err := m.Login(p.request())
			done <- err
		}()
		synctest.Wait()
		renewed := w.account(nil)
		if out, err := m.Update(renewed); out != Updated || err != nil {
			t.Fatal(out, err)
		}
		close(slow.gate)
		if err := <-done; err == nil {
			t.Error("the lookup has found an expired JWT, and the login is let in")
		}
		if a := m.Loaded(pub(w.acc)); a == nil || a.JWT != renewed {
			t.Errorf("in force: %+v, changes %+v", a, rec.take())
		}
		mustLogin(t, m, p)
		m.Close()
	})
}
