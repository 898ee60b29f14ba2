package stream

import (
	"fmt"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
)

// judge decides about the i-th message of a batch, in the protocol's order: c is what its headers want, nil for
// nothing. It returns its size as stored. A result without error and not a duplicate is to be stored.
func (p *Partition) judge(b *PubBatch, i int, c *check) (r result, size uint64) {
	raw := b.record(i)
	if len(raw) > recordMax {
		return result{err: storeFailed("message too large")}, 0
	}
	var rec segment.Record
	if _, err := segment.ReadRecord(raw, &rec); err != nil {
		return result{err: storeFailed(err.Error())}, 0
	}
	size = p.size(&rec)
	cfg := &p.cfg
	switch {
	case p.failed || p.drained != nil:
		return result{err: storeFailed("store is closed")}, size
	case cfg.Sealed:
		return result{err: jsapi.Err(jsapi.ErrStreamSealed)}, size
	case cfg.MaxMsgSize >= 0 && len(rec.Header)+len(rec.Value) > int(cfg.MaxMsgSize):
		return result{err: jsapi.Err(jsapi.ErrStreamMessageExceedsMaximum)}, size
	}
	if c != nil {
		if r := p.judgeHeaders(b, i, c, &rec); r.err != nil || r.duplicate {
			return r, size
		}
	}
	if err := p.judgeLimits(b.hashes[i], &rec, c, size); err != nil {
		return result{err: err}, size
	}
	return result{}, size
}

func storeFailed(text string) *jsapi.Error {
	return jsapi.Err(jsapi.ErrStreamStoreFailed, "err", text)
}

func (p *Partition) judgeHeaders(b *PubBatch, i int, c *check, rec *segment.Record) result {
	refuse := func(code jsapi.Code, details ...string) result { return result{err: jsapi.Err(code, details...)} }
	if c.seen&seenLarge != 0 {
		return refuse(jsapi.ErrStreamHeaderExceedsMaximum)
	}
	if c.seen&seenBatch != 0 {
		return refuse(jsapi.ErrAtomicPublishDisabled)
	}
	if c.seen&seenIncr != 0 {
		return refuse(jsapi.ErrMessageIncrDisabled)
	}
	if c.seen&seenExpectStream != 0 && string(c.stream.of(b.records)) != p.name {
		return refuse(jsapi.ErrStreamNotMatch)
	}
	if c.seen&seenTTL != 0 {
		if c.badTTL {
			return refuse(jsapi.ErrMessageTTLInvalid)
		}
		return refuse(jsapi.ErrMessageTTLDisabled)
	}
	if c.seen&seenExpectSubjSeq != 0 {
		if last := p.lastFor(b, i, c, rec); last != c.subjSeq {
			return refuse(jsapi.ErrStreamWrongLastSequence, "seq", fmt.Sprint(last))
		}
	} else if c.seen&seenExpectSubj != 0 {
		return refuse(jsapi.ErrStreamExpectedLastSeqPerSubjectInvalid)
	}
	if c.seen&seenExpectSeq != 0 && p.next-1 != c.seq {
		return refuse(jsapi.ErrStreamWrongLastSequence, "seq", fmt.Sprint(p.next-1))
	}
	if c.seen&seenSchedule != 0 {
		return refuse(jsapi.ErrMessageSchedulesDisabled)
	}
	if c.seen&seenScheduler != 0 {
		return refuse(jsapi.ErrMessageSchedulesSchedulerInvalid)
	}
	if c.seen&seenSource != 0 {
		return refuse(jsapi.ErrMessageSourceHdrNotAllowed)
	}
	if c.seen&seenMsgID != 0 {
		if seq := p.dedup.find(p.dedup.hash(c.msgID.of(b.records)), p.stamp); seq != 0 {
			return result{seq: seq, duplicate: true}
		}
	}
	if c.seen&seenExpectMsgID != 0 && string(c.lastID.of(b.records)) != string(p.lastID) {
		return refuse(jsapi.ErrStreamWrongLastMsgID, "id", string(p.lastID))
	}
	if c.seen&seenRollup != 0 {
		if !p.cfg.AllowRollup || p.cfg.DenyPurge {
			return refuse(jsapi.ErrStreamRollupFailed, "err", "rollup not permitted")
		}
		if v := string(c.rollup.of(b.records)); v != rollupSubject && v != rollupAll {
			return refuse(jsapi.ErrStreamRollupFailed, "err", fmt.Sprintf("rollup value invalid: %q", v))
		}
	}
	return result{}
}

// lastFor returns the last sequence on the subject that a message's expectation is about, what is in flight included.
func (p *Partition) lastFor(b *PubBatch, i int, c *check, rec *segment.Record) uint64 {
	if c.seen&seenExpectSubj == 0 {
		return p.lastOn(b.hashes[i], rec.Subject)
	}
	about := c.subj.of(b.records)
	if !subject.HasWildcard(about) {
		return p.lastOn(p.subjects.hash(about), about)
	}
	last := uint64(0)
	p.subjects.match(string(about), func(i int) bool {
		last = max(last, p.lastOf(i))
		return true
	})
	return max(last, p.lastInFlight(string(about), b, i))
}

func (p *Partition) lastOn(hash uint64, subj []byte) uint64 {
	if seq := p.recent.find(hash, p.last); seq > 0 {
		return seq
	}
	if i := p.subjects.find(hash, subj); i >= 0 {
		return p.lastOf(i)
	}
	return 0
}

// lastInFlight looks through the messages in flight, and those of cur before message n, for the last one that a pattern
// matches.
func (p *Partition) lastInFlight(pattern string, cur *PubBatch, n int) (last uint64) {
	look := func(b *PubBatch, parts [][]byte, base uint64) uint64 {
		var r segment.Record
		for _, part := range parts {
			for len(part) > 0 {
				size, err := segment.ReadRecord(part, &r)
				if err != nil {
					return base
				}
				if subject.Match(pattern, r.Subject) {
					last = max(last, base)
				}
				base++
				part = part[size:]
			}
		}
		return base
	}
	for k := p.flights.head; k < len(p.flights.list); k++ {
		for _, b := range p.flights.list[k].pubs {
			look(b, b.parts, b.base)
		}
	}
	// The batch being proposed: whole batches before, then the messages of this one that were taken.
	for _, b := range p.proposing {
		if b == cur {
			break
		}
		look(b, b.parts, b.base)
	}
	for i, r := range cur.results[:min(n, len(cur.results))] {
		if r.err == nil && !r.duplicate {
			look(cur, [][]byte{cur.record(i)}, r.seq)
		}
	}
	return last
}

// judgeLimits checks what there is room for.
func (p *Partition) judgeLimits(hash uint64, rec *segment.Record, c *check, size uint64) *jsapi.Error {
	if q := p.opts.Quota; q.Limited() {
		if err := q.Admit(p.flying.bytes + int64(size)); err != nil {
			return err
		}
	}
	cfg := &p.cfg
	if cfg.Discard != jsapi.DiscardNew {
		return nil
	}
	replaces := false
	if cfg.MaxMsgsPerSubject > 0 {
		n := p.recent.count(hash)
		i := p.subjects.find(hash, rec.Subject)
		if i >= 0 {
			n += int64(p.subjects.entries[i].count)
		}
		if n >= cfg.MaxMsgsPerSubject {
			if cfg.DiscardNewPerSubject && (c == nil || c.seen&seenRollup == 0) {
				return storeFailed("maximum messages per subject exceeded")
			}
			replaces = true
		}
	}
	if cfg.MaxMsgs > 0 && int64(p.msgs)+p.flying.msgs >= cfg.MaxMsgs && !replaces {
		return storeFailed("maximum messages exceeded")
	}
	if cfg.MaxBytes > 0 && int64(p.bytes)+p.flying.bytes+int64(size) > cfg.MaxBytes && !replaces {
		return storeFailed("maximum bytes exceeded")
	}
	return nil
}
