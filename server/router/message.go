package router

import "time"

// Message is one published message as parts of the server see it. All slices are lent until the call
// that takes the message returns.
type Message struct {
	Subject []byte
	Reply   []byte // empty if there is none
	Header  []byte // whole block, from "NATS/1.0" to the blank line's CRLF; empty if there is none
	Payload []byte
	From    Origin     // nil if the server itself published it
	Trace   *TraceStep // of a stream: is to be told what became of the message; nil if nobody asks
}

// Origin is the connection that published a message.
type Origin interface {
	// OriginInfo describes the connection. The result is shared.
	OriginInfo() *OriginInfo
}

// OriginInfo is what advisories and audits say of a client. The JSON names are the protocol's.
type OriginInfo struct {
	Start      string        `json:"start,omitempty"` // RFC 3339 with nanoseconds, UTC
	Host       string        `json:"host,omitempty"`
	ID         uint64        `json:"id,omitempty"`
	Account    string        `json:"acc,omitempty"`
	Service    string        `json:"svc,omitempty"` // account that has passed a request on, or that was asked
	User       string        `json:"user,omitempty"`
	Name       string        `json:"name,omitempty"`
	Lang       string        `json:"lang,omitempty"`
	Version    string        `json:"ver,omitempty"`
	RTT        time.Duration `json:"rtt,omitempty"`
	Server     string        `json:"server,omitempty"`
	Kind       string        `json:"kind,omitempty"`
	ClientType string        `json:"client_type,omitempty"`
}

// Receiver is a subscriber inside the server: a stream, a consumer's acknowledgements, an API. Messages reach
// it in batches, one for each read buffer of a sender, so that it locks and wakes once per batch.
type Receiver interface {
	// NewBatch makes what one sender gathers messages in. The sender keeps it and uses it again after Flush.
	NewBatch() Batch
}

// Batch gathers the messages of one sender for one receiver. Only the sender's goroutine uses it.
type Batch interface {
	// Add takes a message, which is lent.
	Add(m *Message)
	// Flush hands over what was added since the last Flush. It may run the receiver's work, but must not wait
	// for a sender: two senders would wait for each other.
	Flush()
}
