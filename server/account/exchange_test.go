package account

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"godwit/server/options"
	"godwit/server/router"
)

// world is a registry with accounts A, B and C.
func world(t *testing.T) *Registry {
	t.Helper()
	o := &options.Options{}
	for _, name := range []string{"A", "B", "C"} {
		o.Accounts = append(o.Accounts, &options.Account{Name: name, Limits: options.NoAccountLimits()})
	}
	r := NewRegistry(o)
	r.SetServer("server", "")
	t.Cleanup(r.Close)
	return r
}

// ear is a receiver that keeps the subjects that it hears.
type ear struct{ got []string }

func (e *ear) NewBatch() router.Batch { return e }
func (e *ear) Add(m *router.Message)  { e.got = append(e.got, string(m.Subject)) }
func (e *ear) Flush()                 {}
func (e *ear) take() (subjects string) {
	subjects, e.got = strings.Join(e.got, " "), nil
	return subjects
}

func (e *ear) drain() (subjects []string) { subjects, e.got = e.got, nil; return subjects }

func publish(r *Registry, account string, subjects ...string) {
	s := router.NewSender(r.Lookup(account).Index())
	for range 2 {
		for _, subj := range subjects {
			s.Send(&router.Message{Subject: []byte(subj)})
		}
	}
	s.Flush()
}

func listen(r *Registry, account string) *ear {
	e := &ear{}
	r.Lookup(account).Index().SubscribeReceiver(">", "", e)
	return e
}

func imports(list ...*options.Import) *Terms {
	return &Terms{Settings: &options.Account{Name: "B", Imports: list}}
}

func exports(list ...*options.Export) *Terms {
	return &Terms{Settings: &options.Account{Name: "A", Exports: list}}
}

const (
	stream  = options.StreamExchange
	service = options.ServiceExchange
)

func TestGrants(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    options.Export
		i    options.Import
		ok   bool
	}{
		{"public", options.Export{Subject: "a.>"}, options.Import{Subject: "a.b"}, true},
		{"the same pattern", options.Export{Subject: "a.*"}, options.Import{Subject: "a.*"}, true},
		{"wider than the export", options.Export{Subject: "a.*"}, options.Import{Subject: "a.>"}, false},
		{"another subject", options.Export{Subject: "a.*"}, options.Import{Subject: "b.c"}, false},
		{"another kind", options.Export{Subject: "a.*", Kind: service}, options.Import{Subject: "a.b"}, false},
		{"private, named", options.Export{Subject: "a.*", Private: true, Accounts: []string{"C", "B"}}, options.Import{Subject: "a.b"}, true},
		{"private, not named", options.Export{Subject: "a.*", Private: true, Accounts: []string{"C"}}, options.Import{Subject: "a.b"}, false},
		{"private, for nobody", options.Export{Subject: "a.*", Private: true}, options.Import{Subject: "a.b"}, false},
		{"own token", options.Export{Subject: "a.*.>", TokenPosition: 2}, options.Import{Subject: "a.B.>"}, true},
		{"the token of another", options.Export{Subject: "a.*.>", TokenPosition: 2}, options.Import{Subject: "a.C.>"}, false},
		{"a wildcard for a token", options.Export{Subject: "a.*.>", TokenPosition: 2}, options.Import{Subject: "a.*.>"}, false},
		{"no such token", options.Export{Subject: "a.>", TokenPosition: 5}, options.Import{Subject: "a.B"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := world(t)
			tt.i.Account = "A"
			err := r.SetTerms(map[string]*Terms{"A": exports(&tt.e), "B": imports(&tt.i)})
			if (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
			if _, faults := r.Terms("B"); (faults[0] == nil) != tt.ok {
				t.Errorf("fault %v", faults[0])
			}
		})
	}
}

func TestTheNarrowestExportCounts(t *testing.T) {
	r := world(t)
	wide := &options.Export{Kind: service, Subject: "s.>", Latency: &options.ServiceLatency{Subject: "wide"}}
	narrow := &options.Export{Kind: service, Subject: "s.*", Latency: &options.ServiceLatency{Subject: "narrow"}}
	i := &options.Import{Kind: service, Account: "A", Subject: "s.x"}
	for _, list := range [][]*options.Export{{wide, narrow}, {narrow, wide}} {
		if err := r.SetTerms(map[string]*Terms{"A": exports(list...), "B": imports(i)}); err != nil {
			t.Fatal(err)
		}
		if l := r.Latency("B", i); l == nil || l.Subject != "narrow" {
			t.Errorf("got %v", l)
		}
	}
}

func TestImportedSubjects(t *testing.T) {
	for _, tt := range []struct {
		name   string
		i      options.Import
		local  string
		send   string // in A for streams, in B for services
		arrive string
	}{
		{"stream", options.Import{Subject: "s.*"}, "s.*", "s.1", "s.1"},
		{"stream, prefix", options.Import{Subject: "s.*", Prefix: "p.q"}, "p.q.s.*", "s.1", "p.q.s.1"},
		{"stream, prefix with its dot", options.Import{Subject: "s.*", Prefix: "p."}, "p.s.*", "s.1", "p.s.1"},
		{"stream, to", options.Import{Subject: "s.*.*", To: "x.$2.$1"}, "x.*.*", "s.1.2", "x.2.1"},
		{"stream, to with functions", options.Import{Subject: "s.*.*", To: "x.{{wildcard(2)}}.y.{{ Wildcard( 1 ) }}"}, "x.*.y.*", "s.1.2", "x.2.y.1"},
		{"stream, to with plain wildcards", options.Import{Subject: "s.*.*", To: "*.x.*"}, "*.x.*", "s.1.2", "1.x.2"},
		{"stream, to with an open end", options.Import{Subject: "s.>", To: "x.>"}, "x.>", "s.1.2", "x.1.2"},
		{"stream, to a literal", options.Import{Subject: "s.1", To: "x"}, "x", "s.1", "x"},
		{"service", options.Import{Kind: service, Subject: "s.*"}, "s.*", "s.1", "s.1"},
		{"service, to a literal", options.Import{Kind: service, Subject: "s.1", To: "x"}, "x", "x", "s.1"},
		{"service, to", options.Import{Kind: service, Subject: "s.*.t.*", To: "x.$2.$1"}, "x.*.*", "x.a.b", "s.b.t.a"},
		{"service, to with plain wildcards", options.Import{Kind: service, Subject: "s.*.*", To: "*.x.*"}, "*.x.*", "a.x.b", "s.a.b"},
		{"service, to with an open end", options.Import{Kind: service, Subject: "s.>", To: "x.y.>"}, "x.y.>", "x.y.1.>", "s.1.>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := world(t)
			tt.i.Account = "A"
			if got := Local(&tt.i); got != tt.local {
				t.Errorf("local subject %q, want %q", got, tt.local)
			}
			if err := r.SetTerms(map[string]*Terms{"A": exports(&options.Export{Kind: tt.i.Kind, Subject: "s.>"}), "B": imports(&tt.i)}); err != nil {
				t.Fatal(err)
			}
			from, to := "A", "B"
			if tt.i.Kind == service {
				from, to = "B", "A"
			}
			e := listen(r, to)
			publish(r, from, tt.send, "other", "s", "x")
			if got, want := e.take(), tt.arrive+" "+tt.arrive; got != want && !(tt.send == "x" && got == want+" "+want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestBadImports(t *testing.T) {
	for _, i := range []options.Import{
		{Account: "A", Subject: "s.*.*", To: "x.$1", Kind: service}, // a wildcard without a value
		{Account: "A", Subject: "s.*", To: "x.$2"},
		{Account: "nobody", Subject: "s.*"},
		{Account: "", Subject: "s.*"},
	} {
		r := world(t)
		err := r.SetTerms(map[string]*Terms{"A": exports(&options.Export{Subject: "s.>"}, &options.Export{Kind: service, Subject: "s.>"}), "B": imports(&i)})
		if err == nil || !strings.Contains(err.Error(), `account "B": import of "`+i.Subject+`"`) {
			t.Errorf("%+v: %v", i, err)
		}
	}
}

// Accounts can come, change and go in any order.
func TestTermsChange(t *testing.T) {
	r := world(t)
	b, c := listen(r, "B"), listen(r, "C")
	set := func(name string, terms *Terms) {
		t.Helper()
		r.SetTerms(map[string]*Terms{name: terms}) // what is wrong shows in what arrives
	}
	step := func(what, wantB, wantC string) {
		t.Helper()
		publish(r, "A", "s.1")
		if gotB, gotC := b.take(), c.take(); gotB != wantB || gotC != wantC {
			t.Errorf("%s: B got %q and C %q", what, gotB, gotC)
		}
	}
	toC := &Terms{Settings: &options.Account{Name: "C", Imports: []*options.Import{{Account: "A", Subject: "s.*", Prefix: "c"}}}}
	set("B", imports(&options.Import{Account: "A", Subject: "s.*"}))
	step("nothing is exported", "", "")
	set("A", exports(&options.Export{Subject: "s.>"}))
	step("the exporter came later", "s.1 s.1", "")
	set("C", toC)
	step("a second importer", "s.1 s.1", "c.s.1 c.s.1")
	set("B", imports(&options.Import{Account: "A", Subject: "s.1", Prefix: "new"}))
	step("another import", "new.s.1 new.s.1", "c.s.1 c.s.1")
	set("A", exports(&options.Export{Subject: "s.>", Private: true, Accounts: []string{"C"}}))
	step("the export became private", "", "c.s.1 c.s.1")
	set("A", nil)
	step("the exporter went", "", "")
	set("A", exports(&options.Export{Subject: "s.>"}))
	step("the exporter came back", "new.s.1 new.s.1", "c.s.1 c.s.1")
	set("B", nil)
	step("an importer went", "", "c.s.1 c.s.1")
}

// An import that would lead a request back to where it came from does not count; the others stay.
func TestCycles(t *testing.T) {
	r := world(t)
	allow := func(int, string) (time.Time, error) { return time.Time{}, nil }
	terms := func(name, from string) *Terms {
		return &Terms{Allows: allow, Settings: &options.Account{Name: name, Exports: []*options.Export{{Kind: service, Subject: "x"}},
			Imports: []*options.Import{{Kind: service, Account: from, Subject: "x"}}}}
	}
	if err := r.SetTerms(map[string]*Terms{"A": terms("A", "B")}); !errors.Is(err, errNoExporter) {
		t.Errorf("first: %v", err)
	}
	if err := r.SetTerms(map[string]*Terms{"B": terms("B", "C")}); errors.Is(err, errCycle) {
		t.Errorf("second: %v", err)
	}
	if err := r.SetTerms(map[string]*Terms{"C": terms("C", "A")}); !errors.Is(err, errCycle) {
		t.Errorf("third: %v", err)
	}
	e := listen(r, "C")
	publish(r, "A", "x")
	if got := e.take(); got != "x x" {
		t.Errorf("C got %q", got)
	}
	if err := r.SetTerms(map[string]*Terms{"B": {Settings: &options.Account{Name: "B", Exports: []*options.Export{{Kind: service, Subject: "x"}}}}}); err != nil {
		t.Errorf("without the import in the middle: %v", err)
	}
	e = listen(r, "B")
	publish(r, "C", "x")
	if got := e.take(); got != "x x" {
		t.Errorf("from C over A to B: got %q", got)
	}
}

// The right to an import can end by itself, and a token can be refused.
func TestTokensDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := world(t)
		defer r.Close()
		until, refused := time.Now().Add(time.Minute), errors.New("refused")
		b := imports(&options.Import{Account: "A", Subject: "s.*"}, &options.Import{Account: "A", Subject: "t.*"})
		b.Allows = func(index int, exporter string) (time.Time, error) {
			switch {
			case exporter != "A" || index == 1:
				return time.Time{}, refused
			case !time.Now().Before(until):
				return time.Time{}, refused
			}
			return until, nil
		}
		if err := r.SetTerms(map[string]*Terms{"A": exports(&options.Export{Subject: ">", Private: true}), "B": b}); !errors.Is(err, refused) {
			t.Errorf("error %v", err)
		}
		e := listen(r, "B")
		publish(r, "A", "s.1", "t.1")
		if got := e.take(); got != "s.1 s.1" {
			t.Errorf("got %q", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		publish(r, "A", "s.1", "t.1")
		if got := e.take(); got != "" {
			t.Errorf("after the end of the token: got %q", got)
		}
	})
}

func TestMappingsOfClusters(t *testing.T) {
	m := &options.Mapping{Source: "m", Dests: []options.MappingDest{{Subject: "everywhere", Weight: 100}, {Subject: "there", Weight: 100, Cluster: "there"}}}
	for cluster, want := range map[string]string{"": "everywhere", "here": "everywhere", "there": "there"} {
		r := NewRegistry(&options.Options{})
		r.SetServer("server", cluster)
		x := &r.exchange
		dests := x.destsFor(m)
		if len(dests) != 1 || dests[0].Subject != want {
			t.Errorf("in cluster %q: %v", cluster, dests)
		}
	}
}

// One exporter and many importers that come one after the other, as with account JWTs.
func BenchmarkImporterComes(b *testing.B) {
	const n = 10_000
	o := &options.Options{Accounts: []*options.Account{{Name: "A", Limits: options.NoAccountLimits()}}}
	for i := range n {
		o.Accounts = append(o.Accounts, &options.Account{Name: fmt.Sprint(i), Limits: options.NoAccountLimits()})
	}
	r := NewRegistry(o)
	defer r.Close()
	r.SetTerms(map[string]*Terms{"A": exports(&options.Export{Kind: service, Subject: "s.>"}, &options.Export{Subject: "e.>"})})
	allow := func(int, string) (time.Time, error) { return time.Time{}, nil }
	come := func(i int) {
		name := fmt.Sprint(i % n)
		r.SetTerms(map[string]*Terms{name: {Allows: allow, Settings: &options.Account{Name: name, Imports: []*options.Import{
			{Kind: service, Account: "A", Subject: "s.>"}, {Account: "A", Subject: "e.*", Prefix: "a"}}}}})
	}
	for i := range n {
		come(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		come(i)
	}
}
