package suite

import (
	"slices"
	"strings"
)

// Verdict compares a run with the stored list of passing tests.
type Verdict struct {
	Broken []string // listed tests that did not pass; "(did not run)" or "(skipped)" behind the name
	Faulty []string // listed tests during which a server panicked or raced, whatever their outcome
	New    []string // tests that passed and are not listed
	Shaky  []string // of New, those that needed more than one attempt; they are not added to a list
}

// OK tells whether the listed tests are as they should be.
func (v *Verdict) OK() bool { return len(v.Broken) == 0 && len(v.Faulty) == 0 }

// Judge makes the verdict. Listed tests of packages that were not run, or that do not match the
// -run expression, do not count.
func Judge(rep *Report, listed *List, run string) (*Verdict, error) {
	match, err := topLevel(run)
	if err != nil {
		return nil, err
	}
	packages := map[string]bool{}
	for _, c := range rep.Packages {
		packages[c.Package] = true
	}
	v := &Verdict{}
	seen := map[string]bool{}
	for _, t := range rep.Tests {
		key := t.Key()
		seen[key] = true
		switch {
		case t.Status == Pass && !listed.Has(key):
			v.New = append(v.New, key)
			if t.Attempts > 1 {
				v.Shaky = append(v.Shaky, key)
			}
		case t.Status == Fail && listed.Has(key):
			v.Broken = append(v.Broken, key)
		case t.Status == Skip && listed.Has(key):
			v.Broken = append(v.Broken, key+" (skipped)")
		}
	}
	for _, key := range listed.Keys() {
		pkg, test := splitKey(key)
		if !seen[key] && packages[pkg] && match.MatchString(test) {
			v.Broken = append(v.Broken, key+" (did not run)")
		}
	}
	for _, a := range rep.Alarms {
		for _, key := range listed.Keys() {
			_, test := splitKey(key)
			if a.Fault && mentions(a.Test, test) && !slices.Contains(v.Faulty, key) {
				v.Faulty = append(v.Faulty, key)
			}
		}
	}
	slices.Sort(v.Broken)
	slices.Sort(v.Faulty)
	return v, nil
}

// mentions tells whether a description names the test as a word of its own.
func mentions(description, test string) bool {
	return slices.Contains(strings.FieldsFunc(description, func(r rune) bool { return r == ' ' || r == '/' || r == ':' }), test)
}

// Extend adds to the list what passed at the first attempt, but for tests that are known to depend
// on the machine's timing. It never removes a test.
func (v *Verdict) Extend(listed, unsteady *List) (added int) {
	for _, key := range v.New {
		if !slices.Contains(v.Shaky, key) && !unsteady.Has(key) {
			listed.Add(key)
			added++
		}
	}
	return added
}
