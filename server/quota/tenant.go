package quota

import (
	"sync"
	"time"

	"godwit/server/options"
)

// sweepLeast is a number of users that is not worth a sweep.
const sweepLeast = 64

// Terms are the quotas of an account and of its users.
type Terms struct {
	Account *options.Quota            // of all its connections together; nil is none
	Users   map[string]*options.Quota // by name, or public nkey
	Others  *options.Quota            // of each user that is not in Users; nil is none
}

// Tenant has the buckets of one account: its own, and one for each of its users that has a quota. It is safe for
// concurrent use.
type Tenant struct {
	epoch time.Time // immutable; its monotonic reading is what counts
	own   Bucket
	mu    struct {
		sync.Mutex // nothing is locked under it
		others     *limits
		named      map[string]*limits
		users      map[string]*userBucket // connected, or not yet full again
		sweep      int                    // number of users at which those who left are let go
	}
}

// userBucket is the bucket of a user. Its number of connections is guarded by the Tenant's lock.
type userBucket struct {
	Bucket
	conns int
}

// NewTenant returns a tenant without quotas.
func NewTenant() *Tenant {
	t := &Tenant{epoch: time.Now()}
	t.own.fill()
	t.mu.sweep = sweepLeast
	return t
}

// Set puts terms in force, for users that are connected, too. Meters see it at their next Begin; those of connections that
// had none have to be asked for again. What was taken stays taken.
func (t *Tenant) Set(terms Terms) {
	t.own.limits.Store(newLimits(terms.Account))
	named := make(map[string]*limits, len(terms.Users))
	for name, q := range terms.Users {
		named[name] = newLimits(q)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.named, t.mu.others = named, newLimits(terms.Others)
	for name, u := range t.mu.users {
		u.limits.Store(t.ofLocked(name))
	}
}

// ofLocked returns the limits of a user.
func (t *Tenant) ofLocked(name string) *limits {
	if l, ok := t.mu.named[name]; ok {
		return l
	}
	return t.mu.others
}

// Join returns the meter of a new connection, nil if no quota bounds it. user is empty for one that has logged in as nobody.
// Leave of the meter ends it.
func (t *Tenant) Join(user string) *Meter {
	t.mu.Lock()
	defer t.mu.Unlock()
	var u *userBucket
	if user != "" {
		if l := t.ofLocked(user); l != nil {
			u = t.joinLocked(user, l)
		}
	}
	if u == nil && t.own.limits.Load() == nil {
		return nil
	}
	m := &Meter{tenant: t, user: u}
	m.buckets[0] = &t.own
	if u != nil {
		m.buckets[1] = &u.Bucket
	}
	return m
}

func (t *Tenant) joinLocked(name string, l *limits) *userBucket {
	u := t.mu.users[name]
	if u == nil {
		if len(t.mu.users) >= t.mu.sweep {
			t.sweepLocked()
		}
		if t.mu.users == nil {
			t.mu.users = make(map[string]*userBucket)
		}
		u = &userBucket{}
		u.fill()
		u.limits.Store(l)
		t.mu.users[name] = u
	}
	u.conns++
	return u
}

// sweepLocked lets go of users without connections whose buckets are full: made again they are the same.
func (t *Tenant) sweepLocked() {
	now := t.at(time.Now())
	for name, u := range t.mu.users {
		if u.conns == 0 && u.full(now) {
			delete(t.mu.users, name)
		}
	}
	t.mu.sweep = max(sweepLeast, 2*len(t.mu.users))
}

func (t *Tenant) leave(u *userBucket) {
	t.mu.Lock()
	u.conns--
	t.mu.Unlock()
}

// Bucket is the account's own.
func (t *Tenant) Bucket() *Bucket { return &t.own }

// EachUser calls f with the buckets of users that are connected or have been lately, in no order.
func (t *Tenant) EachUser(f func(name string, b *Bucket)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, u := range t.mu.users {
		f(name, &u.Bucket)
	}
}

// at is a time as buckets know it.
func (t *Tenant) at(now time.Time) int64 { return int64(now.Sub(t.epoch)) }
