package account

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"godwit/protocol/subject"
	"godwit/server/options"
	"godwit/server/router"
)

// exchange connects accounts as their terms say. Whenever the terms of one change, it makes the links of those anew
// that have to do with it.
type exchange struct {
	registry *Registry
	server   string // 8 characters that stand for the server
	cluster  string // the server is in; empty outside of one

	// mu ranks before Registry.mu and router.Index.mu.
	mu struct {
		sync.Mutex
		terms    map[string]*Terms
		since    map[string]uint64 // when terms came; what came later does not close a cycle
		last     uint64
		users    map[string]map[string]bool // accounts that import from one, by name
		watchers map[string][]*router.Index
		faults   map[string][]error // by account: of each import, nil if it is good
		renewals map[string]time.Time
		renewal  *time.Timer // for the earliest of renewals
		closed   bool
	}
}

func (x *exchange) init(r *Registry) {
	x.registry = r
	x.mu.terms = make(map[string]*Terms)
	x.mu.since = make(map[string]uint64)
	x.mu.users = make(map[string]map[string]bool)
	x.mu.watchers = make(map[string][]*router.Index)
	x.mu.faults = make(map[string][]error)
	x.mu.renewals = make(map[string]time.Time)
}

// SetServer says in which server the accounts are, before the first terms: by its name and the name of its cluster,
// empty if there is none.
func (r *Registry) SetServer(name, cluster string) {
	r.exchange.server, r.exchange.cluster = Hash8(name), cluster
}

// Hash8 is the short form of a name that the protocol uses in subjects.
func Hash8(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	b := sum[:8]
	for i, c := range b {
		b[i] = digits[c%62]
	}
	return string(b)
}

// SetTerms puts terms in force, by account; nil ends those of an account. Accounts that are not there are passed over.
// What cannot be used is left out: the error names it, one line for each.
func (r *Registry) SetTerms(changed map[string]*Terms) error {
	x := &r.exchange
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.setLocked(changed)
}

func (x *exchange) setLocked(changed map[string]*Terms) error {
	touched := make(map[string]bool)
	var touch func(name string) // and those who import from it, directly or not
	touch = func(name string) {
		if !touched[name] {
			touched[name] = true
			for user := range x.mu.users[name] {
				touch(user)
			}
		}
	}
	for name := range changed {
		touch(name)
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		t := changed[name]
		for _, old := range [2]*Terms{x.mu.terms[name], t} {
			if old == nil {
				continue
			}
			for _, i := range old.Settings.Imports {
				touched[i.Account] = true
				delete(x.mu.users[i.Account], name)
			}
		}
		delete(x.mu.terms, name)
		delete(x.mu.renewals, name)
		delete(x.mu.faults, name)
		delete(x.mu.since, name)
		if t != nil {
			x.mu.last++
			x.mu.terms[name], x.mu.since[name] = t, x.mu.last
		}
	}
	for name, t := range changed {
		if t == nil {
			continue
		}
		for _, i := range t.Settings.Imports {
			if x.mu.users[i.Account] == nil {
				x.mu.users[i.Account] = make(map[string]bool)
			}
			x.mu.users[i.Account][name] = true
		}
	}
	return x.linkLocked(touched)
}

// linkLocked makes the links of some accounts.
func (x *exchange) linkLocked(touched map[string]bool) error {
	var faults []error
	links := make(map[*Account]*router.Links)
	names := slices.SortedFunc(maps.Keys(touched), func(a, b string) int { return cmp.Compare(x.mu.since[a], x.mu.since[b]) })
	for _, name := range names {
		if t := x.mu.terms[name]; t != nil {
			x.mu.faults[name] = make([]error, len(t.Settings.Imports))
			delete(x.mu.renewals, name)
		}
	}
	for _, name := range names {
		faults = append(faults, x.judgeLocked(name)...)
	}
	for _, name := range names {
		a := x.registry.Lookup(name)
		if a == nil || name == "" {
			continue
		}
		b := &router.LinksBuilder{}
		faults = append(faults, x.ownLocked(a, b)...)
		x.othersLocked(a, b)
		links[a] = b.Build()
	}
	for a, l := range links {
		a.index.Link(l)
	}
	x.watchLocked()
	x.renewLocked()
	return errors.Join(faults...)
}

// judgeLocked says what is wrong with the imports of an account.
func (x *exchange) judgeLocked(name string) (faults []error) {
	t := x.mu.terms[name]
	if t == nil {
		return nil
	}
	for k, i := range t.Settings.Imports {
		_, _, err := x.grantLocked(t, k)
		switch {
		case err != nil:
		case i.Kind == options.ServiceExchange:
			_, err = serviceRename(i)
		default:
			_, err = streamRename(i)
		}
		if err == nil && t.Allows != nil && x.cycleLocked(name, k) { // a configuration was checked as a whole
			err = errCycle
		}
		if x.mu.faults[name][k] = err; err != nil {
			faults = append(faults, fmt.Errorf("account %q: import of %q from %q: %w", name, i.Subject, i.Account, err))
		}
	}
	return faults
}

// cycleLocked reports whether an import closes a cycle: what it imports comes, by imports of the same kind that were
// there before, from its own account.
func (x *exchange) cycleLocked(name string, index int) bool {
	type place struct{ account, subject string }
	first := x.mu.terms[name].Settings.Imports[index]
	seen := make(map[place]bool)
	var follow func(p place) bool
	follow = func(p place) bool {
		t := x.mu.terms[p.account]
		if t == nil || seen[p] {
			return false
		}
		seen[p] = true
		for k, i := range t.Settings.Imports {
			later := x.mu.since[p.account] > x.mu.since[name] || p.account == name && k >= index
			if later || i.Kind != first.Kind || x.mu.faults[p.account][k] != nil || !subject.Overlap(Local(i), p.subject) {
				continue
			}
			if i.Account == name || follow(place{i.Account, i.Subject}) {
				return true
			}
		}
		return false
	}
	return first.Account != name && follow(place{first.Account, first.Subject})
}

// ownLocked adds what the account's own terms say: services that it imports, and mappings.
func (x *exchange) ownLocked(a *Account, b *router.LinksBuilder) (faults []error) {
	t := x.mu.terms[a.name]
	if t == nil {
		return nil
	}
	for k, i := range t.Settings.Imports {
		if i.Kind != options.ServiceExchange || x.mu.faults[a.name][k] != nil {
			continue
		}
		if from, e, err := x.grantLocked(t, k); err == nil {
			if link, err := x.service(a, i, from, e); err == nil {
				b.Services = append(b.Services, link)
			}
		}
	}
	for _, m := range t.Settings.Mappings {
		mapping, err := router.NewMapping(m.Source, x.destsFor(m))
		if err != nil {
			faults = append(faults, fmt.Errorf("account %q: mapping of %q: %w", a.name, m.Source, err))
			continue
		}
		b.Mappings = append(b.Mappings, mapping)
	}
	return faults
}

// destsFor returns the destinations of a mapping on this server: those for its cluster, if there are any.
func (x *exchange) destsFor(m *options.Mapping) (list []router.WeightedSubject) {
	pick := func(cluster string) {
		for _, d := range m.Dests {
			if d.Cluster == cluster {
				list = append(list, router.WeightedSubject{Subject: d.Subject, Weight: int(d.Weight)})
			}
		}
	}
	if x.cluster != "" {
		pick(x.cluster)
	}
	if len(list) == 0 {
		pick("")
	}
	return list
}

// othersLocked adds what others take from the account: streams, and whether requests come.
func (x *exchange) othersLocked(a *Account, b *router.LinksBuilder) {
	for _, user := range slices.Sorted(maps.Keys(x.mu.users[a.name])) {
		importer, t := x.registry.Lookup(user), x.mu.terms[user]
		if importer == nil || t == nil {
			continue
		}
		for k, i := range t.Settings.Imports {
			if i.Account != a.name {
				continue
			}
			if x.mu.faults[user][k] != nil {
				continue
			}
			if i.Kind == options.ServiceExchange {
				b.Serves = true
				continue
			}
			link := &router.StreamLink{From: i.Subject, To: importer.index}
			if i.Prefix != "" {
				link.Prefix = Local(&options.Import{Prefix: i.Prefix})
			}
			var err error
			if link.Rename, err = streamRename(i); err == nil {
				b.Streams = append(b.Streams, link)
			}
		}
	}
}

// grantLocked returns whom an import is from and what it uses there.
func (x *exchange) grantLocked(t *Terms, index int) (*Account, *options.Export, error) {
	i := t.Settings.Imports[index]
	from, other := x.registry.Lookup(i.Account), x.mu.terms[i.Account]
	if from == nil || other == nil || i.Account == "" {
		return nil, nil, errNoExporter
	}
	e, until, err := t.grant(index, other.Settings)
	if err == nil && !until.IsZero() {
		if name := t.Settings.Name; x.mu.renewals[name].IsZero() || until.Before(x.mu.renewals[name]) {
			x.mu.renewals[name] = until
		}
	}
	return from, e, err
}

func (x *exchange) service(a *Account, i *options.Import, from *Account, e *options.Export) (*router.ServiceLink, error) {
	rename, err := serviceRename(i)
	if err != nil {
		return nil, err
	}
	link := &router.ServiceLink{Local: Local(i), To: from.index, Rename: rename, Share: i.Share, Many: e.Response != options.Singleton,
		Threshold: cmp.Or(max(e.Threshold, 0), router.DefaultThreshold), Importer: a.name, Exporter: from.name, Server: x.server}
	if l := e.Latency; l != nil {
		link.Latency = &router.Latency{Subject: l.Subject, Sampling: l.Sampling}
	}
	return link, nil
}

// watchLocked says to each account whose senders look into it: exporters of streams into importers, and those who ask
// for a service into the exporter and whom that one asks in turn.
func (x *exchange) watchLocked() {
	watchers := make(map[string]map[string]bool)
	watch := func(watched, by string) {
		if watchers[watched] == nil {
			watchers[watched] = make(map[string]bool)
		}
		watchers[watched][by] = true
	}
	var ask func(asker, name string, seen map[string]bool)
	ask = func(asker, name string, seen map[string]bool) {
		t := x.mu.terms[name]
		if t == nil {
			return
		}
		for k, i := range t.Settings.Imports {
			if i.Kind == options.ServiceExchange && !seen[i.Account] && x.mu.faults[name][k] == nil {
				seen[i.Account] = true
				watch(i.Account, asker)
				ask(asker, i.Account, seen)
			}
		}
	}
	for name, t := range x.mu.terms {
		ask(name, name, map[string]bool{name: true})
		for k, i := range t.Settings.Imports {
			if i.Kind == options.StreamExchange && x.mu.faults[name][k] == nil {
				watch(name, i.Account)
			}
		}
	}
	for _, a := range x.registry.All() {
		var list []*router.Index
		for _, by := range slices.Sorted(maps.Keys(watchers[a.name])) {
			if other := x.registry.Lookup(by); other != nil && other != a {
				list = append(list, other.index)
			}
		}
		if !slices.Equal(list, x.mu.watchers[a.name]) {
			x.mu.watchers[a.name] = list
			a.index.Watch(list)
		}
	}
}

// renewLocked sees to it that imports end when the right to them does.
func (x *exchange) renewLocked() {
	if x.mu.renewal != nil {
		x.mu.renewal.Stop()
		x.mu.renewal = nil
	}
	if len(x.mu.renewals) == 0 || x.mu.closed {
		return
	}
	next := slices.MinFunc(slices.Collect(maps.Values(x.mu.renewals)), time.Time.Compare)
	x.mu.renewal = time.AfterFunc(max(time.Until(next), time.Second), x.renew)
}

// renew looks again at the imports of accounts where one has ended.
func (x *exchange) renew() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.closed {
		return
	}
	now := time.Now()
	changed := make(map[string]*Terms)
	for name, until := range x.mu.renewals {
		if !until.After(now) {
			changed[name] = x.mu.terms[name]
		}
	}
	x.setLocked(changed) // the importer's users find nobody; there is nothing more to tell
}

// Terms returns the terms in force of an account, and what is wrong with each import, nil for nothing. Both are nil if it
// has none. The result is shared.
func (r *Registry) Terms(name string) (*Terms, []error) {
	x := &r.exchange
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.terms[name], slices.Clone(x.mu.faults[name])
}

// Close ends what goes on by itself in the accounts.
func (r *Registry) Close() {
	x := &r.exchange
	x.mu.Lock()
	x.mu.closed = true
	if x.mu.renewal != nil {
		x.mu.renewal.Stop()
	}
	x.mu.Unlock()
	for _, a := range r.All() {
		a.index.Close()
	}
}

// Latency is what the exporter of a service measures of the requests of an import; nil for nothing.
func (r *Registry) Latency(name string, i *options.Import) *options.ServiceLatency {
	x := &r.exchange
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.mu.terms[name]
	if t == nil {
		return nil
	}
	if _, e, err := x.grantLocked(t, slices.Index(t.Settings.Imports, i)); err == nil {
		return e.Latency
	}
	return nil
}
