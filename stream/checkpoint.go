package stream

import (
	"encoding/json"
	"errors"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

var errBadCheckpoint = errors.New("malformed checkpoint")

// checkpointing says when the next checkpoint is due.
type checkpointing struct {
	bytes  int    // appended since the last one
	size   int    // of the last one
	saving bool   // one is under way
	purged uint64 // bytes of messages removed by purges since the last one began
}

// limit is after how many bytes of log a checkpoint is due. Segments are given back after checkpoints, so that smaller
// segments want more of them; but no checkpoint is written for less than its own size.
func (k *checkpointing) limit(segmentBytes int64) int {
	if segmentBytes <= 0 || segmentBytes >= checkpointSize/4 {
		return checkpointSize
	}
	return min(checkpointSize, max(4*int(segmentBytes), k.size))
}

// maybeCheckpoint begins a checkpoint if enough was appended since the last one, or enough time has passed. Consumers
// are ahead of the log by what is in no progress record yet, so that is logged first and their part encoded at once; the
// rest follows when everything up to here is applied.
func (p *Partition) maybeCheckpoint() {
	k, s := &p.ckpt, &p.sched
	if k.bytes == 0 || p.ending() {
		s.check = never
		return
	}
	if s.check == never && !k.saving {
		s.check = p.now + int64(checkpointWait)
	}
	if k.saving || p.commands > 0 || p.now < s.check && k.bytes < k.limit(p.opts.SegmentBytes) && !p.sparseSoon() {
		return
	}
	p.sealSparse()
	p.logProgress()
	k.bytes, k.saving, s.check = 0, true, never
	p.auditSoon()
	f := p.flights.push(p.index)
	f.consumers = p.appendMembers(nil)
}

// sparseSoon says whether a checkpoint is due early, as much disk space may come back with it.
func (p *Partition) sparseSoon() bool {
	return p.ckpt.bytes >= max(checkpointSize/4, 4*p.ckpt.size) && p.log.Bytes() > 2*int64(p.bytes)+checkpointSize/4
}

// checkpoint saves the state as of index, which is what is applied. The writing is done by a goroutine.
func (p *Partition) checkpoint(index uint64, consumers []byte) {
	state, err := p.encodeState(consumers)
	if err != nil {
		p.opts.Hooks.Damaged(err)
		p.ckpt.saving = false
		return
	}
	p.ckpt.size = len(state)
	s := p.shrink(index)
	p.saves.Add(1)
	go func() {
		defer p.saves.Done()
		err := p.saveShrunk(index, state, &s)
		p.box.call(func() {
			p.ckpt.saving = false
			if err == nil {
				p.rewrite(&s, len(state))
			} else {
				p.freed(func(uint64) bool { return true }, err)
				p.notSaved(err)
			}
		}, false)
	}()
}

// lastCheckpoint saves the state when no turn runs any more, so that the next start has nothing to replay.
func (p *Partition) lastCheckpoint() {
	if p.index == 0 {
		return
	}
	state, err := p.encodeState(p.appendMembers(nil))
	if err == nil {
		s := p.shrink(p.index)
		err = p.saveShrunk(p.index, state, &s)
	}
	if err != nil && !segment.IsFull(err) {
		p.opts.Hooks.Damaged(err)
	}
}

func (p *Partition) encodeState(consumers []byte) ([]byte, error) {
	config, err := json.Marshal(&p.given)
	if err != nil {
		return nil, err
	}
	return p.appendState(nil, config, consumers), nil
}

func decodeConfig(b []byte, cfg *jsapi.StreamConfig) error { return json.Unmarshal(b, cfg) }
