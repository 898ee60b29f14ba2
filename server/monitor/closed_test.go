package monitor

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ringCIDs(r *ClosedRing) []uint64 {
	var ids []uint64
	r.Each(func(c *Conn) bool { ids = append(ids, c.CID); return true })
	return ids
}

// TestClosedRingModel compares the ring with a plain list.
func TestClosedRingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(-1, 10).Draw(t, "size")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		r := NewClosedRing(size)
		var model []uint64
		for i := range n {
			r.Add(&Conn{CID: uint64(i)})
			model = append(model, uint64(i))
			model = model[max(0, len(model)-max(size, 0)):]
			if got := ringCIDs(r); !slices.Equal(got, model) || r.Len() != len(model) || r.Total() != uint64(i+1) {
				t.Fatalf("got %v (%d of %d), want %v", got, r.Len(), r.Total(), model)
			}
		}
	})
}

func TestClosedRingBoundsSubscriptions(t *testing.T) {
	r := NewClosedRing(8)
	shown := func() (lens []int) {
		r.Each(func(c *Conn) bool {
			if c.NumSubs != uint32(closedSubsMax/4) {
				t.Fatalf("count lost: %d", c.NumSubs)
			}
			lens = append(lens, len(c.Subs))
			return true
		})
		return lens
	}
	const part = closedSubsMax / 4
	first := &Conn{NumSubs: part, Subs: make([]SubDetail, part)}
	r.Add(first)
	for range 3 {
		r.Add(&Conn{NumSubs: part, Subs: make([]SubDetail, part)})
	}
	if got := shown(); !slices.Equal(got, []int{part, part, part, part}) {
		t.Fatal(got)
	}
	for i := range 20 {
		r.Add(&Conn{NumSubs: part, Subs: make([]SubDetail, part)})
		n := min(5+i, 8)
		want := append(make([]int, n-4), part, part, part, part)
		if got := shown(); !slices.Equal(got, want) {
			t.Fatalf("after %d: got %v, want %v", i, got, want)
		}
	}
	if len(first.Subs) != part {
		t.Error("a connection that was given away was written")
	}
	r.Add(&Conn{NumSubs: part, Subs: make([]SubDetail, closedSubsMax+1)})
	if got := shown(); got[7] != 0 || r.mu.subs != 0 {
		t.Errorf("one beyond the bound alone: %v, %d", got, r.mu.subs)
	}
}

func TestClosedRingEachStops(t *testing.T) {
	r := NewClosedRing(3)
	for i := range 5 {
		r.Add(&Conn{CID: uint64(i)})
	}
	var got []uint64
	r.Each(func(c *Conn) bool {
		r.Add(&Conn{CID: 100}) // doesn't block, and isn't seen
		got = append(got, c.CID)
		return len(got) < 2
	})
	if !slices.Equal(got, []uint64{2, 3}) {
		t.Error(got)
	}
}
