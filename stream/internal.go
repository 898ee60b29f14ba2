package stream

import (
	"hash/maphash"

	"godwit/stream/segment"
)

// addInternal adds a message that the partition itself makes; the record is lent. Such a batch goes to proposeInternal.
func (b *PubBatch) addInternal(r *segment.Record) {
	b.internal = true
	b.records = segment.AppendRecord(b.records, r)
	b.ends = append(b.ends, uint32(len(b.records)))
	b.hashes = append(b.hashes, maphash.Bytes(b.seed, r.Subject))
	b.replyTo = append(b.replyTo, 0)
}

// proposeInternal appends messages that nobody has to judge, unless no sequences are left. b is given, and may be empty.
func (p *Partition) proposeInternal(b *PubBatch) {
	if len(b.ends) == 0 || p.next >= seqEnd {
		p.free(b)
		return
	}
	b.base = p.next
	b.parts = append(b.parts[:0], b.records)
	b.stored = len(b.ends)
	var r segment.Record
	for i, h := range b.hashes {
		if _, err := segment.ReadRecord(b.record(i), &r); err == nil { // it was encoded here
			b.flying += int64(p.size(&r))
		}
		p.recent.push(h, p.next)
		p.next++
	}
	p.flying.msgs += int64(b.stored)
	p.flying.bytes += b.flying
	p.lastID = p.lastID[:0]
	head := segment.Head{Kind: segment.KindMessages, Time: p.stamp, Base: b.base, Count: uint32(b.stored)}
	f := p.appendBatch(head, b.records)
	f.pubs = append(f.pubs, b)
}

// rewrite encodes a record that is stored instead of one of the batch. r is lent.
func (b *PubBatch) rewrite(r *segment.Record) []byte {
	from := len(b.extra)
	b.extra = segment.AppendRecord(b.extra, r)
	return b.extra[from:len(b.extra):len(b.extra)]
}
