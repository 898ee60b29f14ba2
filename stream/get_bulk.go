package stream

import (
	"math"
	"slices"
	"strconv"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

const (
	multiMax     = 1024     // subjects of a request for the last messages of many
	bulkBytes    = 64 << 20 // sent for one request that names no bound
	bulkTurn     = 256 << 10
	bulkLook     = 4 << 10 // messages looked at in one turn for one request
	bulkOpen     = 1024    // requests that are being answered; others wait
	getNoResults = "404 No Results"
	getTooMany   = "413 Too Many Results"
)

// bulk is a direct get of many messages that is being answered, some in each turn.
type bulk struct {
	reply  []byte
	noHdr  bool
	multi  bool
	seqs   []uint64 // multi: what is still to be sent
	filter string   // else: messages on these subjects,
	next   uint64   // from here on
	end    uint64   // up to this one
	rd     *reader

	left    int // messages that may still be sent
	bytes   int // and bytes; the message that passes it is sent
	pending uint64
	last    uint64 // sequence sent before
	upTo    uint64 // multi: the newest that counts
}

// selectsMany says whether a request may have several messages as its answer.
func selectsMany(r *jsapi.MsgGetRequest) bool { return r.Batch != 0 || len(r.MultiLast) > 0 }

// badMany says whether a request for many contradicts itself.
func badMany(r *jsapi.MsgGetRequest) bool {
	if len(r.MultiLast) == 0 {
		return r.LastFor != "" || badSelection(r)
	}
	timed := r.StartTime != nil && !r.StartTime.IsZero()
	return r.LastFor != "" || r.NextFor != "" || r.Seq > 0 && timed || r.UpToSeq > 0 && r.UpToTime != nil && !r.UpToTime.IsZero()
}

// openBulk begins to answer a request for many messages.
func (p *Partition) openBulk(reply []byte, r *jsapi.MsgGetRequest) {
	b := &bulk{reply: slices.Clone(reply), noHdr: r.NoHeaders, left: max(r.Batch, 0), bytes: bulkBytes, next: max(r.Seq, p.first), end: p.last}
	if r.StartTime != nil && !r.StartTime.IsZero() {
		b.next = max(p.log.SeqAt(r.StartTime.UnixNano()), p.first)
	}
	if r.MaxBytes > 0 {
		b.bytes = r.MaxBytes
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

// openMulti begins to answer a request for the last messages of subjects.
func (p *Partition) openMulti(b *bulk, r *jsapi.MsgGetRequest) {
	b.multi, b.noHdr, b.upTo = true, false, p.last
	if r.Batch == 0 {
		b.left, b.bytes = math.MaxInt, bulkBytes
	}
	if r.UpToSeq > 0 {
		b.upTo = min(r.UpToSeq, p.last)
	}
	if r.UpToTime != nil && !r.UpToTime.IsZero() {
		b.upTo = min(p.log.SeqAt(r.UpToTime.UnixNano())-1, p.last)
	}
	var ok bool
	b.seqs, ok = p.lastsUpTo(r.MultiLast, b.next, b.upTo, multiMax)
	switch {
	case !ok:
		p.getStatus(b.reply, getTooMany)
	case len(b.seqs) == 0:
		p.getStatus(b.reply, getNoResults)
	default:
		b.pending = uint64(len(b.seqs))
		p.bulks = append(p.bulks, b)
	}
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
		b.last = seq
	}
	h := append(p.head[:0], "NATS/1.0 204 EOB\r\n"...)
	h = b.appendCounts(h)
	if b.multi {
		h = append(strconv.AppendUint(append(h, "Nats-UpTo-Sequence: "...), b.upTo, 10), "\r\n"...)
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
	if b.rd == nil {
		b.rd = p.reader(b.next)
	}
	if live := p.deleted.next(max(b.next, p.first)); live > b.next+16 {
		b.rd.Seek(live)
	}
	seq, t, ok = b.rd.Next(b.end, r)
	if !ok {
		return 0, 0, false
	}
	b.next = seq + 1
	if !p.has(seq) || b.filter != "" && !matchesAny([]string{b.filter}, r.Subject) {
		return 0, 0, true
	}
	return seq, t, true
}

// sendOfBulk sends one message and returns its size, 0 if nobody listens.
func (p *Partition) sendOfBulk(b *bulk, seq uint64, t int64, r *segment.Record) int {
	p.ack.msg = consumer.Message{Subject: b.reply, Payload: r.Value}
	if !b.noHdr {
		h := append(b.appendCounts(appendOrigin(p.head[:0], p.name, r, seq, t)), "\r\n"...)
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

// lastsUpTo returns the last message in [from, to] of each subject that the filters match, ascending; ok is false if there
// are more than limit.
func (s *state) lastsUpTo(filters []string, from, to uint64, limit int) (seqs []uint64, ok bool) {
	low := to + 1 // where the ones of subjects lie that have newer messages
	later := map[string]uint64{}
	s.matchEntries(filters, func(i int) {
		e := &s.subjects.entries[i]
		switch last := s.lastOf(i); {
		case last < from || e.first > to || len(seqs)+len(later) > limit:
		case last <= to:
			seqs = append(seqs, last)
		default:
			low = min(low, max(from, e.first))
			later[string(s.subjects.name(i))] = 0
		}
	})
	if len(later) > 0 {
		s.scan(low, to, func(seq uint64, _ int64, r *segment.Record) bool {
			if _, wanted := later[string(r.Subject)]; wanted {
				later[string(r.Subject)] = seq
			}
			return true
		})
		for _, seq := range later {
			if seq > 0 {
				seqs = append(seqs, seq)
			}
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs) // a filter may be there twice
	return seqs, len(seqs) <= limit
}
