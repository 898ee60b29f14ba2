package account

import (
	"strings"
	"testing"

	"godwit/protocol"
	"godwit/protocol/subject"
	"godwit/server/auth"
	"godwit/server/options"
	"godwit/server/router"
)

// rights are those of a user that may not reply.
type rights struct{ *auth.Permissions }

func (r rights) CanPublish(subj []byte) bool { return r.Permissions.CanPublish(subj) }
func (r rights) CanReply([]byte) bool        { return false }

// hole takes frames and forgets them.
type hole struct{}

func (hole) Take(router.Handover) router.Done { return router.Done{} }
func (hole) Exhausted(*router.Sub)            {}
func (hole) Denies([]byte, string) bool       { return false }
func (hole) Replies([]byte)                   {}

// Whatever subject a user publishes to, and wherever mappings and imports lead it: nothing appears in the user's own account
// on a subject that is denied, and in another account only what the imports name.
func FuzzNothingSlipsPastADeny(f *testing.F) {
	for _, s := range []string{"open", "secret", "secret.a", "secret.>", "secret.*", "in.secret", "in.secret.a", "in.a", "in.>", "in.*", "swap.a.secret", "swap.secret.a",
		"cut.secret-a", "cut.-", "dice", "ask.secret", "ask.x", "ask.>", "_INBOX.secret", "$SYS.secret", "_R_.a.b", "secret..a", ".secret", "secret.", "SECRET"} {
		f.Add(s)
	}
	r := NewRegistry(&options.Options{Accounts: []*options.Account{{Name: "A", Limits: options.NoAccountLimits()}, {Name: "B", Limits: options.NoAccountLimits()}}})
	to := func(source string, dests ...options.MappingDest) *options.Mapping {
		return &options.Mapping{Source: source, Dests: dests}
	}
	all := func(subj string) options.MappingDest { return options.MappingDest{Subject: subj, Weight: 100} }
	err := r.SetTerms(map[string]*Terms{
		"A": {Settings: &options.Account{Name: "A", Exports: []*options.Export{{Kind: service, Subject: "svc.*"}}}},
		"B": {Settings: &options.Account{Name: "B", Imports: []*options.Import{{Kind: service, Account: "A", Subject: "svc.*", To: "ask.$1"}},
			Mappings: []*options.Mapping{to("in.>", all(">")), to("in.*", all("$1")), to("swap.*.*", all("$2.$1")), to("cut.*", all("{{split(1,-)}}")),
				to("dice", options.MappingDest{Subject: "secret.x", Weight: 50}, options.MappingDest{Subject: "open", Weight: 50})}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	perms, err := auth.Compile(&options.Permissions{Publish: &options.SubjectPermission{Deny: []string{"secret", "secret.>", "*.secret", "ask.secret"}}})
	if err != nil {
		f.Fatal(err)
	}
	here, there := listen(r, "B"), listen(r, "A")
	var d router.Dest
	d.Init(hole{})
	s := &router.Sender{}
	s.Init(r.Lookup("B").Index(), &d, nil)
	s.Restrict(rights{perms}, true)
	s.Begin()
	f.Fuzz(func(t *testing.T, subj string) {
		if subj == "" || strings.ContainsAny(subj, " \t\r\n\f") {
			return // the parser lets none through
		}
		for range 3 {
			s.Publish(&protocol.Pub{Subject: []byte(subj), Tail: []byte("0\r\n\r\n")})
		}
		s.Flush()
		for _, got := range here.drain() {
			if !perms.CanPublish([]byte(got)) {
				t.Errorf("%q published %q", subj, got)
			}
		}
		for _, got := range there.drain() {
			if !subject.Match("svc.*", got) || got == "svc.secret" {
				t.Errorf("%q reached %q of the other account", subj, got)
			}
		}
	})
}
