package scenario

import (
	"errors"
	"fmt"
	"strconv"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// coreRequest: request/reply through one responder, first with many requests
// in flight, then with one.
func coreRequest(e *Env) ([]stats.Phase, error) {
	clients := or(e.Conns, 1)
	responder, err := e.subscriber(0, "load.echo", "")
	if err != nil {
		return nil, err
	}
	e.settle()
	phase := func(name string, firstID, clients int, each uint64, window int) (stats.Phase, error) {
		lat := &stats.Hist{}
		work := []func() error{func() error { return echo(responder, each*uint64(clients)) }}
		var lats []*stats.Hist
		for i := 0; i < clients; i++ {
			c, err := e.Dial(e.PubServer(i))
			if err != nil {
				return stats.Phase{}, err
			}
			p, err := NewPipeline(c, firstID+i, "load.echo", e.Size, each, window)
			if err != nil {
				return stats.Phase{}, err
			}
			p.Lat = &stats.Hist{}
			lats = append(lats, p.Lat)
			body := wire.NewPayload(e.Size)
			p.Answer = func(n uint64, m *wire.Msg) error {
				seq, _, err := wire.ReadStamp(m.Payload)
				if err != nil {
					return err
				}
				if seq != n {
					return fmt.Errorf("answer carries message %d instead of %d", seq, n)
				}
				return wire.CheckBody(body, m.Payload, seq)
			}
			work = append(work, func() error { return p.Run(e) })
		}
		e.settle()
		m := e.Begin(name)
		if err := e.Parallel(work...); err != nil {
			return stats.Phase{}, err
		}
		for _, h := range lats {
			lat.Merge(h)
		}
		return m.End(each*uint64(clients), e.Size, lat), nil
	}
	many, err := phase("in-flight", 0, clients, e.Msgs/uint64(clients), e.Window)
	if err != nil {
		return nil, err
	}
	one, err := phase("one-by-one", clients, 1, min(e.Msgs, 50000), 1)
	return []stats.Phase{many, one}, err
}

// echo answers n requests with their own payload.
func echo(c *wire.Conn, n uint64) error {
	var out []byte
	c.OnDrain = func() error {
		if len(out) == 0 {
			return nil
		}
		err := c.Write(out)
		out = out[:0]
		return err
	}
	for i := uint64(0); i < n; i++ {
		m, err := c.Next()
		if err != nil {
			return err
		}
		reply := m.Reply()
		if reply == nil {
			return errors.New("request without reply subject")
		}
		out = append(out, "PUB "...)
		out = append(out, reply...)
		out = append(out, ' ')
		out = strconv.AppendInt(out, int64(len(m.Payload)), 10)
		out = append(out, "\r\n"...)
		out = append(out, m.Payload...)
		out = append(out, "\r\n"...)
		if len(out) >= wire.ChunkBytes {
			if err := c.OnDrain(); err != nil {
				return err
			}
		}
	}
	return c.OnDrain()
}
