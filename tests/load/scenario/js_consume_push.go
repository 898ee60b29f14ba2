package scenario

import (
	"fmt"
	"strings"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// jsConsumePush: the server pushes a full stream to one subscriber, with its
// flow control.
func jsConsumePush(e *Env) ([]stats.Phase, error) {
	if err := e.loadStream(); err != nil {
		return nil, err
	}
	if err := e.fillStream(e.Msgs); err != nil {
		return nil, err
	}
	c, err := e.subscriber(0, "push.c", "")
	if err != nil {
		return nil, err
	}
	check := wire.NewOrdered(1, e.Size)
	var out []byte
	c.OnDrain = func() error {
		if len(out) == 0 {
			return nil
		}
		err := c.Write(out)
		out = out[:0]
		return err
	}
	m := e.Begin("main")
	err = e.createConsumer(wire.ConsumerConfig{Durable: "c", DeliverSubject: "push.c",
		FlowControl: true, Heartbeat: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	err = e.Parallel(func() error {
		for check.Got < e.Msgs {
			msg, err := c.Next()
			if err != nil {
				return fmt.Errorf("after %d of %d messages: %w", check.Got, e.Msgs, err)
			}
			if msg.Status() == 100 {
				if reply := flowReply(msg); reply != "" {
					out = wire.AppendPub(out, reply, "", nil)
				}
				continue
			}
			if err := check.Check(msg.Payload); err != nil {
				return err
			}
			if e.Ack == "explicit" {
				out = appendAck(out, msg)
			}
			if len(out) >= wire.ChunkBytes {
				if err := c.OnDrain(); err != nil {
					return err
				}
			}
		}
		return c.OnDrain()
	})
	if err != nil {
		return nil, err
	}
	if err := e.awaitAcked("c", e.Msgs); err != nil {
		return nil, err
	}
	return []stats.Phase{m.End(e.Msgs, e.Size, nil)}, nil
}

// flowReply returns where a flow-control request wants its answer: its reply
// subject, or for a heartbeat the stalled consumer's header.
func flowReply(m *wire.Msg) string {
	if r := m.Reply(); r != nil {
		return string(r)
	}
	_, rest, ok := strings.Cut(string(m.Header), "Nats-Consumer-Stalled: ")
	if !ok {
		return ""
	}
	subject, _, _ := strings.Cut(rest, "\r\n")
	return subject
}
