package jwtauth

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nats-io/jwt/v2"

	"godwit/protocol/subject"
)

const (
	// maxExpansion is how many subjects one entry of a template may become, those counted that are equal.
	maxExpansion = 4096
	// maxExpanded is how many all entries of a list may become together.
	maxExpanded = 1 << 16
)

// templateCall is a function call in a subject of a scope's permissions.
var templateCall = regexp.MustCompile(`{{.+?}}`)

// scopedLimits are the rights of a user whose JWT is by a scoped signing key: the scope's template with the
// function calls in its subjects replaced by what the user's and the account's claims say. The result shares
// nothing that is changed with the template.
func scopedLimits(scope *jwt.UserScope, user *jwt.UserClaims, account *jwt.AccountClaims) (jwt.UserPermissionLimits, error) {
	if err := scope.ValidateScopedSigner(user); err != nil {
		return jwt.UserPermissionLimits{}, err
	}
	out := scope.Template
	x := expander{user, account}
	var err error
	for _, p := range []*jwt.Permission{&out.Pub, &out.Sub} {
		if *p, err = x.permission(*p); err != nil {
			return jwt.UserPermissionLimits{}, err
		}
	}
	return out, nil
}

// expander replaces function calls.
type expander struct {
	user    *jwt.UserClaims
	account *jwt.AccountClaims
}

// permission expands both lists. What an allow list loses is not allowed; if it loses all, everything is denied. A
// deny list must not lose anything.
func (x expander) permission(p jwt.Permission) (jwt.Permission, error) {
	allow, _, err := x.list(p.Allow)
	if err != nil {
		return p, err
	}
	deny, lost, err := x.list(p.Deny)
	if err != nil {
		return p, err
	}
	if lost != "" {
		return p, fmt.Errorf("deny entry %q of the template has no value", lost)
	}
	if len(p.Allow) > 0 && len(allow) == 0 {
		deny = append(deny, ">")
	}
	return jwt.Permission{Allow: allow, Deny: deny}, nil
}

// list expands entries. Those whose calls have no value, or give something that is no subject, are left out, and
// lost names one of them. Entries without calls stay as they are.
func (x expander) list(entries []string) (out jwt.StringList, lost string, err error) {
	seen := make(map[string]bool)
	add := func(s string) error {
		if seen[s] {
			return nil
		}
		if len(out) >= maxExpanded {
			return errTooManySubs
		}
		seen[s] = true
		out = append(out, s)
		return nil
	}
	for _, e := range entries {
		if !templateCall.MatchString(e) {
			if err := add(e); err != nil {
				return nil, "", err
			}
			continue
		}
		subjects, err := x.entry(e)
		if err != nil {
			return nil, "", err
		}
		kept := 0
		for _, s := range subjects {
			if !subject.Valid(s) {
				lost = e
				continue
			}
			kept++
			if err := add(s); err != nil {
				return nil, "", err
			}
		}
		if kept == 0 {
			lost = e
		}
	}
	return out, lost, nil
}

// entry expands one entry: every combination of the values of its calls. Calls that are written the same have
// the same value within one result.
func (x expander) entry(e string) ([]string, error) {
	calls := templateCall.FindAllString(e, -1)
	values := make(map[string][]string, len(calls))
	combinations := 1
	for _, c := range calls {
		v, err := x.call(c)
		if err != nil {
			return nil, err
		}
		if len(v) == 0 {
			return nil, nil
		}
		values[c] = v
		if combinations *= len(v); combinations > maxExpansion {
			return nil, fmt.Errorf("%w: %q", errTooManySubs, e)
		}
	}
	type choice struct {
		at     int // in e, behind the last call that was replaced
		prefix string
		chosen map[string]string
	}
	results := []choice{{chosen: map[string]string{}}}
	for _, at := range templateCall.FindAllStringIndex(e, -1) {
		c := e[at[0]:at[1]]
		var next []choice
		for _, r := range results {
			options := values[c]
			if v, ok := r.chosen[c]; ok {
				options = []string{v}
			}
			for _, v := range options {
				chosen := r.chosen
				if len(values[c]) > 1 {
					chosen = map[string]string{c: v}
					for k, o := range r.chosen {
						chosen[k] = o
					}
				}
				next = append(next, choice{at[1], r.prefix + e[r.at:at[0]] + v, chosen})
			}
		}
		results = next
	}
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = r.prefix + e[r.at:]
	}
	return out, nil
}

// call returns the values of one call, none for a tag that is not there.
func (x expander) call(c string) ([]string, error) {
	text := strings.TrimSpace(c[2 : len(c)-2])
	name, arg, ok := strings.Cut(text, "(")
	if !ok || !strings.HasSuffix(arg, ")") {
		return nil, fmt.Errorf("template %q is no function call", c)
	}
	name, arg = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(arg[:len(arg)-1])
	switch name {
	case "tag":
		return tagValues(x.user.Tags, arg), nil
	case "account-tag":
		return tagValues(x.account.Tags, arg), nil
	}
	if arg == "" {
		switch name {
		case "name":
			return []string{x.user.Name}, nil
		case "subject":
			return []string{x.user.Subject}, nil
		case "account-name":
			return []string{x.account.Name}, nil
		case "account-subject":
			return []string{x.account.Subject}, nil
		}
	}
	return nil, fmt.Errorf("template %q calls no function that is known", c)
}

// tagValues returns the values of the tags "key:value". Tags are in lower case.
func tagValues(tags jwt.TagList, key string) []string {
	if key == "" {
		return nil
	}
	var out []string
	for _, t := range tags {
		if k, v, ok := strings.Cut(t, ":"); ok && strings.EqualFold(k, key) {
			out = append(out, v)
		}
	}
	return out
}
