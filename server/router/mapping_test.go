package router

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/subject"
)

func mustMap(t testing.TB, source string, dests ...WeightedSubject) *Mapping {
	t.Helper()
	m, err := NewMapping(source, dests)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMappings(t *testing.T) {
	x := NewIndex()
	x.Link((&LinksBuilder{Mappings: []*Mapping{
		mustMap(t, "foo", WeightedSubject{"bar", 100}),
		mustMap(t, "foo.*", WeightedSubject{"first.$1", 100}),
		mustMap(t, "foo.>", WeightedSubject{"second.>", 100}),
		mustMap(t, "p.*", WeightedSubject{"p.{{partition(5,1)}}.{{wildcard(1)}}", 100}),
		mustMap(t, "split.*", WeightedSubject{"s.{{split(1,-)}}", 100}),
		mustMap(t, "lost", WeightedSubject{"lost", 0}),
		mustMap(t, "same", WeightedSubject{"same", 100}),
		mustMap(t, "loop", WeightedSubject{"foo", 100}),
	}}).Build())
	c := newClient(x)
	c.sub(">", "", "1")
	s := newClient(x).sender()
	for _, tt := range []struct{ subject, want string }{
		{"foo", "bar"},
		{"foo.a", "first.a"},
		{"foo.a.b", "second.a.b"},
		{"p.hello", "p.3.hello"},
		{"split.a--b", "s.a.b"},
		{"split.--", ""},
		{"lost", ""},
		{"same", "same"},
		{"loop", "foo"}, // one mapping for one message
		{"other", "other"},
		{"foo.>", "first.>"}, // as text
	} {
		t.Run(tt.subject, func(t *testing.T) {
			want := ""
			if tt.want != "" {
				want = strings.Repeat("MSG "+tt.want+" 1 1\r\nm\r\n", 3)
			}
			send(s, pub(tt.subject, "", "m"), 3)
			if got := c.take(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	// What the server itself publishes is not mapped.
	inside := NewSender(x)
	inside.Send(&Message{Subject: []byte("foo"), Payload: []byte("m")})
	inside.Flush()
	if got := c.take(); got != "MSG foo 1 1\r\nm\r\n" {
		t.Errorf("from inside: got %q", got)
	}
}

func TestWeights(t *testing.T) {
	x := NewIndex()
	w := func(subj string, weight int) WeightedSubject { return WeightedSubject{subj, weight} }
	x.Link((&LinksBuilder{Mappings: []*Mapping{
		mustMap(t, "half", w("h", 50)),
		mustMap(t, "drop", w("drop", 30), w("d", 20)),
		mustMap(t, "all", w("a1", 40), w("a2", 60)),
		mustMap(t, "any", w("any.{{random(4)}}", 100)),
	}}).Build())
	c := newClient(x)
	c.sub(">", "", "1")
	s := newClient(x).sender()
	s.Seed(12)
	const n = 4000
	for _, tt := range []struct {
		subject string
		want    map[string]int // percent
	}{
		{"half", map[string]int{"h": 50, "half": 50}},
		{"drop", map[string]int{"drop": 30, "d": 20}},
		{"all", map[string]int{"a1": 40, "a2": 60}},
		{"any", map[string]int{"any.0": 25, "any.1": 25, "any.2": 25, "any.3": 25}},
	} {
		t.Run(tt.subject, func(t *testing.T) {
			send(s, pub(tt.subject, "", "m"), n)
			got, sum, share := c.take(), 0, 0
			for subj, percent := range tt.want {
				count := strings.Count(got, "MSG "+subj+" ")
				if count < n*(percent-4)/100 || count > n*(percent+4)/100 {
					t.Errorf("%s got %d of %d messages, want about %d %%", subj, count, n, percent)
				}
				sum += count
				share += percent
			}
			if all := strings.Count(got, "MSG "); all != sum || share == 100 && all != n {
				t.Errorf("%d messages, %d of them expected", all, sum)
			}
		})
	}
}

// Rights are those for the subject that a message gets, and errors name it.
func TestMappingAndRights(t *testing.T) {
	x := NewIndex()
	x.Link((&LinksBuilder{Mappings: []*Mapping{
		mustMap(t, "foo", WeightedSubject{"bar", 100}),
		mustMap(t, "in", WeightedSubject{"ok", 100}),
		mustMap(t, "dice", WeightedSubject{"no.{{random(1)}}", 100}),
		mustMap(t, "lost", WeightedSubject{"lost", 0}),
	}}).Build())
	c := newClient(x)
	c.sub(">", "", "1")
	s := newClient(x).sender()
	s.Restrict(rightsOf{"foo": true, "ok": true, "dice": true}, true)
	for _, tt := range []struct {
		subject, routed string
		want            Result
	}{
		{"foo", "bar", Denied}, {"bar", "bar", Denied}, {"in", "ok", 1}, {"ok", "ok", 1}, {"dice", "no.0", Denied}, {"lost", "", Undelivered},
	} {
		for i := range 3 {
			p := pub(tt.subject, "", "m")
			if got := s.Publish(p); got != tt.want || string(s.Routed(p)) != tt.routed {
				t.Errorf("%s, time %d: got %d as %q, want %d as %q", tt.subject, i, got, s.Routed(p), tt.want, tt.routed)
			}
		}
	}
}

// The exporter's mappings hold for requests that come in.
func TestMappingOfRequests(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectService(a, b, &ServiceLink{Local: "svc.*"})
	a.Link((&LinksBuilder{Serves: true, Mappings: []*Mapping{
		mustMap(t, "svc.m", WeightedSubject{"mapped", 100}),
		mustMap(t, "svc.d", WeightedSubject{"x", 50}, WeightedSubject{"y", 50}),
	}}).Build())
	c := newHeaderClient(a)
	s := newClient(b).sender()
	if b.HasInterest([]byte("svc.m")) || b.HasInterest([]byte("svc.d")) {
		t.Error("interest of nobody")
	}
	c.sub("*", "", "1")
	if !b.HasInterest([]byte("svc.m")) || !b.HasInterest([]byte("svc.d")) {
		t.Error("no interest")
	}
	send(s, pub("svc.m", "", "m"), 3)
	if got := c.take(); strings.Count(got, "HMSG mapped 1 ") != 3 {
		t.Errorf("got %q", got)
	}
	send(s, pub("svc.d", "", "m"), 60)
	got := c.take()
	if x, y := strings.Count(got, "HMSG x 1 "), strings.Count(got, "HMSG y 1 "); x+y != 60 || x == 0 || y == 0 {
		t.Errorf("%d and %d", x, y)
	}
}

func TestMappingErrors(t *testing.T) {
	for _, dest := range []string{"a.$2", "a.*", "a.>", "{{none(1)}}"} {
		if _, err := NewMapping("x.*", []WeightedSubject{{dest, 100}}); err == nil {
			t.Errorf("%q: no error", dest)
		}
	}
}

func TestPatterns(t *testing.T) {
	tokens := rapid.SampledFrom([]string{"a", "b", "*", ">", "aa", ""})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(tokens, 1, 4).Draw(t, "tokens"), ".") })
	rapid.Check(t, func(t *rapid.T) {
		var ps patterns[int]
		var list []string
		for i := range rapid.IntRange(0, 8).Draw(t, "n") {
			p := text.Draw(t, "pattern")
			list = append(list, p)
			if subject.Valid(p) {
				ps.add(p, i)
			}
		}
		subj := text.Draw(t, "subject")
		var got, want []int
		ps.each([]byte(subj), func(i int) bool { got = append(got, i); return true })
		for i, p := range list {
			if subject.Valid(p) && !subject.HasEmptyToken(subj) && subject.Match(p, subj) {
				want = append(want, i)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || ps.any([]byte(subj)) != (len(want) > 0) {
			t.Fatalf("%q in %q: got %v, want %v", subj, list, got, want)
		}
	})
}

func TestBuildNothing(t *testing.T) {
	if l := (&LinksBuilder{}).Build(); l != nil {
		t.Errorf("got %v", l)
	}
	if l := (&LinksBuilder{Services: []*ServiceLink{{Local: "a", To: NewIndex(), Threshold: time.Second}}}).Build(); l == nil {
		t.Error("got nothing")
	}
}

func BenchmarkMapped(b *testing.B) {
	x := NewIndex()
	x.Link((&LinksBuilder{Mappings: []*Mapping{mustMap(b, "a.*", WeightedSubject{"b.$1", 100})}}).Build())
	c := &sinkhole{}
	c.Init(c)
	x.Insert(NewSub(&c.Dest, []byte("b.*"), nil, []byte("1")), "b.*")
	s := newClient(x).sender()
	p := pub("a.1", "", "x")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Publish(p)
		if i%1000 == 999 {
			s.Flush()
			s.Begin()
		}
	}
}

// The links of an account are made anew, from the same mappings, while messages are mapped by the ones before.
func TestMappingsAreReadWhileLinksAreMadeAnew(t *testing.T) {
	x := NewIndex()
	b := &LinksBuilder{Mappings: []*Mapping{mustMap(t, "a", WeightedSubject{"first", 100}), mustMap(t, "*", WeightedSubject{"second", 100})}}
	x.Link(b.Build())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			b.Build()
		}
	}()
	for range 1000 {
		if m := x.links.Load().mapping([]byte("a")); m != b.Mappings[0] {
			t.Errorf("%v", m)
			break
		}
	}
	<-done
}
