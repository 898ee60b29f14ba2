package jetstream

import (
	"bytes"
	"cmp"

	"godwit/protocol/subject"
	"godwit/server/router"
	"godwit/stream"
	"godwit/stream/consumer"
	"godwit/stream/sequence"
)

// longAcks receives acknowledgements on subjects of the second form, which name the domain and the account:
//
//	$JS.ACK.<domain, or _>.<account hash>.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>
//
// More words may follow. Both forms are always understood; deliveries show the second one with Options.LongAcks.
type longAcks struct{ s *Stream }

// longAckSubject is where they arrive.
func (s *Stream) longAckSubject() string {
	return "$JS.ACK." + s.account.ackDomain() + ".*." + s.name + ".>"
}

func (a *Account) ackDomain() string { return cmp.Or(a.service.opts.Domain, "_") }

// ackPlace is what the subjects of acknowledgements and flow control have before the stream.
func (a *Account) ackPlace() string {
	if !a.service.opts.LongAcks {
		return ""
	}
	return a.ackDomain() + "." + subject.Hash8(a.name) + "."
}

// NewBatch implements router.Receiver.
func (r *longAcks) NewBatch() router.Batch { return &longAckBatch{s: r.s} }

type longAckBatch struct {
	s      *Stream
	open   []longAckOpen // one for each consumer, or part of one, that acknowledgements are for
	client bool
}

// words of the subject, counted from 0.
const (
	longAckConsumer = 5
	longAckNumbers  = 5 // behind the consumer
)

// Add implements router.Batch.
func (b *longAckBatch) Add(m *router.Message) {
	words := bytes.Split(m.Subject, []byte("."))
	if len(words) < longAckConsumer+1+longAckNumbers {
		return
	}
	c := b.s.consumer(string(words[longAckConsumer]))
	if c == nil {
		return
	}
	b.client = m.From != nil
	rest := bytes.Join(words[longAckConsumer+1:longAckConsumer+1+longAckNumbers], []byte("."))
	at := 0
	if b.s.set.Several() {
		at = sequence.PartitionOf(consumer.AckedSequence(rest), uint64(b.s.set.Len()))
		c = c.Parts()[at]
	}
	for _, o := range b.open {
		if o.C == c {
			o.Add(rest, m.Reply, m.Payload)
			return
		}
	}
	o := longAckOpen{stream.NewAckBatch(c), at}
	o.Add(rest, m.Reply, m.Payload)
	b.open = append(b.open, o)
}

// longAckOpen is what is gathered for one partition.
type longAckOpen struct {
	*consumer.AckBatch
	partition int
}

// Flush implements router.Batch.
func (b *longAckBatch) Flush() {
	for _, o := range b.open {
		b.s.set.At(o.partition).Ack(o.AckBatch, b.client)
	}
	clear(b.open)
	b.open = b.open[:0]
}
