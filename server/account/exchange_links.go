package account

import (
	"maps"
	"slices"

	"godwit/server/router"
)

// linkLocked makes the links of an account, if they are not as before.
func (x *exchange) linkLocked(name string) {
	a := x.registry.Lookup(name)
	if a == nil || name == "" {
		return
	}
	b := &router.LinksBuilder{}
	if j := x.mu.judged[name]; j != nil {
		b.Mappings, b.Services = j.mappings, j.services
		b.Asked = x.askedLocked(name)
		b.Imported = x.indexes(j.imported)
	}
	for _, user := range slices.Sorted(maps.Keys(x.mu.users[name])) {
		j := x.mu.judged[user]
		if j == nil {
			continue
		}
		b.Serves = b.Serves || slices.Contains(j.asked, name)
		for k, exporter := range j.imported {
			if exporter == name {
				b.Streams = append(b.Streams, j.streams[k])
			}
		}
	}
	if old := x.mu.built[name]; old == nil || !old.Same(b) {
		x.mu.built[name] = b
		a.index.Link(b.Build())
	}
}

// askedLocked returns the accounts into which requests of one go, and go on.
func (x *exchange) askedLocked(name string) []*router.Index {
	seen := map[string]bool{name: true}
	var names []string
	var ask func(name string)
	ask = func(name string) {
		j := x.mu.judged[name]
		if j == nil {
			return
		}
		for _, other := range j.asked {
			if !seen[other] {
				seen[other] = true
				names = append(names, other)
				ask(other)
			}
		}
	}
	ask(name)
	return x.indexes(names)
}

// indexes returns the indexes of accounts, each once.
func (x *exchange) indexes(names []string) (list []*router.Index) {
	for k, name := range names {
		if a := x.registry.Lookup(name); a != nil && !slices.Contains(names[:k], name) {
			list = append(list, a.index)
		}
	}
	return list
}
