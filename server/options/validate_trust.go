package options

import (
	"errors"
	"fmt"
	"strings"
)

func checkTrust(o *Options) error {
	if o.DefaultSentinel != "" && (len(o.Operators) == 0 || o.Resolver == nil) {
		return ErrSentinel
	}
	if len(o.Operators) == 0 {
		return nil
	}
	switch {
	case o.Resolver == nil:
		return ErrOperatorResolver
	case len(o.Accounts) > 0:
		return ErrOperatorAccounts
	case len(o.Authorization.Users) > 0:
		return ErrOperatorUsers
	case o.Authorization.Callout != nil:
		return ErrOperatorCallout
	case len(o.TrustedKeys) > 0:
		return ErrOperatorKeys
	}
	configured := o.SystemAccount != "" && o.SystemAccount != DefaultSystemAccount
	named := configured
	for _, op := range o.Operators {
		if op.SystemAccount == "" {
			continue
		}
		named = true
		if configured && op.SystemAccount != o.SystemAccount {
			return ErrOperatorSystem
		}
	}
	nats := o.Resolver.Kind == ResolverFull || o.Resolver.Kind == ResolverCache
	if nats && !named {
		return ErrResolverSystem
	}
	for _, key := range o.ResolverPinned {
		if !accountKeyForm(key) {
			return fmt.Errorf("pinned account key %q is not a valid public account nkey", key)
		}
	}
	return checkLeafOperator(o)
}

// accountKeyForm tells whether s has the form of a public account key. The checksum is not looked at.
func accountKeyForm(s string) bool {
	return len(s) == 56 && s[0] == 'A' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// Errors about leaf nodes with operators.
var (
	ErrLeafUsers = errors.New("operator mode does not allow specifying users in leafnode config")
	ErrLeafNkeys = errors.New("operator mode and non account nkeys are incompatible")
	ErrLeafKeys  = errors.New("operator mode requires account nkeys in remotes. " +
		"Please add an `account` key to each remote in your `leafnodes` section, to assign it to an account. " +
		"Each account value should be a 56 character public key, starting with the letter 'A'")
)

func checkLeafOperator(o *Options) error {
	if o.Leaf.Authorization.Users != nil {
		return ErrLeafUsers
	}
	for _, r := range o.Leaf.Remotes {
		if !accountKeyForm(r.Account) {
			return ErrLeafKeys
		}
	}
	if a := o.Leaf.Account; o.Leaf.Port != 0 && a != "" && !accountKeyForm(a) {
		return ErrLeafNkeys
	}
	return nil
}

func checkLeaf(o *Options) error {
	l := &o.Leaf
	if !o.OperatorMode() {
		for _, u := range l.Authorization.Users {
			if u.Account != "" && !o.HasAccount(u.Account) {
				return fmt.Errorf("cannot find local account %q specified in leafnode authorization", u.Account)
			}
		}
		if l.Account != "" && !o.HasAccount(l.Account) {
			return fmt.Errorf("cannot find local account %q specified in leafnode authorization", l.Account)
		}
		for _, r := range l.Remotes {
			if r.Account != "" && !o.HasAccount(r.Account) {
				return fmt.Errorf("cannot find local account %q specified in leafnode remote", r.Account)
			}
		}
	}
	if err := l.Compression.check(); err != nil {
		return err
	}
	for _, r := range l.Remotes {
		if err := r.check(); err != nil {
			return err
		}
	}
	if l.Port != 0 && o.Gateway.Name != "" && (o.SystemAccount == "" || o.SystemAccount == DefaultSystemAccount && !o.declared(DefaultSystemAccount)) {
		return ErrLeafGateway
	}
	return nil
}

// declared tells whether the accounts block has the account.
func (o *Options) declared(name string) bool {
	for _, a := range o.Accounts {
		if a.Name == name {
			return true
		}
	}
	return false
}

func (r *RemoteLeaf) check() error {
	if err := r.Compression.check(); err != nil {
		return err
	}
	websocket := 0
	urls := make([]string, len(r.URLs))
	for i, u := range r.URLs {
		urls[i] = u.Redacted()
		if s := strings.ToLower(u.Scheme); s == "ws" || s == "wss" {
			websocket++
		}
	}
	if websocket > 0 && websocket < len(r.URLs) {
		return fmt.Errorf("remote leaf node configuration cannot have a mix of websocket and non-websocket urls: %q", urls)
	}
	return nil
}
