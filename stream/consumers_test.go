package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/consumer"
	"godwit/stream/vfs"
)

func (b *bench) consumer(name string, cfg jsapi.ConsumerConfig) *jsapi.ConsumerInfo {
	b.t.Helper()
	cfg.Name, cfg.Durable = name, name
	info, err := b.p.CreateConsumer(ConsumerRequest{Name: name, Config: cfg})
	if err != nil {
		b.t.Fatalf("consumer %s: %v", name, err)
	}
	return info
}

func (b *bench) handle(name string) (c *consumer.Consumer) {
	b.t.Helper()
	if err := b.p.do(func() {
		if m := b.p.members.byName[name]; m != nil {
			c = m.c
		}
	}); err != nil || c == nil {
		b.t.Fatalf("no consumer %s: %v", name, err)
	}
	return c
}

// pull asks for what is there and returns the messages' sequences and ack subjects.
func (b *bench) pull(name string, n int) (seqs []uint64, replies []string) {
	b.t.Helper()
	c := b.handle(name)
	b.n++
	inbox := fmt.Sprintf("i.%d", b.n)
	in := b.out.listen(inbox)
	defer b.out.leave(inbox)
	batch := NewPullBatch(c)
	batch.Add([]byte(inbox), fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, n), false)
	b.p.Pull(batch, true)
	for len(seqs) < n {
		m := <-in
		if len(m.Reply) == 0 {
			break // a status
		}
		var deliveries, seq, cseq uint64
		rest := strings.TrimPrefix(string(m.Reply), "$JS.ACK.S."+name+".")
		if _, err := fmt.Sscanf(rest, "%d.%d.%d.", &deliveries, &seq, &cseq); err != nil {
			b.t.Fatalf("%s: %v", m.Reply, err)
		}
		seqs, replies = append(seqs, seq), append(replies, rest)
	}
	return seqs, replies
}

// ackSync acknowledges and waits until that is confirmed.
func (b *bench) ackSync(name string, replies ...string) {
	b.t.Helper()
	c := b.handle(name)
	b.n++
	inbox := fmt.Sprintf("a.%d", b.n)
	in := b.out.listen(inbox)
	defer b.out.leave(inbox)
	batch := NewAckBatch(c)
	for _, r := range replies {
		batch.Add([]byte(r), []byte(inbox), []byte("+ACK"))
	}
	b.p.Ack(batch, true)
	for range replies {
		select {
		case <-in:
		case <-time.After(20 * time.Second):
			b.t.Fatal("acknowledgement not confirmed")
		}
	}
}

// TestConsumersOfPartitionAgainstModel has consumers with all kinds of filters follow a stream through publishes,
// removals, restarts and power cuts.
func TestConsumersOfPartitionAgainstModel(t *testing.T) {
	configs := map[string]jsapi.ConsumerConfig{
		"all":   {AckPolicy: jsapi.AckExplicit},
		"none":  {AckPolicy: jsapi.AckNone},
		"lit":   {AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"},
		"wild":  {AckPolicy: jsapi.AckExplicit, FilterSubject: "s.b.>"},
		"multi": {AckPolicy: jsapi.AckAll, FilterSubjects: []string{"s.d", "s.e.*"}},
		"last":  {AckPolicy: jsapi.AckExplicit, FilterSubject: "s.>", DeliverPolicy: jsapi.DeliverLastPerSubject},
	}
	var names []string
	for n := range configs {
		names = append(names, n)
	}
	slices.Sort(names)
	rapid.Check(t, func(rt *rapid.T) {
		cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowRollup: true}
		cfg.MaxMsgs = rapid.SampledFrom([]int64{-1, 15}).Draw(rt, "maxMsgs")
		cfg.MaxMsgsPerSubject = rapid.SampledFrom([]int64{-1, 1, 2}).Draw(rt, "perSubject")
		now := &clock{now: 1e9}
		b := openBench(t, vfs.NewMem(), cfg, now, nil)
		defer func() { b.p.Close() }()
		m := &streamModel{cfg: b.cfg, first: 1, ids: map[string]modelID{}}
		acked := map[string]map[uint64]bool{}
		out := map[string][]string{}
		publish := func() {
			var list []testMsg
			for range rapid.IntRange(1, 8).Draw(rt, "n") {
				list = append(list, testMsg{subject: rapid.SampledFrom(modelSubjects).Draw(rt, "subject"), value: "v"})
			}
			b.pubs(list...)
			for _, x := range list {
				m.publish(x, now.read())
			}
		}
		forget := func() {
			clear(out)
		}
		publish()
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				n := rapid.SampledFrom(names).Draw(rt, "name")
				if acked[n] == nil {
					b.consumer(n, configs[n])
					acked[n] = map[uint64]bool{}
				}
			},
			"drop": func(rt *rapid.T) {
				n := rapid.SampledFrom(names).Draw(rt, "name")
				err := b.p.DeleteConsumer(n)
				if (err == nil) != (acked[n] != nil) {
					rt.Fatalf("delete %s: %v", n, err)
				}
				delete(acked, n)
				delete(out, n)
			},
			"publish": func(*rapid.T) { publish() },
			"pull": func(rt *rapid.T) {
				for n := range acked {
					seqs, replies := b.pull(n, rapid.IntRange(1, 6).Draw(rt, "batch"))
					for _, s := range seqs {
						if acked[n][s] {
							rt.Fatalf("%s got %d again though acknowledged", n, s)
						}
						i := slices.IndexFunc(m.msgs, func(x modelMsg) bool { return x.seq == s })
						if i < 0 {
							rt.Fatalf("%s got %d, which is not stored", n, s)
						}
						f := configs[n]
						if fs := f.Filters(); len(fs) > 0 && !slices.ContainsFunc(fs, func(p string) bool { return subject.Match(p, m.msgs[i].subject) }) {
							rt.Fatalf("%s got %d on %s", n, s, m.msgs[i].subject)
						}
					}
					if configs[n].AckPolicy != jsapi.AckNone {
						out[n] = append(out[n], replies...)
					}
				}
			},
			"ack": func(rt *rapid.T) {
				for n, list := range out {
					k := rapid.IntRange(0, len(list)).Draw(rt, "how many")
					b.ackSync(n, list[:k]...)
					for _, r := range list[:k] {
						var d, s uint64
						fmt.Sscanf(r, "%d.%d.", &d, &s)
						acked[n][s] = true
					}
					out[n] = list[k:]
				}
			},
			"purge": func(rt *rapid.T) {
				r := jsapi.PurgeRequest{Subject: rapid.SampledFrom([]string{"", "s.a", "s.b.>"}).Draw(rt, "filter")}
				if rapid.Bool().Draw(rt, "partly") {
					r.Keep = 2
				}
				if _, err := b.p.Purge(&r); err != nil {
					rt.Fatal(err)
				}
				m.purge(&r)
			},
			"delete": func(rt *rapid.T) {
				seq := rapid.Uint64Range(1, m.last+1).Draw(rt, "seq")
				_ = b.p.Delete(seq)
				m.keep(func(x modelMsg) bool { return x.seq != seq })
			},
			"checkpoint": func(rt *rapid.T) {
				b.checkpoint()
				forget() // what was out has expired
			},
			"restart": func(rt *rapid.T) {
				b.close()
				b = b.reopen(b.fs)
				forget()
			},
			"power cut": func(rt *rapid.T) {
				fs := b.fs.CrashClone(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
				b.p.Close()
				b = b.reopen(fs)
				forget()
			},
			"": func(rt *rapid.T) {
				if got := len(b.p.ConsumerNames()); got != len(acked) {
					rt.Fatalf("%d consumers, want %d", got, len(acked))
				}
				for n := range acked {
					cfg := configs[n]
					checkMember(rt, b, m, n, cfg.Filters())
				}
				if faults := b.audit(); len(faults) > 0 {
					rt.Fatalf("%q", faults)
				}
			},
		})
	})
}

func checkMember(t *rapid.T, b *bench, m *streamModel, name string, filters []string) {
	info, err := b.p.ConsumerInfo(name)
	if err != nil {
		t.Fatal(err)
	}
	c := b.handle(name)
	wants := func(x modelMsg) bool {
		return len(filters) == 0 || slices.ContainsFunc(filters, func(p string) bool { return subject.Match(p, x.subject) })
	}
	var want uint64
	if err := b.p.do(func() {
		lasts, resume, _ := c.Lasts()
		from := c.Next()
		if len(lasts) > 0 {
			from = resume + 1
		}
		for _, x := range m.msgs {
			if x.seq >= from && wants(x) || slices.Contains(lasts, x.seq) {
				want++
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if info.NumPending != want {
		t.Fatalf("%s: %d pending, want %d: %+v", name, info.NumPending, want, info)
	}
	if info.AckFloor.Stream > info.Delivered.Stream || info.Delivered.Stream > m.last {
		t.Fatalf("%s: %+v", name, info)
	}
}

func TestConfirmedAckSurvivesPowerCut(t *testing.T) {
	now := &clock{now: 1e9}
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, now, nil)
	defer b.p.Close()
	for i := range 10 {
		b.pub(testMsg{subject: "s.a", value: fmt.Sprint(i)})
	}
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	seqs, replies := b.pull("C", 5)
	if !slices.Equal(seqs, []uint64{1, 2, 3, 4, 5}) {
		t.Fatalf("delivered %v", seqs)
	}
	b.ackSync("C", replies[1], replies[2], replies[4])
	for seed := range uint64(20) {
		r := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(seed, 2))))
		info, err := r.p.ConsumerInfo("C")
		if err != nil {
			t.Fatal(err)
		}
		if info.NumAckPending != 2 || info.AckFloor.Stream != 0 || info.NumPending != 5 || info.Delivered.Stream != 5 {
			t.Fatalf("seed %d: %+v", seed, info)
		}
		now.pass(time.Minute)
		if seqs, _ := r.pull("C", 100); !slices.Equal(seqs, []uint64{1, 4, 6, 7, 8, 9, 10}) {
			t.Fatalf("seed %d: delivered %v after the restart", seed, seqs)
		}
		r.close()
	}
}

func TestVolatileConsumerEndsWithTheProcess(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, nil, nil)
	b.pub(testMsg{subject: "s.a"})
	b.consumer("M", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MemoryStorage: true})
	b.consumer("D", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
	_, replies := b.pull("M", 1)
	b.ackSync("M", replies...)
	b.close()
	b = b.reopen(b.fs)
	defer b.close()
	if names := b.p.ConsumerNames(); !slices.Equal(names, []string{"D"}) {
		t.Fatalf("consumers %v", names)
	}
	if len(b.hooks.found) != 1 || b.hooks.found[0].Name != "D" {
		t.Fatalf("found %v", b.hooks.found)
	}
}

func TestConsumerActions(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxConsumers: 2}, nil, nil)
	defer b.close()
	base := jsapi.ConsumerConfig{Name: "C", Durable: "C", AckPolicy: jsapi.AckExplicit}
	changed := base
	changed.Description = "new"
	refused := base
	refused.AckPolicy = jsapi.AckAll
	other := base
	other.Name, other.Durable = "D", "D"
	third := base
	third.Name, third.Durable = "E", "E"
	for _, tt := range []struct {
		name   string
		action jsapi.Action
		cfg    jsapi.ConsumerConfig
		want   jsapi.Code
	}{
		{"update of nothing", jsapi.ActionUpdate, base, jsapi.ErrConsumerDoesNotExist},
		{"create", jsapi.ActionCreate, base, 0},
		{"create again", jsapi.ActionCreate, base, 0},
		{"create another", jsapi.ActionCreate, changed, jsapi.ErrConsumerAlreadyExists},
		{"same", jsapi.ActionAny, base, 0},
		{"change", jsapi.ActionAny, changed, 0},
		{"update", jsapi.ActionUpdate, base, 0},
		{"ack policy", jsapi.ActionAny, refused, jsapi.ErrConsumerCreate},
		{"second", jsapi.ActionAny, other, 0},
		{"third", jsapi.ActionAny, third, jsapi.ErrMaximumConsumersLimit},
	} {
		_, err := b.p.CreateConsumer(ConsumerRequest{Name: tt.cfg.Name, Config: tt.cfg, Action: tt.action})
		if err == nil && tt.want != 0 || err != nil && err.Code != tt.want {
			t.Errorf("%s: got %v, want %d", tt.name, err, tt.want)
		}
	}
}

// Messages that a filtered consumer had not come to before a crash are still delivered after it.
func TestFilteredConsumerMissesNothingAfterCrash(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	defer b.p.Close()
	b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.a"})
	b.pub(testMsg{subject: "s.a"})
	b.checkpoint()
	b.pub(testMsg{subject: "s.a"})
	r := b.reopen(b.fs.CrashClone(rand.New(rand.NewPCG(1, 1))))
	defer r.close()
	if info, err := r.p.ConsumerInfo("C"); err != nil || info.NumPending != 2 {
		t.Errorf("%+v %v", info, err)
	}
	if seqs, _ := r.pull("C", 10); !slices.Equal(seqs, []uint64{1, 2}) {
		t.Fatalf("delivered %v", seqs)
	}
}
