package compat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// Subscriptions that come of imports are shown in the account that they take from.
func TestImportsAreShownAsSubscriptions(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b := s.Connect(t, as("a")), s.Connect(t, as("b"))
	subscribe(t, a, "own")
	subscribe(t, b, "from.a.events.x.*")
	subscribe(t, b, "renamed.>")
	if _, err := b.QueueSubscribeSync("from.>", "q"); err != nil {
		t.Fatal(err)
	}
	subscribe(t, b, "events.x") // no subject of any import
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	type shown struct{ Account, Subject, Qgroup string }
	list := func(t *testing.T, query string) []shown {
		t.Helper()
		var z struct {
			Total int
			Count int     `json:"num_subscriptions"`
			List  []shown `json:"subscriptions_list"`
		}
		s.Monitor(t, "/subsz?subs=1&acc="+query, &z)
		if z.Total != len(z.List) || query == "A" && z.Count != z.Total {
			t.Errorf("%d subscriptions in a list of %d, of %d", z.Total, len(z.List), z.Count)
		}
		list := slices.DeleteFunc(z.List, func(x shown) bool { return x.Subject[0] == '$' || x.Subject[0] == '_' })
		slices.SortFunc(list, func(x, y shown) int {
			return cmp.Or(cmp.Compare(x.Account, y.Account), cmp.Compare(x.Subject, y.Subject), cmp.Compare(x.Qgroup, y.Qgroup))
		})
		return list
	}
	for _, tt := range []struct {
		query string
		want  []shown
	}{
		{"A", []shown{{"A", "own", ""}, {"B", "events.*", ""}, {"B", "events.>", "q"}, {"B", "events.x.*", ""}}},
		{"A&test=events.y", []shown{{"B", "events.*", ""}, {"B", "events.>", "q"}}},
		{"A&test=renamed.y", nil},
		{"B&test=renamed.y", []shown{{"B", "renamed.>", ""}}},
		{"B&test=ask.2.1", []shown{{"B", "ask.*.*", ""}}},
		{"B&test=shortcut", nil},
	} {
		if got := list(t, tt.query); !slices.Equal(got, tt.want) {
			t.Errorf("%s: shown are %v, want %v", tt.query, got, tt.want)
		}
	}
	if got := list(t, "C"); !slices.Equal(got, []shown{{"C", "chain.>", ""}}) {
		t.Errorf("C: shown are %v", got)
	}
}

// A request that nobody serves is measured, as one that is answered is.
func TestUnansweredServiceIsMeasured(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b := s.Connect(t, as("a")), s.Connect(t, as("b"))
	measured := subscribe(t, a, "measured")
	for _, tt := range []struct {
		reply, want string
	}{{"somewhere", "503 Service Unavailable"}, {"", "400 Bad Request"}} {
		if err := b.PublishMsg(&nats.Msg{Subject: "timed", Reply: tt.reply}); err != nil {
			t.Fatal(err)
		}
		var m struct {
			Type, Description string
			Status            int
			Requestor         struct{ Acc string }
			Total             *int
		}
		if err := json.Unmarshal(next(t, measured).Data, &m); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d %s", m.Status, m.Description)
		if m.Type != "io.nats.server.metric.v1.service_latency" || got != tt.want || m.Requestor.Acc != "B" || m.Total == nil || *m.Total != 0 {
			t.Errorf("with reply %q: %+v", tt.reply, m)
		}
	}
}

// A requester that stops listening for the response is told of as well.
func TestRequesterThatLeavesIsMeasured(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: accountsConfig})
	a, b := s.Connect(t, as("a")), s.Connect(t, as("b"))
	measured, requests := subscribe(t, a, "measured"), subscribe(t, a, "timed")
	for _, leave := range []func(sub *nats.Subscription){
		func(sub *nats.Subscription) {
			if err := sub.Unsubscribe(); err != nil {
				t.Error(err)
			}
		},
		func(*nats.Subscription) { b.Close() },
	} {
		answers := subscribe(t, b, "answers.*")
		if err := b.PublishRequest("timed", "answers.1", nil); err != nil {
			t.Fatal(err)
		}
		next(t, requests)
		leave(answers)
		var m struct {
			Status      int
			Description string
		}
		if err := json.Unmarshal(next(t, measured).Data, &m); err != nil || m.Status != 408 || m.Description != "Request Timeout" {
			t.Errorf("%v, %+v", err, m)
		}
	}
}
