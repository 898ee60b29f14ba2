package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"godwit/tests/harness"
)

// accountsConfig has an exporter A, and B and C that import from it.
const accountsConfig = `
accounts {
  A {
    users: [{user: a, password: p}, {user: limited, password: p, permissions: {publish: "none", subscribe: ">", allow_responses: true}}]
    exports: [
      {stream: "events.>"}
      {stream: "private.>", accounts: [C]}
      {service: "svc.>"}
      {service: "many", response_type: stream}
      {service: "$SRV.>", response_type: stream}
      {service: "own.*.x", account_token_position: 2}
      {service: "timed", latency: {subject: "measured", sampling: 100}}
      {service: "mapped"}
    ]
    mappings: { old: new, mapped: "behind.{{partition(1)}}", gone: [{destination: gone, weight: 0}] }
  }
  B {
    users: [{user: b, password: p}, {user: deaf, password: p, permissions: {publish: ">", subscribe: {deny: "from.a.events.secret"}}}]
    imports: [
      {stream: {account: A, subject: "events.>"}, prefix: "from.a"}
      {stream: {account: A, subject: "events.*"}, to: "renamed.$1"}
      {service: {account: A, subject: "svc.*.*"}, to: "ask.$2.$1"}
      {service: {account: A, subject: "many"}}
      {service: {account: A, subject: "$SRV.>"}}
      {service: {account: A, subject: "svc.>"}, to: "tell.>", share: true}
      {service: {account: A, subject: "own.B.x"}, to: "mine"}
      {service: {account: A, subject: "timed"}}
      {service: {account: A, subject: "mapped"}}
    ]
    exports: [{service: "ask.>"}]
    mappings: { "shortcut.*": "ask.x.$1" }
  }
  C {
    users: [{user: c, password: p}]
    imports: [{stream: {account: A, subject: "private.>"}}, {service: {account: B, subject: "ask.>"}, to: "chain.>"}]
  }
}
`

func as(user string) nats.Option { return nats.UserInfo(user, "p") }

func subscribe(t *testing.T, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func next(t *testing.T, sub *nats.Subscription) *nats.Msg {
	t.Helper()
	m, err := sub.NextMsg(harness.Patience)
	if err != nil {
		t.Fatalf("%s: %v", sub.Subject, err)
	}
	return m
}

// nothing checks that the connection of sub has got no message on it by now.
func nothing(t *testing.T, sub *nats.Subscription, nc *nats.Conn) {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := sub.Pending(); n > 0 {
		m, _ := sub.NextMsg(0)
		t.Errorf("got %q %q", m.Subject, m.Data)
	}
}

func publish(t *testing.T, nc *nats.Conn, subject string) {
	t.Helper()
	if err := nc.Publish(subject, []byte("m")); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestStreamsBetweenAccounts(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b, c := s.Connect(t, as("a")), s.Connect(t, as("b")), s.Connect(t, as("c"))
	prefixed, renamed, all := subscribe(t, b, "from.a.events.>"), subscribe(t, b, "renamed.*"), subscribe(t, c, ">")
	publish(t, a, "events.1")
	if m := next(t, prefixed); m.Subject != "from.a.events.1" || string(m.Data) != "m" {
		t.Errorf("with a prefix: got %q", m.Subject)
	}
	if m := next(t, renamed); m.Subject != "renamed.1" {
		t.Errorf("renamed: got %q", m.Subject)
	}
	publish(t, a, "private.1")
	if m := next(t, all); m.Subject != "private.1" {
		t.Errorf("C got %q", m.Subject)
	}
	own := subscribe(t, a, ">")
	publish(t, b, "events.2")
	publish(t, b, "private.2")
	nothing(t, own, a)
	nothing(t, all, c)
	deaf := subscribe(t, s.Connect(t, as("deaf")), "from.>")
	publish(t, a, "events.secret")
	publish(t, a, "events.open")
	if m := next(t, deaf); m.Subject != "from.a.events.open" {
		t.Errorf("a user with a denied subject got %q", m.Subject)
	}
}

func TestServicesBetweenAccounts(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b, c := s.Connect(t, as("a")), s.Connect(t, as("b"), nats.Name("asker")), s.Connect(t, as("c"))
	for name, nc := range map[string]*nats.Conn{"ask.x.y": b, "chain.x.y": c, "mine": b} {
		if _, err := nc.Request(name, nil, harness.Patience); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s without responders: %v", name, err)
		}
	}
	// Other users of the exporting account see the requests, and what of the requester.
	limited := s.Connect(t, as("limited"))
	if _, err := limited.QueueSubscribe(">", "q", func(m *nats.Msg) {
		m.RespondMsg(&nats.Msg{Header: nats.Header{"Subject": {m.Subject}, "Info": {m.Header.Get("Nats-Request-Info")}}, Data: m.Data})
	}); err != nil {
		t.Fatal(err)
	}
	if err := limited.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		nc             *nats.Conn
		subject, there string
		info           string
	}{
		{b, "ask.x.y", "svc.y.x", `^{"acc":"B"(,"rtt":\d+)?}$`},
		{b, "tell.1", "svc.1", `"acc":"B","user":"b","name":"asker","lang":"go","ver":".*"kind":"Client","client_type":"nats"}$`},
		{b, "mine", "own.B.x", `^{"acc":"B"(,"rtt":\d+)?}$`},
		{b, "shortcut.z", "svc.z.x", `^{"acc":"B"(,"rtt":\d+)?}$`},
		{b, "mapped", "behind.0", `^{"acc":"B"(,"rtt":\d+)?}$`},
		{c, "chain.x.y", "svc.y.x", `^{"acc":"C","svc":"B"(,"rtt":\d+)?}$`},
	} {
		for range 3 {
			m, err := tt.nc.Request(tt.subject, []byte("hello"), harness.Patience)
			if err != nil {
				t.Fatalf("%s: %v", tt.subject, err)
			}
			if got := m.Header.Get("Subject"); got != tt.there || string(m.Data) != "hello" {
				t.Errorf("%s: the service saw %q", tt.subject, got)
			}
			if got := m.Header.Get("Info"); !regexp.MustCompile(tt.info).MatchString(got) {
				t.Errorf("%s: the service saw %s", tt.subject, got)
			}
		}
	}
	// Who is not asked does not get the response, and nobody can make one up.
	inbox := subscribe(t, b, "in")
	if err := a.PublishRequest("many", "in", nil); err != nil {
		t.Fatal(err)
	}
	publish(t, a, "_R_.000000.000000")
	nothing(t, inbox, b)
}

func TestManyResponses(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b := s.Connect(t, as("a")), s.Connect(t, as("b"))
	asked := subscribe(t, a, "many")
	inbox := subscribe(t, b, "in")
	if err := b.PublishRequest("many", "in", nil); err != nil {
		t.Fatal(err)
	}
	m := next(t, asked)
	for _, body := range []string{"1", "2", "", "late"} {
		if err := m.Respond([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if page := string(s.Page(t, "/metrics")); !regexp.MustCompile(`(?m)^\w*service_responses_awaited 0$`).MatchString(page) {
		t.Errorf("no response is awaited any more, but /metrics says %s", regexp.MustCompile(`(?m)^.*service_re.*$`).FindAllString(page, -1))
	}
	for _, want := range []string{"1", "2", ""} {
		if got := next(t, inbox); string(got.Data) != want {
			t.Errorf("got %q, want %q", got.Data, want)
		}
	}
	nothing(t, inbox, b)
}

// Services of the client's service framework are found and asked across accounts.
func TestServiceFrameworkBetweenAccounts(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	for range 2 {
		nc := s.Connect(t, as("a"))
		_, err := micro.AddService(nc, micro.Config{Name: "echo", Version: "1.0.0",
			Endpoint: &micro.EndpointConfig{Subject: "svc.echo", Handler: micro.HandlerFunc(func(r micro.Request) { r.Respond(r.Data()) })}})
		if err == nil {
			err = nc.Flush() // the framework leaves its subscriptions on their way
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := s.Connect(t, as("b"))
	inbox := subscribe(t, b, "in")
	if err := b.PublishRequest("$SRV.PING.echo", "in", nil); err != nil {
		t.Fatal(err)
	}
	next(t, inbox)
	next(t, inbox)
	if m, err := b.Request("tell.echo", []byte("x"), harness.Patience); err != nil || string(m.Data) != "x" {
		t.Errorf("got %v, %v", m, err)
	}
}

func TestLatencyOfServices(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b := s.Connect(t, as("a"), nats.Name("responder")), s.Connect(t, as("b"))
	measured := subscribe(t, a, "measured")
	if _, err := a.Subscribe("timed", func(m *nats.Msg) { m.Respond(nil) }); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Request("timed", nil, harness.Patience); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type      string         `json:"type"`
		Status    int            `json:"status"`
		Requestor map[string]any `json:"requestor"`
		Responder map[string]any `json:"responder"`
		Start     time.Time      `json:"start"`
		Total     time.Duration  `json:"total"`
	}
	if err := json.Unmarshal(next(t, measured).Data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "io.nats.server.metric.v1.service_latency" || got.Status != 200 || got.Requestor["acc"] != "B" || got.Requestor["user"] != nil ||
		got.Responder["name"] != "responder" || got.Responder["acc"] != "A" || got.Start.IsZero() || got.Total <= 0 {
		t.Errorf("got %+v", got)
	}
	// A requester that leaves is told of, too.
	asked := subscribe(t, s.Connect(t, as("a")), "timed")
	leaver := s.Connect(t, as("b"))
	if err := leaver.PublishRequest("timed", "nowhere", nil); err != nil {
		t.Fatal(err)
	}
	next(t, asked)
	leaver.Close()
	for got.Status = 0; got.Status != 200 && got.Status != 408; {
		if err := json.Unmarshal(next(t, measured).Data, &got); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMappings(t *testing.T) {
	config := `mappings: {
		foo: bar
		"w.*": {destination: "x.{{wildcard(1)}}", weight: 100}
		half: [{destination: half, weight: 50}, {destination: other, weight: "50%"}]
		gone: [{destination: gone, weight: 0}]
		"part.*": "part.{{partition(10,1)}}.{{wildcard(1)}}"
	}
	authorization { users: [{user: a, password: p, permissions: {publish: [foo, ok, "w.1"], subscribe: ">"}}, {user: b, password: p}] }`
	s := harness.Start(t, harness.Options{Config: config})
	b := connectLine(quiet + `,"headers":true,"no_responders":true,"user":"b","pass":"p"`)
	a := connectLine(quiet + `,"headers":true,"no_responders":true,"user":"a","pass":"p"`)
	runAll(t, s, []exchange{
		{name: "one destination", connect: b, send: "SUB > 1\r\nPUB foo r 1\r\nx\r\n", want: "MSG bar 1 r 1\r\nx\r\n"},
		{name: "wildcards", connect: b, send: "SUB > 1\r\nPUB w.1 1\r\nx\r\n", want: "MSG x.1 1 1\r\nx\r\n"},
		{name: "partitions", connect: b, send: "SUB > 1\r\nPUB part.hello 1\r\nx\r\n", want: "MSG part.3.hello 1 1\r\nx\r\n"},
		{name: "the source gets nothing", connect: b, send: "SUB foo 1\r\nPUB foo 1\r\nx\r\n", want: ""},
		{name: "nobody at the destination", connect: b, send: "SUB r 1\r\nPUB foo r 1\r\nx\r\n",
			want: "HMSG r 1 35 35\r\nNATS/1.0 503\r\nNats-Subject: bar\r\n\r\n\r\n"},
		{name: "lost", connect: b, send: "SUB r 1\r\nSUB gone 2\r\nPUB gone r 1\r\nx\r\n",
			want: "HMSG r 1 32 32\r\nNATS/1.0 503\r\nNats-Subject: \r\n\r\n\r\n"},
		{name: "permission is that for the destination", connect: a, send: "PUB foo 1\r\nx\r\n", want: pubDeny + "\"bar\"'\r\n"},
		{name: "of wildcards too", connect: a, send: "PUB w.1 1\r\nx\r\n", want: pubDeny + "\"x.1\"'\r\n"},
	})
	t.Run("weights", func(t *testing.T) {
		nc := s.Connect(t, as("b"))
		half, other := subscribe(t, nc, "half"), subscribe(t, nc, "other")
		for range 200 {
			publish(t, nc, "half")
		}
		n, _, _ := half.Pending()
		m, _, _ := other.Pending()
		if n+m != 200 || n < 50 || m < 50 {
			t.Errorf("%d and %d of 200 messages", n, m)
		}
	})
}

// What accounts share changes while clients are connected.
func TestReloadOfImportsAndMappings(t *testing.T) {
	config := func(exports, imports, more string) string {
		return `accounts { A { users: [{user: a, password: p}], exports: [` + exports + `], ` + more + ` }
			B { users: [{user: b, password: p}], imports: [` + imports + `] } }`
	}
	stream, service := `{stream: {account: A, subject: "e"}}`, `{service: {account: A, subject: "s"}}`
	s := harness.Start(t, harness.Options{Config: config("", "", "")})
	a, b := s.Connect(t, as("a")), s.Connect(t, as("b"))
	in := subscribe(t, b, "e")
	if _, err := a.Subscribe("s", func(m *nats.Msg) { m.Respond([]byte("yes")) }); err != nil {
		t.Fatal(err)
	}
	asked := func() error { _, err := b.Request("s", nil, harness.Patience); return err }
	publish(t, a, "e")
	nothing(t, in, b)
	if err := asked(); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("before: %v", err)
	}
	s.Configure(config(`{stream: e}, {service: s}`, stream+","+service, ""))
	s.Reload()
	publish(t, a, "e")
	next(t, in)
	if err := asked(); err != nil {
		t.Errorf("imported: %v", err)
	}
	s.Configure(config(`{stream: e}, {service: s}`, "", "mappings: {e: f}"))
	s.Reload()
	f := subscribe(t, a, "f")
	publish(t, a, "e")
	next(t, f)
	nothing(t, in, b)
	if err := asked(); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after: %v", err)
	}
	s.Configure(config(`{stream: e}`, service, ""))
	if line := s.Reload(); !strings.Contains(line, "service import not authorized") {
		t.Errorf("an import of what is not exported: %s", line)
	}
	publish(t, a, "e")
	next(t, f)
}

func TestAccountzShowsExchange(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	var z struct {
		Detail struct {
			Exports []map[string]any `json:"exports"`
			Imports []map[string]any `json:"imports"`
			Maps    map[string][]struct {
				Subject string
				Weight  int
			} `json:"mappings"`
		} `json:"account_detail"`
	}
	find := func(list []map[string]any, key, value string) string {
		for _, e := range list {
			if e[key] == value {
				js, _ := json.Marshal(e)
				return string(js)
			}
		}
		return ""
	}
	s.Monitor(t, "/accountz?acc=A", &z)
	if got, want := find(z.Detail.Exports, "subject", "private.>"), `{"approved_accounts":["C"],"subject":"private.\u003e","type":"stream"}`; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := find(z.Detail.Exports, "subject", "timed"), `{"response_type":"Singleton","service_latency":{"results":"measured","sampling":100},"subject":"timed","type":"service"}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(z.Detail.Maps); got != "map[gone:[{gone 0}] mapped:[{behind.{{partition(1)}} 100}] old:[{new 100}]]" {
		t.Errorf("got %s", got)
	}
	z.Detail.Imports = nil
	s.Monitor(t, "/accountz?acc=B", &z)
	if got, want := find(z.Detail.Imports, "local_subject", "ask.*.*"), `{"account":"A","invalid":false,"local_subject":"ask.*.*","share":false,"subject":"svc.*.*","to":"ask.*.*","tracking":false,"type":"service"}`; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := find(z.Detail.Imports, "local_subject", "from.a.events.>"), `{"account":"A","invalid":false,"local_subject":"from.a.events.\u003e","share":false,"subject":"events.\u003e","tracking":false,"type":"stream"}`; got != want {
		t.Errorf("got %s", got)
	}
	if find(z.Detail.Imports, "local_subject", "$SYS.REQ.USER.INFO") == "" {
		t.Error("the services of the system account are missing")
	}
}

// The command line tool shows accounts, and its services and requests cross them.
func TestCLIAccounts(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: strings.Replace(accountsConfig, "accounts {", "accounts { SYS { users: [{user: sys, password: p}] }", 1) + `
		system_account: SYS`})
	c := newCLI(t, s)
	login := func(user string, args ...string) []string {
		return append([]string{"--user", user, "--password", "p"}, args...)
	}
	nc := s.Connect(t, as("a"))
	if _, err := nc.Subscribe("svc.*.*", func(m *nats.Msg) { m.Respond([]byte("answer to " + m.Subject)) }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	c.ok(t, []string{"answer to svc.y.x"}, login("b", "request", "ask.x.y", "hello")...)
	c.ok(t, []string{"A", "1"}, login("sys", "server", "report", "accounts")...)
	c.ok(t, []string{"svc.*.* in account A", "from.a.events.>", "shortcut.*"}, login("sys", "server", "account", "info", "B")...)
	c.ok(t, []string{"private.>", "behind.{{partition(1)}}"}, login("sys", "server", "account", "info", "A")...)
}
