package stream

import (
	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// propose checks messages, gives them sequences and appends them as few batches. Refused ones keep their place among
// the answers.
func (p *Partition) propose(pubs []*PubBatch) {
	for len(pubs) > 0 {
		n, bytes, count := 0, 0, 0
		for n < len(pubs) && (n == 0 || bytes+len(pubs[n].records) <= batchBytesMax && count+len(pubs[n].ends) <= batchCountMax) {
			bytes += len(pubs[n].records)
			count += len(pubs[n].ends)
			n++
		}
		p.proposeBatch(pubs[:n])
		pubs = pubs[n:]
	}
}

// proposeBatch appends messages as one batch.
func (p *Partition) proposeBatch(pubs []*PubBatch) {
	base := p.next
	p.parts, p.proposing = p.parts[:0], pubs
	for _, b := range pubs {
		b.base = p.next
		from := len(p.parts)
		p.judgeBatch(b)
		b.parts = append(b.parts[:0], p.parts[from:]...)
	}
	count := p.next - base
	if count == 0 {
		f := p.flights.push(p.index)
		f.pubs = append(f.pubs, pubs...)
		return
	}
	head := segment.Head{Kind: segment.KindMessages, Time: p.stamp, Base: base, Count: uint32(count)}
	f := p.appendBatch(head, p.parts...)
	f.pubs = append(f.pubs, pubs...)
	clear(p.parts)
	p.proposing = nil
}

// appendBatch appends a batch to the log and returns its place in the queue. If the log fails, everything in flight
// will be refused, this batch too.
func (p *Partition) appendBatch(h segment.Head, body ...[]byte) *flight {
	h.Index, h.Term = p.index+1, 1
	if !p.failed {
		write := p.log.Append
		if p.cfg.Compression == jsapi.S2Compression {
			write = p.log.AppendPacked
		}
		if err := write(h, body...); err != nil {
			p.fail(err)
		} else {
			p.appended = true
			for _, b := range body {
				p.ckpt.bytes += len(b)
			}
		}
	}
	p.index++
	f := p.flights.push(p.index)
	f.head = h
	return f
}

// careful says that every message of b has to be looked at, not only those with headers that want it.
func (p *Partition) careful(b *PubBatch) bool {
	c := &p.cfg
	if p.ending() || c.Sealed || c.MaxMsgSize >= 0 || c.Discard == jsapi.DiscardNew || c.Retention == jsapi.InterestRetention ||
		c.AllowMsgCounter || len(b.records) > recordMax || p.next >= seqEnd {
		return true
	}
	q := p.opts.Quota
	return q.Limited() && q.Admit(p.flying.bytes+int64(len(b.records)+storedMax*len(b.ends))) != nil
}

// storedMax is how much more a message counts with, at most, than it takes in a batch, in bytes.
const storedMax = 34

// judgeBatch gives the messages of b sequences and adds what is to be stored to p.parts. Refusals go to b.results.
func (p *Partition) judgeBatch(b *PubBatch) {
	if len(b.checks) == 0 && !p.careful(b) {
		for _, h := range b.hashes {
			p.recent.push(h, p.next)
			p.next++
		}
		p.flying.msgs += int64(len(b.ends))
		b.stored = len(b.ends)
		p.lastID = p.lastID[:0]
		p.parts = append(p.parts, b.records)
		return
	}
	checks := b.checks
	p.cut = cut{batch: b, from: len(p.parts), run: -1}
	b.kept = b.kept[:0]
	for i := range b.ends {
		var c *check
		if len(checks) > 0 && checks[0].message == i {
			c, checks = &checks[0], checks[1:]
		}
		p.cut.at = i
		r, size := p.judge(b, i, c)
		switch {
		case r.commit != nil:
			r = p.storeCommit(b, i, r.commit)
		case r.err != nil || r.duplicate || r.skip:
			p.endRun(i)
		case r.record != nil:
			p.endRun(i)
			p.parts = append(p.parts, r.record)
			r.seq = p.store(b, b, i, c, size)
		default:
			r.seq = p.store(b, b, i, c, size)
			if p.cut.run < 0 {
				p.cut.run = i
			}
		}
		if r.total != nil && r.err == nil && !r.duplicate && r.batch == "" {
			p.noteTotal(r.record, r.total, r.seq)
		}
		b.results = append(b.results, r)
	}
	p.endRun(len(b.ends))
	p.cut = cut{}
	b.hashes, b.kept = b.kept, b.hashes
	b.stored = len(b.hashes)
}

// cut is how far judgeBatch is with its batch.
type cut struct {
	batch *PubBatch
	from  int // its first part among the partition's parts
	at    int // message that is judged
	run   int // first message of a run of stored ones that is not in parts yet; -1 if there is none
}

// endRun adds the run of stored messages before message i to the parts.
func (p *Partition) endRun(i int) {
	if p.cut.run >= 0 {
		p.parts = append(p.parts, p.cut.batch.run(p.cut.run, i))
		p.cut.run = -1
	}
}

// store notes in the overlay that the i-th message of src goes into the log, as part of b, and returns its sequence.
func (p *Partition) store(b, src *PubBatch, i int, c *check, size uint64) (seq uint64) {
	p.recent.push(src.hashes[i], p.next)
	b.kept = append(b.kept, src.hashes[i])
	p.flying.msgs++
	p.flying.bytes += int64(size)
	b.flying += int64(size)
	p.lastID = p.lastID[:0]
	if c != nil && c.seen&seenMsgID != 0 {
		id := c.msgID.of(src.records)
		p.lastID = append(p.lastID, id...)
		p.dedup.add(p.dedup.hash(id), p.next, p.stamp)
	}
	p.next++
	return p.next - 1
}

// run returns the encoded messages [from, to).
func (b *PubBatch) run(from, to int) []byte {
	at := uint32(0)
	if from > 0 {
		at = b.ends[from-1]
	}
	return b.records[at:b.ends[to-1]]
}
