package scenario

import (
	"fmt"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// jsConsumePull: read a full stream through one durable pull consumer.
func jsConsumePull(e *Env) ([]stats.Phase, error) {
	if err := e.loadStream(); err != nil {
		return nil, err
	}
	if err := e.fillStream(e.Msgs); err != nil {
		return nil, err
	}
	if err := e.createConsumer(wire.ConsumerConfig{Durable: "c"}); err != nil {
		return nil, err
	}
	clients := or(e.Conns, 1)
	group := &team{want: e.Msgs}
	var all []*wire.Shared
	var work []func() error
	for i := 0; i < clients; i++ {
		p, err := e.NewPuller(i, "c")
		if err != nil {
			return nil, err
		}
		check := wire.NewShared(1, e.Msgs, e.Size)
		all = append(all, check)
		group.conns = append(group.conns, p.Conn)
		var fresh uint64
		p.Check = func(payload []byte) error {
			fresh++
			return check.Check(payload)
		}
		p.Drain = func() {
			group.add(fresh)
			fresh = 0
		}
		work = append(work, func() error {
			for {
				if err := p.Next(); group.ended(err) {
					return nil
				} else if err != nil {
					return fmt.Errorf("after %d of %d messages: %w", group.got.Load(), e.Msgs, err)
				}
			}
		})
	}
	m := e.Begin("main")
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	if err := e.awaitAcked("c", e.Msgs); err != nil {
		return nil, err
	}
	phase := m.End(e.Msgs, e.Size, nil)
	return []stats.Phase{phase}, wire.MergeShared(all, e.Msgs)
}
