// Package jwtauth is operator mode: logins by JWT. Operators sign accounts, accounts sign users, and a server that knows
// its operators needs to be told of nothing else. The package decides about logins, finds account JWTs (in the
// configuration, in a directory, at an HTTP server, at other servers), keeps one version of each account in force, and
// answers the requests that push, look up, list and delete account JWTs.
//
// It opens no connections of clients and sends no messages: the server carries requests to Handle and replies from it,
// and is told of every new version of an account by Config.OnChange.
package jwtauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nkeys"

	"godwit/server/auth"
	"godwit/server/options"
)

// maxFetches is how many accounts are looked for at the same time. More logins wait, at most as long as a lookup may take.
const maxFetches = 64

// Config is what a Manager is made from. Nothing in it may change afterwards.
type Config struct {
	Operators      []*options.Operator
	TrustedKeys    []string // public operator keys, instead of Operators
	SystemAccount  string   // its public key; empty if there is none
	Pinned         []string // only these accounts, and the system account, may log in; empty allows all
	Sentinel       string   // user JWT of clients that present none; empty refuses them
	TrustedProxies []string // public nkeys of proxies that may vouch for connections
	Resolver       Resolver // required; given: Close closes it, as does an error of New
	// OnChange is told of each change of an account, one at a time per account; nil tells nobody. Nobody logs
	// into an account that was not in force before it has returned. It may call Account for other accounts
	// unless the change is an end. It must not wait for a login, an update, a reload or Close.
	OnChange func(Change)
	Log      Logger // required
	// ServerInfo returns the JSON object that describes the server in replies; required.
	ServerInfo func() json.RawMessage
}

// Logger is where the Manager reports to.
type Logger interface {
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
	Debugf(format string, args ...any)
}

// ConfigOf picks from o what a Config takes from there. Resolver, OnChange, Log and ServerInfo are still to be set.
func ConfigOf(o *options.Options) Config {
	c := Config{Operators: o.Operators, TrustedKeys: o.TrustedKeys, SystemAccount: SystemAccount(o), Pinned: o.ResolverPinned, Sentinel: o.DefaultSentinel}
	if o.Proxies != nil {
		c.TrustedProxies = o.Proxies.Trusted
	}
	return c
}

// Change is a change of an account.
type Change struct {
	Account *Account // in force now; with Ended, what was in force last
	Before  *Account // what was in force last; nil when the account is loaded for the first time
	Ended   bool     // the account has expired or is gone: nobody may stay logged in
}

// settings are the parts of Config that a reload replaces, made ready. They never change.
type settings struct {
	pinned   map[string]bool
	sentinel string
	proxies  []nkeys.KeyPair
	resolver Resolver
}

// Manager keeps the accounts of a server in operator mode and decides about logins. It implements auth.Delegate. All
// methods may be called concurrently.
type Manager struct {
	cfg         Config
	trust       *trust
	settings    atomic.Pointer[settings]
	pinnedFails atomic.Uint64
	fetches     chan struct{} // holds a value for each lookup under way
	ctx         context.Context
	stop        context.CancelFunc
	timers      sync.WaitGroup // running expiries

	// updates is held while a pushed JWT is stored and put in force, so that the same one is stored and in force
	// in the end. It ranks before entry.apply.
	updates sync.Mutex
	// mu guards the table. It is held briefly and nothing is called under it. It ranks after entry.apply.
	mu struct {
		sync.Mutex
		closed  bool
		entries map[string]*entry
		loads   map[string]*load
	}
}

// New checks the configuration and finds the system account. Not to find it is an error only if all accounts are in the
// configuration; what is found must be valid.
func New(cfg Config) (*Manager, error) {
	m := &Manager{cfg: cfg, trust: newTrust(cfg.Operators, cfg.TrustedKeys), fetches: make(chan struct{}, maxFetches)}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.mu.entries = make(map[string]*entry)
	m.mu.loads = make(map[string]*load)
	s, err := settingsOf(cfg)
	if err != nil {
		cfg.Resolver.Close()
		return nil, err
	}
	m.settings.Store(s)
	if cfg.SystemAccount == "" {
		if len(cfg.Operators) > 0 {
			cfg.Log.Warnf("Trusted Operators should utilize a System Account")
		}
		return m, nil
	}
	_, err = m.find(cfg.SystemAccount, false)
	if err != nil && (s.resolver.Kind() == options.ResolverMemory || errors.Is(err, ErrInvalidAccount) || errors.Is(err, ErrSigningKey)) {
		m.Close()
		return nil, fmt.Errorf("error resolving system account: %w", err)
	}
	return m, nil
}

func settingsOf(cfg Config) (*settings, error) {
	s := &settings{sentinel: cfg.Sentinel, resolver: cfg.Resolver}
	if len(cfg.Pinned) > 0 {
		s.pinned = map[string]bool{cfg.SystemAccount: true}
		for _, k := range cfg.Pinned {
			s.pinned[k] = true
		}
	}
	for _, k := range cfg.TrustedProxies {
		pub, err := nkeys.FromPublicKey(k)
		if err != nil {
			return nil, fmt.Errorf("proxies: %q is not a valid public nkey", k)
		}
		s.proxies = append(s.proxies, pub)
	}
	return s, nil
}

// Close ends lookups and expiries, waits for OnChange to return where an expiry called it, and closes the resolver.
func (m *Manager) Close() {
	m.stop()
	m.mu.Lock()
	already := m.mu.closed
	m.mu.closed = true
	for _, e := range m.mu.entries {
		if e.expiry != nil {
			e.expiry.Stop()
		}
	}
	m.mu.Unlock()
	m.timers.Wait()
	if !already {
		m.settings.Load().resolver.Close()
	}
}

// NonceRequired implements auth.Delegate: users prove their keys by signing the nonce.
func (m *Manager) NonceRequired() bool { return true }

// PinnedFails counts logins into accounts that are not pinned.
func (m *Manager) PinnedFails() uint64 { return m.pinnedFails.Load() }

// Loaded returns the version in force of an account that was loaded, nil if there is none. It asks nobody.
func (m *Manager) Loaded(key string) *Account {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.mu.entries[key]; e != nil && !e.ended {
		return e.account
	}
	return nil
}

// All returns the accounts in force, by key.
func (m *Manager) All() []*Account {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*Account
	for _, key := range slices.Sorted(maps.Keys(m.mu.entries)) {
		if e := m.mu.entries[key]; !e.ended {
			out = append(out, e.account)
		}
	}
	return out
}

// Account returns the account, and looks for it if it is not loaded. It is what imports find exporters with, also
// while OnChange runs: accounts may import from each other in circles.
func (m *Manager) Account(key string) (*Account, error) {
	if a := m.Loaded(key); a != nil {
		return a, nil
	}
	return m.find(key, false)
}

// Reload takes over what may change in a running server: the resolver with what is preloaded, the default sentinel, pinned
// accounts and proxies. Without a Resolver in cfg the one in use stays. Accounts that were loaded are looked for again,
// with a URL resolver when somebody logs in next; those that are not there, or not valid, end. With an error nothing has
// changed, and the Resolver is the caller's again.
func (m *Manager) Reload(cfg Config) error {
	old := m.settings.Load()
	if cfg.Resolver == nil {
		cfg.Resolver = old.resolver
	}
	s, err := settingsOf(cfg)
	if err != nil {
		return err
	}
	m.settings.Store(s)
	if old.resolver != s.resolver {
		old.resolver.Close()
	}
	for _, a := range m.All() {
		if s.resolver.Kind() == options.ResolverURL {
			m.mu.Lock()
			m.mu.entries[a.Key].stale = true
			m.mu.Unlock()
			continue
		}
		m.find(a.Key, true) // an account that is lost ends
	}
	return nil
}

// Authenticate implements auth.Delegate. Configured users are not asked: in operator mode there are none.
func (m *Manager) Authenticate(req *auth.Request, _ func() (*auth.Identity, error)) (*auth.Identity, error) {
	u, err := m.Login(req)
	if err != nil {
		return nil, err
	}
	return identityOf(u), nil
}

func identityOf(u *User) *auth.Identity {
	id := u.Identity
	id.Limits = &auth.Limits{MaxSubs: u.Limits.MaxSubs, MaxPayload: u.Limits.MaxPayload}
	id.JWT, id.IssuerKey, id.NameTag, id.Tags, id.Detail = u.ShownJWT(), u.Issuer, u.NameTag, u.Tags, u
	return &id
}
