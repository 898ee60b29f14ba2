package scenario

import (
	"fmt"
	"sync"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// coreConns: many idle connections, each with one subscription.
func coreConns(e *Env) ([]stats.Phase, error) {
	n := or(e.Conns, 1000)
	e.settleMemory()
	before, _ := e.Cluster.RSS()
	var mu sync.Mutex
	var conns []*wire.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	m := e.Begin("connect")
	const dialers = 4
	var work []func() error
	for d := 0; d < dialers; d++ {
		work = append(work, func() error {
			for i := d; i < n; i += dialers {
				c, err := wire.Dial(e.SubServer(i).Addr, e.SubServer(i).Login, e.deadline)
				if err != nil {
					return err
				}
				mu.Lock()
				conns = append(conns, c)
				mu.Unlock()
				if err := c.Sub(fmt.Sprintf("idle.%d", i), "", 1); err != nil {
					return err
				}
				if err := c.Flush(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	p := m.End(uint64(n), 0, nil)
	e.settleMemory()
	after, _ := e.Cluster.RSS()
	p.Values["bytes_per_conn"] = float64(after-before) / float64(n)
	delete(p.Values, "mb_per_s")
	return []stats.Phase{p}, nil
}
