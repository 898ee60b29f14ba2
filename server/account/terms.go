package account

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"godwit/protocol/subject"
	"godwit/server/options"
)

// Reasons why an import brings nothing.
var (
	errNoExporter = errors.New("the exporting account is not known")
	errNoImporter = errors.New("the importing account is not known")
	errNotAllowed = errors.New("nothing that is exported covers the import")
	errCycle      = errors.New("import forms a cycle")
)

// Terms are what an account offers to others, takes from them and does with its own subjects. They never change; new
// ones replace them as a whole.
type Terms struct {
	Settings *options.Account // imports, exports and mappings count
	// Allows decides whether an import, by its index in Settings, may use what the other account exports to all who have
	// a token: until when, zero for ever. Nil refuses them; then only those count that the export names.
	Allows func(index int, exporter string) (until time.Time, err error)
}

// grant returns the export that an import uses, the narrowest of those that cover it, and until when; zero for ever.
func (t *Terms) grant(index int, from *options.Account) (*options.Export, time.Time, error) {
	imp, importer := t.Settings.Imports[index], t.Settings.Name
	var found *options.Export
	for _, e := range from.Exports {
		if e.Kind != imp.Kind || !subject.Subset(imp.Subject, e.Subject) || !admits(e, imp.Subject, importer, t.Allows != nil) {
			continue
		}
		if found == nil || subject.Subset(e.Subject, found.Subject) {
			found = e
		}
	}
	if found == nil {
		return nil, time.Time{}, errNotAllowed
	}
	if t.Allows == nil {
		return found, time.Time{}, nil
	}
	until, err := t.Allows(index, from.Name)
	return found, until, err
}

// admits reports whether an export is for an account. tokens says that who may use a private one is decided by tokens.
func admits(e *options.Export, imported, importer string, tokens bool) bool {
	if e.TokenPosition > 0 {
		all := strings.Split(imported, ".")
		return e.TokenPosition <= len(all) && all[e.TokenPosition-1] == importer
	}
	return !e.Private || tokens || slices.Contains(e.Accounts, importer)
}

// Local is the pattern of the subjects under which an import is known in its account.
func Local(i *options.Import) string {
	switch {
	case i.Prefix != "":
		return strings.TrimSuffix(i.Prefix, ".") + "." + i.Subject
	case i.To != "":
		local, _ := localTokens(i.To)
		return strings.Join(local, ".")
	}
	return i.Subject
}

// localTokens returns the tokens of an import's destination with "*" for each wildcard, and the number of the exporter's
// wildcard, from 1, that each token stands for; 0 for the others.
func localTokens(to string) (tokens []string, stands []int) {
	tokens = strings.Split(to, ".")
	stands = make([]int, len(tokens))
	stars := 0
	for i, tok := range tokens {
		if tok == "*" {
			stars++
			stands[i] = stars
		} else if n, ok := subject.WildcardIndex(tok); ok {
			tokens[i], stands[i] = "*", n
		}
	}
	return tokens, stands
}

// streamRename returns how the subjects of a stream are renamed on their way to the importer; nil if they are not.
func streamRename(i *options.Import) (*subject.Transform, error) {
	if i.To == "" || i.Prefix != "" || i.To == i.Subject {
		return nil, nil
	}
	tokens, stands := localTokens(i.To)
	for k, n := range stands {
		if n > 0 {
			tokens[k] = fmt.Sprintf("$%d", n)
		}
	}
	return subject.NewTransform(i.Subject, strings.Join(tokens, "."))
}

// serviceRename returns how the subjects of requests are renamed on their way to the exporter; nil if they are not.
func serviceRename(i *options.Import) (*subject.Transform, error) {
	if i.To == "" || i.To == i.Subject {
		return nil, nil
	}
	local, stands := localTokens(i.To)
	at := make(map[int]int) // the exporter's wildcard to the local one
	stars := 0
	for _, n := range stands {
		if n > 0 {
			stars++
			at[n] = stars
		}
	}
	remote := strings.Split(i.Subject, ".")
	stars = 0
	for k, tok := range remote {
		if tok != "*" {
			continue
		}
		stars++
		if at[stars] == 0 {
			return nil, &subject.MappingError{Token: i.To, Cause: subject.ErrUnusedWildcard}
		}
		remote[k] = fmt.Sprintf("$%d", at[stars])
	}
	return subject.NewTransform(strings.Join(local, "."), strings.Join(remote, "."))
}
