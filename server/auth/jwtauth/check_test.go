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

func TestCheck(t *testing.T) {
	w := newWorld(t)
	user := func(edit func(*jwt.UserClaims)) string { return w.user(w.acc, edit).token }
	bearer := user(func(c *jwt.UserClaims) { c.BearerToken = true })
	scoped := user(w.scoped(nil))
	op := pub(w.op)
	type opts = options.Options
	full := &options.Resolver{Kind: options.ResolverFull}
	tests := []struct {
		name string
		edit func(*opts)
		want string
	}{
		{"as it should be", func(*opts) {}, ""},
		{"no operators", func(o *opts) { o.Operators, o.Resolver = nil, nil }, ""},
		{"trusted keys alone", func(o *opts) { o.Operators, o.TrustedKeys = nil, []string{op} }, ""},
		{"account server of the operator", func(o *opts) { o.Resolver = nil }, ""},
		{"no resolver", func(o *opts) { o.Operators, o.Resolver = append(o.Operators, o.Operators[0]), nil }, "operators require an account resolver to be configured"},
		{"accounts", func(o *opts) { o.Accounts = []*options.Account{{Name: "A"}} }, "operators do not allow Accounts to be configured directly"},
		{"users", func(o *opts) { o.Authorization.Users = []*options.User{{}} }, "operators do not allow users to be configured directly"},
		{"trusted keys too", func(o *opts) { o.TrustedKeys = []string{op} }, "conflicting options for 'TrustedKeys' and 'TrustedOperators'"},
		{"another system account", func(o *opts) { o.SystemAccount = pub(w.acc) }, "system_account in config and operator JWT must be identical"},
		{"the same system account", func(o *opts) { o.SystemAccount = pub(w.sys) }, ""},
		{"the name of the default system account", func(o *opts) { o.SystemAccount = "$SYS" }, ""},
		{"no system account", func(o *opts) { o.Operators[0].SystemAccount = "" }, ""},
		{"no system account, directory", func(o *opts) { o.Operators[0].SystemAccount, o.Resolver = "", full }, "using nats based account resolver - the system account needs to be specified in configuration or the operator jwt"},
		{"system account configured, directory", func(o *opts) {
			o.Operators[0].SystemAccount, o.SystemAccount, o.Resolver = "", pub(w.sys), full
		}, ""},
		{"this version", func(o *opts) { o.Operators[0].AssertServerVersion = "2.15.2" }, ""},
		{"an older version", func(o *opts) { o.Operators[0].AssertServerVersion = "1.99.99" }, ""},
		{"an older minor version", func(o *opts) { o.Operators[0].AssertServerVersion = "2.14.9" }, ""},
		{"newer major", func(o *opts) { o.Operators[0].AssertServerVersion = "3.0.0" }, "operator OP expected major version 3 > server major version 2"},
		{"newer minor", func(o *opts) { o.Operators[0].AssertServerVersion = "2.16.0" }, "operator OP expected minor version 16 > server minor version 15"},
		{"newer update", func(o *opts) { o.Operators[0].AssertServerVersion = "2.15.3" }, "operator OP expected update version 3 > server update version 2"},
		{"no version", func(o *opts) { o.Operators[0].AssertServerVersion = "2.x" }, "operator OP expects version 2.x got error instead: asserted server version must be of the form <major>.<minor>.<update>"},
		{"pinned", func(o *opts) { o.ResolverPinned = []string{pub(w.acc)} }, ""},
		{"pinned badly", func(o *opts) { o.ResolverPinned = []string{"x"} }, `pinned account key "x" is not a valid public account nkey`},
		{"signing key", func(o *opts) { o.Operators[0].SigningKeys = []string{"FOO"} }, `trusted Keys "FOO" are required to be a valid public operator nkey`},
		{"callout", func(o *opts) { o.Authorization.Callout = &options.AuthCallout{} }, "operators do not allow authorization callouts to be configured directly"},
		{"no_auth_user", func(o *opts) { o.NoAuthUser = "x" }, "no_auth_user not compatible with Trusted Operator"},
		{"sentinel", func(o *opts) { o.DefaultSentinel = bearer }, ""},
		{"scoped sentinel", func(o *opts) { o.DefaultSentinel = scoped }, ""},
		{"sentinel without operators", func(o *opts) { o.DefaultSentinel, o.Operators = bearer, nil }, "default sentinel requires operators and accounts"},
		{"sentinel with trusted keys", func(o *opts) { o.DefaultSentinel, o.Operators, o.TrustedKeys = bearer, nil, []string{op} }, "default sentinel requires operators and accounts"},
		{"sentinel that is none", func(o *opts) { o.DefaultSentinel = "x" }, "default sentinel JWT not valid"},
		{"sentinel of an account", func(o *opts) { o.DefaultSentinel = w.tokens[pub(w.acc)] }, "default sentinel JWT not valid"},
		{"sentinel with a key", func(o *opts) { o.DefaultSentinel = user(nil) }, "default sentinel must be a bearer token"},
		{"scoped sentinel of no account", func(o *opts) { o.DefaultSentinel = user(func(c *jwt.UserClaims) { c.SetScoped(true) }) }, "default sentinel must be a bearer token"},
		// What comes first when several things are wrong.
		{"sentinel before resolver", func(o *opts) { o.DefaultSentinel, o.Resolver = "x", nil }, "default sentinel JWT not valid"},
		{"accounts before users", func(o *opts) {
			o.Accounts, o.Authorization.Users = []*options.Account{{Name: "A"}}, []*options.User{{}}
		}, "operators do not allow Accounts to be configured directly"},
		{"system account before version", func(o *opts) { o.SystemAccount, o.Operators[0].AssertServerVersion = pub(w.acc), "3.0.0" }, "system_account in config and operator JWT must be identical"},
		{"version before callout", func(o *opts) {
			o.Authorization.Callout, o.Operators[0].AssertServerVersion = &options.AuthCallout{}, "3.0.0"
		}, "operator OP expected major version 3 > server major version 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			operator := *w.options.Operators[0]
			o := w.options
			o.Operators = []*options.Operator{&operator}
			tt.edit(&o)
			got := ""
			if err := Check(&o, "2.15.2"); err != nil {
				got = strings.ReplaceAll(err.Error(), op, "OP")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	o := w.options
	if err := Check(&o, "x"); err == nil {
		t.Error("a server without a version")
	}
}

func TestEnabled(t *testing.T) {
	if Enabled(&options.Options{}) || !Enabled(&options.Options{TrustedKeys: []string{"x"}}) || !Enabled(&options.Options{Operators: []*options.Operator{{}}}) {
		t.Error("operator mode is on with operators or trusted keys, and only then")
	}
}

func TestSystemAccountAtStart(t *testing.T) {
	w := newWorld(t)
	expired := w.accountOf(w.sys, w.op, func(c *jwt.AccountClaims) { c.Expires = time.Now().Unix() - 5 })
	foreign := w.accountOf(w.sys, newKey(t, nkeys.CreateOperator), nil)
	for _, tt := range []struct {
		kind  options.ResolverKind
		token string
		want  string
	}{
		{options.ResolverMemory, w.tokens[pub(w.sys)], ""},
		{options.ResolverMemory, "", "error resolving system account: account missing"},
		{options.ResolverMemory, expired, "error resolving system account: account validation failed"},
		{options.ResolverMemory, foreign, "error resolving system account: account validation failed"},
		{options.ResolverMemory, w.tokens[pub(w.acc)], "error resolving system account: account validation failed"},
		{options.ResolverFull, "", ""}, // it may still be pushed
		{options.ResolverFull, foreign, "error resolving system account: account validation failed"},
	} {
		w.options.Resolver = &options.Resolver{Kind: tt.kind, Dir: t.TempDir()}
		delete(w.tokens, pub(w.sys))
		if tt.token != "" {
			w.tokens[pub(w.sys)] = tt.token
		}
		cfg, _ := w.config(nil)
		m, err := New(cfg)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			m.Close()
		}
		if got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestOperatorsWithoutSystemAccount(t *testing.T) {
	w := newWorld(t)
	w.options.Operators[0].SystemAccount = ""
	cfg, rec := w.config(nil)
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if l := rec.takeLines(); len(l) != 1 || l[0] != "WRN Trusted Operators should utilize a System Account" {
		t.Errorf("log %q", l)
	}
	cfg.TrustedProxies = []string{"x"}
	if _, err := New(cfg); err == nil {
		t.Error("a proxy key that is none")
	}
}

func TestErrorsOfInvalidAccounts(t *testing.T) {
	cause := errors.New("why")
	err := invalid(cause)
	if err.Error() != "account validation failed" || !errors.Is(err, ErrInvalidAccount) || !errors.Is(err, cause) || reasonOf(err) != "why" {
		t.Errorf("%v, %s", err, reasonOf(err))
	}
}
