package jwtauth

import (
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// Enabled reports whether o asks for operator mode: all logins are by JWT.
func Enabled(o *options.Options) bool { return len(o.Operators) > 0 || len(o.TrustedKeys) > 0 }

// Check looks for what cannot be together with operators, in the order in which nats-server does. version
// is the protocol version that operators may insist on, like "2.15.2". A configuration without
// operators may still be refused: for a default sentinel.
func Check(o *options.Options, version string) error {
	if len(o.Operators) == 0 {
		if o.DefaultSentinel != "" {
			return errSentinelOperators
		}
		return nil
	}
	if err := checkSentinel(o.DefaultSentinel); err != nil {
		return err
	}
	r := ResolverOf(o)
	switch {
	case r == nil:
		return errNoResolver
	case len(o.Accounts) > 0:
		return errAccounts
	case len(o.Authorization.Users) > 0:
		return errUsers
	case len(o.TrustedKeys) > 0:
		return errTrustedBoth
	}
	if err := checkSystem(o, r); err != nil {
		return err
	}
	for _, op := range o.Operators {
		if err := checkVersion(op, version); err != nil {
			return err
		}
	}
	for _, k := range o.ResolverPinned {
		if !nkeys.IsValidPublicAccountKey(k) {
			return fmt.Errorf("pinned account key %q is not a valid public account nkey", k)
		}
	}
	for _, op := range o.Operators {
		for _, k := range append([]string{op.Subject}, op.SigningKeys...) {
			if !nkeys.IsValidPublicOperatorKey(k) {
				return fmt.Errorf("trusted Keys %q are required to be a valid public operator nkey", k)
			}
		}
	}
	switch {
	case o.Authorization.Callout != nil:
		return errCallout
	case o.NoAuthUser != "":
		return errNoAuthUser
	}
	return nil
}

// checkSentinel checks default_sentinel. What a scoped user may do is only known with its account.
func checkSentinel(token string) error {
	if token == "" {
		return nil
	}
	c, err := decodeUser(token)
	if err != nil {
		return errSentinelInvalid
	}
	if !c.BearerToken && !(c.IssuerAccount != "" && c.HasEmptyPermissions()) {
		return errSentinelBearer
	}
	return nil
}

func checkSystem(o *options.Options, r *options.Resolver) error {
	named := false
	for _, op := range o.Operators {
		if op.SystemAccount == "" {
			continue
		}
		// With several operators only the configuration decides.
		if len(o.Operators) == 1 && configuredSystem(o) != "" && configuredSystem(o) != op.SystemAccount {
			return errSystemDiffers
		}
		named = true
	}
	if !named && configuredSystem(o) == "" && (r.Kind == options.ResolverFull || r.Kind == options.ResolverCache) {
		return errSystemNeeded
	}
	return nil
}

// checkVersion checks what an operator's JWT asks of the server.
func checkVersion(op *options.Operator, version string) error {
	major, minor, update, err := jwt.ParseServerVersion(op.AssertServerVersion)
	if err != nil {
		return fmt.Errorf("operator %s expects version %s got error instead: %w", op.Subject, op.AssertServerVersion, err)
	}
	haveMajor, haveMinor, haveUpdate, err := jwt.ParseServerVersion(version)
	if err != nil {
		return fmt.Errorf("version of the server: %w", err)
	}
	for _, part := range []struct {
		name       string
		want, have int
	}{{"major", major, haveMajor}, {"minor", minor, haveMinor}, {"update", update, haveUpdate}} {
		if part.want > part.have {
			return fmt.Errorf("operator %s expected %s version %d > server %s version %d", op.Subject, part.name, part.want, part.name, part.have)
		}
		if part.want < part.have {
			return nil
		}
	}
	return nil
}

// configuredSystem is the system account that the configuration names. The name that servers without operators
// use by default is no account here.
func configuredSystem(o *options.Options) string {
	if o.SystemAccount == defaultSystem {
		return ""
	}
	return o.SystemAccount
}

// defaultSystem is the system account's name outside operator mode.
const defaultSystem = "$SYS"

// SystemAccount is the public key of the system account: the one that is configured, or else the only operator's. It
// is empty if there is none.
func SystemAccount(o *options.Options) string {
	if key := configuredSystem(o); key != "" {
		return key
	}
	if len(o.Operators) == 1 {
		return o.Operators[0].SystemAccount
	}
	return ""
}

// ResolverOf is where account JWTs come from. If nothing is configured it is the account server of the only
// operator; nil if there are several operators.
func ResolverOf(o *options.Options) *options.Resolver {
	if o.Resolver != nil {
		return o.Resolver
	}
	if len(o.Operators) != 1 {
		return nil
	}
	return &options.Resolver{Kind: options.ResolverURL, URL: o.Operators[0].AccountServerURL + "/accounts/"}
}
