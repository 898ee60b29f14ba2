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
		if err := p.log.Append(h, body...); err != nil {
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

// careful says that every message has to be looked at, not only those with headers that want it.
func (p *Partition) careful() bool {
	c := &p.cfg
	return p.failed || p.drained != nil || c.Sealed || c.MaxMsgSize >= 0 || c.Discard == jsapi.DiscardNew || p.opts.Quota.Limited()
}

// judgeBatch gives the messages of b sequences and adds what is to be stored to p.parts. Refusals go to b.results.
func (p *Partition) judgeBatch(b *PubBatch) {
	if len(b.checks) == 0 && !p.careful() && len(b.records) <= recordMax {
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
	run := -1 // first message of a run of stored ones that is not in parts yet
	kept := b.hashes[:0]
	for i := range b.ends {
		var c *check
		if len(checks) > 0 && checks[0].message == i {
			c, checks = &checks[0], checks[1:]
		}
		r, size := p.judge(b, i, c)
		if r.err == nil && !r.duplicate {
			r.seq = p.next
			p.store(b, i, c, size)
			kept = append(kept, b.hashes[i])
			if run < 0 {
				run = i
			}
		} else if run >= 0 {
			p.parts = append(p.parts, b.run(run, i))
			run = -1
		}
		b.results = append(b.results, r)
	}
	b.hashes, b.stored = kept, len(kept)
	if run >= 0 {
		p.parts = append(p.parts, b.run(run, len(b.ends)))
	}
}

// store notes in the overlay that a message goes into the log as p.next.
func (p *Partition) store(b *PubBatch, i int, c *check, size uint64) {
	p.recent.push(b.hashes[i], p.next)
	p.flying.msgs++
	p.flying.bytes += int64(size)
	b.flying += int64(size)
	p.lastID = p.lastID[:0]
	if c != nil && c.seen&seenMsgID != 0 {
		id := c.msgID.of(b.records)
		p.lastID = append(p.lastID, id...)
		p.dedup.add(p.dedup.hash(id), p.next, p.stamp)
	}
	p.next++
}

// run returns the encoded messages [from, to).
func (b *PubBatch) run(from, to int) []byte {
	at := uint32(0)
	if from > 0 {
		at = b.ends[from-1]
	}
	return b.records[at:b.ends[to-1]]
}
