package auth

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/subject"
	"godwit/server/options"
)

func compile(tb testing.TB, p *options.Permissions) *Permissions {
	tb.Helper()
	c, err := Compile(p)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func subscribe(allow, deny []string) *options.Permissions {
	return &options.Permissions{Subscribe: &options.SubjectPermission{Allow: allow, Deny: deny}}
}

func publish(allow, deny []string) *options.Permissions {
	return &options.Permissions{Publish: &options.SubjectPermission{Allow: allow, Deny: deny}}
}

func TestNoPermissionsPermitEverything(t *testing.T) {
	for _, p := range []*Permissions{nil, compile(t, nil), compile(t, &options.Permissions{}), compile(t, subscribe(nil, nil)), compile(t, publish([]string{}, []string{}))} {
		if !p.CanPublish([]byte("a..b")) || !p.CanPublish([]byte("a")) || !p.CanSubscribe("a.>", "") || !p.CanSubscribe(">", "q") ||
			p.DeniesDelivery([]byte("a")) || p.DeniesQueueDelivery([]byte("a"), "q") || p.FiltersDelivery(">", "") || p.Responses() != nil {
			t.Errorf("%+v restricts something", p)
		}
	}
}

func TestPublish(t *testing.T) {
	tests := []struct {
		name        string
		allow, deny []string
		yes, no     string // blank-separated
	}{
		{"allow", []string{"a.*", "b"}, nil, "a.x b a.* a.>", "a a.b.c c a..b a. .a > *"},
		{"allow everything", []string{">"}, nil, "a $SYS.x > *", "a..b a. ."},
		{"deny", nil, []string{"a.>"}, "a b > * ax.b", "a.b a.b.c a.> a.* a..b a. .a"},
		{"deny beats allow", []string{"a.>"}, []string{"a.secret", "a.*.secret"}, "a.b a.b.c a.secret.x", "a.secret a.b.secret b"},
		{"deny everything", nil, []string{">"}, "", "a a.b > * $SYS.x"},
		{"dollar", nil, []string{"$SYS.>", "$JS.API.>"}, "$SYS $sys.x $JS.ACK.x a.$SYS.x", "$SYS.a $SYS.> $JS.API.INFO"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compile(t, publish(tt.allow, tt.deny))
			for _, s := range strings.Fields(tt.yes) {
				if !p.CanPublish([]byte(s)) {
					t.Errorf("%q is refused", s)
				}
			}
			for _, s := range strings.Fields(tt.no) {
				if p.CanPublish([]byte(s)) {
					t.Errorf("%q is permitted", s)
				}
			}
			if !p.CanSubscribe("anything.>", "q") {
				t.Error("publish lists restrict subscriptions")
			}
		})
	}
}

// The matrix of the protocol, and what follows from its rules.
func TestSubscribe(t *testing.T) {
	type sub struct {
		subject, queue string
		want           bool
	}
	tests := []struct {
		allow, deny []string
		subs        []sub
	}{
		{[]string{"foo"}, nil, []sub{{"foo", "", true}, {"foo", "v1", true}, {"foo", "v2", true}, {"bar", "", false}, {"*", "", false}, {">", "", false}}},
		{[]string{"foo v1"}, nil, []sub{{"foo", "", false}, {"foo", "v1", true}, {"foo", "v2", false}}},
		{[]string{"foo", "foo v1"}, nil, []sub{{"foo", "", true}, {"foo", "v1", true}, {"foo", "v2", false}}},
		{nil, []string{"foo"}, []sub{{"foo", "", false}, {"foo", "v1", false}, {"foo", "v2", false}, {"bar", "", true}}},
		{nil, []string{"foo v1"}, []sub{{"foo", "", true}, {"foo", "v1", false}, {"foo", "v2", true}}},
		{nil, []string{"foo", "foo v1"}, []sub{{"foo", "", false}, {"foo", "v1", false}, {"foo", "v2", false}}},
		{[]string{"foo v1", "foo v2"}, nil, []sub{{"foo", "v1", true}, {"foo", "v2", true}, {"foo", "v3", false}}},
		{[]string{"foo v1"}, []string{"foo v1"}, []sub{{"foo", "v1", false}, {"foo", "v2", false}}},
		{[]string{"foo.*", "foo.bar v1"}, nil, []sub{{"foo.bar", "v2", false}, {"foo.bar", "v1", true}, {"foo.*", "v2", true}, {"foo.bar", "", true}, {"foo.x", "v2", true}}},
		// covering
		{[]string{"foo.*"}, nil, []sub{{"foo.*", "", true}, {"foo.bar", "", true}, {"foo.>", "", false}, {"*.bar", "", false}, {"foo.*.>", "", false}, {"*", "", false}}},
		{[]string{"foo.>"}, nil, []sub{{"foo.>", "", true}, {"foo.*.>", "", true}, {"foo", "", false}, {">", "", false}, {"*.>", "", false}}},
		{[]string{"foo.bar"}, nil, []sub{{"foo.*", "", false}, {"foo.>", "", false}}},
		{[]string{"foo.* v1"}, nil, []sub{{"foo.a", "v1", true}, {"foo.*", "v1", true}, {"foo.>", "v1", false}, {"foo.a.b", "v1", false}}},
		{nil, []string{"foo.*"}, []sub{{"foo.bar", "", false}, {"foo.*", "", false}, {"foo.>", "", true}, {"*.bar", "", true}, {">", "", true}}},
		{nil, []string{">"}, []sub{{">", "", false}, {"a", "q", false}, {"*.>", "", false}}},
		{[]string{"foo.>"}, []string{"foo.bar"}, []sub{{"foo.bar", "", false}, {"foo.*", "", true}, {"foo.baz", "", true}}},
		// queue names with wildcards
		{[]string{"foo v1.*"}, nil, []sub{{"foo", "v1.x", true}, {"foo", "v1.*", true}, {"foo", "v1", false}, {"foo", "v1.>", false}, {"foo", "v1.x.y", false}, {"foo", "*", false}, {"foo", ">", false}, {"foo", "v1.", false}}},
		{nil, []string{"foo v1.*"}, []sub{{"foo", "v1.x", false}, {"foo", "v1.*", false}, {"foo", "v1.>", false}, {"foo", "v1.", false}, {"foo", "v1", true}, {"foo", "v1.x.y", true}, {"foo", "", true}}},
		{nil, []string{"foo >"}, []sub{{"foo", "x", false}, {"foo", "a.b", false}, {"foo", "a..b", false}, {"foo", ".", false}, {"foo", "", true}, {"bar", "x", true}}},
		{[]string{"foo >"}, nil, []sub{{"foo", "x", true}, {"foo", "a.b", true}, {"foo", "", false}}},
		// only ASCII blanks separate
		{nil, []string{"foo\u00a0v1", "bar \t v1"}, []sub{{"foo\u00a0v1", "", false}, {"foo", "v1", true}, {"bar", "v1", false}}},
		// malformed
		{nil, []string{"foo.>"}, []sub{{"foo..bar", "", false}, {"foo.", "", false}, {"foo.>.x", "", false}, {"", "", false}}},
		{[]string{">"}, nil, []sub{{"foo..bar", "", false}, {"foo", "", true}}},
	}
	for _, tt := range tests {
		p := compile(t, subscribe(tt.allow, tt.deny))
		for _, s := range tt.subs {
			if got := p.CanSubscribe(s.subject, s.queue); got != s.want {
				t.Errorf("allow %q deny %q: CanSubscribe(%q, %q) = %v", tt.allow, tt.deny, s.subject, s.queue, got)
			}
		}
		if !p.CanPublish([]byte("anything")) {
			t.Error("subscribe lists restrict publishing")
		}
	}
}

func TestDelivery(t *testing.T) {
	p := compile(t, subscribe(nil, []string{"foo.bar", "x.>", "qs.* v1"}))
	for s, want := range map[string]bool{"foo.bar": true, "foo.baz": false, "x.y.z": true, "x": false, "qs.a": false} {
		if got := p.DeniesDelivery([]byte(s)); got != want {
			t.Errorf("DeniesDelivery(%q) = %v", s, got)
		}
	}
	for _, tt := range []struct {
		subject, queue string
		want           bool
	}{{"foo.bar", "v1", true}, {"foo.bar", "v2", true}, {"qs.a", "v1", true}, {"qs.a", "v2", false}, {"qs.a.b", "v1", false}} {
		if got := p.DeniesQueueDelivery([]byte(tt.subject), tt.queue); got != tt.want {
			t.Errorf("DeniesQueueDelivery(%q, %q) = %v", tt.subject, tt.queue, got)
		}
	}
	for _, tt := range []struct {
		subject, queue string
		want           bool
	}{
		{"foo.*", "", true}, {">", "", true}, {"*.*", "q", true}, {"foo.baz", "", false}, {"y.>", "", false},
		{"qs.>", "", false}, {"qs.>", "v1", true}, {"qs.>", "v2", false},
	} {
		if got := p.FiltersDelivery(tt.subject, tt.queue); got != tt.want {
			t.Errorf("FiltersDelivery(%q, %q) = %v", tt.subject, tt.queue, got)
		}
	}
}

func TestResponses(t *testing.T) {
	tests := []struct {
		name      string
		in        options.Permissions
		responses Responses
		yes, no   string
	}{
		{"alone", options.Permissions{Response: &options.ResponsePermission{}}, Responses{1, 2 * time.Minute}, "", "a reply"},
		{"with deny only", options.Permissions{Publish: publish(nil, []string{"a"}).Publish, Response: &options.ResponsePermission{MaxMsgs: 5, Expires: time.Second}},
			Responses{5, time.Second}, "", "a b"},
		{"with allow", options.Permissions{Publish: publish([]string{"a"}, nil).Publish, Response: &options.ResponsePermission{MaxMsgs: -1, Expires: -1}},
			Responses{-1, -1}, "a", "b"},
	}
	for _, tt := range tests {
		p := compile(t, &tt.in)
		if r := p.Responses(); r == nil || *r != tt.responses {
			t.Errorf("%s: %+v", tt.name, r)
		}
		for _, s := range strings.Fields(tt.yes) {
			if !p.CanPublish([]byte(s)) {
				t.Errorf("%s: %q is refused", tt.name, s)
			}
		}
		for _, s := range strings.Fields(tt.no) {
			if p.CanPublish([]byte(s)) {
				t.Errorf("%s: %q is permitted", tt.name, s)
			}
		}
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct {
		in   *options.Permissions
		text string
	}{
		{publish([]string{"a..b"}, nil), `subject "a..b" is not a valid subject`},
		{publish(nil, []string{""}), `subject "" is not a valid subject`},
		{publish([]string{"a q"}, nil), `subject "a q" is not a valid subject`},
		{subscribe([]string{"a b c"}, nil), `subject "a b c" is not a valid subject`},
		{subscribe(nil, []string{"a.>.b q"}), `subject "a.>.b q" is not a valid subject`},
		{subscribe(nil, []string{"a q..x"}), `queue "q..x" is not a valid queue`},
	}
	for _, tt := range tests {
		if p, err := Compile(tt.in); p != nil || err == nil || err.Error() != tt.text {
			t.Errorf("got  %v\nwant %s", err, tt.text)
		}
	}
}

func TestInfo(t *testing.T) {
	tests := []struct {
		in   *options.Permissions
		want string
	}{
		{nil, `null`},
		{&options.Permissions{}, `{"publish":{},"subscribe":{}}`},
		{&options.Permissions{Response: &options.ResponsePermission{}}, `{"publish":{},"subscribe":{},"responses":{"max":1,"ttl":120000000000}}`},
		{&options.Permissions{
			Publish:   &options.SubjectPermission{Allow: []string{"a"}},
			Subscribe: &options.SubjectPermission{Allow: []string{"i"}, Deny: []string{"x v1"}},
			Response:  &options.ResponsePermission{MaxMsgs: -1, Expires: time.Second},
		}, `{"publish":{"allow":["a"]},"subscribe":{"allow":["i"],"deny":["x v1"]},"responses":{"max":-1,"ttl":1000000000}}`},
	}
	for _, tt := range tests {
		got, err := json.Marshal(compile(t, tt.in).Info())
		if err != nil || string(got) != tt.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
		}
	}
}

func TestAskingDoesNotAllocate(t *testing.T) {
	p := compile(t, &options.Permissions{
		Publish:   &options.SubjectPermission{Allow: []string{"a.>"}, Deny: []string{"a.*.x"}},
		Subscribe: &options.SubjectPermission{Deny: []string{"d.>", "e.* v.*"}},
	})
	subj := []byte("a.b.c")
	n := testing.AllocsPerRun(100, func() {
		if !p.CanPublish(subj) || p.DeniesDelivery(subj) || p.DeniesQueueDelivery(subj, "v.1") {
			t.Fatal("wrong")
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// covered is the widest reading of a pattern: empty tokens count as tokens, and text that looks like a
// wildcard as text. Nothing that is covered by a deny in this sense may pass.
func covered(pattern, literal string) bool {
	p, l := strings.Split(pattern, "."), strings.Split(literal, ".")
	for i, tok := range p {
		if tok == ">" {
			return len(l) > i
		}
		if i >= len(l) || tok != "*" && tok != l[i] {
			return false
		}
	}
	return len(p) == len(l)
}

func FuzzNothingSlipsPastADeny(f *testing.F) {
	f.Add("", "a.>", "a.b", "a.*", "q")
	f.Add("a.>", "a.*.c\na.b v.*", "a..c", "a.>", "v.")
	f.Add(">", "$SYS.>\n$JS.> q", "$SYS.x", "$JS.*.>", "q")
	f.Add("a q\na", "> >", "a", "a", "..")
	f.Add("*", ">", ">", ">", "")
	f.Fuzz(func(t *testing.T, allowed, denied, subj, sub, queue string) {
		lines := func(s string) []string {
			return slices.DeleteFunc(strings.Split(s, "\n"), func(s string) bool { return s == "" })
		}
		allow, deny := lines(allowed), lines(denied)
		if p, err := Compile(publish(allow, deny)); err == nil && p.CanPublish([]byte(subj)) {
			for _, d := range deny {
				if covered(d, subj) {
					t.Errorf("deny %q: may publish to %q", deny, subj)
				}
			}
			if len(allow) > 0 && !slices.ContainsFunc(allow, func(a string) bool { return subject.Match(a, subj) }) {
				t.Errorf("allow %q: may publish to %q", allow, subj)
			}
		}
		p, err := Compile(subscribe(allow, deny))
		if err != nil || !p.CanSubscribe(sub, queue) {
			return
		}
		for _, d := range deny {
			pattern, q, _ := strings.Cut(strings.Join(strings.FieldsFunc(d, isBlank), " "), " ")
			if q != "" && (queue == "" || q != queue && !covered(q, queue)) {
				continue // about other subscriptions
			}
			if subject.Subset(sub, pattern) {
				t.Errorf("deny %q: may subscribe to %q with %q", deny, sub, queue)
			}
			if subject.Match(sub, subj) && subject.Match(pattern, subj) {
				denies := p.DeniesDelivery([]byte(subj))
				if queue != "" {
					denies = p.DeniesQueueDelivery([]byte(subj), queue)
				}
				if !denies || !p.FiltersDelivery(sub, queue) {
					t.Errorf("deny %q: %q is delivered to %q with %q", deny, subj, sub, queue)
				}
			}
		}
		if len(allow) == 0 {
			return
		}
		for _, a := range allow {
			pattern, _, _ := strings.Cut(strings.Join(strings.FieldsFunc(a, isBlank), " "), " ")
			if subject.Subset(sub, pattern) {
				return
			}
		}
		t.Errorf("allow %q: may subscribe to %q", allow, sub)
	})
}
