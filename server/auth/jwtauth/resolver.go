package jwtauth

import (
	"context"
	"time"

	"godwit/server/options"
)

// Defaults of resolvers.
const (
	// FetchTimeout is how long an account may be looked for.
	FetchTimeout = 1900 * time.Millisecond
	// CacheLimit is how many JWTs a cache directory keeps.
	CacheLimit = 1000
	// SyncInterval is the time between exchanges of full directories.
	SyncInterval = time.Minute
)

// Resolver finds account JWTs. Nothing is believed of what it finds: the Manager checks each JWT. Its methods are
// called concurrently.
type Resolver interface {
	Kind() options.ResolverKind
	// Fetch returns the JWT of the account, whose name is a public account nkey; ErrNoAccount if there is none.
	Fetch(ctx context.Context, account string) (token string, err error)
	// Keep is told of a JWT that was fetched and is valid.
	Keep(account, token string) error
	// Timeout is how long a Fetch may take.
	Timeout() time.Duration
	// Close frees what the resolver holds. Nothing is called afterwards.
	Close()
}

// Peers asks other servers for the JWT of an account and returns the first answer; ErrNoAccount if none came.
type Peers func(ctx context.Context, account string) (token string, err error)

// NewResolver makes the resolver that o asks for. Directories are created and read, and get what is preloaded, if that
// is newer. peers, which may be nil, is asked by directories for what they do not have.
func NewResolver(o *options.Options, peers Peers) (Resolver, error) {
	r := ResolverOf(o)
	if r == nil {
		return &memory{timeout: FetchTimeout, tokens: o.ResolverPreload}, nil
	}
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = FetchTimeout
	}
	switch r.Kind {
	case options.ResolverURL:
		return newURLResolver(r.URL, o.ResolverTLS, timeout)
	case options.ResolverFull, options.ResolverCache:
		d, err := openDirectory(r)
		if err != nil {
			return nil, err
		}
		for account, token := range o.ResolverPreload {
			if _, err := d.SaveNewer(account, token); err != nil {
				return nil, err
			}
		}
		return &dirResolver{Directory: d, kind: r.Kind, timeout: timeout, peers: peers}, nil
	}
	return &memory{timeout: timeout, tokens: o.ResolverPreload}, nil
}

// memory has the JWTs of the configuration. It never changes; a reload makes another.
type memory struct {
	timeout time.Duration
	tokens  map[string]string
}

func (m *memory) Kind() options.ResolverKind { return options.ResolverMemory }
func (m *memory) Timeout() time.Duration     { return m.timeout }
func (m *memory) Keep(string, string) error  { return nil }
func (m *memory) Close()                     {}

func (m *memory) Fetch(_ context.Context, account string) (string, error) {
	if t := m.tokens[account]; t != "" {
		return t, nil
	}
	return "", ErrNoAccount
}

// dirResolver has a directory of JWTs and other servers to ask.
type dirResolver struct {
	*Directory
	kind    options.ResolverKind
	timeout time.Duration
	peers   Peers
}

func (d *dirResolver) Kind() options.ResolverKind { return d.kind }
func (d *dirResolver) Timeout() time.Duration     { return d.timeout }
func (d *dirResolver) Close()                     {}

func (d *dirResolver) Fetch(ctx context.Context, account string) (string, error) {
	token, err := d.Load(account)
	if err == nil || d.peers == nil {
		return token, err
	}
	return d.peers(ctx, account)
}

// Keep stores what came from another server.
func (d *dirResolver) Keep(account, token string) error {
	_, err := d.SaveNewer(account, token)
	return err
}
