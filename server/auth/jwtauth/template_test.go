package jwtauth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"
)

func testExpander() expander {
	u := jwt.NewUserClaims("UUSER")
	u.Name = "Joe"
	u.Tags.Add("team:red", "team:blue", "one:1", "Up:X.Y", "bare", "star:*", "colon:a:b")
	a := jwt.NewAccountClaims("AACC")
	a.Name = "Acc"
	a.Tags.Add("env:prod", "zone:a", "zone:b")
	return expander{u, a}
}

func TestTemplates(t *testing.T) {
	tests := []struct {
		in   string
		name string // of the user, instead of Joe
		want string // the allow list; "!" is a refused login
	}{
		{in: "plain", want: "plain"},
		{in: "plain q", want: "plain q"},
		{in: "n.{{name()}}", want: "n.Joe"},
		{in: "{{account-name()}}.{{account-subject()}}.{{subject()}}", want: "Acc.AACC.UUSER"},
		{in: "a-{{name()}}-b.c", want: "a-Joe-b.c"},
		{in: "{{name()}}{{name()}}", want: "JoeJoe"},
		{in: "{{ name() }}", want: "Joe"},
		{in: "{{NAME()}}", want: "Joe"},
		{in: "t.{{tag(one)}}", want: "t.1"},
		{in: "t.{{tag(team)}}", want: "t.red t.blue"},
		{in: "t.{{tag(TEAM)}}", want: "t.red t.blue"},
		{in: "{{tag(up)}}", want: "x.y"},
		{in: "{{tag(colon)}}", want: "a:b"},
		{in: "{{tag(star)}}.z", want: "*.z"},
		{in: "{{account-tag(env)}}.x", want: "prod.x"},
		{in: "{{tag(team)}}.{{account-tag(zone)}}", want: "red.a red.b blue.a blue.b"},
		{in: "{{tag(team)}}.{{tag(team)}}", want: "red.red blue.blue"},
		{in: "{{tag(nope)}}.x", want: ""},
		{in: "{{tag(bare)}}", want: ""},
		{in: "{{tag()}}", want: ""},
		{in: "{{account-tag(team)}}", want: ""},
		{in: "{{foo()}}", want: "!"},
		{in: "{{name(x)}}", want: "!"},
		{in: "{{name}}", want: "!"},
		{in: "{{tag(team}}", want: "!"},
		{in: "{{{name()}}}", want: "!"},
		{in: "{{ }}x", want: "!"},
		{in: "{{}}", want: "{{}}"},
		{in: "{{name()", want: "{{name()"},
		{in: "x{{name()}}{{foo", want: "xJoe{{foo"},
		{in: "}}{{name()}}", want: "}}Joe"},
		{in: "u.{{name()}}", name: ">", want: "u.>"},
		{in: "u.{{name()}}", name: "a b", want: ""},
		{in: "u.{{name()}} q", want: ""},
		{in: "u.{{name()}}", name: "a..b", want: ""},
		{in: "u.{{name()}}", name: ">.b", want: ""},
		{in: "u.{{name()}}", name: "{{subject()}}", want: "u.{{subject()}}"},
		{in: "{{name()}}.{{tag(one)}}", name: "{{tag(team)}}", want: "{{tag(team)}}.1"},
	}
	for _, tt := range tests {
		t.Run(tt.in+" "+tt.name, func(t *testing.T) {
			x := testExpander()
			if tt.name != "" {
				x.user.Name = tt.name
			}
			p, err := x.permission(jwt.Permission{Allow: jwt.StringList{tt.in}})
			if tt.want == "!" {
				if err == nil {
					t.Fatalf("got %v, want an error", p)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(p.Allow, " ")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if all := slices.Contains(p.Deny, ">"); all != (tt.want == "") {
				t.Errorf("deny list %q", p.Deny)
			}
			// As the entry of a deny list it must not lose anything.
			p, err = x.permission(jwt.Permission{Deny: jwt.StringList{tt.in}})
			if lost := tt.want == ""; lost != (err != nil) {
				t.Errorf("as deny: %v, %v", p, err)
			}
			if err == nil && !slices.Equal(p.Deny, strings.Split(tt.want, " ")) && tt.in != "plain q" {
				t.Errorf("as deny: %q", p.Deny)
			}
		})
	}
}

func TestTemplateKeepsOtherEntries(t *testing.T) {
	x := testExpander()
	p, err := x.permission(jwt.Permission{Allow: jwt.StringList{"{{tag(nope)}}", "ok", "{{tag(one)}}", "1"}})
	if err != nil || !slices.Equal(p.Allow, []string{"ok", "1"}) || len(p.Deny) != 0 {
		t.Errorf("%v, %v", p, err)
	}
	// A part of the values of a deny entry is no subject.
	x.user.Tags.Add("half:a", "half:b..c")
	if p, err := x.permission(jwt.Permission{Deny: jwt.StringList{"{{tag(half)}}"}}); err == nil {
		t.Errorf("deny list became %q", p.Deny)
	}
}

func TestTemplateBounds(t *testing.T) {
	many := func(n int) expander {
		x := testExpander()
		for i := range n {
			x.user.Tags = append(x.user.Tags, fmt.Sprintf("m:%d", i))
		}
		return x
	}
	tests := []struct {
		values int
		in     string
		ok     bool
	}{
		{64, "{{tag(m)}}.{{tag(m)}}", true},
		{65, "{{tag(m)}}.{{tag(m)}}", false},
		{16, "{{tag(m)}}.{{tag(m)}}.{{tag(m)}}", true},
		{17, "{{tag(m)}}.{{tag(m)}}.{{tag(m)}}", false},
		{4096, "{{tag(m)}}", true},
		{4097, "{{tag(m)}}", false},
	}
	for _, tt := range tests {
		p, err := many(tt.values).permission(jwt.Permission{Allow: jwt.StringList{tt.in}})
		if (err == nil) != tt.ok {
			t.Errorf("%d values for %s: %v", tt.values, tt.in, err)
		}
		if err == nil && len(p.Allow) != tt.values { // equal calls have equal values
			t.Errorf("%d values for %s: %d subjects", tt.values, tt.in, len(p.Allow))
		}
	}
	var list jwt.StringList
	for i := range 20 {
		list = append(list, fmt.Sprintf("%d.{{tag(m)}}", i))
	}
	if _, err := many(4096).permission(jwt.Permission{Allow: list}); !errors.Is(err, errTooManySubs) {
		t.Errorf("a list of %d subjects: %v", 20*4096, err)
	}
}

func TestScopeIsNotChangedByItsUse(t *testing.T) {
	w := newWorld(t)
	scope := newKey(t, nkeys.CreateAccount)
	w.tokens[pub(w.acc)] = w.account(func(c *jwt.AccountClaims) {
		s := jwt.NewUserScope()
		s.Key = pub(scope)
		s.Template.Pub.Allow.Add("u.{{name()}}")
		s.Template.Limits.Subs = 7
		s.Template.Sub.Allow.Add("{{tag(nope)}}")
		c.SigningKeys.AddScopedSigner(s)
	})
	m, _ := w.start()
	for _, name := range []string{"ann", "bob"} {
		u := mustLogin(t, m, w.user(scope, w.scoped(func(c *jwt.UserClaims) { c.Name = name })))
		if !u.Permissions.CanPublish([]byte("u."+name)) || u.Permissions.CanPublish([]byte("u.x")) || u.Limits.MaxSubs != 7 {
			t.Errorf("%s: %+v", name, u)
		}
		if u.Permissions.CanSubscribe("x", "") {
			t.Errorf("%s may subscribe although no entry is left", name)
		}
	}
}

// Nothing that is put into a template gets more than the template's shape: the number of tokens in front of the call
// and their text stay.
func TestTemplateKeepsItsPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := testExpander()
		x.user.Name = rapid.String().Draw(t, "name")
		x.user.Tags = jwt.TagList{"k:" + rapid.String().Draw(t, "tag")}
		p, err := x.permission(jwt.Permission{Allow: jwt.StringList{"private.{{name()}}", "private.{{tag(k)}}.x"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Allow {
			if !strings.HasPrefix(s, "private.") {
				t.Fatalf("%q is allowed", s)
			}
		}
		if len(p.Allow) == 0 && !slices.Contains(p.Deny, ">") {
			t.Fatal("nothing is left, and nothing denied")
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{name()}}", "{{tag(a)}}.{{account-tag(b)}} q", "{{", "{{{}}}", "}}{{tag(a))}}"} {
		f.Add(s, "joe", "a:b")
	}
	f.Fuzz(func(t *testing.T, in, name, tag string) {
		x := testExpander()
		x.user.Name = name
		x.user.Tags = append(x.user.Tags, tag)
		p, err := x.permission(jwt.Permission{Allow: jwt.StringList{in}, Deny: jwt.StringList{in}})
		if err == nil && len(p.Allow) == 0 && !slices.Contains(p.Deny, ">") {
			t.Fatalf("%q allows everything", in)
		}
	})
}
