package consumer

import (
	"bytes"
	"encoding/json"
	"math"
	"time"
)

// AckKind is what a client says about a delivered message.
type AckKind uint8

const (
	AckOther    AckKind = iota // nothing known: answered and ignored
	AckDone                    // processed
	AckNak                     // deliver again, after Delay
	AckProgress                // still working
	AckTerm                    // never deliver again
	AckNext                    // processed, and a pull request comes with it
)

// Ack is one acknowledgement, as read from its subject and payload. Texts lie in the batch.
type Ack struct {
	Stream, Consumer uint64 // sequences
	Delay            int64  // AckNak: ns
	Kind             AckKind
	reply, arg       span // arg: reason of AckTerm, body of the pull request of AckNext
}

// span is a part of a batch's text.
type span struct{ from, to uint32 }

// AckBatch is what one read buffer brought for one consumer. The sender builds it, the partition's turn applies it.
type AckBatch struct {
	C    *Consumer
	acks []Ack
	text []byte
}

// ackTextMax bounds the text of one acknowledgement's argument that is kept, in bytes.
const ackTextMax = 4 << 10

// Add reads an acknowledgement. rest is its subject after "$JS.ACK.<stream>.<consumer>."; all slices are lent. A
// subject that is none of ours, or of a message of another partition, is left out, as nobody would know what it answers.
func (b *AckBatch) Add(rest, reply, payload []byte) {
	var a Ack
	if !parseAckSubject(rest, &a) || b.C != nil && !b.C.localize(&a) {
		return
	}
	arg := parseAckPayload(payload, &a)
	if len(arg) > ackTextMax {
		arg = arg[:ackTextMax]
	}
	if len(reply) > 0 || len(arg) > 0 {
		a.reply = b.keep(reply)
		a.arg = b.keep(arg)
	}
	b.acks = append(b.acks, a)
}

func (b *AckBatch) keep(t []byte) span {
	from := len(b.text)
	b.text = append(b.text, t...)
	return span{uint32(from), uint32(len(b.text))}
}

func (b *AckBatch) slice(s span) []byte { return b.text[s.from:s.to:s.to] }

// Len is the number of acknowledgements.
func (b *AckBatch) Len() int { return len(b.acks) }

// Size is the memory in use, in bytes.
func (b *AckBatch) Size() int { return 48*len(b.acks) + len(b.text) }

// Reset empties the batch for another use.
func (b *AckBatch) Reset() {
	b.C, b.acks, b.text = nil, b.acks[:0], b.text[:0]
	if cap(b.text) > 64<<10 {
		b.text = nil
	}
	if cap(b.acks) > 8<<10 {
		b.acks = nil
	}
}

// parseAckSubject reads <deliveries>.<stream seq>.<consumer seq>.<time>.<pending>.
func parseAckSubject(b []byte, a *Ack) bool {
	var n [5]uint64
	i := 0
	for k := range n {
		start, v := i, uint64(0)
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			d := uint64(b[i] - '0')
			if v > (math.MaxUint64-d)/10 {
				return false
			}
			v = v*10 + d
		}
		if i == start || k < len(n)-1 && (i == len(b) || b[i] != '.') {
			return false
		}
		n[k] = v
		i++
	}
	a.Stream, a.Consumer = n[1], n[2]
	return i == len(b)+1
}

// The payloads of acknowledgements; never written.
var (
	ackDone     = []byte("+ACK")
	ackOK       = []byte("+OK")
	ackNak      = []byte("-NAK")
	ackProgress = []byte("+WPI")
	ackTerm     = []byte("+TERM")
	ackNext     = []byte("+NXT")
)

// parseAckPayload sets the kind and returns the argument, which is part of b.
func parseAckPayload(b []byte, a *Ack) (arg []byte) {
	switch {
	case len(b) == 0, bytes.Equal(b, ackDone), bytes.Equal(b, ackOK):
		a.Kind = AckDone
	case bytes.HasPrefix(b, ackNext):
		a.Kind = AckNext
		return bytes.TrimSpace(b[len(ackNext):])
	case bytes.HasPrefix(b, ackNak):
		a.Kind = AckNak
		a.Delay = parseDelay(bytes.TrimSpace(b[len(ackNak):]))
	case bytes.Equal(b, ackProgress):
		a.Kind = AckProgress
	case bytes.HasPrefix(b, ackTerm):
		a.Kind = AckTerm
		return bytes.TrimSpace(b[len(ackTerm):])
	}
	return nil
}

// parseDelay reads {"delay":ns} or a Go duration; what it cannot read, and what is negative, is no delay.
func parseDelay(b []byte) int64 {
	if len(b) == 0 {
		return 0
	}
	var d time.Duration
	if b[0] == '{' {
		var o struct {
			Delay time.Duration `json:"delay"`
		}
		if json.Unmarshal(b, &o) != nil {
			return 0
		}
		d = o.Delay
	} else {
		var err error
		if d, err = time.ParseDuration(string(b)); err != nil {
			return 0
		}
	}
	return max(0, int64(d))
}

// later adds a duration to a time without wrapping.
func later(now, d int64) int64 {
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + d
}
