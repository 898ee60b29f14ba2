package stream

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// The consumer of a copy goes on where that says it is, delivers to where that is now, and a stream that keeps only what is
// needed gives up what the copy has, and nothing else.
func TestCopyTakesOver(t *testing.T) {
	for _, retention := range []jsapi.Retention{jsapi.LimitsRetention, jsapi.InterestRetention, jsapi.WorkQueueRetention} {
		t.Run(fmt.Sprint(retention), func(t *testing.T) {
			b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s"}, Retention: retention}, nil, nil)
			defer func() { b.close() }()
			kept := retention != jsapi.LimitsRetention
			ask := func(to string, from uint64) (*jsapi.ConsumerInfo, chan uint64) {
				t.Helper()
				in := b.out.listen(to)
				got := make(chan uint64, 64)
				go func() {
					for m := range in {
						var seq uint64
						if _, err := fmt.Sscan(string(m.Payload), &seq); err == nil {
							got <- seq
						}
					}
				}()
				cfg := jsapi.ConsumerConfig{Name: "C", DeliverSubject: to, AckPolicy: jsapi.AckNone, AckWait: time.Hour, MaxDeliver: 1, FlowControl: true,
					Heartbeat: time.Second, InactiveThreshold: 10 * time.Second, Direct: true, MemoryStorage: true}
				if from > 0 {
					cfg.DeliverPolicy, cfg.OptStartSeq = jsapi.DeliverByStartSequence, from
				}
				info, err := b.p.CreateConsumer(ConsumerRequest{Name: "C", Config: cfg, Held: true})
				if err != nil {
					t.Fatal(err)
				}
				b.p.Begin("C")
				return info, got
			}
			expect := func(got chan uint64, from, to uint64) {
				t.Helper()
				for want := from; want <= to; want++ {
					select {
					case seq := <-got:
						if seq != want {
							t.Fatalf("got %d, want %d", seq, want)
						}
					case <-time.After(10 * time.Second):
						t.Fatalf("%d never came", want)
					}
				}
			}
			stored := func(first, last uint64) {
				t.Helper()
				if !kept {
					first = 1
				}
				deadline := time.Now().Add(10 * time.Second)
				for {
					st := b.state()
					if st.FirstSeq == first && st.LastSeq == last && st.Msgs == last+1-first {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("stored %+v, want %d to %d", st, first, last)
					}
					time.Sleep(time.Millisecond)
				}
			}
			_, got := ask("to.1", 0)
			for i := range 6 {
				b.pub(testMsg{subject: "s", value: fmt.Sprint(i + 1)})
			}
			expect(got, 1, 6)
			info, got := ask("to.2", 4) // it stored three
			if info.Delivered.Consumer != 0 || info.Delivered.Stream != 3 || info.NumPending != 3 {
				t.Errorf("taken over as %+v", info)
			}
			expect(got, 4, 6)
			stored(4, 6)
			if kept {
				if names := b.p.ConsumerNames(); !slices.Equal(names, []string{"C"}) {
					t.Errorf("consumers %v", names)
				}
				b.close()
				b = b.reopen(b.fs)
				b.pub(testMsg{subject: "s", value: "7"})
				stored(4, 7)
			} else {
				if names := b.p.ConsumerNames(); len(names) > 0 {
					t.Errorf("consumers %v", names)
				}
				b.pub(testMsg{subject: "s", value: "7"})
			}
			_, got = ask("to.3", 6)
			expect(got, 6, 7)
			stored(6, 7)
			if err := b.p.DeleteConsumer("C"); err != nil {
				t.Fatal(err)
			}
			if retention == jsapi.InterestRetention {
				stored(8, 7)
			}
		})
	}
}
