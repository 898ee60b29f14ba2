package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/archive"
	"godwit/stream/consumer"
	"godwit/stream/sequence"
	"godwit/stream/vfs"
)

// setBench is the partitions of a stream with their surroundings.
type setBench struct {
	t   testing.TB
	set *Set
	out *testOutput
	cfg jsapi.StreamConfig
	n   int
}

func openSet(t testing.TB, fs *vfs.Mem, cfg jsapi.StreamConfig) *setBench {
	t.Helper()
	cfg.Name, cfg.Subjects = "S", []string{"s.>"}
	if err := CheckConfig(&cfg, Limits{}, false); err != nil {
		t.Fatal(err)
	}
	b := &setBench{t: t, out: newTestOutput(), cfg: cfg}
	quota := &testQuota{}
	set, err := OpenSet(Options{FS: fs, SegmentBytes: 64 << 10, Config: cfg, Created: time.Unix(1, 0), Quota: quota}, func(i int, o *Options) {
		o.Dir, o.Key = fmt.Sprintf("/s/%d", i), [32]byte{1, byte(i)}
		o.Out, o.Refusals, o.Hooks = b.out, b.out, &testHooks{t: t}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Start(); err != nil {
		t.Fatal(err)
	}
	b.set = set
	return b
}

func (b *setBench) close() {
	b.t.Helper()
	if err := b.set.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// pub publishes one message and returns its number.
func (b *setBench) pub(m testMsg) uint64 {
	b.t.Helper()
	b.n++
	reply := fmt.Sprintf("r.%d", b.n)
	in := b.out.listen(reply)
	defer b.out.leave(reply)
	at := b.set.PartitionOf([]byte(m.subject), m.block())
	batch := b.set.At(at).NewBatch()
	batch.Add([]byte(m.subject), []byte(reply), m.block(), []byte(m.value))
	b.set.Publish(at, batch, true, true)
	var ack jsapi.PubAck
	if err := json.Unmarshal((<-in).Payload, &ack); err != nil || ack.Error != nil {
		b.t.Fatalf("%v %v", err, ack.Error)
	}
	if got := sequence.PartitionOf(ack.Sequence, uint64(b.set.Len())); got != at {
		b.t.Fatalf("%s is number %d, of partition %d instead of %d", m.subject, ack.Sequence, got, at)
	}
	return ack.Sequence
}

func (b *setBench) consumer(name string, cfg jsapi.ConsumerConfig) *jsapi.ConsumerInfo {
	b.t.Helper()
	cfg.Durable = name
	info, err := b.set.CreateConsumer(ConsumerRequest{Name: name, Config: cfg})
	if err != nil {
		b.t.Fatal(err)
	}
	return info
}

func (b *setBench) info(name string) *jsapi.ConsumerInfo {
	b.t.Helper()
	info, err := b.set.ConsumerInfo(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return info
}

// parts are the parts of a consumer.
func (b *setBench) parts(name string) (list []*consumer.Consumer, home int) {
	b.t.Helper()
	b.set.First().inTurn(func() {
		if m := b.set.First().members.byName[name]; m != nil {
			list, home = m.c.Parts(), m.c.Home()
		}
	})
	if list == nil {
		b.t.Fatalf("there is no consumer %s", name)
	}
	return list, home
}

// pull sends a pull request and returns where the answers come.
func (b *setBench) pull(name, body string) chan consumer.Message {
	b.t.Helper()
	b.n++
	inbox := fmt.Sprintf("in.%d", b.n)
	in := b.out.listen(inbox)
	parts, home := b.parts(name)
	batch := NewPullBatch(parts[home])
	batch.Add([]byte(inbox), []byte(body), false)
	b.set.At(home).Pull(batch, true)
	return in
}

// ack sends an acknowledgement to the partition of the message.
func (b *setBench) ack(name, subject, payload string) {
	b.t.Helper()
	rest := strings.TrimPrefix(subject, "$JS.ACK.S."+name+".")
	parts, _ := b.parts(name)
	at := sequence.PartitionOf(consumer.AckedSequence([]byte(rest)), uint64(b.set.Len()))
	batch := NewAckBatch(parts[at])
	batch.Add([]byte(rest), nil, []byte(payload))
	b.set.At(at).Ack(batch, true)
}

// got returns what has come, without waiting: messages, and the status that ended the request.
func got(in chan consumer.Message) (msgs []consumer.Message, status string) {
	for {
		select {
		case m := <-in:
			if len(m.Reply) > 0 {
				msgs = append(msgs, m)
			} else {
				status, _, _ = strings.Cut(strings.TrimPrefix(string(m.Header), "NATS/1.0 "), "\r\n")
			}
		default:
			return msgs, status
		}
	}
}

// numbers reads an ack subject: deliveries, stream sequence, consumer sequence, time, pending.
func numbers(t testing.TB, m consumer.Message) (n [5]uint64) {
	t.Helper()
	words := strings.Split(string(m.Reply), ".")
	for i, w := range words[len(words)-5:] {
		var err error
		if n[i], err = strconv.ParseUint(w, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestConsumerSpansPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openSet(t, vfs.NewMem(), jsapi.StreamConfig{Partitions: 7})
		defer b.close()
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MaxAckPending: -1})
		early := b.pull("C", `{"batch":1000,"expires":1000000000}`)
		stored := map[uint64]bool{}
		for i := range 300 {
			stored[b.pub(testMsg{subject: fmt.Sprintf("s.%d", i%50), value: strconv.Itoa(i)})] = true
		}
		synctest.Wait()
		msgs, status := got(early)
		if len(msgs) != 300 || status != "" {
			t.Fatalf("%d messages, status %q", len(msgs), status)
		}
		seen, last := map[uint64]bool{}, map[string]int{}
		for _, m := range msgs {
			n := numbers(t, m)
			if !stored[n[1]] || seen[n[1]] || n[0] != 1 {
				t.Fatalf("%s is not one of those that were stored, or was there", m.Reply)
			}
			seen[n[1]] = true
			at, _ := strconv.Atoi(string(m.Payload))
			if before, ok := last[string(m.Subject)]; ok && at <= before {
				t.Fatalf("%d came after %d on %s", at, before, m.Subject)
			}
			last[string(m.Subject)] = at
		}
		if info := b.info("C"); info.NumAckPending != 300 || info.NumPending != 0 || info.Delivered.Consumer != 300 || info.NumWaiting != 1 || len(info.Partitions) != 7 {
			t.Fatalf("%+v", info)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if msgs, status := got(early); len(msgs) != 0 || status != "408 Request Timeout" {
			t.Fatalf("%d messages, status %q", len(msgs), status)
		}
		for _, m := range msgs {
			b.ack("C", string(m.Reply), "")
		}
		synctest.Wait()
		last300 := b.info("C")
		if last300.NumAckPending != 0 || last300.AckFloor.Consumer != 300 || last300.AckFloor.Stream != last300.Delivered.Stream {
			t.Fatalf("%+v", last300)
		}
		if _, status := got(b.pull("C", `{"batch":1,"no_wait":true}`)); status != "404 No Messages" {
			t.Fatalf("status %q", status)
		}
	})
}

// The bound of unacknowledged messages is that of the whole consumer, and each acknowledgement lets one more go, wherever it is.
func TestMaxAckPendingOverPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openSet(t, vfs.NewMem(), jsapi.StreamConfig{Partitions: 5})
		defer b.close()
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MaxAckPending: 10})
		for i := range 100 {
			b.pub(testMsg{subject: fmt.Sprintf("s.%d", i)})
		}
		in := b.pull("C", `{"batch":100,"expires":3600000000000}`)
		synctest.Wait()
		open, _ := got(in)
		done := 0
		for len(open) > 0 {
			if done+len(open) < 100 && len(open) != 10 {
				t.Fatalf("%d done, %d open", done, len(open))
			}
			b.ack("C", string(open[0].Reply), "")
			done++
			synctest.Wait()
			more, _ := got(in)
			open = append(open[1:], more...)
		}
		if done != 100 {
			t.Fatalf("%d of 100", done)
		}
	})
}

// Whatever clients do: each message is acknowledged once, the bound holds, and no request is forgotten.
func TestSpanningConsumerAtRandom(t *testing.T) {
	for seed := range uint64(25) {
		synctest.Test(t, func(t *testing.T) { spanAtRandom(t, rand.New(rand.NewPCG(seed, 1)), seed) })
	}
}

func spanAtRandom(t *testing.T, random *rand.Rand, seed uint64) {
	partitions := 2 + random.IntN(6)
	limit := 1 + random.IntN(20)
	cfg := jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MaxAckPending: limit, AckWait: 30 * time.Second}
	if random.IntN(2) == 0 {
		cfg.FilterSubject = "s.a.*"
	}
	fs := vfs.NewMem()
	b := openSet(t, fs, jsapi.StreamConfig{Partitions: partitions})
	defer func() { b.close() }()
	b.consumer("C", cfg)
	var requests []chan consumer.Message
	open, acked, want := map[uint64]string{}, map[uint64]bool{}, map[uint64]bool{}
	collect := func() {
		synctest.Wait()
		for _, in := range requests {
			msgs, _ := got(in)
			for _, m := range msgs {
				n := numbers(t, m)
				if acked[n[1]] {
					t.Fatalf("seed %d: %d came again after its acknowledgement", seed, n[1])
				}
				open[n[1]] = string(m.Reply)
			}
		}
		if info := b.info("C"); info.NumAckPending > limit || info.NumAckPending != len(open) {
			t.Fatalf("seed %d: %d open of %d, and the server says %d", seed, len(open), limit, info.NumAckPending)
		}
	}
	pick := func() (uint64, string) {
		keys := make([]uint64, 0, len(open))
		for k := range open {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		k := keys[random.IntN(len(keys))]
		return k, open[k]
	}
	for range 150 {
		switch op := random.IntN(10); {
		case op < 4:
			for range 1 + random.IntN(5) {
				subj := fmt.Sprintf("s.%c.%d", 'a'+rune(random.IntN(2)), random.IntN(30))
				if seq := b.pub(testMsg{subject: subj}); cfg.FilterSubject == "" || subj[2] == 'a' {
					want[seq] = true
				}
			}
		case op < 7:
			requests = append(requests, b.pull("C", fmt.Sprintf(`{"batch":%d,"expires":%d}`, 1+random.IntN(8), time.Duration(1+random.IntN(40))*time.Second)))
		case op < 9 && len(open) > 0:
			seq, reply := pick()
			if random.IntN(3) == 0 {
				delete(open, seq) // it comes again
				b.ack("C", reply, "-NAK")
				synctest.Wait()
				if info := b.info("C"); info.NumAckPending > limit {
					t.Fatalf("seed %d: %+v", seed, info)
				}
				open[seq] = reply
			} else {
				delete(open, seq)
				acked[seq] = true
				b.ack("C", reply, "")
			}
		default:
			time.Sleep(time.Duration(random.IntN(40)) * time.Second)
		}
		collect()
	}
	for range 10_000 {
		if len(acked) == len(want) {
			break
		}
		requests = append(requests, b.pull("C", `{"batch":5,"expires":30000000000}`))
		collect()
		for seq, reply := range open {
			acked[seq] = true
			b.ack("C", reply, "")
		}
		clear(open)
		time.Sleep(time.Second)
		collect()
	}
	if len(acked) != len(want) {
		t.Fatalf("seed %d: %d of %d acknowledged; %+v", seed, len(acked), len(want), b.info("C"))
	}
}

// A client that is pushed to without acknowledgements counts deliveries: there must be no gap, whatever partition they come
// from, and heartbeats name the last one.
func TestPushOverPartitionsCountsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openSet(t, vfs.NewMem(), jsapi.StreamConfig{Partitions: 6})
		defer b.close()
		for i := range 500 {
			b.pub(testMsg{subject: fmt.Sprintf("s.%d", i%40), value: strings.Repeat("x", 20_000)})
		}
		in := b.out.listen("to")
		b.consumer("C", jsapi.ConsumerConfig{DeliverSubject: "to", AckPolicy: jsapi.AckNone, FlowControl: true, Heartbeat: time.Second})
		seen := uint64(0)
		beats := 0
		var last uint64
		for seen < 700 || beats == 0 {
			synctest.Wait()
			select {
			case m := <-in:
				switch head := string(m.Header); {
				case strings.HasPrefix(head, "NATS/1.0 100 FlowControl"):
					parts, home := b.parts("C")
					b.set.At(home).Flow(parts[home], m.Reply, 0)
				case strings.HasPrefix(head, "NATS/1.0 100 Idle"):
					if want := fmt.Sprintf("Nats-Last-Consumer: %d\r\n", seen); !strings.Contains(head, want) {
						t.Fatalf("after %d deliveries: %q", seen, head)
					}
					beats++
				default:
					n := numbers(t, m)
					if seen++; n[2] != seen {
						t.Fatalf("number %d after %d", n[2], seen-1)
					}
					last = n[4]
				}
			default:
				if seen == 500 && beats > 0 {
					if last != 0 {
						t.Fatalf("%d pending after the last message", last)
					}
					beats = 0
					for i := range 200 {
						b.pub(testMsg{subject: fmt.Sprintf("s.%d", i)})
					}
				}
				time.Sleep(time.Second)
			}
		}
	})
}

// What a crash leaves undone in some partitions is done, or undone, at the next start.
func TestConsumersAgreeAfterCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		random := rand.New(rand.NewPCG(7, 7))
		b := openSet(t, fs, jsapi.StreamConfig{Partitions: 4})
		b.pub(testMsg{subject: "s.a"})
		b.consumer("stays", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		b.consumer("changes", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, Description: "before"})
		// Half a creation, half a deletion, half an update, half a change of the stream.
		for _, p := range b.set.parts[1:3] {
			if _, err := p.CreateConsumer(ConsumerRequest{Name: "half", Config: jsapi.ConsumerConfig{Durable: "half", AckPolicy: jsapi.AckExplicit}}); err != nil {
				t.Fatal(err)
			}
		}
		first := b.set.First()
		b.consumer("goes", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		if err := first.DeleteConsumer("goes"); err != nil {
			t.Fatal(err)
		}
		if _, err := first.CreateConsumer(ConsumerRequest{Name: "changes", Config: jsapi.ConsumerConfig{Durable: "changes", AckPolicy: jsapi.AckExplicit, Description: "after"}}); err != nil {
			t.Fatal(err)
		}
		cfg := b.cfg
		cfg.MaxMsgs = 4000
		text, err := json.Marshal(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Reconfigure(text); err != nil {
			t.Fatal(err)
		}
		cut := fs.CrashClone(random)
		b.close()
		b = openSet(t, cut, jsapi.StreamConfig{Partitions: 4})
		defer b.close()
		for i, p := range b.set.parts {
			names := p.ConsumerNames()
			if !slices.Equal(names, []string{"changes", "stays"}) {
				t.Errorf("partition %d has the consumers %v", i, names)
			}
			if info, err := p.ConsumerInfo("changes"); err != nil || info.Config.Description != "after" {
				t.Errorf("partition %d: %+v %v", i, info, err)
			}
			if cfg := p.Config(); cfg.MaxMsgs != 4000 || p.cfg.MaxMsgs != 1000 {
				t.Errorf("partition %d: limit %d, share %d", i, cfg.MaxMsgs, p.cfg.MaxMsgs)
			}
		}
		b.consumer("half", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit})
		in := b.pull("half", `{"batch":1,"expires":1000000000}`)
		synctest.Wait()
		if msgs, _ := got(in); len(msgs) != 1 {
			t.Errorf("%d messages", len(msgs))
		}
	})
}

func TestReadingOverPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openSet(t, vfs.NewMem(), jsapi.StreamConfig{Partitions: 3, AllowDirect: true})
		defer b.close()
		subjects := map[uint64]string{}
		var all []uint64
		for i := range 60 {
			subj := fmt.Sprintf("s.%c.%d", 'a'+rune(i%2), i%10)
			seq := b.pub(testMsg{subject: subj})
			subjects[seq] = subj
			all = append(all, seq)
			time.Sleep(time.Millisecond)
		}
		newest := all[len(all)-1]
		slices.Sort(all)
		// Through the whole stream by number, and through what a pattern matches.
		for _, filter := range []string{">", "s.a.*", "s.b.3"} {
			next, n := uint64(1), 0
			for {
				m, err := b.set.Get(&jsapi.MsgGetRequest{Seq: next, NextFor: filter})
				if err != nil {
					break
				}
				if m.Sequence < next || subjects[m.Sequence] != m.Subject {
					t.Fatalf("%+v from %d on", m, next)
				}
				next = m.Sequence + 1
				n++
			}
			if want := map[string]int{">": 60, "s.a.*": 30, "s.b.3": 6}[filter]; n != want {
				t.Errorf("%s: %d messages, want %d", filter, n, want)
			}
		}
		if m, err := b.set.Get(&jsapi.MsgGetRequest{LastFor: ">"}); err != nil || m.Sequence != newest {
			t.Errorf("last: %+v %v, want %d", m, err, newest)
		}
		for _, seq := range all {
			if m, err := b.set.Get(&jsapi.MsgGetRequest{Seq: seq}); err != nil || m.Subject != subjects[seq] {
				t.Errorf("%d: %+v %v", seq, m, err)
			}
		}
		direct := func(body string) (seqs []uint64, end string) {
			in := b.out.listen("in")
			defer b.out.leave("in")
			if at, ok := b.set.RouteGet([]byte("in"), nil, []byte(body), false); ok {
				g := NewGetBatch()
				g.Add([]byte("in"), nil, []byte(body), false)
				b.set.At(at).Direct(g, true)
			}
			synctest.Wait()
			for {
				select {
				case m := <-in:
					_, rest, found := strings.Cut(string(m.Header), "Nats-Sequence: ")
					if !found {
						return seqs, string(m.Header)
					}
					text, _, _ := strings.Cut(rest, "\r\n")
					seq, err := strconv.ParseUint(text, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					seqs = append(seqs, seq)
				default:
					return seqs, ""
				}
			}
		}
		if seqs, end := direct(`{"seq":1,"batch":100}`); !slices.Equal(seqs, all) || !strings.HasPrefix(end, "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\n") {
			t.Errorf("%v %q", seqs, end)
		}
		if seqs, end := direct(`{"next_by_subj":"s.*.1","batch":4}`); len(seqs) != 4 || !slices.IsSorted(seqs) || !strings.Contains(end, "Nats-Num-Pending: 2\r\n") {
			t.Errorf("%v %q", seqs, end)
		}
		seqs, end := direct(`{"multi_last":["s.a.*"]}`)
		if len(seqs) != 5 || !slices.IsSorted(seqs) || !strings.Contains(end, "Nats-Num-Pending: 0\r\n") {
			t.Errorf("%v %q", seqs, end)
		}
		for _, seq := range seqs {
			if m, err := b.set.Get(&jsapi.MsgGetRequest{LastFor: subjects[seq]}); err != nil || m.Sequence != seq {
				t.Errorf("%d is not the last of %s", seq, subjects[seq])
			}
		}
		if _, end := direct(`{"last_by_subj":"t.*"}`); end != "NATS/1.0 404 Message Not Found\r\n\r\n" {
			t.Errorf("%q", end)
		}
		// What is removed is removed in every partition, and counted once.
		if n, err := b.set.Purge(&jsapi.PurgeRequest{Subject: "s.a.*"}); err != nil || n != 30 {
			t.Errorf("purged %d %v", n, err)
		}
		if err := b.set.Delete(newest); err != nil {
			t.Error(err)
		}
		_, st, total, parts, err := b.set.State(InfoRequest{Deleted: true, Subjects: ">"})
		if err != nil || st.Msgs != 29 || total != 5 || len(parts) != 3 || st.NumSubjects != 5 || len(st.Subjects) != 5 {
			t.Errorf("%+v %d %v", st, total, err)
		}
	})
}

// A backup of several partitions comes back with every message, and with what each consumer has still to do.
func TestBackupOfPartitionsComesBackWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := jsapi.StreamConfig{Partitions: 5, PartitionKey: "tokens:2"}
		b := openSet(t, vfs.NewMem(), cfg)
		defer func() { b.close() }()
		b.consumer("C", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, MaxAckPending: 50})
		var all []uint64
		for i := range 120 {
			all = append(all, b.pub(testMsg{subject: fmt.Sprintf("s.%d.%d", i%17, i%3), value: strconv.Itoa(i), headers: []string{"A: b"}}))
		}
		in := b.pull("C", `{"batch":60,"expires":1000000000}`)
		synctest.Wait()
		msgs, _ := got(in)
		if len(msgs) != 50 {
			t.Fatalf("%d messages", len(msgs))
		}
		left := map[uint64]bool{}
		for _, seq := range all {
			left[seq] = true
		}
		for i, m := range msgs {
			if i%3 > 0 {
				b.ack("C", string(m.Reply), "")
				delete(left, numbers(t, m)[1])
			}
		}
		for _, seq := range all[:10] {
			if err := b.set.Delete(seq); err != nil {
				t.Fatal(err)
			}
			delete(left, seq)
		}
		synctest.Wait()
		k, err := b.set.Backup(true)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := k.Write(&text); err != nil {
			t.Fatal(err)
		}
		k.Close()
		restore := func(fs vfs.FS, cfg jsapi.StreamConfig) error {
			r, err := archive.NewReader(bytes.NewReader(text.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			return Restore(Options{FS: fs, SegmentBytes: 64 << 10, Config: cfg}, func(i int, o *Options) {
				o.Dir, o.Key = fmt.Sprintf("/s/%d", i), [32]byte{1, byte(i)}
			}, r)
		}
		other := b.cfg
		other.Partitions = 4
		if err := restore(vfs.NewMem(), other); err == nil || !strings.Contains(err.Error(), "a stream with 5 partitions, and the configuration has 4") {
			t.Fatalf("other number of partitions: %v", err)
		}
		fs := vfs.NewMem()
		if err := restore(fs, b.cfg); err != nil {
			t.Fatal(err)
		}
		_, before, _, parts, _ := b.set.State(InfoRequest{Deleted: true})
		was := b.set
		b2 := openSet(t, fs, cfg)
		defer b2.close()
		_, after, _, partsAfter, _ := b2.set.State(InfoRequest{Deleted: true})
		before.Consumers, after.Consumers = 0, 0
		if !reflect.DeepEqual(before, after) || !reflect.DeepEqual(parts, partsAfter) {
			t.Fatalf("\nbefore %+v\nafter  %+v", before, after)
		}
		for _, seq := range all[10:] {
			m, err := was.Get(&jsapi.MsgGetRequest{Seq: seq})
			n, err2 := b2.set.Get(&jsapi.MsgGetRequest{Seq: seq})
			if err != nil || err2 != nil || !reflect.DeepEqual(m, n) {
				t.Fatalf("%+v %+v", m, n)
			}
		}
		// What was neither acknowledged nor removed is delivered, and nothing else.
		time.Sleep(time.Minute) // what was out comes again
		for len(left) > 0 {
			in := b2.pull("C", `{"batch":50,"expires":1000000000}`)
			synctest.Wait()
			msgs, _ := got(in)
			if len(msgs) == 0 {
				t.Fatalf("%d messages do not come: %+v", len(left), b2.info("C"))
			}
			for _, m := range msgs {
				seq := numbers(t, m)[1]
				if !left[seq] {
					t.Fatalf("%d was done", seq)
				}
				delete(left, seq)
				b2.ack("C", string(m.Reply), "")
			}
			synctest.Wait()
		}
		if info := b2.info("C"); info.NumPending != 0 || info.NumAckPending != 0 {
			t.Fatalf("%+v", info)
		}
	})
}
