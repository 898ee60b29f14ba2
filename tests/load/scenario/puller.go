package scenario

import (
	"bytes"
	"fmt"
	"time"

	"godwit/tests/load/wire"
)

// Puller consumes from a pull consumer, keeping two pull requests under way.
type Puller struct {
	Conn  *wire.Conn
	Ack   bool
	Batch int
	Check func(payload []byte) error
	Drain func() // more to do before each read

	request []byte // one pull request, ready to send
	out     []byte // acks and pull requests not sent yet
	left    int    // messages asked for and not received yet
}

// NewPuller subscribes a connection for pulling.
func (e *Env) NewPuller(i int, consumer string) (*Puller, error) {
	c, err := e.Dial(e.SubServer(i))
	if err != nil {
		return nil, err
	}
	inbox := fmt.Sprintf("_INBOX.c%04d", i)
	if err := c.Sub(inbox, "", 1); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	batch := or(e.Batch, 500)
	body := fmt.Sprintf(`{"batch":%d,"expires":60000000000}`, batch)
	p := &Puller{Conn: c, Batch: batch, Ack: e.Ack == "explicit"}
	p.request = wire.AppendPub(nil, "$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, inbox, []byte(body))
	c.OnDrain = p.flush
	return p, nil
}

func (p *Puller) flush() error {
	if p.Drain != nil {
		p.Drain()
	}
	if len(p.out) == 0 {
		return nil
	}
	err := p.Conn.Write(p.out)
	p.out = p.out[:0]
	return err
}

// Next receives, checks and acknowledges one message.
func (p *Puller) Next() error {
	for {
		for p.left <= p.Batch {
			p.out = append(p.out, p.request...)
			p.left += p.Batch
		}
		m, err := p.Conn.Next()
		if err != nil {
			return err
		}
		if status := m.Status(); status != 0 {
			if status == 100 { // heartbeat
				continue
			}
			if status != 408 && status != 404 {
				return fmt.Errorf("pull refused: %s", bytes.TrimSpace(m.Header))
			}
			p.left = 0 // expired: ask again
			continue
		}
		p.left--
		if err := p.Check(m.Payload); err != nil {
			return err
		}
		if p.Ack {
			p.out = appendAck(p.out, m)
			if len(p.out) >= wire.ChunkBytes {
				return p.flush()
			}
		}
		return nil
	}
}

func appendAck(out []byte, m *wire.Msg) []byte {
	out = append(out, "PUB "...)
	out = append(out, m.Reply()...)
	return append(out, " 4\r\n+ACK\r\n"...)
}

func (e *Env) createConsumer(cfg wire.ConsumerConfig) error {
	ctl, err := e.Control()
	if err != nil {
		return err
	}
	defer ctl.Close()
	cfg.AckPolicy = e.Ack
	if e.Ack == "explicit" {
		cfg.AckWait = 60 * time.Second
		cfg.MaxAckPending = e.Pending
	}
	if err := ctl.CreateConsumer(stream, cfg); err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	return nil
}

// awaitAcked waits until the server has processed every ack.
func (e *Env) awaitAcked(consumer string, last uint64) error {
	if e.Ack != "explicit" {
		return nil
	}
	ctl, err := e.Control()
	if err != nil {
		return err
	}
	defer ctl.Close()
	end := time.Now().Add(15 * time.Second)
	for {
		info, err := ctl.Consumer(stream, consumer)
		if err != nil {
			return err
		}
		if info.NumRedelivered > 0 {
			return fmt.Errorf("%d messages redelivered although all were acked in time", info.NumRedelivered)
		}
		if info.NumAckPending == 0 && info.AckFloor.Stream == last {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("ack floor stays at %d of %d with %d acks pending",
				info.AckFloor.Stream, last, info.NumAckPending)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
