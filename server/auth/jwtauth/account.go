package jwtauth

import (
	"reflect"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/auth"
	"godwit/server/options"
)

// Account is one version of an account: what its JWT says, checked and made ready. It never changes; an update makes
// another.
type Account struct {
	Key      string // public account nkey, which is the account's name
	Name     string // to display; may be empty
	Issuer   string // the public operator key that signed it
	Tags     []string
	JWT      string
	IssuedAt time.Time
	Expires  time.Time // zero is never

	// Settings are limits, exports, imports, mappings, streams and traces, as configured ones are described.
	// Activations has the tokens for the imports of Settings, by their index; see Authorize. Limits and
	// weights that are left out in the JWT have their defaults.
	Settings    *options.Account
	Activations []string
	// Tiers are limits of streams by the tier, like "R1" and "R3". With tiers, Settings.JetStream only says
	// that streams are allowed.
	Tiers map[string]*options.AccountJetStream
	// Callout says who decides about the logins of the account; nil for the server itself.
	Callout *options.AuthCallout
	// Claims is all of the JWT, to display.
	Claims *jwt.AccountClaims

	strict   bool // only signing keys sign users
	defaults *auth.Permissions
}

// newAccount checks an account JWT and makes it ready. An error wraps ErrInvalidAccount or ErrSigningKey.
func newAccount(t *trust, token string, c *jwt.AccountClaims) (*Account, error) {
	if err := t.check(c); err != nil {
		return nil, err
	}
	if content, _ := problems(c); len(content) > 0 {
		return nil, invalid(contentError(content))
	}
	settings, activations := describe(c)
	defaults, err := auth.Compile(settings.Defaults)
	if err != nil {
		return nil, invalid(err)
	}
	return &Account{
		Key: c.Subject, Name: c.Name, Issuer: c.Issuer, Tags: c.Tags, JWT: token,
		IssuedAt: unixTime(c.IssuedAt), Expires: unixTime(c.Expires),
		Settings: settings, Activations: activations, Tiers: tiersOf(c), Callout: calloutOf(c), Claims: c,
		strict: t.strict[c.Issuer], defaults: defaults,
	}, nil
}

// invalidError is ErrInvalidAccount with the reason for the log.
type invalidError struct{ cause error }

func invalid(cause error) error { return &invalidError{cause} }

func (e *invalidError) Error() string   { return ErrInvalidAccount.Error() }
func (e *invalidError) Unwrap() []error { return []error{ErrInvalidAccount, e.cause} }

// Reason is why the JWT is invalid.
func (e *invalidError) Reason() string { return e.cause.Error() }

// Expired reports whether the account's JWT has ended.
func (a *Account) Expired(now time.Time) bool { return over(a.Expires, now) }

// DefaultPermissions are those of users without any; nil permits everything.
func (a *Account) DefaultPermissions() *auth.Permissions { return a.defaults }

// Revoked reports whether the account has withdrawn the JWT of the user that was issued then. The list may hold
// a time for all users.
func (a *Account) Revoked(user string, issued time.Time) bool {
	return a.Claims.Revocations.IsRevoked(user, issued)
}

// issuerOf returns the scope of the key that signed a user JWT of this account, nil if it has none. ok is false if the
// key may not sign users.
func (a *Account) issuerOf(c *jwt.UserClaims) (scope *jwt.UserScope, ok bool) {
	s, listed := a.Claims.SigningKeys.GetScope(c.Issuer)
	switch {
	case listed && (c.IssuerAccount == a.Key || c.Issuer == a.Key):
		if s == nil {
			return nil, true
		}
		scope, ok = s.(*jwt.UserScope)
		return scope, ok
	case c.Issuer == a.Key:
		return nil, !a.strict
	}
	return nil, false
}

// sameIssuer reports whether the key signs users in the same way in both versions of an account.
func (a *Account) sameIssuer(old *Account, key string) bool {
	now, ok := a.Claims.SigningKeys.GetScope(key)
	before, had := old.Claims.SigningKeys.GetScope(key)
	if !ok && !had && key == a.Key {
		return a.strict == old.strict
	}
	return ok && had && reflect.DeepEqual(now, before)
}
