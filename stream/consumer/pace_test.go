package consumer

import (
	"slices"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

func TestRateLimit(t *testing.T) {
	cfg := jsapi.ConsumerConfig{AckPolicy: jsapi.AckNone, DeliverSubject: "d", RateLimit: 8000} // 1 byte in 1 ms
	r := newRig(cfg)
	r.publish(numbered("s.", 100)...)
	r.start()
	first := r.pass(0)
	if len(first) == 0 || len(first) > 2 {
		t.Fatalf("%d sent at once", len(first))
	}
	due := r.c.NextDue(r.now)
	if due <= r.now || due > r.now+int64(100*time.Millisecond) {
		t.Fatalf("goes on in %v", time.Duration(due-r.now))
	}
	if got := r.pass(time.Duration(due-r.now) - 1); len(got) > 0 {
		t.Fatalf("sent %d too early", len(got))
	}
	if got := r.pass(1); len(got) != 1 {
		t.Fatalf("sent %d when due", len(got))
	}
	n := 0
	for range 100 {
		n += len(r.pass(10 * time.Millisecond))
	}
	size := 3 + 2 + len("$JS.ACK.S.C.1.10.10.10000.90") // about, of one message
	if want := 1000 / size; n < want-8 || n > want+8 {
		t.Fatalf("%d messages of %d bytes in a second", n, size)
	}
}

func TestRateLimitChanges(t *testing.T) {
	cfg := jsapi.ConsumerConfig{AckPolicy: jsapi.AckNone, DeliverSubject: "d", RateLimit: 1}
	r := newRig(cfg)
	r.publish(numbered("s.", 10)...)
	r.start()
	if got := r.pass(0); len(got) != 1 {
		t.Fatalf("%d sent", len(got))
	}
	next := *r.c.cfg
	next.RateLimit = 0
	r.c.Update(&next)
	if got := r.pass(0); len(got) != 9 {
		t.Fatalf("%d sent without a limit", len(got))
	}
	if due := r.c.NextDue(r.now); due != never {
		t.Fatalf("due in %v", time.Duration(due-r.now))
	}
}

// TestReplayOriginal: message n of the fake store was stored at n µs; times are stretched by publishing far apart.
func TestReplayOriginal(t *testing.T) {
	for _, pull := range []bool{false, true} {
		cfg := jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, ReplayPolicy: jsapi.ReplayOriginal}
		if !pull {
			cfg.DeliverSubject = "d"
		}
		r := newRig(cfg)
		r.store.every = int64(100 * time.Millisecond)
		r.publish("s.a", "s.b", "s.c")
		r.start()
		if pull {
			if got := r.pull(`{"batch":10,"expires":60000000000}`); len(got) != 1 {
				t.Fatalf("sent %+v", got)
			}
		} else if got := r.pass(0); len(got) != 1 {
			t.Fatalf("sent %+v", got)
		}
		if due := r.c.NextDue(r.now); due != r.now+int64(100*time.Millisecond) {
			t.Fatalf("goes on in %v", time.Duration(due-r.now))
		}
		if got := r.pass(99 * time.Millisecond); len(got) != 0 {
			t.Fatalf("early: %+v", got)
		}
		if got := seqs(r.pass(time.Millisecond)); !slices.Equal(got, []uint64{2}) {
			t.Fatalf("delivered %v", got)
		}
		r.publish("s.d", "s.e") // after the start: no replay
		if got := seqs(r.pass(100 * time.Millisecond)); !slices.Equal(got, []uint64{3, 4, 5}) {
			t.Fatalf("delivered %v", got)
		}
	}
}

func TestReplayForgetsWhatWasRemoved(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{AckPolicy: jsapi.AckNone, DeliverSubject: "d", ReplayPolicy: jsapi.ReplayOriginal})
	r.store.every = int64(time.Hour)
	r.publish("s.a", "s.b")
	r.start()
	r.pass(0)
	r.remove(2)
	r.pass(time.Hour)
	if due := r.c.NextDue(r.now); due != never {
		t.Fatalf("still waits for a message that is gone: due in %v", time.Duration(due-r.now))
	}
}
