package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// TestResetSurvives resets consumers, cuts the power, and looks where they are.
func TestResetSurvives(t *testing.T) {
	for _, checkpoint := range []bool{false, true} {
		t.Run(fmt.Sprintf("checkpoint %v", checkpoint), func(t *testing.T) {
			now := &clock{now: 1e9}
			b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, nil)
			for _, name := range []string{"all", "some"} {
				cfg := jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit}
				if name == "some" {
					cfg.FilterSubject = "s.a"
				}
				b.consumer(name, cfg)
			}
			for range 6 {
				b.pub(testMsg{subject: "s.a", value: "x"})
			}
			for _, name := range []string{"all", "some"} {
				_, replies := b.pull(name, 5)
				b.ackSync(name, replies[:3]...)
				info, at, err := b.p.ResetConsumer(name, 2)
				if err != nil || at != 2 || info.Delivered.Consumer != 0 || info.NumPending != 5 || info.NumAckPending != 0 {
					t.Fatalf("%s: %d %v %+v", name, at, err, info)
				}
				if checkpoint {
					b.checkpoint()
				}
			}
			b2 := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 4))))
			b.close()
			defer b2.close()
			for _, name := range []string{"all", "some"} {
				info, err := b2.p.ConsumerInfo(name)
				if err != nil || info.Delivered.Stream != 1 || info.NumPending != 5 || info.NumAckPending != 0 {
					t.Fatalf("%s: %v %+v", name, err, info)
				}
				if seqs, _ := b2.pull(name, 9); !slices.Equal(seqs, []uint64{2, 3, 4, 5, 6}) {
					t.Fatalf("%s delivers %v", name, seqs)
				}
			}
		})
	}
}

func TestResetErrors(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	defer b.close()
	if _, _, err := b.p.ResetConsumer("no", 0); err == nil || err.Code != jsapi.ErrConsumerNotFound {
		t.Fatalf("got %v", err)
	}
	b.consumer("new", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, DeliverPolicy: jsapi.DeliverNew})
	if _, _, err := b.p.ResetConsumer("new", 1); err == nil || err.Code != jsapi.ErrConsumerInvalidReset {
		t.Fatalf("got %v", err)
	}
	if err := b.p.UnpinConsumer("no", "A"); err == nil || err.Code != jsapi.ErrConsumerNotFound {
		t.Fatalf("got %v", err)
	}
	if err := b.p.UnpinConsumer("new", "A"); err == nil || err.Code != jsapi.ErrConsumerInvalidPriorityGroup {
		t.Fatalf("got %v", err)
	}
}

// TestPinSurvives pins a client, restarts, and unpins it.
func TestPinSurvives(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, PriorityPolicy: jsapi.PriorityPinnedClient, PriorityGroups: []string{"A"}})
	b.pub(testMsg{subject: "s.a"})
	in := b.out.listen("inbox")
	batch := NewPullBatch(b.handle("C"))
	batch.Add([]byte("inbox"), []byte(`{"batch":1,"group":"A"}`), false)
	b.p.Pull(batch, true)
	<-in
	pinned := func(b *bench) string {
		info, err := b.p.ConsumerInfo("C")
		if err != nil || len(info.PriorityGroups) != 1 {
			t.Fatalf("%v %+v", err, info)
		}
		return info.PriorityGroups[0].PinnedClientID
	}
	id := pinned(b)
	b.close()
	b = b.reopen(b.fs)
	if got := pinned(b); id == "" || got != id {
		t.Fatalf("pinned %q, was %q", got, id)
	}
	if err := b.p.UnpinConsumer("C", "A"); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(b.hooks.events, "unpinned C A admin") {
		t.Fatalf("events %q", b.hooks.events)
	}
	crashed := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 4))))
	b.close()
	defer crashed.close()
	if got := pinned(crashed); got != "" {
		t.Fatalf("pinned %q", got)
	}
}

// TestHeldConsumer delivers nothing before Begin.
func TestHeldConsumer(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
		b.pub(testMsg{subject: "s.a"})
		in := b.out.listen("d")
		_, err := b.p.CreateConsumer(ConsumerRequest{Name: "C", Held: true,
			Config: jsapi.ConsumerConfig{Name: "C", DeliverSubject: "d", MemoryStorage: volatile}})
		if err != nil {
			t.Fatal(err)
		}
		b.pub(testMsg{subject: "s.b"})
		if len(in) > 0 {
			t.Fatal("delivered before Begin")
		}
		b.p.Begin("C")
		b.p.Begin("no")
		for _, want := range []string{"s.a", "s.b"} {
			select {
			case m := <-in:
				if string(m.Subject) != want {
					t.Fatalf("got %s", m.Subject)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("nothing delivered")
			}
		}
		b.close()
	}
}

// TestPauseIsReported tells of the change only.
func TestPauseIsReported(t *testing.T) {
	now := &clock{now: 1e9}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, nil)
	defer b.close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	for _, until := range []time.Time{time.Unix(5, 0), time.Unix(5, 0), {}} {
		if err := b.p.PauseConsumer("C", until); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"added C", "paused C true", "paused C false"}; !slices.Equal(b.hooks.events, want) {
		t.Fatalf("events %q", b.hooks.events)
	}
}

// TestEndRequests ends what waits, and nothing else.
func TestEndRequests(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	in := b.out.listen("inbox")
	batch := NewPullBatch(b.handle("C"))
	batch.Add([]byte("inbox"), []byte("3"), false)
	b.p.Pull(batch, true)
	b.p.EndRequests()
	if m := <-in; !strings.HasPrefix(string(m.Header), "NATS/1.0 409 Server Shutdown\r\n") {
		t.Fatalf("got %q", m.Header)
	}
	b.pub(testMsg{subject: "s.a"})
	if seqs, _ := b.pull("C", 1); !slices.Equal(seqs, []uint64{1}) {
		t.Fatalf("delivered %v", seqs)
	}
	b.close()
	b.p.EndRequests() // nothing to do any more
}
