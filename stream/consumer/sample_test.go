package consumer

import (
	"slices"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

func TestSampling(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	cfg.SampleFrequency = "100%"
	r := newRig(cfg)
	r.publish("s.a", "s.b", "s.c")
	r.start()
	got := r.pull("3")
	r.pass(300 * time.Millisecond)
	r.answer(got[0], "+ACK", "")
	r.answer(got[0], "+ACK", "") // again: not pending
	r.answer(got[1], "-NAK 10s", "")
	r.answer(got[1], "+ACK", "") // refused meanwhile: unknown when it was delivered
	r.answer(got[2], "+WPI", "")
	r.pass(500 * time.Millisecond)
	r.answer(got[2], "+ACK", "")
	want := []string{"sampled 1 delivered 1 times after 300ms", "naked 2", "sampled 3 delivered 1 times after 500ms"}
	if !slices.Equal(r.events.list, want) {
		t.Fatalf("got %q", r.events.list)
	}
}

func TestSamplingCountsLateAcks(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	cfg.SampleFrequency = "100"
	r := newRig(cfg)
	r.publish("s.a", "s.b")
	r.start()
	got := r.pull("2")
	r.pass(1500 * time.Millisecond) // both are due again, nobody pulls
	r.answer(got[0], "+ACK", "")
	again := r.pull("1")
	r.pass(100 * time.Millisecond)
	r.answer(again[0], "+ACK", "")
	want := []string{"sampled 1 delivered 1 times after 1.5s", "sampled 2 delivered 2 times after 100ms"}
	if !slices.Equal(r.events.list, want) {
		t.Fatalf("got %q", r.events.list)
	}
}

func TestSamplingFrequency(t *testing.T) {
	for _, freq := range []string{"", "0", "50"} {
		cfg := explicit()
		cfg.SampleFrequency = freq
		cfg.MaxAckPending = -1
		r := newRig(cfg)
		r.publish(numbered("s.", 2000)...)
		r.start()
		for _, m := range r.pull("2000") {
			r.answer(m, "+ACK", "")
		}
		if n := len(r.events.list); freq != "50" && n > 0 || freq == "50" && (n < 700 || n > 1300) {
			t.Errorf("sample_freq %q: %d of 2000", freq, n)
		}
	}
}

func TestPauseEnds(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	r.start()
	cfg := *r.c.cfg
	until := time.Unix(0, r.now).Add(time.Second)
	cfg.PauseUntil = &until
	r.c.Update(&cfg)
	if due := r.c.NextDue(r.now); due != until.UnixNano() {
		t.Fatalf("due in %v", time.Duration(due-r.now))
	}
	r.pass(999 * time.Millisecond)
	r.c.NextDue(r.now)
	if len(r.events.list) > 0 {
		t.Fatalf("early: %q", r.events.list)
	}
	r.pass(time.Millisecond)
	r.pass(time.Millisecond)
	if want := []string{"paused false"}; !slices.Equal(r.events.list, want) {
		t.Fatalf("got %q", r.events.list)
	}
}
