package jwtauth

import (
	"github.com/nats-io/jwt/v2"

	"godwit/server/options"
)

// trust is who may sign accounts. It never changes.
type trust struct {
	keys   map[string]bool // public operator keys that sign accounts
	strict map[string]bool // those of keys whose operators insist on signing keys, at every level
	roots  map[string]bool // operators that insist on signing keys; not in keys
}

func newTrust(operators []*options.Operator, keys []string) *trust {
	t := &trust{keys: make(map[string]bool), strict: make(map[string]bool), roots: make(map[string]bool)}
	for _, o := range operators {
		if o.StrictSigning {
			t.roots[o.Subject] = true
		} else {
			t.keys[o.Subject] = true
		}
		for _, k := range o.SigningKeys {
			t.keys[k] = true
			if o.StrictSigning {
				t.strict[k] = true
			}
		}
	}
	for _, k := range keys {
		t.keys[k] = true
	}
	return t
}

// check reports why an account JWT is not by a trusted operator.
func (t *trust) check(c *jwt.AccountClaims) error {
	switch {
	case t.keys[c.Issuer]:
		return nil
	case t.roots[c.Issuer]:
		return ErrSigningKey
	}
	return ErrInvalidAccount
}
