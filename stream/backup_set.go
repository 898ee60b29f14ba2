package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/archive"
	"godwit/stream/consumer"
	"godwit/stream/sequence"
)

// SetBackup is what a stream held at one moment; of a stream with several partitions, each at a moment of its own. One
// goroutine writes it.
type SetBackup struct {
	Config jsapi.StreamConfig
	State  jsapi.StreamState

	partitions []jsapi.PartitionState // nil if there is one
	parts      []*Backup
	consumers  map[string]*consumer.Archived
}

// archivedState opens an archive. Servers that know nothing of partitions leave those out.
type archivedState struct {
	jsapi.StreamState
	Partitions []jsapi.PartitionState `json:"godwit_partitions,omitempty"`
}

// Backup begins a backup, with the consumers or without. Close it.
func (s *Set) Backup(consumers bool) (*SetBackup, *jsapi.Error) {
	b := &SetBackup{consumers: map[string]*consumer.Archived{}}
	for _, p := range s.parts {
		part, err := p.Backup(consumers)
		if err != nil {
			b.Close()
			return nil, err
		}
		b.parts = append(b.parts, part)
	}
	b.Config, b.State = b.parts[0].config, b.parts[0].state
	if s.Several() {
		states := make([]jsapi.StreamState, len(b.parts))
		for i, part := range b.parts {
			states[i] = part.state
		}
		b.State, b.partitions = sumStates(states)
	}
	for name, c := range b.parts[0].consumers {
		if s.Several() {
			c = b.whole(name)
		}
		b.consumers[name] = c
	}
	b.State.Consumers = len(b.consumers)
	return b, nil
}

// whole puts together the parts of a consumer. For who knows nothing of partitions, it stands before the first message that is
// not acknowledged in every partition.
func (b *SetBackup) whole(name string) *consumer.Archived {
	w := &consumer.Archived{Config: b.parts[0].consumers[name].Config}
	floor := uint64(0)
	for i, part := range b.parts {
		c := part.consumers[name]
		if c == nil { // it is being deleted
			w.Partitions = append(w.Partitions, nil)
			continue
		}
		w.Partitions = append(w.Partitions, c.Progress)
		next := part.p.opts.numbers.Global(c.State.AckFloor.Stream + 1)
		if i == 0 || next-1 < floor {
			floor = next - 1
		}
	}
	at := consumer.ArchivedPosition{Stream: floor}
	w.State.Delivered, w.State.AckFloor = at, at
	return w
}

// Close lets go of the messages.
func (b *SetBackup) Close() {
	for _, part := range b.parts {
		part.Close()
	}
}

// Write writes the backup as an archive: the state, the consumers by name, and the messages by number.
func (b *SetBackup) Write(w io.Writer) error {
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
	if err := text(archive.StateName, &archivedState{b.State, b.partitions}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.consumers)) {
		if err := text(archive.ConsumerPrefix+name, b.consumers[name]); err != nil {
			return err
		}
	}
	var open []*backupReader
	for _, part := range b.parts {
		r := part.reader()
		defer r.cur.Release()
		if more, err := r.next(); err != nil {
			return err
		} else if more {
			open = append(open, r)
		}
	}
	for len(open) > 0 {
		at := 0
		for i, r := range open {
			if r.seq < open[at].seq {
				at = i
			}
		}
		r := open[at]
		err := a.Write(&archive.Entry{Name: r.rec.Subject, Time: r.at, Seq: r.seq, Header: r.rec.Header, Payload: r.rec.Value})
		if err != nil {
			return err
		}
		if more, err := r.next(); err != nil {
			return err
		} else if !more {
			open = slices.Delete(open, at, at+1)
		}
	}
	return a.Close()
}

// Restore makes the logs of a new stream's partitions from an archive; OpenSet then finds them. o and each are what that will
// be given. After an error what was written is of no use. Errors: those of archive, ErrArchive, what writing gave.
func Restore(o Options, each func(partition int, o *Options), r *archive.Reader) (err error) {
	parts := make([]*restoring, max(1, o.Config.Partitions))
	for i := range parts {
		po := o.Of(i)
		each(i, &po)
		if parts[i], err = openRestoring(&po); err != nil {
			break
		}
	}
	defer func() {
		for _, w := range parts {
			if w != nil {
				err = errors.Join(err, w.close())
			}
		}
	}()
	if err != nil {
		return err
	}
	begun := false
	var e archive.Entry
	for {
		if err := r.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		switch {
		case !begun:
			begun = true
			err = restoreState(parts, &e)
		case e.Seq == 0:
			err = restoreConsumer(parts, &e)
		default:
			w := parts[sequence.PartitionOf(e.Seq, uint64(len(parts)))]
			e.Seq, _ = w.o.numbers.Local(e.Seq)
			err = w.message(&e)
		}
		if err != nil {
			return err
		}
	}
	if !begun {
		return fmt.Errorf("%w: it is empty", ErrArchive)
	}
	for _, w := range parts {
		if err := w.finish(); err != nil {
			return err
		}
	}
	return nil
}

// restoreState takes the entry that an archive begins with.
func restoreState(parts []*restoring, e *archive.Entry) error {
	if string(e.Name) != archive.StateName {
		return fmt.Errorf("%w: it does not begin with the stream's state", ErrArchive)
	}
	st := &archivedState{}
	if err := json.Unmarshal(e.Payload, st); err != nil {
		return fmt.Errorf("%w: state: %w", ErrArchive, err)
	}
	if got := max(1, len(st.Partitions)); got != len(parts) {
		return fmt.Errorf("the archive is of a stream with %d partitions, and the configuration has %d", got, len(parts))
	}
	for i, w := range parts {
		one := st.StreamState
		if len(parts) > 1 {
			var first, last bool
			one.FirstSeq, first = w.o.numbers.Local(st.Partitions[i].FirstSeq)
			one.LastSeq, last = w.o.numbers.Local(st.Partitions[i].LastSeq)
			if !first || !last {
				return fmt.Errorf("%w: sequences of partition %d", ErrArchive, i)
			}
		}
		w.begin(&one)
	}
	return nil
}
