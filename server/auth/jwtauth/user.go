package jwtauth

import (
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/auth"
	"godwit/server/options"
)

// User is who has logged in by JWT. It never changes. Name of the Identity is the user's key.
type User struct {
	auth.Identity
	Key       string // public user nkey
	Label     string // the name in the JWT, to display; may be empty
	Tags      []string
	JWT       string // also that of a bearer, which must not be shown: see Bearer
	Bearer    bool   // no key was needed
	Issuer    string // public account nkey that signed the JWT: the account's or a signing key
	IssuedAt  time.Time
	Limits    UserLimits
	NameTag   string   // of the account, to display
	Vouched   bool     // a service answered with the JWT; the user has proved nothing
	inherited bool     // the permissions are the account's defaults
	version   *Account // that the user logged into
}

// UserLimits bound one connection, beside the limits of its account and of the server; the tightest holds.
// options.Unlimited (-1) is no limit.
type UserLimits struct {
	MaxSubs    int32
	MaxPayload int32 // bytes
}

// ShownJWT is the JWT for monitoring: a bearer's is a password and stays hidden.
func (u *User) ShownJWT() string {
	if u.Bearer {
		return ""
	}
	return u.JWT
}

// newUser makes the user of checked claims. rights are those of the claims, or of the scope's template.
func newUser(a *Account, c *jwt.UserClaims, token string, rights *jwt.UserPermissionLimits, expires time.Time) (*User, error) {
	permissions, err := compile(&rights.Permissions, a.defaults)
	if err != nil {
		return nil, err
	}
	return &User{
		Identity:  auth.Identity{Account: a.Key, Name: c.Subject, Permissions: permissions, Expires: expires},
		Key:       c.Subject,
		Label:     c.Name,
		Tags:      c.Tags,
		JWT:       token,
		Bearer:    rights.BearerToken,
		Issuer:    c.Issuer,
		IssuedAt:  unixTime(c.IssuedAt),
		Limits:    UserLimits{MaxSubs: userLimit(rights.Subs), MaxPayload: userLimit(rights.Payload)},
		NameTag:   a.Name,
		inherited: permissionsOf(&rights.Permissions) == nil,
		version:   a,
	}, nil
}

// userLimit is a limit of a user. In a user's claims only -1 is no limit: a limit that is left out is 0, and what is
// below -1 allows nothing either.
func userLimit(n int64) int32 {
	if n == jwt.NoLimit {
		return options.Unlimited
	}
	return limit32(max(n, 0))
}
