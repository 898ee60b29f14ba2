package server

import (
	"errors"
	"time"

	"godwit/server/account"
	"godwit/server/auth/jwtauth"
	"godwit/server/options"
)

// termsOf picks what the accounts of a configuration offer to each other. Those of before, which may be nil, that it no
// longer has end.
func termsOf(o, before *options.Options) map[string]*account.Terms {
	terms := map[string]*account.Terms{
		account.GlobalName: {Settings: withDomain(o, &options.Account{Name: account.GlobalName, Mappings: o.Mappings})},
	}
	if before != nil {
		for _, a := range before.Accounts {
			terms[a.Name] = nil
		}
	}
	for _, a := range o.Accounts {
		terms[a.Name] = &account.Terms{Settings: withDomain(o, a)}
	}
	return terms
}

// setTerms puts the imports, exports and mappings of a configuration in force.
func (s *Server) setTerms(o, before *options.Options) {
	if err := s.accounts.SetTerms(termsOf(o, before)); err != nil {
		s.log.Errorf("Not all imports are in force: %v", err)
	}
}

var errUnknownExporter = errors.New("the exporting account is not loaded")

// setTerms puts the imports, exports and mappings of an account in force, and loads those that it imports from.
func (p *operators) setTerms(ch jwtauth.Change) {
	a := ch.Account
	if ch.Ended {
		p.s.accounts.SetTerms(map[string]*account.Terms{a.Key: nil}) // nothing is left that could be wrong
		return
	}
	if p.manager != nil {
		for _, i := range a.Settings.Imports {
			if _, err := p.manager.Account(i.Account); err != nil {
				p.s.log.Debugf("Account %q imports from %q, which is not there: %v", a.Key, i.Account, err)
			}
		}
	}
	allows := func(index int, exporter string) (time.Time, error) {
		e := p.manager.Loaded(exporter)
		if e == nil {
			return time.Time{}, errUnknownExporter
		}
		return jwtauth.Authorize(a, e, index)
	}
	if err := p.s.accounts.SetTerms(map[string]*account.Terms{a.Key: {Settings: withDomain(p.s.options(), a.Settings), Allows: allows}}); err != nil {
		p.s.log.Warnf("Not all imports are in force: %v", err)
	}
}
