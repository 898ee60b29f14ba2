package stream

import (
	"bytes"
	"encoding/json"
	"math/big"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// totals are the values of counters that are in flight, by subject. They are the turn's.
type totals map[string]total

type total struct {
	value   *big.Int
	sources []byte // its hdrCounterSources, nil if it has none
	seq     uint64 // of the message that holds it
}

// totalsMax is when values that are applied meanwhile are forgotten.
const totalsMax = 8192

// counterValue is the body of a counter's message.
type counterValue struct {
	Value *string `json:"val"`
}

// parseIncrement reads Nats-Incr, a whole number of any size; nil if it is none.
func parseIncrement(v []byte) *big.Int {
	n, ok := new(big.Int).SetString(string(v), 10)
	if !ok {
		return nil
	}
	return n
}

// judgeIncrement checks a message with Nats-Incr before all else that its headers want.
func (p *Partition) judgeIncrement(c *check, rec *segment.Record) *jsapi.Error {
	const conditions = seenExpectStream | seenExpectSeq | seenExpectSubjSeq | seenExpectSubj | seenExpectMsgID | seenRollup
	switch {
	case c.incr == nil:
		return jsapi.Err(jsapi.ErrMessageIncrInvalid)
	case !p.cfg.AllowMsgCounter:
		return jsapi.Err(jsapi.ErrMessageIncrDisabled)
	case len(rec.Value) > 0:
		return jsapi.Err(jsapi.ErrMessageIncrPayload)
	case c.seen&conditions != 0:
		return jsapi.Err(jsapi.ErrMessageIncrInvalid)
	}
	return nil
}

// count makes rec hold the counter's next value, which it returns. before is the value so far of a batch that is being
// committed; nil asks for what is stored or in flight.
func (p *Partition) count(hash uint64, c *check, rec *segment.Record, before *big.Int) (*big.Int, *jsapi.Error) {
	if c == nil || c.seen&seenIncr == 0 {
		return nil, jsapi.Err(jsapi.ErrMessageIncrMissing)
	}
	stored, sources, err := p.counter(hash, rec.Subject)
	if err != nil {
		return nil, err
	}
	if before == nil {
		before = stored
	}
	value := new(big.Int).Add(before, c.incr)
	rec.Value = encodeCounter(value)
	if sources != nil {
		rec.Header = setHeader(nil, rec.Header, hdrCounterSources, string(sources))
	}
	c.changed = true
	if err := p.judgeLength(rec); err != nil {
		return nil, err
	}
	return value, nil
}

func encodeCounter(v *big.Int) []byte { return append(v.Append([]byte(`{"val":"`), 10), `"}`...) }

// counter returns the value of a subject's counter, and its hdrCounterSources, nil if it has none.
func (p *Partition) counter(hash uint64, subj []byte) (v *big.Int, sources []byte, err *jsapi.Error) {
	seq := p.lastOn(hash, subj)
	if seq == 0 {
		return new(big.Int), nil, nil
	}
	if t, ok := p.totals[string(subj)]; ok && t.seq == seq {
		return t.value, t.sources, nil
	}
	var r segment.Record
	if _, err := p.read(seq, &r); err != nil {
		return nil, nil, jsapi.Err(jsapi.ErrMessageCounterBroken)
	}
	if v = decodeCounter(r.Value); v == nil {
		return nil, nil, jsapi.Err(jsapi.ErrMessageCounterBroken)
	}
	return v, headerValue(r.Header, hdrCounterSources), nil
}

// decodeCounter reads the body of a counter's message; nil if it is none.
func decodeCounter(body []byte) *big.Int {
	var v counterValue
	if err := json.Unmarshal(body, &v); err != nil || v.Value == nil {
		return nil
	}
	return parseIncrement([]byte(*v.Value))
}

// noteTotal remembers the value of a message that goes into the log as seq; record is lent.
func (p *Partition) noteTotal(record []byte, v *big.Int, seq uint64) {
	var r segment.Record
	if _, err := segment.ReadRecord(record, &r); err != nil { // it was encoded here
		return
	}
	subj := r.Subject
	if p.totals == nil {
		p.totals = totals{}
	}
	if len(p.totals) >= totalsMax {
		for s, t := range p.totals {
			if t.seq <= p.last {
				delete(p.totals, s)
			}
		}
	}
	p.totals[string(subj)] = total{v, bytes.Clone(headerValue(r.Header, hdrCounterSources)), seq}
}
