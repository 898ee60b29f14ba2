package jwtauth

import (
	"strings"

	"github.com/nats-io/jwt/v2"

	"godwit/protocol/subject"
	"godwit/server/auth"
	"godwit/server/options"
)

// permissionsOf makes permissions of those in a claim; nil if the claim has none. Entries that are no subjects match
// nothing, as in nats-server, so they are left out, and an allow list of nothing else allows nothing.
func permissionsOf(p *jwt.Permissions) *options.Permissions {
	out := &options.Permissions{Publish: rulesOf(&p.Pub, false), Subscribe: rulesOf(&p.Sub, true)}
	if p.Resp != nil {
		out.Response = &options.ResponsePermission{MaxMsgs: p.Resp.MaxMsgs, Expires: p.Resp.Expires}
	}
	if out.Publish == nil && out.Subscribe == nil && out.Response == nil {
		return nil
	}
	return out
}

func rulesOf(p *jwt.Permission, queues bool) *options.SubjectPermission {
	if p.Empty() {
		return nil
	}
	out := &options.SubjectPermission{Allow: wellFormed(p.Allow, queues), Deny: wellFormed(p.Deny, queues)}
	if len(p.Allow) > 0 && len(out.Allow) == 0 {
		out.Deny = append(out.Deny, ">")
	}
	return out
}

// wellFormed returns the entries of a list that are subjects, or for subscriptions a subject and a queue.
func wellFormed(list []string, queues bool) []string {
	var out []string
	for _, e := range list {
		fields := strings.Fields(e)
		ok := len(fields) == 1 && fields[0] == e && subject.Valid(e) ||
			queues && len(fields) == 2 && subject.Valid(fields[0]) && subject.Valid(fields[1])
		if ok {
			out = append(out, e)
		}
	}
	return out
}

// compile compiles the permissions of a claim; fallback is for claims without any.
func compile(p *jwt.Permissions, fallback *auth.Permissions) (*auth.Permissions, error) {
	own := permissionsOf(p)
	if own == nil {
		return fallback, nil
	}
	return auth.Compile(own)
}
