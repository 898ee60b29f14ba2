package stream

import (
	"sync/atomic"
	"time"

	"godwit/protocol/jsapi"
)

// BatchLimits bounds batches that clients have open. Zero values mean the default written at the field.
type BatchLimits struct {
	Messages int           // in one atomic batch; default 1000
	Atomic   int           // atomic batches of one stream; default 50
	Fast     int           // fast batches of one stream; default 1000
	Timeout  time.Duration // how long a batch may be idle; default 10 s
	Budget   *BatchBudget  // shared by all partitions of a server; default: one of the partition's own
}

// BatchBudget counts the open batches of a server. It is safe for concurrent use; the zero value is ready.
type BatchBudget struct{ atomic, fast atomic.Int64 }

const (
	atomicBatchesMax = 1000      // of a server
	fastBatchesMax   = 50_000    // of a server
	batchIDMax       = 64        // bytes
	stagedMax        = recordMax // bytes in the atomic batches of one stream; so any of them fits into one batch of the log
)

// BatchHooks is what Hooks may implement too, to be told of batches that were given up. Calls come from the turn and
// must not wait.
type BatchHooks interface {
	// BatchAbandoned: reason is "timeout", "incomplete" or "large".
	BatchAbandoned(id, reason string)
}

func (l BatchLimits) withDefaults() BatchLimits {
	set := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	set(&l.Messages, 1000)
	set(&l.Atomic, 50)
	set(&l.Fast, 1000)
	if l.Timeout <= 0 {
		l.Timeout = 10 * time.Second
	}
	if l.Budget == nil {
		l.Budget = &BatchBudget{}
	}
	return l
}

// openBatches are the batches that clients have begun and not ended. They are the turn's, and in no log: what is not
// committed is lost with the process, and its client is told so by the next answer.
type openBatches struct {
	limits BatchLimits
	atomic map[string]*atomicBatch
	staged int // bytes in atomic
	fast   map[string]*fastBatch
}

func (o *openBatches) init(l BatchLimits) {
	*o = openBatches{limits: l.withDefaults(), atomic: map[string]*atomicBatch{}, fast: map[string]*fastBatch{}}
}

// take counts one more open batch, unless the server has too many.
func take(n *atomic.Int64, limit int64) bool {
	if n.Add(1) > limit {
		n.Add(-1)
		return false
	}
	return true
}

func (o *openBatches) dropAtomic(a *atomicBatch) {
	delete(o.atomic, a.id)
	o.staged -= a.bytes()
	o.limits.Budget.atomic.Add(-1)
}

func (o *openBatches) dropFast(f *fastBatch) {
	delete(o.fast, f.id)
	o.limits.Budget.fast.Add(-1)
}

// abandon gives up an atomic batch and tells why.
func (p *Partition) abandon(a *atomicBatch, reason string) {
	p.open.dropAtomic(a)
	p.batchAbandoned(a.id, reason)
}

func (p *Partition) batchAbandoned(id, reason string) {
	if h, ok := p.opts.Hooks.(BatchHooks); ok {
		h.BatchAbandoned(id, reason)
	}
}

// dropDisabled gives up the batches of kinds that a configuration does not allow.
func (p *Partition) dropDisabled(cfg *jsapi.StreamConfig) {
	if !cfg.AllowAtomicPublish {
		for _, a := range p.open.atomic {
			p.open.dropAtomic(a)
		}
	}
	if !cfg.AllowBatchPublish {
		for _, f := range p.open.fast {
			p.open.dropFast(f)
		}
	}
}

// idleBatches gives up batches that nobody has added to for too long.
func (p *Partition) idleBatches() {
	next, wait := never, int64(p.open.limits.Timeout)
	for _, a := range p.open.atomic {
		if a.used+wait <= p.now {
			p.abandon(a, "timeout")
		} else {
			next = min(next, a.used+wait)
		}
	}
	for _, f := range p.open.fast {
		if f.used+wait <= p.now {
			p.open.dropFast(f)
		} else {
			next = min(next, f.used+wait)
		}
	}
	p.sched.batches = next
}

// batchUsed sees to it that a batch used now is looked at when it is idle.
func (p *Partition) batchUsed() {
	p.sched.batches = min(p.sched.batches, p.now+int64(p.open.limits.Timeout))
}
