package jwtauth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/auth"
)

// Login decides about a login. The error is an *auth.Failure, whose reason is for the log. It may block as long as the
// lookup of an account may take.
//
// The checks come in the order in which nats-server makes them: the JWT can be read, proxy, claims, pinned accounts,
// account, issuer, scope, account's end, bearer, type of connection, signature, revocation, source, times.
func (m *Manager) Login(req *auth.Request) (*User, error) {
	s := m.settings.Load()
	l := &login{req: req, manager: m, settings: s, now: time.Now()}
	u, err := l.run()
	if err != nil {
		f := &auth.Failure{Close: auth.CloseAuthentication, Reason: reasonOf(err), User: req.User, Nkey: req.Nkey, Token: req.Token != ""}
		if errors.Is(err, errProxy) {
			f.Close = auth.CloseProxyRequired
		}
		return nil, f
	}
	return u, nil
}

// Reasons of refused logins, beside those that name what is wrong.
var (
	errNoJWT       = errors.New("a user JWT is required")
	errProxy       = errors.New("proxy connection required")
	errPinned      = errors.New("account is not among the pinned accounts")
	errIssuer      = errors.New("JWT is not issued by its account or one of its signing keys")
	errEnded       = errors.New("account JWT is expired")
	errBearer      = errors.New("account does not allow bearers")
	errType        = errors.New("connection type not allowed")
	errSignature   = errors.New("signature missing")
	errSignedWrong = errors.New("signature does not fit the nonce")
	errRevoked     = errors.New("JWT is revoked")
	errUserEnded   = errors.New("JWT is expired")
)

// login is one login under way.
type login struct {
	req      *auth.Request
	manager  *Manager
	settings *settings
	now      time.Time

	token   string
	claims  *jwt.UserClaims
	vouched bool // a service has sent the token for the user, who need not prove anything
}

func (l *login) run() (*User, error) {
	if err := l.decode(); err != nil {
		return nil, err
	}
	c := l.claims
	if c.ProxyRequired && !l.proxied() {
		return nil, errProxy
	}
	if err := valid(c, l.now); err != nil {
		return nil, err
	}
	key := c.IssuerAccount
	if key == "" {
		key = c.Issuer
	}
	if l.settings.pinned != nil && !l.settings.pinned[key] {
		l.manager.pinnedFails.Add(1)
		return nil, errPinned
	}
	account, err := l.manager.find(key, false)
	if err != nil {
		return nil, fmt.Errorf("account lookup: %w", err)
	}
	rights, err := l.rights(account)
	if err != nil {
		return nil, err
	}
	if err := l.admit(account, rights); err != nil {
		return nil, err
	}
	until, err := allowedUntil(rights.Times, rights.Locale, l.now)
	if err != nil {
		return nil, err
	}
	return newUser(account, c, l.token, rights, earlier(unixTime(c.Expires), until))
}

// decode reads the JWT, or in place of none the sentinel.
func (l *login) decode() (err error) {
	if l.vouched {
		l.claims, err = decodeUser(l.token)
		return err
	}
	if l.token = l.req.JWT; l.token != "" {
		if l.claims, err = decodeUser(l.token); err == nil {
			return nil
		}
	}
	if sentinel := l.settings.sentinel; sentinel != "" {
		l.token = sentinel
		l.claims, err = decodeUser(sentinel)
		return err
	}
	if l.token == "" {
		return errNoJWT
	}
	return fmt.Errorf("%w: %w", errNoJWT, err)
}

// rights returns what the account lets the user do: what the JWT says, or the scope of the key that signed it.
func (l *login) rights(a *Account) (*jwt.UserPermissionLimits, error) {
	scope, ok := a.issuerOf(l.claims)
	if !ok {
		return nil, errIssuer
	}
	if scope == nil {
		return &l.claims.UserPermissionLimits, nil
	}
	rights, err := scopedLimits(scope, l.claims, a.Claims)
	if err != nil {
		return nil, err
	}
	if rights.ProxyRequired && !l.proxied() {
		return nil, errProxy
	}
	return &rights, nil
}

// admit makes the checks from the account's end to the user's source.
func (l *login) admit(a *Account, rights *jwt.UserPermissionLimits) error {
	c := l.claims
	switch {
	case a.Expired(l.now):
		return errEnded
	case rights.BearerToken && a.Claims.Limits.DisallowBearer:
		return errBearer
	case !allowsType(rights.AllowedConnectionTypes, l.req.Type):
		return errType
	}
	if !rights.BearerToken && !l.vouched {
		if err := verify(c.Subject, l.req.Nonce, l.req.Sig); err != nil {
			return err
		}
	}
	if a.Revoked(c.Subject, unixTime(c.IssuedAt)) {
		return errRevoked
	}
	return allowsSource(rights.Src, l.req.Host)
}

// proxied reports whether a trusted proxy has signed the nonce.
func (l *login) proxied() bool {
	sig, err := base64.RawURLEncoding.DecodeString(l.req.ProxySig)
	if err != nil || l.req.ProxySig == "" || l.req.Nonce == "" {
		return false
	}
	return slices.ContainsFunc(l.settings.proxies, func(k nkeys.KeyPair) bool { return k.Verify([]byte(l.req.Nonce), sig) == nil })
}

// verify checks the signature of the nonce by the user's key. It may be in base64 for URLs or in the standard one.
func verify(user, nonce, signature string) error {
	if signature == "" {
		return errSignature
	}
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		if sig, err = base64.StdEncoding.DecodeString(signature); err != nil {
			return fmt.Errorf("signature is not base64: %w", err)
		}
	}
	key, err := nkeys.FromPublicKey(user)
	if err != nil {
		return fmt.Errorf("public key of the user: %w", err)
	}
	if nonce == "" || key.Verify([]byte(nonce), sig) != nil {
		return errSignedWrong
	}
	return nil
}

// allowsType reports whether a list of connection types, in any case, has the type. Names that are not known allow
// nothing; an empty list allows all.
func allowsType(list []string, t auth.ConnectionType) bool {
	if t == "" {
		t = auth.Standard
	}
	return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, string(t)) })
}
