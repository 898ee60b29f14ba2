package stream

import (
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// sealFrom is the size of a segment from which on it may be ended because little of it is needed, in bytes.
const sealFrom = 1 << 20

// stallLook is how often something that waits for the disk looks whether that is full.
const stallLook = 100 * time.Millisecond

// Stalled returns why nothing can be written right now, nil if all is well: the disk is full. What was appended before that
// was known is answered when there is room; nothing more is taken.
func (p *Partition) Stalled() error { return p.log.Stalled() }

// noRoom is the refusal of what would have to be written now; nil if it can be.
func (p *Partition) noRoom() *jsapi.Error {
	if p.log.Stalled() == nil {
		return nil
	}
	return jsapi.Err(jsapi.ErrInsufficientResources)
}

// await returns the outcome of what was appended, or why it does not wait for that any longer: the disk is full. Then it
// may still happen, when there is room.
func await[T any](p *Partition, outcome <-chan T) (v T, full *jsapi.Error) {
	select {
	case v = <-outcome:
		return v, nil
	default:
	}
	look := time.NewTicker(stallLook)
	defer look.Stop()
	for {
		select {
		case v = <-outcome:
			return v, nil
		case <-look.C:
			if full = p.noRoom(); full != nil {
				return v, full
			}
		}
	}
}

// purged notes that a purge has removed bytes of messages. If they are many, or were the last ones, a checkpoint is made with
// the next turn, as disk space comes back with it.
func (p *Partition) purged(bytes uint64) {
	k := &p.ckpt
	k.purged += bytes
	much := k.purged >= uint64(max(sealFrom, 4*k.size))
	if p.live && (much || p.msgs == 0 && p.log.Bytes() >= sealFrom) {
		p.sched.check = min(p.sched.check, p.now)
	}
}

// sealSparse ends the log's active segment where a checkpoint begins, if hardly anything of it can be left, so that its disk
// space comes back before it is full. The more segments there are, the larger it has to be: older ones may have to stay. The
// checkpoint can do without it as something follows it, and what is left of it is rewritten at once.
func (p *Partition) sealSparse() {
	n, segments := p.log.Active()
	if n >= sealFrom*int64(segments) && 2*int64(p.bytes) < n {
		p.log.Seal(p.stamp)
		p.appendBatch(segment.Head{Kind: segment.KindProgress, Time: p.stamp, Base: p.next})
		p.reclaim.first = p.first // it is not about to be dropped
	}
	p.ckpt.purged = 0
}

// notSaved takes note that a checkpoint, or what follows it, could not be written. A full disk is no damage: after a while
// it is tried again.
func (p *Partition) notSaved(err error) {
	switch {
	case p.drained != nil: // nobody uses it any more
	case segment.IsFull(err):
		p.ckpt.bytes = max(p.ckpt.bytes, 1)
	default:
		p.opts.Hooks.Damaged(err)
	}
}
