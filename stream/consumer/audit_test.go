package consumer

import (
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

// faults audits and returns what is wrong.
func (r *rig) faults() (list []string) {
	r.c.Audit(1000, func(text string) { list = append(list, text) })
	return list
}

// TestAuditSeesDamage breaks a consumer in every way that the checker knows, and expects the right words.
func TestAuditSeesDamage(t *testing.T) {
	for _, tt := range []struct {
		want   string
		damage func(r *rig)
	}{
		{"is beyond what was delivered", func(r *rig) { r.c.floor.Stream = r.c.delivered.Stream + 1 }},
		{"below the ack floor", func(r *rig) { r.c.floor.Stream = 3 }},
		{"that nobody gives", func(r *rig) {
			cfg := *r.c.cfg
			cfg.AckPolicy = jsapi.AckNone
			r.c.cfg = &cfg
		}},
		{"was not delivered", func(r *rig) { r.c.pend.put(Entry{Stream: 12, Consumer: 3, Deliveries: 1}) }},
		{"is both delivered and ahead", func(r *rig) { r.c.next = 2 }},
		{"is not stored", func(r *rig) { r.store.gone[4] = true }},
		{"places", func(r *rig) { r.c.pend.live = 1000 }},
		{"is out after", func(r *rig) { p := &r.c.pend; *p.at(4), *p.at(5) = *p.at(5), *p.at(4) }},
		{"is out twice", func(r *rig) { r.c.pend.put(Entry{Stream: 5, Consumer: 5, Deliveries: 1}) }},
		{"are hidden", func(r *rig) { p := &r.c.pend; p.head--; *p.at(p.head) = slot{} }},
		{"is taken for", func(r *rig) { r.c.pend.odd[2].State = Parked + 1 }},
		{"are counted as out", func(r *rig) { r.c.pend.live-- }},
		{"will not be found", func(r *rig) { r.c.pend.queue = nil }},
		{"that will not be seen", func(r *rig) { r.c.pend.due = nil }},
		{"does not hold back the ack floor", func(r *rig) { r.c.pend.order = r.c.pend.order[:1] }},
		{"counted are", func(r *rig) { r.c.pend.repeat++ }},
	} {
		r := newRig(explicit())
		r.publish(strings.Split(strings.Repeat("s.a ", 12), " ")[:12]...)
		r.start()
		out := r.pull(`{"batch":8,"no_wait":true}`)
		r.answer(out[0], "+ACK", "")
		r.answer(out[1], "-NAK", "")
		r.answer(out[2], "-NAK 10s", "")
		if got := r.faults(); len(got) > 0 {
			t.Fatalf("before: %v", got)
		}
		tt.damage(r)
		if got := strings.Join(r.faults(), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("want %q, got %q", tt.want, got)
		}
	}
}

// TestWitness follows a message through what may rightly happen to it, and through what may not.
func TestWitness(t *testing.T) {
	begin := func() *rig {
		r := newRig(explicit())
		r.publish("s.a", "s.b", "s.c")
		r.start()
		r.c.witness = witness{seq: 2}
		return r
	}
	for _, tt := range []struct {
		name, want string
		f          func(r *rig)
	}{
		{"ahead", "", func(r *rig) {}},
		{"out", "", func(r *rig) { r.pull(`{"batch":3,"no_wait":true}`) }},
		{"delivered again", "", func(r *rig) {
			r.answer(r.pull(`{"batch":2,"no_wait":true}`)[1], "-NAK", "")
			r.pull(`{"batch":1,"no_wait":true}`)
		}},
		{"acknowledged", "", func(r *rig) { r.answer(r.pull(`{"batch":2,"no_wait":true}`)[1], "+ACK", "") }},
		{"given up", "", func(r *rig) { r.answer(r.pull(`{"batch":2,"no_wait":true}`)[1], "+TERM", "") }},
		{"expired", "", func(r *rig) { r.pull(`{"batch":2,"no_wait":true}`); r.pass(time.Hour) }},
		{"removed ahead", "", func(r *rig) { r.remove(2) }},
		{"removed while out", "", func(r *rig) { r.pull(`{"batch":2,"no_wait":true}`); r.remove(2) }},
		{"reset", "", func(r *rig) {
			r.pull(`{"batch":3,"no_wait":true}`)
			r.c.Reset(3, nil)
		}},
		{"passed over", "passed over", func(r *rig) { r.c.next = 3 }},
		{"forgotten", "forgotten", func(r *rig) { r.pull(`{"batch":3,"no_wait":true}`); r.c.pend.resolve(2, 0) }},
		{"back after its acknowledgement", "comes again", func(r *rig) {
			r.answer(r.pull(`{"batch":2,"no_wait":true}`)[1], "+ACK", "")
			r.c.pend.put(Entry{Stream: 2, Consumer: 2, Deliveries: 1, State: Queued})
		}},
	} {
		r := begin()
		tt.f(r)
		got := strings.Join(r.faults(), "\n")
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: want %q, got %q", tt.name, tt.want, got)
		}
	}
}

// A witness that is acknowledged together with others, or by its delivery, is one as well.
func TestWitnessOfOtherPolicies(t *testing.T) {
	for _, policy := range []jsapi.AckPolicy{jsapi.AckAll, jsapi.AckNone} {
		cfg := explicit()
		cfg.AckPolicy = policy
		if policy == jsapi.AckNone {
			cfg.DeliverSubject, cfg.Name = "d", "P"
		}
		r := newRig(cfg)
		r.publish("s.a", "s.b", "s.c")
		r.start()
		r.c.witness = witness{seq: 2}
		if policy == jsapi.AckAll {
			r.answer(r.pull(`{"batch":3,"no_wait":true}`)[2], "+ACK", "")
		} else {
			r.pass(time.Second)
		}
		if w := r.c.witness; w.fate != fateResolved {
			t.Errorf("%v: the witness is %+v", policy, w)
		}
		if got := r.faults(); len(got) > 0 {
			t.Errorf("%v: %v", policy, got)
		}
	}
}

// Where nothing is ahead, a message still to come is the witness; one that nobody wants is not.
func TestWitnessIsChosen(t *testing.T) {
	cfg := explicit()
	cfg.FilterSubject = "s.a"
	r := newRig(cfg)
	r.publish("s.b", "s.b")
	r.start()
	for range 50 {
		if got := r.faults(); len(got) > 0 {
			t.Fatal(got)
		}
		if seq := r.c.witness.seq; seq > 0 && seq <= 2 {
			t.Fatalf("%d is the witness", seq)
		}
		r.c.witness = witness{}
	}
	r.c.witness = witness{seq: 3}
	r.publish("s.b", "s.a")
	if got := r.faults(); len(got) > 0 || r.c.witness.seq == 3 {
		t.Fatalf("%v, the witness is %+v", got, r.c.witness)
	}
	r.c.witness = witness{seq: 4}
	r.c.next = 5
	if got := r.faults(); len(got) != 1 || !strings.Contains(got[0], "passed over") {
		t.Fatalf("%v", got)
	}
}

// However much is out, an audit looks at no more than it may.
func TestAuditIsBounded(t *testing.T) {
	cfg := explicit()
	cfg.MaxAckPending = -1
	r := newRig(cfg)
	for range 20_000 {
		r.publish("s.a")
	}
	r.start()
	out := r.pull(`{"batch":20000,"no_wait":true}`)
	for _, d := range out[10_000:] {
		r.answer(d, "-NAK 1h", "")
	}
	n := 0
	r.c.pend.audit(1000, t.Fatalf, func(Entry) { n++ })
	if n < 500 || n > 1000 { // the part of the ring that is looked at may hold none
		t.Fatalf("%d looked at", n)
	}
	if got := r.faults(); len(got) > 0 {
		t.Fatal(got)
	}
}
