package wire

import (
	"bytes"
)

// Msg is one received MSG or HMSG. It points into the connection's receive
// buffer and is valid only until the next call of Next.
type Msg struct {
	args    []byte // control line after the verb
	Header  []byte
	Payload []byte
}

// Subject returns the message's subject.
func (m *Msg) Subject() []byte {
	return m.args[:bytes.IndexByte(m.args, ' ')]
}

// Sid returns the subscription id the message was delivered on.
func (m *Msg) Sid() uint64 {
	rest := m.args[bytes.IndexByte(m.args, ' ')+1:]
	return LeadingNumber(rest)
}

// Reply returns the reply subject, or nil.
func (m *Msg) Reply() []byte {
	rest := m.args[bytes.IndexByte(m.args, ' ')+1:] // after the subject
	rest = rest[bytes.IndexByte(rest, ' ')+1:]      // after the sid
	sizes := 1
	if m.Header != nil {
		sizes = 2
	}
	for ; sizes > 0; sizes-- {
		i := bytes.LastIndexByte(rest, ' ')
		if i < 0 {
			return nil
		}
		rest = rest[:i]
	}
	return rest
}

// Status returns the status code of a header-only control message (404, 408,
// 100 ...), or 0.
func (m *Msg) Status() int {
	const prefix = "NATS/1.0 "
	if len(m.Header) < len(prefix)+3 || string(m.Header[:len(prefix)]) != prefix {
		return 0
	}
	return int(LeadingNumber(m.Header[len(prefix):]))
}

// trailingNumber parses the decimal number that ends the line and returns
// also what stands before it, without the blank.
func trailingNumber(line []byte) (n int, rest []byte) {
	i, unit := len(line)-1, 1
	for ; i >= 0; i-- {
		d := line[i] - '0'
		if d > 9 {
			break
		}
		n += int(d) * unit
		unit *= 10
	}
	if i < 0 {
		return n, nil
	}
	return n, line[:i]
}

// LeadingNumber parses the decimal number at the start of b.
func LeadingNumber(b []byte) (n uint64) {
	for _, ch := range b {
		d := ch - '0'
		if d > 9 {
			break
		}
		n = n*10 + uint64(d)
	}
	return n
}
