package consumer

import (
	"encoding/binary"
	"errors"
)

// ErrBadProgress: a progress record or a consumer's part of a checkpoint contradicts itself.
var ErrBadProgress = errors.New("consumer: malformed progress record")

// progressLog says what a progress record would have to tell.
type progressLog struct {
	dirty bool // something changed since the last record
	full  bool // the next record has to state everything
}

// Flags of a record.
const (
	progressFull  = 1 << iota // it states everything, not only what changed
	progressLasts             // newer messages follow a list of last ones
	progressPin               // a client is pinned
)

// Dirty says whether there is progress that is in no record yet.
func (c *Consumer) Dirty() bool { return c.log.dirty && !c.Volatile }

// AppendProgress appends what changed since the last record and counts it as logged:
//
//	flags, delivered (consumer, stream), ack floor (consumer, stream), [resume],
//	[pinned client: id, group, since],
//	number of entries stated, each: stream sequence (distance), consumer sequence, deliveries*4+state, [due],
//	number of stream sequences resolved, each as distance
//
// All numbers are uvarints but due and since, varints; texts have their length before them.
func (c *Consumer) AppendProgress(dst []byte) []byte {
	c.follow()
	c.log.dirty = false
	if c.log.full {
		c.log.full = false
		c.pend.touched, c.pend.resolved = c.pend.touched[:0], c.pend.resolved[:0]
		c.pend.logged = c.delivered.Consumer
		return c.AppendState(dst)
	}
	dst = c.appendHead(dst, 0)
	var stated, gone []byte
	var nStated, nGone, last, lastGone uint64
	c.pend.unlogged(c.delivered.Consumer, c.ackWait(1), func(e Entry) {
		stated = appendEntry(stated, &e, last)
		last = e.Stream
		nStated++
	}, func(seq uint64) {
		if seq > c.floor.Stream && seq != lastGone { // the floor says the rest
			gone = binary.AppendUvarint(gone, seq-lastGone)
			lastGone = seq
			nGone++
		}
	})
	dst = append(binary.AppendUvarint(dst, nStated), stated...)
	return append(binary.AppendUvarint(dst, nGone), gone...)
}

// AppendState appends a record that states everything. It does not count as logged.
func (c *Consumer) AppendState(dst []byte) []byte {
	dst = c.appendHead(dst, progressFull)
	entries := c.pend.entries(c.ackWait(1))
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	last := uint64(0)
	for i := range entries {
		dst = appendEntry(dst, &entries[i], last)
		last = entries[i].Stream
	}
	return append(dst, 0)
}

func (c *Consumer) appendHead(dst []byte, flags byte) []byte {
	if c.lasts.on {
		flags |= progressLasts
	}
	if c.pin.id != "" {
		flags |= progressPin
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, c.delivered.Consumer)
	dst = binary.AppendUvarint(dst, c.delivered.Stream)
	dst = binary.AppendUvarint(dst, c.floor.Consumer)
	dst = binary.AppendUvarint(dst, c.floor.Stream)
	if c.lasts.on {
		dst = binary.AppendUvarint(dst, c.lasts.resume)
	}
	if c.pin.id != "" {
		dst = appendText(dst, c.pin.id)
		dst = appendText(dst, c.pin.group)
		dst = binary.AppendVarint(dst, c.pin.at)
	}
	return dst
}

func appendText(dst []byte, t string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(t))), t...)
}

func appendEntry(dst []byte, e *Entry, last uint64) []byte {
	dst = binary.AppendUvarint(dst, e.Stream-last)
	dst = binary.AppendUvarint(dst, e.Consumer)
	dst = binary.AppendUvarint(dst, uint64(e.Deliveries)<<2|uint64(e.State))
	if e.State == Waiting {
		dst = binary.AppendVarint(dst, e.Due)
	}
	return dst
}

// ApplyProgress takes over a record, while the state is being restored. b is lent.
func (c *Consumer) ApplyProgress(b []byte) error {
	d := decoder{b: b}
	flags := d.byte()
	delivered := Position{d.uvarint(), d.uvarint()}
	floor := Position{d.uvarint(), d.uvarint()}
	if flags&progressLasts != 0 {
		c.lasts = lastList{on: true, resume: d.uvarint()}
	}
	c.pin = pin{}
	if flags&progressPin != 0 {
		c.pin = pin{id: d.text(), group: d.text(), at: d.varint()}
	}
	if d.bad {
		return ErrBadProgress
	}
	if flags&progressFull != 0 {
		c.pend.reset()
	}
	c.delivered, c.floor = delivered, floor
	c.next = delivered.Stream + 1
	c.pend.logged = 0
	c.pend.resolveTo(floor.Stream, func(uint64) {})
	last := uint64(0)
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		e := Entry{Stream: last + d.uvarint(), Consumer: d.uvarint()}
		v := d.uvarint()
		e.Deliveries, e.State = uint32(v>>2), EntryState(v&3)
		if e.State == Waiting {
			e.Due = d.varint()
		}
		last = e.Stream
		if !d.bad {
			c.pend.put(e)
		}
	}
	last = 0
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		last += d.uvarint()
		c.pend.resolve(last, 0)
	}
	c.pend.touched, c.pend.resolved = c.pend.touched[:0], c.pend.resolved[:0]
	c.pend.logged = delivered.Consumer
	if d.bad || len(d.b) > 0 {
		return ErrBadProgress
	}
	return nil
}

// Activate begins work after a restore: what was being processed gets a whole ack wait again. lasts are the last
// messages of subjects still to be delivered before newer ones.
func (c *Consumer) Activate(now int64, lasts []uint64) {
	if c.lasts.on {
		c.lasts.seqs, c.lasts.at = lasts, 0
		if len(lasts) > 0 {
			c.next = lasts[0]
		} else {
			c.next = max(c.next, c.lasts.resume+1)
		}
	}
	gone := c.pend.unstored(c.Store)
	for _, e := range c.pend.odd {
		if e.State == Flying {
			e.Due = later(now, c.ackWait(e.Deliveries))
		}
	}
	c.pend.rebuild()
	c.pend.touched, c.pend.resolved = nil, gone
	c.pend.logged = c.delivered.Consumer
	c.log.dirty = false
	if len(gone) > 0 {
		c.log.dirty = true
		c.moveFloor()
	}
	c.touched = now
	if c.Share != nil {
		c.join(c.Share(c), now)
	}
	c.pin.due = later(now, int64(c.cfg.PriorityTimeout))
	c.pace.restart(c.cfg, c.Store.High())
	c.follow()
}

// decoder reads numbers; bad is set when there are none.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return ""
	}
	v := string(d.b[:n])
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}
