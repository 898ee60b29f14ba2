package stream

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"godwit/protocol/jsapi"
	"godwit/stream/vfs"
)

func counterStream() jsapi.StreamConfig {
	return jsapi.StreamConfig{Name: "S", Subjects: []string{"c.>"}, AllowMsgCounter: true, Sources: []*jsapi.StreamSource{{Name: "A"}, {Name: "B"}}}
}

// counted is a counter's message as a source gives it to a stream.
func counted(origin string, seq uint64, incr, total int, subj string) Copied {
	m := testMsg{headers: []string{fmt.Sprint("Nats-Incr: ", incr), fmt.Sprintf("%s: %s %d > > there.%s aaaaaaaa", HeaderSource, origin, seq, subj)}}
	return Copied{Subject: []byte("c." + subj), Header: m.block(), Value: fmt.Appendf(nil, `{"val":"%d"}`, total), Seq: seq}
}

// What is stored for counters of other streams, as the protocol has it.
func TestCountersOfOtherStreams(t *testing.T) {
	b := openBench(t, vfs.NewMem(), counterStream(), &clock{now: 1e18}, nil)
	defer func() { b.close() }()
	give := func(list ...Copied) {
		t.Helper()
		if err := b.p.Source(list); err != nil {
			t.Fatal(err)
		}
	}
	give(counted("A", 1, 5, 5, "x"), counted("B", 1, 7, 7, "x"))
	if ack := b.pub(incr("c.x", "100")); ack.Value != "112" {
		t.Errorf("own increment: %+v", ack)
	}
	b.close()
	b = b.reopen(b.fs)
	give(counted("A", 4, -2, 3, "x")) // two were not seen
	var got []string
	for seq := uint64(1); seq <= 4; seq++ {
		m, _ := b.get(jsapi.MsgGetRequest{Seq: seq})
		got = append(got, fmt.Sprintf("%s %s %s", m.Data, headerValue(m.Header, hdrIncr), headerValue(m.Header, hdrCounterSources)))
	}
	want := []string{
		`{"val":"5"} 5 {"A":{"there.x":"5"}}`,
		`{"val":"12"} 7 {"A":{"there.x":"5"},"B":{"there.x":"7"}}`,
		`{"val":"112"} 100 {"A":{"there.x":"5"},"B":{"there.x":"7"}}`,
		`{"val":"110"} -2 {"A":{"there.x":"3"},"B":{"there.x":"7"}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("stored\n%q\nwant\n%q", got, want)
	}
	for _, bad := range []Copied{sourced(9, "c.x", "no total", "Nats-Incr: 1"), sourced(9, "c.x", `{"val":"1"}`)} {
		if err := b.p.Source([]Copied{bad}); err == nil {
			t.Errorf("taken: %s %s", bad.Header, bad.Value)
		}
	}
}

// A counter is the sum of what is added to it and to the counters that it is made of, whichever of their messages arrive.
func TestCountersOfOtherStreamsAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := openBench(t, vfs.NewMem(), counterStream(), &clock{now: 1e18}, nil)
		defer func() { b.close() }()
		type key struct{ origin, subj string }
		there, seen, own, seqs := map[key]int{}, map[key]int{}, map[string]int{}, map[string]uint64{}
		rt.Repeat(map[string]func(*rapid.T){
			"copy": func(rt *rapid.T) {
				var list []Copied
				origin := rapid.SampledFrom([]string{"A", "B"}).Draw(rt, "origin")
				for range rapid.IntRange(1, 5).Draw(rt, "n") {
					k := key{origin, rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "subject")}
					by := rapid.IntRange(-9, 9).Draw(rt, "by")
					there[k] += by
					seqs[origin]++
					if rapid.IntRange(0, 3).Draw(rt, "lost") > 0 { // else removed there before it was copied
						list = append(list, counted(origin, seqs[origin], by, there[k], k.subj))
						seen[k] = there[k]
					}
				}
				if err := b.p.Source(list); err != nil {
					rt.Fatal(err)
				}
			},
			"own": func(rt *rapid.T) {
				subj := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "subject")
				by := rapid.IntRange(-9, 9).Draw(rt, "by")
				b.pubs(incr("c."+subj, fmt.Sprint(by)), incr("c."+subj, "1"))
				own[subj] += by + 1
			},
			"restart": func(*rapid.T) {
				b.close()
				b = b.reopen(b.fs)
			},
			"": func(rt *rapid.T) {
				for _, subj := range []string{"x", "y"} {
					want := own[subj] + seen[key{"A", subj}] + seen[key{"B", subj}]
					got := "0"
					if m, ok := b.get(jsapi.MsgGetRequest{LastFor: "c." + subj}); ok {
						got = decodeCounter(m.Data).String()
					}
					if got != fmt.Sprint(want) {
						rt.Fatalf("%s is %s, want %d", subj, got, want)
					}
				}
			},
		})
	})
}
