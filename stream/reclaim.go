package stream

import (
	"errors"

	"godwit/stream/segment"
)

// reclaiming gives back the disk space of messages that are gone. Segments from the beginning on that hold nothing are
// dropped; others in which nothing is stored are given up with a checkpoint; and those in which little is left are
// rewritten in the background, one at a time. What is gone is decided from the state that a checkpoint holds, so that no
// restart needs it again.
type reclaiming struct {
	stop    chan struct{} // closed when the partition closes
	running bool          // segments are being rewritten
	again   bool          // there are more of them: the next checkpoint does not wait for more to be appended
	first   uint64        // the first message, as of the last checkpoint
	// tried is how many messages were stored in a segment, by its serial number, when it was looked at last.
	tried map[uint64]uint64
}

// shrinkage is what a checkpoint allows to give back.
type shrinkage struct {
	first  uint64          // nothing below is needed
	dead   map[uint64]bool // segments in which nothing is stored, by serial number
	sparse []sparseSegment
	forced []segment.Rewriting // with messages that have to go from them
	gain   int64               // bytes that rewriting those is likely to give back
}

// sparseSegment is one that is worth rewriting.
type sparseSegment struct {
	segment.Rewriting
	live uint64 // messages that are stored in it
}

const (
	rewriteBelow   = 50 // percent of a segment's messages below which it is rewritten
	rewriteGain    = 64 // smaller segments than a whole one divided by this are left as they are
	rewriteMost    = 32 // segments that are rewritten after one checkpoint
	storedOverhead = 64 // bytes that a stored message may take beside what is counted
)

// shrink says what may go with a checkpoint of index, which is what is applied.
func (p *Partition) shrink(index uint64) (s shrinkage) {
	r := &p.reclaim
	s.first = min(p.keepFrom(), p.erase.first())
	still := r.first == p.first // the first segment is not about to be dropped anyway
	r.first, r.again = p.first, false
	s.dead = map[uint64]bool{}
	held := len(p.backups) > 0
	p.freed(func(seq uint64) bool { return seq < p.log.FirstBase() }, nil)
	tried := make(map[uint64]uint64, len(r.tried))
	for _, n := range p.log.Inner(index) {
		if stuck := p.stuckIn(&n); stuck != nil && !r.running {
			s.forced = append(s.forced, segment.Rewriting{Serial: n.Serial, Index: index, Dead: stuck, Hole: attrUnwanted, Always: true})
			continue
		}
		if held || p.erase.waitsFor(n.First, n.Last) || n.Last < p.first && n.First <= n.Last {
			continue // or it is dropped
		}
		live := uint64(0)
		if n.First <= n.Last {
			live = p.state.count(n.First, n.Last)
		}
		if live == 0 {
			s.dead[n.Serial] = true
			continue
		}
		if before, ok := r.tried[n.Serial]; ok {
			tried[n.Serial] = before
		}
		if r.running || n.First <= p.first && !still || !p.sparse(&n, live) {
			continue
		}
		if len(s.sparse) == rewriteMost {
			r.again = true
			continue
		}
		s.gain += n.Bytes * (100 - rewriteBelow) / 100
		s.sparse = append(s.sparse, sparseSegment{segment.Rewriting{Serial: n.Serial, Index: index, Dead: p.deadIn(n.First, n.Last), Hole: attrUnwanted}, live})
	}
	if !held {
		r.tried = tried
	}
	return s
}

// sparse says whether a segment with so many messages left is worth rewriting.
func (p *Partition) sparse(n *segment.Inner, live uint64) bool {
	if n.Bytes < p.log.SegmentBytes()/rewriteGain {
		return false
	}
	if before, ok := p.reclaim.tried[n.Serial]; ok {
		return live*100 <= before*rewriteBelow
	}
	if live*100 <= n.Messages*rewriteBelow {
		return true
	}
	// It may consist of other things than messages.
	average := p.bytes/max(p.msgs, 1) + storedOverhead
	return !n.Rewritten && live*average*100 <= uint64(n.Bytes)*rewriteBelow
}

// resumeRewriting makes a checkpoint due if there are segments that the last process did not come to.
func (p *Partition) resumeRewriting() {
	for _, n := range p.log.Inner(p.log.LastIndex()) {
		if n.First > n.Last || p.sparse(&n, p.state.count(n.First, n.Last)) {
			p.ckpt.bytes = max(p.ckpt.bytes, 1)
			return
		}
	}
}

// deadIn returns which messages of [first, last] are not stored, as of now.
func (p *Partition) deadIn(first, last uint64) func(seq uint64) bool {
	begin, deleted := p.first, p.deleted.part(first, last)
	return func(seq uint64) bool { return seq < begin || deleted.has(seq) }
}

// saveShrunk saves a checkpoint and gives back what it allows to. Any goroutine may call it.
func (p *Partition) saveShrunk(index uint64, state []byte, s *shrinkage) error {
	if err := p.log.SaveCheckpointWithout(index, state, s.dead); err != nil {
		return err
	}
	return p.log.DropBefore(s.first)
}

// rewrite rewrites the sparse segments of a checkpoint whose state has that size, on a goroutine of its own.
func (p *Partition) rewrite(s *shrinkage, size int) {
	r := &p.reclaim
	// A second copy of the checkpoint may have to be written first.
	if s.gain < int64(size) {
		s.sparse, r.again = nil, false
	}
	if len(s.sparse)+len(s.forced) == 0 || r.running || p.ending() {
		r.again = false
		return
	}
	for _, n := range s.sparse {
		r.tried[n.Serial] = n.live
	}
	r.running = true
	p.saves.Add(1)
	go func() {
		defer p.saves.Done()
		var damaged []error
		var failed []uint64
		for _, f := range s.forced {
			_, err := p.log.Rewrite(f, r.stop)
			if errors.Is(err, segment.ErrNotWorth) {
				err = nil // the segment is gone
			}
			p.box.call(func() { p.freed(f.Dead, err) }, false)
		}
		for _, n := range s.sparse {
			var damage *segment.CorruptError
			_, err := p.log.Rewrite(n.Rewriting, r.stop)
			switch {
			case err == nil || errors.Is(err, segment.ErrNotWorth):
			case errors.As(err, &damage):
				damaged = append(damaged, err)
			default:
				failed = append(failed, n.Serial)
			}
		}
		p.box.call(func() { p.rewrote(failed, errors.Join(damaged...)) }, false)
	}()
}

// rewrote takes note of the end of rewriting. Nothing is lost where it failed; segments for which the disk had no room, or the
// like, are tried again after the next checkpoint.
func (p *Partition) rewrote(failed []uint64, damage error) {
	r := &p.reclaim
	r.running = false
	for _, serial := range failed {
		delete(r.tried, serial)
	}
	if p.ending() {
		return
	}
	if damage != nil {
		p.damaged(damage)
	}
	if r.again && len(failed) == 0 {
		p.checkpointSoon()
	}
	if p.erase.urgent() {
		p.freeStuck() // they came meanwhile
	}
}
