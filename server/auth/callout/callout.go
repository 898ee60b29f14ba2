// Package callout lets a service decide about logins: a client of one account, asked by a request on Subject, answers
// with the user JWT that the login shall have, or with a refusal. In configuration mode auth_callout names the service; in
// operator mode an account's JWT does, for the logins into it.
//
// The package sends nothing itself: the server carries a request to the service and the answer back.
package callout

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/auth"
	"godwit/server/auth/jwtauth"
	"godwit/server/options"
)

const (
	// Subject is where services get requests. Other clients of their account must not publish there.
	Subject = "$SYS.REQ.USER.AUTH"
	// HeaderXKey names the key that a sealed answer has to be sealed for.
	HeaderXKey = "Nats-Server-Xkey"

	requestAudience = "nats-authorization-request"
)

// ErrNoAnswer is what Options.Ask returns when no answer came in time.
var ErrNoAnswer = errors.New("no answer in time")

// Options is what a Delegate is made from. All is required unless something else is said.
type Options struct {
	// Config is auth_callout; nil in operator mode.
	Config *options.AuthCallout
	// Operators decides about logins in operator mode; nil otherwise.
	Operators *jwtauth.Manager
	// Server describes the server; its XKey is left empty unless requests are sealed.
	Server func() jwt.ServerID
	// Key signs requests, Curve seals them.
	Key, Curve nkeys.KeyPair
	// Timeout is how long to wait for an answer; above 0.
	Timeout time.Duration
	// Ask publishes a request in an account and returns the first answer, which is the caller's. Without one in time
	// the error is ErrNoAnswer.
	Ask func(account, subject string, header, body []byte, wait time.Duration) ([]byte, error)
	// Target reports whether an account of the configuration exists, and the permissions of its users who have none
	// of their own.
	Target func(account string) (defaults *auth.Permissions, ok bool)
	// Debugf logs what the refused client is not told.
	Debugf func(format string, args ...any)
}

// Delegate implements auth.Delegate. It never changes; all methods may be called concurrently.
type Delegate struct{ o Options }

// New returns a Delegate.
func New(o Options) *Delegate { return &Delegate{o} }

// NonceRequired implements auth.Delegate.
func (d *Delegate) NonceRequired() bool { return d.o.Operators != nil }

// answered marks an identity that a service has given, and under which configuration.
type answered struct{ config options.AuthCallout }

// Keeps implements auth.Keeper: what the service has said holds as long as it is the same service, and until the end
// that it has named.
func (d *Delegate) Keeps(id *auth.Identity) bool {
	if d.o.Operators != nil {
		u, ok := id.Detail.(*jwtauth.User)
		if !ok || !u.Vouched {
			return false
		}
		_, end := d.o.Operators.Recheck(u)
		return end == nil
	}
	was, ok := id.Detail.(*answered)
	return ok && d.o.Config != nil && sameConfig(&was.config, d.o.Config)
}

func sameConfig(a, b *options.AuthCallout) bool {
	return a.Issuer == b.Issuer && a.Account == b.Account && a.XKey == b.XKey &&
		slices.Equal(a.AuthUsers, b.AuthUsers) && slices.Equal(a.AllowedAccounts, b.AllowedAccounts)
}

// Authenticate implements auth.Delegate.
func (d *Delegate) Authenticate(req *auth.Request, local func() (*auth.Identity, error)) (*auth.Identity, error) {
	if d.o.Operators != nil {
		return d.operator(req)
	}
	cfg := d.o.Config
	id, err := local()
	account := auth.GlobalAccount
	if err == nil {
		account = id.Account
	}
	var failure *auth.Failure
	if errors.As(err, &failure) && failure.Close != auth.CloseAuthentication {
		return nil, err // a proxy is missing, which no service can make up for
	}
	if account != auth.GlobalAccount && len(cfg.AllowedAccounts) > 0 && !slices.Contains(cfg.AllowedAccounts, account) {
		return id, err
	}
	if !slices.Contains(cfg.AuthUsers, claimed(req)) {
		if id, err = d.ask(cfg, req); err == nil {
			id.Detail = &answered{*cfg}
		}
	}
	return guard(cfg.Account, id, err)
}

// claimed is who the client says it is.
func claimed(req *auth.Request) string {
	switch {
	case req.Nkey != "":
		return req.Nkey
	case req.User != "":
		return req.User
	}
	return req.Token
}

// operator decides in operator mode: first the JWT must do for the account, then the account's service is asked.
func (d *Delegate) operator(req *auth.Request) (*auth.Identity, error) {
	id, err := d.o.Operators.Authenticate(req, nil)
	if err != nil {
		return nil, err
	}
	account := d.o.Operators.Loaded(id.Account)
	if account == nil || account.Callout == nil {
		return id, nil
	}
	if !slices.Contains(account.Callout.AuthUsers, id.Name) {
		id, err = d.ask(account.Callout, req)
	}
	return guard(account.Key, id, err)
}

// guard takes from members of the service's account the right to pose as the server.
func guard(account string, id *auth.Identity, err error) (*auth.Identity, error) {
	if err != nil || id.Account != account {
		return id, err
	}
	perms, err := id.Permissions.DenyPublish(Subject)
	if err != nil {
		return nil, err
	}
	guarded := *id
	guarded.Permissions = perms
	return &guarded, nil
}

// ask lets the service decide.
func (d *Delegate) ask(cfg *options.AuthCallout, req *auth.Request) (*auth.Identity, error) {
	id, err := d.exchange(cfg, req)
	if err == nil {
		return id, nil
	}
	d.o.Debugf("%v", err)
	return nil, &auth.Failure{Close: auth.CloseAuthentication, Reason: err.Error(), User: req.User, Nkey: req.Nkey,
		Token: req.Token != "", Account: cfg.Account}
}

// exchange sends a request and judges the answer. The errors' texts are the protocol's.
func (d *Delegate) exchange(cfg *options.AuthCallout, req *auth.Request) (*auth.Identity, error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	defer user.Wipe()
	key, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	header, body, err := d.request(cfg, key, req)
	if err != nil {
		return nil, fmt.Errorf("auth callout request: %w", err)
	}
	answer, err := d.o.Ask(cfg.Account, Subject, header, body, d.o.Timeout)
	if err != nil {
		//lint:ignore ST1005 the protocol's text
		return nil, fmt.Errorf("Authorization callout response not received in time on account %q", cfg.Account)
	}
	return d.judge(cfg, key, answer, req)
}
