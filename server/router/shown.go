package router

import (
	"strings"

	"godwit/protocol/subject"
)

// EachImported calls f for the subscriptions of other accounts that get messages of this one through stream imports, with
// the subject that they amount to here, until f returns false. One that several imports serve is seen for each. It looks at
// every subscription of the importing accounts: for monitoring.
func (x *Index) EachImported(f func(importer string, s *Sub, subject string) bool) {
	l := x.links.Load()
	if l == nil {
		return
	}
	for _, link := range l.shown {
		local, back := link.local()
		more := true
		link.To.Each(func(s *Sub) bool {
			if !subject.Overlap(s.Subject(), local) { // cheap, and true of few
				return true
			}
			if met, ok := intersect(s.Subject(), local); ok {
				more = f(link.Importer, s, back(met))
			}
			return more
		})
		if !more {
			return
		}
	}
}

// CountImported is the number of subscriptions that EachImported shows. They are counted again only after a change.
func (x *Index) CountImported() int {
	l := x.links.Load()
	if l == nil || len(l.shown) == 0 {
		return 0
	}
	c := importedCount{links: l}
	for _, link := range l.shown {
		c.changes += link.To.changes.Load() // before they are counted: a change meanwhile is seen next time
	}
	if last := x.imported.Load(); last != nil && last.links == c.links && last.changes == c.changes {
		return last.n
	}
	for _, link := range l.shown {
		local, _ := link.local()
		link.To.Each(func(s *Sub) bool {
			if subject.Overlap(s.Subject(), local) {
				c.n++
			}
			return true
		})
	}
	x.imported.Store(&c)
	return c.n
}

// importedCount is what CountImported has found last, and when.
type importedCount struct {
	links   *Links
	changes uint64 // of all importing accounts, summed up
	n       int
}

// ServiceImports are the patterns of the subjects on which requests of the account go to others.
func (x *Index) ServiceImports() (list []string) {
	if l := x.links.Load(); l != nil {
		for _, s := range l.asking {
			list = append(list, s.Local)
		}
	}
	return list
}

// local returns the pattern of the subjects in the importing account, and what leads back from a subject or pattern that
// it covers to the exporter's.
func (l *StreamLink) local() (pattern string, back func(met string) string) {
	if l.Rename == nil {
		return l.Prefix + l.From, func(met string) string { return strings.TrimPrefix(met, l.Prefix) }
	}
	tokens := strings.Split(l.Rename.Dest(), ".")
	at := make(map[int]int) // number of the exporter's wildcard, from 1, to the token here
	for i, tok := range tokens {
		if n, ok := subject.WildcardIndex(tok); ok {
			tokens[i], at[n] = "*", i
		}
	}
	return strings.Join(tokens, "."), func(met string) string {
		here, there := strings.Split(met, "."), strings.Split(l.From, ".")
		stars := 0
		for i, tok := range there {
			switch tok {
			case "*":
				stars++
				if k, ok := at[stars]; ok {
					there[i] = here[k]
				}
			case ">":
				there[i] = strings.Join(here[len(tokens)-1:], ".")
			}
		}
		return strings.Join(there, ".")
	}
}

// intersect returns the pattern of the subjects that both patterns match, and whether there are any.
func intersect(a, b string) (string, bool) {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	var met []string
	for i := 0; ; i++ {
		switch {
		case i == len(x) || i == len(y):
			return strings.Join(met, "."), len(x) == len(y)
		case x[i] == ">" && i == len(x)-1:
			return strings.Join(append(met, y[i:]...), "."), true
		case y[i] == ">" && i == len(y)-1:
			return strings.Join(append(met, x[i:]...), "."), true
		case x[i] == "*":
			met = append(met, y[i])
		case y[i] == "*" || x[i] == y[i]:
			met = append(met, x[i])
		default:
			return "", false
		}
	}
}
