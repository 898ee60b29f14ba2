package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// Checked is what Check has found in a partition's directory.
type Checked struct {
	Config    jsapi.StreamConfig
	State     jsapi.StreamState
	Segments  int
	Batches   int
	Bytes     int64 // of all batches
	Torn      int64 // bytes at the end that were never durable, which opening cuts off
	Faults    []segment.Fault
	Consumers int
}

// Lost reports whether messages are lost: what cannot be made again is damaged.
func (c *Checked) Lost() bool {
	for _, f := range c.Faults {
		if !f.Derived {
			return true
		}
	}
	return false
}

// Check verifies a partition's directory without changing it: every batch, the indexes and checkpoints against the log,
// and what the partition believes to hold against what can be read. o needs Dir, FS, Key and Config. progress is told of
// bytes read.
func Check(o Options, progress func(bytes int64)) (*Checked, error) {
	below := o.FS
	over := vfs.NewOverlay(below)
	defer over.Close()
	o.FS = over
	p, err := openQuiet(o)
	if err != nil {
		return nil, err
	}
	defer p.log.Close()
	v, err := p.log.Verify(below, progress)
	if err != nil {
		return nil, err
	}
	c := &Checked{Config: p.given, State: p.state.info(), Segments: v.Segments, Batches: v.Batches, Bytes: v.Bytes, Torn: p.report.Cut,
		Faults: v.Faults, Consumers: p.members.public}
	if !c.Lost() {
		c.Faults = append(c.Faults, p.compare()...)
	}
	return c, nil
}

// Repair makes again what can be made again: indexes and checkpoints. What is damaged is left for readers to pass over.
func Repair(o Options, faults []segment.Fault) error {
	for _, f := range faults {
		if !f.Derived {
			continue
		}
		for _, path := range segment.SameFault(f.Path) {
			if err := o.FS.Rename(path, path+".damaged"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	p, err := openQuiet(o)
	if err != nil {
		return err
	}
	if err := p.log.Mend(); err != nil {
		return errors.Join(err, p.log.Close())
	}
	p.now = time.Now().UnixNano()
	p.lastCheckpoint()
	return p.log.Close()
}

// openQuiet opens a partition that nobody talks to.
func openQuiet(o Options) (*Partition, error) {
	o.Out, o.Refusals, o.Hooks, o.Quota = quiet{}, quiet{}, quiet{}, quiet{}
	return Open(o)
}

// compare reads all messages that the partition believes to hold and counts them by subject.
func (p *Partition) compare() (faults []segment.Fault) {
	fault := func(format string, args ...any) {
		faults = append(faults, segment.Fault{Path: p.opts.Dir, Reason: fmt.Sprintf(format, args...)})
	}
	var msgs, bytes uint64
	counts := make([]uint64, len(p.subjects.entries))
	unknown := uint64(0)
	p.scan(p.first, p.last, func(seq uint64, _ int64, r *segment.Record) bool {
		msgs++
		bytes += p.size(r)
		if i := p.subjects.find(p.subjects.hash(r.Subject), r.Subject); i >= 0 {
			counts[i]++
		} else {
			unknown++
		}
		return true
	})
	if msgs != p.msgs || bytes != p.bytes {
		fault("the state has %d messages of %d bytes, the log %d of %d", p.msgs, p.bytes, msgs, bytes)
	}
	if unknown > 0 {
		fault("%d messages are on subjects that the state does not know", unknown)
	}
	for i, n := range counts {
		if e := &p.subjects.entries[i]; e.count != n {
			fault("the state has %d messages on %q, the log %d", e.count, p.subjects.name(i), n)
			break
		}
	}
	return faults
}

// quiet takes what a partition has to tell and says nothing.
type quiet struct{}

func (quiet) Deliver([]byte, *consumer.Message) int                          { return 0 }
func (quiet) Interest([]byte) bool                                           { return false }
func (quiet) Bound([]byte, string) bool                                      { return false }
func (quiet) Rest()                                                          {}
func (quiet) Flush()                                                         {}
func (quiet) Exceeded(*consumer.Consumer, uint64, int)                       {}
func (quiet) Naked(*consumer.Consumer, uint64, uint64, int)                  {}
func (quiet) Terminated(*consumer.Consumer, uint64, uint64, int, string)     {}
func (quiet) Sampled(*consumer.Consumer, uint64, uint64, int, time.Duration) {}
func (quiet) Pinned(*consumer.Consumer, string, string)                      {}
func (quiet) Unpinned(*consumer.Consumer, string, string)                    {}
func (quiet) Paused(*consumer.Consumer, time.Time, bool)                     {}
func (quiet) ConsumerFound(*consumer.Consumer)                               {}
func (quiet) ConsumerAdded(*consumer.Consumer)                               {}
func (quiet) ConsumerRemoved(*consumer.Consumer)                             {}
func (quiet) Audited(int)                                                    {}
func (quiet) Violated(*consumer.Consumer, string)                            {}
func (quiet) Failed(error)                                                   {}
func (quiet) Damaged(error)                                                  {}
func (quiet) Limited() bool                                                  { return false }
func (quiet) Admit(int64) *jsapi.Error                                       { return nil }
func (quiet) Used(int64)                                                     {}
