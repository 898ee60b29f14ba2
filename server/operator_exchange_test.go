package server

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// federation is a server in operator mode with a system account and some others.
type federation struct {
	t        *testing.T
	operator nkeys.KeyPair
	server   *Server
	system   *nats.Conn
	accounts map[string]*jwt.AccountClaims
	keys     map[string]nkeys.KeyPair
}

// newFederation makes the accounts SYS, A and B. with may change their claims before the server starts.
func newFederation(t *testing.T, with func(f *federation), more ...func(*options.Options)) *federation {
	t.Helper()
	okp, opub := keys(t, nkeys.CreateOperator)
	f := &federation{t: t, operator: okp, accounts: map[string]*jwt.AccountClaims{}, keys: map[string]nkeys.KeyPair{}}
	for _, name := range []string{"SYS", "A", "B"} {
		kp, pub := keys(t, nkeys.CreateAccount)
		f.keys[name], f.accounts[name] = kp, jwt.NewAccountClaims(pub)
		f.accounts[name].Name = name
	}
	with(f)
	preload := map[string]string{}
	for _, c := range f.accounts {
		preload[c.Subject] = encode(t, c, okp)
	}
	f.server = run(t, func(o *options.Options) {
		o.TrustedKeys = []string{opub}
		o.SystemAccount = f.accounts["SYS"].Subject
		o.Resolver = &options.Resolver{Kind: options.ResolverMemory}
		o.ResolverPreload = preload
		for _, change := range more {
			change(o)
		}
	})
	f.system = f.login("SYS")
	return f
}

// login connects a new user of an account.
func (f *federation) login(account string) *nats.Conn {
	f.t.Helper()
	ukp, upub := keys(f.t, nkeys.CreateUser)
	token := encode(f.t, jwt.NewUserClaims(upub), f.keys[account])
	return connect(f.t, f.server, nats.UserJWT(func() (string, error) { return token, nil }, ukp.Sign), nats.NoReconnect())
}

// push makes the claims of an account hold, which the server must accept.
func (f *federation) push(account string) {
	f.t.Helper()
	if answer := f.pushed(account); !strings.Contains(answer, `"code":200`) {
		f.t.Fatalf("the answer is %s", answer)
	}
}

func (f *federation) pushed(account string) string {
	f.t.Helper()
	c := f.accounts[account]
	m, err := f.system.Request("$SYS.REQ.ACCOUNT."+c.Subject+".CLAIMS.UPDATE", []byte(encode(f.t, c, f.operator)), 10*time.Second)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(m.Data)
}

// activation is a token of A for B.
func (f *federation) activation(subject string, kind jwt.ExportType, change func(*jwt.ActivationClaims)) string {
	f.t.Helper()
	c := jwt.NewActivationClaims(f.accounts["B"].Subject)
	c.ImportSubject, c.ImportType = jwt.Subject(subject), kind
	if change != nil {
		change(c)
	}
	return encode(f.t, c, f.keys["A"])
}

// arrives reports whether what one connection publishes reaches the subscription of another.
func arrives(t *testing.T, from *nats.Conn, subject string, to *nats.Conn, sub *nats.Subscription) bool {
	t.Helper()
	if err := from.Publish(subject, nil); err != nil {
		t.Fatal(err)
	}
	for _, nc := range []*nats.Conn{from, to} {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	n, _, err := sub.Pending()
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		sub.NextMsg(0)
	}
	return n > 0
}

func subscribeTo(t *testing.T, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func answerAll(t *testing.T, nc *nats.Conn, subject string) {
	t.Helper()
	if _, err := nc.Subscribe(subject, func(m *nats.Msg) { m.Respond([]byte(m.Subject)) }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

// asks returns what a service answers, or why it does not.
func asks(t *testing.T, nc *nats.Conn, subject string) string {
	t.Helper()
	m, err := nc.Request(subject, nil, 10*time.Second)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return "nobody"
	case err != nil:
		t.Fatal(err)
	}
	return string(m.Data)
}

// Imports, exports and mappings of account JWTs hold, and change with what is pushed while users are connected.
func TestPushedImportsAndExports(t *testing.T) {
	f := newFederation(t, func(f *federation) {
		a, b := f.accounts["A"], f.accounts["B"]
		a.Exports.Add(&jwt.Export{Subject: "events.>", Type: jwt.Stream}, &jwt.Export{Subject: "svc.*", Type: jwt.Service})
		b.Imports.Add(&jwt.Import{Account: a.Subject, Subject: "events.*", LocalSubject: "from.a.$1", Type: jwt.Stream},
			&jwt.Import{Account: a.Subject, Subject: "svc.*", LocalSubject: "ask.*", Type: jwt.Service})
	})
	b := f.login("B") // B comes first: what it imports from is loaded with it
	sub := subscribeTo(t, b, "from.a.*")
	a := f.login("A")
	answerAll(t, a, "svc.*")
	if !arrives(t, a, "events.1", b, sub) {
		t.Error("the stream does not arrive")
	}
	if got := asks(t, b, "ask.x"); got != "svc.x" {
		t.Errorf("the service: %s", got)
	}
	f.accounts["A"].Exports = jwt.Exports{{Subject: "svc.*", Type: jwt.Service}}
	f.push("A")
	if arrives(t, a, "events.1", b, sub) {
		t.Error("the stream arrives though it is no longer exported")
	}
	if got := asks(t, b, "ask.x"); got != "svc.x" {
		t.Errorf("the service after the push: %s", got)
	}
	f.accounts["B"].Imports = nil
	f.accounts["B"].Mappings = jwt.Mapping{"ask.*": {{Subject: "own.$1", Weight: 100}}}
	f.push("B")
	if got := asks(t, b, "ask.x"); got != "nobody" {
		t.Errorf("the service after the import ended: %s", got)
	}
	answerAll(t, b, "own.*")
	if got := asks(t, b, "ask.x"); got != "own.x" {
		t.Errorf("mapped: %s", got)
	}
	f.accounts["B"].Imports = jwt.Imports{{Account: f.accounts["A"].Subject, Subject: "svc.*", LocalSubject: "tell.$1", Type: jwt.Service}}
	f.push("B")
	if got := asks(t, b, "tell.x"); got != "svc.x" {
		t.Errorf("the service imported again: %s", got)
	}
}

// Accounts that import from each other are loaded together, whoever comes first, also by many logins at once.
func TestMutualImports(t *testing.T) {
	f := newFederation(t, func(f *federation) {
		a, b := f.accounts["A"], f.accounts["B"]
		a.Exports.Add(&jwt.Export{Subject: "a.*", Type: jwt.Service}, &jwt.Export{Subject: "loop", Type: jwt.Service})
		b.Exports.Add(&jwt.Export{Subject: "b.*", Type: jwt.Service}, &jwt.Export{Subject: "loop", Type: jwt.Service})
		a.Imports.Add(&jwt.Import{Account: b.Subject, Subject: "b.*", Type: jwt.Service}, &jwt.Import{Account: b.Subject, Subject: "loop", Type: jwt.Service})
		b.Imports.Add(&jwt.Import{Account: a.Subject, Subject: "a.*", Type: jwt.Service}, &jwt.Import{Account: a.Subject, Subject: "loop", Type: jwt.Service})
	})
	conns := make(chan *nats.Conn)
	for i := range 8 {
		name := []string{"A", "B"}[i%2]
		ukp, upub := keys(t, nkeys.CreateUser)
		token := encode(t, jwt.NewUserClaims(upub), f.keys[name])
		go func() {
			nc, _ := nats.Connect("nats://"+f.server.ClientAddr().String(), nats.Name(name), nats.Timeout(10*time.Second),
				nats.UserJWT(func() (string, error) { return token, nil }, ukp.Sign))
			conns <- nc
		}()
	}
	of := map[string]*nats.Conn{}
	for range 8 {
		nc := <-conns
		if nc == nil {
			t.Fatal("a login failed")
		}
		t.Cleanup(nc.Close)
		of[nc.Opts.Name] = nc
	}
	answerAll(t, of["A"], "a.*")
	answerAll(t, of["B"], "b.*")
	if got := asks(t, of["A"], "b.x"); got != "b.x" {
		t.Errorf("A asks B: %s", got)
	}
	if got := asks(t, of["B"], "a.x"); got != "a.x" {
		t.Errorf("B asks A: %s", got)
	}
	if got := asks(t, of["A"], "loop"); got != "nobody" {
		t.Errorf("a cycle: %s", got)
	}
}

// Private exports ask for a token, which can be revoked and ends.
func TestActivationTokens(t *testing.T) {
	f := newFederation(t, func(f *federation) {
		f.accounts["A"].Exports.Add(&jwt.Export{Subject: "private.>", Type: jwt.Stream, TokenReq: true})
	})
	a, b := f.login("A"), f.login("B")
	sub := subscribeTo(t, b, ">")
	for _, tt := range []struct {
		name  string
		token string
		want  bool
	}{
		{"none", "", false},
		{"right", f.activation("private.*", jwt.Stream, nil), true},
		{"for another account", f.activation("private.*", jwt.Stream, func(c *jwt.ActivationClaims) { c.Subject = f.accounts["A"].Subject }), false},
		{"for another subject", f.activation("private.2", jwt.Stream, nil), false},
		{"for another kind", f.activation("private.*", jwt.Service, nil), false},
		{"expired", f.activation("private.*", jwt.Stream, func(c *jwt.ActivationClaims) { c.Expires = time.Now().Unix() - 10 }), false},
		{"right again", f.activation("private.>", jwt.Stream, nil), true},
	} {
		f.accounts["B"].Imports = jwt.Imports{{Account: f.accounts["A"].Subject, Subject: "private.1", Type: jwt.Stream, Token: tt.token}}
		f.pushed("B") // some tokens make the whole update invalid
		if tt.want != arrives(t, a, "private.1", b, sub) && (tt.want || f.accepted("B")) {
			t.Errorf("token %s: arrives %v", tt.name, !tt.want)
		}
	}
	f.accounts["A"].Exports[0].Revoke(f.accounts["B"].Subject)
	f.push("A")
	if arrives(t, a, "private.1", b, sub) {
		t.Error("it arrives though the token is revoked")
	}
}

// accepted reports whether the claims of an account as they are now are in force.
func (f *federation) accepted(account string) bool {
	v := f.server.operators.manager.Loaded(f.accounts[account].Subject)
	return v != nil && v.Claims.IssuedAt == f.accounts[account].IssuedAt && v.JWT == encode(f.t, f.accounts[account], f.operator)
}

func TestExportsWithTheImportersName(t *testing.T) {
	f := newFederation(t, func(f *federation) {
		a, b := f.accounts["A"], f.accounts["B"]
		a.Exports.Add(&jwt.Export{Subject: "own.*.x", Type: jwt.Service, AccountTokenPosition: 2})
		b.Imports.Add(&jwt.Import{Account: a.Subject, Subject: jwt.Subject("own." + b.Subject + ".x"), LocalSubject: "mine", Type: jwt.Service},
			&jwt.Import{Account: a.Subject, Subject: jwt.Subject("own." + a.Subject + ".x"), LocalSubject: "others", Type: jwt.Service})
	})
	answerAll(t, f.login("A"), "own.>")
	b := f.login("B")
	if got := asks(t, b, "mine"); got != "own."+f.accounts["B"].Subject+".x" {
		t.Errorf("mine: %s", got)
	}
	if got := asks(t, b, "others"); got != "nobody" {
		t.Errorf("that of another account: %s", got)
	}
}

// The system account can export its requests: an account asks about itself, and hears its own events.
func TestSystemAccountExports(t *testing.T) {
	f := newFederation(t, func(f *federation) {
		sys, b := f.accounts["SYS"], f.accounts["B"]
		sys.Exports.Add(&jwt.Export{Subject: "$SYS.REQ.ACCOUNT.*.*", Type: jwt.Service, AccountTokenPosition: 4, ResponseType: jwt.ResponseTypeStream},
			&jwt.Export{Subject: "$SYS.ACCOUNT.*.>", Type: jwt.Stream, AccountTokenPosition: 3})
		b.Imports.Add(&jwt.Import{Account: sys.Subject, Subject: jwt.Subject("$SYS.REQ.ACCOUNT." + b.Subject + ".CONNZ"), LocalSubject: "my.connz", Type: jwt.Service},
			&jwt.Import{Account: sys.Subject, Subject: jwt.Subject("$SYS.ACCOUNT." + b.Subject + ".>"), LocalSubject: "my.events.>", Type: jwt.Stream})
	})
	b := f.login("B")
	var z struct {
		Data struct {
			Conns int `json:"num_connections"`
		}
	}
	got := asks(t, b, "my.connz")
	if err := json.Unmarshal([]byte(got), &z); err != nil || z.Data.Conns != 1 { // the system account has one, too
		t.Errorf("%v: %s", err, got)
	}
	sub := subscribeTo(t, b, "my.events.CONNECT")
	f.login("A")
	f.login("B")
	m, err := sub.NextMsg(10 * time.Second)
	if err != nil || !strings.Contains(string(m.Data), f.accounts["B"].Subject) || strings.Contains(string(m.Data), f.accounts["A"].Subject) {
		t.Errorf("%v, %v", m, err)
	}
}

func TestLimitsOfImportsAndExports(t *testing.T) {
	f := newFederation(t, func(*federation) {})
	f.login("B")
	imports := jwt.Imports{{Account: f.accounts["A"].Subject, Subject: "x", Type: jwt.Stream}, {Account: f.accounts["A"].Subject, Subject: "y", Type: jwt.Stream}}
	exports := jwt.Exports{{Subject: "x.*", Type: jwt.Stream}}
	for _, tt := range []struct {
		name   string
		change func(*jwt.AccountClaims)
		ok     bool
	}{
		{"as many imports as allowed", func(c *jwt.AccountClaims) { c.Limits.Imports = 2; c.Imports = imports }, true},
		{"too many imports", func(c *jwt.AccountClaims) { c.Limits.Imports = 1; c.Imports = imports }, false},
		{"as many exports as allowed", func(c *jwt.AccountClaims) { c.Limits.Exports = 1; c.Exports = exports }, true},
		{"no exports", func(c *jwt.AccountClaims) { c.Limits.Exports = 0; c.Exports = exports }, false},
		{"no exports with wildcards", func(c *jwt.AccountClaims) {
			c.Limits.Exports = 1
			c.Limits.WildcardExports = false
			c.Exports = exports
		}, false},
	} {
		c := jwt.NewAccountClaims(f.accounts["B"].Subject)
		tt.change(c)
		f.accounts["B"] = c
		if answer := f.pushed("B"); strings.Contains(answer, `"code":200`) != tt.ok {
			t.Errorf("%s: %s", tt.name, answer)
		}
	}
}
