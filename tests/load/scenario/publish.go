package scenario

import (
	"sync/atomic"
	"time"

	"godwit/tests/load/wire"
)

// progressCount counts, for each publisher, what its subscribers have received, so
// that publishers can stay a bounded distance ahead: then a lost message is
// the server's fault, never that of its slow-consumer protection.
type progressCount []atomic.Uint64

// publish sends n stamped messages. fill may set more of each frame; received
// (may be nil) says how many have arrived so far.
func (e *Env) publish(c *wire.Conn, f *wire.Frames, n uint64, fill func(slot int, n uint64), received func() uint64) error {
	ahead := max(uint64(e.Flight)/uint64(e.Size), uint64(f.Max))
	for sent := uint64(0); sent < n; {
		if received != nil && sent-received() >= ahead {
			if e.Aborted() != nil {
				return nil // whoever failed reports why
			}
			time.Sleep(200 * time.Microsecond)
			continue
		}
		k := min(uint64(f.Max), n-sent)
		for i := uint64(0); i < k; i++ {
			f.Stamp(int(i), sent+i)
			if fill != nil {
				fill(int(i), sent+i)
			}
		}
		if err := c.Write(f.Bytes(int(k))); err != nil {
			return err
		}
		sent += k
	}
	return nil
}

// subscriber opens a connection with one subscription.
func (e *Env) subscriber(i int, subject, queue string) (*wire.Conn, error) {
	c, err := e.Dial(e.SubServer(i))
	if err != nil {
		return nil, err
	}
	if err := c.Sub(subject, queue, 1); err != nil {
		return nil, err
	}
	return c, c.Flush()
}

// publishers opens n publishing connections with their frames.
func (e *Env) publishers(n int, subject string) ([]*wire.Conn, []*wire.Frames, error) {
	var conns []*wire.Conn
	var frames []*wire.Frames
	for i := 0; i < n; i++ {
		c, err := e.Dial(e.PubServer(i))
		if err != nil {
			return nil, nil, err
		}
		conns = append(conns, c)
		frames = append(frames, wire.NewFrames(subject, "", e.Size, uint32(i)))
	}
	return conns, frames, nil
}

// settle lets interest spread through a cluster.
func (e *Env) settle() {
	if e.Nodes > 1 {
		time.Sleep(300 * time.Millisecond)
	}
}
