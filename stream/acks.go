package stream

import (
	"encoding/json"
	"fmt"
	"strconv"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/sequence"
)

// ackWriter writes acknowledgements of publishes.
type ackWriter struct {
	stream  string
	numbers sequence.Scheme
	domain  string
	prefix  []byte // {"stream":"S",["domain":"D",]"seq":
	buf     []byte
	msg     consumer.Message
}

func (w *ackWriter) init(stream, domain string, numbers sequence.Scheme) {
	w.stream, w.domain, w.numbers = stream, domain, numbers
	w.prefix = append(append([]byte(`{"stream":`), quote(stream)...), ',')
	if domain != "" {
		w.prefix = append(append(append(w.prefix, `"domain":`...), quote(domain)...), ',')
	}
	w.prefix = append(w.prefix, `"seq":`...)
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // a string always can be
	return b
}

// answer acknowledges or refuses the messages of a batch that have a reply subject.
func (w *ackWriter) answer(out Output, b *PubBatch) {
	if len(b.replies) == 0 {
		return
	}
	for i := range b.ends {
		to := b.reply(i)
		if len(to) == 0 {
			continue
		}
		r := result{seq: b.base + uint64(i)}
		if len(b.results) > 0 {
			r = b.results[i]
		}
		if r.custom {
			for _, body := range r.bodies {
				w.msg = consumer.Message{Subject: to, Payload: body}
				out.Deliver(to, &w.msg)
			}
			continue
		}
		w.msg = consumer.Message{Subject: to, Payload: w.encode(&r)}
		out.Deliver(to, &w.msg)
	}
}

// encode returns the acknowledgement, valid until the next call.
func (w *ackWriter) encode(r *result) []byte {
	if r.err != nil {
		b, err := json.Marshal(jsapi.PubAck{Error: r.err, Stream: w.stream})
		if err != nil {
			return fmt.Appendf(w.buf[:0], `{"stream":%q,"seq":0}`, w.stream)
		}
		return b
	}
	b := append(w.buf[:0], w.prefix...)
	b = strconv.AppendUint(b, w.numbers.Global(r.seq), 10)
	if r.duplicate {
		b = append(b, `,"duplicate": true`...)
	}
	if r.total != nil {
		b = append(r.total.Append(append(b, `,"val":"`...), 10), '"')
	}
	if r.batch != "" {
		b = append(append(append(b, `,"batch":`...), quote(r.batch)...), `,"count":`...)
		b = strconv.AppendUint(b, r.count, 10)
	}
	w.buf = append(b, '}')
	return w.buf
}

// sendEmpty answers an acknowledgement of a consumer's client.
func (p *Partition) sendEmpty(to []byte) {
	p.ack.msg = consumer.Message{Subject: to}
	p.out.Deliver(to, &p.ack.msg)
}

// overload is the header of the refusal of a publish that there is no room for.
const overload = "NATS/1.0 429 Too Many Requests\r\n\r\n"

// refuseAll answers a batch that the partition or the disk has no room for, or that came after its end. header may be empty.
// b is given.
func (p *Partition) refuseAll(b *PubBatch, why *jsapi.Error, header string) {
	body, err := json.Marshal(jsapi.PubAck{Error: why, Stream: p.name})
	if err == nil && len(b.replies) > 0 {
		p.refuse.Lock()
		for i := range b.ends {
			if to := b.reply(i); len(to) > 0 {
				p.refuse.out.Deliver(to, &consumer.Message{Subject: to, Header: []byte(header), Payload: body})
			}
		}
		p.refuse.out.Flush()
		p.refuse.Unlock()
	}
	b.tellFollowers(why)
	p.free(b)
}

// abortFlights refuses everything in flight after the log has failed. None of it is in the state.
func (p *Partition) abortFlights() {
	err := errClosed()
	if cause := p.failure.Load(); cause != nil {
		err = storeFailed((*cause).Error())
	}
	for p.flights.len() > 0 {
		f := p.flights.front()
		for _, b := range f.pubs {
			b.results = b.results[:0]
			for range b.ends {
				b.results = append(b.results, result{err: err})
			}
			p.recent.pop(b.stored)
			p.flying.msgs -= int64(b.stored)
			p.flying.bytes -= b.flying
		}
		p.answerPubs(f)
		if f.cmd != nil {
			f.cmd.finish(err)
		}
		f.done(err)
		p.flights.pop()
	}
}
