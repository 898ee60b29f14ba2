package stream

import (
	"sync/atomic"
	"time"

	"godwit/stream/consumer"
	"godwit/stream/latency"
)

// Stats counts for monitoring. Partitions share it; a nil one counts nothing.
type Stats struct {
	// Publish is how long messages took from their publish to its acknowledgement.
	Publish latency.Histogram
	// Deliver is how old messages were when they were delivered for the first time: one of those that a consumer gets at once.
	Deliver latency.Histogram
	// Refused are messages for which the mailbox of a partition had no room.
	Refused atomic.Uint64
}

func (s *Stats) refused(n int) {
	if s != nil {
		s.Refused.Add(uint64(n))
	}
}

// acknowledged counts a batch that was answered.
func (s *Stats) acknowledged(b *PubBatch) {
	if s != nil && b.at > 0 && !b.internal {
		s.Publish.Observe(time.Duration(time.Now().UnixNano()-b.at), len(b.ends))
	}
}

// delivered counts one of the messages that c has got.
func (s *Stats) delivered(c *consumer.Consumer) {
	if t := c.TakeNewest(); t > 0 && s != nil {
		s.Deliver.Observe(time.Duration(time.Now().UnixNano()-t), 1)
	}
}
