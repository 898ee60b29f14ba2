package jwtauth

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/auth"
)

// ReadUser reads a user JWT that a service answered a login with, and checks the signature by whoever it says has issued
// it, what it claims, and its end. Who may issue it, and for whom, is the caller's matter.
func ReadUser(token string) (*jwt.UserClaims, error) {
	c, err := decodeUser(token)
	if err != nil {
		return nil, err
	}
	return c, valid(c, time.Now())
}

// valid checks what claims say and whether they have ended.
func valid(c *jwt.UserClaims, now time.Time) error {
	if content, times := problems(c); len(content)+len(times) > 0 {
		return fmt.Errorf("JWT is not valid: %s", strings.Join(append(content, times...), ", "))
	}
	if over(unixTime(c.Expires), now) {
		return errUserEnded
	}
	return nil
}

// Admit makes the identity of a user JWT that a service answered a login with, in operator mode. All checks of Login
// apply but for the signature of the nonce, as the service vouches for the user.
func (m *Manager) Admit(token string, req *auth.Request) (*auth.Identity, error) {
	l := &login{req: req, manager: m, settings: m.settings.Load(), now: time.Now(), token: token, vouched: true}
	u, err := l.run()
	if err != nil {
		return nil, err
	}
	u.Vouched = true
	id := identityOf(u)
	if u.Label != "" {
		id.Name = u.Label
	}
	return id, nil
}

// AdmitTo makes the identity of claims that a service answered a login with, for an account of the configuration.
// defaults are the permissions of users there who have none of their own. Checked are the type of the connection, its
// source, the times and, if a proxy has to vouch, that it has.
func AdmitTo(account string, defaults *auth.Permissions, c *jwt.UserClaims, token string, req *auth.Request) (*auth.Identity, error) {
	if c.ProxyRequired && !req.Proxied {
		return nil, errProxy
	}
	if !allowsType(c.AllowedConnectionTypes, req.Type) {
		return nil, errType
	}
	if err := allowsSource(c.Src, req.Host); err != nil {
		return nil, err
	}
	until, err := allowedUntil(c.Times, c.Locale, time.Now())
	if err != nil {
		return nil, err
	}
	rights := &c.UserPermissionLimits
	permissions, err := compile(&rights.Permissions, defaults)
	if err != nil {
		return nil, err
	}
	id := &auth.Identity{Account: account, Name: c.Name, Permissions: permissions, Expires: earlier(unixTime(c.Expires), until),
		Limits:    &auth.Limits{MaxSubs: userLimit(rights.Subs), MaxPayload: userLimit(rights.Payload)},
		IssuerKey: c.Issuer, NameTag: account, Tags: c.Tags}
	if id.Name == "" {
		id.Name = c.Subject
	}
	if !c.BearerToken {
		id.JWT = token
	}
	return id, nil
}
