// Package imports holds the packages of this module to the allowed import directions: what is
// below never imports what is above. The rules are a table, rules.go, with a reason for each.
package imports

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path before every package of this module.
const Module = "godwit"

// A Package is one package with what its files, other than tests, import.
type Package struct {
	ImportPath string
	Imports    []string
}

// A Rule says what the packages at and below a path may import of this module. The rule with the
// longest path that fits a package is its rule.
type Rule struct {
	Of  string   // path inside the module; "server=" is the package server alone
	May []string // paths inside the module, each with what is below it; "server=" as above
	Why string
}

// A Ban keeps an import, of this module or another, to the packages that may have it.
type Ban struct {
	Import string   // import path, with what is below it
	Only   []string // paths inside the module, as in Rule.May
	Why    string
}

// Violations returns one sentence for every import that is not allowed, and for every package
// that no rule speaks of.
func Violations(packages []Package, rules []Rule, bans []Ban) []string {
	var out []string
	for _, p := range packages {
		path, ours := inside(p.ImportPath)
		if !ours {
			continue
		}
		rule := ruleOf(path, rules)
		if rule == nil {
			out = append(out, fmt.Sprintf("%s has no rule: say in the table what it may import", p.ImportPath))
			continue
		}
		for _, imported := range p.Imports {
			if target, ours := inside(imported); ours && target != path && !within(target, rule.May) {
				out = append(out, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imported, rule.Why))
			}
			for _, ban := range bans {
				if below(imported, ban.Import) && !within(path, ban.Only) {
					out = append(out, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imported, ban.Why))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inside returns the path of a package inside the module; the root package is a dot.
func inside(importPath string) (path string, ours bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

func ruleOf(path string, rules []Rule) (best *Rule) {
	for i := range rules {
		if fits(path, rules[i].Of) && (best == nil || len(rules[i].Of) > len(best.Of)) {
			best = &rules[i]
		}
	}
	return best
}

func within(path string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return fits(path, entry) })
}

// fits tells whether an entry of the table means a path: itself and what is below it, or with a
// trailing equals sign itself alone.
func fits(path, entry string) bool {
	if exact, ok := strings.CutSuffix(entry, "="); ok {
		return path == exact
	}
	return below(path, entry)
}

func below(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }
