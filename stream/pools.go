package stream

import (
	"sync"

	"godwit/stream/consumer"
)

// Batches go from senders to partitions and back; these pools hold no state but spare memory.
var (
	ackBatches  = sync.Pool{New: func() any { return new(consumer.AckBatch) }}
	pullBatches = sync.Pool{New: func() any { return new(consumer.PullBatch) }}
	getBatches  = sync.Pool{New: func() any { return new(GetBatch) }}
)

// NewAckBatch returns an empty batch for c. Ack takes it.
func NewAckBatch(c *consumer.Consumer) *consumer.AckBatch {
	b := ackBatches.Get().(*consumer.AckBatch)
	b.C = c
	return b
}

// NewPullBatch returns an empty batch for c. Pull takes it.
func NewPullBatch(c *consumer.Consumer) *consumer.PullBatch {
	b := pullBatches.Get().(*consumer.PullBatch)
	b.C = c
	return b
}
