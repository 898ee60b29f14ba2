package stream

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
)

// judge decides about the i-th message of a batch: c is what its headers want, nil for nothing. It returns its size as
// stored. A result without error that is neither a duplicate nor to be skipped is to be stored.
func (p *Partition) judge(b *PubBatch, i int, c *check) (r result, size uint64) {
	switch {
	case b.copied:
		return p.judgeCopied(b, i, c)
	case c != nil && c.seen&seenBatch != 0:
		return p.judgeAtomic(b, i, c), 0
	case c != nil && c.seen&seenFast != 0:
		return p.judgeFast(b, i, c)
	}
	return p.judgeOne(b, i, c)
}

// judgeOne decides about a message by itself, in the protocol's order.
func (p *Partition) judgeOne(b *PubBatch, i int, c *check) (r result, size uint64) {
	var rec segment.Record
	if err := b.decode(i, &rec); err != nil {
		return result{err: err}, 0
	}
	size = p.size(&rec)
	cfg := &p.cfg
	if err := p.judgeAny(&rec); err != nil {
		return result{err: err}, size
	}
	if c != nil {
		if r := p.judgeHeaders(b, i, c, &rec); r.err != nil || r.duplicate {
			return r, size
		}
	}
	if cfg.AllowMsgCounter {
		var err *jsapi.Error
		if r.total, err = p.count(b.hashes[i], c, &rec, nil); err != nil {
			return result{err: err}, size
		}
	}
	if err := p.judgeQuota(size); err != nil {
		return result{err: err}, size
	}
	if c != nil && c.seen&seenTTL != 0 {
		if c.ttl == 0 {
			return result{err: jsapi.Err(jsapi.ErrMessageTTLInvalid)}, size
		}
		p.raiseTTL(c, &rec)
	}
	if c != nil && c.changed {
		size = p.size(&rec)
	}
	if err := p.judgeLimits(b.hashes[i], &rec, c, size, 0); err != nil {
		return result{err: err}, size
	}
	if p.unwanted(&rec) || c != nil && c.changed {
		r.record = b.rewrite(&rec)
	}
	return r, size
}

// ending says that the partition takes nothing more: a write has failed, or it is being closed.
func (p *Partition) ending() bool { return p.failed || p.drained != nil }

func errClosed() *jsapi.Error { return storeFailed("store is closed") }

func storeFailed(text string) *jsapi.Error {
	return jsapi.Err(jsapi.ErrStreamStoreFailed, "err", text)
}

func (p *Partition) judgeHeaders(b *PubBatch, i int, c *check, rec *segment.Record) result {
	refuse := func(code jsapi.Code, details ...string) result { return result{err: jsapi.Err(code, details...)} }
	if c.seen&seenLarge != 0 {
		return refuse(jsapi.ErrStreamHeaderExceedsMaximum)
	}
	if c.seen&seenIncr != 0 {
		if err := p.judgeIncrement(c, rec); err != nil {
			return result{err: err}
		}
	}
	if c.seen&seenExpectStream != 0 && string(c.stream.of(b.records)) != p.name {
		return refuse(jsapi.ErrStreamNotMatch)
	}
	if c.seen&seenTTL != 0 && !p.cfg.AllowMsgTTL && c.ttl != 0 { // a bad value is refused later
		return refuse(jsapi.ErrMessageTTLDisabled)
	}
	if c.seen&seenExpectSubjSeq != 0 {
		if !p.knowsLast(b, c) {
			return refuse(jsapi.ErrStreamExpectedLastSeqPerSubjectInvalid)
		}
		if last := p.opts.numbers.Global(p.lastFor(b, i, c, rec)); last != c.subjSeq {
			return refuse(jsapi.ErrStreamWrongLastSequence, "seq", fmt.Sprint(last))
		}
	} else if c.seen&seenExpectSubj != 0 {
		return refuse(jsapi.ErrStreamExpectedLastSeqPerSubjectInvalid)
	}
	if last := p.opts.numbers.Global(p.next - 1); c.seen&seenExpectSeq != 0 && last != c.seq {
		return refuse(jsapi.ErrStreamWrongLastSequence, "seq", fmt.Sprint(last))
	}
	if c.seen&seenSchedule != 0 {
		if err := p.judgeSchedule(c, rec); err != nil {
			return result{err: err}
		}
	}
	if c.seen&seenScheduler != 0 {
		if err := p.judgeScheduler(rec); err != nil {
			return result{err: err}
		}
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
		} else if v == rollupAll && p.opts.numbers.Several() {
			return refuse(jsapi.ErrStreamRollupFailed, "err", "rollup of all messages is not permitted with several partitions")
		}
	}
	return result{}
}

// knowsLast says whether all messages on the subject that an expectation is about are in this partition.
func (p *Partition) knowsLast(b *PubBatch, c *check) bool {
	if !p.opts.numbers.Several() {
		return true
	}
	if c.seen&seenExpectSubj == 0 {
		return p.key.header == ""
	}
	at, ok := p.key.partitionOf(c.subj.of(b.records), uint32(p.opts.numbers.Partitions))
	return ok && at == int(p.opts.numbers.Partition)
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
	return max(last, p.lastInFlight(string(about)))
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

// lastInFlight looks through the messages in flight, and those that are judged already, for the last one that a pattern
// matches.
func (p *Partition) lastInFlight(pattern string) (last uint64) {
	look := func(parts [][]byte, base uint64) uint64 {
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
			look(b.parts, b.base)
		}
	}
	// The batch being proposed: whole batches before, then the messages of this one that were taken.
	cur := p.cut.batch
	for _, b := range p.proposing {
		if b == cur {
			break
		}
		look(b.parts, b.base)
	}
	if cur != nil {
		base := look(p.parts[p.cut.from:], cur.base)
		if p.cut.run >= 0 {
			look([][]byte{cur.run(p.cut.run, p.cut.at)}, base)
		}
	}
	return last
}

// raiseTTL makes a message live at least as long as the marker that follows it.
func (p *Partition) raiseTTL(c *check, rec *segment.Record) {
	least := int64(p.cfg.SubjectDeleteMarkerTTL / time.Second)
	if c.ttl == ttlNever || c.ttl >= least || p.cfg.MaxMsgsPerSubject == 1 {
		return
	}
	rec.Header = setHeader(nil, rec.Header, hdrTTL, strconv.FormatInt(least, 10))
	c.changed = true
}

// seqEnd is the first sequence that no message gets: a purge may leave a stream that would go on there. Behind it there is room
// for what passes one check together.
const seqEnd = math.MaxUint64 - 1<<24

// judgeNext says whether a message may be stored as seq.
func judgeNext(seq uint64) *jsapi.Error {
	if seq >= seqEnd {
		return storeFailed("no sequences are left")
	}
	return nil
}

// judgeAny makes the checks that every message has to pass, wherever it comes from.
func (p *Partition) judgeAny(rec *segment.Record) *jsapi.Error {
	switch {
	case p.ending():
		return errClosed()
	case p.cfg.Sealed:
		return jsapi.Err(jsapi.ErrStreamSealed)
	}
	if err := judgeNext(p.next); err != nil {
		return err
	}
	return p.judgeLength(rec)
}

// judgeLength checks a message against max_msg_size.
func (p *Partition) judgeLength(rec *segment.Record) *jsapi.Error {
	if p.cfg.MaxMsgSize >= 0 && len(rec.Header)+len(rec.Value) > int(p.cfg.MaxMsgSize) {
		return jsapi.Err(jsapi.ErrStreamMessageExceedsMaximum)
	}
	return nil
}

// judgeQuota checks what account and server have room for.
func (p *Partition) judgeQuota(size uint64) *jsapi.Error {
	if q := p.opts.Quota; q.Limited() {
		return q.Admit(p.flying.bytes + int64(size))
	}
	return nil
}

// judgeLimits checks what the stream has room for. more is how many messages of the subject come before in the same go.
func (p *Partition) judgeLimits(hash uint64, rec *segment.Record, c *check, size uint64, more int64) *jsapi.Error {
	cfg := &p.cfg
	if cfg.Discard != jsapi.DiscardNew {
		return nil
	}
	replaces := false
	if cfg.MaxMsgsPerSubject > 0 {
		n := p.recent.count(hash) + more
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
