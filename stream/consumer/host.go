// Package consumer is one consumer of a partition: its position, what is delivered and not acknowledged, the pull
// requests that wait, what is pushed, and the progress records that make all this durable. It does no I/O and has no
// goroutine and no lock: everything belongs to whoever runs the partition's turn, who passes in the time.
package consumer

import (
	"time"

	"godwit/stream/segment"
)

// Store is what a consumer sees of its partition's messages.
type Store interface {
	// First is the first stored sequence, or the next one to come if there is none.
	First() uint64
	// High is the last sequence that may be delivered; it never decreases.
	High() uint64
	// Epoch grows when a message that is not the first one was removed.
	Epoch() uint64
	// Count returns how many messages are stored with sequences in [from, to].
	Count(from, to uint64) uint64
	// Next returns the first stored sequence at or after seq, or a number above High.
	Next(seq uint64) uint64
	// Reader returns a reader positioned at seq.
	Reader(seq uint64) Reader
	// Read returns one stored message; segment.ErrNotFound if it is not stored.
	Read(seq uint64, r *segment.Record) (time int64, err error)
}

// Reader reads messages in order, removed ones included and damaged ones left out. The slices of a record are shared:
// valid as long as the caller holds them.
type Reader interface {
	// Next returns the next message with a sequence of at most high; ok is false if there is none.
	Next(high uint64, r *segment.Record) (seq uint64, time int64, ok bool)
	Seek(seq uint64)
	// Release gives back the memory that the reader holds; it keeps its place.
	Release()
}

// Output takes what a consumer sends.
type Output interface {
	// Deliver sends m, which shows its own subject, along the subscriptions of to, and returns how many there were.
	// All slices are lent.
	Deliver(to []byte, m *Message) int
	// Interest says whether any subscription matches the literal subject.
	Interest(subject []byte) bool
	// Bound says whether there is a subscription to just this literal subject, in the queue group if one is given, else in
	// none. Those with wildcards, which are for looking on, do not count.
	Bound(subject []byte, group string) bool
}

// Message is one message on its way out. Header is a whole block or empty.
type Message struct {
	Subject, Reply, Header, Payload []byte
}

// Events is told what advisories are about. Calls come from within the consumer's methods.
type Events interface {
	// Exceeded: a message was delivered as often as allowed and not acknowledged.
	Exceeded(c *Consumer, seq uint64, deliveries int)
	// Naked: a pending message was refused by a client.
	Naked(c *Consumer, seq, consumerSeq uint64, deliveries int)
	// Terminated: a message will not be delivered again, for the reason given.
	Terminated(c *Consumer, seq, consumerSeq uint64, deliveries int, reason string)
	// Sampled: a message was acknowledged so long after its delivery, and the configuration wants that measured.
	Sampled(c *Consumer, seq, consumerSeq uint64, deliveries int, took time.Duration)
	// Pinned, Unpinned: a client gets the messages alone from now on, or no longer.
	Pinned(c *Consumer, group, id string)
	Unpinned(c *Consumer, group, reason string)
	// Paused: deliveries are suspended until a time, or go on.
	Paused(c *Consumer, until time.Time, paused bool)
}
