package stream

import (
	"encoding/binary"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// found is a batch that the log found behind the newest checkpoint. Of messages only the head is kept: applying them may
// have to read older ones, which the log cannot do before it is open, so they are read again.
type found struct {
	head segment.Head
	body []byte // other kinds; a copy
}

// replay is called by the log while it opens.
func (p *Partition) replay(h segment.Head, body []byte) error {
	f := found{head: h}
	if h.Kind != segment.KindMessages {
		f.body = append([]byte{}, body...)
	}
	p.found = append(p.found, f)
	return nil
}

// rerun applies what the log found.
func (p *Partition) rerun() error {
	if p.subjects.lists != nil {
		p.fillLists()
	}
	var rd *reader
	for i := range p.found {
		f := &p.found[i]
		p.index = f.head.Index
		p.stamp = max(p.stamp, f.head.Time)
		switch f.head.Kind {
		case segment.KindMessages:
			if rd == nil {
				rd = p.reader(f.head.Base)
				defer rd.Release()
			}
			p.rerunMessages(rd, &f.head)
		case segment.KindCommand:
			c, err := decodeCommand(f.body)
			if err != nil {
				return err
			}
			c.index, c.time = f.head.Index, f.head.Time
			p.run(c)
		case segment.KindProgress:
			if err := p.rerunProgress(f.body); err != nil {
				return err
			}
		}
		p.applied = f.head.Index
		*f = found{}
	}
	p.found = nil
	p.index = p.log.LastIndex()
	p.next = max(p.next, p.last+1, p.log.NextSeq())
	return nil
}

// rerunMessages applies a batch of messages, reading it again.
func (p *Partition) rerunMessages(rd *reader, h *segment.Head) {
	var r segment.Record
	high := h.Base + uint64(h.Count) - 1
	for seq := h.Base; seq <= high; seq++ {
		got, at, ok := rd.Next(high, &r)
		if !ok {
			break // damaged: the rest are holes
		}
		if got < h.Base {
			rd.Seek(h.Base)
			seq = h.Base - 1
			continue
		}
		seq = got
		p.lastID = p.lastID[:0]
		if r.Attrs&attrMsgID != 0 {
			id := messageID(r.Header)
			p.dedup.add(p.dedup.hash(id), seq, h.Time)
			p.lastID = append(p.lastID, id...)
		}
		p.applyRecord(&r, seq, at, p.subjects.hash(r.Subject))
	}
	if p.last < high {
		p.hole(high + 1)
	}
	p.finishMessages()
}

// rerunProgress applies a batch of progress records: each is the consumer's id and a text with its record.
func (p *Partition) rerunProgress(body []byte) error {
	d := decoder{b: body}
	for len(d.b) > 0 {
		id, rec := d.uvarint(), d.text()
		if d.bad {
			return consumer.ErrBadProgress
		}
		if id == removedID {
			seqs, ok := decodeRemoved(rec)
			if !ok {
				return consumer.ErrBadProgress
			}
			p.removeNeedless(seqs, p.index)
			continue
		}
		if m := p.members.byID[id]; m != nil { // else it was deleted meanwhile
			if err := m.c.ApplyProgress(rec); err != nil {
				return err
			}
			p.members.track(m)
		}
	}
	return nil
}

// activate begins work after everything was restored.
func (p *Partition) activate() {
	p.now, p.live = p.clock(), true
	p.stamp = max(p.stamp, p.now)
	for _, m := range p.members.byID {
		lasts := []uint64(nil)
		if _, resume, ok := m.c.Lasts(); ok {
			lasts = p.lastsFor(m.c.Filters(), m.c.Next(), resume)
		}
		m.c.Activate(p.now, lasts)
		m.since = max(p.next, m.c.Next())
		p.watch.recount = true
		p.opts.Hooks.ConsumerFound(m.c)
		p.touch(m)
		p.ready(m)
	}
	p.findFormer()
	p.startSweep(p.first, nil) // a consumer may have been deleted right before the end
	p.settleCounts()
	p.account()
	p.sched.saved = p.now
	p.armExpire()
	p.sched.fire = p.nextFire()
	p.publishStats()
	p.resumeRewriting()
	p.startErasing() // what the last process did not come to; turns may run from here on
}

// checkpointVersion is the first byte of a checkpoint's state. The next format gets the next number.
// Version 2 added times to live and schedules behind the window of message ids.
// Version 3 added how far the stream has come with others that it takes messages from.
// Version 4 added the deleted messages whose content is not overwritten yet.
const checkpointVersion = 4

// appendState encodes the state as of p.applied; consumers is their part.
func (p *Partition) appendState(dst, config, consumers []byte) []byte {
	dst = append(dst, checkpointVersion)
	dst = appendText(dst, config)
	dst = binary.AppendUvarint(dst, p.first)
	dst = binary.AppendUvarint(dst, p.last)
	dst = binary.AppendUvarint(dst, p.msgs)
	dst = binary.AppendUvarint(dst, p.bytes)
	dst = binary.AppendVarint(dst, p.lastTime)
	dst = appendText(dst, p.appliedID())
	dst = p.deleted.appendTo(dst)
	dst = p.subjects.appendTo(dst)
	dst = p.dedup.appendTo(dst, p.last, p.stamp)
	dst = p.ttl.appendTo(dst, &p.state)
	dst = p.timers.appendTo(dst, &p.state)
	dst = p.origins.appendTo(dst)
	dst = p.erase.appendTo(dst)
	return append(dst, consumers...)
}

// appliedID is the message id of the last message applied.
func (p *Partition) appliedID() []byte {
	if p.flying.msgs == 0 {
		return p.lastID
	}
	var r segment.Record
	if _, err := p.log.Read(p.last, &r); err != nil || r.Attrs&attrMsgID == 0 {
		return nil
	}
	return messageID(r.Header)
}

// restore is called by the log while it opens, with the newest checkpoint that it found valid. After an error the state
// is that of a new partition.
func (p *Partition) restore(index uint64, b []byte) error {
	err := p.decodeState(index, b)
	if err != nil {
		seed := p.subjects.seed
		p.state, p.found, p.members, p.lastID, p.erase = state{}, nil, members{}, nil, erasing{}
		p.subjects.seed = seed
		p.state.init(p, p.opts)
	}
	return err
}

func (p *Partition) decodeState(index uint64, b []byte) error {
	d := decoder{b: b}
	version := d.byte()
	if version == 0 || version > checkpointVersion {
		return errBadCheckpoint
	}
	var cfg jsapi.StreamConfig
	if err := decodeConfig(d.text(), &cfg); err != nil {
		return err
	}
	p.found, p.members = nil, members{}
	p.watch.init()
	p.configure(cfg)
	p.first, p.last = d.uvarint(), d.uvarint()
	p.msgs, p.bytes = d.uvarint(), d.uvarint()
	p.lastTime = d.varint()
	p.lastID = append(p.lastID[:0], d.text()...)
	if err := p.deleted.decode(&d); err != nil {
		return err
	}
	if err := p.subjects.decode(&d); err != nil {
		return err
	}
	if err := p.dedup.decode(&d); err != nil {
		return err
	}
	if version >= 2 {
		if err := p.ttl.decode(&d); err != nil {
			return err
		}
		if err := p.timers.decode(&d); err != nil {
			return err
		}
	}
	if version >= 3 {
		p.origins.decode(&d)
	}
	p.erase = erasing{}
	if version >= 4 {
		p.erase.decode(&d)
	}
	if err := p.restoreMembers(&d); err != nil {
		return err
	}
	if d.bad || len(d.b) > 0 || p.first > p.last+1 || p.msgs > p.last+1-p.first {
		return errBadCheckpoint
	}
	p.grown = int64(p.bytes)
	p.applied, p.index = index, index
	p.next = p.last + 1
	return nil
}
