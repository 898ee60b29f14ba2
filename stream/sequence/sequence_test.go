package sequence

import (
	"math"
	"testing"
)

func TestSchemeOfOnePartitionChangesNothing(t *testing.T) {
	for _, s := range []Scheme{{}, {Partitions: 1}} {
		for _, n := range []uint64{0, 1, 7, math.MaxUint64} {
			local, ok := s.Local(n)
			if s.Global(n) != n || local != n || !ok || s.From(n) != n || PartitionOf(n, s.Partitions) != 0 {
				t.Errorf("%+v changes %d", s, n)
			}
		}
	}
}

// Each number of the stream belongs to exactly one partition, and leads back to itself.
func TestNumbersNameTheirPartition(t *testing.T) {
	for _, partitions := range []uint64{2, 3, 200} {
		for global := uint64(1); global < 3000; global++ {
			owners := 0
			for p := range partitions {
				s := Scheme{partitions, p}
				local, ok := s.Local(global)
				if ok {
					owners++
					if s.Global(local) != global || PartitionOf(global, partitions) != int(p) || s.From(global) != local {
						t.Fatalf("%d of %d partitions: partition %d, number %d", global, partitions, p, local)
					}
				}
				from := s.From(global)
				if s.Global(from) < global || from > 1 && s.Global(from-1) >= global {
					t.Fatalf("%+v: from %d on is %d", s, global, from)
				}
			}
			if owners != 1 {
				t.Fatalf("%d belongs to %d of %d partitions", global, owners, partitions)
			}
		}
	}
}

func TestNumbersSaturate(t *testing.T) {
	s := Scheme{Partitions: 200, Partition: 3}
	if got := s.Global(math.MaxUint64); got != math.MaxUint64 {
		t.Errorf("got %d", got)
	}
	if got := s.Global(0); got != 0 {
		t.Errorf("got %d", got)
	}
	if s.From(math.MaxUint64) != (math.MaxUint64-1)/200+1+1 {
		t.Errorf("got %d", s.From(math.MaxUint64))
	}
}
