package compat

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// What /jsz tells of a stream beside its state: who leads it, where it copies from, and the consumers that copies of it have.
func TestStreamDetailsInMonitoring(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: "server_name: here"})
	js, err := s.Connect(t).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []*nats.StreamConfig{
		{Name: "ORIGIN", Subjects: []string{"o.>"}},
		{Name: "MIRROR", Mirror: &nats.StreamSource{Name: "ORIGIN"}},
		{Name: "SOURCED", Sources: []*nats.StreamSource{{Name: "ORIGIN"}}},
	} {
		if _, err := js.AddStream(cfg); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.AddConsumer("ORIGIN", &nats.ConsumerConfig{Durable: "C", AckPolicy: nats.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	type consumer struct {
		Name   string
		Config *struct{ Direct bool }
	}
	type detail struct {
		Name    string
		Cluster struct{ Leader string }
		Config  *struct{ Name string }
		Mirror  *struct {
			Name string
			Lag  *int
		}
		Sources   []struct{ Name string }
		Consumers []consumer `json:"consumer_detail"`
		Direct    []consumer `json:"direct_consumer_detail"`
	}
	read := func(query string) (streams map[string]detail) {
		t.Helper()
		var z struct {
			Accounts []struct {
				Streams []detail `json:"stream_detail"`
			} `json:"account_details"`
		}
		s.Monitor(t, "/jsz?"+query, &z)
		streams = make(map[string]detail)
		for _, a := range z.Accounts {
			for _, d := range a.Streams {
				streams[d.Name] = d
			}
		}
		return streams
	}
	harness.Eventually(t, func() error { // copies begin a moment after their streams were made
		d := read("consumers=1&direct-consumers=1&config=1")
		o, m, c := d["ORIGIN"], d["MIRROR"], d["SOURCED"]
		switch {
		case len(d) != 3 || o.Cluster.Leader != "here" || m.Cluster.Leader != "here":
			return fmt.Errorf("%+v", d)
		case o.Mirror != nil || o.Sources != nil || len(o.Consumers) != 1:
			return fmt.Errorf("the origin: %+v", o)
		case m.Mirror == nil || m.Mirror.Name != "ORIGIN" || m.Mirror.Lag == nil:
			return fmt.Errorf("the mirror: %+v", m)
		case len(c.Sources) != 1 || c.Sources[0].Name != "ORIGIN":
			return fmt.Errorf("the stream with a source: %+v", c)
		case o.Config == nil || o.Config.Name != "ORIGIN":
			return fmt.Errorf("the configuration: %+v", o)
		case len(o.Direct) != 2:
			return fmt.Errorf("%d consumers of copies", len(o.Direct))
		}
		for _, c := range o.Direct {
			if c.Config == nil || !c.Config.Direct {
				return fmt.Errorf("a consumer of a copy: %+v", c)
			}
		}
		return nil
	})
	o := read("consumers=1")["ORIGIN"]
	if len(o.Consumers) != 1 || o.Consumers[0].Name != "C" || o.Consumers[0].Config != nil || o.Direct != nil || o.Config != nil {
		t.Errorf("with consumers alone: %+v", o)
	}
	if o := read("streams=1&direct-consumers=1")["ORIGIN"]; o.Consumers != nil || o.Direct != nil {
		t.Errorf("without consumers: %+v", o)
	}
	if d := read("acc=nobody&streams=1"); len(d) != 0 {
		t.Errorf("of an unknown account: %+v", d)
	}
	if d := read("acc=nobody&streams=1&accounts=1"); len(d) != 3 {
		t.Errorf("with all accounts: %+v", d)
	}
}

// What every account has of the system account is shown, and so is traffic with other servers though there is none.
func TestAccountDetailsInMonitoring(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: `
accounts {
  A { jetstream: enabled, users: [{user: a, password: p}] }
  SYS { users: [{user: s, password: p}] }
}
system_account: SYS`})
	nc := s.Connect(t, as("a"))
	subscribe(t, nc, "x")
	type exchange struct{ Subject, Account, To, Type string }
	account := func(name string) (imports, exports map[string]string) {
		var z struct {
			Detail struct{ Imports, Exports []exchange } `json:"account_detail"`
		}
		s.Monitor(t, "/accountz?acc="+name, &z)
		imports, exports = make(map[string]string), make(map[string]string)
		for _, i := range z.Detail.Imports {
			imports[i.To] = i.Type + " " + i.Account + " " + i.Subject
		}
		for _, e := range z.Detail.Exports {
			exports[e.Subject] = e.Type
		}
		return imports, exports
	}
	imports, exports := account("A")
	for to, want := range map[string]string{
		"$SYS.REQ.ACCOUNT.PING.CONNZ": "service SYS $SYS.REQ.ACCOUNT.A.CONNZ",
		"$SYS.REQ.SERVER.PING.CONNZ":  "service SYS $SYS.REQ.ACCOUNT.A.CONNZ",
		"$SYS.REQ.ACCOUNT.PING.STATZ": "service SYS $SYS.REQ.ACCOUNT.A.STATZ",
		"$SYS.REQ.USER.INFO":          "service SYS $SYS.REQ.USER.A.INFO",
		"$JS.API.>":                   "service SYS $JS.API.>",
	} {
		if imports[to] != want {
			t.Errorf("import to %s: %q, want %q", to, imports[to], want)
		}
	}
	if len(exports) != 0 {
		t.Errorf("A exports %v", exports)
	}
	imports, exports = account("SYS")
	for _, subject := range []string{"$SYS.REQ.USER.*.INFO", "$SYS.REQ.ACCOUNT.*.CONNZ", "$SYS.REQ.ACCOUNT.*.STATZ", "$SYS.DEBUG.SUBSCRIBERS", "$JS.API.>"} {
		if exports[subject] != "service" {
			t.Errorf("the system account does not export %s", subject)
		}
	}
	if imports["$SYS.REQ.USER.INFO"] != "service SYS $SYS.REQ.USER.SYS.INFO" || len(imports) != 1 {
		t.Errorf("the system account imports %v", imports)
	}
	type traffic struct{ Gateways, Routes, Leafs *struct{ Msgs, Bytes int } }
	var z struct {
		Accounts []struct {
			Acc            string
			Sent, Received traffic
		} `json:"account_statz"`
	}
	s.Monitor(t, "/accstatz", &z)
	if len(z.Accounts) != 1 || z.Accounts[0].Acc != "A" {
		t.Fatalf("%+v", z)
	}
	for _, tr := range []traffic{z.Accounts[0].Sent, z.Accounts[0].Received} {
		if tr.Gateways == nil || tr.Routes == nil || tr.Leafs == nil {
			t.Errorf("%+v", tr)
		}
	}
	nc.Close()
	harness.Eventually(t, func() error {
		var closed struct {
			Connections []struct {
				Subs []struct {
					Account, Subject string
					Tag              string `json:"account_tag"`
				} `json:"subscriptions_list_detail"`
			}
		}
		s.Monitor(t, "/connz?state=closed&acc=A&subs=detail", &closed)
		if len(closed.Connections) == 0 {
			return errors.New("the connection is not closed")
		}
		if subs := closed.Connections[0].Subs; len(subs) != 1 || subs[0].Subject != "x" || subs[0].Account != "A" || subs[0].Tag != "A" {
			t.Errorf("%+v", closed)
		}
		return nil
	})
}
