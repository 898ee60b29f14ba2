package jwtauth

import (
	"time"

	"godwit/server/auth"
)

// Ending says why a connection that is logged in must be closed.
type Ending struct {
	Text   string // of -ERR; empty sends none
	Reason string // for monitoring and events
}

// Reasons of closed connections that this package decides about.
const (
	reasonExpired        = "Authentication Expired"
	reasonRevoked        = "Credentials Revoked"
	reasonAuthentication = "Authentication Failure"
)

// Recheck looks at a user who has logged in, after the account has changed. A nil Ending means that the user may stay,
// with the permissions that are returned. How many connections an account may have is not looked at, nor time windows and
// the end of the JWT: those are the matter of Identity.Expires.
func (c *Change) Recheck(u *User) (*auth.Permissions, *Ending) {
	if c.Ended {
		return nil, endedAccount()
	}
	return c.Account.recheck(u)
}

// Recheck is Change.Recheck against what is in force now. A server must ask it once a connection can be found by those
// who look for the connections of an account, as the account may have changed between the login and then.
func (m *Manager) Recheck(u *User) (*auth.Permissions, *Ending) {
	a := m.Loaded(u.Account)
	if a == nil {
		return nil, endedAccount()
	}
	return a.recheck(u)
}

func endedAccount() *Ending { return &Ending{"Account Authentication Expired", reasonExpired} }

func (a *Account) recheck(u *User) (*auth.Permissions, *Ending) {
	switch {
	case a.Expired(time.Now()):
		return nil, endedAccount()
	case a == u.version:
		return u.Permissions, nil
	case a.Revoked(u.Key, u.IssuedAt):
		return nil, &Ending{"User Authentication Revoked", reasonRevoked}
	case u.Bearer && a.Claims.Limits.DisallowBearer:
		return nil, &Ending{auth.ErrAuthorization.Error(), reasonAuthentication}
	case !a.sameIssuer(u.version, u.Issuer):
		return nil, &Ending{"", reasonAuthentication}
	case u.inherited:
		return a.defaults, nil
	}
	return u.Permissions, nil
}
