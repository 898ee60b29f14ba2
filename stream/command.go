package stream

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
)

// command changes something other than by messages. It is one batch of the log.
type command struct {
	op     op
	seq    uint64 // also the consumer's id
	keep   uint64
	filter string
	name   string
	text   []byte // JSON of a configuration

	index  uint64
	time   int64
	result uint64       // messages removed
	err    *jsapi.Error // why nothing was done
	done   func()       // called once, in the turn; nil for nobody waits
}

// appendTo encodes the command.
func (c *command) appendTo(dst []byte) []byte {
	dst = append(dst, byte(c.op))
	switch c.op {
	case opConfig:
		return appendText(dst, c.text)
	case opExpire, opDelete, opConsumerDelete:
		return binary.AppendUvarint(dst, c.seq)
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
	case opExpire, opDelete, opConsumerDelete:
		c.seq = d.uvarint()
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
	if p.failed || p.drained != nil {
		c.finish(storeFailed("store is closed"))
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
		p.reconfigure(cfg)
	case opExpire:
		before := p.msgs
		p.removeBelow(c.seq)
		c.result = before - p.msgs
	case opPurge:
		c.result = p.purge(c.filter, c.seq, c.keep)
	case opDelete:
		if p.deleteSeq(c.seq) {
			c.result = 1
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
	c.finish(nil)
}

// reconfigure takes over a stream configuration.
func (p *Partition) reconfigure(cfg jsapi.StreamConfig) {
	p.configure(cfg)
	if limit := cfg.MaxMsgsPerSubject; limit > 0 {
		p.trimAll(uint64(limit))
	}
	p.enforce()
}

// expireOld proposes to remove what is older than the stream's maximum age.
func (p *Partition) expireOld() {
	if p.cfg.MaxAge <= 0 || p.msgs == 0 || p.expiring {
		return
	}
	seq := p.log.SeqAt(p.now - int64(p.cfg.MaxAge) + 1)
	seq = min(seq, p.last+1)
	if seq <= p.first {
		p.armExpire()
		return
	}
	p.expiring = true
	p.sched.expired = p.now
	p.command(&command{op: opExpire, seq: seq, done: func() {
		p.expiring = false
		p.armExpire()
	}})
}

// expireEvery is how often old messages are removed at most.
const expireEvery = int64(250 * time.Millisecond)

// armExpire schedules the removal of old messages.
func (p *Partition) armExpire() {
	p.sched.expire = never
	if p.cfg.MaxAge <= 0 || p.expiring || !p.peek() {
		return
	}
	at := p.front.time + int64(p.cfg.MaxAge)
	p.sched.expire = max(at, p.sched.expired+expireEvery)
}
