package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// Churn works on this many subscriptions per write, and keeps each for one round.
const churnBatch = 64

// coreChurn: one publisher to one subscriber at full speed, first alone ("calm"), then while
// other connections subscribe and unsubscribe without a pause ("churn"): whatever a server has
// cached about who gets what is invalid all the time. The subjects of the churn do not match what
// is published, but every fourth subscription is a wildcard that a cache has to consider.
func coreChurn(e *Env) ([]stats.Phase, error) {
	calm, err := e.churnPhase("calm", 0, nil)
	if err != nil {
		return nil, err
	}
	var stop atomic.Bool
	churned := make([]uint64, or(e.Churn, 4))
	var others []func() error
	for i := range churned {
		c, err := e.Dial(e.SubServer(i))
		if err != nil {
			return nil, err
		}
		others = append(others, func() (err error) {
			churned[i], err = churn(c, i, &stop)
			return err
		})
	}
	phase, err := e.churnPhase("churn", 1, func(stream func() error) error {
		work := append(others, func() error {
			defer stop.Store(true)
			return stream()
		})
		return e.Parallel(work...)
	})
	if err != nil {
		return nil, err
	}
	var changes uint64
	for _, n := range churned {
		changes += n
	}
	if changes == 0 {
		return nil, errors.New("no subscription was made during the churn")
	}
	phase.Values["changes_per_s"] = float64(changes) / phase.Values["secs"]
	phase.Values["of_calm_rate"] = phase.Values["msgs_per_s"] / calm.Values["msgs_per_s"]
	return []stats.Phase{calm, phase}, nil
}

// churnPhase moves e.Msgs messages from one publisher to one subscriber on connections of its
// own; around runs the transfer beside something else.
func (e *Env) churnPhase(name string, id int, around func(stream func() error) error) (stats.Phase, error) {
	subject := fmt.Sprintf("load.%d", id)
	sub, err := e.subscriber(0, subject, "")
	if err != nil {
		return stats.Phase{}, err
	}
	check := wire.NewOrdered(1, e.Size)
	var got atomic.Uint64
	sub.OnDrain = func() error {
		got.Store(check.Got)
		return nil
	}
	e.settle()
	pub, err := e.Dial(e.PubServer(0))
	if err != nil {
		return stats.Phase{}, err
	}
	frames := wire.NewFrames(subject, "", e.Size, 0)
	stream := func() error {
		return e.Parallel(
			func() error { return e.publish(pub, frames, e.Msgs, nil, got.Load) },
			func() error { return receive(sub, e.Msgs, check) },
		)
	}
	if around == nil {
		around = func(stream func() error) error { return stream() }
	}
	m := e.Begin(name)
	if err := around(stream); err != nil {
		return stats.Phase{}, err
	}
	return m.End(e.Msgs, e.Size, nil), nil
}

// churn subscribes and unsubscribes in rounds of churnBatch until stop is set, one round trip per
// round, and returns how many SUB and UNSUB the server has processed.
func churn(c *wire.Conn, share int, stop *atomic.Bool) (changes uint64, err error) {
	var out []byte
	for round := uint64(0); !stop.Load(); round++ {
		out = out[:0]
		for i := range uint64(churnBatch) {
			subject := fmt.Sprintf("churn.%d.%d", share, round*churnBatch+i)
			if i%4 == 3 {
				subject = fmt.Sprintf("churn.%d.*.%d", share, i)
			}
			out = wire.AppendSub(out, subject, "", i+1)
		}
		for i := range uint64(churnBatch) {
			out = append(out, "UNSUB "...)
			out = strconv.AppendUint(out, i+1, 10)
			out = append(out, "\r\n"...)
		}
		if err := c.Write(out); err != nil {
			return changes, err
		}
		if err := c.Flush(); err != nil {
			return changes, err
		}
		changes += 2 * churnBatch
	}
	return changes, nil
}
