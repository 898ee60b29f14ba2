package scenario

import (
	"fmt"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// jsKV: puts and gets of random keys in a bucket that keeps one value a key.
func jsKV(e *Env) ([]stats.Phase, error) {
	_, err := e.CreateStream(wire.StreamConfig{
		Name: "KV_LOAD", Subjects: []string{"$KV.LOAD.>"}, MaxMsgsPerSub: 1,
		Discard: "new", AllowDirect: true, AllowRollup: true, DenyDelete: true,
	})
	if err != nil {
		return nil, err
	}
	const key = "$KV.LOAD.k#######"
	c, err := e.Dial(e.PubServer(0))
	if err != nil {
		return nil, err
	}
	latest := make([]uint64, e.Keys) // stamp of each key's value
	put := func(id int, n uint64, choose func(n uint64) uint64, lat *stats.Hist) error {
		if id > 0 {
			if c, err = e.Dial(e.PubServer(0)); err != nil {
				return err
			}
		}
		p, err := NewPipeline(c, id, key, e.Size, n, e.Window)
		if err != nil {
			return err
		}
		p.Lat = lat
		p.Fill = func(slot int, n uint64) {
			k := choose(n)
			p.Frames.Subject(slot, k)
			latest[k] = n
		}
		p.Answer = func(_ uint64, m *wire.Msg) error { _, err := ackSeq(m); return err }
		return e.Parallel(func() error { return p.Run(e) })
	}
	random := func(n uint64) uint64 { return pickRandom(n, e.Keys) }
	if err := put(0, uint64(e.Keys), func(n uint64) uint64 { return n }, nil); err != nil {
		return nil, err
	}
	lat := &stats.Hist{}
	m := e.Begin("put")
	if err := put(1, e.Msgs, random, lat); err != nil {
		return nil, err
	}
	phases := []stats.Phase{m.End(e.Msgs, e.Size, lat)}

	// Any replica may answer a direct get, so let all have the last values.
	if err := e.awaitReplicas("KV_LOAD"); err != nil {
		return phases, err
	}
	g, err := e.Dial(e.PubServer(0))
	if err != nil {
		return nil, err
	}
	p, err := NewPipeline(g, 2, "$JS.API.DIRECT.GET.KV_LOAD."+key, 0, e.Msgs, e.Window)
	if err != nil {
		return nil, err
	}
	p.Lat = &stats.Hist{}
	p.Fill = func(slot int, n uint64) { p.Frames.Subject(slot, random(n)) }
	body := wire.NewPayload(e.Size)
	p.Answer = func(n uint64, m *wire.Msg) error {
		if status := m.Status(); status != 0 {
			return fmt.Errorf("get of key %d: status %d", random(n), status)
		}
		seq, _, err := wire.ReadStamp(m.Payload)
		if err != nil {
			return err
		}
		if want := latest[random(n)]; seq != want {
			return fmt.Errorf("get of key %d returned put %d instead of %d", random(n), seq, want)
		}
		return wire.CheckBody(body, m.Payload, seq)
	}
	m = e.Begin("get")
	if err := e.Parallel(func() error { return p.Run(e) }); err != nil {
		return phases, err
	}
	return append(phases, m.End(e.Msgs, e.Size, p.Lat)), nil
}
