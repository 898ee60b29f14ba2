package stream

// deadSegments returns the serial numbers of the segments in which nothing is stored.
func (p *Partition) deadSegments() map[uint64]bool {
	dead := map[uint64]bool{}
	if len(p.backups) > 0 {
		return dead
	}
	for _, r := range p.log.Inner() {
		if r.First > r.Last || p.state.count(r.First, r.Last) == 0 {
			dead[r.Serial] = true
		}
	}
	return dead
}

// giveBack gives back the disk space of segments in which nothing is stored any more although older ones still hold
// something: a key that is never written again must not keep all that came after it. It is called after a checkpoint,
// with the segments that were dead in it.
func (p *Partition) giveBack(dead map[uint64]bool) {
	if len(dead) == 0 || p.ending() || len(p.backups) > 0 {
		return
	}
	p.ckpt.saving = true // both work on the checkpoints
	p.saves.Add(1)
	go func() {
		defer p.saves.Done()
		err := p.log.Hollow(dead)
		p.box.call(func() {
			p.ckpt.saving = false
			if err != nil && p.drained == nil {
				p.opts.Hooks.Damaged(err)
			}
		}, false)
	}()
}
