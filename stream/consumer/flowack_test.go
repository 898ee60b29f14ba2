package consumer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

// asked returns the reply subject of the flow control request among what was sent.
func asked(list []sent) string {
	for _, m := range list {
		if strings.Contains(m.header, "100 FlowControl Request") {
			return m.payload
		}
	}
	return ""
}

func TestAckByFlow(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{AckPolicy: jsapi.AckFlowControl, DeliverSubject: "d", MaxAckPending: 4})
	r.publish(numbered("s.", 10)...)
	r.start()
	got := r.pass(0)
	if !slices.Equal(seqs(got), []uint64{1, 2, 3, 4}) {
		t.Fatalf("delivered %v", seqs(got))
	}
	ask := asked(got)
	if ask == "" {
		t.Fatal("not asked though half of what may be open is out")
	}
	if got := r.pass(time.Hour); len(seqs(got)) > 0 {
		t.Fatalf("delivered %v again or beyond the limit", seqs(got))
	}
	r.c.FlowReply([]byte(ask), 3, r.now)
	if info := r.c.Info(r.now); info.AckFloor.Stream != 3 || info.NumAckPending != 1 {
		t.Fatalf("%+v", info)
	}
	got = r.pass(0)
	if !slices.Equal(seqs(got), []uint64{5, 6, 7}) {
		t.Fatalf("delivered %v", seqs(got))
	}
	r.c.FlowReply([]byte(asked(got)), 99, r.now) // beyond what was delivered
	if info := r.c.Info(r.now); info.AckFloor.Stream != 7 {
		t.Fatalf("%+v", info)
	}
}

func TestAckByFlowAsksWhenIdle(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{AckPolicy: jsapi.AckFlowControl, DeliverSubject: "d"})
	r.publish("s.a")
	r.start()
	if got := r.pass(0); asked(got) != "" || len(got) != 1 {
		t.Fatalf("sent %+v", got)
	}
	ask := asked(r.pass(time.Second))
	if ask == "" {
		t.Fatal("not asked with the heartbeat")
	}
	r.c.FlowReply([]byte(ask), 1, r.now)
	if got := r.pass(time.Second); asked(got) != "" {
		t.Fatal("asked though nothing is open")
	}
}

func TestAckByFlowDeliversAgainToTheNext(t *testing.T) {
	r := newRig(jsapi.ConsumerConfig{AckPolicy: jsapi.AckFlowControl, DeliverSubject: "d"})
	r.publish("s.a", "s.b")
	r.start()
	r.pass(0)
	records := [][]byte{r.c.AppendProgress(nil)}
	r.out.deaf["d"] = true
	r.pass(time.Second)
	delete(r.out.deaf, "d")
	if got := seqs(r.pass(time.Second)); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("delivered %v", got)
	}
	r.restart(records)
	if got := seqs(r.pass(0)); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("delivered %v after a restart", got)
	}
}
