package stream

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/archive"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// Backup is what a partition held at one moment. While it is open no segment with messages of it is removed. One goroutine
// writes it; the partition goes on meanwhile.
type Backup struct {
	Config jsapi.StreamConfig
	State  jsapi.StreamState

	p           *Partition
	consumers   map[string]*consumer.Archived
	first, last uint64
	deleted     seqSet

	mu   sync.Mutex      // guards what follows
	lost map[uint64]bool // messages whose content was overwritten since
}

// lose says that a message is about to be overwritten.
func (b *Backup) lose(seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost == nil {
		b.lost = map[uint64]bool{}
	}
	b.lost[seq] = true
}

func (b *Backup) isLost(seq uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost[seq]
}

// Backup begins a backup, with the consumers or without. Close it.
func (p *Partition) Backup(consumers bool) (*Backup, *jsapi.Error) {
	b := &Backup{p: p}
	failed := false
	if p.do(func() {
		b.Config, b.State = p.given, p.state.info()
		b.first, b.last = p.first, p.last
		copied := decoder{b: p.deleted.appendTo(nil)}
		failed = b.deleted.decode(&copied) != nil
		if consumers {
			b.consumers = map[string]*consumer.Archived{}
			for _, m := range p.members.byID {
				b.consumers[m.c.Name] = m.c.Archive()
			}
		}
		b.State.Consumers = len(b.consumers)
		p.backups = append(p.backups, b)
	}) != nil || failed {
		return nil, jsapi.Err(jsapi.ErrStreamNotFound)
	}
	return b, nil
}

// Close lets go of the messages.
func (b *Backup) Close() {
	_ = b.p.do(func() { // closed: nothing is held any more
		b.p.backups = slices.DeleteFunc(b.p.backups, func(o *Backup) bool { return o == b })
	})
}

// keepFrom is the first sequence that the log has to keep.
func (p *Partition) keepFrom() uint64 {
	from := p.first
	for _, b := range p.backups {
		from = min(from, b.first)
	}
	return from
}

// Write writes the backup as an archive. A message that is damaged is left out; the log has reported it. So is one that was
// erased since the backup began.
func (b *Backup) Write(w io.Writer) error {
	a, err := archive.NewWriter(w)
	if err != nil {
		return err
	}
	now := time.Now().UnixNano()
	text := func(name string, v any) error {
		js, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return a.Write(&archive.Entry{Name: []byte(name), Time: now, Payload: js})
	}
	if err := text(archive.StateName, &b.State); err != nil {
		return err
	}
	names := make([]string, 0, len(b.consumers))
	for n := range b.consumers {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if err := text(archive.ConsumerPrefix+n, b.consumers[n]); err != nil {
			return err
		}
	}
	cur := b.p.log.NewCursor(b.first)
	defer cur.Release()
	var r segment.Record
	for {
		seq, t, ok, err := cur.Next(b.last, &r)
		if damage := (*segment.CorruptError)(nil); errors.As(err, &damage) {
			b.p.opts.Hooks.Damaged(err)
			cur.Skip()
			continue
		}
		switch {
		case err != nil:
			return err
		case !ok:
			return a.Close()
		}
		if seq < b.first || b.deleted.has(seq) || r.Attrs&attrUnwanted != 0 || b.isLost(seq) {
			continue
		}
		if err := a.Write(&archive.Entry{Name: r.Subject, Time: t, Seq: seq, Header: r.Header, Payload: r.Value}); err != nil {
			return err
		}
	}
}
