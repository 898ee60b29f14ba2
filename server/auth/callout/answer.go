package callout

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/jwt/v2"

	"godwit/server/auth"
	"godwit/server/auth/jwtauth"
	"godwit/server/options"
)

// plainJWT is how every JWT begins; an answer that does not is sealed.
var plainJWT = []byte("eyJ")

// anyAccount among the allowed accounts of a claim allows all.
const anyAccount = "*"

// Errors of answers. The texts are the protocol's.
//
//lint:file-ignore ST1005 the protocol's texts
var (
	errSigningKey = errors.New("Auth callout signing key is unknown")
	errNotUser    = errors.New("auth callout response is not for expected user")
	errNotServer  = errors.New("auth callout response is not for expected server")
)

// judge makes the identity that an answer gives to the user with the public nkey key.
func (d *Delegate) judge(cfg *options.AuthCallout, key string, answer []byte, req *auth.Request) (*auth.Identity, error) {
	violation := func(err any) error {
		return fmt.Errorf("Auth callout violation: %q on account %q", fmt.Sprint(err), cfg.Account)
	}
	if len(answer) == 0 {
		return nil, violation("no reason supplied")
	}
	if cfg.XKey != "" && !bytes.HasPrefix(answer, plainJWT) {
		plain, err := d.o.Curve.Open(answer, cfg.XKey)
		if err != nil {
			return nil, violation(fmt.Errorf("answer cannot be opened: %w", err))
		}
		answer = plain
	}
	response, err := readResponse(string(answer))
	if err != nil {
		return nil, violation(err)
	}
	switch {
	case response.Subject != key:
		return nil, violation(errNotUser)
	case response.Audience != d.o.Server().ID:
		return nil, violation(errNotServer)
	case !d.signs(cfg, response.Issuer, response.IssuerAccount):
		return nil, errSigningKey
	case response.Error != "":
		return nil, fmt.Errorf("Auth callout service returned an error: %s", response.Error)
	case response.Jwt == "":
		return nil, violation("no reason supplied")
	}
	user, err := jwtauth.ReadUser(response.Jwt)
	if err != nil {
		return nil, violation(err)
	}
	if user.Subject != key {
		return nil, violation(errNotUser)
	}
	return d.admit(cfg, user, response.Jwt, req)
}

// readResponse reads an answer. A JWT that the library trips over is an error.
func readResponse(token string) (c *jwt.AuthorizationResponseClaims, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("answer cannot be read: %v", r)
		}
	}()
	if c, err = jwt.DecodeAuthorizationResponseClaims(token); err != nil {
		return nil, err
	}
	var vr jwt.ValidationResults
	c.Validate(&vr)
	for _, i := range vr.Issues {
		if i.Blocking && c.Error == "" && c.Jwt == "" {
			continue // no reason, which has a text of its own
		}
		if i.Blocking || i.TimeCheck {
			return nil, errors.New(i.Description)
		}
	}
	return c, nil
}

// signs reports whether a key may sign answers.
func (d *Delegate) signs(cfg *options.AuthCallout, issuer, account string) bool {
	if d.o.Operators == nil {
		return issuer == cfg.Issuer
	}
	if account != "" && account != cfg.Account {
		return false
	}
	if issuer == cfg.Account {
		return true
	}
	a := d.o.Operators.Loaded(cfg.Account)
	if a == nil {
		return false
	}
	_, ok := a.Claims.SigningKeys.GetScope(issuer)
	return ok
}

// admit places the user in its account.
func (d *Delegate) admit(cfg *options.AuthCallout, user *jwt.UserClaims, token string, req *auth.Request) (*auth.Identity, error) {
	noAccount := func(name string) error {
		return fmt.Errorf("No valid account %q for auth callout response on account %q", name, cfg.Account)
	}
	if d.o.Operators != nil {
		account := user.IssuerAccount
		if account == "" {
			account = user.Issuer
		}
		if account != cfg.Account && !slices.Contains(cfg.AllowedAccounts, account) && !slices.Contains(cfg.AllowedAccounts, anyAccount) {
			return nil, noAccount(account)
		}
		return d.o.Operators.Admit(token, req)
	}
	if user.Issuer != cfg.Issuer {
		return nil, fmt.Errorf("Wrong issuer for auth callout response on account %q, expected %q got %q", cfg.Account, cfg.Issuer, user.Issuer)
	}
	defaults, ok := d.o.Target(user.Audience)
	if !ok {
		return nil, noAccount(user.Audience)
	}
	return jwtauth.AdmitTo(user.Audience, defaults, user, token, req)
}
