package stream

import (
	"fmt"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

// Who wants a subject is kept once for all subjects with the same answer.
func TestWatchersDoNotGrowWithSubjects(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgs: 10}, &clock{now: 1e9}, nil)
	defer b.close()
	b.consumer("all", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.>"})
	b.consumer("even", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.0.*"})
	b.consumer("one", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.1.7"})
	b.consumer("both", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubjects: []string{"s.1.7", "s.1.9"}})
	for i := range 200 {
		var list []testMsg
		for k := range 50 {
			list = append(list, testMsg{subject: fmt.Sprintf("s.%d.%d", k%2, 50*i+k)})
		}
		b.pubs(list...)
	}
	sets := 0
	if err := b.p.do(func() { sets = len(b.p.watch.sets) }); err != nil {
		t.Fatal(err)
	}
	if sets != 5 { // none, all, with even, with one and both, with both
		t.Fatalf("%d sets", sets)
	}
	for name, want := range map[string]uint64{"all": 10, "even": 5, "one": 0, "both": 0} {
		if info, err := b.p.ConsumerInfo(name); err != nil || info.NumPending != want {
			t.Errorf("%s: %+v %v", name, info, err)
		}
	}
	b.pubs(testMsg{subject: "s.1.7"}, testMsg{subject: "s.1.9"})
	for name, want := range map[string]uint64{"all": 10, "even": 4, "one": 1, "both": 2} {
		if info, err := b.p.ConsumerInfo(name); err != nil || info.NumPending != want {
			t.Errorf("%s: %+v %v", name, info, err)
		}
	}
}

// Consumers that come and go leave no answers behind, and however many sets there are, they have a bound.
func TestWatchersForgetAtTheirBound(t *testing.T) {
	b := openBench(t, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}}, &clock{now: 1e9}, nil)
	defer b.close()
	b.consumer("all", jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.>"})
	b.pub(testMsg{subject: "s.a"})
	if err := b.p.do(func() {
		w := &b.p.watch
		gen := w.gen
		w.sets = append(w.sets, make([][]*member, setsMax)...)
		w.find([]byte("s.b"))
		if len(w.sets) != 2 || len(w.known) != 1 || w.gen == gen {
			t.Errorf("%d sets, %d known", len(w.sets), len(w.known))
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.pubs(testMsg{subject: "s.a"}, testMsg{subject: "s.b"})
	if info, err := b.p.ConsumerInfo("all"); err != nil || info.NumPending != 3 {
		t.Fatalf("%+v %v", info, err)
	}
}

// BenchmarkNewSubjects publishes on ever-new subjects that a pattern matches.
func BenchmarkNewSubjects(b *testing.B) {
	bench := openBench(b, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgs: 100}, &clock{now: 1e9}, nil)
	defer func() { _ = bench.p.Close() }()
	for i := range 10 {
		bench.consumer(fmt.Sprint("C", i), jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: "s.>"})
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		i := bench.p.subjects.add(bench.p.subjects.hash(fmt.Append(nil, n)), fmt.Append(nil, "s.", n))
		bench.p.watch.of(&bench.p.state, i)
		bench.p.subjects.entries[i].count = 1
		bench.p.subjects.removed(i, 1)
	}
	b.ReportMetric(float64(len(bench.p.watch.sets)), "sets")
}

// BenchmarkOverwrites overwrites the value of a key while many consumers of others are there, none of which waits for anything.
func BenchmarkOverwrites(b *testing.B) {
	for _, consumers := range []int{0, 10_000} {
		b.Run(fmt.Sprint(consumers, " consumers"), func(b *testing.B) {
			cfg := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1, Storage: jsapi.MemoryStorage}
			bench := openBench(b, vfs.NewMem(), cfg, &clock{now: 1e9}, func(o *Options) { o.DefaultMaxConsumers = consumers })
			defer func() { _ = bench.p.Close() }()
			bench.pub(testMsg{subject: "s.first"})
			for i := range consumers {
				bench.consumer(fmt.Sprint("C", i), jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: fmt.Sprint("s.other.", i)})
			}
			list := make([]testMsg, 100)
			for i := range list {
				list[i].subject = fmt.Sprint("s.", i)
			}
			for b.Loop() {
				bench.pubs(list...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(list)), "ns/message")
		})
	}
}

// BenchmarkWorkQueueConsumers creates consumers of single subjects in a work queue where others are already.
func BenchmarkWorkQueueConsumers(b *testing.B) {
	for _, there := range []int{0, 10_000} {
		b.Run(fmt.Sprint(there, " there"), func(b *testing.B) {
			bench := openBench(b, vfs.NewMem(), jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Retention: jsapi.WorkQueueRetention}, &clock{now: 1e9},
				func(o *Options) { o.DefaultMaxConsumers = 1 << 30 })
			defer func() { _ = bench.p.Close() }()
			n := 0
			create := func() {
				n++
				bench.consumer(fmt.Sprint("C", n), jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, FilterSubject: fmt.Sprint("s.", n), MemoryStorage: true})
			}
			for range there {
				create()
			}
			for b.Loop() {
				create()
			}
		})
	}
}
