// Package account holds the tenants of a server: each has a subject space of its own, limits and counters.
package account

import (
	"errors"
	"sync"
	"sync/atomic"

	"godwit/server/options"
	"godwit/server/quota"
	"godwit/server/router"
)

// Names of the accounts that every server has.
const (
	GlobalName = "$G"   // of connections without an account of their own
	SystemName = "$SYS" // of the server's own events and requests, unless another is configured
)

// ErrConnections is returned when an account has all the connections it may.
var ErrConnections = errors.New("maximum account active connections exceeded")

// Account is one tenant. It lives as long as the server.
type Account struct {
	name   string
	index  *router.Index
	limits atomic.Pointer[options.AccountLimits]
	quota  *quota.Tenant
	trace  atomic.Pointer[options.MsgTrace]
	conns  atomic.Int32
	total  atomic.Uint64 // connections ever
	slow   atomic.Int64
	// Traffic of connections that have closed; see monitor.AccountStat.
	closed Traffic
}

// Traffic counts messages and their bytes of header block and payload.
type Traffic struct {
	InMsgs, InBytes, OutMsgs, OutBytes atomic.Int64
}

// Add adds what a closed connection has counted.
func (t *Traffic) Add(inMsgs, inBytes, outMsgs, outBytes int64) {
	t.InMsgs.Add(inMsgs)
	t.InBytes.Add(inBytes)
	t.OutMsgs.Add(outMsgs)
	t.OutBytes.Add(outBytes)
}

// Name is the account's name.
func (a *Account) Name() string { return a.name }

// Index holds the account's subscriptions.
func (a *Account) Index() *router.Index { return a.index }

// Limits returns the limits in force. The result is shared.
func (a *Account) Limits() *options.AccountLimits { return a.limits.Load() }

// Trace says where traces of messages go that carry a trace context; nil for nowhere. The result is shared.
func (a *Account) Trace() *options.MsgTrace { return a.trace.Load() }

// SetTrace sets what Trace returns.
func (a *Account) SetTrace(t *options.MsgTrace) { a.trace.Store(t) }

// Join counts a connection in, unless the account has all it may: ErrConnections. Each success is undone by Leave.
func (a *Account) Join() error {
	n := a.conns.Add(1)
	if limit := a.Limits().MaxConn; limit >= 0 && n > limit {
		a.conns.Add(-1)
		return ErrConnections
	}
	a.total.Add(1)
	return nil
}

// Leave counts a connection out.
func (a *Account) Leave() { a.conns.Add(-1) }

// Conns is the number of client connections; total counts those that left, too.
func (a *Account) Conns() (now int, total uint64) { return int(a.conns.Load()), a.total.Load() }

// Closed returns the traffic of connections that have closed.
func (a *Account) Closed() *Traffic { return &a.closed }

// SlowConsumers counts connections closed because they did not read fast enough.
func (a *Account) SlowConsumers() *atomic.Int64 { return &a.slow }

// Registry holds the accounts of a server.
type Registry struct {
	global, system *Account
	exchange       exchange
	// mu guards what follows. Only the locks of a quota.Tenant are taken under it.
	mu     sync.RWMutex
	byName map[string]*Account
	quotas *quotas
}

// NewRegistry makes the accounts that o names, the global and the system account.
func NewRegistry(o *options.Options) *Registry {
	r := &Registry{byName: make(map[string]*Account)}
	r.exchange.init(r)
	r.Update(o)
	r.global = r.byName[GlobalName]
	if !o.NoSystemAccount {
		r.system = r.byName[systemName(o)]
	}
	return r
}

func systemName(o *options.Options) string {
	if o.SystemAccount == "" {
		return SystemName
	}
	return o.SystemAccount
}

// Update makes the accounts that o names and are not there yet, and gives all the limits and quotas that it says. Accounts that o
// does not name stay, as connections may still be in them, but nobody can log into them.
func (r *Registry) Update(o *options.Options) {
	named := map[string]options.AccountLimits{GlobalName: options.NoAccountLimits()}
	if !o.NoSystemAccount {
		named[systemName(o)] = options.NoAccountLimits()
	}
	traces := map[string]*options.MsgTrace{}
	for _, a := range o.Accounts {
		named[a.Name], traces[a.Name] = a.Limits, a.Trace
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quotas = newQuotas(o)
	for name, a := range r.byName {
		a.quota.Set(r.quotas.of(name))
	}
	for name, limits := range named {
		a := r.byName[name]
		if a == nil {
			a = r.newAccountLocked(name)
		}
		a.trace.Store(traces[name])
		a.limits.Store(&limits)
	}
}

// Ensure returns the account of that name, made if it is not there, with the limits given from now on.
func (r *Registry) Ensure(name string, limits options.AccountLimits) *Account {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.byName[name]
	if a == nil {
		a = r.newAccountLocked(name)
	}
	a.limits.Store(&limits)
	return a
}

// Global is the account of connections without one of their own.
func (r *Registry) Global() *Account { return r.global }

// System is the system account; nil if the server has none.
func (r *Registry) System() *Account { return r.system }

// Lookup returns the account of that name, or nil. The empty name is the global account's.
func (r *Registry) Lookup(name string) *Account {
	if name == "" {
		return r.global
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byName[name]
}

// All returns the accounts in no order.
func (r *Registry) All() []*Account {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]*Account, 0, len(r.byName))
	for _, a := range r.byName {
		all = append(all, a)
	}
	return all
}
