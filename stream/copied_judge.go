package stream

import (
	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// judgeCopied decides about the i-th message of a batch from another stream, where its headers were checked: what they
// expect of that stream does not matter here, and what this one does not allow is stored and has no effect. Once a message
// is refused, so are all that follow, because they come again after it.
func (p *Partition) judgeCopied(b *PubBatch, i int, c *check) (r result, size uint64) {
	if b.refused != nil {
		return result{err: b.refused}, 0
	}
	r, size = p.judgeSourced(b, i, c)
	b.refused = r.err
	return r, size
}

func (p *Partition) judgeSourced(b *PubBatch, i int, c *check) (r result, size uint64) {
	var rec segment.Record
	if err := b.decode(i, &rec); err != nil {
		return result{err: err}, 0
	}
	if err := p.judgeAny(&rec); err != nil {
		return result{err: err}, 0
	}
	if c.seen&seenMsgID != 0 {
		if seq := p.dedup.find(p.dedup.hash(c.msgID.of(b.records)), p.stamp); seq != 0 {
			return result{seq: seq, duplicate: true}, 0
		}
	}
	if p.cfg.AllowMsgCounter {
		var err *jsapi.Error
		if r.total, err = p.countCopied(b.hashes[i], c, &rec); err != nil {
			return result{err: err}, 0
		}
	}
	if c.seen&seenTTL != 0 && c.ttl != 0 && p.cfg.AllowMsgTTL {
		p.raiseTTL(c, &rec)
	}
	if err := p.judgeLength(&rec); err != nil { // it may have grown
		return result{err: err}, 0
	}
	size = p.size(&rec)
	if err := p.judgeQuota(size); err != nil {
		return result{err: err}, 0
	}
	if err := p.judgeLimits(b.hashes[i], &rec, c, size, 0); err != nil {
		return result{err: err}, 0
	}
	if p.unwanted(&rec) || c.changed {
		r.record = b.rewrite(&rec)
	}
	return r, size
}

// mirrored is what is about to be proposed together for a mirror.
type mirrored struct {
	b       *PubBatch        // nil: nothing
	msgs    int64            // without holes
	bytes   int64            // as stored
	written map[string]int64 // messages by subject; only if somebody asks for them
}

// judge says why a stream that refuses what is new when it is full has no room for a message.
func (g *mirrored) judge(p *Partition, rec *segment.Record) *jsapi.Error {
	if p.cfg.Discard != jsapi.DiscardNew {
		return nil
	}
	p.flying.msgs += g.msgs
	p.flying.bytes += g.bytes
	err := p.judgeLimits(p.subjects.hash(rec.Subject), rec, nil, p.size(rec), g.written[string(rec.Subject)])
	p.flying.msgs -= g.msgs
	p.flying.bytes -= g.bytes
	return err
}

// add takes a message that was judged.
func (g *mirrored) add(p *Partition, rec *segment.Record) {
	g.b.addInternal(rec)
	if p.cfg.Discard != jsapi.DiscardNew {
		return
	}
	g.msgs++
	g.bytes += int64(p.size(rec))
	if p.cfg.MaxMsgsPerSubject > 0 {
		if g.written == nil {
			g.written = map[string]int64{}
		}
		g.written[string(rec.Subject)]++
	}
}

// propose appends what was gathered.
func (g *mirrored) propose(p *Partition) {
	if g.b != nil {
		p.proposeInternal(g.b)
		*g = mirrored{}
	}
}
