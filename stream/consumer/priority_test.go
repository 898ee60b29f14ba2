package consumer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

func prioritized(p jsapi.PriorityPolicy) jsapi.ConsumerConfig {
	cfg := explicit()
	cfg.PriorityPolicy, cfg.PriorityGroups, cfg.AckWait = p, []string{"A"}, time.Hour
	return cfg
}

// ask makes a request with an inbox of its own and returns what is sent.
func (r *rig) ask(inbox, body string) []sent {
	var b PullBatch
	b.Add([]byte(inbox), []byte(body), false)
	r.c.ApplyPulls(&b, r.now)
	for r.c.Deliver(r.now) {
	}
	return r.out.take()
}

// to tells where messages went, in order.
func to(list []sent) (inboxes []string) {
	for _, m := range list {
		if m.seq > 0 {
			inboxes = append(inboxes, m.to)
		}
	}
	return inboxes
}

func TestPriorityRefusals(t *testing.T) {
	tests := []struct {
		policy     jsapi.PriorityPolicy
		body, want string
	}{
		{jsapi.PriorityNone, `{"min_pending":1}`, "400 Bad Request - Not a Overflow Priority consumer"},
		{jsapi.PriorityPinnedClient, `{"min_ack_pending":1,"group":"A"}`, "400 Bad Request - Not a Overflow Priority consumer"},
		{jsapi.PriorityNone, `{"id":"x"}`, "400 Bad Request - Not a Pinned Client Priority consumer"},
		{jsapi.PriorityOverflow, `{"id":"x","group":"A"}`, "400 Bad Request - Not a Pinned Client Priority consumer"},
		{jsapi.PriorityPrioritized, `{"priority":10,"group":"A"}`, "400 Bad Request - Priority must be between 0 and 9"},
		{jsapi.PriorityOverflow, `{"batch":1}`, "400 Bad Request - Priority Group missing"},
		{jsapi.PriorityOverflow, `{"group":"B"}`, "400 Bad Request - Invalid Priority Group"},
		{jsapi.PriorityOverflow, `{"group":"A","no_wait":true,"min_pending":5}`, "404 No Messages"},
		{jsapi.PriorityNone, `{"group":"B","no_wait":true}`, "404 No Messages"},
	}
	for _, tt := range tests {
		cfg := prioritized(tt.policy)
		if tt.policy == jsapi.PriorityNone {
			cfg.PriorityGroups = nil
		}
		r := newRig(cfg)
		r.start()
		if got := r.pull(tt.body); len(got) != 1 || !strings.HasPrefix(got[0].header, "NATS/1.0 "+tt.want+"\r\n") {
			t.Errorf("%v %s: %+v", tt.policy, tt.body, got)
		}
	}
}

func TestOverflow(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityOverflow))
	r.start()
	r.ask("over", `{"group":"A","batch":10,"min_pending":3,"expires":60000000000}`)
	r.ask("acks", `{"group":"A","batch":10,"min_ack_pending":4,"expires":60000000000}`)
	r.publish("s.a", "s.b")
	if got := r.pass(0); len(got) > 0 {
		t.Fatalf("sent %+v", got)
	}
	if got := to(r.ask("main", `{"group":"A","batch":1}`)); !slices.Equal(got, []string{"main"}) {
		t.Fatalf("went to %v", got)
	}
	r.publish("s.c", "s.d") // 3 pending: one goes to the overflow
	if got := to(r.pass(0)); !slices.Equal(got, []string{"over"}) {
		t.Fatalf("went to %v", got)
	}
	if got := to(r.ask("main", `2`)); !slices.Equal(got, []string{"main", "main"}) {
		t.Fatalf("went to %v", got)
	}
	r.publish("s.e") // 4 acks pending
	if got := to(r.pass(0)); !slices.Equal(got, []string{"acks"}) {
		t.Fatalf("went to %v", got)
	}
	if got := r.ask("now", `{"group":"A","no_wait":true,"min_pending":9}`); len(got) != 1 || !strings.Contains(got[0].header, "404") {
		t.Fatalf("got %+v", got)
	}
}

func TestPrioritized(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityPrioritized))
	r.start()
	for _, q := range []struct{ inbox, body string }{
		{"c", `{"group":"A","priority":2,"batch":2}`},
		{"a1", `{"group":"A","batch":2}`},
		{"b", `{"group":"A","priority":1,"batch":1}`},
		{"a2", `{"group":"A","batch":2}`},
		{"plain", `1`},
	} {
		r.ask(q.inbox, q.body)
	}
	r.publish(numbered("s.", 8)...)
	if got, want := to(r.pass(0)), []string{"a1", "a2", "plain", "a1", "a2", "b", "c", "c"}; !slices.Equal(got, want) {
		t.Fatalf("went to %v, want %v", got, want)
	}
}

func TestPolicyChangeSorts(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityOverflow))
	r.start()
	r.ask("b", `{"group":"A","priority":1}`)
	r.ask("a", `{"group":"A"}`)
	cfg := *r.c.cfg
	cfg.PriorityPolicy = jsapi.PriorityPrioritized
	r.c.Update(&cfg)
	r.publish("s.a", "s.b")
	if got := to(r.pass(0)); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("went to %v", got)
	}
}

func TestPinnedClient(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityPinnedClient))
	r.start()
	const long = `{"group":"A","batch":2,"expires":600000000000}`
	r.ask("plain", "5")
	r.ask("one", long)
	r.ask("two", long)
	r.publish("s.a", "s.b", "s.c")
	got := r.pass(0)
	if !slices.Equal(to(got), []string{"one", "one"}) {
		t.Fatalf("went to %v", to(got))
	}
	id := r.c.pin.id
	if len(id) != 22 || got[0].header != "NATS/1.0\r\nNats-Pin-Id: "+id+"\r\n\r\n" {
		t.Fatalf("id %q, header %q", id, got[0].header)
	}
	g := r.c.Info(r.now).PriorityGroups
	if len(g) != 1 || g[0].Group != "A" || g[0].PinnedClientID != id || g[0].PinnedTime.UnixNano() != r.now {
		t.Fatalf("info %+v", g)
	}
	if got := r.ask("old", `{"group":"A","id":"other"}`); len(got) != 1 || got[0].header != "NATS/1.0 423 Nats-Pin-Id mismatch\r\n\r\n" {
		t.Fatalf("got %+v", got)
	}
	mine := `{"group":"A","batch":1,"expires":600000000000,"id":"` + id + `"}`
	if got := to(r.ask("one", mine)); !slices.Equal(got, []string{"one"}) {
		t.Fatalf("went to %v", got)
	}
	// The pin lasts two minutes from the last request of the client.
	r.pass(time.Minute)
	r.ask("one", mine)
	r.pass(2*time.Minute - 1)
	if r.c.pin.id != id {
		t.Fatal("unpinned early")
	}
	if due := r.c.NextDue(r.now); due != r.now+1 {
		t.Fatalf("due in %v", time.Duration(due-r.now))
	}
	r.publish("s.d")
	r.pass(0)
	r.publish("s.e")
	if got := r.pass(1); !slices.Equal(to(got), []string{"two"}) {
		t.Fatalf("sent %+v", got)
	}
	if want := []string{"pinned in A", "unpinned in A: timeout", "pinned in A"}; !slices.Equal(r.events.list, want) {
		t.Fatalf("events %q", r.events.list)
	}
}

func TestUnpin(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityPinnedClient))
	r.start()
	r.publish("s.a")
	const long = `{"group":"A","batch":9,"expires":600000000000}`
	r.ask("one", long)
	r.ask("two", long)
	if err := r.c.Unpin("B"); err == nil || err.Code != jsapi.ErrConsumerInvalidPriorityGroup {
		t.Fatalf("got %v", err)
	}
	if err := r.c.Unpin("A"); err != nil {
		t.Fatal(err)
	}
	r.publish("s.b")
	got := r.pass(0)
	if s := statuses(got); len(s) != 1 || s[0] != "NATS/1.0 423 Nats-Wrong-Pin-Id|Nats-Pending-Messages: 8|Nats-Pending-Bytes: 0" {
		t.Fatalf("statuses %q", s)
	}
	if !slices.Equal(to(got), []string{"two"}) {
		t.Fatalf("went to %v", to(got))
	}
	if err := r.c.Unpin("A"); err != nil {
		t.Fatal(err)
	}
	if err := r.c.Unpin("A"); err != nil { // nobody is: no event
		t.Fatal(err)
	}
	want := []string{"pinned in A", "unpinned in A: admin", "pinned in A", "unpinned in A: admin"}
	if !slices.Equal(r.events.list, want) {
		t.Fatalf("events %q", r.events.list)
	}
}

func TestPinPassesOverTheGone(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityPinnedClient))
	r.start()
	r.ask("gone", `{"group":"A"}`)
	r.ask("late", `{"group":"A","expires":1000000}`)
	r.ask("here", `{"group":"A"}`)
	r.out.deaf["gone"] = true
	r.now += int64(time.Millisecond)
	r.publish("s.a")
	for r.c.Deliver(r.now) {
	}
	if got := to(r.out.take()); !slices.Equal(got, []string{"here"}) {
		t.Fatalf("went to %v", got)
	}
}

func TestPinSurvivesRestart(t *testing.T) {
	r := newRig(prioritized(jsapi.PriorityPinnedClient))
	r.start()
	r.publish("s.a")
	r.ask("one", `{"group":"A"}`)
	pin := r.c.pin
	records := [][]byte{r.c.AppendProgress(nil)}
	r.restart(records)
	if got := r.c.pin; got.id != pin.id || got.group != "A" || got.at != pin.at {
		t.Fatalf("%+v, was %+v", got, pin)
	}
	if err := r.c.Unpin("A"); err != nil || !r.c.Dirty() {
		t.Fatalf("%v, dirty %v", err, r.c.Dirty())
	}
	r.restart(append(records, r.c.AppendProgress(nil)))
	if r.c.pin.id != "" {
		t.Fatal("still pinned")
	}
}

func TestInfoCountsRequestsThatSomebodyWaitsFor(t *testing.T) {
	r := newRig(explicit())
	r.start()
	r.ask("here", "5")
	r.ask("gone", "5")
	r.out.deaf["gone"] = true
	if n := r.c.Info(r.now).NumWaiting; n != 1 {
		t.Fatalf("%d waiting", n)
	}
	r.publish("s.a", "s.b")
	if got := to(r.pass(0)); !slices.Equal(got, []string{"here", "here"}) {
		t.Fatalf("went to %v", got)
	}
}
