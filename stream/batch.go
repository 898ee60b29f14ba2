package stream

import (
	"bytes"
	"hash/maphash"
	"math/big"
	"sync"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
)

// Attributes of a stored message. They say what apply has to look for in its header.
const (
	attrMsgID     = 1 << iota // it carries a message id
	attrRollupSub             // it replaces all earlier messages of its subject
	attrRollupAll             // it replaces all earlier messages of the stream
	attrTTL                   // it has a time to live of its own
	attrSchedule              // it produces others at times
	attrScheduler             // it was produced by one that does, or ends that
	attrUnwanted              // nobody was interested: only its sequence and its id are used
	attrCopied                // it comes from another stream
)

// PubBatch is what one sender publishes to a partition in one go. The sender builds it and gives it to Publish.
type PubBatch struct {
	records []byte   // encoded messages
	ends    []uint32 // of each in records
	hashes  []uint64 // of each subject
	replies []byte   // reply subjects
	replyTo []uint32 // end of each in replies
	checks  []check  // messages that have more to be looked at, ascending
	results []result // outcomes, if not all are stored in order; see propose
	base    uint64   // sequence of the first stored message
	parts   [][]byte // runs of records that go into the log
	stored  int      // messages in them
	flying  int64    // what they count in the partition's flying.bytes
	at      int64    // when it was published; 0 if nobody counts that
	seed    maphash.Seed
	header  []byte   // scratch
	kept    []uint64 // hashes of the messages that are stored; scratch of propose
	extra   []byte   // records that are stored instead of those sent

	copied    bool               // from another stream; see judgeCopied
	refused   *jsapi.Error       // of a copied one: why nothing more is taken; nil if it is
	internal  bool               // made by the partition itself: it counts for no sender
	transform *subject.Transform // nil: subjects stay as they are
	subject   []byte             // scratch
	followers []follower         // are told what became of messages
}

// result is what became of one message.
type result struct {
	seq       uint64
	err       *jsapi.Error
	duplicate bool
	total     *big.Int // new value of a counter
	record    []byte   // to be stored instead of what was sent; nil for that
	skip      bool     // nothing is stored for it
	commit    *commit  // stored instead of it; nil if it is nothing of the kind
	batch     string   // id of the batch that it ended
	count     uint64   // messages in that
	custom    bool     // bodies are the answers, and no others
	bodies    [][]byte
}

// bufferMax bounds the memory that an unused batch keeps, in bytes.
const bufferMax = 1 << 20

// NewBatch returns an empty batch for this partition.
func (p *Partition) NewBatch() *PubBatch {
	b := p.batches.Get().(*PubBatch)
	b.seed, b.transform = p.subjects.seed, p.transform.Load()
	return b
}

// newBatchPool returns the pool of a partition's batches.
func newBatchPool() *sync.Pool { return &sync.Pool{New: func() any { return &PubBatch{} }} }

// Len is the number of messages.
func (b *PubBatch) Len() int { return len(b.ends) }

// Size is the memory in use, in bytes.
func (b *PubBatch) Size() int { return len(b.records) + len(b.replies) + 32*len(b.ends) }

// Full says that the batch should be published before more is added.
func (b *PubBatch) Full() bool {
	return len(b.ends) >= batchCountMax || len(b.records) >= batchBytesMax
}

// Add takes one message; all slices are lent. header is a whole block or empty.
func (b *PubBatch) Add(subj, reply, header, payload []byte) {
	if b.transform != nil {
		if to, ok := b.transform.Append(b.subject[:0], string(subj)); ok {
			b.subject, subj = to, to
		}
	}
	r := segment.Record{Subject: subj, Value: payload}
	if len(header) > 0 {
		b.header = storeHeader(b.header[:0], header)
		r.Header = b.header
	}
	at := len(b.records)
	b.records = segment.AppendRecord(b.records, &r)
	b.ends = append(b.ends, uint32(len(b.records)))
	b.hashes = append(b.hashes, maphash.Bytes(b.seed, subj))
	b.replies = append(b.replies, reply...)
	b.replyTo = append(b.replyTo, uint32(len(b.replies)))
	fast := bytes.HasSuffix(reply, []byte(fastSuffix))
	if len(header) == 0 && !fast {
		return
	}
	c := check{message: len(b.ends) - 1}
	if len(header) > 0 {
		to := uint32(len(b.records) - len(payload))
		scanHeader(b.records, to-uint32(len(b.header)), to, &c)
	}
	if len(header) > headerBlockMax {
		c.seen |= seenLarge
	}
	if fast {
		c.seen |= seenFast
	}
	if c.seen == 0 {
		return
	}
	b.records[at] = c.attrs(b.records)
	b.checks = append(b.checks, c)
}

// attrs are the attributes of the message that c belongs to.
func (c *check) attrs(b []byte) (a byte) {
	if c.seen&seenMsgID != 0 {
		a |= attrMsgID
	}
	if c.seen&seenRollup != 0 {
		switch string(c.rollup.of(b)) {
		case rollupSubject:
			a |= attrRollupSub
		case rollupAll:
			a |= attrRollupAll
		}
	}
	if c.seen&seenTTL != 0 {
		a |= attrTTL
	}
	if c.seen&seenSchedule != 0 {
		a |= attrSchedule
	}
	if c.seen&seenScheduler != 0 {
		a |= attrScheduler
	}
	if c.seen&seenSource != 0 {
		a |= attrCopied
	}
	return a
}

// record returns the encoded i-th message.
func (b *PubBatch) record(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.records[from:b.ends[i]]
}

// decode reads the i-th message as it was sent.
func (b *PubBatch) decode(i int, rec *segment.Record) *jsapi.Error {
	raw := b.record(i)
	if len(raw) > recordMax {
		return storeFailed("message too large")
	}
	if _, err := segment.ReadRecord(raw, rec); err != nil {
		return storeFailed(err.Error())
	}
	return nil
}

// reply returns the reply subject of the i-th message, empty if it has none.
func (b *PubBatch) reply(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = b.replyTo[i-1]
	}
	return b.replies[from:b.replyTo[i]]
}

// free gives the batch back to its partition.
func (p *Partition) free(b *PubBatch) {
	if cap(b.records) > bufferMax || cap(b.extra) > bufferMax || cap(b.replies) > bufferMax {
		return
	}
	clear(b.results)
	clear(b.parts)
	*b = PubBatch{records: b.records[:0], ends: b.ends[:0], hashes: b.hashes[:0], replies: b.replies[:0],
		replyTo: b.replyTo[:0], checks: b.checks[:0], results: b.results[:0], parts: b.parts[:0], header: b.header[:0], subject: b.subject[:0],
		kept: b.kept[:0], extra: b.extra[:0]}
	p.batches.Put(b)
}
