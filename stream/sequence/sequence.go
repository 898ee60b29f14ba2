// Package sequence is how the messages of a stream with several partitions are numbered. Each partition counts its own
// messages from 1. Outside, a message has one number that names its partition too, is unique in the stream, and grows
// within the partition:
//
//	sequence = (number in the partition - 1) * partitions + partition + 1
package sequence

import "math"

// Scheme turns the numbers of one partition into those of its stream and back. The zero value is that of a stream with one
// partition, whose numbers are the same.
type Scheme struct {
	Partitions uint64 // how many there are; 0 and 1 are the same
	Partition  uint64 // which one this is, from 0
}

func (s Scheme) one() bool { return s.Partitions <= 1 }

// Several says whether the stream has more than one partition.
func (s Scheme) Several() bool { return !s.one() }

// Global returns the stream's number for one of the partition. 0, which is before the first, stays 0; a number that would
// be too large is the largest one.
func (s Scheme) Global(local uint64) uint64 {
	if s.one() || local == 0 {
		return local
	}
	if local-1 > (math.MaxUint64-s.Partition-1)/s.Partitions {
		return math.MaxUint64
	}
	return (local-1)*s.Partitions + s.Partition + 1
}

// Local returns the partition's number for one of the stream; ok is false if it belongs to another partition.
func (s Scheme) Local(global uint64) (local uint64, ok bool) {
	if s.one() || global == 0 {
		return global, true
	}
	if (global-1)%s.Partitions != s.Partition {
		return 0, false
	}
	return (global-1)/s.Partitions + 1, true
}

// From returns the partition's first number whose counterpart in the stream is at least global.
func (s Scheme) From(global uint64) uint64 {
	if s.one() || global == 0 {
		return global
	}
	local := (global-1)/s.Partitions + 1
	if (global-1)%s.Partitions > s.Partition {
		local++
	}
	return local
}

// PartitionOf returns the partition that a number of a stream belongs to.
func PartitionOf(global, partitions uint64) int {
	if partitions <= 1 || global == 0 {
		return 0
	}
	return int((global - 1) % partitions)
}
