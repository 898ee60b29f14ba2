package consumer

import (
	"slices"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

// reset does what a partition does for a reset.
func (r *rig) reset(t *testing.T, seq uint64) uint64 {
	t.Helper()
	at, err := r.c.ResetTo(seq, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lasts []uint64
	if _, resume, ok := r.c.Lasts(); ok {
		lasts = r.lasts(at, resume)
	}
	r.c.Reset(at, lasts)
	r.recount()
	return at
}

func TestResetTo(t *testing.T) {
	start := time.Unix(100, 0)
	tests := []struct {
		name   string
		change func(*jsapi.ConsumerConfig)
		seq    uint64
		want   uint64
		err    string
	}{
		{"nothing named", func(c *jsapi.ConsumerConfig) {}, 0, 3, ""},
		{"anywhere", func(c *jsapi.ConsumerConfig) {}, 1, 1, ""},
		{"in the future", func(c *jsapi.ConsumerConfig) {}, 99, 99, ""},
		{"before the start", func(c *jsapi.ConsumerConfig) {
			c.DeliverPolicy, c.OptStartSeq = jsapi.DeliverByStartSequence, 5
		}, 4, 0, "invalid reset: below start seq"},
		{"at the start", func(c *jsapi.ConsumerConfig) {
			c.DeliverPolicy, c.OptStartSeq = jsapi.DeliverByStartSequence, 5
		}, 5, 5, ""},
		{"before the start time", func(c *jsapi.ConsumerConfig) {
			c.DeliverPolicy, c.OptStartTime = jsapi.DeliverByStartTime, &start
		}, 6, 0, "invalid reset: below start time"},
		{"at the start time", func(c *jsapi.ConsumerConfig) {
			c.DeliverPolicy, c.OptStartTime = jsapi.DeliverByStartTime, &start
		}, 7, 7, ""},
		{"new", func(c *jsapi.ConsumerConfig) { c.DeliverPolicy = jsapi.DeliverNew }, 1, 0, "invalid reset: not allowed"},
		{"last", func(c *jsapi.ConsumerConfig) { c.DeliverPolicy = jsapi.DeliverLast }, 1, 0, "invalid reset: not allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := explicit()
			tt.change(&cfg)
			r := newRig(cfg)
			r.publish(numbered("s.", 10)...)
			r.start()
			if tt.seq == 0 {
				for _, m := range r.pull("5")[:2] {
					r.answer(m, "+ACK", "")
				}
			}
			got, err := r.c.ResetTo(tt.seq, 7)
			if text := errText(err); got != tt.want || text != tt.err {
				t.Fatalf("got %d, %q", got, text)
			}
		})
	}
}

func errText(err *jsapi.Error) string {
	if err == nil {
		return ""
	}
	return err.Description
}

func TestReset(t *testing.T) {
	for _, filter := range []string{"", "s.>"} {
		cfg := explicit()
		cfg.FilterSubject = filter
		cfg.AckWait = time.Second
		r := newRig(cfg)
		r.publish(numbered("s.", 6)...)
		r.start()
		got := r.pull("4")
		r.answer(got[0], "+ACK", "")
		r.answer(got[2], "-NAK", "")
		records := [][]byte{r.c.AppendProgress(nil)}
		if at := r.reset(t, 0); at != 2 {
			t.Fatalf("went to %d", at)
		}
		info := r.c.Info(r.now)
		if info.Delivered.Consumer != 0 || info.Delivered.Stream != 1 || info.AckFloor != info.Delivered || info.NumPending != 5 ||
			info.NumAckPending != 0 || info.NumRedelivered != 0 {
			t.Fatalf("%+v", info)
		}
		r.answer(got[3], "+ACK", "") // of before: beyond what is delivered
		again := r.pull("3")
		if !slices.Equal(seqs(again), []uint64{2, 3, 4}) || again[0].cseq != 1 || again[1].deliveries != 1 {
			t.Fatalf("delivered %+v", again)
		}
		r.answer(again[1], "+ACK", "")
		records = append(records, r.c.AppendProgress(nil))
		more := r.pull("1")
		r.answer(more[0], "+ACK", "")
		records = append(records, r.c.AppendProgress(nil))
		before := r.c.Info(r.now)
		r.restart(records)
		after := r.c.Info(r.now)
		if after.Delivered.Consumer != 4 || after.Delivered.Stream != 5 || after.NumAckPending != 2 || after.NumPending != 1 ||
			after.AckFloor.Stream != before.AckFloor.Stream {
			t.Fatalf("after a restart: %+v", after)
		}
		if got := seqs(r.pass(2 * time.Second)); len(got) > 0 {
			t.Fatalf("sent %v to nobody", got)
		}
		if got := seqs(r.pull("10")); !slices.Equal(got, []uint64{2, 4, 6}) {
			t.Fatalf("delivered %v", got)
		}
	}
}

func TestResetServesOpenRequests(t *testing.T) {
	r := newRig(explicit())
	r.publish("s.a", "s.b")
	r.start()
	if got := r.pull(`{"batch":5,"expires":60000000000}`); len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	r.reset(t, 1)
	if got := seqs(r.pass(0)); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("delivered %v", got)
	}
}

func TestResetOfLastPerSubject(t *testing.T) {
	cfg := explicit()
	cfg.FilterSubject, cfg.DeliverPolicy = "s.>", jsapi.DeliverLastPerSubject
	r := newRig(cfg)
	r.publish("s.a", "s.b", "s.a", "s.c")
	r.start()
	got := r.pull("3") // 2, 3, 4
	r.answer(got[0], "+ACK", "")
	r.publish("s.d")
	if at := r.reset(t, 0); at != 3 {
		t.Fatalf("went to %d", at)
	}
	if n := r.c.Info(r.now).NumPending; n != 3 {
		t.Fatalf("%d pending", n)
	}
	if got := seqs(r.pull("10")); !slices.Equal(got, []uint64{3, 4, 5}) {
		t.Fatalf("delivered %v", got)
	}
}

func TestResetIntoTheFuture(t *testing.T) {
	cfg := explicit()
	cfg.FilterSubject = "s.>"
	r := newRig(cfg)
	r.publish("s.a")
	r.start()
	r.reset(t, 3)
	r.publish("s.b")
	if n := r.c.Info(r.now).NumPending; n != 0 {
		t.Fatalf("%d pending", n)
	}
	r.publish("s.c")
	if got := seqs(r.pull("10")); !slices.Equal(got, []uint64{3}) {
		t.Fatalf("delivered %v", got)
	}
}
