package stream

import (
	"maps"
	"slices"
	"time"

	"godwit/stream/segment"
)

// expireMax bounds how many messages are looked at, and removed one by one, in one go.
const expireMax = 1024

// expireEvery is how often old messages are removed at most.
const expireEvery = int64(250 * time.Millisecond)

// expireOld proposes to remove what is older than the stream's maximum age or its own time to live. Where delete markers
// are wanted, the last message of a subject gives way to one.
func (p *Partition) expireOld() {
	if p.expiring || p.msgs == 0 || p.ending() {
		return
	}
	if p.commands > 0 { // which may remove the same
		p.sched.expire = p.now + int64(tickMin)
		return
	}
	p.takeTTL(p.now, expireMax)
	aged := p.aged()
	switch {
	case len(p.ttl.taken) == 0 && aged == 0:
		p.armExpire()
		return
	case p.cfg.SubjectDeleteMarkerTTL > 0:
		p.expireMarked(aged)
	case len(p.ttl.taken) > 0:
		seqs := make([]uint64, 0, len(p.ttl.taken))
		for _, e := range p.ttl.taken {
			seqs = append(seqs, e.seq)
		}
		p.proposeExpiry(&command{op: opExpireSeqs, seqs: seqs})
	default:
		p.proposeExpiry(&command{op: opExpire, seq: aged})
	}
}

// aged returns the sequence below which all is older than the maximum age, 0 if that removes nothing.
func (p *Partition) aged() uint64 {
	if p.cfg.MaxAge <= 0 {
		return 0
	}
	from, t := p.oldest()
	if from == 0 || t > p.now-int64(p.cfg.MaxAge) {
		return 0
	}
	return max(from+1, min(p.log.SeqAt(p.now-int64(p.cfg.MaxAge)+1), p.last+1))
}

func (p *Partition) proposeExpiry(c *command) {
	p.expiring = true
	p.sched.expired = p.now
	slices.Sort(c.seqs)
	c.done = func() {
		p.expiring = false
		if len(c.seqs) >= expireMax {
			p.sched.expired = 0 // there is more
		}
		p.ttl.taken = p.ttl.taken[:0]
		p.armExpire()
	}
	p.command(c)
}

// armExpire schedules the removal of old messages.
func (p *Partition) armExpire() {
	p.sched.expire = never
	if p.expiring {
		return
	}
	p.sched.expire = p.nextTTL()
	if p.cfg.MaxAge > 0 {
		if seq, t := p.oldest(); seq > 0 {
			p.sched.expire = min(p.sched.expire, max(t+int64(p.cfg.MaxAge), p.sched.expired+expireEvery))
		}
	}
}

// expireMarked proposes markers for subjects whose last message ends, then the removal of everything that ends. A marker
// replaces what is on its subject, so no reader sees the subject without either.
func (p *Partition) expireMarked(aged uint64) {
	ended := make(map[uint64]struct{}, len(p.ttl.taken))
	for _, e := range p.ttl.taken {
		ended[e.seq] = struct{}{}
	}
	if aged > 0 {
		n := 0
		p.scan(max(p.first, p.ttl.floor), aged-1, func(seq uint64, _ int64, _ *segment.Record) bool {
			if !p.ttl.pinned.has(seq) {
				ended[seq] = struct{}{}
				n++
			}
			return n < expireMax
		})
	}
	seqs := slices.Sorted(maps.Keys(ended))
	b := p.NewBatch()
	p.visit(seqs, func(seq uint64, _ int64, r *segment.Record) {
		if !isMarker(r.Header) && p.lastOn(p.subjects.hash(r.Subject), r.Subject) == seq {
			b.addInternal(&segment.Record{Attrs: attrTTL | attrRollupSub, Subject: r.Subject, Header: p.markerHeader()})
		}
	})
	p.proposeInternal(b)
	p.proposeExpiry(&command{op: opExpireSeqs, seqs: seqs})
}

// isMarker says whether a message itself marks the end of its subject.
func isMarker(block []byte) bool {
	return len(headerValue(block, hdrMarkerReason)) > 0 || string(headerValue(block, "KV-Operation")) == "PURGE"
}

func (p *Partition) markerHeader() []byte {
	return []byte(headerVersion + "\r\n" + hdrMarkerReason + ": MaxAge\r\n" + hdrTTL + ": " + p.cfg.SubjectDeleteMarkerTTL.String() +
		"\r\n" + hdrRollup + ": " + rollupSubject + "\r\n\r\n")
}
