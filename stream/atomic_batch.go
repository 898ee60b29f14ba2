package stream

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// atomicBatch gathers messages that are stored together or not at all.
type atomicBatch struct {
	id   string
	msgs *PubBatch // of its own
	used int64     // when the last one came
}

func (a *atomicBatch) bytes() int { return len(a.msgs.records) }

// commit is the end of an atomic batch: what goes into the log in place of the message that ends it.
type commit struct {
	id    string
	items []commitItem

	// What the members before have done.
	written map[string]int64    // messages by subject
	ids     map[string]struct{} // message ids
	totals  map[string]*big.Int
	size    uint64
}

type commitItem struct {
	src    *PubBatch
	i      int
	c      *check
	record []byte
	size   uint64
	total  *big.Int
}

// judgeAtomic takes a message of an atomic batch: it is staged, or ends the batch.
func (p *Partition) judgeAtomic(b *PubBatch, i int, c *check) result {
	refuse := func(code jsapi.Code, details ...string) result { return result{err: jsapi.Err(code, details...)} }
	switch {
	case p.ending():
		return result{err: errClosed()}
	case p.cfg.Sealed:
		return refuse(jsapi.ErrStreamSealed)
	case !p.cfg.AllowAtomicPublish:
		return refuse(jsapi.ErrAtomicPublishDisabled)
	}
	id := string(c.batchID.of(b.records))
	if len(id) > batchIDMax {
		return refuse(jsapi.ErrAtomicPublishInvalidBatchID)
	}
	a := p.open.atomic[id]
	give := func(reason string, code jsapi.Code, details ...string) result {
		switch {
		case a != nil && reason != "":
			p.abandon(a, reason)
		case a != nil:
			p.open.dropAtomic(a)
		}
		return refuse(code, details...)
	}
	seq, err := strconv.ParseUint(string(c.batchSeq.of(b.records)), 10, 64)
	if err != nil {
		return give("", jsapi.ErrAtomicPublishMissingSeq)
	}
	end := string(c.batchCommit.of(b.records))
	if end != "" && end != commitThis && end != commitBefore {
		return give("", jsapi.ErrAtomicPublishInvalidBatchCommit)
	}
	if a == nil {
		if seq != 1 {
			return refuse(jsapi.ErrAtomicPublishIncompleteBatch)
		}
		if end == commitBefore {
			p.batchAbandoned(id, "incomplete")
			return refuse(jsapi.ErrAtomicPublishIncompleteBatch)
		}
		if a = p.beginAtomic(id); a == nil {
			return refuse(jsapi.ErrAtomicPublishTooManyInflight)
		}
	} else if seq != uint64(len(a.msgs.ends))+1 {
		return give("incomplete", jsapi.ErrAtomicPublishIncompleteBatch)
	}
	if end != commitBefore {
		if limit := p.open.limits.Messages; len(a.msgs.ends) >= limit || p.open.staged+len(b.record(i)) > stagedMax {
			return give("large", jsapi.ErrAtomicPublishTooLargeBatch, "size", strconv.Itoa(limit))
		}
		if err := p.stage(a, b.record(i)); err != nil {
			return give("", err.Code, "err", "message cannot be read")
		}
	}
	if end == "" {
		return result{skip: true, custom: true, bodies: [][]byte{nil}}
	}
	p.open.dropAtomic(a)
	return p.judgeCommit(b, a, end == commitBefore)
}

// beginAtomic opens a batch, nil if there are too many.
func (p *Partition) beginAtomic(id string) *atomicBatch {
	if len(p.open.atomic) >= p.open.limits.Atomic || !take(&p.open.limits.Budget.atomic, atomicBatchesMax) {
		return nil
	}
	a := &atomicBatch{id: id, msgs: &PubBatch{seed: p.subjects.seed}, used: p.now}
	p.open.atomic[id] = a
	return a
}

// stage adds an encoded message to a batch.
func (p *Partition) stage(a *atomicBatch, record []byte) *jsapi.Error {
	var r segment.Record
	if _, err := segment.ReadRecord(record, &r); err != nil {
		return storeFailed(err.Error())
	}
	header := r.Header
	if hasHeader(header, jsapi.HeaderRequiredLevel) {
		header = dropHeader(nil, header, jsapi.HeaderRequiredLevel)
	}
	before := a.bytes()
	a.msgs.Add(r.Subject, nil, header, r.Value)
	p.open.staged += a.bytes() - before
	a.used = p.now
	p.batchUsed()
	return nil
}

// judgeCommit checks all members of a batch. If one is refused, nothing is stored.
func (p *Partition) judgeCommit(b *PubBatch, a *atomicBatch, mark bool) result {
	cm := &commit{id: a.id, written: map[string]int64{}, ids: map[string]struct{}{}, totals: map[string]*big.Int{}}
	checks := a.msgs.checks
	for k := range a.msgs.ends {
		var c *check
		if len(checks) > 0 && checks[0].message == k {
			c, checks = &checks[0], checks[1:]
		}
		var rec segment.Record
		raw := a.msgs.record(k)
		if _, err := segment.ReadRecord(raw, &rec); err != nil {
			return result{err: storeFailed(err.Error())}
		}
		item := commitItem{src: a.msgs, i: k, c: c, record: raw}
		if err := p.judgeMember(cm, &item, k, &rec); err != nil {
			return result{err: err}
		}
		changed := c != nil && c.changed
		if mark && k == len(a.msgs.ends)-1 {
			rec.Header = setHeader(nil, rec.Header, hdrBatchCommit, commitThis)
			changed = true
		}
		if p.unwanted(&rec) || changed {
			item.record = b.rewrite(&rec)
		}
		item.size = p.size(&rec)
		cm.size += item.size
		cm.written[string(rec.Subject)]++
		cm.items = append(cm.items, item)
	}
	return result{commit: cm}
}

// judgeMember checks one member of a batch, k counted from 0.
func (p *Partition) judgeMember(cm *commit, item *commitItem, k int, rec *segment.Record) *jsapi.Error {
	cfg, src, c := &p.cfg, item.src, item.c
	if err := judgeNext(p.next); err != nil {
		return err
	}
	if err := p.judgeLength(rec); err != nil {
		return err
	}
	hash := src.hashes[item.i]
	if c != nil {
		if err := p.judgeMemberHeaders(cm, item, k, rec); err != nil {
			return err
		}
	}
	if cfg.AllowMsgCounter {
		var err *jsapi.Error
		if item.total, err = p.count(hash, c, rec, cm.totals[string(rec.Subject)]); err != nil {
			return err
		}
		cm.totals[string(rec.Subject)] = item.total
	}
	size := p.size(rec)
	if err := p.judgeQuota(cm.size + size); err != nil {
		return err
	}
	p.flying.msgs += int64(k)
	p.flying.bytes += int64(cm.size)
	err := p.judgeLimits(hash, rec, c, size, cm.written[string(rec.Subject)])
	p.flying.msgs -= int64(k)
	p.flying.bytes -= int64(cm.size)
	return err
}

func (p *Partition) judgeMemberHeaders(cm *commit, item *commitItem, k int, rec *segment.Record) *jsapi.Error {
	src, c := item.src, item.c
	written := func(subj []byte) bool { return cm.written[string(subj)] > 0 }
	if c.seen&seenLarge != 0 {
		return jsapi.Err(jsapi.ErrStreamHeaderExceedsMaximum)
	}
	if c.seen&seenIncr != 0 {
		if err := p.judgeIncrement(c, rec); err != nil {
			return err
		}
	}
	if c.seen&seenExpectStream != 0 && string(c.stream.of(src.records)) != p.name {
		return jsapi.Err(jsapi.ErrStreamNotMatch)
	}
	if c.seen&seenTTL != 0 {
		switch {
		case !p.cfg.AllowMsgTTL:
			return jsapi.Err(jsapi.ErrMessageTTLDisabled)
		case c.ttl == 0:
			return jsapi.Err(jsapi.ErrMessageTTLInvalid)
		}
		p.raiseTTL(c, rec)
	}
	if c.seen&seenExpectMsgID != 0 {
		return jsapi.Err(jsapi.ErrAtomicPublishUnsupportedHeaderBatch, "header", hdrExpectMsgID)
	}
	if c.seen&seenMsgID != 0 {
		id := string(c.msgID.of(src.records))
		if _, twice := cm.ids[id]; twice || p.dedup.find(p.dedup.hash([]byte(id)), p.stamp) != 0 {
			return jsapi.Err(jsapi.ErrAtomicPublishContainsDuplicateMessage)
		}
		cm.ids[id] = struct{}{}
	}
	if c.seen&seenSource != 0 {
		return jsapi.Err(jsapi.ErrMessageSourceHdrNotAllowed)
	}
	if c.seen&seenExpectSeq != 0 {
		if k > 0 {
			return jsapi.Err(jsapi.ErrStreamWrongLastSequenceConstant)
		}
		if last := p.opts.numbers.Global(p.next - 1); last != c.seq {
			return jsapi.Err(jsapi.ErrStreamWrongLastSequence, "seq", fmt.Sprint(last))
		}
	}
	if err := p.judgeMemberSubject(cm, item, rec); err != nil {
		return err
	}
	if c.seen&seenSchedule != 0 {
		if err := p.judgeSchedule(c, rec); err != nil {
			return err
		}
	}
	if c.seen&seenScheduler != 0 {
		if err := p.judgeScheduler(rec); err != nil {
			return err
		}
	}
	if c.seen&seenRollup == 0 {
		return nil
	}
	v := string(c.rollup.of(src.records))
	why := ""
	switch {
	case !p.cfg.AllowRollup || p.cfg.DenyPurge:
		why = "rollup not permitted"
	case v != rollupSubject && v != rollupAll:
		why = fmt.Sprintf("rollup value invalid: %q", v)
	case v == rollupAll && k > 0:
		why = "batch rollup all invalid"
	case v == rollupSubject && written(rec.Subject):
		why = "batch rollup sub invalid"
	default:
		return nil
	}
	return jsapi.Err(jsapi.ErrStreamRollupFailed, "err", why)
}

// judgeMemberSubject checks a member's expectation about a subject, which the batch must not have written on.
func (p *Partition) judgeMemberSubject(cm *commit, item *commitItem, rec *segment.Record) *jsapi.Error {
	c := item.c
	if c.seen&seenExpectSubjSeq == 0 {
		if c.seen&seenExpectSubj != 0 {
			return jsapi.Err(jsapi.ErrStreamExpectedLastSeqPerSubjectInvalid)
		}
		return nil
	}
	about := []string{string(rec.Subject)}
	if c.seen&seenExpectSubj != 0 {
		about[0] = string(c.subj.of(item.src.records))
	}
	for s := range cm.written {
		if matchesAny(about, []byte(s)) {
			return jsapi.Err(jsapi.ErrStreamWrongLastSequenceConstant)
		}
	}
	if !p.knowsLast(item.src, c) {
		return jsapi.Err(jsapi.ErrStreamExpectedLastSeqPerSubjectInvalid)
	}
	if last := p.opts.numbers.Global(p.lastFor(item.src, item.i, c, rec)); last != c.subjSeq {
		return jsapi.Err(jsapi.ErrStreamWrongLastSequence, "seq", fmt.Sprint(last))
	}
	return nil
}

// storeCommit puts the members of a batch into the log, in place of message i of b, and answers for them.
func (p *Partition) storeCommit(b *PubBatch, i int, cm *commit) (r result) {
	p.endRun(i)
	b.kept = slices.Grow(b.kept, len(cm.items))
	for _, item := range cm.items {
		r.seq = p.store(b, item.src, item.i, item.c, item.size)
		p.parts = append(p.parts, item.record)
		if item.total != nil {
			p.noteTotal(item.record, item.total, r.seq)
			r.total = item.total
		}
	}
	r.batch, r.count = cm.id, uint64(len(cm.items))
	return r
}
