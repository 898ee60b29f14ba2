package jwtauth

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// ask sends a request and returns the replies with the keys of the world replaced by names. A nil slice is no reply.
func (w *world) ask(m *Manager, subject, body string) []string {
	replies, ok := m.Handle(subject, []byte(body))
	if !ok {
		return nil
	}
	out := []string{}
	for r := range replies {
		out = append(out, w.named(string(r)))
	}
	return out
}

func (w *world) named(s string) string {
	return strings.NewReplacer(pub(w.op), "OP", pub(w.sys), "SYS", pub(w.acc), "ACC").Replace(s)
}

func ok(account, message string) string {
	return `{"server":` + testServer + `,"data":{"account":"` + account + `","code":200,"message":"` + message + `"}}`
}

func failure(account, description string) string {
	return `{"server":` + testServer + `,"error":{"account":"` + account + `","code":500,"description":"` + description + `"}}`
}

// updateCase is a push and its replies per kind of resolver; empty is none.
type updateCase struct {
	name, subject, body string
	full, cache, memory string
}

func TestUpdateRequests(t *testing.T) {
	w := newWorld(t)
	account, old := "$SYS.REQ.ACCOUNT."+pub(w.acc)+".CLAIMS.UPDATE", "$SYS.ACCOUNT."+pub(w.acc)+".CLAIMS.UPDATE"
	valid := w.account(func(c *jwt.AccountClaims) { c.Limits.Conn = 9 })
	user, foreign := w.user(w.acc, nil).token, w.accountOf(w.acc, newKey(t, nkeys.CreateOperator), nil)
	bad := w.account(func(c *jwt.AccountClaims) { c.Exports.Add(&jwt.Export{Subject: "a..b", Type: jwt.Stream}) })
	const wrong, wrongCache = "jwt update resulted in error - ", "jwt update cache resulted in error - "
	const badText = "jwt validation failed - validation errors: [subject \\\"a..b\\\" cannot contain consecutive `.`]"
	tests := []updateCase{
		{"valid", SubjectUpdate, valid, ok("ACC", "jwt updated"), ok("ACC", "jwt updated cache"), ""},
		{"valid, with a line end", SubjectUpdate, valid + "\n", ok("ACC", "jwt updated"), ok("ACC", "jwt updated cache"), ""},
		{"valid, account named", account, valid, ok("ACC", "jwt updated"), ok("ACC", "jwt updated cache"), ok("ACC", "jwt updated")},
		{"valid, old subject", old, valid, ok("ACC", "jwt updated"), ok("ACC", "jwt updated cache"), ok("ACC", "jwt updated")},
		{"garbage", SubjectUpdate, "garbage", failure("n/a", wrong+"expected 3 chunks"), failure("n/a", wrongCache+"expected 3 chunks"), ""},
		{"garbage, account named", account, "garbage", failure("n/a", wrong+"expected 3 chunks"), failure("ACC", wrongCache+"expected 3 chunks"), failure("ACC", wrong+"expected 3 chunks")},
		{"empty", SubjectUpdate, "", failure("n/a", wrong+"expected 3 chunks"), failure("n/a", wrongCache+"expected 3 chunks"), ""},
		{"empty, account named", account, "", failure("n/a", wrong+"expected 3 chunks"), failure("ACC", wrongCache+"expected 3 chunks"), failure("ACC", "jwt update error - request body is empty")},
		{"a user's", SubjectUpdate, user, failure("n/a", wrong+"not account claim"), failure("n/a", wrongCache+"not account claim"), ""},
		{"a user's, account named", account, user, failure("n/a", wrong+"not account claim"), failure("ACC", wrongCache+"not account claim"), failure("ACC", wrong+"not account claim")},
		{"another account's", account, w.tokens[pub(w.sys)], failure("ACC", wrong+"subject does not match jwt content"), failure("ACC", wrongCache+"subject does not match jwt content"), failure("ACC", wrong+"subject does not match jwt content")},
		{"foreign", account, foreign, failure("ACC", wrong+"account validation failed"), failure("ACC", wrongCache+"account validation failed"), failure("ACC", wrong+"account validation failed")},
		{"malformed", account, bad, failure("ACC", badText), failure("ACC", badText), failure("ACC", wrong+"account validation failed")},
		{"no account named", "$SYS.REQ.ACCOUNT.X.CLAIMS.UPDATE", valid, failure("X", wrong+"subject does not match jwt content"), failure("X", wrongCache+"subject does not match jwt content"), failure("X", wrong+"subject does not match jwt content")},
	}
	for _, kind := range []options.ResolverKind{options.ResolverFull, options.ResolverCache, options.ResolverMemory} {
		w.options.Resolver = &options.Resolver{Kind: kind, Dir: t.TempDir()}
		m, _ := w.start()
		mustLogin(t, m, w.user(w.acc, nil))
		for _, tt := range tests {
			want := map[options.ResolverKind]string{options.ResolverFull: tt.full, options.ResolverCache: tt.cache, options.ResolverMemory: tt.memory}[kind]
			got := w.ask(m, tt.subject, tt.body)
			if want == "" && got != nil || want != "" && !slices.Equal(got, []string{want}) {
				t.Errorf("%v, %s:\ngot  %s\nwant %s", kind, tt.name, got, want)
			}
		}
	}
}

func TestUpdateSkipped(t *testing.T) {
	w := newWorld(t)
	unknown := newKey(t, nkeys.CreateAccount)
	token := w.accountOf(unknown, w.op, nil)
	subject := "$SYS.REQ.ACCOUNT." + pub(unknown) + ".CLAIMS.UPDATE"
	for kind, want := range map[options.ResolverKind]string{
		options.ResolverMemory: ok(pub(unknown), "jwt update skipped"),
		options.ResolverCache:  ok(pub(unknown), "jwt update cache skipped"),
		options.ResolverFull:   ok(pub(unknown), "jwt updated"),
	} {
		w.options.Resolver = &options.Resolver{Kind: kind, Dir: t.TempDir()}
		m, _ := w.start()
		if got := w.ask(m, subject, token); !slices.Equal(got, []string{want}) {
			t.Errorf("%v: %s", kind, got)
		}
	}
	// What a cache has forgotten but is in force is no matter of indifference.
	w.options.Resolver = &options.Resolver{Kind: options.ResolverCache, Dir: t.TempDir()}
	m, rec := w.start()
	mustLogin(t, m, w.user(w.acc, nil))
	if err := m.directory().Directory.Delete(pub(w.acc)); err != nil {
		t.Fatal(err)
	}
	rec.take()
	if got := w.ask(m, SubjectUpdate, w.account(func(c *jwt.AccountClaims) { c.Revoke("*") })); !slices.Equal(got, []string{ok("ACC", "jwt updated cache")}) || len(rec.take()) != 1 {
		t.Errorf("got %s", got)
	}
}

func TestStoreIsFull(t *testing.T) {
	w := newWorld(t)
	w.options.Resolver = &options.Resolver{Kind: options.ResolverFull, Dir: t.TempDir(), Limit: 2}
	m, _ := w.start()
	k := newKey(t, nkeys.CreateAccount)
	want := failure(pub(k), "jwt update resulted in error - jwt store is full")
	if got := w.ask(m, SubjectUpdate, w.accountOf(k, w.op, nil)); !slices.Equal(got, []string{want}) {
		t.Errorf("got %s", got)
	}
}

func TestLookupAndList(t *testing.T) {
	w := newWorld(t)
	w.full()
	m, _ := w.start()
	token := w.tokens[pub(w.acc)]
	if got, ok := m.Handle("$SYS.REQ.ACCOUNT."+pub(w.acc)+".CLAIMS.LOOKUP", nil); !ok || string(slices.Collect(got)[0]) != token {
		t.Error("lookup of an account")
	}
	unknown := pub(newKey(t, nkeys.CreateAccount))
	if got := w.ask(m, "$SYS.REQ.ACCOUNT."+unknown+".CLAIMS.LOOKUP", ""); !slices.Equal(got, []string{""}) {
		t.Errorf("unknown account: %q", got)
	}
	for _, name := range []string{"FOO", pub(w.op)} {
		if got := w.ask(m, "$SYS.REQ.ACCOUNT."+name+".CLAIMS.LOOKUP", ""); got != nil {
			t.Errorf("%s is no account: %q", name, got)
		}
	}
	keys := []string{pub(w.acc), pub(w.sys)}
	slices.Sort(keys)
	want := w.named(fmt.Sprintf(`{"data":["%s","%s"],"server":%s}`, keys[0], keys[1], testServer))
	if got := w.ask(m, SubjectList, ""); !slices.Equal(got, []string{want}) {
		t.Errorf("list %s, want %s", got, want)
	}
	for _, other := range []string{"$SYS.REQ.CLAIMS", "$SYS.REQ.CLAIMS.FOO", "$SYS.REQ.ACCOUNT.X.Y.CLAIMS.LOOKUP", "", "$SYS.REQ.ACCOUNT.CLAIMS.UPDATE"} {
		if got := w.ask(m, other, ""); got != nil {
			t.Errorf("%q is answered: %q", other, got)
		}
	}
}

func TestListOfNothing(t *testing.T) {
	w := newWorld(t)
	w.full()
	w.tokens = nil
	m, _ := w.start()
	if got := w.ask(m, SubjectList, ""); !slices.Equal(got, []string{`{"data":[],"server":` + testServer + `}`}) {
		t.Errorf("got %s", got)
	}
}

func TestDeleteRequests(t *testing.T) {
	w := newWorld(t)
	foreign := newKey(t, nkeys.CreateOperator)
	request := func(subject string, signer nkeys.KeyPair, accounts any, edit func(*jwt.GenericClaims)) string {
		c := jwt.NewGenericClaims(subject)
		if accounts != nil {
			c.Data["accounts"] = accounts
		}
		if edit != nil {
			edit(c)
		}
		token, err := c.Encode(signer)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	unknown := pub(newKey(t, nkeys.CreateAccount))
	fail := func(by, why string) string {
		return `{"server":` + testServer + `,"error":{"code":500,"description":"delete accounts request by ` + by + ` failed - ` + why + `"}}`
	}
	done := func(n int) string {
		return fmt.Sprintf(`{"server":%s,"data":{"code":200,"message":"deleted %d accounts"}}`, testServer, n)
	}
	tests := []struct{ name, body, want string }{
		{"garbage", "garbage", fail("", "expected 3 chunks")},
		{"empty", "", fail("", "expected 3 chunks")},
		{"system account", request(pub(w.op), w.op, []string{unknown, pub(w.sys)}, nil), fail("OP", "not allowed to delete system account")},
		{"not a list", request(pub(w.op), w.op, "x", nil), fail("OP", "malformed request")},
		{"not texts", request(pub(w.op), w.op, []any{1}, nil), fail("OP", "malformed request")},
		{"not accounts", request(pub(w.op), w.op, []string{"../x"}, nil), fail("OP", "malformed request")},
		{"no list", request(pub(w.op), w.op, nil, nil), fail("OP", "malformed request")},
		{"not by itself", request(pub(w.op), w.acc, []string{pub(w.acc)}, nil), fail("OP", "not self signed")},
		{"foreign", request(pub(foreign), foreign, []string{pub(w.acc)}, nil), fail(pub(foreign), "not trusted")},
		{"expired", request(pub(w.op), w.op, []string{pub(w.acc)}, func(c *jwt.GenericClaims) { c.Expires = time.Now().Unix() - 5 }), fail("OP", "request is expired")},
		{"an account that is not there", request(pub(w.op), w.op, []string{unknown}, nil), done(1)},
		{"nothing", request(pub(w.op), w.op, []string{}, nil), done(0)},
		{"an account", request(pub(w.op), w.op, []string{pub(w.acc)}, nil), done(1)},
	}
	w.full()
	m, _ := w.start()
	for _, tt := range tests {
		if got := w.ask(m, SubjectDelete, tt.body); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		if left := m.directory().Has(pub(w.acc)); left == (tt.name == "an account") {
			t.Errorf("%s: there is the account: %v", tt.name, left)
		}
	}
	w.options.Resolver.AllowDelete = false
	m, _ = w.start()
	if got := w.ask(m, SubjectDelete, request(pub(w.op), w.op, []string{unknown}, nil)); !slices.Equal(got, []string{fail("OP", "delete must be enabled in server config")}) {
		t.Errorf("got %s", got)
	}
	w.options.Resolver = &options.Resolver{Kind: options.ResolverMemory}
	m, _ = w.start()
	if got := w.ask(m, SubjectDelete, ""); got != nil {
		t.Errorf("answered without a directory: %s", got)
	}
}

// Two servers with directories become equal by packs, whoever has the newer JWT.
func TestPack(t *testing.T) {
	w := newWorld(t)
	w.full()
	a, _ := w.start()
	w.full()
	newer := w.tokens[pub(w.acc)]
	w.tokens[pub(w.acc)] = signedBy(t, w.op, map[string]any{"iat": 1000, "iss": pub(w.op), "sub": pub(w.acc), "nats": map[string]any{"type": "account", "version": 2, "limits": map[string]any{"conn": -1, "leaf": -1, "subs": -1, "payload": -1, "data": -1}}})
	b, rec := w.start()
	only := newKey(t, nkeys.CreateAccount)
	if _, err := a.Update(w.accountOf(only, w.op, nil)); err != nil {
		t.Fatal(err)
	}
	mustLogin(t, b, w.user(w.acc, nil))
	rec.take()

	replies, ok := a.Handle(SubjectPack, b.PackRequest())
	if !ok {
		t.Fatal("no answer")
	}
	n := 0
	for r := range replies {
		n++
		last, err := b.Merge(r)
		if err != nil || last != (n == 4) {
			t.Fatalf("message %d: %v, %v", n, last, err)
		}
	}
	if got, _ := b.directory().Load(pub(w.acc)); n != 4 || got != newer {
		t.Errorf("%d messages; the newer JWT is there: %v", n, got == newer)
	}
	if c := rec.take(); len(c) != 1 || c[0].Account.JWT != newer {
		t.Errorf("changes %+v", c)
	}
	if a.directory().Hash() != b.directory().Hash() {
		t.Error("the directories differ")
	}
	if got := w.ask(a, SubjectPack, string(b.PackRequest())); !slices.Equal(got, []string{""}) {
		t.Errorf("equal directories: %q", got)
	}
	if got := w.ask(a, SubjectPack, "short"); len(got) != 4 {
		t.Errorf("a hash that is none: %d messages", len(got))
	}
	// An answer that nobody wants any more is not finished.
	replies, _ = a.Handle(SubjectPack, nil)
	for range replies {
		break
	}

	foreign := w.accountOf(only, newKey(t, nkeys.CreateOperator), nil)
	for _, bad := range []string{"x", pub(only) + "|", pub(only) + "|" + foreign, pub(w.sys) + "|" + newer, "../x|" + newer} {
		if _, err := b.Merge([]byte(bad)); err == nil {
			t.Errorf("%.40q was taken", bad)
		}
	}
}

func TestSubscriptions(t *testing.T) {
	w := newWorld(t)
	named := []string{SubjectAccountUpdate, SubjectOldUpdate}
	for kind, want := range map[options.ResolverKind][]string{
		options.ResolverMemory: named,
		options.ResolverCache:  append(named, SubjectUpdate, SubjectList, SubjectDelete),
		options.ResolverFull:   append(named, SubjectUpdate, SubjectList, SubjectDelete, SubjectLookup, SubjectPack),
	} {
		w.options.Resolver = &options.Resolver{Kind: kind, Dir: t.TempDir()}
		m, _ := w.start()
		var got []string
		for _, s := range m.Subscriptions() {
			got = append(got, s.Subject)
			if (s.Queue != "") != (s.Subject == SubjectPack) {
				t.Errorf("%s in queue %q", s.Subject, s.Queue)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v", kind, got)
		}
		if p := m.PackRequest(); (p != nil) != (kind == options.ResolverFull) {
			t.Errorf("%v: pack request %x", kind, p)
		}
	}
}

func TestRequestsAreLogged(t *testing.T) {
	w := newWorld(t)
	w.full()
	m, rec := w.start()
	rec.takeLines()
	w.ask(m, SubjectUpdate, w.account(nil))
	w.ask(m, SubjectUpdate, "x")
	w.ask(m, SubjectDelete, "x")
	var got []string
	for _, l := range rec.takeLines() {
		got = append(got, w.named(l))
	}
	want := []string{"DBG jwt updated - ACC", "ERR jwt update resulted in error - n/a - expected 3 chunks", "ERR delete accounts request by  failed - expected 3 chunks"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A description of the server that is no JSON is a mistake of this program: no reply is sent that is not one.
func TestBrokenServerInfo(t *testing.T) {
	w := newWorld(t)
	w.full()
	cfg, rec := w.config(nil)
	cfg.ServerInfo = func() json.RawMessage { return json.RawMessage("{") }
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := w.ask(m, SubjectList, ""); !slices.Equal(got, []string{""}) || len(rec.takeLines()) == 0 {
		t.Errorf("got %q", got)
	}
}
