package scenario

import (
	"fmt"

	"godwit/tests/load/stats"
)

func jsPubSync(e *Env) ([]stats.Phase, error)  { return jsPub(e, 1) }
func jsPubAsync(e *Env) ([]stats.Phase, error) { return jsPub(e, e.Window) }

// jsPub publishes with acknowledgements, a window of them outstanding.
func jsPub(e *Env, window int) ([]stats.Phase, error) {
	if err := e.loadStream(); err != nil {
		return nil, err
	}
	pubs := or(e.Conns, 1)
	lines, err := e.jsPipelines(pubs, e.Msgs, window)
	if err != nil {
		return nil, err
	}
	total := e.Msgs / uint64(pubs) * uint64(pubs)
	var work []func() error
	lat := &stats.Hist{}
	for _, p := range lines {
		p.Lat = &stats.Hist{}
		work = append(work, func() error { return p.Run(e) })
	}
	m := e.Begin("main")
	if err := e.Parallel(work...); err != nil {
		return nil, err
	}
	for _, p := range lines {
		lat.Merge(p.Lat)
	}
	phase := m.End(total, e.Size, lat)
	return []stats.Phase{phase}, e.CheckStream(stream, total)
}

// fillStream publishes total messages from one publisher, outside of any
// measurement.
func (e *Env) fillStream(total uint64) error {
	lines, err := e.jsPipelines(1, total, max(e.Window, 2))
	if err != nil {
		return err
	}
	if err := e.Parallel(func() error { return lines[0].Run(e) }); err != nil {
		return fmt.Errorf("fill the stream: %w", err)
	}
	return e.CheckStream(stream, total)
}
