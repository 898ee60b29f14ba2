package stream

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// ErrBadCommand: a command in the log is none that this version knows.
var ErrBadCommand = errors.New("stream: unknown command in the log")

// op says what a command does. The numbers are on disk.
type op uint8

const (
	opConfig         op = 1 // new stream configuration: JSON
	opExpire         op = 2 // remove everything below seq
	opPurge          op = 3 // remove what filter matches, below seq or all but the newest keep; with neither everything
	opDelete         op = 4 // remove seq
	opConsumerCreate op = 5 // name, JSON; the consumer's id is the index of the batch
	opConsumerUpdate op = 6 // id, JSON
	opConsumerDelete op = 7 // id
	opExpireSeqs     op = 8 // remove seqs
	opErase          op = 9 // remove seq, and overwrite its content
)

// command changes something other than by messages. It is one batch of the log.
type command struct {
	op     op
	seq    uint64 // also the consumer's id
	keep   uint64
	seqs   []uint64 // ascending
	filter string
	name   string
	text   []byte // JSON of a configuration

	index  uint64
	time   int64
	result uint64       // messages removed
	err    *jsapi.Error // why nothing was done
	done   func()       // called once, in the turn; nil for nobody waits
	held   bool         // the consumer created waits for Begin; not in the log
	sweep  bool         // messages may have lost their last interest by it; not in the log
}

// appendTo encodes the command.
func (c *command) appendTo(dst []byte) []byte {
	dst = append(dst, byte(c.op))
	switch c.op {
	case opConfig:
		return appendText(dst, c.text)
	case opExpire, opDelete, opErase, opConsumerDelete:
		return binary.AppendUvarint(dst, c.seq)
	case opExpireSeqs:
		last := uint64(0)
		for _, seq := range c.seqs {
			dst = binary.AppendUvarint(dst, seq-last)
			last = seq
		}
		return dst
	case opPurge:
		dst = appendText(dst, c.filter)
		dst = binary.AppendUvarint(dst, c.seq)
		return binary.AppendUvarint(dst, c.keep)
	case opConsumerCreate:
		dst = appendText(dst, c.name)
		return appendText(dst, c.text)
	case opConsumerUpdate:
		dst = binary.AppendUvarint(dst, c.seq)
		return appendText(dst, c.text)
	}
	return dst
}

// decodeCommand reads a command; texts are copied.
func decodeCommand(b []byte) (*command, error) {
	d := decoder{b: b}
	c := &command{op: op(d.byte())}
	switch c.op {
	case opConfig:
		c.text = append([]byte{}, d.text()...)
	case opExpire, opDelete, opErase, opConsumerDelete:
		c.seq = d.uvarint()
	case opExpireSeqs:
		for last := uint64(0); len(d.b) > 0; {
			last += d.uvarint()
			c.seqs = append(c.seqs, last)
		}
	case opPurge:
		c.filter = string(d.text())
		c.seq = d.uvarint()
		c.keep = d.uvarint()
	case opConsumerCreate:
		c.name = string(d.text())
		c.text = append([]byte{}, d.text()...)
	case opConsumerUpdate:
		c.seq = d.uvarint()
		c.text = append([]byte{}, d.text()...)
	default:
		return nil, ErrBadCommand
	}
	if d.bad || len(d.b) > 0 {
		return nil, ErrBadCommand
	}
	return c, nil
}

// finish tells whoever waits.
func (c *command) finish(err *jsapi.Error) {
	if err != nil {
		c.err = err
	}
	if c.done != nil {
		c.done()
		c.done = nil
	}
}

// command appends c; done is called when it is applied or has failed.
func (p *Partition) command(c *command) {
	if p.ending() {
		c.finish(errClosed())
		return
	}
	if p.applying { // the queue of what is in flight is being worked off
		p.later = append(p.later, c)
		return
	}
	c.time = p.stamp
	if c.op == opPurge && (c.filter == "" || c.filter == ">") {
		p.next = max(p.next, c.seq) // what comes now lies beyond what is purged
	}
	f := p.appendBatch(segment.Head{Kind: segment.KindCommand, Time: p.stamp, Base: p.next}, c.appendTo(nil))
	f.cmd = c
	c.index = f.index
	p.commands++
}

// run applies a command.
func (p *Partition) run(c *command) {
	if p.commands > 0 {
		p.commands--
	}
	switch c.op {
	case opConfig:
		var cfg jsapi.StreamConfig
		if err := json.Unmarshal(c.text, &cfg); err != nil {
			c.err = jsapi.Err(jsapi.ErrStreamUpdate, "err", fmt.Sprintf("configuration in the log: %v", err))
			break
		}
		before := p.cfg.Retention
		p.reconfigure(cfg)
		c.sweep = cfg.Retention != before
	case opExpire:
		before := p.msgs
		p.expireBelow(c.seq)
		c.result = before - p.msgs
	case opExpireSeqs:
		c.result = p.removeSeqs(c.seqs)
	case opPurge:
		before := p.bytes
		c.result = p.purge(c.filter, c.seq, c.keep)
		p.purged(before - p.bytes)
	case opDelete:
		if p.deleteSeq(c.seq) {
			c.result = 1
		}
	case opErase:
		if p.deleteSeq(c.seq) {
			c.result = 1
			p.noteErasure(c)
		}
	case opConsumerCreate:
		p.applyCreate(c)
	case opConsumerUpdate:
		p.applyUpdate(c)
	case opConsumerDelete:
		p.applyDelete(c)
	}
	p.settleCounts()
	p.account()
	p.armExpire()
	p.sched.fire = p.nextFire()
	p.sweepAfter(c)
	c.finish(nil)
}

// reconfigure takes over a stream configuration.
func (p *Partition) reconfigure(cfg jsapi.StreamConfig) {
	before := p.cfg.Retention
	p.configure(cfg)
	if cfg.Retention != before {
		for _, m := range p.members.byID {
			p.watchResolved(m)
		}
		p.keep.done = p.keep.done[:0]
		p.findFormer()
	}
	p.dropDisabled(&cfg)
	if limit := cfg.MaxMsgsPerSubject; limit > 0 {
		p.trimAll(uint64(limit))
	}
	p.enforce()
}
