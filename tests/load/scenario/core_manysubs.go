package scenario

import (
	"fmt"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// coreManySubs: very many subscriptions (80 % literal, 10 % ending in *, 10 %
// ending in >), then publishing to random ones of them; each message matches
// exactly one subscription.
func coreManySubs(e *Env) ([]stats.Phase, error) {
	subs, conns := or(e.Subs, 100000), or(e.Conns, 4)
	e.settleMemory()
	before, _ := e.Cluster.RSS()
	var members []*wire.Conn
	for i := 0; i < conns; i++ {
		c, err := e.Dial(e.SubServer(i))
		if err != nil {
			return nil, err
		}
		members = append(members, c)
	}
	m := e.Begin("subscribe")
	var work []func() error
	for i, c := range members {
		work = append(work, func() error { return subscribeShare(c, i, conns, subs) })
	}
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	subscribe := m.End(uint64(subs), 0, nil)
	e.settleMemory()
	after, _ := e.Cluster.RSS()
	subscribe.Values["bytes_per_sub"] = float64(after-before) / float64(subs)
	delete(subscribe.Values, "mb_per_s")

	publish, err := publishRandom(e, members, subs)
	return []stats.Phase{subscribe, publish}, err
}

// settleMemory waits for a garbage-collecting server to come to rest.
func (e *Env) settleMemory() { time.Sleep(2 * time.Second) }

const subjectDigits = "#######" // of core-manysubs: m.0000123.a

func subscribeShare(c *wire.Conn, share, shares, subs int) error {
	var out []byte
	for i := share; i < subs; i += shares {
		last := "a"
		switch i / shares % 10 {
		case 8:
			last = "*"
		case 9:
			last = ">"
		}
		out = wire.AppendSub(out, fmt.Sprintf("m.%07d.%s", i, last), "", uint64(i)+1)
		if len(out) >= wire.ChunkBytes {
			if err := c.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	if err := c.Write(out); err != nil {
		return err
	}
	return c.Flush()
}

func publishRandom(e *Env, members []*wire.Conn, subs int) (stats.Phase, error) {
	group := &team{want: e.Msgs, conns: members}
	var all []*wire.Shared
	var work []func() error
	for _, c := range members {
		check := wire.NewShared(1, e.Msgs, e.Size)
		all = append(all, check)
		work = append(work, func() error {
			var fresh uint64
			c.OnDrain = func() error {
				group.add(fresh)
				fresh = 0
				return nil
			}
			for {
				m, err := c.Next()
				if group.ended(err) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("after %d of %d messages: %w", group.got.Load(), e.Msgs, err)
				}
				if sid, subject := m.Sid(), m.Subject(); wire.LeadingNumber(subject[2:])+1 != sid {
					return fmt.Errorf("message on %s delivered to subscription %d", subject, sid)
				}
				if err := check.Check(m.Payload); err != nil {
					return err
				}
				fresh++
			}
		})
	}
	e.settle()
	c, err := e.Dial(e.PubServer(0))
	if err != nil {
		return stats.Phase{}, err
	}
	f := wire.NewFrames("m."+subjectDigits+".a", "", e.Size, 0)
	work = append(work, func() error {
		return e.publish(c, f, e.Msgs,
			func(slot int, n uint64) { f.Subject(slot, pickRandom(n, subs)) },
			group.got.Load)
	})
	m := e.Begin("publish")
	if err := e.Parallel(work...); err != nil {
		return stats.Phase{}, err
	}
	return m.End(e.Msgs, e.Size, nil), wire.MergeShared(all, e.Msgs)
}

// pickRandom maps request n to one of k choices, the same in every run.
func pickRandom(n uint64, k int) uint64 {
	z := n*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) % uint64(k)
}
