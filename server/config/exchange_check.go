package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"godwit/protocol/subject"
	"godwit/server/options"
)

// Errors about imports and exports, in nats-server's words.
var (
	errStreamNotAuthorized  = errors.New("stream import not authorized")
	errServiceNotAuthorized = errors.New("service import not authorized")
	errPrefixWildcard       = errors.New("stream import prefix can not contain wildcard tokens")
	errStreamExists         = errors.New("stream import already exists")
	errImportCycle          = errors.New("import forms a cycle")
	errInvalidSubject       = errors.New("sublist: invalid subject")
	errInvalidPublish       = errors.New("invalid publish subject")
	errResponseType         = errors.New("bad service response type")
)

// checkExchanges checks exports, then imports against them, in the order of the file.
func (b *build) checkExchanges() {
	for _, x := range b.exchanges {
		if x.exp != nil {
			b.checkExport(x)
		}
	}
	var added []*exchange
	for _, x := range b.exchanges {
		if x.imp != nil && b.checkImport(x, added) {
			added = append(added, x)
		}
	}
}

func kindName(k options.ExchangeKind) string {
	if k == options.ServiceExchange {
		return "service"
	}
	return "stream"
}

func (b *build) checkExport(x *exchange) {
	e := x.exp
	for _, name := range e.Accounts {
		if b.account(name) == nil {
			b.decoder.Errorf(x.at, "%q account not defined for %s export", name, kindName(e.Kind))
			return
		}
	}
	if e.TokenPosition != 0 && token(e.Subject, e.TokenPosition) != "*" {
		b.decoder.Errorf(x.at, "Error adding %s export %q: %v", kindName(e.Kind), e.Subject, errInvalidSubject)
		return
	}
	if l := e.Latency; l != nil {
		var err error
		switch {
		case !subject.ValidLiteral(l.Subject):
			err = errInvalidPublish
		case e.Response != options.Singleton:
			err = errResponseType
		}
		if err != nil {
			b.decoder.Errorf(x.at, "Error adding service latency sampling for %q on subject %q: %v", e.Subject, l.Subject, err)
		}
	}
}

// token returns the n-th token of s, counted from 1, or nothing.
func token(s string, n int) string {
	tokens := strings.Split(s, ".")
	if n < 1 || n > len(tokens) {
		return ""
	}
	return tokens[n-1]
}

// checkImport reports whether the import is good. added are the good ones before it.
func (b *build) checkImport(x *exchange, added []*exchange) bool {
	i := x.imp
	from := b.account(i.Account)
	if from == nil {
		b.decoder.Errorf(x.at, "%q account not defined for %s import", i.Account, kindName(i.Kind))
		return false
	}
	if i.Prefix != "" && i.To != "" {
		b.decoder.Errorf(x.at, "Stream import can not have a 'prefix' and a 'to' property")
		return false
	}
	check := checkStreamImport
	if i.Kind == options.ServiceExchange {
		check = checkServiceImport
	}
	if err := check(x, from, added); err != nil {
		b.decoder.Errorf(x.at, "Error adding %s import %q: %v", kindName(i.Kind), i.Subject, err)
		return false
	}
	return true
}

func checkStreamImport(x *exchange, from *options.Account, added []*exchange) error {
	i := x.imp
	if !exports(from, x) {
		return errStreamNotAuthorized
	}
	if subject.HasWildcard(i.Prefix) {
		return errPrefixWildcard
	}
	if i.To != "" {
		if err := checkTransform(i.Subject, i.To); err != nil {
			return fmt.Errorf("failed to create mapping transform for stream import subject from %q to %q: %w", i.Subject, i.To, err)
		}
	}
	for _, o := range added {
		if o.account == x.account && o.imp.Kind == i.Kind && o.imp.Account == i.Account && o.imp.Subject == i.Subject && local(o.imp) == local(i) {
			return errStreamExists
		}
	}
	if cycle(x, added) {
		return errImportCycle
	}
	return nil
}

func checkServiceImport(x *exchange, from *options.Account, added []*exchange) error {
	i := x.imp
	if !subject.Valid(i.Subject) || i.To != "" && !subject.Valid(i.To) {
		return errInvalidSubject
	}
	if !exports(from, x) {
		return errServiceNotAuthorized
	}
	if i.To != "" && subject.HasWildcard(i.Subject) {
		if err := checkTransform(i.Subject, i.To); err != nil {
			return fmt.Errorf("failed to create mapping transform for service import subject from %q to %q: %w", i.To, i.Subject, err)
		}
	}
	if cycle(x, added) {
		return errImportCycle
	}
	return nil
}

// checkTransform checks that to can be made of what source matches. Plain wildcards stand for those of source.
func checkTransform(source, to string) error {
	n := 0
	tokens := strings.Split(to, ".")
	for i, t := range tokens {
		if t == "*" {
			n++
			tokens[i] = fmt.Sprintf("$%d", n)
		}
	}
	_, err := subject.NewImportTransform(source, strings.Join(tokens, "."))
	return err
}

// local is the subject under which an import is known in its account.
func local(i *options.Import) string {
	switch {
	case i.Prefix != "":
		return i.Prefix + "." + i.Subject
	case i.To != "":
		return i.To
	}
	return i.Subject
}

// exports tells whether account from offers what x imports to x's account.
func exports(from *options.Account, x *exchange) bool {
	for _, e := range from.Exports {
		if e.Kind != x.imp.Kind || !subject.Subset(x.imp.Subject, e.Subject) {
			continue
		}
		switch {
		case e.TokenPosition != 0 && token(x.imp.Subject, e.TokenPosition) == x.account.Name,
			e.Private && slices.Contains(e.Accounts, x.account.Name),
			e.TokenPosition == 0 && !e.Private:
			return true
		}
	}
	return false
}

// cycle tells whether following imports from what x imports leads back to x's account.
func cycle(x *exchange, added []*exchange) bool {
	type place struct{ account, subject string }
	visited := make(map[place]bool)
	var follow func(p place) bool
	follow = func(p place) bool {
		if visited[p] {
			return false
		}
		visited[p] = true
		for _, o := range added {
			if o.account.Name != p.account || o.imp.Kind != x.imp.Kind || !subject.Overlap(local(o.imp), p.subject) {
				continue
			}
			if o.imp.Account == x.account.Name || follow(place{o.imp.Account, o.imp.Subject}) {
				return true
			}
		}
		return false
	}
	return x.imp.Account != x.account.Name && follow(place{x.imp.Account, x.imp.Subject})
}
