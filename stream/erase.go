package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// erasing overwrites the content of messages that were deleted with the wish that nothing of it stays: payloads, and values of
// headers other than the server's own. What else the log says of them stays, so that a replay comes to the same state. Whoever
// asked for it is answered when that is durable. What is not done yet is in checkpoints, too.
type erasing struct {
	running bool
	list    []erasure // oldest first
	// stuck are in compressed batches that would not fit their places any more. With the next checkpoint their segments are
	// rewritten without them.
	stuck []erasure
}

// waitsFor says whether a message in [first, last] is to be overwritten: it must not hide in a file that is on its way out.
func (e *erasing) waitsFor(first, last uint64) bool {
	return slices.ContainsFunc(e.list, func(e erasure) bool { return first <= e.seq && e.seq <= last })
}

// first is the first message that is to be overwritten, the highest number if there is none.
func (e *erasing) first() uint64 {
	first := uint64(math.MaxUint64)
	for i := range e.list {
		first = min(first, e.list[i].seq)
	}
	return first
}

// erasure is a deleted message whose content is to be overwritten.
type erasure struct {
	seq   uint64
	index uint64             // of the batch that deleted it; 0 if that is long durable
	done  func(*jsapi.Error) // told once how it went; nil if nobody waits
}

func (e *erasure) finish(err *jsapi.Error) {
	if e.done != nil {
		e.done(err)
		e.done = nil
	}
}

// eraseAtOnce is how many messages are overwritten in one go.
const eraseAtOnce = 256

func notErased(err error) *jsapi.Error {
	return jsapi.Err(jsapi.ErrStreamMsgDeleteFailed, "err", "the message is deleted, its content is not overwritten yet: "+err.Error())
}

// noteErasure takes over a command that has deleted a message.
func (p *Partition) noteErasure(c *command) {
	e := erasure{seq: c.seq, index: c.index}
	if done := c.done; done != nil {
		e.done = func(err *jsapi.Error) { c.err = err; done() }
		c.done = nil
	}
	p.erase.list = append(p.erase.list, e)
	if !p.live {
		return
	}
	for _, b := range p.backups {
		b.lose(c.seq)
	}
	p.log.EraseRecent(c.seq, eraseContent)
	p.startErasing()
}

// startErasing begins to overwrite what waits for it, on a goroutine of its own.
func (p *Partition) startErasing() {
	e := &p.erase
	if e.running || len(e.list) == 0 || p.ending() {
		return
	}
	e.running = true
	n := min(len(e.list), eraseAtOnce)
	seqs, index := seqsOf(e.list[:n])
	p.saves.Add(1)
	go func() {
		defer p.saves.Done()
		left, err := p.log.Erase(index, seqs, eraseContent)
		p.box.call(func() { p.erased(n, left, err) }, false) // if no turn runs any more, it is done once more when all has ended
	}()
}

func seqsOf(list []erasure) (seqs []uint64, index uint64) {
	for i := range list {
		seqs = append(seqs, list[i].seq)
		index = max(index, list[i].index)
	}
	return seqs, index
}

// erased answers for the first n messages that waited. Those that could not be overwritten are tried again with the next
// ones, or after a start.
func (p *Partition) erased(n int, left []uint64, err error) {
	e := &p.erase
	e.running = false
	var damage *segment.CorruptError
	if err != nil && !errors.As(err, &damage) {
		p.failErasing(err)
		return
	}
	stuck := map[uint64]bool{}
	for _, seq := range left {
		stuck[seq] = true
	}
	for i := range e.list[:n] {
		switch {
		case stuck[e.list[i].seq]:
			e.stuck = append(e.stuck, e.list[i])
		case damage != nil:
			e.list[i].finish(notErased(err))
		default:
			e.list[i].finish(nil)
		}
	}
	e.list = append([]erasure(nil), e.list[n:]...)
	if damage != nil {
		p.damaged(err)
	}
	p.startErasing()
	if len(left) > 0 {
		p.freeStuck()
	}
}

// freeStuck lets the next checkpoint come soon, and sees to it that the segments of stuck messages take no more batches.
func (p *Partition) freeStuck() {
	if len(p.erase.stuck) == 0 || p.ending() {
		return
	}
	inner := p.log.Inner(p.log.LastIndex())
	for i := range p.erase.stuck {
		seq := p.erase.stuck[i].seq
		sealed := false
		for _, n := range inner {
			sealed = sealed || n.First <= seq && seq <= n.Last
		}
		if !sealed {
			p.log.Seal(p.stamp)
			p.command(&command{op: opErase, seq: seq}) // begins the next segment, and does nothing
			break
		}
	}
	p.checkpointSoon()
}

// urgent says whether somebody waits for a stuck message.
func (e *erasing) urgent() bool {
	return slices.ContainsFunc(e.stuck, func(e erasure) bool { return e.done != nil })
}

// checkpointSoon makes a checkpoint due although little or nothing was appended since the last one.
func (p *Partition) checkpointSoon() {
	p.ckpt.bytes = max(p.ckpt.bytes, 1)
	p.sched.check = p.now
}

// stuckIn says which messages of a segment are to go from it whatever it costs; nil if none are. Any goroutine may call it.
func (p *Partition) stuckIn(n *segment.Inner) func(seq uint64) bool {
	var seqs map[uint64]bool
	for i := range p.erase.stuck {
		if seq := p.erase.stuck[i].seq; n.First <= seq && seq <= n.Last {
			if seqs == nil {
				seqs = map[uint64]bool{}
			}
			seqs[seq] = true
		}
	}
	if seqs == nil {
		return nil
	}
	return func(seq uint64) bool { return seqs[seq] }
}

// freed answers for the stuck messages that were in a segment, which was rewritten or is gone, or not.
func (p *Partition) freed(was func(seq uint64) bool, err error) {
	var left []erasure
	for _, e := range p.erase.stuck {
		switch {
		case !was(e.seq):
			left = append(left, e)
		case err != nil:
			e.finish(notErased(err))
			left = append(left, e)
		default:
			e.finish(nil)
		}
	}
	p.erase.stuck = left
}

// failErasing answers those who wait although nothing can be overwritten any more.
func (p *Partition) failErasing(err error) {
	for _, list := range [][]erasure{p.erase.list, p.erase.stuck} {
		for i := range list {
			list[i].finish(notErased(err))
		}
	}
}

// endErasing overwrites what still waits when no turn runs any more, and answers. What is stuck is left to the next start.
func (p *Partition) endErasing(keep bool) {
	e := &p.erase
	all := append(append([]erasure(nil), e.list...), e.stuck...)
	e.list, e.stuck = nil, nil
	if len(all) == 0 {
		return
	}
	var err error
	if keep { // else all of it goes
		seqs, index := seqsOf(all)
		var left []uint64
		if left, err = p.log.Erase(index, seqs, eraseContent); err == nil && len(left) > 0 {
			err = errors.New("server shutdown")
		}
	}
	for i := range all {
		if err == nil {
			all[i].finish(nil)
			continue
		}
		all[i].finish(notErased(err))
		e.list = append(e.list, all[i])
	}
}

// eraseContent overwrites what a message says. Its lengths, its subject, and the headers that the server goes by stay.
func eraseContent(r *segment.Record) {
	clear(r.Value)
	headerLines(r.Header, func(name, _, line []byte) bool {
		if bytes.HasPrefix(name, []byte(headerPrefix)) {
			return true
		}
		text := bytes.TrimRight(line, "\r\n")
		for i := bytes.IndexByte(text, ':') + 1; i < len(text); i++ {
			text[i] = 'x'
		}
		return true
	})
}

// appendTo encodes the sequences of all that is not overwritten yet.
func (e *erasing) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(e.list)+len(e.stuck)))
	for _, list := range [][]erasure{e.list, e.stuck} {
		for i := range list {
			dst = binary.AppendUvarint(dst, list[i].seq)
		}
	}
	return dst
}

func (e *erasing) decode(d *decoder) {
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		e.list = append(e.list, erasure{seq: d.uvarint()})
	}
}
