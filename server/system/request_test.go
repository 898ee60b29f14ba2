package system

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/router"
)

const (
	statA = `{"acc":"A","name":"A","conns":1,"leafnodes":0,"total_conns":1,"num_subscriptions":4,` + traffic
	statB = `{"acc":"B","name":"B","conns":0,"leafnodes":0,"total_conns":0,"num_subscriptions":4,` + traffic
	// traffic is what source.AccountStats says.
	traffic = `"sent":{"msgs":2,"bytes":0,` + links + `},"received":{"msgs":0,"bytes":9,` + links + `},"slow_consumers":0}`
	links   = `"gateways":{"msgs":0,"bytes":0},"routes":{"msgs":0,"bytes":0},"leafs":{"msgs":0,"bytes":0}`

	badJSON = `{"server":SERVER,"error":{"code":400,"description":"invalid character 'b' looking for beginning of object key string"}}`

	statszEmpty = `{"server":SERVER,"statsz":{"start":"0001-01-01T00:00:00Z",MACHINE,"connections":0,"total_connections":0,` +
		`"active_accounts":1,"subscriptions":0,"sent":{"msgs":0,"bytes":0},"sent_to_clients":{"msgs":0,"bytes":0},` +
		`"received":{"msgs":0,"bytes":0},"received_from_clients":{"msgs":0,"bytes":0},"slow_consumers":0,"active_servers":1,PROCS}}`

	connA = `{"cid":7,"kind":"Client","type":"nats","ip":"127.0.0.1","port":0,"start":"NOW","last_activity":"NOW","rtt":"0s",` +
		`"uptime":"0s","idle":"0s","pending_bytes":0,"in_msgs":0,"out_msgs":0,"in_bytes":0,"out_bytes":0,"subscriptions":0}`
	connzA = `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","num_connections":1,"total":1,"offset":0,"limit":1024,` +
		`"connections":[` + connA + `]}}`
	connzNobody = `{"server":SERVER,"data":{"server_id":"","now":"NOW","num_connections":0,"total":0,"offset":0,"limit":1024,` +
		`"connections":null}}`
	healthy = `{"server":SERVER,"data":{"status":"ok","status_code":200}}`
)

// started returns a running world with one connection in account A, in a bubble.
func started(t *testing.T, change ...func(*Options)) *world {
	w := newWorld(t, change...)
	if err := w.account("A").Join(); err != nil {
		t.Fatal(err)
	}
	w.conns = []monitor.Conn{{CID: 7, Kind: "Client", Type: "nats", IP: "127.0.0.1", Account: "A", Start: time.Now(), LastActivity: time.Now()}}
	w.s.Start()
	t.Cleanup(w.s.Close)
	return w
}

func TestSystemRequests(t *testing.T) {
	const me = "$SYS.REQ.SERVER." + serverID + "."
	failure := func(text string) string {
		return `{"server":SERVER,"data":null,"error":{"code":500,"description":"` + text + `"}}`
	}
	tests := []struct{ subject, body, want string }{
		{"$SYS.REQ.SERVER.PING", "", statszEmpty},
		{"$SYS.REQ.SERVER.PING", "{bad", badJSON},
		{"$SYS.REQ.SERVER.PING", `{"server_name":"nope"}`, ""},
		{"$SYS.REQ.SERVER.PING.STATSZ", "", statszEmpty},
		{me + "STATSZ", `{"server_name":"S"}`, statszEmpty},
		{"$SYS.REQ.SERVER.PING.IDZ", "", `{"name":"S1","host":"0.0.0.0","id":"NSERVERID"}`},
		{me + "IDZ", `{"server_name":"nope"}`, `{"name":"S1","host":"0.0.0.0","id":"NSERVERID"}`},
		{"$SYS.REQ.SERVER.PING.IDZ", "{bad", `{"name":"S1","host":"0.0.0.0","id":"NSERVERID"}`},
		{"$SYS.REQ.SERVER.PING.HEALTHZ", "", healthy},
		{me + "HEALTHZ", "", healthy},
		{me + "HEALTHZ", "null", healthy},
		{me + "HEALTHZ", `{"details":true,"server_name":"S1","exact_match":true}`, healthy},
		{me + "HEALTHZ", `{"stream":"S"}`, `{"server":SERVER,"data":{"status":"error","status_code":400,` +
			`"error":"\"account\" must not be empty when checking stream health"}}`},
		{me + "HEALTHZ", "{bad", badJSON},
		{me + "HEALTHZ", " ", `{"server":SERVER,"error":{"code":400,"description":"unexpected end of JSON input"}}`},
		{me + "HEALTHZ", `{"tags":["R1","az:1"]}`, healthy},
		{me + "HEALTHZ", `{"tags":["r1","r2"]}`, ""},
		{me + "CONNZ", "", connzA},
		{me + "CONNZ", `{"acc":"nope"}`, connzNobody},
		{me + "CONNZ", `{"sort":"zz"}`, failure("invalid sorting option: zz")},
		{me + "CONNZ", `{"filter_subject":"a"}`, failure("filter by subject only valid with account filtering")},
		{me + "CONNZ", `{"domain":"d"}`, ""},
		{me + "ROUTEZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","server_name":"S1","now":"NOW","num_routes":0,"routes":[]}}`},
		{me + "GATEWAYZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","outbound_gateways":{},"inbound_gateways":{}}}`},
		{me + "LEAFZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","leafnodes":0,"leafs":[]}}`},
		{me + "SUBSZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","num_subscriptions":3,"num_cache":0,` +
			`"num_inserts":0,"num_removes":0,"num_matches":0,"cache_hit_rate":0,"max_fanout":0,"avg_fanout":0,"total":0,"offset":0,"limit":1024}}`},
		{me + "SUBSZ", `{"test":"a.*"}`, failure("invalid test subject, must be valid publish subject: a.*")},
		{me + "ACCOUNTZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","system_account":"SYS","accounts":["$G","A","B","SYS"]}}`},
		{me + "ACCOUNTZ", `{"account":"nope"}`, failure("Account nope does not exist")},
		{me + "JSZ", "", `{"server":SERVER,"data":{"memory":0,"storage":0,"reserved_memory":0,"reserved_storage":0,"accounts":0,"ha_assets":0,` +
			`"api":{"level":0,"total":0,"errors":0},"server_id":"NSERVERID","now":"NOW","disabled":true,"config":{"max_memory":0,"max_storage":0},` +
			`"streams":0,"consumers":0,"messages":0,"bytes":0,"total":0}}`},
		{me + "JSZ", `{"leader_only":true}`, ""},
		{me + "IPQUEUESZ", "", `{"server":SERVER,"data":{}}`},
		{me + "IPQUEUESZ", `{"all":true}`, `{"server":SERVER,"data":{"q":{"pending":0}}}`},
		{me + "RAFTZ", "", `{"server":SERVER,"data":{}}`},
		{me + "RAFTZ", `{"group":"x"}`, `{"server":SERVER,"data":{}}`},
		{me + "PROFILEZ", "", `{"server":SERVER,"data":{"profile":null,"error":"Profile name not specified"}}`},
		{me + "PROFILEZ", "{bad", badJSON},
		{me + "PROFILEZ", `{"cluster":"c"}`, ""},
		{me + "RELOAD", "", `{"server":SERVER}`},
		{me + "RELOAD", "{bad", badJSON},
		{me + "RELOAD", `{"server_name":"nope"}`, ""},
		{me + "KICK", `{"cid":7}`, `{"server":SERVER}`},
		{me + "KICK", `{"cid":9}`, `{"server":SERVER,"error":{"code":500,"description":"no such client or leafnode id"}}`},
		{me + "KICK", "", ""},
		{me + "KICK", `{"cid":"x"}`, ""},
		{me + "LDM", `{"cid":7}`, `{"server":SERVER}`},
		{me + "LDM", `{"cid":8}`, `{"server":SERVER,"error":{"code":500,"description":"client does not support Lame Duck Mode or is not ready to receive the notification"}}`},
		{me + "LDM", `{"cid":9}`, `{"server":SERVER,"error":{"code":500,"description":"no such client id"}}`},
		{me + "LDM", "{bad", ""},

		{"$SYS.REQ.ACCOUNT.A.SUBSZ", `{"account":"B","subscriptions":false}`, `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW",` +
			`"num_subscriptions":3,"num_cache":0,"num_inserts":0,"num_removes":0,"num_matches":0,"cache_hit_rate":0,"max_fanout":0,"avg_fanout":0,` +
			`"total":1,"offset":0,"limit":1024,"subscriptions_list":[{"account":"A","subject":"foo","sid":"1","msgs":0,"cid":7}]}}`},
		{"$SYS.REQ.ACCOUNT.A.CONNZ", `{"acc":"B"}`, connzA},
		{"$SYS.REQ.ACCOUNT.nope.CONNZ", "", connzNobody},
		{"$SYS.REQ.ACCOUNT.PING.CONNZ", "", connzNobody},
		{"$SYS.REQ.ACCOUNT.A.CONNZ", "{bad", badJSON},
		{"$SYS.REQ.ACCOUNT.A.LEAFZ", `{"account":"B"}`, `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","leafnodes":0,"leafs":[]}}`},
		{"$SYS.REQ.ACCOUNT.A.JSZ", "", failure("jetstream not enabled")},
		{"$SYS.REQ.ACCOUNT.A.INFO", "", `{"server":SERVER,"data":{"account_name":"A","update_time":"NOW","expired":false,"complete":true,` +
			`"jetstream_enabled":false,"leafnode_connections":0,"client_connections":0,"subscriptions":0,"name_tag":"A"}}`},
		{"$SYS.REQ.ACCOUNT.A.INFO", `{"server_name":"zz"}`, ""},
		{"$SYS.REQ.ACCOUNT.nope.INFO", "", failure("Account nope does not exist")},
		{"$SYS.REQ.ACCOUNT.A.STATZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","account_statz":[` + statA + `]}}`},
		{"$SYS.REQ.ACCOUNT.B.STATZ", "", ""},
		{"$SYS.REQ.ACCOUNT.B.STATZ", `{"include_unused":true}`, `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","account_statz":[` + statB + `]}}`},
		{"$SYS.REQ.ACCOUNT.nope.STATZ", `{"include_unused":true}`, ""},
		{"$SYS.REQ.ACCOUNT.PING.STATZ", "", `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","account_statz":[` + statA + `]}}`},
		{"$SYS.REQ.ACCOUNT.PING.STATZ", `{"accounts":["B"]}`, ""},
		{"$SYS.REQ.ACCOUNT.PING.STATZ", `{"accounts":["B"],"include_unused":true}`,
			`{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","account_statz":[` + statB + `]}}`},
		{"$SYS.REQ.ACCOUNT.PING.STATZ", "{bad", badJSON},
		{"$SYS.REQ.ACCOUNT.A.CONNS", `{"server_name":"zz"}`, `{"type":"io.nats.server.advisory.v1.account_connections","id":ID,"timestamp":"NOW",` +
			`"server":SERVER,` + statA[1:]},
		{"$SYS.REQ.ACCOUNT.A.CONNS", "{bad", ""},
		{"$SYS.REQ.ACCOUNT.B.CONNS", "", ""},
		{"$SYS.REQ.ACCOUNT.nope.CONNS", "", ""},
	}
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		for _, tt := range tests {
			got := w.one(w.ask(nil, "SYS", tt.subject, "", tt.body))
			if got != tt.want {
				t.Errorf("%s %s\n got %s\nwant %s", tt.subject, tt.body, got, tt.want)
			}
		}
		if w.reloads != 1 {
			t.Errorf("%d reloads, want 1", w.reloads)
		}
		want := []string{"E System request to kick a client: the request has no body",
			"E System request to kick a client: json: cannot unmarshal string into Go struct field .cid of type uint64",
			"E System request to lame duck a client: invalid character 'b' looking for beginning of object key string"}
		var got []string
		for _, l := range w.log {
			if strings.HasPrefix(l, "E ") {
				got = append(got, l)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("log:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestUnknownRequestsHaveNoResponder(t *testing.T) {
	w := newWorld(t)
	w.s.AccountsChanged()
	defer w.s.Close()
	for account, subjects := range map[string][]string{
		"SYS": {"$SYS.REQ.SERVER.PING.STATZ", "$SYS.REQ.SERVER.PING.RELOAD", "$SYS.REQ.SERVER.PING.KICK", "$SYS.REQ.SERVER.other.VARZ",
			"$SYS.REQ.SERVER." + serverID, "$SYS.REQ.SERVER." + serverID + ".CONNS", "$SYS.REQ.ACCOUNT.A.NOPE", "$SYS.REQ.CLAIMS.LIST"},
		"A": {"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER." + serverID + ".CONNZ", "$SYS.REQ.ACCOUNT.A.CONNZ", "$SYS.REQ.ACCOUNT.NSUBS",
			"$SYS.DEBUG.SUBSCRIBERS"},
	} {
		for _, s := range subjects {
			if w.account(account).Index().HasInterest([]byte(s)) {
				t.Errorf("%s is subscribed to in %s", s, account)
			}
		}
	}
	for _, s := range []string{"VARZ", "EXPVARZ"} { // their answers are too large for a table
		if x := w.account("SYS").Index(); !x.HasInterest([]byte("$SYS.REQ.SERVER.PING."+s)) || !x.HasInterest([]byte("$SYS.REQ.SERVER."+serverID+"."+s)) {
			t.Errorf("nobody answers %s", s)
		}
	}
}

func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		for subject, want := range map[string]string{
			"$SYS.REQ.SERVER.PING.VARZ":    `{"server":SERVER,"data":{"server_id":"","server_name":""`,
			"$SYS.REQ.SERVER.PING.EXPVARZ": `{"server":SERVER,"data":{"memstats":{"Alloc":`,
		} {
			if got := w.one(w.ask(nil, "SYS", subject, "", "")); !strings.HasPrefix(got, want) {
				t.Errorf("%s\n got %.200s\nwant %s", subject, got, want)
			}
		}
	})
}

func TestRequestsOfOtherAccounts(t *testing.T) {
	perms := &auth.Info{Publish: auth.SubjectInfo{Allow: []string{"$SYS.>"}}, Responses: &auth.ResponseInfo{Max: 1, TTL: 2 * time.Minute}}
	a, known := &caller{}, &caller{}
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		w.users[a] = UserInfo{User: "a", Account: "A", AccountName: "A"}
		w.users[known] = UserInfo{User: "U1", Account: "A", AccountName: "A", UserName: "n", Permissions: perms, Expires: time.Minute}
		statz := `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","account_statz":[` + statA + `]}}`
		nobody := `{"server":SERVER,"data":{"server_id":"NSERVERID","now":"NOW","num_connections":0,"total":0,"offset":0,"limit":1024,"connections":[]}}`
		tests := []struct {
			account       string
			from          router.Origin
			subject, body string
			want          string
		}{
			{"A", a, "$SYS.REQ.USER.INFO", "", `{"server":SERVER,"data":{"user":"a","account":"A","account_name":"A"}}`},
			{"A", a, "$SYS.REQ.USER.INFO", "{bad", `{"server":SERVER,"data":{"user":"a","account":"A","account_name":"A"}}`},
			{"A", known, "$SYS.REQ.USER.INFO", "", `{"server":SERVER,"data":{"user":"U1","account":"A","account_name":"A","user_name":"n",` +
				`"permissions":{"publish":{"allow":["$SYS.\u003e"]},"subscribe":{},"responses":{"max":1,"ttl":120000000000}},"expires":60000000000}}`},
			{"A", &caller{}, "$SYS.REQ.USER.INFO", "", ""}, // of another server
			{"A", nil, "$SYS.REQ.USER.INFO", "", ""},
			{"SYS", a, "$SYS.REQ.USER.INFO", "", `{"server":SERVER,"data":{"user":"a","account":"A","account_name":"A"}}`},
			{"A", a, "$SYS.REQ.ACCOUNT.PING.CONNZ", "", connzA},
			{"A", a, "$SYS.REQ.ACCOUNT.PING.CONNZ", `{"acc":"SYS"}`, connzA},
			{"A", a, "$SYS.REQ.ACCOUNT.PING.CONNZ", `{"sort":"zz"}`, `{"server":SERVER,"data":null,"error":{"code":500,"description":"invalid sorting option: zz"}}`},
			{"A", a, "$SYS.REQ.SERVER.PING.CONNZ", `{"acc":"B"}`, connzA},
			{"A", a, "$SYS.REQ.SERVER.PING.CONNZ", `{"server_name":"zz"}`, ""},
			{"A", a, "$SYS.REQ.SERVER.PING.CONNZ", "{bad", badJSON},
			{"B", a, "$SYS.REQ.SERVER.PING.CONNZ", `{"acc":"A"}`, nobody},
			{"A", a, "$SYS.REQ.ACCOUNT.PING.STATZ", "", statz},
			{"A", a, "$SYS.REQ.ACCOUNT.PING.STATZ", `{"accounts":["B"],"include_unused":true}`, statz},
			{"A", a, "$SYS.REQ.ACCOUNT.PING.STATZ", "{bad", badJSON},
			{"B", a, "$SYS.REQ.ACCOUNT.PING.STATZ", "", ""},
			{"$G", a, "$SYS.REQ.SERVER.PING.CONNZ", "", nobody},
		}
		for _, tt := range tests {
			if got := w.one(w.ask(tt.from, tt.account, tt.subject, "", tt.body)); got != tt.want {
				t.Errorf("%s in %s %s\n got %s\nwant %s", tt.subject, tt.account, tt.body, got, tt.want)
			}
		}
	})
}

func TestReloadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		w.fail = errors.New("config reload not supported for Port: old=1, new=2")
		got := w.one(w.ask(nil, "SYS", "$SYS.REQ.SERVER."+serverID+".RELOAD", "", ""))
		if want := `{"server":SERVER,"error":{"code":500,"description":"config reload not supported for Port: old=1, new=2"}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestRequestsWithoutReplyDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		w.publish(nil, "SYS", "$SYS.REQ.SERVER."+serverID+".RELOAD", "", "", "")
		synctest.Wait()
		if w.reloads != 0 || w.s.stamp.seq.Load() != 0 {
			t.Errorf("%d reloads, %d answers", w.reloads, w.s.stamp.seq.Load())
		}
	})
}

func TestServerInfo(t *testing.T) {
	w := newWorld(t)
	w.identity = Identity{Name: "n", Host: "h", ID: "N1", Cluster: "c", Domain: "d", Version: "1", JetStream: true}
	for want := range uint64(3) {
		i := w.s.about()
		if i.Seq != want+1 {
			t.Errorf("seq %d, want %d", i.Seq, want+1)
		}
		i.Seq, i.Time = 0, time.Time{}
		b, err := encode(i)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(b), `{"name":"n","host":"h","id":"N1","cluster":"c","domain":"d","ver":"1","jetstream":true,"flags":7,"seq":0,"time":"0001-01-01T00:00:00Z"}`; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestStatszFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t, func(o *Options) { o.ActiveServers = func() int { return 3 } })
		w.identity.JetStream = false
		w.varz = monitor.Varz{Start: time.Now(), Connections: 1, TotalConnections: 2, Subscriptions: 3, OutMsgs: 4, OutBytes: 5, OutClientMsgs: 6,
			OutClientBytes: 7, InMsgs: 8, InBytes: 9, InClientMsgs: 10, InClientBytes: 11, SlowConsumers: 12, StaleConnections: 13, StalledClients: 14,
			SlowConsumersStats: monitor.KindCounts{Clients: 12}, StaleConnectionStats: monitor.KindCounts{Leafs: 13},
			JetStream: monitor.JetStreamVarz{Config: &monitor.JetStreamConfig{MaxStore: 1, StoreDir: "/secret"}}}
		want := `{"server":SERVER,"statsz":{"start":"NOW",MACHINE,"connections":1,"total_connections":2,"active_accounts":1,"subscriptions":3,` +
			`"sent":{"msgs":4,"bytes":5},"sent_to_clients":{"msgs":6,"bytes":7},"received":{"msgs":8,"bytes":9},"received_from_clients":{"msgs":10,"bytes":11},` +
			`"slow_consumers":12,"slow_consumer_stats":{"clients":12,"routes":0,"gateways":0,"leafs":0},"stale_connections":13,` +
			`"stale_connection_stats":{"clients":0,"routes":0,"gateways":0,"leafs":13},"stalled_clients":14,"active_servers":3,` +
			`"jetstream":{"config":{"max_memory":0,"max_storage":1}},PROCS}}`
		if got := w.one(w.ask(nil, "SYS", "$SYS.REQ.SERVER.PING", "", "")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if dir := w.varz.JetStream.Config.StoreDir; dir != "/secret" {
			t.Errorf("the configuration itself was changed: %q", dir)
		}
	})
}

func TestNewAccountsCanAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := started(t)
		w.accounts.Update(&options.Options{SystemAccount: "SYS", Accounts: []*options.Account{{Name: "C", Limits: options.NoAccountLimits()}}})
		if got := w.ask(nil, "C", "$SYS.REQ.SERVER.PING.CONNZ", "", ""); len(got) != 0 {
			t.Fatalf("answered before it is known: %v", got)
		}
		for range 2 {
			w.s.AccountsChanged()
			if got := w.ask(nil, "C", "$SYS.REQ.SERVER.PING.CONNZ", "", ""); len(got) != 1 {
				t.Fatalf("%d answers, want 1", len(got))
			}
		}
	})
}

func TestCloseLeavesNoSubscription(t *testing.T) {
	w := newWorld(t)
	w.s.Start()
	subs := func(a *account.Account) int64 { return a.Index().Stats().Subscriptions }
	if n := subs(w.account("A")); n != 4 {
		t.Errorf("%d subscriptions in a normal account, want 4", n)
	}
	w.s.Close()
	w.s.Close()
	w.s.AccountsChanged()
	for _, a := range w.accounts.All() {
		if n := subs(a); n != 0 {
			t.Errorf("%d subscriptions left in %s", n, a.Name())
		}
	}
	w.s.requests.put(&request{receiver: &receiver{}})
	if n := w.s.requests.info("").Pending; n != 0 {
		t.Errorf("%d requests after Close", n)
	}
}

func TestWithoutSystemAccount(t *testing.T) {
	reg := account.NewRegistry(&options.Options{NoSystemAccount: true})
	s := New(Options{Accounts: reg})
	if s != nil {
		t.Fatal("a service without a system account")
	}
	s.Start()
	s.AccountsChanged()
	e := s.Events()
	e.ClientConnected(nil)
	e.ClientDisconnected(nil)
	e.AccountConnections(nil)
	e.LoginRefused(nil, nil, "")
	e.LameDuck()
	if q, i := s.Queues(), s.Imports("A"); q != nil || i != nil {
		t.Errorf("queues %v, imports %v", q, i)
	}
	if r, ev := s.Refused(); r+ev != 0 {
		t.Error("something was refused")
	}
	s.Close()
}

func TestImports(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.DebugEverywhere = true })
	b, err := encode(w.s.Imports("A"))
	if err != nil {
		t.Fatal(err)
	}
	one := func(local, remote, share string) string {
		return `{"subject":"` + remote + `","account":"SYS","to":"` + local + `","local_subject":"` + local + `","type":"service","invalid":false,"share":` +
			share + `,"tracking":false}`
	}
	want := "[" + strings.Join([]string{
		one("$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.ACCOUNT.A.CONNZ", "false"),
		one("$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.A.CONNZ", "false"),
		one("$SYS.REQ.ACCOUNT.PING.STATZ", "$SYS.REQ.ACCOUNT.A.STATZ", "false"),
		one("$SYS.REQ.USER.INFO", "$SYS.REQ.USER.A.INFO", "true"),
		one("$SYS.DEBUG.SUBSCRIBERS", "$SYS.DEBUG.SUBSCRIBERS", "false"),
	}, ",") + "]"
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if b, err = encode(w.s.Imports("SYS")); err != nil || string(b) != "["+one("$SYS.REQ.USER.INFO", "$SYS.REQ.USER.SYS.INFO", "true")+"]" {
		t.Errorf("%v: the system account imports %s", err, b)
	}
	var exported []string
	for _, e := range w.s.Exports("SYS") {
		exported = append(exported, e.Type+" "+e.Subject+" "+e.ResponseType)
	}
	wantExports := []string{"service $SYS.REQ.USER.*.INFO Singleton", "service $SYS.REQ.ACCOUNT.*.CONNZ Streamed",
		"service $SYS.REQ.ACCOUNT.*.STATZ Streamed", "service $SYS.DEBUG.SUBSCRIBERS Singleton"}
	if !slices.Equal(exported, wantExports) || w.s.Exports("A") != nil {
		t.Errorf("exported are %q", exported)
	}
}
