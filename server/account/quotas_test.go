package account

import (
	"testing"

	"godwit/server/options"
	"godwit/server/quota"
)

// rates are what the account's clients may publish: together, and as a user. 0 is no limit.
func rates(a *Account, user string) (together, own int64) {
	if q := a.Quota().Bucket().Quota(); q != nil {
		together = q.Messages
	}
	a.Quota().Join(user).Leave()
	a.Quota().EachUser(func(name string, b *quota.Bucket) {
		if name == user && b.Quota() != nil {
			own = b.Quota().Messages
		}
	})
	return together, own
}

// Accounts and users have their own quotas, else those of the server, but the system account; a change holds for all of them.
func TestQuotas(t *testing.T) {
	q := func(n int64) *options.Quota { return &options.Quota{Messages: n} }
	o := options.Defaults()
	o.Quotas = options.Quotas{Account: q(1), User: q(2)}
	o.Accounts = []*options.Account{{Name: "A", Quota: q(3)}, {Name: "B"}, {Name: "C", Quota: q(0)}}
	o.Authorization.Users = []*options.User{{Username: "a", Account: "A", Quota: q(4)}, {Nkey: "U1", Account: "B", Quota: q(5)}, {Username: "g", Quota: q(6)},
		{Username: "free", Account: "A", Quota: q(0)}, {Username: "other", Account: "B"}}
	r := NewRegistry(o)
	defer r.Close()
	later := r.Ensure("LATER", options.NoAccountLimits())
	check := func(a *Account, user string, together, own int64) {
		t.Helper()
		if x, y := rates(a, user); x != together || y != own {
			t.Errorf("%s, user %q: %d and %d, want %d and %d", a.Name(), user, x, y, together, own)
		}
	}
	check(r.Lookup("A"), "a", 3, 4)
	check(r.Lookup("A"), "free", 3, 0)
	check(r.Lookup("B"), "U1", 1, 5)
	check(r.Lookup("B"), "other", 1, 2)
	check(r.Lookup("C"), "x", 0, 2)
	check(r.Global(), "g", 1, 6)
	check(r.Global(), "", 1, 0)
	check(r.System(), "sys", 0, 0)
	check(later, "UX", 1, 2)
	changed := *o
	changed.Quotas = options.Quotas{User: q(7)}
	changed.Accounts = []*options.Account{{Name: "A"}, {Name: "B", Quota: q(8)}, {Name: options.DefaultSystemAccount, Quota: q(9)}}
	r.Update(&changed)
	check(r.Lookup("A"), "a", 0, 4)
	check(r.Lookup("B"), "other", 8, 7)
	check(r.Lookup("C"), "x", 0, 7)
	check(r.System(), "sys", 9, 0)
	check(later, "UX", 0, 7)
}
