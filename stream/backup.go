package stream

import (
	"errors"
	"slices"
	"sync"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// Backup is what a partition held at one moment. While it is open no segment with messages of it is removed. One goroutine
// reads it; the partition goes on meanwhile.
type Backup struct {
	config jsapi.StreamConfig
	state  jsapi.StreamState

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
		b.config, b.state = p.given, p.state.info()
		b.first, b.last = p.first, p.last
		copied := decoder{b: p.deleted.appendTo(nil)}
		failed = b.deleted.decode(&copied) != nil
		if consumers {
			b.consumers = map[string]*consumer.Archived{}
			for _, m := range p.members.byID {
				b.consumers[m.c.Name] = m.c.Archive()
			}
		}
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

// backupReader reads the messages of a backup.
type backupReader struct {
	b   *Backup
	cur *segment.Cursor
	rec segment.Record
	seq uint64 // of rec, in the stream
	at  int64  // its time
}

func (b *Backup) reader() *backupReader { return &backupReader{b: b, cur: b.p.log.NewCursor(b.first)} }

// next reads the next message; false at the end. One that is damaged is left out; the log has reported it. So is one that was
// erased since the backup began.
func (r *backupReader) next() (bool, error) {
	b := r.b
	for {
		seq, t, ok, err := r.cur.Next(b.last, &r.rec)
		if damage := (*segment.CorruptError)(nil); errors.As(err, &damage) {
			b.p.opts.Hooks.Damaged(err)
			r.cur.Skip()
			continue
		}
		if err != nil || !ok {
			return false, err
		}
		if seq < b.first || b.deleted.has(seq) || r.rec.Attrs&attrUnwanted != 0 || b.isLost(seq) {
			continue
		}
		r.seq, r.at = b.p.opts.numbers.Global(seq), t
		return true, nil
	}
}
