package server

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"godwit/server/options"
)

// Accounts and users by JWT have the quotas that the configuration gives to all, each a bucket of its own; the system account has none.
func TestQuotasInOperatorMode(t *testing.T) {
	f := newFederation(t, func(*federation) {}, func(o *options.Options) {
		o.Quotas = options.Quotas{Account: &options.Quota{Messages: 1, Burst: 30 * time.Second}, User: &options.Quota{Messages: 1, Burst: 20 * time.Second}}
	})
	flood := func(account string) int {
		watch := f.login(account)
		sub := subscribeTo(t, watch, "x")
		nc := f.login(account)
		for range 100 {
			if err := nc.Publish("x", nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []*nats.Conn{nc, watch} {
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		n, _, _ := sub.Pending()
		return n
	}
	between := func(what string, n, least, most int) {
		if n < least || n > most {
			t.Errorf("%s: %d messages, want %d to %d", what, n, least, most)
		}
	}
	between("a user", flood("A"), 20, 25)
	between("another one of the same account", flood("A"), 10, 20)
	between("one of another account", flood("B"), 20, 25)
	between("one of the system account", flood("SYS"), 100, 100)
}

// The claims of an account say where its messages with a trace context are told of, from when they are pushed.
func TestTraceContextInOperatorMode(t *testing.T) {
	f := newFederation(t, func(*federation) {})
	nc := f.login("A")
	told, x := subscribeTo(t, nc, "told"), subscribeTo(t, nc, "x")
	publish := func() {
		t.Helper()
		m := &nats.Msg{Subject: "x", Header: nats.Header{"traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}}
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		if _, err := x.NextMsg(10 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	f.accounts["A"].Trace = &jwt.MsgTrace{Destination: "told", Sampling: 100}
	f.push("A")
	if n, _, _ := told.Pending(); n != 0 {
		t.Error("a message was traced before")
	}
	publish()
	m, err := told.NextMsg(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		Events []struct{ Type, Acc, Subj string }
	}
	if err := json.Unmarshal(m.Data, &trace); err != nil || len(trace.Events) != 2 || trace.Events[0].Acc != f.accounts["A"].Subject || trace.Events[1].Type != "eg" {
		t.Errorf("%v in %s", err, m.Data)
	}
	f.accounts["A"].Trace = nil
	f.push("A")
	publish()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := told.Pending(); n != 0 {
		t.Error("a message was traced afterwards")
	}
}
