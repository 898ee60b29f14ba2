package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/vfs"
)

// settled waits until everything that follows from what was done has happened.
func (b *bench) settled() {
	b.t.Helper()
	for {
		var busy bool
		if err := b.p.do(func() {
			k := &b.p.keep
			busy = k.sweep.at <= k.sweep.to || len(k.done)+len(k.sweep.gone) > 0 || b.p.flights.len() > 0 || b.p.appended
		}); err != nil {
			b.t.Fatal(err)
		}
		if !busy {
			return
		}
		if b.now != nil {
			b.now.pass(time.Duration(settleEvery))
		}
		b.p.box.wake()
		runtime.Gosched()
	}
}

// stored returns the sequences of what is stored.
func (b *bench) stored() (seqs []uint64) {
	b.t.Helper()
	st := b.state()
	for seq := st.FirstSeq; seq <= st.LastSeq && st.Msgs > 0; seq++ {
		if !slices.Contains(st.Deleted, seq) {
			seqs = append(seqs, seq)
		}
	}
	if uint64(len(seqs)) != st.Msgs {
		b.t.Fatalf("%d messages, but %v in %+v", st.Msgs, seqs, st)
	}
	return seqs
}

// claim is what a consumer of the model has yet to deal with.
type claim struct {
	cfg      jsapi.ConsumerConfig
	from     uint64
	acked    map[uint64]bool
	out      map[uint64]string
	volatile bool
}

func (c *claim) wants(subj string) bool {
	fs := c.cfg.Filters()
	return len(fs) == 0 || slices.ContainsFunc(fs, func(f string) bool { return subject.Match(f, subj) })
}

// TestRetentionAgainstModel holds streams that keep only what is needed to what a list of messages and claims says,
// through restarts and power cuts.
func TestRetentionAgainstModel(t *testing.T) {
	explicit := func(filters ...string) jsapi.ConsumerConfig {
		return jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubjects: filters}
	}
	policies := map[jsapi.Retention]map[string]jsapi.ConsumerConfig{
		jsapi.InterestRetention: {"all": explicit(), "a": explicit("s.a"), "ab": explicit("s.a", "s.b.>"),
			"none": {AckPolicy: jsapi.AckNone, FilterSubject: "s.*"}, "upto": {AckPolicy: jsapi.AckAll},
			"mem": {AckPolicy: jsapi.AckExplicit, MemoryStorage: true, FilterSubject: "s.d"}},
		jsapi.WorkQueueRetention: {"a": explicit("s.a"), "b": explicit("s.b.>", "s.c"), "mem": {AckPolicy: jsapi.AckExplicit, MemoryStorage: true, FilterSubject: "s.d"}},
	}
	rapid.Check(t, func(rt *rapid.T) {
		retention := rapid.SampledFrom([]jsapi.Retention{jsapi.InterestRetention, jsapi.WorkQueueRetention}).Draw(rt, "retention")
		configs := policies[retention]
		var names []string
		for n := range configs {
			names = append(names, n)
		}
		slices.Sort(names)
		now := &clock{now: 1e9}
		b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: retention}, now, nil)
		defer func() { b.p.Close() }()
		stored := map[uint64]string{}
		last := uint64(0)
		claims := map[string]*claim{}
		sorted := func() []uint64 {
			var s []uint64
			for seq := range stored {
				s = append(s, seq)
			}
			slices.Sort(s)
			return s
		}
		needed := func(seq uint64, subj string) bool {
			for _, c := range claims {
				if seq >= c.from && c.wants(subj) && !c.acked[seq] {
					return true
				}
			}
			return false
		}
		// drop removes what nobody needs; of a work queue only what was dealt with.
		drop := func(seqs []uint64) {
			for _, seq := range seqs {
				if !needed(seq, stored[seq]) {
					delete(stored, seq)
				}
			}
		}
		leave := func(name string) {
			delete(claims, name)
			if retention == jsapi.InterestRetention {
				drop(sorted())
			}
		}
		again := func(fs *vfs.Mem) {
			b.p.Close()
			b = b.reopen(fs)
			for _, n := range names {
				if c := claims[n]; c != nil {
					clear(c.out) // the log need not know of them
					if c.volatile {
						leave(n)
					}
				}
			}
			now.pass(time.Minute) // what was out is due again
		}
		rt.Repeat(map[string]func(*rapid.T){
			"publish": func(rt *rapid.T) {
				var list []testMsg
				for range rapid.IntRange(1, 6).Draw(rt, "n") {
					list = append(list, testMsg{subject: rapid.SampledFrom([]string{"s.a", "s.b.1", "s.c", "s.d", "s.e.f"}).Draw(rt, "subject")})
				}
				for i, ack := range b.pubs(list...) {
					if last++; ack.Error != nil || ack.Sequence != last {
						rt.Fatalf("%+v, want sequence %d", ack, last)
					}
					if retention == jsapi.WorkQueueRetention || needed(last, list[i].subject) {
						stored[last] = list[i].subject
					}
				}
			},
			"create": func(rt *rapid.T) {
				n := rapid.SampledFrom(names).Draw(rt, "name")
				if claims[n] != nil {
					return
				}
				b.settled()
				from := b.state().FirstSeq
				cfg := configs[n]
				b.consumer(n, cfg)
				claims[n] = &claim{cfg: cfg, from: from, acked: map[uint64]bool{}, out: map[uint64]string{}, volatile: cfg.MemoryStorage}
			},
			"delete": func(rt *rapid.T) {
				n := rapid.SampledFrom(names).Draw(rt, "name")
				if claims[n] == nil {
					return
				}
				if err := b.p.DeleteConsumer(n); err != nil {
					rt.Fatal(err)
				}
				leave(n)
			},
			"pull": func(rt *rapid.T) {
				for n, c := range claims {
					seqs, replies := b.pull(n, rapid.IntRange(1, 5).Draw(rt, "batch"))
					for i, seq := range seqs {
						if _, there := stored[seq]; !there || c.acked[seq] || !c.wants(stored[seq]) || seq < c.from {
							rt.Fatalf("%s got %d; stored are %v", n, seq, sorted())
						}
						if c.cfg.AckPolicy == jsapi.AckNone {
							c.acked[seq] = true
						}
						c.out[seq] = replies[i]
					}
					if c.cfg.AckPolicy == jsapi.AckNone {
						b.settled()
						drop(seqs)
					}
				}
			},
			"ack": func(rt *rapid.T) {
				for n, c := range claims {
					if c.cfg.AckPolicy == jsapi.AckNone {
						continue
					}
					for seq, reply := range c.out {
						if !rapid.Bool().Draw(rt, "ack") {
							continue
						}
						b.ackSync(n, reply)
						var done []uint64
						for s := range stored {
							if s == seq || c.cfg.AckPolicy == jsapi.AckAll && s < seq && s >= c.from && c.wants(stored[s]) {
								c.acked[s] = true
								done = append(done, s)
							}
						}
						delete(c.out, seq)
						drop(done)
						break
					}
				}
			},
			"reset": func(rt *rapid.T) {
				n := rapid.SampledFrom(names).Draw(rt, "name")
				if claims[n] == nil {
					return
				}
				at := rapid.Uint64Range(1, last+3).Draw(rt, "at")
				if _, _, err := b.p.ResetConsumer(n, at); err != nil {
					rt.Fatal(err)
				}
				c := claims[n]
				c.from = at
				clear(c.acked)
				clear(c.out)
				if retention == jsapi.InterestRetention {
					drop(sorted())
				}
			},
			"restart":   func(rt *rapid.T) { again(b.fs) },
			"power cut": func(rt *rapid.T) { again(b.fs.CrashClone(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))) },
			"checkpoint": func(rt *rapid.T) {
				b.checkpoint()
			},
			"": func(rt *rapid.T) {
				b.settled()
				if got, want := b.stored(), sorted(); !slices.Equal(got, want) {
					for n, c := range claims {
						info, _ := b.p.ConsumerInfo(n)
						rt.Logf("%s from %d acked %v: %+v %+v pending %d ack pending %d", n, c.from, c.acked, info.Delivered, info.AckFloor, info.NumPending, info.NumAckPending)
					}
					rt.Fatalf("stored %v, want %v of %v", got, want, stored)
				}
				if got := b.state().LastSeq; got != last {
					rt.Fatalf("last is %d, want %d", got, last)
				}
				if faults := b.audit(); len(faults) > 0 {
					rt.Fatalf("%q", faults)
				}
			},
		})
	})
}

func TestWorkQueueConsumers(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.WorkQueueRetention}, nil, nil)
	defer b.close()
	for _, tt := range []struct {
		name string
		cfg  jsapi.ConsumerConfig
		want jsapi.Code
	}{
		{"none", jsapi.ConsumerConfig{AckPolicy: jsapi.AckNone}, jsapi.ErrConsumerPullRequiresAck},
		{"pushed", jsapi.ConsumerConfig{AckPolicy: jsapi.AckNone, DeliverSubject: "d"}, jsapi.ErrConsumerWQRequiresExplicitAck},
		{"upto", jsapi.ConsumerConfig{AckPolicy: jsapi.AckAll}, jsapi.ErrConsumerWQRequiresExplicitAck},
		{"new", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, DeliverPolicy: jsapi.DeliverNew}, jsapi.ErrConsumerWQConsumerNotDeliverAll},
		{"A", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"}, 0},
		{"same", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"}, jsapi.ErrConsumerWQConsumerNotUnique},
		{"wider", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubjects: []string{"s.*", "s.x.y"}}, jsapi.ErrConsumerWQConsumerNotUnique},
		{"all", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit}, jsapi.ErrConsumerWQMultipleUnfiltered},
		{"B", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.b"}, 0},
		{"A", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.b"}, jsapi.ErrConsumerWQConsumerNotUnique},
		{"P", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.p.*"}, 0},
		{"literal", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.p.x"}, jsapi.ErrConsumerWQConsumerNotUnique},
		{"patterns", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubjects: []string{"s.z", "s.*.x"}}, jsapi.ErrConsumerWQConsumerNotUnique},
		{"P", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.p.>"}, 0},
		{"literals", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubjects: []string{"s.c", "s.d.e"}}, 0},
	} {
		cfg := tt.cfg
		cfg.Name, cfg.Durable = tt.name, tt.name
		_, err := b.p.CreateConsumer(ConsumerRequest{Name: tt.name, Config: cfg})
		if err == nil && tt.want != 0 || err != nil && err.Code != tt.want {
			t.Errorf("%s: got %v, want %d", tt.name, err, tt.want)
		}
	}
}

// Two requests at once must not both get the queue.
func TestWorkQueueConsumersRace(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.WorkQueueRetention}, nil, nil)
	defer b.close()
	results := make(chan *jsapi.Error, 8)
	for i := range cap(results) {
		go func() {
			n := fmt.Sprint("C", i)
			_, err := b.p.CreateConsumer(ConsumerRequest{Name: n, Config: jsapi.ConsumerConfig{Name: n, Durable: n, AckPolicy: jsapi.AckExplicit}})
			results <- err
		}()
	}
	made := 0
	for range cap(results) {
		if <-results == nil {
			made++
		}
	}
	if made != 1 {
		t.Fatalf("%d consumers were made", made)
	}
}

// An exhausted message stays in the stream, as nobody has dealt with it.
func TestExhaustedMessageStaysInWorkQueue(t *testing.T) {
	now := &clock{now: 1e9}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.WorkQueueRetention}, now, nil)
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.a"})
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MaxDeliver: 1, AckWait: time.Second})
	_, replies := b.pull("C", 2)
	b.ackSync("C", replies[1])
	now.pass(time.Minute)
	if seqs, _ := b.pull("C", 1); len(seqs) > 0 {
		t.Fatalf("delivered %v", seqs)
	}
	b.close()
	b = b.reopen(b.fs)
	defer b.close()
	if got := b.stored(); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("stored %v", got)
	}
}

func TestInterestBegins(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	defer b.close()
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"}, testMsg{subject: "s.a"})
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"})
	_, replies := b.pull("C", 1)
	b.ackSync("C", replies...)
	cfg := b.cfg
	cfg.Retention = jsapi.InterestRetention
	text, err := json.Marshal(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.p.Reconfigure(text); err != nil {
		t.Fatal(err)
	}
	if got := b.stored(); !slices.Equal(got, []uint64{3}) {
		t.Fatalf("stored %v", got)
	}
	if ack := b.pub(testMsg{subject: "s.z", headers: []string{"Nats-Msg-Id: 1"}}); ack.Sequence != 4 {
		t.Fatalf("%+v", ack)
	}
	if ack := b.pub(testMsg{subject: "s.z", headers: []string{"Nats-Msg-Id: 1"}}); ack.Sequence != 4 || !ack.Duplicate {
		t.Fatalf("%+v", ack)
	}
	if got := b.stored(); !slices.Equal(got, []uint64{3}) {
		t.Fatalf("stored %v", got)
	}
}
