package consumer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

func seqs(list []sent) (out []uint64) {
	for _, s := range list {
		if s.seq > 0 {
			out = append(out, s.seq)
		}
	}
	return out
}

func statuses(list []sent) (out []string) {
	for _, s := range list {
		if s.seq == 0 {
			out = append(out, strings.ReplaceAll(strings.TrimSpace(s.header), "\r\n", "|"))
		}
	}
	return out
}

func explicit() jsapi.ConsumerConfig { return jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit} }

func numbered(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}

func TestPullStatuses(t *testing.T) {
	cfg := explicit()
	cfg.MaxRequestBatch, cfg.MaxRequestExpires, cfg.MaxRequestBytes, cfg.MaxWaiting = 50, 5*time.Second, 1000, 3
	tests := []struct {
		name, body string
		stored     int
		want       []string
		delivered  int
		pass       time.Duration
		late       []string
	}{
		{"no wait, nothing", `{"no_wait":true}`, 0, []string{"NATS/1.0 404 No Messages"}, 0, 0, nil},
		{"no wait, part of a batch", `{"no_wait":true,"batch":5}`, 2, []string{"NATS/1.0 404 No Messages"}, 2, 0, nil},
		{"no wait with expiry ends after what was there", `{"no_wait":true,"batch":5,"expires":1000000000}`, 2,
			[]string{"NATS/1.0 404 No Messages"}, 2, 0, nil},
		{"no wait with expiry waits", `{"no_wait":true,"batch":5,"expires":1000000000}`, 0, nil, 0, time.Second,
			[]string{"NATS/1.0 408 Request Timeout|Nats-Pending-Messages: 5|Nats-Pending-Bytes: 0"}},
		{"expires", `{"batch":5,"expires":1000000000,"max_bytes":500}`, 0, nil, 0, time.Second,
			[]string{"NATS/1.0 408 Request Timeout|Nats-Pending-Messages: 5|Nats-Pending-Bytes: 500"}},
		{"expires at once", `{"batch":5,"expires":-5}`, 1,
			[]string{"NATS/1.0 408 Request Timeout|Nats-Pending-Messages: 5|Nats-Pending-Bytes: 0"}, 0, 0, nil},
		{"plain batch has no end", `2`, 3, nil, 2, time.Hour, nil},
		{"nothing is one", ``, 3, nil, 1, time.Hour, nil},
		{"text is one", `abc`, 3, nil, 1, time.Hour, nil},
		{"negative is one", `-3`, 3, nil, 1, time.Hour, nil},
		{"zero is one", `{"batch":0}`, 3, nil, 1, time.Hour, nil},
		{"batch with budget", `{"batch":2,"max_bytes":500}`, 3,
			[]string{"NATS/1.0 409 Batch Completed|Nats-Pending-Messages: 0|Nats-Pending-Bytes: 442"}, 2, 0, nil},
		{"too large", `{"batch":2,"max_bytes":10}`, 3,
			[]string{"NATS/1.0 409 Message Size Exceeds MaxBytes|Nats-Pending-Messages: 2|Nats-Pending-Bytes: 10"}, 0, 0, nil},
		{"max batch", `{"batch":51}`, 3, []string{"NATS/1.0 409 Exceeded MaxRequestBatch of 50"}, 0, 0, nil},
		{"max expires", `{"batch":1,"expires":6000000000}`, 3, []string{"NATS/1.0 409 Exceeded MaxRequestExpires of 5s"}, 0, 0, nil},
		{"max bytes", `{"batch":1,"max_bytes":1001}`, 3, []string{"NATS/1.0 409 Exceeded MaxRequestMaxBytes of 1000"}, 0, 0, nil},
		{"heartbeat without expiry", `{"idle_heartbeat":1000}`, 3, []string{"NATS/1.0 400 Bad Request - heartbeat value too large"}, 0, 0, nil},
		{"heartbeat that overflows", `{"idle_heartbeat":9223372036854775807,"expires":1000}`, 3,
			[]string{"NATS/1.0 400 Bad Request - heartbeat value too large"}, 0, 0, nil},
		{"bad JSON", `{"batch":`, 3, []string{"NATS/1.0 400 Bad Request - unexpected end of JSON input"}, 0, 0, nil},
		{"overflow field", `{"min_pending":1}`, 3, []string{"NATS/1.0 400 Bad Request - Not a Overflow Priority consumer"}, 0, 0, nil},
		{"pin field", `{"id":"x"}`, 3, []string{"NATS/1.0 400 Bad Request - Not a Pinned Client Priority consumer"}, 0, 0, nil},
		{"priority", `{"priority":10}`, 3, []string{"NATS/1.0 400 Bad Request - Priority must be between 0 and 9"}, 0, 0, nil},
		{"unknown field", `{"foo":10,"batch":2}`, 3, nil, 2, 0, nil},
		{"heartbeats", `{"batch":1,"idle_heartbeat":400000000,"expires":1000000000}`, 0, nil, 0, 400 * time.Millisecond,
			[]string{"NATS/1.0 100 Idle Heartbeat|Nats-Last-Consumer: 0|Nats-Last-Stream: 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(cfg)
			r.publish(numbered("s.", tt.stored)...)
			r.start()
			got := r.pull(tt.body)
			if s := statuses(got); !slices.Equal(s, tt.want) {
				t.Errorf("statuses %q, want %q", s, tt.want)
			}
			if n := len(seqs(got)); n != tt.delivered {
				t.Errorf("%d delivered, want %d", n, tt.delivered)
			}
			if s := statuses(r.pass(tt.pass)); !slices.Equal(s, tt.late) {
				t.Errorf("later %q, want %q", s, tt.late)
			}
		})
	}
}

func TestMaxWaiting(t *testing.T) {
	cfg := explicit()
	cfg.MaxWaiting = 2
	r := newRig(cfg)
	r.start()
	r.pull("1")
	r.pull("1")
	if s := statuses(r.pull("1")); !slices.Equal(s, []string{"NATS/1.0 409 Exceeded MaxWaiting"}) {
		t.Fatalf("got %q", s)
	}
	if s := r.pull(`{"idle_heartbeat":1000000000,"expires":5000000000}`); len(s) > 0 {
		t.Fatalf("a request with heartbeats is dropped silently, got %+v", s)
	}
	r.out.deaf["inbox"] = true // requests of clients that left make room
	r.pull("1")
	if r.c.wait.n != 1 {
		t.Fatalf("%d requests wait", r.c.wait.n)
	}
}

func TestNoWaitWhenOthersWantIt(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending = 1
	r := newRig(cfg)
	r.publish("s.a", "s.b")
	r.start()
	r.pull("5") // one delivered, held up by max_ack_pending
	if s := statuses(r.pull(`{"no_wait":true}`)); !slices.Equal(s, []string{"NATS/1.0 408 Requests Pending"}) {
		t.Fatalf("got %q", s)
	}
}

func TestRequestsAreServedInTurn(t *testing.T) {
	r := newRig(explicit())
	r.start()
	var b PullBatch
	for i := range 3 {
		b.Add(fmt.Appendf(nil, "inbox%d", i), []byte("2"), false)
	}
	r.c.ApplyPulls(&b, r.now)
	r.publish(numbered("s.", 6)...)
	r.c.Deliver(r.now)
	var to []string
	for _, m := range r.out.take() {
		to = append(to, m.to)
	}
	want := []string{"inbox0", "inbox1", "inbox2", "inbox0", "inbox1", "inbox2"}
	if !slices.Equal(to, want) {
		t.Fatalf("went to %v", to)
	}
}

func TestRedelivery(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	r := newRig(cfg)
	r.publish(numbered("s.", 5)...)
	r.start()
	first := r.pull("4")
	if got := seqs(first); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Fatalf("delivered %v", got)
	}
	r.answer(first[3], "-NAK", "")
	r.answer(first[1], "+ACK", "")
	r.answer(first[2], "+WPI", "")
	r.pass(600 * time.Millisecond)
	r.answer(first[2], "+WPI", "")
	r.pass(500 * time.Millisecond)
	got := r.pull("10")
	// 1 has expired, 4 was refused: before anything new, in stream order; 3 is still being worked on
	if s := seqs(got); !slices.Equal(s, []uint64{1, 4, 5}) {
		t.Fatalf("delivered %v", s)
	}
	if got[0].deliveries != 2 || got[0].cseq != 5 || got[1].deliveries != 2 || got[2].deliveries != 1 {
		t.Fatalf("deliveries %+v", got)
	}
	info := r.c.Info(r.now)
	if info.NumRedelivered != 2 || info.NumAckPending != 4 || info.AckFloor.Stream != 0 {
		t.Fatalf("info %+v", info)
	}
	r.answer(first[0], "", "") // an acknowledgement of the first delivery counts
	if info := r.c.Info(r.now); info.AckFloor.Stream != 2 || info.AckFloor.Consumer != 2 {
		t.Fatalf("floor %+v", info.AckFloor)
	}
}

func TestNakDelay(t *testing.T) {
	for _, payload := range []string{`-NAK {"delay":2000000000}`, "-NAK 2s"} {
		r := newRig(explicit())
		r.publish("s.a")
		r.start()
		m := r.pull("1")[0]
		r.answer(m, payload, "")
		if got := r.pull("1"); len(got) > 0 {
			t.Fatalf("%s: delivered at once: %+v", payload, got)
		}
		if got := seqs(r.pass(1999 * time.Millisecond)); len(got) > 0 {
			t.Fatalf("%s: delivered early", payload)
		}
		if due := r.c.NextDue(r.now); due != r.now+int64(time.Millisecond) {
			t.Fatalf("%s: next due in %v", payload, time.Duration(due-r.now))
		}
		if got := seqs(r.pass(time.Millisecond)); !slices.Equal(got, []uint64{1}) {
			t.Fatalf("%s: delivered %v", payload, got)
		}
	}
}

func TestBackOff(t *testing.T) {
	cfg := explicit()
	cfg.BackOff = []time.Duration{time.Second, 3 * time.Second}
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	r.pull("10")
	for i, d := range []time.Duration{time.Second, 3 * time.Second, 3 * time.Second} {
		if got := seqs(r.pass(d - 1)); len(got) > 0 {
			t.Fatalf("redelivery %d is early", i)
		}
		if got := seqs(r.pass(1)); len(got) != 1 {
			t.Fatalf("redelivery %d is late", i)
		}
	}
}

func TestMaxDeliver(t *testing.T) {
	cfg := explicit()
	cfg.AckWait, cfg.MaxDeliver = time.Second, 2
	r := newRig(cfg)
	r.publish("s.a", "s.b")
	r.start()
	r.answer(r.pull("2")[1], "", "")
	r.pull("5")
	r.pass(time.Second)
	if got := r.pass(time.Second); len(seqs(got)) > 0 {
		t.Fatalf("delivered a third time: %+v", got)
	}
	if want := []string{"exceeded 1 after 2"}; !slices.Equal(r.events.list, want) {
		t.Fatalf("events %q", r.events.list)
	}
	info := r.c.Info(r.now)
	if info.NumAckPending != 0 || info.NumRedelivered != 1 || info.AckFloor.Stream != 0 || info.Delivered.Stream != 2 {
		t.Fatalf("info %+v", info)
	}
	if due := r.c.pend.nextDue(int64(time.Second)); due != never {
		t.Fatal("a parked message has a deadline")
	}
}

func TestMaxDeliverWithNak(t *testing.T) {
	cfg := explicit()
	cfg.MaxDeliver = 1
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	r.answer(r.pull("1")[0], "-NAK", "")
	if want := []string{"naked 1", "exceeded 1 after 1"}; !slices.Equal(r.events.list, want) {
		t.Fatalf("events %q", r.events.list)
	}
	if got := r.pull("1"); len(got) > 0 {
		t.Fatalf("delivered %+v", got)
	}
}

func TestMaxAckPending(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending, cfg.AckWait = 2, time.Second
	r := newRig(cfg)
	r.publish(numbered("s.", 5)...)
	r.start()
	got := r.pull("10")
	if s := seqs(got); !slices.Equal(s, []uint64{1, 2}) {
		t.Fatalf("delivered %v", s)
	}
	r.answer(got[0], "", "")
	if s := seqs(r.pass(0)); !slices.Equal(s, []uint64{3}) {
		t.Fatalf("delivered %v", s)
	}
	// What expires is delivered again though the limit is reached: it counts already.
	if s := seqs(r.pass(time.Second)); !slices.Equal(s, []uint64{2, 3}) {
		t.Fatalf("delivered %v", s)
	}
}

func TestAckAll(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{AckPolicy: jsapi.AckAll})
	r.publish(numbered("s.", 5)...)
	r.start()
	got := r.pull("4")
	r.answer(got[2], "", "")
	info := r.c.Info(r.now)
	if info.NumAckPending != 1 || info.AckFloor.Stream != 3 || info.AckFloor.Consumer != 3 {
		t.Fatalf("info %+v", info)
	}
}

func TestAckNoneFollowsDelivery(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{})
	r.publish(numbered("s.", 5)...)
	r.start()
	r.pull("4")
	info := r.c.Info(r.now)
	if info.NumAckPending != 0 || info.AckFloor.Stream != 4 || info.NumPending != 1 {
		t.Fatalf("info %+v", info)
	}
}

func TestAckReplies(t *testing.T) {
	r := newRig(explicit())
	r.publish("s.a", "s.b")
	r.start()
	m := r.pull("1")[0]
	for _, payload := range []string{"+ACK", "", "+OK", "-NAK", "+WPI", "+TERM why", "nonsense"} {
		r.answer(m, payload, "r."+payload)
	}
	r.answer(sent{seq: 2, cseq: 2}, "", "never delivered")
	var got []string
	r.c.TakeConfirms(func(b []byte) { got = append(got, string(b)) })
	want := []string{"r.+ACK", "r.", "r.+OK", "r.-NAK", "r.+WPI", "r.+TERM why", "r.nonsense"}
	if !slices.Equal(got, want) {
		t.Fatalf("answered %q", got)
	}
	if !slices.Contains(r.events.list, "terminated 1: why") {
		t.Fatalf("events %q", r.events.list)
	}
}

func TestAckNext(t *testing.T) {
	for payload, want := range map[string]int{"+NXT": 1, "+NXT 2": 2, `+NXT {"batch":3}`: 3} {
		r := newRig(explicit())
		r.publish(numbered("s.", 5)...)
		r.start()
		r.answer(r.pull("1")[0], payload, "inbox")
		r.c.Deliver(r.now)
		if got := len(seqs(r.out.take())); got != want || r.c.Info(r.now).AckFloor.Stream != 1 {
			t.Errorf("%s: %d delivered, want %d", payload, got, want)
		}
		if r.c.Confirms() {
			t.Errorf("%s: also answered as an acknowledgement", payload)
		}
	}
}

func TestHeadersOnly(t *testing.T) {
	if got := string(appendSize(nil, nil, 5)); got != "NATS/1.0\r\nNats-Msg-Size: 5\r\n\r\n" {
		t.Errorf("got %q", got)
	}
	if got := string(appendSize(nil, []byte("NATS/1.0\r\nA: b\r\n\r\n"), 5)); got != "NATS/1.0\r\nA: b\r\nNats-Msg-Size: 5\r\n\r\n" {
		t.Errorf("got %q", got)
	}
	cfg := explicit()
	cfg.HeadersOnly = true
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	if m := r.pull("1")[0]; m.payload != "" || !strings.Contains(m.header, "Nats-Msg-Size: 2\r\n") {
		t.Errorf("got %+v", m)
	}
}

func TestLostInterestKeepsTheMessage(t *testing.T) {
	r := newRig(explicit())
	r.start()
	r.pull("5")
	r.out.deaf["inbox"] = true
	r.publish("s.a")
	r.c.Deliver(r.now)
	if r.c.wait.n != 0 || r.c.delivered.Consumer != 0 {
		t.Fatal("delivered to nobody")
	}
	r.out.deaf["inbox"] = false
	if got := seqs(r.pull("1")); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("delivered %v", got)
	}
}

func TestLastPerSubject(t *testing.T) {
	cfg := explicit()
	cfg.DeliverPolicy, cfg.FilterSubject = jsapi.DeliverLastPerSubject, "s.>"
	r := newRig(cfg)
	r.publish("s.a", "s.b", "s.a", "s.c", "s.b")
	r.start()
	if n := r.c.Info(r.now).NumPending; n != 3 {
		t.Fatalf("%d pending", n)
	}
	r.publish("s.d")
	r.remove(4)
	got := r.pull("10")
	if s := seqs(got); !slices.Equal(s, []uint64{3, 5, 6}) {
		t.Fatalf("delivered %v", s)
	}
	for i, want := range []uint64{2, 1, 0} {
		if got[i].pending != want {
			t.Errorf("pending of message %d is %d, want %d", i, got[i].pending, want)
		}
	}
}

func TestRemovedMessages(t *testing.T) {
	r := newRig(explicit())
	r.publish(numbered("s.", 6)...)
	r.start()
	r.pull("3")
	r.remove(2)
	r.remove(5)
	r.remove(1)
	info := r.c.Info(r.now)
	if info.NumAckPending != 1 || info.AckFloor.Stream != 2 || info.NumPending != 2 {
		t.Fatalf("info %+v", info)
	}
	if !slices.Contains(r.events.list, "terminated 2: removed") {
		t.Fatalf("events %q", r.events.list)
	}
	if got := seqs(r.pull("5")); !slices.Equal(got, []uint64{4, 6}) {
		t.Fatalf("delivered %v", got)
	}
}

func TestPause(t *testing.T) {
	cfg := explicit()
	until := time.Unix(0, int64(time.Minute))
	cfg.PauseUntil = &until
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	if got := r.pull("1"); len(got) > 0 {
		t.Fatalf("delivered %+v", got)
	}
	if s := statuses(r.pull(`{"no_wait":true,"expires":0,"batch":5}`)); len(s) != 1 {
		t.Fatalf("got %q", s)
	}
	if info := r.c.Info(r.now); !info.Paused {
		t.Fatal("info does not say so")
	}
	if due := r.c.NextDue(r.now); due != until.UnixNano() {
		t.Fatalf("due at %d", due)
	}
	if got := seqs(r.pass(time.Minute)); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("delivered %v", got)
	}
}

func TestInactive(t *testing.T) {
	cfg := explicit()
	cfg.Name, cfg.AckWait = "E", time.Minute
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	check := func(d time.Duration, want bool) {
		t.Helper()
		r.pass(d)
		if got := r.c.Inactive(r.now); got != want {
			t.Fatalf("after %v: inactive %v, want %v", d, got, want)
		}
	}
	check(4*time.Second, false)
	r.pull(`{"batch":5,"expires":20000000000}`)
	check(19*time.Second, false) // the request keeps it, and what is not acknowledged
	check(time.Second, false)
	r.c.Deliver(r.now)
	check(20*time.Second, false)
	check(30*time.Second, true)
}

func TestClose(t *testing.T) {
	r := newRig(explicit())
	r.start()
	r.pull(`{"batch":5,"max_bytes":100}`)
	r.c.Close(false)
	if s := statuses(r.out.take()); !slices.Equal(s, []string{"NATS/1.0 409 Consumer Deleted"}) {
		t.Fatalf("got %q", s)
	}
	r.pull(`{"batch":5,"max_bytes":100}`)
	r.c.Close(true)
	if s := statuses(r.out.take()); !slices.Equal(s, []string{"NATS/1.0 409 Server Shutdown|Nats-Pending-Messages: 5|Nats-Pending-Bytes: 100"}) {
		t.Fatalf("got %q", s)
	}
}

// A consumer that rests while confirmations wait for their progress record must still send them.
func TestRestKeepsConfirmationsThatWait(t *testing.T) {
	r := newRig(explicit())
	r.publish("s.1")
	r.start()
	d := r.pull("1")
	var b AckBatch
	b.Add(fmt.Appendf(nil, "%d.%d.%d.0.0", d[0].deliveries, d[0].seq, d[0].cseq), []byte("_INBOX.confirm"), nil)
	r.c.ApplyAcks(&b, r.now)
	r.c.Rest()
	var got []string
	r.c.TakeConfirms(func(reply []byte) { got = append(got, string(reply)) })
	if !slices.Equal(got, []string{"_INBOX.confirm"}) {
		t.Fatalf("confirmed %q", got)
	}
}
