package jwtauth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// entry is one account that was loaded. There are no more than operators have signed.
type entry struct {
	// apply is held while a version is put in force and OnChange told of it.
	apply sync.Mutex
	// The rest is guarded by Manager.mu.
	account *Account
	ended   bool // account is no longer in force
	lost    bool // as it was deleted, or is not among those of the configuration any more
	stale   bool // the resolver is to be asked again before the next login
	expiry  *time.Timer
}

// load is a lookup that others can wait for.
type load struct {
	done    chan struct{} // closed when account and err are set
	account *Account
	err     error
}

// find returns the account for a login: not expired, and known to the server. With again it asks the resolver although
// there is a version in force.
func (m *Manager) find(key string, again bool) (*Account, error) {
	m.mu.Lock()
	if m.mu.closed {
		m.mu.Unlock()
		return nil, ErrClosed
	}
	if l := m.mu.loads[key]; l != nil {
		m.mu.Unlock()
		<-l.done
		return l.account, l.err
	}
	e := m.mu.entries[key]
	if e != nil && !e.ended && !e.stale && !again && !e.account.Expired(time.Now()) {
		m.mu.Unlock()
		return e.account, nil
	}
	var before *Account
	if e != nil {
		before = e.account
	}
	l := &load{done: make(chan struct{})}
	m.mu.loads[key] = l
	m.mu.Unlock()

	for asked := Resolver(nil); asked != m.settings.Load().resolver; { // once more if a reload has changed it meanwhile
		asked = m.settings.Load().resolver
		l.account, l.err = m.load(asked, key)
	}
	if before != nil && gone(l.err) {
		m.end(e, before, errors.Is(l.err, ErrNoAccount))
	}
	m.mu.Lock()
	delete(m.mu.loads, key)
	m.mu.Unlock()
	close(l.done)
	return l.account, l.err
}

// gone reports whether an error says that an account is not there, or no longer valid. A resolver that does not answer
// does not say so.
func gone(err error) bool {
	return errors.Is(err, ErrNoAccount) || errors.Is(err, ErrInvalidAccount) || errors.Is(err, ErrSigningKey)
}

// load asks the resolver for an account and puts what it finds in force.
func (m *Manager) load(r Resolver, key string) (*Account, error) {
	token, err := m.fetch(r, key)
	if err != nil {
		m.cfg.Log.Warnf("Account fetch failed: %v", err)
		return nil, err
	}
	a, err := m.put(key, token)
	if err != nil {
		m.cfg.Log.Warnf("Account [%s] cannot be used: %s", key, reasonOf(err))
		return nil, err
	}
	if err := r.Keep(key, token); err != nil {
		m.cfg.Log.Errorf("Account [%s] cannot be stored: %v", key, err)
		return a, nil
	}
	return m.settle(key, a)
}

// maxSettle is how many pushes of one account a lookup of it follows.
const maxSettle = 8

// settle looks whether the account was pushed or deleted after its JWT was read and before it came into force, when
// it was nobody else's matter.
func (m *Manager) settle(key string, a *Account) (*Account, error) {
	d := m.directory()
	if d == nil {
		return a, nil
	}
	for range maxSettle {
		token, err := d.Load(key)
		switch {
		case errors.Is(err, ErrNoAccount) && d.kind == options.ResolverFull:
			m.end(m.entry(key), a, true)
			return nil, err
		case err != nil || token == a.JWT:
			return a, nil
		}
		next, err := m.put(key, token)
		if err != nil { // not valid now: what is in force stays
			m.cfg.Log.Errorf("Update for account %q resulted in error %v: %s", key, err, reasonOf(err))
			return a, nil
		}
		a = next
	}
	return a, nil
}

// fetch gets a JWT from the resolver.
func (m *Manager) fetch(r Resolver, key string) (string, error) {
	if !nkeys.IsValidPublicAccountKey(key) {
		return "", ErrNoAccount
	}
	ctx, cancel := context.WithTimeout(m.ctx, r.Timeout())
	defer cancel()
	select {
	case m.fetches <- struct{}{}:
		defer func() { <-m.fetches }()
	case <-ctx.Done():
		return "", ErrBusy
	}
	start := time.Now()
	token, err := r.Fetch(ctx, key)
	token = strings.TrimSpace(token)
	if took := time.Since(start); took > time.Second {
		m.cfg.Log.Warnf("Account [%s] fetch took %v", key, took)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "", ErrBusy
	}
	return token, err
}

// put checks a JWT and puts it in force.
func (m *Manager) put(key, token string) (*Account, error) {
	c, err := decodeAccount(token)
	if err != nil {
		return nil, invalid(err)
	}
	if c.Subject != key {
		return nil, invalid(ErrSubject)
	}
	a, err := newAccount(m.trust, token, c)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if _, times := problems(c); len(times) > 0 || a.Expired(now) {
		return nil, invalid(fmt.Errorf("not valid at this time: %v", times))
	}
	return m.apply(a)
}

// entry returns the entry of an account, a new one if there is none.
func (m *Manager) entry(key string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.mu.entries[key]
	if e == nil {
		e = &entry{ended: true, lost: true}
		m.mu.entries[key] = e
	}
	return e
}

// known reports whether pushes are of concern to an account: it is in force, or has only expired.
func (m *Manager) known(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.mu.entries[key]
	return e != nil && !e.lost
}

// apply puts a version in force and tells the server. It returns what is in force, which for an equal version is the
// one before.
func (m *Manager) apply(a *Account) (*Account, error) {
	e := m.entry(a.Key)
	e.apply.Lock()
	defer e.apply.Unlock()
	m.mu.Lock()
	if m.mu.closed {
		m.mu.Unlock()
		return nil, ErrClosed
	}
	e.stale, e.lost = false, false
	before := e.account
	if before != nil && !e.ended && before.JWT == a.JWT {
		m.mu.Unlock()
		return before, nil
	}
	e.account, e.ended = a, false
	if e.expiry != nil {
		e.expiry.Stop()
		e.expiry = nil
	}
	if !a.Expires.IsZero() {
		e.expiry = time.AfterFunc(time.Until(a.Expires), func() { m.expire(e, a) })
	}
	m.mu.Unlock()
	m.tell(Change{Account: a, Before: before})
	return a, nil
}

// expire ends a version when its time has come.
func (m *Manager) expire(e *entry, a *Account) {
	m.mu.Lock()
	if m.mu.closed {
		m.mu.Unlock()
		return
	}
	m.timers.Add(1)
	m.mu.Unlock()
	defer m.timers.Done()
	m.end(e, a, false)
}

// end takes a version, or with nil whatever there is, out of force and tells the server. lost says that the account is
// gone, not only expired.
func (m *Manager) end(e *entry, a *Account, lost bool) {
	e.apply.Lock()
	defer e.apply.Unlock()
	m.mu.Lock()
	if a != nil && e.account != a {
		m.mu.Unlock()
		return
	}
	e.lost = e.lost || lost
	if e.ended {
		m.mu.Unlock()
		return
	}
	a = e.account
	e.ended = true
	if e.expiry != nil {
		e.expiry.Stop()
		e.expiry = nil
	}
	m.mu.Unlock()
	m.tell(Change{Account: a, Before: a, Ended: true})
}

func (m *Manager) tell(c Change) {
	if m.cfg.OnChange != nil {
		m.cfg.OnChange(c)
	}
}

// reasonOf is an error for the log: what makes an account invalid instead of that it is.
func reasonOf(err error) string {
	var i *invalidError
	if errors.As(err, &i) {
		return i.Reason()
	}
	return err.Error()
}
