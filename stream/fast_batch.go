package stream

import (
	"bytes"
	"encoding/json"
	"strconv"

	"godwit/protocol/jsapi"
)

// fastSuffix ends the reply subjects of fast batches.
const fastSuffix = ".$FI"

const (
	fastFlow    = 10    // messages per answer if a client does not say
	fastFlowMax = 65535 // and at most
	fastShare   = 500   // messages per answer that the batches of a stream share
)

// fastOp is what a message of a fast batch does. The numbers are the protocol's.
type fastOp uint8

const (
	fastStart  fastOp = 0
	fastAppend fastOp = 1
	fastCommit fastOp = 2 // with this message
	fastEnd    fastOp = 3 // without it
	fastPing   fastOp = 4
)

// fastReply is what a reply subject says: <prefix>.<id>.<flow>.<gap>.<seq>.<op>.$FI.
type fastReply struct {
	id     []byte // part of the subject
	flow   int
	strict bool // a gap ends the batch
	seq    uint64
	op     fastOp
}

// parseFast reads a reply subject.
func parseFast(reply []byte) (r fastReply, ok bool) {
	rest, ok := bytes.CutSuffix(reply, []byte(fastSuffix))
	last := func() []byte {
		i := bytes.LastIndexByte(rest, '.')
		if i < 0 {
			ok = false
			return nil
		}
		token := rest[i+1:]
		rest = rest[:i]
		return token
	}
	op, seq, gap, flow, id := last(), last(), last(), last(), last()
	if !ok || len(rest) == 0 || len(id) == 0 || len(op) != 1 || op[0] < '0' || op[0] > '4' {
		return r, false
	}
	r.id, r.op = id, fastOp(op[0]-'0')
	var err error
	if r.seq, err = strconv.ParseUint(string(seq), 10, 63); err != nil || r.seq == 0 {
		return r, false
	}
	switch string(gap) {
	case "ok":
	case "fail":
		r.strict = true
	default:
		return r, false
	}
	if r.flow, err = strconv.Atoi(string(flow)); err != nil || r.flow <= 0 {
		r.flow = fastFlow
	}
	r.flow = min(r.flow, fastFlowMax)
	switch r.op {
	case fastStart:
		return r, r.seq == 1
	case fastAppend, fastEnd:
		return r, r.seq > 1
	}
	return r, true
}

// fastBatch is a sequence of messages that are stored as they come and answered for together.
type fastBatch struct {
	id     string
	flow   int // messages per answer that the client wants
	every  int // and gets
	seq    uint64
	acked  uint64 // of the batch's sequences
	stored uint64 // sequence in the stream of the last message, 0 if there is none
	used   int64
}

// fastAnswer is what is said of a fast batch that goes on.
type fastAnswer struct {
	Type string `json:"type"`
}

type fastAck struct {
	fastAnswer
	Seq  uint64 `json:"seq"`
	Msgs int    `json:"msgs"`
}

type fastGap struct {
	fastAnswer
	Expected uint64 `json:"last_seq"`
	Seq      uint64 `json:"seq"`
}

type fastErr struct {
	fastAnswer
	Seq   uint64       `json:"seq"`
	Error *jsapi.Error `json:"error"`
}

// say adds an answer.
func (r *result) say(v any) {
	r.custom = true
	if b, err := json.Marshal(v); err == nil { // plain structures always can be
		r.bodies = append(r.bodies, b)
	}
}

func (f *fastBatch) ack() fastAck { return fastAck{fastAnswer{"ack"}, f.seq, f.every} }

// judgeFast takes a message of a fast batch.
func (p *Partition) judgeFast(b *PubBatch, i int, c *check) (r result, size uint64) {
	refuse := func(code jsapi.Code) (result, uint64) { return result{err: jsapi.Err(code)}, 0 }
	if !p.cfg.AllowBatchPublish {
		return refuse(jsapi.ErrBatchPublishDisabled)
	}
	m, ok := parseFast(b.reply(i))
	if !ok {
		return refuse(jsapi.ErrBatchPublishInvalidPattern)
	}
	if len(m.id) > batchIDMax {
		return refuse(jsapi.ErrBatchPublishInvalidBatchID)
	}
	f := p.open.fast[string(m.id)]
	if f == nil {
		if m.seq != 1 || m.op == fastPing {
			return refuse(jsapi.ErrBatchPublishUnknownBatchID)
		}
		if f = p.beginFast(&m); f == nil {
			return refuse(jsapi.ErrBatchPublishTooManyInflight)
		}
		if m.op == fastStart {
			r.say(f.ack())
		}
	}
	f.used = p.now
	p.batchUsed()
	r.custom = true
	if !p.fastGaps(f, &m, &r) {
		r.skip = true
		return r, 0
	}
	switch m.op {
	case fastPing:
		r.skip = true
		r.say(f.ack())
		return r, 0
	case fastEnd:
		r.skip = true
		p.endFast(f, &r)
		return r, 0
	}
	return p.fastMessage(b, i, c, f, &m, r)
}

func (p *Partition) beginFast(m *fastReply) *fastBatch {
	if len(p.open.fast) >= p.open.limits.Fast || !take(&p.open.limits.Budget.fast, fastBatchesMax) {
		return nil
	}
	f := &fastBatch{id: string(m.id), flow: m.flow, every: 1}
	if len(p.open.fast) == 0 {
		f.every = min(m.flow, fastShare)
	}
	p.open.fast[f.id] = f
	return f
}

// fastGaps answers for sequences of the batch that are missing, or came before, and says whether the batch goes on.
func (p *Partition) fastGaps(f *fastBatch, m *fastReply, r *result) bool {
	arrived := m.seq
	if m.op == fastPing {
		arrived++ // it tells the last one sent
	}
	expected := f.seq + 1
	if arrived == expected {
		return true
	}
	r.say(fastGap{fastAnswer{"gap"}, expected, arrived})
	if arrived < expected || m.strict {
		p.endFast(f, r)
		return false
	}
	f.seq = arrived - 1
	if m.op != fastPing {
		p.ackFast(f, r)
	}
	return true
}

// ackFast answers for the messages so far, if it is time.
func (p *Partition) ackFast(f *fastBatch, r *result) {
	if f.seq-f.acked < uint64(f.every) {
		return
	}
	f.every = max(1, min(2*f.every, f.flow, fastShare/len(p.open.fast)))
	f.acked = f.seq
	r.say(f.ack())
}

// fastMessage judges the message itself.
func (p *Partition) fastMessage(b *PubBatch, i int, c *check, f *fastBatch, m *fastReply, r result) (result, uint64) {
	got, size := p.judgeOne(b, i, c)
	if got.err != nil {
		r.skip = true
		if m.strict && m.seq == 1 {
			p.open.dropFast(f)
			r.say(jsapi.PubAck{Error: got.err, Stream: p.name})
			return r, size
		}
		r.say(fastErr{fastAnswer{"err"}, m.seq, got.err})
		if m.strict || m.op == fastCommit {
			p.endFast(f, &r)
		} else {
			f.seq = m.seq
		}
		return r, size
	}
	got.custom, got.bodies = true, r.bodies
	f.seq = m.seq
	if got.duplicate {
		f.stored = max(f.stored, got.seq)
	} else {
		f.stored = p.next
	}
	if m.op == fastCommit {
		p.endFast(f, &got)
	} else {
		p.ackFast(f, &got)
	}
	return got, size
}

// endFast ends a batch with the answer for what was stored.
func (p *Partition) endFast(f *fastBatch, r *result) {
	p.open.dropFast(f)
	r.custom = true
	r.bodies = append(r.bodies, append([]byte(nil), p.ack.encode(&result{seq: f.stored, batch: f.id, count: f.seq})...))
}
