package monitor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSubsz(t *testing.T) {
	f := population()
	f.sublists = map[string]SublistStats{"A": {NumSubs: 8, NumInserts: 11, NumRemoves: 3}, "B": {NumSubs: 1}}
	m, _ := newTest(f)
	tests := []struct {
		name          string
		o             SubszOptions
		subjects      string
		total, offset int
		limit         int
		num           uint32
	}{
		{"counts only", SubszOptions{}, "", 0, 0, 1024, 72},
		{"all accounts", SubszOptions{Subscriptions: true}, "x.a x.b x.c y.> x.a", 5, 0, 1024, 72},
		{"an account", SubszOptions{Subscriptions: true, Account: "A"}, "x.a x.b x.c y.>", 4, 0, 1024, 8},
		{"an account, counts only", SubszOptions{Account: "A", Test: "x.a"}, "", 0, 0, 1024, 8},
		{"unknown account", SubszOptions{Subscriptions: true, Account: "Z"}, "", 0, 0, 1024, 0},
		{"test", SubszOptions{Subscriptions: true, Test: "y.a.b"}, "y.>", 1, 0, 1024, 72},
		{"page", SubszOptions{Subscriptions: true, Offset: 1, Limit: 2}, "x.b x.c", 5, 1, 2, 72},
		{"past the end", SubszOptions{Subscriptions: true, Offset: 900}, "", 5, 900, 1024, 72},
		{"negative", SubszOptions{Subscriptions: true, Offset: -2, Limit: -1, Account: "B"}, "x.a", 1, 0, 1024, 1},
		{"echo without a list", SubszOptions{Offset: 4, Limit: 3}, "", 0, 4, 3, 72},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z, err := m.Subsz(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range z.Subs {
				got = append(got, s.Subject)
				if s.Account == "" || s.AccountTag == "" {
					t.Error("no account", s)
				}
			}
			if strings.Join(got, " ") != tt.subjects || z.Total != tt.total || z.Offset != tt.offset || z.Limit != tt.limit || z.NumSubs != tt.num {
				t.Errorf("%+v", z)
			}
		})
	}
	for _, bad := range []string{"foo.*", ">", "a..b", ".a", "a.", "a b", "a\t", "\x00 "} {
		var e *TestSubjectError
		if _, err := m.Subsz(SubszOptions{Test: bad}); !errors.As(err, &e) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAccountLists(t *testing.T) {
	f := newFake()
	f.details = map[string]*AccountDetail{"A": {AccountName: "A"}}
	f.stats = map[string]AccountStat{"A": {Account: "A", Conns: 1}, "B": {Account: "B"}, "$G": {Account: "$G", LeafNodes: 1}}
	m, _ := newTest(f)
	if z, err := m.Accountz(AccountzOptions{Account: "A"}); err != nil || z.Account.AccountName != "A" || z.Accounts != nil || z.SystemAccount != "$SYS" {
		t.Errorf("%+v, %v", z, err)
	}
	var e *AccountError
	if _, err := m.Accountz(AccountzOptions{Account: "X"}); !errors.As(err, &e) {
		t.Error(err)
	}
	tests := []struct {
		o    AccountStatzOptions
		want string
	}{
		{AccountStatzOptions{}, "$G A"},
		{AccountStatzOptions{IncludeUnused: true}, "$G A B"},
		{AccountStatzOptions{Accounts: []string{"B", "A", "Z"}}, "A"},
		{AccountStatzOptions{Accounts: []string{"B", "A", "Z"}, IncludeUnused: true}, "B A"},
	}
	for _, tt := range tests {
		var got []string
		for _, s := range m.AccountStatz(tt.o).Accounts {
			got = append(got, s.Account)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %v, want %s", tt.o, got, tt.want)
		}
	}
}

func TestJSz(t *testing.T) {
	f := newFake()
	f.js = &JetStreamTotals{Stats: JetStreamStats{Store: 78}, Limits: &JetStreamLimits{DefaultMaxConsumers: 1000}, Streams: 4, StreamsLeader: 3, Consumers: 2, ConsumersLeader: 1, Messages: 2, Bytes: 78}
	f.jsDetails = map[string]*JSAccountDetail{"C": {Name: "C"}, "A": {Name: "A"}, "B": {Name: "B"}}
	m, _ := newTest(f)
	tests := []struct {
		name    string
		o       JSzOptions
		want    string
		ask     JetStreamWant
		leaders int
	}{
		{"totals only", JSzOptions{}, "", JetStreamWant{}, 0},
		{"raft alone", JSzOptions{RaftGroups: true}, "", JetStreamWant{}, 3},
		{"accounts sorted", JSzOptions{Accounts: true}, "A B C", JetStreamWant{}, 0},
		{"page", JSzOptions{Accounts: true, Offset: 1, Limit: 1}, "B", JetStreamWant{}, 0},
		{"negative", JSzOptions{Accounts: true, Offset: -1, Limit: -1}, "A B C", JetStreamWant{}, 0},
		{"past the end", JSzOptions{Accounts: true, Offset: 99}, "", JetStreamWant{}, 0},
		{"one", JSzOptions{Account: "B", Offset: 1}, "B", JetStreamWant{}, 0},
		{"unknown one", JSzOptions{Account: "zzz"}, "", JetStreamWant{}, 0},
		{"unknown one and accounts", JSzOptions{Account: "zzz", Accounts: true}, "A B C", JetStreamWant{}, 0},
		{"unknown one and streams", JSzOptions{Account: "zzz", Streams: true, Consumer: true}, "", JetStreamWant{}, 0},
		{"streams imply accounts", JSzOptions{Streams: true, Limit: 1}, "A", JetStreamWant{Streams: true}, 0},
		{"consumers imply streams", JSzOptions{Consumer: true, Account: "A"}, "A", JetStreamWant{Streams: true, Consumers: true}, 0},
		{"everything", JSzOptions{Consumer: true, DirectConsumer: true, Config: true, RaftGroups: true, StreamLeaderOnly: true, Account: "A"}, "A",
			JetStreamWant{true, true, true, true, true, true}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.jsWant = JetStreamWant{}
			z, err := m.JSz(tt.o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range z.AccountDetails {
				got = append(got, a.Name)
			}
			if strings.Join(got, " ") != tt.want || f.jsWant != tt.ask {
				t.Errorf("got %v asking %+v", got, f.jsWant)
			}
			if z.Total != 3 || z.Streams != 4 || z.Store != 78 || z.Limits == nil || z.Disabled || z.StreamsLeader != tt.leaders {
				t.Errorf("%+v", z)
			}
		})
	}
	if _, err := m.JSz(JSzOptions{LeaderOnly: true}); !errors.Is(err, ErrNotLeader) {
		t.Error(err)
	}
	f.leader = true
	if _, err := m.JSz(JSzOptions{LeaderOnly: true}); err != nil {
		t.Error(err)
	}
}

func TestDirectConsumersAloneListNoStreams(t *testing.T) {
	f := newFake()
	f.js = &JetStreamTotals{}
	f.jsDetails = map[string]*JSAccountDetail{"A": {Name: "A"}}
	m, _ := newTest(f)
	if _, err := m.JSz(JSzOptions{DirectConsumer: true, Account: "A"}); err != nil || f.jsWant.Streams {
		t.Errorf("%+v, %v", f.jsWant, err)
	}
}

func TestJSAccount(t *testing.T) {
	f := newFake()
	m, _ := newTest(f)
	if _, err := m.JSAccount("A", JSzOptions{}); !errors.Is(err, ErrNoJetStream) {
		t.Error(err)
	}
	f.js = &JetStreamTotals{}
	f.jsDetails = map[string]*JSAccountDetail{"A": {Name: "A"}}
	if _, err := m.JSAccount("zz", JSzOptions{}); err == nil || err.Error() != `account "zz" not found` {
		t.Error(err)
	}
	if _, err := m.JSAccount("B", JSzOptions{}); err == nil || err.Error() != `account "B" not jetstream enabled` {
		t.Error(err)
	}
	if d, err := m.JSAccount("A", JSzOptions{}); err != nil || d.Name != "A" {
		t.Error(d, err)
	}
}

// raftFake is a server with Raft groups and gateways.
type raftFake struct {
	*fake
	groups map[string]map[string]*RaftGroup
	gw     GatewaySnapshot
	gwAsk  GatewayzOptions
}

func (f *raftFake) RaftGroups(account, group string) (map[string]*RaftGroup, bool) {
	got := map[string]*RaftGroup{}
	for n, g := range f.groups[account] {
		if group == "" || group == n {
			got[n] = g
		}
	}
	return got, true
}

func (f *raftFake) Gateways(o GatewayzOptions) GatewaySnapshot {
	f.gwAsk = o
	return f.gw
}

func TestRaftz(t *testing.T) {
	f := &raftFake{fake: newFake(), groups: map[string]map[string]*RaftGroup{"$SYS": {"_meta_": {ID: "m"}}, "A": {"S-R3F-x": {ID: "x"}}}}
	m := New(Options{Source: f, Logger: &lines{}})
	for _, tt := range []struct {
		o    RaftzOptions
		want string
	}{
		{RaftzOptions{}, "$SYS _meta_"}, {RaftzOptions{Account: "A"}, "A S-R3F-x"}, {RaftzOptions{Account: "A", Group: "S-R3F-x"}, "A S-R3F-x"},
		{RaftzOptions{Account: "zz"}, ""}, {RaftzOptions{Group: "zz"}, ""},
	} {
		z, err := m.Raftz(tt.o)
		var got []string
		for acc, groups := range z {
			for g := range groups {
				got = append(got, acc, g)
			}
		}
		if strings.Join(got, " ") != tt.want || err != nil || z == nil {
			t.Errorf("%+v: %v, %v", tt.o, got, err)
		}
	}
	f.system = ""
	if _, err := m.Raftz(RaftzOptions{}); !errors.Is(err, ErrNoRaftMatched) {
		t.Error(err)
	}
	code, _, body := get(t, m.Handler(""), "/raftz")
	if code != 404 || body != "No Raft nodes returned, check supplied filters" {
		t.Error(code, body)
	}
}

func TestGatewayz(t *testing.T) {
	f := &raftFake{fake: newFake(), gw: GatewaySnapshot{Enabled: true, Name: "c1", Host: "h", Port: 7}}
	m := New(Options{Source: f, Logger: &lines{}})
	if z := m.Gatewayz(GatewayzOptions{Name: "zz", AccountName: "A"}); z.Outbound != nil || z.Inbound == nil || z.Name != "c1" || !f.gwAsk.Accounts {
		t.Errorf("%+v, asked %+v", z, f.gwAsk)
	}
	if z := m.Gatewayz(GatewayzOptions{}); z.Outbound == nil {
		t.Error("no filter, but no map")
	}
}

// literalMatch is a second, plain implementation of matching to compare with.
func literalMatch(literal, filter []string) bool {
	for i, f := range filter {
		if f == ">" {
			return len(literal) > i
		}
		if i >= len(literal) || f != "*" && f != literal[i] {
			return false
		}
	}
	return len(literal) == len(filter)
}

// TestOverlapProperty compares overlap with the search for a literal subject that both match.
func TestOverlapProperty(t *testing.T) {
	var literals [][]string
	for _, a := range []string{"a", "b"} {
		literals = append(literals, []string{a})
		for _, b := range []string{"a", "b"} {
			literals = append(literals, []string{a, b})
			for _, c := range []string{"a", "b"} {
				literals = append(literals, []string{a, b, c}, []string{a, b, c, "a"}, []string{a, b, c, "b"})
			}
		}
	}
	filter := rapid.Custom(func(t *rapid.T) []string {
		f := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*"}), 0, 3).Draw(t, "tokens")
		if len(f) == 0 || rapid.Bool().Draw(t, "full") {
			f = append(f, ">")
		}
		return f
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := filter.Draw(t, "a"), filter.Draw(t, "b")
		want := slices.ContainsFunc(literals, func(l []string) bool { return literalMatch(l, a) && literalMatch(l, b) })
		if got := overlap(strings.Join(a, "."), strings.Join(b, ".")); got != want {
			t.Fatalf("%v and %v: got %v", a, b, got)
		}
	})
}

func FuzzSubjects(f *testing.F) {
	for _, s := range []string{"a.b", "a.*", ">", "", "..", "a b", "*.>"} {
		f.Add(s, "a.>")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if overlap(a, b) != overlap(b, a) {
			t.Errorf("%q and %q: not symmetric", a, b)
		}
		if validLiteral(a) && !overlap(a, a) {
			t.Errorf("%q doesn't match itself", a)
		}
	})
}
