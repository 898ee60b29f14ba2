package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/archive"
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// ErrArchive: an archive contradicts itself.
var ErrArchive = errors.New("archive contradicts itself")

// restoreConsumers bounds the bytes of consumers that are held until the messages are written.
const restoreConsumers = 256 << 20

// restoring writes the log of a partition from an archive.
type restoring struct {
	o     *Options
	log   *segment.Log
	index uint64

	body      []byte
	base      uint64 // of the batch that is gathered
	count     uint32
	time      int64 // of the batch
	next      uint64
	latest    int64 // time of a batch; never goes back
	state     *jsapi.StreamState
	consumers map[string]*consumer.Archived
	held      int
	stored    int64 // bytes that the account was told of
}

// openRestoring opens the log of a new partition for messages of an archive. Close it, whatever happens.
func openRestoring(o *Options) (*restoring, error) {
	log, _, err := segment.Open(segment.Options{Dir: o.Dir, FS: o.FS, Key: o.Key, SegmentBytes: o.SegmentBytes, MaxBatchBytes: maxBatchBytes,
		Sync: segment.SyncOS, Scheduler: o.Scheduler, Cache: o.Cache, Tails: o.Tails, TailBytes: o.TailBytes})
	if err != nil {
		return nil, err
	}
	log.GiveUp() // a full disk is an error here
	return &restoring{o: o, log: log, consumers: map[string]*consumer.Archived{}}, nil
}

// close makes all of it durable.
func (w *restoring) close() error {
	if w.stored > 0 {
		w.o.Quota.Used(-w.stored) // Open tells of them
	}
	return w.log.Close()
}

// begin takes the state that the partition had.
func (w *restoring) begin(st *jsapi.StreamState) {
	w.state = st
	w.next = max(1, st.FirstSeq)
}

// restoreConsumer takes a consumer, each partition its part.
func restoreConsumer(parts []*restoring, e *archive.Entry) error {
	text, ok := bytes.CutPrefix(e.Name, []byte(archive.ConsumerPrefix))
	if !ok {
		return fmt.Errorf("%w: entry %q", ErrArchive, e.Name)
	}
	name := string(text)
	c := &consumer.Archived{}
	if err := json.Unmarshal(e.Payload, c); err != nil {
		return fmt.Errorf("%w: consumer %q: %w", ErrArchive, name, err)
	}
	if c.Config == nil {
		return fmt.Errorf("%w: consumer %q has no configuration", ErrArchive, name)
	}
	if parts[0].held += len(e.Payload); parts[0].held > restoreConsumers {
		return fmt.Errorf("%w: more than %d bytes of consumers", ErrArchive, restoreConsumers)
	}
	if c.Config.Name == "" {
		c.Config.Name = name
	}
	if c.Config.PauseUntil != nil && c.Config.PauseUntil.IsZero() {
		c.Config.PauseUntil = nil
	}
	for i, w := range parts {
		part := c
		if len(parts) > 1 {
			part = c.Part(i)
		}
		if len(parts) == 1 || len(part.Progress) > 0 {
			if err := consumer.CheckProgress(part.Record()); err != nil {
				return fmt.Errorf("%w: consumer %q: %w", ErrArchive, name, err)
			}
		}
		w.consumers[name] = part
	}
	return nil
}

// message gathers a message; those that are missing before it become holes.
func (w *restoring) message(e *archive.Entry) error {
	switch {
	case e.Seq < w.next:
		return fmt.Errorf("%w: sequence %d after %d", ErrArchive, e.Seq, w.next-1)
	case e.Seq > w.state.LastSeq:
		return fmt.Errorf("%w: sequence %d, but the last is %d", ErrArchive, e.Seq, w.state.LastSeq)
	case !subject.ValidName(string(e.Name)):
		return fmt.Errorf("%w: message %d has the subject %q", ErrArchive, e.Seq, e.Name)
	case len(e.Name)+len(e.Header)+len(e.Payload) > recordMax:
		return fmt.Errorf("%w: message %d is too large", ErrArchive, e.Seq)
	case e.Time < 0:
		return fmt.Errorf("%w: message %d is from before 1970", ErrArchive, e.Seq)
	}
	if q := w.o.Quota; q != nil && q.Limited() {
		size := int64(storedSize(w.o.Config.Storage, len(e.Name), len(e.Header), len(e.Payload)))
		if err := q.Admit(size); err != nil {
			return err
		}
		q.Used(size)
		w.stored += size
	}
	if w.count > 0 && e.Seq-w.next <= copyGap {
		for w.next < e.Seq {
			w.add(&segment.Record{Attrs: attrUnwanted}, e.Time)
		}
	}
	if e.Seq != w.next || len(w.body) >= batchBytesMax || w.count >= batchCountMax {
		if err := w.flush(); err != nil {
			return err
		}
		w.next = e.Seq
	}
	w.add(&segment.Record{Attrs: copiedAttrs(e.Header), Subject: e.Name, Header: e.Header, Value: e.Payload}, e.Time)
	return nil
}

func (w *restoring) add(r *segment.Record, t int64) {
	if w.count == 0 {
		w.base, w.time = w.next, max(t, w.latest)
	}
	r.TimeDelta = t - w.time
	w.body = segment.AppendRecord(w.body, r)
	w.count++
	w.next++
}

// flush writes the messages that were gathered.
func (w *restoring) flush() error {
	if w.count == 0 {
		return nil
	}
	h := segment.Head{Kind: segment.KindMessages, Time: w.time, Base: w.base, Count: w.count}
	err := w.append(h, w.body)
	w.latest = w.time
	w.body, w.count = w.body[:0], 0
	return err
}

func (w *restoring) append(h segment.Head, body []byte) error {
	w.index++
	h.Index, h.Term = w.index, 1
	write := w.log.Append
	if w.o.Config.Compression == jsapi.S2Compression {
		write = w.log.AppendPacked
	}
	if err := write(h, body); err != nil {
		return err
	}
	_, err := w.log.Flush(false)
	return err
}

// finish writes what comes behind the messages: where the stream goes on, and the consumers.
func (w *restoring) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	now := max(time.Now().UnixNano(), w.latest)
	if w.next <= w.state.LastSeq || w.index == 0 && w.next > 1 { // the last ones were removed
		last := max(w.state.LastSeq, w.next-1)
		w.next = last
		at := w.latest
		if !w.state.LastTime.IsZero() {
			at = jsapi.Nanos(w.state.LastTime)
		}
		w.add(&segment.Record{Attrs: attrUnwanted}, at)
		if err := w.flush(); err != nil {
			return err
		}
	}
	for name, c := range w.consumers {
		cfg := *c.Config
		cfg.Replicas = min(cfg.Replicas, w.o.Config.Replicas) // fewer may have been asked for
		if cfg.Direct {
			continue // whoever copies the stream makes it again
		}
		if err := consumer.Check(&cfg, &w.o.Config, w.o.consumerLimits(), false); err != nil {
			return fmt.Errorf("consumer %q: %w", name, err)
		}
		consumer.FillNew(&cfg)
		cfg.Metadata = jsapi.WithLevel(cfg.Metadata, cfg.RequiredLevel())
		text, err := json.Marshal(&cfg)
		if err != nil {
			return err
		}
		cmd := &command{op: opConsumerCreate, name: name, text: text}
		if err := w.append(segment.Head{Kind: segment.KindCommand, Time: now, Base: w.next}, cmd.appendTo(nil)); err != nil {
			return err
		}
		if w.o.numbers.Several() && len(c.Progress) == 0 {
			continue // it begins as a new one
		}
		body := appendText(binary.AppendUvarint(nil, w.index), c.Record())
		if err := w.append(segment.Head{Kind: segment.KindProgress, Time: now, Base: w.next}, body); err != nil {
			return err
		}
	}
	return nil
}
