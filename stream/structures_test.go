package stream

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"godwit/protocol/subject"
)

func TestSeqSetAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s seqSet
		m := map[uint64]bool{}
		low := uint64(1)
		seq := rapid.Uint64Range(1, 3*blockSeqs)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n := max(low, seq.Draw(t, "seq"))
				if got := s.add(n); got == m[n] {
					t.Fatalf("add %d: %v", n, got)
				}
				m[n] = true
			},
			"run": func(t *rapid.T) {
				from := max(low, seq.Draw(t, "from"))
				for n := from; n < from+uint64(rapid.IntRange(1, blockSeqs).Draw(t, "n")); n++ {
					s.add(n)
					m[n] = true
				}
			},
			"drop": func(t *rapid.T) {
				to := max(low, seq.Draw(t, "to"))
				s.dropBelow(low, to)
				for n := range m {
					if n < to {
						delete(m, n)
					}
				}
				low = to
			},
			"encode": func(t *rapid.T) {
				d := decoder{b: s.appendTo(nil)}
				var again seqSet
				if err := again.decode(&d); err != nil || len(d.b) > 0 {
					t.Fatalf("decode: %v, %d bytes left", err, len(d.b))
				}
				s = again
			},
			"": func(t *rapid.T) {
				at := max(low, seq.Draw(t, "at"))
				if s.has(at) != m[at] {
					t.Fatalf("has %d: %v", at, s.has(at))
				}
				next := at
				for m[next] {
					next++
				}
				if got := s.next(at); got != next {
					t.Fatalf("next of %d is %d, want %d", at, got, next)
				}
				to := at + uint64(rapid.IntRange(0, 2*blockSeqs).Draw(t, "len"))
				var n uint64
				var list []uint64
				for k := range m {
					if k >= at && k <= to {
						n++
						list = append(list, k)
					}
				}
				if got := s.count(at, to); got != n {
					t.Fatalf("count %d to %d is %d, want %d", at, to, got, n)
				}
				slices.Sort(list)
				var got []uint64
				s.each(at, to, func(k uint64) bool { got = append(got, k); return true })
				if !slices.Equal(got, list) {
					t.Fatalf("each %d to %d: %d members, want %d", at, to, len(got), len(list))
				}
			},
		})
	})
}

// A set of consecutive members costs next to nothing.
func TestSeqSetFullBlocksAreSmall(t *testing.T) {
	var s seqSet
	for n := uint64(blockSeqs); n < 11*blockSeqs; n++ {
		s.add(n)
	}
	for k, b := range s.blocks {
		if b.bits != nil {
			t.Fatalf("full block %d has a bitmap", k)
		}
	}
	if n := len(s.appendTo(nil)); n > 100 {
		t.Fatalf("%d bytes encoded", n)
	}
}

func TestSubjectTableAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := subjectTable{seed: maphash.MakeSeed()}
		lists := rapid.Bool().Draw(t, "lists")
		if lists {
			table.lists = [][]seqBytes{}
		}
		m := map[string][]uint64{}
		seq := uint64(0)
		name := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("s.%d.%s", rapid.IntRange(0, 40).Draw(t, "n"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tail"))
		})
		find := func(s string) int { return table.find(table.hash([]byte(s)), []byte(s)) }
		t.Repeat(map[string]func(*rapid.T){
			"touch": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "n") {
					s := name.Draw(t, "name")
					seq++
					table.touch(find(s), table.hash([]byte(s)), []byte(s), seq, 10)
					m[s] = append(m[s], seq)
				}
			},
			"remove": func(t *rapid.T) {
				s := name.Draw(t, "name")
				if len(m[s]) == 0 {
					return
				}
				k := rapid.IntRange(0, len(m[s])-1).Draw(t, "which")
				table.removed(find(s), m[s][k])
				if m[s] = slices.Delete(m[s], k, k+1); len(m[s]) == 0 {
					delete(m, s)
				}
			},
			"compact": func(*rapid.T) { table.compact() },
			"encode": func(t *rapid.T) {
				if lists {
					return // they are made from the log
				}
				d := decoder{b: table.appendTo(nil)}
				if err := table.decode(&d); err != nil || len(d.b) > 0 {
					t.Fatalf("decode: %v", err)
				}
			},
			"": func(t *rapid.T) {
				if table.len() != len(m) {
					t.Fatalf("%d subjects, want %d", table.len(), len(m))
				}
				for s, l := range m {
					i := find(s)
					if i < 0 || string(table.name(i)) != s {
						t.Fatalf("%s not found", s)
					}
					e := &table.entries[i]
					if e.count != uint64(len(l)) || e.first > l[0] || e.last < l[len(l)-1] {
						t.Fatalf("%s: %+v, want %v", s, e, l)
					}
					if (lists || !e.lastStale) && e.last != l[len(l)-1] {
						t.Fatalf("%s: last is %d, want %v", s, e.last, l)
					}
				}
				for _, filter := range []string{"", ">", "s.*.a", "s.3.a", "s.4.*", "x"} {
					want := 0
					for s := range m {
						if filter == "" || subject.Match(filter, s) {
							want++
						}
					}
					got := 0
					table.match(filter, func(int) bool { got++; return true })
					if got != want {
						t.Fatalf("%q matches %d, want %d", filter, got, want)
					}
				}
			},
		})
	})
}

func TestDedupAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window = 1000
		d := dedup{window: window}
		type sent struct {
			seq  uint64
			time int64
		}
		m := map[string]sent{}
		now, seq := int64(1), uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 300).Draw(t, "id"))
				h := d.hash([]byte(id))
				var want uint64
				if s, ok := m[id]; ok && now-s.time < window {
					want = s.seq
				}
				if got := d.find(h, now); got != want {
					t.Fatalf("%s: %d, want %d", id, got, want)
				}
				if want == 0 {
					seq++
					d.add(h, seq, now)
					m[id] = sent{seq, now}
				}
			},
			"time": func(t *rapid.T) { now += int64(rapid.IntRange(1, window).Draw(t, "step")) },
			"encode": func(t *rapid.T) {
				dec := decoder{b: d.appendTo(nil, seq, now)}
				if err := d.decode(&dec); err != nil || len(dec.b) > 0 {
					t.Fatalf("decode: %v", err)
				}
			},
			"": func(t *rapid.T) {
				if n := d.young.n + d.elder.n; n > 2*301 {
					t.Fatalf("%d ids remembered", n)
				}
			},
		})
	})
}

func TestCommandsSurviveTheLog(t *testing.T) {
	for _, c := range []*command{
		{op: opConfig, text: []byte(`{"name":"S"}`)},
		{op: opExpire, seq: 7},
		{op: opPurge, filter: "a.>", seq: 1 << 60, keep: 3},
		{op: opDelete, seq: 9},
		{op: opConsumerCreate, name: "C", text: []byte("{}")},
		{op: opConsumerUpdate, seq: 12, text: []byte("{}")},
		{op: opConsumerDelete, seq: 12},
	} {
		b := c.appendTo(nil)
		got, err := decodeCommand(b)
		if err != nil || got.op != c.op || got.seq != c.seq || got.keep != c.keep || got.filter != c.filter || got.name != c.name ||
			!bytes.Equal(got.text, c.text) {
			t.Errorf("%+v came back as %+v, %v", c, got, err)
		}
		for cut := range b {
			if _, err := decodeCommand(b[:cut]); err == nil {
				t.Errorf("%+v cut to %d bytes was taken", c, cut)
			}
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add((&command{op: opPurge, filter: "a.>", seq: 5, keep: 3}).appendTo(nil))
	f.Add((&command{op: opConsumerCreate, name: "C", text: []byte("{}")}).appendTo(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCommand(b)
		if err != nil {
			return
		}
		again, err := decodeCommand(c.appendTo(nil))
		if err != nil || again.op != c.op || again.seq != c.seq || again.filter != c.filter {
			t.Fatalf("%+v came back as %+v, %v", c, again, err)
		}
	})
}
