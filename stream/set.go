package stream

import (
	"errors"
	"slices"
	"sync"
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
	"godwit/stream/sequence"
)

// Set is the partitions of one stream, which clients see as one. With one partition it does nothing but pass on; with
// several it sends each request to the partition that it is about, or to all of them, and puts their answers together.
//
// What concerns all of them, the stream's configuration and its consumers, is changed in the first partition last when
// something is made, and first when something is changed or deleted. So a consumer exists if the first partition has it,
// and what a crash has left undone in the others is seen and done at the next start.
type Set struct {
	parts []*Partition
	key   key

	admin  sync.Mutex // held by whoever creates, changes or deletes a consumer that has parts
	idling sync.WaitGroup

	mu     sync.Mutex                  // guards what follows
	shared map[string]*consumer.Shared // by consumer; of those that have parts
	idle   map[string]bool             // consumers that are being deleted because nobody uses them
	ending bool                        // no more of them

	across across
}

// openAtOnce bounds the partitions of a stream that are opened or closed at the same time.
const openAtOnce = 8

// OpenSet opens or creates the partitions of a stream. o is what they have in common; each changes it into what a partition
// needs: Dir, Key, Out, Refusals, Hooks, and FS if they do not share one.
func OpenSet(o Options, each func(partition int, o *Options)) (*Set, error) {
	s := &Set{shared: map[string]*consumer.Shared{}, idle: map[string]bool{}}
	s.key, _ = parseKey(o.Config.PartitionKey)
	n := max(1, o.Config.Partitions)
	s.parts = make([]*Partition, n)
	errs := make([]error, n)
	s.atOnce(func(i int) {
		po := o.Of(i)
		if n > 1 {
			po.share, po.idle = s.share, s.dropIdle
		}
		each(i, &po)
		s.parts[i], errs[i] = Open(po)
	})
	if err := errors.Join(errs...); err != nil {
		for _, p := range s.parts {
			if p != nil {
				err = errors.Join(err, p.log.Close())
			}
		}
		return nil, err
	}
	return s, nil
}

// Of returns the options with what tells a partition of a stream with several from the others: how messages are numbered.
func (o Options) Of(partition int) Options {
	if n := o.Config.Partitions; n > 1 {
		o.numbers = sequence.Scheme{Partitions: uint64(n), Partition: uint64(partition)}
	}
	return o
}

// Numbers is how the partition's messages are numbered.
func (o *Options) Numbers() sequence.Scheme { return o.numbers }

// atOnce runs f for each partition, several at the same time, and waits.
func (s *Set) atOnce(f func(i int)) {
	if len(s.parts) == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, openAtOnce)
	for i := range s.parts {
		room <- struct{}{}
		wg.Go(func() {
			f(i)
			<-room
		})
	}
	wg.Wait()
}

// Several says whether there is more than one partition.
func (s *Set) Several() bool { return len(s.parts) > 1 }

// Len is the number of partitions.
func (s *Set) Len() int { return len(s.parts) }

// First is the first partition: the only one, if there are not several.
func (s *Set) First() *Partition { return s.parts[0] }

// At returns a partition.
func (s *Set) At(i int) *Partition { return s.parts[i] }

// PartitionOf returns the partition among several that a published message goes to.
func (s *Set) PartitionOf(subj, header []byte) int {
	if t := s.parts[0].transform.Load(); t != nil {
		if to, ok := t.Append(nil, string(subj)); ok {
			subj = to
		}
	}
	return s.key.partition(subj, header, uint32(len(s.parts)))
}

// Publish gives a batch to a partition, whose it is. alone says that the caller has none for another partition, so that it
// may do the work itself.
func (s *Set) Publish(i int, b *PubBatch, mayWait, alone bool) {
	s.parts[i].publish(b, mayWait, mayWait && alone)
}

// Start begins work. What a crash has left undone is done first.
func (s *Set) Start() *jsapi.Error {
	first := s.parts[0]
	if len(s.parts) == 1 {
		first.Start()
		return nil
	}
	want := map[string]*jsapi.ConsumerConfig{}
	for name, m := range first.members.byName {
		want[name] = m.c.Config()
	}
	text, err := first.configText()
	if err != nil {
		return err
	}
	for _, p := range s.parts[1:] {
		if err := s.follow(p, want, text); err != nil {
			return err
		}
	}
	first.Start()
	return nil
}

// follow starts a partition and makes it agree with the first one: about consumers, which are want, and the configuration.
func (s *Set) follow(p *Partition, want map[string]*jsapi.ConsumerConfig, config []byte) *jsapi.Error {
	var extra []string
	changed := map[string]*jsapi.ConsumerConfig{}
	for name, m := range p.members.byName {
		if cfg := want[name]; cfg == nil {
			extra = append(extra, name)
		} else if !sameConsumer(m.c.Config(), cfg) {
			changed[name] = cfg
		}
	}
	for name, cfg := range want {
		if p.members.byName[name] == nil {
			changed[name] = cfg
		}
	}
	own, err := p.configText()
	if err != nil {
		return err
	}
	p.Start()
	if string(own) != string(config) {
		if err := p.Reconfigure(config); err != nil {
			return err
		}
	}
	for _, name := range extra {
		if err := p.DeleteConsumer(name); err != nil && err.Code != jsapi.ErrConsumerNotFound {
			return err
		}
		s.unshare(name)
	}
	for name, cfg := range changed {
		if err := p.takeConsumer(name, cfg); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for all partitions but the first at the same time, and then, if none of them failed, for the first; or the
// other way round.
func (s *Set) each(firstLast bool, f func(p *Partition) *jsapi.Error) *jsapi.Error {
	if !firstLast || len(s.parts) == 1 {
		if err := f(s.parts[0]); err != nil || len(s.parts) == 1 {
			return err
		}
	}
	errs := make([]*jsapi.Error, len(s.parts))
	var wg sync.WaitGroup
	for i, p := range s.parts[1:] {
		wg.Go(func() { errs[i+1] = f(p) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if firstLast {
		return f(s.parts[0])
	}
	return nil
}

// Reconfigure changes the configuration, which was checked.
func (s *Set) Reconfigure(text []byte) *jsapi.Error {
	return s.each(false, func(p *Partition) *jsapi.Error { return p.Reconfigure(text) })
}

// Stats returns messages, stored bytes and consumers, as of a moment ago.
func (s *Set) Stats() (msgs, bytes, consumers uint64) {
	for _, p := range s.parts {
		m, b, c := p.Stats()
		msgs += m
		bytes += b
		consumers = max(consumers, c)
	}
	return msgs, bytes, consumers
}

// Waiting is how many bytes wait for the turns of the partitions.
func (s *Set) Waiting() (bytes int64) {
	for _, p := range s.parts {
		bytes += p.box.waiting()
	}
	return bytes
}

// Replayed sums up what opening has found: see segment.Report.
func (s *Set) Replayed() (took time.Duration, batches int, cut int64) {
	for _, p := range s.parts {
		took = max(took, p.report.Duration)
		batches += p.report.Replayed
		cut += p.report.Cut
	}
	return took, batches, cut
}

// Stalled says why a partition cannot write and waits; nil if none does.
func (s *Set) Stalled() error {
	for _, p := range s.parts {
		if err := p.Stalled(); err != nil {
			return err
		}
	}
	return nil
}

// Config returns the configuration in force.
func (s *Set) Config() jsapi.StreamConfig { return s.parts[0].Config() }

// EndRequests tells open pull requests that the server is going, while their clients can still hear it.
func (s *Set) EndRequests() { s.atOnce(func(i int) { s.parts[i].EndRequests() }) }

// Close handles what is waiting, writes checkpoints and closes the logs.
func (s *Set) Close() error { return s.shut((*Partition).Close) }

// Abandon closes the partitions because their stream is deleted.
func (s *Set) Abandon() error { return s.shut((*Partition).Abandon) }

func (s *Set) shut(f func(p *Partition) error) error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.idling.Wait()
	s.across.close()
	errs := make([]error, len(s.parts))
	s.atOnce(func(i int) { errs[i] = f(s.parts[i]) })
	return errors.Join(errs...)
}

// State describes what the stream holds. total is the number of subjects matched; partitions is nil if there is one.
func (s *Set) State(r InfoRequest) (cfg jsapi.StreamConfig, st jsapi.StreamState, total int, partitions []jsapi.PartitionState, err *jsapi.Error) {
	if len(s.parts) == 1 {
		cfg, st, total, err = s.parts[0].State(r)
		return cfg, st, total, nil, err
	}
	subjects := map[string]uint64{}
	states := make([]jsapi.StreamState, len(s.parts))
	for i, p := range s.parts {
		if cfg, states[i], err = p.stateOfPart(r, subjects, s.key.header != ""); err != nil {
			return cfg, st, 0, nil, err
		}
	}
	st, partitions = sumStates(states)
	if s.key.header != "" {
		st.NumSubjects = len(subjects)
	}
	if r.Subjects != "" {
		st.Subjects, total = pageOf(subjects, r)
	}
	return cfg, st, total, partitions, nil
}

// sumStates puts together the states of partitions, whose subjects are different ones.
func sumStates(states []jsapi.StreamState) (sum jsapi.StreamState, partitions []jsapi.PartitionState) {
	for i := range states {
		one := &states[i]
		partitions = append(partitions, jsapi.PartitionState{Partition: i, Msgs: one.Msgs, Bytes: one.Bytes,
			FirstSeq: one.FirstSeq, LastSeq: one.LastSeq, HighWaterMark: one.LastSeq})
		sum.Msgs += one.Msgs
		sum.Bytes += one.Bytes
		if one.Msgs > 0 && (sum.FirstSeq == 0 || one.FirstSeq < sum.FirstSeq) {
			sum.FirstSeq = one.FirstSeq
		}
		if one.Msgs > 0 && (sum.FirstTime.IsZero() || one.FirstTime.Before(sum.FirstTime)) {
			sum.FirstTime = one.FirstTime
		}
		sum.LastSeq = max(sum.LastSeq, one.LastSeq)
		if one.LastTime.After(sum.LastTime) {
			sum.LastTime = one.LastTime
		}
		sum.NumSubjects += one.NumSubjects
		sum.NumDeleted += one.NumDeleted
		sum.Deleted = append(sum.Deleted, one.Deleted...)
		sum.Consumers = max(sum.Consumers, one.Consumers)
	}
	if sum.FirstSeq == 0 && sum.LastSeq > 0 { // empty, but it was not always
		sum.FirstSeq = sum.LastSeq + 1
	}
	slices.Sort(sum.Deleted)
	return sum, partitions
}

// stateOfPart is State for one of several partitions: it adds the subjects that are asked for, or all if names is set, to counts.
func (p *Partition) stateOfPart(r InfoRequest, counts map[string]uint64, names bool) (cfg jsapi.StreamConfig, st jsapi.StreamState, err *jsapi.Error) {
	filter := r.Subjects
	r.Subjects = ""
	if cfg, st, _, err = p.State(r); err != nil || filter == "" && !names {
		return cfg, st, err
	}
	if filter == "" {
		filter = ">"
	}
	if p.do(func() {
		p.subjects.match(filter, func(i int) bool {
			counts[string(p.subjects.name(i))] += p.subjects.entries[i].count
			return true
		})
	}) != nil {
		err = jsapi.Err(jsapi.ErrStreamNotFound)
	}
	return cfg, st, err
}

// pageOf returns the page of subjects that a request asks for, and how many it matches.
func pageOf(counts map[string]uint64, r InfoRequest) (page map[string]uint64, total int) {
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	slices.Sort(names)
	total = len(names)
	offset := max(0, r.Offset)
	if offset >= total {
		return nil, total
	}
	page = map[string]uint64{}
	for _, n := range names[offset:min(total, offset+jsapi.SubjectsPage)] {
		page[n] = counts[n]
	}
	return page, total
}

// Delete removes one message.
func (s *Set) Delete(seq uint64) *jsapi.Error { return s.owner(seq).Delete(seq) }

// Erase removes one message and overwrites its content on disk; when it returns, that is durable.
func (s *Set) Erase(seq uint64) *jsapi.Error { return s.owner(seq).Erase(seq) }

// owner returns the partition that a number of the stream belongs to.
func (s *Set) owner(seq uint64) *Partition {
	return s.parts[sequence.PartitionOf(seq, uint64(len(s.parts)))]
}

// Purge removes messages and returns how many. Partitions that are asked for what only one of them can know refuse.
func (s *Set) Purge(r *jsapi.PurgeRequest) (n uint64, err *jsapi.Error) {
	if len(s.parts) == 1 {
		return s.parts[0].Purge(r)
	}
	if r.Sequence > 0 && r.Keep > 0 {
		return 0, jsapi.Err(jsapi.ErrBadRequest)
	}
	if r.Subject != "" {
		if i, ok := s.key.partitionOf([]byte(r.Subject), uint32(len(s.parts))); ok {
			return s.parts[i].Purge(r)
		}
	}
	if r.Keep > 0 {
		return 0, jsapi.Err(jsapi.ErrStreamPurgeFailed, "err", "keep requires a filter for one partition of the stream")
	}
	var mu sync.Mutex
	err = s.each(false, func(p *Partition) *jsapi.Error {
		k, err := p.Purge(r)
		mu.Lock()
		n += k
		mu.Unlock()
		return err
	})
	return n, err
}

// Get returns one message as MSG.GET describes it.
func (s *Set) Get(r *jsapi.MsgGetRequest) (*jsapi.StoredMessage, *jsapi.Error) {
	if i, ok := s.partitionOfGet(r); ok {
		return s.parts[i].Get(r)
	}
	var best *jsapi.StoredMessage
	for _, p := range s.parts {
		msg, err := p.Get(r)
		if err != nil {
			if err.Code != jsapi.ErrNoMessageFound {
				return nil, err
			}
			continue
		}
		if best == nil || better(r, msg, best) {
			best = msg
		}
	}
	if best == nil {
		return nil, jsapi.Err(jsapi.ErrNoMessageFound)
	}
	return best, nil
}

// better says which of the messages that two partitions have found is the one that is asked for: the first by number, or, if
// the last one is asked for or times say where to begin, by time.
func better(r *jsapi.MsgGetRequest, a, b *jsapi.StoredMessage) bool {
	switch {
	case r.LastFor != "" && !a.Time.Equal(b.Time):
		return a.Time.After(b.Time)
	case r.LastFor != "":
		return a.Sequence > b.Sequence
	case timed(r) && !a.Time.Equal(b.Time):
		return a.Time.Before(b.Time)
	}
	return a.Sequence < b.Sequence
}

// partitionOfGet returns the partition that has the message a request selects; ok is false if it may be any of them.
func (s *Set) partitionOfGet(r *jsapi.MsgGetRequest) (i int, ok bool) {
	n := uint32(len(s.parts))
	switch {
	case n == 1 || badSelection(r):
		return 0, true
	case r.LastFor != "":
		return s.key.partitionOf([]byte(r.LastFor), n)
	case r.NextFor != "":
		return s.key.partitionOf([]byte(r.NextFor), n)
	case r.Seq > 0:
		return sequence.PartitionOf(r.Seq, uint64(n)), true
	}
	return 0, false
}

// ConsumerNames returns the names of all consumers, sorted.
func (s *Set) ConsumerNames() []string { return s.parts[0].ConsumerNames() }

// Consumers describes the consumers from the offset-th on, by name, at most limit of them, and returns how many there
// are.
func (s *Set) Consumers(offset, limit int) (list []*jsapi.ConsumerInfo, total int) {
	if len(s.parts) == 1 {
		return s.parts[0].Consumers(offset, limit)
	}
	names := s.ConsumerNames()
	total = len(names)
	for _, name := range names[min(offset, total):min(offset+limit, total)] {
		if info, err := s.ConsumerInfo(name); err == nil {
			list = append(list, info)
		}
	}
	return list, total
}

// Begin lets a consumer deliver that was created Held.
func (s *Set) Begin(name string) {
	for _, p := range s.parts {
		p.Begin(name)
	}
}

// homeOf returns the partition whose part of a consumer takes requests, so that the consumers of a stream share the work.
func (s *Set) homeOf(name string) int {
	var k key
	return k.partition([]byte(name), nil, uint32(len(s.parts)))
}
