package account

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
		terms   map[string]*Terms
		since   map[string]uint64 // when terms came; what came later does not close a cycle
		last    uint64
		users   map[string]map[string]bool      // accounts that import from one, by name
		judged  map[string]*judged              // by account
		built   map[string]*router.LinksBuilder // by account: what its links were made of
		renewal *time.Timer                     // for the first import whose right ends
		closed  bool
	}
}

// judged is what the terms of an account come to, as the terms of others are now. It never changes.
type judged struct {
	terms    *Terms
	faults   []error // of each import, nil if it is good
	services []*router.ServiceLink
	asked    []string // the exporter of each of services
	streams  []*router.StreamLink
	imported []string // the exporter of each of streams
	mappings []*router.Mapping
	until    time.Time // when the first right to an import ends; zero for never
}

func (x *exchange) init(r *Registry) {
	x.registry = r
	x.mu.terms = make(map[string]*Terms)
	x.mu.since = make(map[string]uint64)
	x.mu.users = make(map[string]map[string]bool)
	x.mu.judged = make(map[string]*judged)
	x.mu.built = make(map[string]*router.LinksBuilder)
}

// SetServer says in which server the accounts are, before the first terms: by its name and the name of its cluster,
// empty if there is none.
func (r *Registry) SetServer(name, cluster string) {
	r.exchange.server, r.exchange.cluster = subject.Hash8(name), cluster
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
	names := slices.Sorted(maps.Keys(changed))
	for _, name := range names {
		t := changed[name]
		if old := x.mu.terms[name]; old != nil {
			for _, i := range old.Settings.Imports {
				delete(x.mu.users[i.Account], name)
			}
		}
		delete(x.mu.terms, name)
		delete(x.mu.since, name)
		if t == nil {
			continue
		}
		x.mu.last++
		x.mu.terms[name], x.mu.since[name] = t, x.mu.last
		for _, i := range t.Settings.Imports {
			if x.mu.users[i.Account] == nil {
				x.mu.users[i.Account] = make(map[string]bool)
			}
			x.mu.users[i.Account][name] = true
		}
	}
	return x.renewLocked(names)
}

// renewLocked judges accounts, and those who import from them, directly or not, and makes their links and those of their
// exporters.
func (x *exchange) renewLocked(names []string) error {
	judge, link := make(map[string]bool), make(map[string]bool)
	var touch func(name string)
	touch = func(name string) {
		if judge[name] {
			return
		}
		judge[name], link[name] = true, true
		for user := range x.mu.users[name] {
			touch(user)
		}
	}
	for _, name := range names {
		touch(name)
	}
	for name := range judge {
		if old := x.mu.judged[name]; old != nil {
			for _, i := range old.terms.Settings.Imports {
				link[i.Account] = true
			}
			delete(x.mu.judged, name)
		}
		if t := x.mu.terms[name]; t != nil {
			for _, i := range t.Settings.Imports {
				link[i.Account] = true
			}
		}
	}
	var faults []error
	byAge := func(a, b string) int { return cmp.Compare(x.mu.since[a], x.mu.since[b]) }
	for _, name := range slices.SortedFunc(maps.Keys(judge), byAge) {
		if t := x.mu.terms[name]; t != nil {
			j, err := x.judgeLocked(name, t)
			x.mu.judged[name] = j
			faults = append(faults, err...)
		}
	}
	for name := range link {
		x.linkLocked(name)
	}
	x.scheduleLocked()
	return errors.Join(faults...)
}

// judgeLocked finds out what the terms of an account come to, and what is wrong with them.
func (x *exchange) judgeLocked(name string, t *Terms) (j *judged, faults []error) {
	j = &judged{terms: t, faults: make([]error, len(t.Settings.Imports))}
	importer := x.registry.Lookup(name)
	for k, i := range t.Settings.Imports {
		err := x.importLocked(j, name, importer, k)
		if j.faults[k] = err; err != nil {
			faults = append(faults, fmt.Errorf("account %q: import of %q from %q: %w", name, i.Subject, i.Account, err))
		}
	}
	for _, m := range t.Settings.Mappings {
		mapping, err := router.NewMapping(m.Source, x.destsFor(m))
		if err != nil {
			faults = append(faults, fmt.Errorf("account %q: mapping of %q: %w", name, m.Source, err))
			continue
		}
		j.mappings = append(j.mappings, mapping)
	}
	return j, faults
}

// importLocked adds an import to j, or says why not.
func (x *exchange) importLocked(j *judged, name string, importer *Account, index int) error {
	i := j.terms.Settings.Imports[index]
	from, e, until, err := x.grantLocked(j.terms, index)
	switch {
	case err != nil:
		return err
	case importer == nil:
		return errNoImporter
	}
	if !until.IsZero() && (j.until.IsZero() || until.Before(j.until)) {
		j.until = until
	}
	if j.terms.Allows != nil && x.cycleLocked(j, name, index) { // a configuration was checked as a whole
		return errCycle
	}
	if i.Kind == options.ServiceExchange {
		link, err := x.service(importer, i, from, e)
		if err != nil {
			return err
		}
		j.services, j.asked = append(j.services, link), append(j.asked, from.name)
		return nil
	}
	link := &router.StreamLink{From: i.Subject, To: importer.index, Importer: importer.name, AllowTrace: i.AllowTrace}
	if i.Prefix != "" {
		link.Prefix = strings.TrimSuffix(i.Prefix, ".") + "."
	}
	if link.Rename, err = streamRename(i); err != nil {
		return err
	}
	j.streams, j.imported = append(j.streams, link), append(j.imported, from.name)
	return nil
}

// cycleLocked reports whether an import closes a cycle: what it imports comes, by imports of the same kind that were
// there before, from its own account. j is that account so far.
func (x *exchange) cycleLocked(j *judged, name string, index int) bool {
	type place struct{ account, subject string }
	first := j.terms.Settings.Imports[index]
	seen := make(map[place]bool)
	var follow func(p place) bool
	follow = func(p place) bool {
		other := x.mu.judged[p.account]
		if p.account == name {
			other = j
		}
		if other == nil || seen[p] {
			return false
		}
		seen[p] = true
		for k, i := range other.terms.Settings.Imports {
			later := x.mu.since[p.account] > x.mu.since[name] || p.account == name && k >= index
			if later || i.Kind != first.Kind || other.faults[k] != nil || !subject.Overlap(Local(i), p.subject) {
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

// grantLocked returns whom an import is from, what it uses there and until when, zero for ever.
func (x *exchange) grantLocked(t *Terms, index int) (*Account, *options.Export, time.Time, error) {
	i := t.Settings.Imports[index]
	from, other := x.registry.Lookup(i.Account), x.mu.terms[i.Account]
	if from == nil || other == nil || i.Account == "" {
		return nil, nil, time.Time{}, errNoExporter
	}
	e, until, err := t.grant(index, other.Settings)
	return from, e, until, err
}

func (x *exchange) service(a *Account, i *options.Import, from *Account, e *options.Export) (*router.ServiceLink, error) {
	rename, err := serviceRename(i)
	if err != nil {
		return nil, err
	}
	link := &router.ServiceLink{Local: Local(i), To: from.index, Rename: rename, Share: i.Share, Many: e.Response != options.Singleton,
		Threshold: cmp.Or(max(e.Threshold, 0), router.DefaultThreshold), Importer: a.name, Exporter: from.name, Server: x.server,
		AllowTrace: e.AllowTrace}
	if l := e.Latency; l != nil {
		link.Latency = &router.Latency{Subject: l.Subject, Sampling: l.Sampling}
	}
	return link, nil
}

// scheduleLocked sees to it that imports end when the right to them does.
func (x *exchange) scheduleLocked() {
	if x.mu.renewal != nil {
		x.mu.renewal.Stop()
		x.mu.renewal = nil
	}
	var next time.Time
	for _, j := range x.mu.judged {
		if !j.until.IsZero() && (next.IsZero() || j.until.Before(next)) {
			next = j.until
		}
	}
	if !next.IsZero() && !x.mu.closed {
		x.mu.renewal = time.AfterFunc(max(time.Until(next), time.Second), x.expire)
	}
}

// expire looks again at the accounts where the right to an import has ended.
func (x *exchange) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mu.closed {
		return
	}
	now := time.Now()
	var names []string
	for name, j := range x.mu.judged {
		if !j.until.IsZero() && !j.until.After(now) {
			names = append(names, name)
		}
	}
	x.renewLocked(names) // the importer's users find nobody; there is nothing more to tell
}

// Terms returns the terms in force of an account, and what is wrong with each import, nil for nothing. Both are nil if it
// has none. The results are shared.
func (r *Registry) Terms(name string) (*Terms, []error) {
	x := &r.exchange
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.mu.judged[name]
	if j == nil {
		return nil, nil
	}
	return j.terms, j.faults
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
	if _, e, _, err := x.grantLocked(t, slices.Index(t.Settings.Imports, i)); err == nil {
		return e.Latency
	}
	return nil
}
