package config

import (
	"slices"
	"strings"

	"godwit/conf"
)

// Key is one key of a configuration file, as it is found below a path.
type Key struct {
	Path    string // keys from the top, with dots between them: "jetstream.limits.max_ack_pending"
	Section string // name of the block that it stands in
	conf.Line
}

// maxPathKeys bounds the length of a path: blocks may lead to each other, but not deeper than this.
const maxPathKeys = 8

// Keys lists every key at the shortest path that leads to it, in the order of the reference page.
func Keys() []Key {
	at := shortestPaths()
	var list []Key
	for _, s := range Sections() {
		for _, l := range s.Lines {
			list = append(list, Key{Path: join(at[s.Name], l.Key), Section: s.Name, Line: l})
		}
	}
	return list
}

// shortestPaths returns for each section the shortest path to a key that has it as its value.
func shortestPaths() map[string]string {
	sections := Sections()
	at := map[string]string{sections[0].Name: ""}
	for range maxPathKeys {
		for _, s := range sections {
			path, ok := at[s.Name]
			if !ok {
				continue
			}
			for _, l := range s.Lines {
				if _, known := at[l.Block]; l.Block != "" && !known {
					at[l.Block] = join(path, l.Key)
				}
			}
		}
	}
	return at
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Lookup finds what a person means: a path from the top, in which names of accounts and the like may stand or be
// left out; a key behind the name of its section; or a bare key, for which every place of it is returned.
// Keys are matched in any case and by their aliases.
func Lookup(name string) []Key {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return nil
	}
	if k, ok := follow(strings.Split(name, ".")); ok {
		return []Key{k}
	}
	var list []Key
	section, last := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		section, last = name[:i], name[i+1:]
	}
	for _, k := range Keys() {
		if k.Is(last) && (section == "" || strings.EqualFold(section, k.Section)) {
			list = append(list, k)
		}
	}
	return list
}

// follow walks from the top.
func follow(words []string) (k Key, ok bool) {
	sections := Sections()
	at := &sections[0]
	free := false // the word may be a name of the user's choice
	for i, w := range words {
		j := slices.IndexFunc(at.Lines, func(l conf.Line) bool { return l.Is(w) })
		if j < 0 {
			if free && i < len(words)-1 {
				free = false
				continue
			}
			return Key{}, false
		}
		k = Key{Path: join(k.Path, at.Lines[j].Key), Section: at.Name, Line: at.Lines[j]}
		if i == len(words)-1 {
			return k, true
		}
		next := slices.IndexFunc(sections, func(s conf.Section) bool { return s.Name == k.Block })
		if next < 0 {
			return Key{}, false
		}
		at, free = &sections[next], k.Named
	}
	return Key{}, false
}

// SectionOf returns the section of a name, in any case.
func SectionOf(name string) (conf.Section, bool) {
	for _, s := range Sections() {
		if strings.EqualFold(s.Name, name) {
			return s, true
		}
	}
	return conf.Section{}, false
}

// maxNearest is how many names Nearest returns at most.
const maxNearest = 5

// Nearest returns the paths of keys whose names are like the last word of name, best first.
func Nearest(name string) []string {
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	type near struct {
		path  string
		apart int
	}
	var list []near
	for _, k := range Keys() {
		best := -1
		for _, n := range append([]string{k.Line.Key}, k.Aliases...) {
			d, ok := conf.Distance(name, n)
			if !ok && len(name) >= 3 && strings.Contains(n, name) {
				d, ok = len(n)-len(name), true
			}
			if ok && (best < 0 || d < best) {
				best = d
			}
		}
		if best >= 0 {
			list = append(list, near{k.Path, best})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int { return a.apart - b.apart })
	paths := make([]string, 0, maxNearest)
	for _, n := range list {
		if len(paths) == maxNearest {
			break
		}
		paths = append(paths, n.path)
	}
	return paths
}
