package account

import (
	"godwit/server/options"
	"godwit/server/quota"
	"godwit/server/router"
)

// quotas are what a configuration says of rates. Immutable.
type quotas struct {
	options.Quotas
	system   string // the account that has none unless it is given one
	accounts map[string]*options.Quota
	users    map[string]map[string]*options.Quota // by account and name
}

func newQuotas(o *options.Options) *quotas {
	q := &quotas{Quotas: o.Quotas, accounts: map[string]*options.Quota{}, users: map[string]map[string]*options.Quota{}}
	if !o.NoSystemAccount {
		q.system = systemName(o)
	}
	for _, a := range o.Accounts {
		if a.Quota != nil {
			q.accounts[a.Name] = a.Quota
		}
	}
	for _, u := range o.Authorization.Users {
		if u.Quota == nil {
			continue
		}
		account, name := u.Account, u.Username
		if account == "" {
			account = GlobalName
		}
		if u.Nkey != "" {
			name = u.Nkey
		}
		if q.users[account] == nil {
			q.users[account] = map[string]*options.Quota{}
		}
		q.users[account][name] = u.Quota
	}
	return q
}

// of returns the terms of an account.
func (q *quotas) of(name string) quota.Terms {
	t := quota.Terms{Account: q.accounts[name], Users: q.users[name]}
	if name == q.system {
		return t
	}
	if t.Account == nil {
		t.Account = q.Account
	}
	t.Others = q.User
	return t
}

// Quota has the buckets of the account and of its users.
func (a *Account) Quota() *quota.Tenant { return a.quota }

// newAccountLocked makes an account and takes it in.
func (r *Registry) newAccountLocked(name string) *Account {
	a := &Account{name: name, index: router.NewIndex(), quota: quota.NewTenant()}
	a.quota.Set(r.quotas.of(name))
	r.byName[name] = a
	return a
}
