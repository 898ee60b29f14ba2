// Package auth decides who a connection is and what it may do: it checks the credentials of CONNECT against
// the configured users and compiles their permissions. It does no I/O.
package auth

import (
	"encoding/base64"
	"fmt"

	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

const (
	// GlobalAccount is the account of users without one.
	GlobalAccount = "$G"
	// redacted is what is shown instead of a token.
	redacted = "[REDACTED]"
)

// Config is what an Authenticator is made from. Nothing in it may change afterwards.
type Config struct {
	// Authorization is the server's authorization block, or that of a listener that overrides it (see Override).
	Authorization options.Authorization
	// Users are those of the accounts' blocks, each with the name of its account.
	Users []*options.User
	// AccountDefaults are the default permissions of accounts by name. The users of Authorization
	// get Authorization.Defaults instead.
	AccountDefaults map[string]*options.Permissions
	// NoAuthUser names the user, or the nkey, of connections that present no credentials; empty means none.
	NoAuthUser string
	// AnonymousGlobal lets connections without credentials into the global account although there are
	// users. So it is when all of these hold: only the system account has users, there is no other account
	// but the global one, no authorization block and no no_auth_user.
	AnonymousGlobal bool
	// MapCertificates takes the user from the client's certificate (verify_and_map of this listener).
	MapCertificates bool
	// RefuseEmptyPasswords refuses users without a password. It belongs on a listener that does not map
	// certificates when another one does: those users are meant to be proven by a certificate.
	RefuseEmptyPasswords bool
	// TrustedProxies are the public nkeys of proxies that may vouch for connections.
	TrustedProxies []string
	// Delegate, if there is one, is asked about every login.
	Delegate Delegate
}

// Delegate decides about logins in place of the configured users, or around them: operator mode, callouts.
// Its methods are called concurrently.
type Delegate interface {
	// NonceRequired reports whether clients must be sent a nonce to sign.
	NonceRequired() bool
	// Authenticate decides about a login; its errors are those of Authenticator.Authenticate. local asks the
	// configured users about the same request. It may block for as long as the connection may take to log in.
	Authenticate(req *Request, local func() (*Identity, error)) (*Identity, error)
}

// Keeper is a Delegate that may vouch for a login longer than for the moment of it.
type Keeper interface {
	// Keeps reports whether an identity that was given out, perhaps by an earlier Delegate, holds without a new login.
	Keeps(id *Identity) bool
}

// Override returns the Config of a listener that has settings of its own. The listener's single user,
// token and no_auth_user replace the server's if it has any of them; whether certificates are mapped is
// always the listener's.
func (c Config) Override(listener *options.Authorization, noAuthUser string, mapCertificates bool) Config {
	c.MapCertificates = mapCertificates
	if listener != nil && (listener.Username != "" || listener.Token != "") || noAuthUser != "" {
		a := options.Authorization{}
		if listener != nil {
			a = *listener
		}
		c.Authorization.Username, c.Authorization.Password, c.Authorization.Token = a.Username, a.Password, a.Token
		c.NoAuthUser = noAuthUser
		c.AnonymousGlobal = false
	}
	return c
}

// Authenticator decides about logins. It never changes, takes no lock, and any number of goroutines may use
// it; a reload makes a new one.
type Authenticator struct {
	cfg     Config
	users   map[string]*user // by name
	nkeys   map[string]*user // by public nkey
	named   []namedUser      // users whose names are distinguished names, in the order of the configuration
	noAuth  *user            // nil without no_auth_user
	proxies []nkeys.KeyPair
}

// user is a configured user, checked and compiled.
type user struct {
	*options.User
	account     string
	permissions *Permissions
}

type namedUser struct {
	name distinguishedName
	user *user
}

// New checks the configuration and compiles it. The errors are for the operator.
func New(cfg Config) (*Authenticator, error) {
	a := &Authenticator{cfg: cfg, users: make(map[string]*user), nkeys: make(map[string]*user)}
	for _, u := range cfg.Authorization.Users {
		if err := a.add(u, cfg.Authorization.Defaults); err != nil {
			return nil, err
		}
	}
	for _, u := range cfg.Users {
		if err := a.add(u, cfg.AccountDefaults[accountOf(u)]); err != nil {
			return nil, err
		}
	}
	if name := cfg.NoAuthUser; name != "" {
		if a.noAuth = a.nkeys[name]; a.noAuth == nil {
			a.noAuth = a.users[name]
		}
		if a.noAuth == nil {
			return nil, fmt.Errorf("no_auth_user: %q not present as user or nkey in authorization block or account configuration", name)
		}
	}
	for _, key := range cfg.TrustedProxies {
		pub, err := nkeys.FromPublicKey(key)
		if err != nil {
			return nil, fmt.Errorf("proxies: %q is not a valid public nkey", key)
		}
		a.proxies = append(a.proxies, pub)
	}
	return a, nil
}

func (a *Authenticator) add(u *options.User, defaults *options.Permissions) error {
	permissions := u.Permissions
	if permissions == nil {
		permissions = defaults
	}
	compiled, err := Compile(permissions)
	if err != nil {
		return fmt.Errorf("invalid permissions for user %q: %w", displayName(u), err)
	}
	c := &user{User: u, account: accountOf(u), permissions: compiled}
	if u.Nkey != "" {
		if !nkeys.IsValidPublicUserKey(u.Nkey) {
			return errBadUserNkey
		}
		if a.nkeys[u.Nkey] != nil {
			//lint:ignore ST1005 the protocol's text
			return fmt.Errorf("Duplicate nkey %q detected", u.Nkey)
		}
		a.nkeys[u.Nkey] = c
		return nil
	}
	if a.users[u.Username] != nil {
		//lint:ignore ST1005 the protocol's text
		return fmt.Errorf("Duplicate user %q detected", u.Username)
	}
	a.users[u.Username] = c
	if dn, ok := parseDN(u.Username); ok {
		a.named = append(a.named, namedUser{dn, c})
	}
	return nil
}

func accountOf(u *options.User) string {
	if u.Account == "" {
		return GlobalAccount
	}
	return u.Account
}

func displayName(u *options.User) string {
	if u.Nkey != "" {
		return u.Nkey
	}
	return u.Username
}

// Required reports whether a connection must log in before anything else. With a user for those who present
// nothing (see Anonymous) the login may be the first operation itself.
func (a *Authenticator) Required() bool {
	auth := &a.cfg.Authorization
	return a.cfg.Delegate != nil || len(a.users) > 0 || len(a.nkeys) > 0 || auth.Username != "" || auth.Token != ""
}

// HasNoAuthUser reports whether no_auth_user is configured. INFO then does not say auth_required.
func (a *Authenticator) HasNoAuthUser() bool {
	return a.noAuth != nil
}

// Anonymous reports whether a connection that presents no credentials may be let in although others must
// present some; its first operation then counts as a CONNECT without credentials.
func (a *Authenticator) Anonymous() bool {
	return a.noAuth != nil || a.cfg.AnonymousGlobal
}

// NonceRequired reports whether INFO must carry a nonce for clients, or proxies, to sign.
func (a *Authenticator) NonceRequired() bool {
	return len(a.nkeys) > 0 || len(a.proxies) > 0 || a.cfg.Delegate != nil && a.cfg.Delegate.NonceRequired()
}

// Authenticate decides about a login. The error is always a *Failure, which wraps ErrAuthorization.
//
// It may take long (a bcrypt comparison takes 100 ms and more of one core by design), so it belongs on
// the connection's own goroutine, with no lock held.
func (a *Authenticator) Authenticate(req *Request) (*Identity, error) {
	proxied, err := a.checkProxy(req)
	if err != nil {
		return nil, err
	}
	req.Proxied = proxied
	local := func() (*Identity, error) { return a.authenticateLocal(req, proxied) }
	if a.cfg.Delegate != nil {
		return a.cfg.Delegate.Authenticate(req, local)
	}
	return local()
}

// Keeps reports whether the identity of a connection holds without asking for its login again. See Keeper.
func (a *Authenticator) Keeps(id *Identity) bool {
	k, ok := a.cfg.Delegate.(Keeper)
	return ok && id != nil && k.Keeps(id)
}

// authenticateLocal tries the methods in their order: nkey, users (by certificate, or by name and password),
// token, single user. What the first that applies says is final.
func (a *Authenticator) authenticateLocal(req *Request, proxied bool) (*Identity, error) {
	if !a.Required() {
		return &Identity{Account: GlobalAccount, Name: claimedName(req)}, nil
	}
	id, err := a.identify(req)
	if err != nil {
		return nil, err
	}
	// The block's own setting is about its token and single user; users have one each.
	required := id.Source == nil && a.cfg.Authorization.ProxyRequired || id.Source != nil && id.Source.ProxyRequired
	if required && !proxied {
		return nil, refuse(req, CloseProxyRequired, "proxy connection required")
	}
	return id, nil
}

func (a *Authenticator) identify(req *Request) (*Identity, error) {
	if len(a.nkeys) > 0 {
		if req.Nkey != "" {
			return a.byNkey(req)
		}
		if a.noAuth != nil && a.noAuth.Nkey != "" && req.empty() {
			return a.admit(req, a.noAuth)
		}
	}
	if len(a.users) > 0 {
		if a.cfg.MapCertificates {
			return a.byCertificate(req)
		}
		if a.noAuth != nil && a.noAuth.Nkey == "" && req.empty() {
			return a.admit(req, a.noAuth)
		}
		if req.User != "" {
			return a.byPassword(req)
		}
	}
	if a.cfg.AnonymousGlobal && req.empty() {
		return &Identity{Account: GlobalAccount}, nil
	}
	return a.bySingle(req)
}

func (a *Authenticator) byNkey(req *Request) (*Identity, error) {
	u := a.nkeys[req.Nkey]
	if u == nil {
		return nil, refuse(req, CloseAuthentication, "unknown nkey")
	}
	if u != a.noAuth {
		if req.Sig == "" {
			return nil, refuse(req, CloseAuthentication, "signature missing")
		}
		if reason := verifySignature(req.Nkey, req.Nonce, req.Sig); reason != "" {
			return nil, refuse(req, CloseAuthentication, reason)
		}
	}
	return a.admit(req, u)
}

func (a *Authenticator) byPassword(req *Request) (*Identity, error) {
	u := a.users[req.User]
	if u == nil {
		return nil, refuse(req, CloseAuthentication, "unknown user")
	}
	if !u.allowsType(req.Type) {
		return nil, refuse(req, CloseAuthentication, "connection type not allowed")
	}
	if u.Password == "" && a.cfg.RefuseEmptyPasswords {
		return nil, refuse(req, CloseAuthentication, "user without password needs a certificate")
	}
	return a.checkPassword(req, u)
}

func (a *Authenticator) checkPassword(req *Request, u *user) (*Identity, error) {
	if !passwordMatches(u.Password, req.Pass) {
		return nil, refuse(req, CloseAuthentication, "wrong password")
	}
	return a.admit(req, u)
}

// bySingle checks the token, or the single user, of the authorization block.
func (a *Authenticator) bySingle(req *Request) (*Identity, error) {
	switch auth := &a.cfg.Authorization; {
	case auth.Token != "":
		if !passwordMatches(auth.Token, req.Token) {
			return nil, refuse(req, CloseAuthentication, "wrong token")
		}
		return &Identity{Account: GlobalAccount, Name: redacted}, nil
	case auth.Username != "":
		if auth.Username != req.User || !passwordMatches(auth.Password, req.Pass) {
			return nil, refuse(req, CloseAuthentication, "wrong user or password")
		}
		return &Identity{Account: GlobalAccount, Name: auth.Username}, nil
	}
	return nil, refuse(req, CloseAuthentication, "no credentials that any method takes")
}

// admit makes the identity of a user who has proven to be it.
func (a *Authenticator) admit(req *Request, u *user) (*Identity, error) {
	if !u.allowsType(req.Type) {
		return nil, refuse(req, CloseAuthentication, "connection type not allowed")
	}
	return &Identity{Account: u.account, Name: displayName(u.User), Permissions: u.permissions, Source: u.User}, nil
}

// claimedName is what to display of a connection that nobody asked for credentials.
func claimedName(req *Request) string {
	switch {
	case req.Nkey != "":
		return req.Nkey
	case req.User != "":
		return req.User
	case req.Token != "":
		return redacted
	}
	return ""
}

// checkProxy reports whether a trusted proxy vouches for the connection: it has signed the nonce. Without
// trusted proxies a signature means nothing; with them a wrong one refuses the login.
func (a *Authenticator) checkProxy(req *Request) (bool, error) {
	if req.ProxySig == "" || len(a.proxies) == 0 {
		return false, nil
	}
	sig, err := base64.RawURLEncoding.DecodeString(req.ProxySig)
	if err == nil && req.Nonce != "" {
		for _, key := range a.proxies {
			if key.Verify([]byte(req.Nonce), sig) == nil {
				return true, nil
			}
		}
	}
	return false, refuse(req, CloseProxyNotTrusted, "proxy signature is not by a trusted proxy")
}
