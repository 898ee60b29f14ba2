package scenario

import (
	"fmt"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// corePub: publishers alone, nobody subscribes.
func corePub(e *Env) ([]stats.Phase, error) {
	pubs := or(e.Conns, 1)
	each := e.Msgs / uint64(pubs)
	conns, frames, err := e.publishers(pubs, "load")
	if err != nil {
		return nil, err
	}
	m := e.Begin("main")
	var work []func() error
	for i, c := range conns {
		work = append(work, func() error {
			if err := e.publish(c, frames[i], each, nil, nil); err != nil {
				return err
			}
			return c.Flush() // the server has seen everything
		})
	}
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	return []stats.Phase{m.End(each*uint64(pubs), e.Size, nil)}, nil
}

func corePubSub(e *Env) ([]stats.Phase, error) { return coreStreams(e, or(e.Conns, 1), or(e.Subs, 1)) }
func coreFanout(e *Env) ([]stats.Phase, error) { return coreStreams(e, or(e.Conns, 1), or(e.Subs, 8)) }
func coreFanin(e *Env) ([]stats.Phase, error)  { return coreStreams(e, or(e.Conns, 8), or(e.Subs, 1)) }

// coreStreams sends from every publisher to every subscriber. The unit of the
// result is one delivered message.
func coreStreams(e *Env, pubs, subs int) ([]stats.Phase, error) {
	each := e.Msgs / uint64(pubs)
	got := make([]progressCount, subs)
	var work []func() error
	for i := 0; i < subs; i++ {
		c, err := e.subscriber(i, "load", "")
		if err != nil {
			return nil, err
		}
		got[i] = make(progressCount, pubs)
		check := wire.NewOrdered(pubs, e.Size)
		c.OnDrain = func() error {
			for p := range got[i] {
				got[i][p].Store(check.Received(p))
			}
			return nil
		}
		work = append(work, func() error { return receive(c, each*uint64(pubs), check) })
	}
	e.settle()
	conns, frames, err := e.publishers(pubs, "load")
	if err != nil {
		return nil, err
	}
	for p, c := range conns {
		work = append(work, func() error {
			return e.publish(c, frames[p], each, nil, func() uint64 {
				low := got[0][p].Load()
				for i := 1; i < subs; i++ {
					low = min(low, got[i][p].Load())
				}
				return low
			})
		})
	}
	m := e.Begin("main")
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	return []stats.Phase{m.End(each*uint64(pubs*subs), e.Size, nil)}, nil
}

func receive(c *wire.Conn, want uint64, check *wire.Ordered) error {
	for check.Got < want {
		m, err := c.Next()
		if err != nil {
			return fmt.Errorf("after %d of %d messages: %w", check.Got, want, err)
		}
		if err := check.Check(m.Payload); err != nil {
			return err
		}
	}
	return c.OnDrain()
}
