package stream

import (
	"math"
	"slices"
	"strconv"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

const (
	multiMax     = 1024     // subjects of a request for the last messages of many
	bulkBytes    = 64 << 20 // sent for one request that names no bound
	bulkTurn     = 256 << 10
	bulkLook     = 4 << 10 // messages looked at in one turn for one request
	bulkOpen     = 1024    // requests that are being answered; others wait
	bulkMax      = 4096    // both; others are refused
	getOverload  = "429 Too Many Requests"
	getNoResults = "404 No Results"
	getTooMany   = "413 Too Many Results"
)

// bulk is a direct get of many messages that is being answered, some in each turn.
type bulk struct {
	reply []byte
	noHdr bool
	multi bool
	// multi: what is still to be sent, ascending, and subjects whose last message up to end is still looked for, with
	// what was found so far
	seqs   []uint64
	older  map[string]uint64
	filter string // else: messages on these subjects
	next   uint64 // where the log is read on
	end    uint64 // and how far
	rd     *reader

	left    int // messages that may still be sent
	bytes   int // and bytes; the message that passes it is sent
	pending uint64
	last    uint64 // sequence sent before
}

// selectsMany says whether a request may have several messages as its answer.
func selectsMany(r *jsapi.MsgGetRequest) bool { return r.Batch != 0 || len(r.MultiLast) > 0 }

// badMany says whether a request for many contradicts itself.
func badMany(r *jsapi.MsgGetRequest) bool {
	if len(r.MultiLast) == 0 {
		return r.LastFor != "" || badSelection(r)
	}
	return r.LastFor != "" || r.NextFor != "" || r.Seq > 0 && timed(r) || r.UpToSeq > 0 && r.UpToTime != nil
}

// openBulk begins to answer a request for many messages.
func (p *Partition) openBulk(reply []byte, r *jsapi.MsgGetRequest) {
	if len(p.bulks) >= bulkMax {
		p.getStatus(reply, getOverload)
		return
	}
	b := &bulk{reply: slices.Clone(reply), noHdr: r.NoHeaders, left: max(r.Batch, 0), bytes: bulkBytes, next: max(p.opts.numbers.From(r.Seq), p.first), end: p.last}
	if at, ok := p.startOfGet(r); ok {
		b.next = max(at, p.first)
	}
	if r.MaxBytes != 0 {
		b.bytes = max(r.MaxBytes, 1)
	}
	if len(r.MultiLast) > 0 {
		p.openMulti(b, r)
		return
	}
	b.filter = r.NextFor
	if b.filter == "" {
		b.pending = p.state.count(b.next, b.end)
	} else {
		b.pending = p.countMatching([]string{b.filter}, b.next)
	}
	if b.pending == 0 {
		p.getStatus(reply, getNotFound)
		return
	}
	p.bulks = append(p.bulks, b)
}

// openMulti begins to answer a request for the last messages of subjects. The time that a request begins at does not count
// here, as in nats-server.
func (p *Partition) openMulti(b *bulk, r *jsapi.MsgGetRequest) {
	b.multi, b.noHdr = true, false
	if r.Batch <= 0 {
		b.left = math.MaxInt
	}
	b.end = p.endOfMulti(r)
	filters := slices.DeleteFunc(slices.Clone(r.MultiLast), func(f string) bool { return f == "" })
	if len(filters) == 0 || !p.lasts(b, filters, max(p.opts.numbers.From(r.Seq), p.first)) {
		p.getStatus(b.reply, getNoResults)
		return
	}
	if len(b.seqs)+len(b.older) > multiMax {
		p.getStatus(b.reply, getTooMany)
		return
	}
	b.pending = uint64(len(b.seqs))
	p.bulks = append(p.bulks, b)
}

// endOfMulti is how far to look for the last messages of subjects.
func (p *Partition) endOfMulti(r *jsapi.MsgGetRequest) uint64 {
	switch {
	case r.UpToTime != nil:
		return min(max(p.log.SeqAt(jsapi.Nanos(*r.UpToTime)), 1)-1, p.last)
	case r.UpToSeq > 0:
		return min(p.opts.numbers.From(r.UpToSeq+1)-1, p.last)
	}
	return p.last
}

// stepBulks sends something of each request that is being answered, and returns true if there is more.
func (p *Partition) stepBulks() (again bool) {
	if len(p.bulks) == 0 {
		return false
	}
	open := p.bulks[:0]
	for i, b := range p.bulks {
		if i >= bulkOpen || p.stepBulk(b) {
			open = append(open, b)
		} else if b.rd != nil {
			b.rd.Release()
		}
	}
	clear(p.bulks[len(open):])
	p.bulks = open
	return len(open) > 0
}

// stepBulk sends some messages and returns true if there are more to come.
func (p *Partition) stepBulk(b *bulk) (more bool) {
	if b.older != nil && p.look(b) {
		return true
	}
	var r segment.Record
	sent := 0
	for looked := 0; b.left > 0 && b.bytes > 0; looked++ {
		if sent >= bulkTurn || looked >= bulkLook {
			return true
		}
		seq, t, ok := p.nextOfBulk(b, &r)
		if !ok {
			break
		}
		if seq == 0 {
			continue // not one of those
		}
		if b.pending > 0 {
			b.pending--
		}
		n := p.sendOfBulk(b, seq, t, &r)
		if n == 0 {
			return false // nobody listens any more
		}
		sent += n
		b.bytes -= n
		b.left--
		b.last = p.opts.numbers.Global(seq)
	}
	h := append(p.head[:0], "NATS/1.0 204 EOB\r\n"...)
	h = b.appendCounts(h)
	if b.multi {
		h = append(strconv.AppendUint(append(h, "Nats-UpTo-Sequence: "...), p.opts.numbers.Global(b.end), 10), "\r\n"...)
	}
	h = append(h, "\r\n"...)
	p.head = h
	p.ack.msg = consumer.Message{Subject: b.reply, Header: h}
	p.out.Deliver(b.reply, &p.ack.msg)
	return false
}

// nextOfBulk reads the next message that may be one of a request's; seq is 0 if it is none. ok is false at the end.
func (p *Partition) nextOfBulk(b *bulk, r *segment.Record) (seq uint64, t int64, ok bool) {
	if b.multi {
		if len(b.seqs) == 0 {
			return 0, 0, false
		}
		seq, b.seqs = b.seqs[0], b.seqs[1:]
		t, err := p.read(seq, r)
		if err != nil {
			return 0, 0, true // removed meanwhile
		}
		return seq, t, true
	}
	seq, t, ok = p.readOn(b, r)
	if seq > 0 && b.filter != "" && !subject.Match(b.filter, r.Subject) {
		seq = 0
	}
	return seq, t, ok
}

// readOn reads the next message of the log up to b.end; seq is 0 if it is stored no more. ok is false at the end.
func (p *Partition) readOn(b *bulk, r *segment.Record) (seq uint64, t int64, ok bool) {
	if b.rd == nil {
		b.rd = p.reader(b.next)
	}
	if live := p.deleted.next(max(b.next, p.first)); live > b.next+16 {
		b.rd.Seek(live)
	}
	if seq, t, ok = b.rd.Next(b.end, r); !ok {
		return 0, 0, false
	}
	b.next = seq + 1
	if !p.has(seq) {
		seq = 0
	}
	return seq, t, true
}

// sendOfBulk sends one message and returns its size, 0 if nobody listens.
func (p *Partition) sendOfBulk(b *bulk, seq uint64, t int64, r *segment.Record) int {
	p.ack.msg = consumer.Message{Subject: b.reply, Payload: r.Value}
	if !b.noHdr {
		h := append(b.appendCounts(appendOrigin(p.head[:0], p.name, r, p.opts.numbers.Global(seq), t)), "\r\n"...)
		p.head, p.ack.msg.Header = h, h
	}
	if p.out.Deliver(b.reply, &p.ack.msg) == 0 {
		return 0
	}
	return max(1, len(r.Subject)+len(r.Header)+len(r.Value))
}

// appendCounts appends how many messages follow and which one came before.
func (b *bulk) appendCounts(h []byte) []byte {
	h = strconv.AppendUint(append(h, "Nats-Num-Pending: "...), b.pending, 10)
	h = strconv.AppendUint(append(h, "\r\nNats-Last-Sequence: "...), b.last, 10)
	return append(h, "\r\n"...)
}

// lasts notes the last message in [from, b.end] of each subject that the filters match, or that it has to be looked for, up
// to one more than multiMax. It returns false if no subject has a message up to b.end.
func (s *state) lasts(b *bulk, filters []string, from uint64) (some bool) {
	b.next = b.end + 1
	s.matchEntries(filters, func(i int) {
		e := &s.subjects.entries[i]
		last := s.lastOf(i)
		some = some || e.first <= b.end
		switch {
		case last < from || e.first > b.end || len(b.seqs)+len(b.older) > multiMax:
		case last <= b.end:
			if !slices.Contains(b.seqs, last) { // a filter may be there twice
				b.seqs = append(b.seqs, last)
			}
		default:
			if b.older == nil {
				b.older = map[string]uint64{}
			}
			b.older[string(s.subjects.name(i))] = 0
			b.next = min(b.next, max(from, e.first))
		}
	})
	slices.Sort(b.seqs)
	return some
}

// look reads on for the last messages of subjects that have newer ones, and returns true if it is not done.
func (p *Partition) look(b *bulk) (more bool) {
	var r segment.Record
	for range bulkLook {
		seq, _, ok := p.readOn(b, &r)
		if !ok {
			for _, seq := range b.older {
				if seq > 0 {
					b.seqs = append(b.seqs, seq)
				}
			}
			b.older = nil
			slices.Sort(b.seqs)
			b.pending = uint64(len(b.seqs))
			return false
		}
		if _, wanted := b.older[string(r.Subject)]; wanted && seq > 0 {
			b.older[string(r.Subject)] = seq
		}
	}
	return true
}
