package consumer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Pages of unresolved messages, one after the other, are all of them, whatever was delivered, resolved and refused.
func TestPagesOfUnresolvedMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pending
		seq, cseq := uint64(0), uint64(0)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1:
				seq += rapid.Uint64Range(1, 4).Draw(t, "gap")
				cseq++
				p.deliver(cseq, seq, int64(cseq))
			case 2:
				p.resolve(rapid.Uint64Range(0, seq+1).Draw(t, "seq"), 0)
			case 3:
				if e := p.take(rapid.Uint64Range(0, seq+1).Draw(t, "seq"), 0); e != nil {
					p.change(e, EntryState(rapid.IntRange(0, 3).Draw(t, "state")), 7)
				}
			case 4:
				p.settle(100)
			}
		}
		want := p.entries(100)
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		var got []Entry
		for from, more := uint64(0), true; more; {
			var list []Entry
			list, more = p.page(from, limit, 100)
			if len(list) > limit || more && len(list) != limit {
				t.Fatalf("%d entries, more %v", len(list), more)
			}
			if got = append(got, list...); more {
				from = list[len(list)-1].Stream + 1
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}
