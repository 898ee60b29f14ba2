package system

import (
	"strings"

	"godwit/protocol/subject"
	"godwit/server/account"
	"godwit/server/router"
)

const debugSubject = "$SYS.DEBUG.SUBSCRIBERS"

// subscribers answers "<subject> [<queue>]" with the number of subscriptions that clients of the account have.
func (s *Service) subscribers(r *request) any {
	n, fields := 0, strings.Fields(string(r.body))
	switch len(fields) {
	case 1:
		n = countClients(r.in, fields[0], "")
	case 2:
		n = countClients(r.in, fields[0], fields[1])
	}
	return n
}

// countSubscribers is the same between servers: {"acc":…,"subject":…,"queue":…}, the queue as base64. There is no
// answer for an account that is not known here.
func (s *Service) countSubscribers(r *request) any {
	var o struct {
		Account string `json:"acc"`
		Subject string `json:"subject"`
		Queue   []byte `json:"queue"`
	}
	if len(r.body) == 0 || decode(r.body, &o) != nil || o.Account == "" {
		return nil
	}
	a := s.accounts.Lookup(o.Account)
	if a == nil {
		return nil
	}
	return countClients(a, o.Subject, string(o.Queue))
}

// countClients counts the subscriptions of clients that match a subject or, if it has wildcards, that it covers; with
// a queue only that queue's members.
func countClients(a *account.Account, subj, queue string) int {
	n := 0
	add := func(sub *router.Sub) bool {
		if sub.Dest().Sink() != nil && (queue == "" || sub.Queue() == queue) {
			n++
		}
		return true
	}
	if !subject.HasWildcard(subj) {
		a.Index().EachMatch([]byte(subj), add)
		return n
	}
	if !subject.WellFormed(subj) {
		return 0
	}
	a.Index().Each(func(sub *router.Sub) bool {
		if subject.Subset(sub.Subject(), subj) {
			add(sub)
		}
		return true
	})
	return n
}
