package scenario

import (
	"fmt"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// jsMixed: publish while several durable consumers read along.
func jsMixed(e *Env) ([]stats.Phase, error) {
	if err := e.loadStream(); err != nil {
		return nil, err
	}
	pubs, readers := or(e.Conns, 1), or(e.Subs, 3)
	lines, err := e.jsPipelines(pubs, e.Msgs, e.Window)
	if err != nil {
		return nil, err
	}
	total := e.Msgs / uint64(pubs) * uint64(pubs)
	var work []func() error
	for i := 0; i < readers; i++ {
		name := fmt.Sprintf("c%d", i)
		if err := e.createConsumer(wire.ConsumerConfig{Durable: name}); err != nil {
			return nil, err
		}
		p, err := e.NewPuller(i, name)
		if err != nil {
			return nil, err
		}
		check := wire.NewOrdered(pubs, e.Size)
		p.Check = check.Check
		work = append(work, func() error {
			for check.Got < total {
				if err := p.Next(); err != nil {
					return fmt.Errorf("consumer %s after %d of %d messages: %w", name, check.Got, total, err)
				}
			}
			if err := p.flush(); err != nil {
				return err
			}
			return e.awaitAcked(name, total)
		})
	}
	m := e.Begin("main")
	var publishing time.Duration
	work = append(work, func() error {
		var inner []func() error
		for _, p := range lines {
			inner = append(inner, func() error { return p.Run(e) })
		}
		err := e.Parallel(inner...)
		publishing = time.Since(m.start)
		return err
	})
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	phase := m.End(total, e.Size, nil)
	phase.Values["publish_per_s"] = float64(total) / publishing.Seconds()
	phase.Values["deliver_per_s"] = float64(total) * float64(readers) / phase.Values["secs"]
	return []stats.Phase{phase}, e.CheckStream(stream, total)
}
