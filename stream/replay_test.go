package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/vfs"
)

// books are everything that a replay has to come to, one line for each thing.
func books(p *Partition, ids []string) []string {
	out := []string{fmt.Sprintf("first %d last %d messages %d bytes %d time %d next %d id %q", p.first, p.last, p.msgs, p.bytes, p.lastTime, p.next, p.appliedID())}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for seq := p.first; seq <= p.last; seq++ {
		if p.has(seq) {
			add("message %d pinned %v", seq, seq < p.ttl.floor || p.ttl.pinned.has(seq))
		}
	}
	p.subjects.match("", func(i int) bool {
		last := p.lastOf(i)
		e := &p.subjects.entries[i]
		add("subject %s: %d to %d of %d bytes", p.subjects.name(i), e.count, last, e.bytes)
		return true
	})
	for _, id := range ids {
		add("id %s: %d", id, p.dedup.find(p.dedup.hash([]byte(id)), p.stamp))
	}
	for _, list := range [][]expiry{p.ttl.heap, p.ttl.taken} {
		for _, e := range list {
			if p.has(e.seq) {
				add("message %d ends at %d", e.seq, e.at)
			}
		}
	}
	for seq, t := range p.timers.bySeq {
		if p.has(seq) {
			add("schedule %d of %s: due %d", seq, t.subject, t.due)
		}
	}
	config, _ := json.Marshal(&p.cfg)
	add("configuration %s", config)
	for id, m := range p.members.byID {
		if id < volatileIDs {
			add("consumer %d %s %s: %x", id, m.c.Name, m.config, m.c.AppendState(nil))
		}
	}
	slices.Sort(out)
	return out
}

// quiet waits until all progress is logged and nothing is in flight, while no time passes.
func (b *bench) quiet() {
	b.t.Helper()
	b.settled()
	b.inTurn(func() {
		for _, m := range b.p.members.byID {
			if m.c.AckFloor(); !m.c.Volatile { // it looks at what was removed at the beginning
				b.p.dirty(m)
			}
		}
		b.p.logProgress()
	})
	for busy := true; busy; {
		b.inTurn(func() { busy = b.p.flights.len() > 0 || b.p.appended })
		runtime.Gosched()
	}
}

// replayed opens what is on a disk and returns its books.
func (b *bench) replayed(fs *vfs.Mem, ids []string) []string {
	b.t.Helper()
	p, err := openQuiet(Options{Dir: "/s/0", FS: fs, Key: [32]byte{1}, Config: b.cfg, Created: time.Unix(1, 0), SegmentBytes: b.p.opts.SegmentBytes})
	if err != nil {
		b.t.Fatal(err)
	}
	b.inTurn(func() { p.stamp = b.p.stamp })
	list := books(p, ids)
	if err := p.log.Close(); err != nil {
		b.t.Fatal(err)
	}
	return list
}

// withoutCheckpoints removes them, so that all of the log is replayed.
func withoutCheckpoints(t *testing.T, fs *vfs.Mem) *vfs.Mem {
	t.Helper()
	list, err := fs.ReadDir("/s/0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasSuffix(e.Name, ".checkpoint") {
			if err := fs.Remove(path.Join("/s/0", e.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return fs
}

// difference is the first line in which two lists differ, empty if none does.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%s\nwant\n%s", g, w)
		}
	}
	return ""
}

// A crash, a replay of the log and a replay behind a checkpoint come to the same as the live partition, whatever was in
// flight at the same time.
func TestReplayComesToTheSame(t *testing.T) {
	for range 24 {
		seed := rand.Uint64()
		if text := os.Getenv("GODWIT_REPLAY_SEED"); text != "" { // which goroutine comes first is up to the scheduler even so
			var err error
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(fmt.Sprintf("GODWIT_REPLAY_SEED=%d", seed), func(t *testing.T) {
			replayRound(t, rand.New(rand.NewPCG(seed, 0)), seed%2 == 0)
		})
	}
}

// replayRound lets several clients work at once, again and again. whole: all of the log stays, so that it can be replayed from
// its beginning.
func replayRound(t *testing.T, random *rand.Rand, whole bool) {
	now := &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()}
	oneOf := func(list ...int64) int64 { return list[random.IntN(len(list))] }
	cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowRollup: true, AllowMsgTTL: true, AllowMsgSchedules: true, AllowAtomicPublish: true,
		Retention:              []jsapi.Retention{jsapi.LimitsRetention, jsapi.InterestRetention, jsapi.WorkQueueRetention}[random.IntN(3)],
		SubjectDeleteMarkerTTL: time.Duration(oneOf(0, 2e9)),
		MaxMsgs:                oneOf(-1, 30), MaxMsgsPerSubject: oneOf(-1, 1, 3), MaxAge: time.Duration(oneOf(0, 3e9)), Duplicates: 2 * time.Second}
	if !whole && random.IntN(3) == 0 { // segments of compressed batches are rewritten to erase something
		cfg.Compression = jsapi.S2Compression
	}
	b := openBench(t, vfs.NewMem(), cfg, now, func(o *Options) {
		o.SegmentBytes = 4 << 10
		if whole {
			o.SegmentBytes = 64 << 20
		}
	})
	d := &disturbance{b: b, random: random, acks: map[string][]string{}}
	for range 25 {
		d.several()
		now.pass(time.Duration(random.IntN(800)) * time.Millisecond)
		if random.IntN(6) == 0 {
			b.checkpoint()
		}
		if random.IntN(3) > 0 {
			continue
		}
		b.quiet()
		var want []string
		b.inTurn(func() { want = books(b.p, d.ids) })
		cut := func() *vfs.Mem { return b.fs.CrashClone(rand.New(rand.NewPCG(random.Uint64(), 1))) }
		if diff := difference(b.replayed(cut(), d.ids), want); diff != "" {
			t.Fatalf("%+v: after a power cut:\n%s", b.cfg, diff)
		}
		if whole {
			if diff := difference(b.replayed(withoutCheckpoints(t, cut()), d.ids), want); diff != "" {
				t.Fatalf("%+v: from the beginning of the log:\n%s", b.cfg, diff)
			}
		}
		if random.IntN(4) == 0 {
			fs := cut()
			_ = b.p.Close()
			b = b.reopen(fs)
			d.b = b
			clear(d.acks)
		}
		if faults := b.audit(); len(faults) > 0 {
			t.Fatalf("%+v: %q", b.cfg, faults)
		}
	}
	b.close()
}

// disturbance does what clients do, without looking at the answers.
type disturbance struct {
	b      *bench
	random *rand.Rand
	ids    []string
	n      int

	mu   sync.Mutex
	acks map[string][]string // reply subjects of deliveries by consumer
}

// several lets some clients do something in the same turn, or in those that follow.
func (d *disturbance) several() {
	gate := make(chan struct{})
	d.b.p.box.call(func() { <-gate }, false)
	var work sync.WaitGroup
	for range 1 + d.random.IntN(5) {
		work.Go(d.operation())
	}
	for range d.random.IntN(50) {
		runtime.Gosched()
	}
	close(gate)
	work.Wait()
}

var replayConsumers = []string{"A", "B", "C", "V"}

// operation draws something to do.
func (d *disturbance) operation() func() {
	p, r := d.b.p, d.random
	subj := func() string { return fmt.Sprint("s.", r.IntN(5)) }
	name := replayConsumers[r.IntN(len(replayConsumers))]
	seq := func() uint64 { last := p.stats.last.Load(); return last - min(last, uint64(r.IntN(25))) }
	switch k := r.IntN(20); {
	case k < 7:
		var list []testMsg
		for range 1 + r.IntN(6) {
			d.n++
			m := testMsg{subject: subj(), value: strings.Repeat("v", r.IntN(200))}
			switch r.IntN(10) {
			case 0, 1:
				id := fmt.Sprint("id", max(1, d.n-r.IntN(3)))
				d.ids = append(d.ids, id)
				m.headers = append(m.headers, "Nats-Msg-Id: "+id)
			case 2:
				m.headers = append(m.headers, fmt.Sprintf("Nats-TTL: %ds", 1+r.IntN(3)))
			case 3:
				m.headers = append(m.headers, "Nats-TTL: never")
			case 4:
				m.headers = append(m.headers, "Nats-Rollup: sub")
			case 5:
				m.headers = append(m.headers, "Nats-Schedule: @every 1s", "Nats-Schedule-Target: s.4")
				m.subject = fmt.Sprint("s.schedule.", r.IntN(2))
			}
			list = append(list, m)
		}
		return func() { d.publish(list) }
	case k < 8:
		return func() { d.publish([]testMsg{{subject: "s.0", headers: []string{"Nats-Rollup: all"}}}) }
	case k < 10:
		at, erase := seq(), r.IntN(2) == 0
		return func() {
			if erase {
				_ = p.Erase(at)
			} else {
				_ = p.Delete(at)
			}
		}
	case k < 11:
		req := &jsapi.PurgeRequest{Subject: []string{"", "s.>", subj()}[r.IntN(3)]}
		switch r.IntN(3) {
		case 0:
			req.Keep = uint64(1 + r.IntN(4))
		case 1:
			req.Sequence = seq()
		}
		return func() { _, _ = p.Purge(req) }
	case k < 14:
		cc := jsapi.ConsumerConfig{Name: name, AckPolicy: jsapi.AckExplicit, AckWait: time.Second, MaxDeliver: int(1 + r.Int64N(3)), MemoryStorage: name == "V"}
		cc.Durable = name
		if name != "A" || d.b.cfg.Retention == jsapi.WorkQueueRetention {
			cc.FilterSubject = map[string]string{"A": "s.0", "B": "s.1", "C": "s.*.*", "V": "s.2"}[name]
			if r.IntN(3) == 0 {
				cc.FilterSubject = map[string]string{"A": "s.0", "B": "s.3", "C": "s.schedule.*", "V": "s.2"}[name]
			}
		} else if r.IntN(3) == 0 {
			cc.DeliverPolicy = jsapi.DeliverLastPerSubject
			cc.FilterSubject = ">"
		}
		return func() { _, _ = p.CreateConsumer(ConsumerRequest{Name: name, Config: cc}) }
	case k < 15 && r.IntN(2) == 0:
		return func() { _ = p.DeleteConsumer(name) }
	case k < 16:
		at := seq()
		return func() { _, _, _ = p.ResetConsumer(name, at) }
	case k < 17:
		cfg := d.b.cfg
		cfg.MaxMsgs = []int64{-1, 10, 30}[r.IntN(3)]
		cfg.MaxMsgsPerSubject = []int64{-1, 1, 2, 3}[r.IntN(4)]
		if cfg.Retention != jsapi.WorkQueueRetention {
			cfg.Retention = []jsapi.Retention{jsapi.LimitsRetention, jsapi.InterestRetention}[r.IntN(2)]
		}
		d.b.cfg.Retention = cfg.Retention
		return func() {
			if text, err := json.Marshal(&cfg); err == nil {
				_ = p.Reconfigure(text)
			}
		}
	case k < 18:
		return func() { d.pull(name, 4) }
	}
	how := []string{"+ACK", "+ACK", "+ACK", "-NAK", "-NAK 300ms", "+TERM", "+WPI"}[r.IntN(7)]
	return func() {
		d.pull(name, 2)
		d.acknowledge(name, how)
	}
}

func (d *disturbance) publish(list []testMsg) {
	batch := d.b.p.NewBatch()
	for _, m := range list {
		batch.Add([]byte(m.subject), nil, m.block(), []byte(m.value))
	}
	d.b.p.Publish(batch, true)
	_ = d.b.p.do(func() {})
}

// pull takes some messages and remembers their reply subjects.
func (d *disturbance) pull(name string, n int) {
	p := d.b.p
	var m *member
	inbox := "pulled." + name
	in := d.b.out.listen(inbox)
	_ = p.do(func() {
		if m = p.members.byName[name]; m != nil {
			batch := NewPullBatch(m.c)
			batch.Add([]byte(inbox), fmt.Appendf(nil, `{"batch":%d,"no_wait":true}`, n), false)
			p.takePulls([]*consumer.PullBatch{batch})
		}
	})
	if m == nil {
		return
	}
	_ = p.do(func() {})
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(in) > 0 {
		if msg := <-in; len(msg.Reply) > 0 {
			d.acks[name] = append(d.acks[name], strings.TrimPrefix(string(msg.Reply), "$JS.ACK.S."+name+"."))
		}
	}
}

// acknowledge answers the oldest deliveries of a consumer that it has not answered.
func (d *disturbance) acknowledge(name, how string) {
	p := d.b.p
	d.mu.Lock()
	list := d.acks[name]
	n := min(len(list), 2)
	d.acks[name] = list[n:]
	d.mu.Unlock()
	_ = p.do(func() {
		if m := p.members.byName[name]; m != nil && n > 0 {
			batch := NewAckBatch(m.c)
			for _, reply := range list[:n] {
				batch.Add([]byte(reply), nil, []byte(how))
			}
			p.takeAcks([]*consumer.AckBatch{batch})
		}
	})
}
