package consumer

import (
	"encoding/binary"
	"slices"
	"time"

	"godwit/protocol/jsapi"
)

// Archived is a consumer in a backup. The JSON names are those of the archive format.
type Archived struct {
	Config *jsapi.ConsumerConfig `json:"config"`
	State  ArchivedState         `json:"state"`
	// Progress says the same as State and what that has no words for; servers that do not know it leave it out.
	Progress []byte `json:"godwit_progress,omitempty"`
	// Partitions are the Progress of the parts of a consumer that spans partitions; State is then where one that knows
	// nothing of partitions has to begin so that it leaves out nothing.
	Partitions [][]byte `json:"godwit_partitions,omitempty"`
}

// Part returns the consumer's part in one of several partitions. One that the backup does not have begins as a new consumer.
func (a *Archived) Part(partition int) *Archived {
	part := *a
	part.Partitions, part.Progress = nil, nil
	if partition < len(a.Partitions) {
		part.Progress = a.Partitions[partition]
	}
	return &part
}

// ArchivedState is a consumer's position and what it waits for.
type ArchivedState struct {
	Delivered ArchivedPosition `json:"delivered"`
	AckFloor  ArchivedPosition `json:"ack_floor"`
	// Pending are deliveries that are not acknowledged, by stream sequence, and Redelivered how often those were
	// delivered again.
	Pending     map[uint64]ArchivedDelivery `json:"pending,omitempty"`
	Redelivered map[uint64]uint64           `json:"redelivered,omitempty"`
}

// ArchivedPosition is a Position.
type ArchivedPosition struct {
	Consumer uint64 `json:"consumer_seq"`
	Stream   uint64 `json:"stream_seq"`
}

// ArchivedDelivery is one delivery: its consumer sequence and time in ns since 1970.
type ArchivedDelivery struct{ Sequence, Timestamp int64 }

// Archive describes the consumer for a backup. Config is shared.
func (c *Consumer) Archive() *Archived {
	c.follow()
	a := &Archived{Config: c.cfg, Progress: c.AppendState(nil)}
	a.State.Delivered = ArchivedPosition{c.delivered.Consumer, c.delivered.Stream}
	a.State.AckFloor = ArchivedPosition{c.floor.Consumer, c.floor.Stream}
	for _, e := range c.pend.entries(c.ackWait(1)) {
		if a.State.Pending == nil {
			a.State.Pending = map[uint64]ArchivedDelivery{}
		}
		a.State.Pending[e.Stream] = ArchivedDelivery{int64(e.Consumer), max(0, e.Due-c.ackWait(max(1, e.Deliveries)))}
		if e.Deliveries > 1 {
			if a.State.Redelivered == nil {
				a.State.Redelivered = map[uint64]uint64{}
			}
			a.State.Redelivered[e.Stream] = uint64(e.Deliveries - 1)
		}
	}
	return a
}

// Record returns a progress record that states everything. What contradicts itself is left out.
func (a *Archived) Record() []byte {
	if len(a.Progress) > 0 {
		return a.Progress
	}
	s := &a.State
	b := []byte{progressFull}
	for _, n := range []uint64{s.Delivered.Consumer, s.Delivered.Stream, min(s.AckFloor.Consumer, s.Delivered.Consumer), min(s.AckFloor.Stream, s.Delivered.Stream)} {
		b = binary.AppendUvarint(b, n)
	}
	var seqs []uint64
	for seq, d := range s.Pending {
		if seq > s.AckFloor.Stream && seq <= s.Delivered.Stream && d.Sequence > 0 && uint64(d.Sequence) <= s.Delivered.Consumer {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	b = binary.AppendUvarint(b, uint64(len(seqs)))
	last := uint64(0)
	for _, seq := range seqs {
		again := min(s.Redelivered[seq], 1<<20)
		b = appendEntry(b, &Entry{Stream: seq, Consumer: uint64(s.Pending[seq].Sequence), Deliveries: uint32(again + 1), State: Flying}, last)
		last = seq
	}
	return append(b, 0)
}

// CheckProgress says whether a record is well formed.
func CheckProgress(record []byte) error {
	c := New(Options{Config: &jsapi.ConsumerConfig{AckPolicy: jsapi.AckExplicit, AckWait: time.Second}})
	return c.ApplyProgress(record)
}
