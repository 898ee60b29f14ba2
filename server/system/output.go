package system

import (
	"strconv"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/router"
)

// output sends messages of the server itself. One goroutine uses it.
type output struct {
	sender *router.Sender
	in     *account.Account
	tail   []byte
}

// tailBytesMax is how much of the memory for frames is kept from one message to the next.
const tailBytesMax = 64 << 10

func newOutput(system *account.Account) *output {
	return &output{sender: router.NewSender(system.Index()), in: system}
}

// send gathers a message in account a. Its parts are lent. own says that it is not the answer of an imported service;
// such messages of the server itself have two blanks before the size, as those of nats-server.
func (o *output) send(a *account.Account, own bool, subject, header, payload []byte) {
	if a != o.in {
		o.sender.Flush()
		o.in = a
		o.sender.Use(a.Index())
	}
	o.sender.Begin()
	b := o.tail[:0]
	if own {
		b = append(b, ' ')
	}
	if len(header) > 0 {
		b = append(strconv.AppendInt(b, int64(len(header)), 10), ' ')
	}
	b = append(strconv.AppendInt(b, int64(len(header)+len(payload)), 10), '\r', '\n')
	at := len(b)
	b = append(append(append(append(b, header...), payload...), '\r'), '\n')
	o.sender.Publish(&protocol.Pub{Subject: subject, Tail: b, Body: b[at : len(b)-2], HeaderLen: len(header), HPUB: len(header) > 0})
	if o.tail = b; cap(b) > tailBytesMax {
		o.tail = nil
	}
}

// flush hands over what was sent. It never waits for a connection.
func (o *output) flush() { o.sender.Flush() }

// rest gives back memory before a pause.
func (o *output) rest() { o.sender.Rest() }
