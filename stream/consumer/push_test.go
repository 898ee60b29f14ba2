package consumer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

func pushConfig() jsapi.ConsumerConfig {
	return jsapi.ConsumerConfig{AckPolicy: jsapi.AckNone, DeliverSubject: "d", Heartbeat: time.Second, FlowControl: true}
}

func TestPushDeliversWhileSomebodyListens(t *testing.T) {
	r := newRig(pushConfig())
	r.publish("s.a", "s.b")
	r.start()
	r.out.deaf["d"] = true
	if got := r.pass(0); len(got) > 0 {
		t.Fatalf("sent %+v to nobody", got)
	}
	if r.c.Bound() {
		t.Fatal("bound to nobody")
	}
	if due := r.c.NextDue(r.now); due != r.now+interestMin {
		t.Fatalf("looks again in %v", time.Duration(due-r.now))
	}
	delete(r.out.deaf, "d")
	got := r.pass(time.Duration(interestEvery))
	if s := seqs(got); !slices.Equal(s, []uint64{1, 2}) {
		t.Fatalf("delivered %v", s)
	}
	if got[0].to != "d" || got[0].subject != "s.a" {
		t.Fatalf("got %+v", got[0])
	}
}

func TestPushHeartbeats(t *testing.T) {
	r := newRig(pushConfig())
	r.publish("s.a")
	r.start()
	r.pass(0)
	if got := r.pass(999 * time.Millisecond); len(got) > 0 {
		t.Fatalf("early: %+v", got)
	}
	want := []string{"NATS/1.0 100 Idle Heartbeat|Nats-Last-Consumer: 1|Nats-Last-Stream: 1"}
	if got := statuses(r.pass(time.Millisecond)); !slices.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
	r.out.deaf["d"] = true
	r.pass(time.Second)
	if r.c.push.active {
		t.Fatal("a heartbeat that nobody got did not tell")
	}
}

func TestPushFlowControl(t *testing.T) {
	r := newRig(pushConfig())
	r.start()
	r.pass(0)
	r.c.push.window = 200 // two messages and a bit
	r.publish(numbered("s.", 20)...)
	got := r.pass(0)
	n := len(seqs(got))
	if n >= 20 || n < 2 {
		t.Fatalf("%d delivered within the window", n)
	}
	ask := ""
	for _, m := range got {
		if strings.Contains(m.header, "100 FlowControl Request") {
			ask = m.payload // the reply subject
		}
	}
	if !strings.HasPrefix(ask, "$JS.FC.S.C.") {
		t.Fatalf("asked %q", ask)
	}
	if got := r.pass(0); len(got) > 0 {
		t.Fatalf("sent beyond the window: %+v", got)
	}
	if got := statuses(r.pass(time.Second)); len(got) != 1 || !strings.Contains(got[0], "Nats-Consumer-Stalled: "+ask) {
		t.Fatalf("heartbeat %q", got)
	}
	r.c.FlowReply([]byte("$JS.FC.S.C.other"), 0, r.now)
	if len(r.c.push.ask) == 0 {
		t.Fatal("an answer to something else counted")
	}
	r.c.FlowReply([]byte(ask), 0, r.now)
	if r.c.push.window != 400 {
		t.Fatalf("window is %d", r.c.push.window)
	}
	if len(seqs(r.pass(0))) == 0 {
		t.Fatal("nothing sent after the answer")
	}
}

func TestPushEphemeralEndsWithoutInterest(t *testing.T) {
	cfg := pushConfig()
	cfg.Name = "E"
	r := newRig(cfg)
	r.start()
	r.pass(time.Minute)
	if r.c.Inactive(r.now) {
		t.Fatal("inactive while somebody listens")
	}
	r.out.deaf["d"] = true
	r.pass(time.Second)
	if r.c.Inactive(r.now) {
		t.Fatal("inactive at once")
	}
	r.pass(5 * time.Second)
	if !r.c.Inactive(r.now) {
		t.Fatal("still active")
	}
}

func TestPushRedelivers(t *testing.T) {
	cfg := jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, DeliverSubject: "d", AckWait: time.Second}
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	r.pass(0)
	if got := seqs(r.pass(time.Second)); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("delivered %v", got)
	}
	var b PullBatch
	b.Add([]byte("inbox"), nil, false)
	r.c.ApplyPulls(&b, r.now)
	if got := statuses(r.out.take()); !slices.Equal(got, []string{"NATS/1.0 409 Consumer is push based"}) {
		t.Fatalf("a pull got %q", got)
	}
}
