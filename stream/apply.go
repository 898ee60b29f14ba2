package stream

import (
	"godwit/stream/segment"
)

// apply takes what has become safe into the state and answers for it.
func (p *Partition) apply(f *flight) {
	switch f.head.Kind {
	case segment.KindMessages:
		p.applyPubs(f)
	case segment.KindCommand:
		p.applied = f.index
		p.run(f.cmd)
	case segment.KindProgress:
		p.applied = f.index
		if len(f.gone) > 0 {
			p.removeNeedless(f.gone, f.index)
			p.armExpire()
		}
	default:
		p.answerPubs(f)
	}
	from := 0
	for _, to := range f.ends {
		p.sendEmpty(f.confirms[from:to])
		from = to
	}
	f.done(nil)
	if f.consumers != nil {
		p.checkpoint(f.index, f.consumers)
	}
}

// applyPubs applies a batch of messages that was proposed here.
func (p *Partition) applyPubs(f *flight) {
	p.applied = f.index
	seq := f.head.Base
	for _, b := range f.pubs {
		hashes := b.hashes
		for _, part := range b.parts {
			n := p.applyRecords(part, seq, f.head.Time, hashes)
			seq += uint64(n)
			hashes = hashes[n:]
		}
		if b.internal {
			p.doubt(seq-uint64(b.stored), seq)
		}
		p.recent.pop(b.stored)
		p.flying.msgs -= int64(b.stored)
		p.flying.bytes -= b.flying
	}
	if p.flying.msgs == 0 {
		clear(p.totals)
	}
	p.finishMessages()
	if p.sched.expire == never || p.nextTTL() < p.sched.expire {
		p.armExpire()
	}
	p.sched.fire = p.nextFire()
	p.answerPubs(f)
	p.wakeMembers()
}

// answerPubs acknowledges what was published, and refuses what was refused, in order.
func (p *Partition) answerPubs(f *flight) {
	for _, b := range f.pubs {
		if !p.cfg.NoAck {
			p.ack.answer(p.out, b)
			p.opts.Stats.acknowledged(b)
		}
		b.tellFollowers(nil)
		if !b.internal {
			p.box.release(b.Size())
		}
		p.free(b)
	}
}

// applyRecords takes the messages of a body into the state, from sequence seq on, and returns how many there were.
// time is that of the batch; hashes are those of their subjects. The log has checked the body.
func (s *state) applyRecords(body []byte, seq uint64, time int64, hashes []uint64) (n int) {
	var r segment.Record
	for len(body) > 0 {
		size, err := segment.ReadRecord(body, &r)
		if err != nil {
			break
		}
		body = body[size:]
		s.applyRecord(&r, seq, time+r.TimeDelta, hashes[n])
		seq++
		n++
	}
	return n
}

// applyRecord takes one message of the given time into the state. Sequences left out before it are holes.
func (s *state) applyRecord(r *segment.Record, seq uint64, time int64, hash uint64) {
	if seq != s.last+1 {
		s.hole(seq)
	}
	s.lastTime = time
	if r.Attrs&attrCopied != 0 {
		s.noteOrigin(r)
	}
	if r.Attrs&attrUnwanted != 0 {
		s.hole(seq + 1)
		return
	}
	bytes := s.size(r)
	s.grown += int64(bytes)
	s.msgs++
	s.bytes += bytes
	s.last = seq
	i := s.subjects.find(hash, r.Subject)
	var prev seqBytes
	if i >= 0 && s.cfg.MaxMsgsPerSubject == 1 {
		prev.seq = s.lastOf(i)
		prev.bytes = s.subjects.entries[i].bytes
	}
	before := uint64(0)
	resend := s.p.live && s.p.republisher != nil
	if resend && i >= 0 {
		before = s.lastOf(i)
	}
	i = s.subjects.touch(i, hash, r.Subject, seq, uint32(bytes))
	s.watch.stored(s, i, seq)
	if r.Attrs&attrTTL != 0 && s.cfg.AllowMsgTTL {
		s.noteTTL(r, seq, time)
	}
	if s.cfg.AllowMsgSchedules {
		s.noteTimers(r, seq, time)
	}
	if limit := s.cfg.MaxMsgsPerSubject; limit > 0 && s.subjects.entries[i].count > uint64(limit) {
		s.trimSubject(i, uint64(limit), prev)
	}
	if r.Attrs&(attrRollupSub|attrRollupAll) != 0 && s.cfg.AllowRollup {
		s.rollup(r, seq, i)
	}
	if resend {
		s.p.republish(r, seq, before, time)
	}
}

// hole makes seq the next sequence; those before it that were never stored count as removed.
func (s *state) hole(seq uint64) {
	if s.msgs == 0 {
		s.first = seq
	} else {
		s.deleted.addRange(s.last+1, seq)
		s.epoch++
	}
	s.last = seq - 1
}

// trimSubject removes the oldest messages of a subject until limit are left. With a limit of one that is prev.
func (s *state) trimSubject(i int, limit uint64, prev seqBytes) {
	const reason = "Message deleted by stream limits"
	if s.subjects.lists == nil {
		s.remove(i, prev.seq, uint64(prev.bytes), reason)
		return
	}
	for s.subjects.entries[i].count > limit {
		old := s.subjects.lists[i][0]
		s.remove(i, old.seq, uint64(old.bytes), reason)
	}
}

// finishMessages ends a batch of messages: the limits of the stream are enforced.
func (s *state) finishMessages() {
	s.p.next = max(s.p.next, s.last+1)
	s.enforce()
	s.account()
}

// account tells the quota what has changed.
func (s *state) account() {
	if s.grown != 0 {
		s.p.opts.Quota.Used(s.grown)
		s.grown = 0
	}
}

// enforce removes the oldest messages beyond the limits on their number and size.
func (s *state) enforce() {
	for s.cfg.MaxMsgs > 0 && s.msgs > uint64(s.cfg.MaxMsgs) || s.cfg.MaxBytes > 0 && s.msgs > 0 && s.bytes > uint64(s.cfg.MaxBytes) {
		s.removeFirst()
	}
}

// rollup removes the messages that one with Nats-Rollup replaces; i is the entry of its subject.
func (s *state) rollup(r *segment.Record, seq uint64, i int) {
	if r.Attrs&attrRollupAll != 0 {
		s.removeBelow(seq)
		return
	}
	e := &s.subjects.entries[i]
	if e.count <= 1 {
		return
	}
	left := e.count - 1
	list := make([]doomed, 0, left)
	if s.subjects.lists != nil {
		for _, old := range s.subjects.lists[i][:left] {
			list = append(list, doomed{old.seq, uint64(old.bytes), string(r.Subject)})
		}
	} else {
		s.scan(e.first, seq-1, func(at uint64, _ int64, old *segment.Record) bool {
			if string(old.Subject) == string(r.Subject) {
				list = append(list, doomed{at, s.size(old), string(r.Subject)})
				left--
			}
			return left > 0
		})
	}
	s.removeAll(list, "")
}

// remove takes one message out; i is the entry of its subject. With a reason, consumers that wait for its
// acknowledgement report it.
func (s *state) remove(i int, seq, bytes uint64, reason string) {
	s.discount(i, seq, bytes)
	if inside := s.unlink(seq); inside {
		s.p.forget(seq, reason)
	}
}

// discount takes one message out of all sums; i is the entry of its subject.
func (s *state) discount(i int, seq, bytes uint64) {
	s.msgs--
	s.bytes -= min(bytes, s.bytes)
	s.grown -= int64(bytes)
	if i >= 0 {
		s.watch.removed(s, i, seq)
		s.subjects.removed(i, seq)
	}
}

// unlink takes a sequence out of what is stored, and says whether it was inside: consumers see by themselves where the
// stream begins.
func (s *state) unlink(seq uint64) (inside bool) {
	if seq != s.first {
		s.deleted.add(seq)
		s.epoch++
		return true
	}
	old := s.first
	s.first = s.last + 1
	if s.msgs > 0 {
		s.first = s.deleted.next(seq + 1)
		s.deleted.dropBelow(old, s.first)
		s.ttl.pinned.dropBelow(old, s.first)
	} else {
		s.deleted.clear()
		s.ttl.pinned.clear()
	}
	return false
}

// removeFirst takes the first message out. One that cannot be read is dropped without being counted for its subject.
func (s *state) removeFirst() {
	if !s.peek() {
		s.dropUnreadable()
		return
	}
	r := &s.front.rec
	s.remove(s.subjects.find(s.subjects.hash(r.Subject), r.Subject), s.first, s.size(r), "")
}

// dropUnreadable gives up messages at the beginning that the log cannot give back.
func (s *state) dropUnreadable() {
	to := s.last + 1
	if s.front.seq > s.first {
		to = s.front.seq
	}
	n := min(s.count(s.first, to-1), s.msgs)
	s.msgs -= n
	if s.first = s.deleted.next(to); s.msgs == 0 || s.first > s.last {
		s.first, s.msgs = s.last+1, 0
		s.grown -= int64(s.bytes)
		s.bytes = 0
		s.subjects.clear()
		s.deleted.clear()
	}
	s.watch.recount = true
}

// removeBelow removes everything before seq.
func (s *state) removeBelow(seq uint64) {
	for s.msgs > 0 && s.first < seq {
		s.removeFirst()
	}
}
