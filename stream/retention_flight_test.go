package stream

import (
	"slices"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// together has f done and messages published in one turn, f first: what f appends is in flight when the messages are
// judged.
func (b *bench) together(f func(done func(*jsapi.Error)), list ...testMsg) {
	b.t.Helper()
	in := b.out.listen("together")
	defer b.out.leave("together")
	batch := b.p.NewBatch()
	for _, m := range list {
		batch.Add([]byte(m.subject), []byte("together"), m.block(), []byte(m.value))
	}
	if !b.p.box.admit(batch.Size(), true) || !b.p.box.begin() {
		b.t.Fatal("the partition takes nothing")
	}
	done := make(chan *jsapi.Error, 1)
	b.p.box.mu.in.calls = append(b.p.box.mu.in.calls, func() { f(func(err *jsapi.Error) { done <- err }) })
	b.p.box.mu.in.pubs = append(b.p.box.mu.in.pubs, batch)
	b.p.box.end(true)
	if err := <-done; err != nil {
		b.t.Fatal(err)
	}
	for range list {
		<-in
	}
}

// A message that is on its way when the last one who wants it goes is not kept.
func TestInterestThatEndsWhileMessagesAreInFlight(t *testing.T) {
	for _, tt := range []struct {
		name      string
		consumers map[string]jsapi.ConsumerConfig
		change    func(b *bench) func(done func(*jsapi.Error))
	}{
		{"the only consumer is deleted", map[string]jsapi.ConsumerConfig{"C": {AckPolicy: jsapi.AckExplicit}},
			func(b *bench) func(func(*jsapi.Error)) {
				return func(done func(*jsapi.Error)) { b.p.deleteMember(b.p.members.byName["C"], done) }
			}},
		{"one of two is deleted", map[string]jsapi.ConsumerConfig{"C": {AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"},
			"other": {AckPolicy: jsapi.AckExplicit, FilterSubject: "s.b"}},
			func(b *bench) func(func(*jsapi.Error)) {
				return func(done func(*jsapi.Error)) { b.p.deleteMember(b.p.members.byName["C"], done) }
			}},
		{"its filter changes", map[string]jsapi.ConsumerConfig{"C": {AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"}},
			func(b *bench) func(func(*jsapi.Error)) {
				return func(done func(*jsapi.Error)) {
					m := b.p.members.byName["C"]
					cfg := *m.c.Config()
					cfg.FilterSubject = "s.b"
					b.p.updateConsumer(m, &cfg, done)
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.InterestRetention}, &clock{now: 1e9}, nil)
			defer b.close()
			for name, cfg := range tt.consumers {
				b.consumer(name, cfg)
			}
			b.pub(testMsg{subject: "s.a"})
			b.together(tt.change(b), testMsg{subject: "s.a"}, testMsg{subject: "s.a"})
			b.settled()
			if got := b.stored(); !slices.Equal(got, nil) {
				t.Fatalf("stored %v, which nobody wants", got)
			}
			if st := b.state(); st.LastSeq != 3 {
				t.Fatalf("%+v", st)
			}
		})
	}
}

// ack acknowledges without waiting: that is in no record yet, as the clock stands still.
func (b *bench) ack(name string, replies ...string) {
	b.t.Helper()
	batch := NewAckBatch(b.handle(name))
	for _, r := range replies {
		batch.Add([]byte(r), nil, []byte("+ACK"))
	}
	b.p.Ack(batch, true)
}

// What one consumer is done with stays for another one, even if the first goes before its record is written.
func TestAckOfConsumerThatGoesTakesNothingFromOthers(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.InterestRetention}, &clock{now: 1e9}, nil)
		b.consumer("stays", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		b.consumer("goes", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MemoryStorage: volatile})
		b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
		_, replies := b.pull("goes", 2)
		b.ack("goes", replies...)
		if err := b.p.DeleteConsumer("goes"); err != nil {
			t.Fatal(err)
		}
		b.settled()
		if got := b.stored(); !slices.Equal(got, []uint64{1, 2}) {
			t.Errorf("volatile %v: stored %v", volatile, got)
		}
		if seqs, _ := b.pull("stays", 2); !slices.Equal(seqs, []uint64{1, 2}) {
			t.Errorf("volatile %v: delivered %v", volatile, seqs)
		}
		b.close()
	}
}

// A consumer that is reset gets what is still there, and is not left waiting for what goes.
func TestResetOfWorkQueueRightAfterAcks(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.WorkQueueRetention}, &clock{now: 1e9}, nil)
	defer b.close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"}, testMsg{subject: "s.c"})
	_, replies := b.pull("C", 2)
	b.ack("C", replies...)
	if _, _, err := b.p.ResetConsumer("C", 1); err != nil {
		t.Fatal(err)
	}
	seqs, replies := b.pull("C", 10)
	b.settled()
	if got := b.stored(); !slices.Equal(got, seqs) {
		t.Fatalf("stored %v, delivered %v", got, seqs)
	}
	b.ackSync("C", replies...)
	b.settled()
	if got := b.stored(); len(got) > 0 {
		t.Fatalf("stored %v", got)
	}
	if info, err := b.p.ConsumerInfo("C"); err != nil || info.NumAckPending != 0 || info.NumPending != 0 {
		t.Fatalf("%+v %v", info, err)
	}
}

// Sequences that were given to messages which damage has taken from the log are not waited for.
func TestSweepDoesNotWaitForWhatNeverComes(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.InterestRetention}, &clock{now: 1e9}, nil)
	defer b.close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"})
	b.consumer("D", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.b"})
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
	if err := b.p.do(func() { b.p.next += 5 }); err != nil {
		t.Fatal(err)
	}
	if err := b.p.DeleteConsumer("C"); err != nil {
		t.Fatal(err)
	}
	if got := b.stored(); !slices.Equal(got, []uint64{2}) {
		t.Fatalf("stored %v", got)
	}
}

// A consumer that was given other filters does not wait for acknowledgements of what goes because nobody wants it any more.
func TestDeliveriesOfFormerFilterGoWithTheirMessages(t *testing.T) {
	for _, how := range []string{"at once", "when another has acknowledged", "after a restart"} {
		t.Run(how, func(t *testing.T) {
			b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.InterestRetention}, &clock{now: 1e9}, nil)
			defer func() { b.close() }()
			b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a", MaxDeliver: 1})
			if how != "at once" {
				b.consumer("other", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
			}
			b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.a"})
			b.pull("C", 2)
			b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.b", MaxDeliver: 1})
			if how == "after a restart" {
				b.close()
				b = b.reopen(b.fs)
			}
			if how != "at once" {
				if info, err := b.p.ConsumerInfo("C"); err != nil || info.NumAckPending != 2 {
					t.Fatalf("%+v %v", info, err)
				}
				_, replies := b.pull("other", 2)
				b.ackSync("other", replies...)
			}
			b.settled()
			if got := b.stored(); len(got) > 0 {
				t.Fatalf("stored %v", got)
			}
			if info, err := b.p.ConsumerInfo("C"); err != nil || info.NumAckPending != 0 || info.AckFloor.Stream != 2 {
				t.Fatalf("%+v %v", info, err)
			}
		})
	}
}

// What a schedule produces for nobody is not kept where only what somebody wants is.
func TestScheduledMessagesThatNobodyWants(t *testing.T) {
	b := timersBench(t, func(cfg *jsapi.StreamConfig) { cfg.Retention = jsapi.InterestRetention })
	defer b.close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.>"})
	b.accept(testMsg{subject: "s.e", headers: []string{"Nats-Schedule: @every 10s", "Nats-Schedule-Target: t.e"}})
	for range 3 {
		b.pass(10 * time.Second)
	}
	b.settled()
	if got := b.stored(); !slices.Equal(got, []uint64{1}) || b.state().LastSeq != 4 {
		t.Fatalf("stored %v of %d", got, b.state().LastSeq)
	}
}
