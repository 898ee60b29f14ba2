package scenario

import (
	"bytes"
	"fmt"

	"godwit/tests/load/wire"
)

const stream = "LOAD"

// loadSubject is the subject that JetStream publishers use: one, or a number
// of them in rotation.
func (e *Env) loadSubject() string {
	if e.Subjects > 1 {
		return "load.#######"
	}
	return "load.s"
}

func (e *Env) loadStream() error {
	_, err := e.CreateStream(wire.StreamConfig{Name: stream, Subjects: []string{"load.>"}})
	return err
}

// ackSeq returns the stream sequence of a publish acknowledgement.
func ackSeq(m *wire.Msg) (uint64, error) {
	if m.Status() == 503 {
		return 0, wire.ErrNoResponders
	}
	seq, ok := jsonNumber(m.Payload, `"seq":`)
	if !ok || bytes.Contains(m.Payload, []byte(`"error"`)) {
		return 0, fmt.Errorf("publish refused: %s", m.Payload)
	}
	if seq == 0 || bytes.Contains(m.Payload, []byte(`"duplicate"`)) {
		return 0, fmt.Errorf("publish not stored: %s", m.Payload)
	}
	return seq, nil
}

// jsonNumber finds the number after name (with quotes and colon) without
// decoding the whole text.
func jsonNumber(payload []byte, name string) (uint64, bool) {
	i := bytes.Index(payload, []byte(name))
	if i < 0 {
		return 0, false
	}
	return wire.LeadingNumber(bytes.TrimLeft(payload[i+len(name):], " ")), true
}

// jsPipelines opens publishers to the load stream; together they publish
// (about) total messages.
func (e *Env) jsPipelines(pubs int, total uint64, window int) ([]*Pipeline, error) {
	var out []*Pipeline
	for i := 0; i < pubs; i++ {
		c, err := e.Dial(e.PubServer(i))
		if err != nil {
			return nil, err
		}
		p, err := NewPipeline(c, i, e.loadSubject(), e.Size, total/uint64(pubs), window)
		if err != nil {
			return nil, err
		}
		if e.Subjects > 1 {
			p.Fill = func(slot int, n uint64) { p.Frames.Subject(slot, n%uint64(e.Subjects)) }
		}
		var last uint64
		p.Answer = func(n uint64, m *wire.Msg) error {
			seq, err := ackSeq(m)
			if err != nil {
				return err
			}
			if seq <= last || pubs == 1 && seq != last+1 {
				return fmt.Errorf("message %d stored at sequence %d after %d", n, seq, last)
			}
			last = seq
			return nil
		}
		out = append(out, p)
	}
	return out, nil
}
