package jwtauth

import (
	"bytes"
	"errors"
	"iter"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// Outcome is what became of a JWT that was pushed.
type Outcome int

const (
	Updated Outcome = iota // stored, if there is a directory, and in force if the account was loaded
	Skipped                // this server has no use for it: the account is not loaded here, nor in its cache
)

// directory returns the directory of the resolver; nil if it has none.
func (m *Manager) directory() *dirResolver {
	d, _ := m.settings.Load().resolver.(*dirResolver)
	return d
}

// Update takes an account JWT that was pushed. It is stored, even if it has expired, and put in force if the account was
// loaded and the JWT is valid now; if it is not, what is in force stays. An older JWT than the one there is replaces it.
//
// The error is ErrSigningKey, ErrInvalidAccount, ErrStoreFull, one of the JWT or of the file system.
func (m *Manager) Update(token string) (Outcome, error) {
	token = strings.TrimSpace(token)
	c, err := decodeAccount(token)
	if err != nil {
		return Skipped, err
	}
	return m.update(token, c)
}

func (m *Manager) update(token string, c *jwt.AccountClaims) (Outcome, error) {
	m.updates.Lock()
	defer m.updates.Unlock()
	d := m.directory()
	if !m.known(c.Subject) && (d == nil || d.kind == options.ResolverCache && !d.Has(c.Subject)) {
		return Skipped, nil
	}
	if d == nil {
		_, err := m.put(c.Subject, token)
		if errors.Is(err, ErrSigningKey) {
			err = ErrInvalidAccount // what servers without a directory say
		}
		return Updated, err
	}
	if _, err := newAccount(m.trust, token, c); err != nil {
		return Updated, err
	}
	if err := d.Save(c.Subject, token); err != nil {
		return Updated, err
	}
	m.refresh(c.Subject, token)
	return Updated, nil
}

// refresh puts a stored JWT in force if its account was loaded. One that is just being loaded gets it from there.
func (m *Manager) refresh(account, token string) {
	if !m.known(account) {
		return
	}
	if _, err := m.put(account, token); err != nil {
		m.cfg.Log.Errorf("Update for account %q resulted in error %v: %s", account, err, reasonOf(err))
	}
}

// Delete deletes the JWTs of accounts and ends the accounts, as far as they are there. It says how many were to be
// deleted. Nothing is deleted if one of them must not be.
func (m *Manager) Delete(accounts []string) (int, error) {
	d := m.directory()
	if d == nil || d.delete == deleteNothing {
		return 0, errDeleteOff
	}
	for _, a := range accounts {
		switch {
		case !nkeys.IsValidPublicAccountKey(a):
			return 0, errMalformed
		case a == m.cfg.SystemAccount:
			return 0, errDeleteSystem
		}
	}
	m.updates.Lock()
	defer m.updates.Unlock()
	for _, a := range accounts {
		if err := d.Directory.Delete(a); err != nil {
			return 0, err
		}
		m.end(m.entry(a), nil, true)
	}
	return len(accounts), nil
}

// PackRequest is the body of a request to other servers for the JWTs that they have and this one may not: the hash of all
// that it has. It is nil if this server does not keep all JWTs.
func (m *Manager) PackRequest() []byte {
	d := m.directory()
	if d == nil || d.kind != options.ResolverFull {
		return nil
	}
	h := d.Hash()
	return h[:]
}

// pack answers a PackRequest: each JWT as account|JWT, then an empty message. If the hash is that of what there is
// here, there is nothing but the last. The sequence reads files as it goes.
func (m *Manager) pack(d *dirResolver, hash []byte) iter.Seq[[]byte] {
	own := d.Hash()
	return func(yield func([]byte) bool) {
		if !bytes.Equal(hash, own[:]) {
			for _, a := range d.Accounts() {
				token, err := d.Load(a)
				if err == nil && !yield([]byte(a+"|"+token)) {
					return
				}
			}
		}
		yield([]byte{})
	}
}

// Merge takes one message of the answer to a PackRequest. A JWT that is newer than the one here, or not here, is stored
// and put in force as by Update; others are left alone. last is true for the message that ends the answer.
func (m *Manager) Merge(message []byte) (last bool, err error) {
	if len(message) == 0 {
		return true, nil
	}
	d := m.directory()
	account, token, ok := strings.Cut(strings.TrimSpace(string(message)), "|")
	if d == nil || !ok {
		return false, errPack
	}
	c, err := decodeAccount(token)
	if err != nil {
		return false, err
	}
	if c.Subject != account {
		return false, ErrSubject
	}
	if _, err := newAccount(m.trust, token, c); err != nil {
		return false, err
	}
	m.updates.Lock()
	defer m.updates.Unlock()
	saved, err := d.SaveNewer(account, token)
	if err != nil || !saved {
		return false, err
	}
	m.refresh(account, token)
	return false, nil
}
