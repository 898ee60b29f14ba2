package stream

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// HeaderSource is set on every message that comes from another stream; clients may not set it.
const HeaderSource = "Nats-Stream-Source"

// Copied is a message of another stream. The slices are lent until the call returns.
type Copied struct {
	Subject, Header, Value []byte
	Seq                    uint64 // there
	Time                   int64  // ns since 1970
}

// copyGap is how many missing sequences of what is copied or restored are written as holes, so that batches stay large.
const copyGap = 64

// LastSeq is the last sequence that was used.
func (p *Partition) LastSeq() (seq uint64) {
	_ = p.do(func() { seq = p.next - 1 }) // closed: it does not matter
	return seq
}

// Mirror stores messages under their own sequences and times, those that are missing between them as holes. It returns
// when they are as safe as the policy promises. Sequences that were used already are left out. After an error the first messages
// may have been stored; those that were not have to come again.
func (p *Partition) Mirror(list []Copied) *jsapi.Error {
	return p.copyIn(func() *jsapi.Error {
		size := uint64(0)
		for i := range list {
			size += p.stored(len(list[i].Subject), len(list[i].Header), len(list[i].Value))
		}
		if err := p.judgeQuota(size); err != nil {
			return err
		}
		var open mirrored
		defer func() { open.propose(p) }()
		at := p.next
		for i := range list {
			m := &list[i]
			if m.Seq < at {
				continue
			}
			if err := judgeNext(m.Seq); err != nil {
				return err
			}
			rec := &segment.Record{Attrs: copiedAttrs(m.Header), TimeDelta: m.Time - p.stamp, Subject: m.Subject, Header: m.Header, Value: m.Value}
			if err := open.judge(p, rec); err != nil {
				return err
			}
			if open.b == nil || m.Seq-at > copyGap || open.b.Full() {
				open.propose(p)
				p.next, at = m.Seq, m.Seq
				open.b = p.NewBatch()
			}
			for ; at < m.Seq; at++ {
				open.b.addInternal(&segment.Record{Attrs: attrUnwanted, TimeDelta: m.Time - p.stamp})
			}
			open.add(p, rec)
			at++
		}
		return nil
	})
}

// Skip makes a mirror go on behind a sequence, because its origin has nothing for it up to there.
func (p *Partition) Skip(to uint64) *jsapi.Error {
	return p.copyIn(func() *jsapi.Error {
		if to < p.next {
			return nil
		}
		if err := judgeNext(to); err != nil {
			return err
		}
		p.next = to
		b := p.NewBatch()
		b.addInternal(&segment.Record{Attrs: attrUnwanted, TimeDelta: p.lastTime - p.stamp})
		p.proposeInternal(b)
		return nil
	})
}

// copiedAttrs are the attributes of a message that was stored elsewhere. What it replaced there is gone there.
func copiedAttrs(header []byte) byte {
	if len(header) == 0 {
		return 0
	}
	c := check{}
	scanHeader(header, 0, uint32(len(header)), &c)
	return c.attrs(header) &^ (attrRollupSub | attrRollupAll)
}

// Source stores messages of another stream as new ones. Their headers name where they come from: see HeaderSource. It
// returns when they are as safe as the policy promises; the error is that of the first one that was refused, and
// none behind it was stored. A duplicate is not refused.
func (p *Partition) Source(list []Copied) *jsapi.Error {
	return p.copyIn(func() *jsapi.Error {
		for len(list) > 0 {
			b := p.NewBatch()
			b.internal, b.copied = true, true
			for len(list) > 0 && !b.Full() {
				m := &list[0]
				b.Add(m.Subject, nil, m.Header, m.Value)
				list = list[1:]
			}
			p.propose([]*PubBatch{b})
			if b.refused != nil {
				return b.refused
			}
		}
		return nil
	})
}

// copyIn runs f in the turn, unless the partition takes nothing more, and waits until everything before and what f has
// proposed is safe. If it says that the disk is full, that may still become safe.
func (p *Partition) copyIn(f func() *jsapi.Error) *jsapi.Error {
	result := make(chan *jsapi.Error, 1)
	if !p.box.call(func() {
		refused := errClosed()
		if !p.ending() {
			if refused = p.noRoom(); refused == nil {
				refused = f()
			}
		}
		p.flights.push(p.index).dones = []func(*jsapi.Error){func(err *jsapi.Error) {
			if err == nil {
				err = refused
			}
			result <- err
		}}
	}, true) {
		return errClosed()
	}
	err, full := await(p, result)
	if full != nil {
		return full
	}
	return err
}

// origins are how far the stream has come with each of the streams that it takes messages from, by what their headers say:
// stream, filters and transforms.
type origins map[string]OriginPosition

// OriginPosition is the last message that was taken from a source: its sequence there, and what tells that stream from
// another one that had its name, empty if it is not known.
type OriginPosition struct {
	Seq      uint64
	Identity string
}

// OriginKey is what tells one source of a stream from others, as the header of its messages says it.
func OriginKey(stream, filter, transform string) string {
	return stream + " " + filter + " " + transform
}

// Sourced is the last message that was taken from a source, by its OriginKey; zero if none was. What is in flight is waited
// for.
func (p *Partition) Sourced(key string) (at OriginPosition, err *jsapi.Error) {
	if err := p.copyIn(func() *jsapi.Error { return nil }); err != nil {
		return at, err
	}
	if p.do(func() { at = p.origins[key] }) != nil {
		return at, errClosed()
	}
	return at, nil
}

// noteOrigin takes note of a message that comes from another stream.
func (s *state) noteOrigin(r *segment.Record) {
	from, ok := readOrigin(r.Header)
	if !ok {
		return
	}
	if s.origins == nil {
		s.origins = origins{}
	}
	at := from.at
	key := OriginKey(from.stream, from.filter, from.transform)
	if before := s.origins[key]; before.Identity != at.Identity || before.Seq < at.Seq {
		s.origins[key] = at
	}
}

// messageOrigin is what HeaderSource says of a message.
type messageOrigin struct {
	stream, filter, transform string
	subject                   string // there
	at                        OriginPosition
}

// readOrigin reads HeaderSource; ok is false if there is none.
func readOrigin(block []byte) (o messageOrigin, ok bool) {
	fields := strings.Split(string(headerValue(block, HeaderSource)), " ")
	if len(fields) < 5 {
		return o, false
	}
	seq, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return o, false
	}
	o = messageOrigin{fields[0], fields[2], fields[3], fields[4], OriginPosition{Seq: seq}}
	if len(fields) > 5 {
		o.at.Identity = fields[5]
	}
	return o, true
}

// appendTo encodes the positions for a checkpoint.
func (o origins) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(o)))
	for key, at := range o {
		dst = appendText(appendText(dst, []byte(key)), []byte(at.Identity))
		dst = binary.AppendUvarint(dst, at.Seq)
	}
	return dst
}

func (o *origins) decode(d *decoder) {
	*o = origins{}
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		key, identity := string(d.text()), string(d.text())
		(*o)[key] = OriginPosition{d.uvarint(), identity}
	}
}

// WithoutExpectations returns a header block without what concerned only the stream that it was published to; it is block
// itself if there is nothing of the kind, and nil if there is nothing else.
func WithoutExpectations(block []byte) []byte {
	if !bytes.Contains(block, []byte(expectPrefix)) && !bytes.Contains(block, []byte(batchPrefix)) {
		return block
	}
	dst := append(append([]byte{}, headerVersion...), "\r\n"...)
	none := len(dst)
	headerLines(block, func(name, _, line []byte) bool {
		if !concernsOrigin(name) {
			dst = appendLine(dst, line)
		}
		return true
	})
	if len(dst) == none {
		return nil
	}
	return append(dst, "\r\n"...)
}

const (
	expectPrefix = "Nats-Expected-"
	batchPrefix  = "Nats-Batch-"
)

// concernsOrigin says whether a header has no meaning outside the stream that its message was published to.
func concernsOrigin(name []byte) bool {
	return bytes.HasPrefix(name, []byte(expectPrefix)) || bytes.HasPrefix(name, []byte(batchPrefix))
}

// StripExpectations appends a header block likewise, and without HeaderSource.
func StripExpectations(dst, block []byte) []byte {
	dst = append(append(dst, headerVersion...), "\r\n"...)
	headerLines(block, func(name, _, line []byte) bool {
		if !concernsOrigin(name) && string(name) != HeaderSource {
			dst = appendLine(dst, line)
		}
		return true
	})
	return append(dst, "\r\n"...)
}
