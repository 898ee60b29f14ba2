package jetstream

import (
	"godwit/server/router"
	"godwit/stream/consumer"
)

// output is a partition's way to the router. One goroutine at a time uses it.
type output struct {
	index  *router.Index
	sender *router.Sender
	msg    router.Message
}

func newOutput(x *router.Index) *output { return &output{index: x, sender: router.NewSender(x)} }

// Deliver implements consumer.Output.
func (o *output) Deliver(to []byte, m *consumer.Message) int {
	o.msg = router.Message{Subject: m.Subject, Reply: m.Reply, Header: m.Header, Payload: m.Payload}
	return o.sender.SendTo(to, &o.msg)
}

// Interest implements consumer.Output.
func (o *output) Interest(subject []byte) bool { return o.index.HasInterest(subject) }

// Bound implements consumer.Output.
func (o *output) Bound(subject []byte, group string) bool {
	return o.index.HasListener(subject, group)
}

// Flush implements stream.Output.
func (o *output) Flush() { o.sender.Flush() }

// Rest implements stream.Output.
func (o *output) Rest() { o.sender.Sleep() }
