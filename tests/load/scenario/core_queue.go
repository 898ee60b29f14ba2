package scenario

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// team lets several receivers share a known number of messages: the one that
// completes the count releases the others from their reads.
type team struct {
	want  uint64
	got   atomic.Uint64
	done  atomic.Bool
	mu    sync.Mutex
	conns []*wire.Conn
}

// add counts n more messages.
func (t *team) add(n uint64) {
	if t.got.Add(n) < t.want || t.done.Swap(true) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.SetReadDeadline(time.Now())
	}
}

// ended says whether a read error only means that all is received.
func (t *team) ended(err error) bool { return err != nil && t.done.Load() }

// coreQueue: publishers to one queue group.
func coreQueue(e *Env) ([]stats.Phase, error) {
	pubs, subs := or(e.Conns, 2), or(e.Subs, 4)
	each := e.Msgs / uint64(pubs)
	total := each * uint64(pubs)
	received := make(progressCount, pubs)
	group := &team{want: total}
	var all []*wire.Shared
	var work []func() error
	for i := 0; i < subs; i++ {
		c, err := e.subscriber(i, "load", "group")
		if err != nil {
			return nil, err
		}
		check := wire.NewShared(pubs, each, e.Size)
		all = append(all, check)
		group.conns = append(group.conns, c)
		work = append(work, func() error {
			fresh := make([]uint64, pubs)
			c.OnDrain = func() error {
				var sum uint64
				for p, n := range fresh {
					if n > 0 {
						received[p].Add(n)
						sum += n
						fresh[p] = 0
					}
				}
				if sum > 0 {
					group.add(sum)
				}
				return nil
			}
			for {
				m, err := c.Next()
				if group.ended(err) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("after %d of %d messages: %w", group.got.Load(), total, err)
				}
				if err := check.Check(m.Payload); err != nil {
					return err
				}
				_, pub, _ := wire.ReadStamp(m.Payload)
				fresh[pub]++
			}
		})
	}
	e.settle()
	conns, frames, err := e.publishers(pubs, "load")
	if err != nil {
		return nil, err
	}
	for p, c := range conns {
		work = append(work, func() error { return e.publish(c, frames[p], each, nil, received[p].Load) })
	}
	m := e.Begin("main")
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	phase := m.End(total, e.Size, nil)
	return []stats.Phase{phase}, wire.MergeShared(all, each)
}
