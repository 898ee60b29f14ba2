package consumer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/stream/segment"
)

// fakeStore is a stream in memory.
type fakeStore struct {
	subjects []string // of sequence i+1
	gone     map[uint64]bool
	first    uint64
	epoch    uint64
	every    int64 // ns between messages; 0 is 1 µs
}

func newFakeStore() *fakeStore { return &fakeStore{gone: map[uint64]bool{}, first: 1} }

func (s *fakeStore) add(subj string) uint64 {
	s.subjects = append(s.subjects, subj)
	return uint64(len(s.subjects))
}

func (s *fakeStore) has(seq uint64) bool {
	return seq >= s.first && seq <= uint64(len(s.subjects)) && !s.gone[seq]
}

// remove takes a message out and says whether it was there.
func (s *fakeStore) remove(seq uint64) bool {
	if !s.has(seq) {
		return false
	}
	s.gone[seq] = true
	if seq != s.first {
		s.epoch++
	}
	for s.first <= s.High() && s.gone[s.first] {
		s.first++
	}
	return true
}

func (s *fakeStore) First() uint64 { return s.first }
func (s *fakeStore) High() uint64  { return uint64(len(s.subjects)) }
func (s *fakeStore) Epoch() uint64 { return s.epoch }

func (s *fakeStore) Count(from, to uint64) (n uint64) {
	for seq := from; seq <= to; seq++ {
		if s.has(seq) {
			n++
		}
	}
	return n
}

func (s *fakeStore) Next(seq uint64) uint64 {
	for seq = max(seq, s.first); seq <= s.High() && s.gone[seq]; {
		seq++
	}
	return seq
}

func (s *fakeStore) record(seq uint64, r *segment.Record) int64 {
	*r = segment.Record{Subject: []byte(s.subjects[seq-1]), Value: fmt.Appendf(nil, "m%d", seq)}
	if s.every > 0 {
		return int64(seq) * s.every
	}
	return int64(seq) * 1000
}

func (s *fakeStore) Read(seq uint64, r *segment.Record) (int64, error) {
	if !s.has(seq) {
		return 0, segment.ErrNotFound
	}
	return s.record(seq, r), nil
}

func (s *fakeStore) Reader(seq uint64) Reader { return &fakeReader{s, seq} }

// fakeReader returns removed messages too, as a log does.
type fakeReader struct {
	s   *fakeStore
	seq uint64
}

func (r *fakeReader) Next(high uint64, rec *segment.Record) (uint64, int64, bool) {
	if r.seq = max(1, r.seq); r.seq > min(high, r.s.High()) {
		return 0, 0, false
	}
	r.seq++
	return r.seq - 1, r.s.record(r.seq-1, rec), true
}

func (r *fakeReader) Seek(seq uint64) { r.seq = seq }
func (r *fakeReader) Release()        {}

// sent is a message that a consumer sent, taken apart.
type sent struct {
	to, subject, header, payload string
	deliveries                   int
	seq, cseq, pending           uint64
}

// fakeOutput notes what is sent.
type fakeOutput struct {
	deaf map[string]bool // subjects nobody listens on
	list []sent
}

func (o *fakeOutput) Deliver(to []byte, m *Message) int {
	if o.deaf[string(to)] {
		return 0
	}
	s := sent{to: string(to), subject: string(m.Subject), header: string(m.Header), payload: string(m.Payload)}
	if f := strings.Split(string(m.Reply), "."); len(f) == 9 {
		s.deliveries, _ = strconv.Atoi(f[4])
		s.seq, _ = strconv.ParseUint(f[5], 10, 64)
		s.cseq, _ = strconv.ParseUint(f[6], 10, 64)
		s.pending, _ = strconv.ParseUint(f[8], 10, 64)
	} else if len(m.Reply) > 0 {
		s.payload = string(m.Reply)
	}
	o.list = append(o.list, s)
	return 1
}

func (o *fakeOutput) Interest(subject []byte) bool { return !o.deaf[string(subject)] }

func (o *fakeOutput) Bound(subject []byte, _ string) bool { return o.Interest(subject) }

// take returns what was sent since the last call.
func (o *fakeOutput) take() []sent {
	l := o.list
	o.list = nil
	return l
}

// fakeEvents notes what happens to messages.
type fakeEvents struct{ list []string }

func (e *fakeEvents) Exceeded(c *Consumer, seq uint64, deliveries int) {
	e.list = append(e.list, fmt.Sprintf("exceeded %d after %d", seq, deliveries))
}

func (e *fakeEvents) Naked(c *Consumer, seq, cseq uint64, deliveries int) {
	e.list = append(e.list, fmt.Sprintf("naked %d", seq))
}

func (e *fakeEvents) Terminated(c *Consumer, seq, cseq uint64, deliveries int, reason string) {
	e.list = append(e.list, fmt.Sprintf("terminated %d: %s", seq, reason))
}

func (e *fakeEvents) Sampled(c *Consumer, seq, cseq uint64, deliveries int, took time.Duration) {
	e.list = append(e.list, fmt.Sprintf("sampled %d delivered %d times after %v", seq, deliveries, took))
}

func (e *fakeEvents) Pinned(c *Consumer, group, id string) {
	e.list = append(e.list, "pinned in "+group)
}

func (e *fakeEvents) Unpinned(c *Consumer, group, reason string) {
	e.list = append(e.list, "unpinned in "+group+": "+reason)
}

func (e *fakeEvents) Paused(c *Consumer, until time.Time, paused bool) {
	e.list = append(e.list, fmt.Sprintf("paused %v", paused))
}

// rig is a consumer with its surroundings, which do for it what a partition does.
type rig struct {
	store  *fakeStore
	out    *fakeOutput
	events *fakeEvents
	c      *Consumer
	now    int64
}

func newRig(cfg jsapi.ConsumerConfig) *rig {
	r := &rig{store: newFakeStore(), out: &fakeOutput{deaf: map[string]bool{}}, events: &fakeEvents{}, now: 1}
	stream := jsapi.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: 1}
	if cfg.Name == "" {
		cfg.Name, cfg.Durable = "C", "C"
	}
	if err := Check(&cfg, &stream, Limits{}, false); err != nil {
		panic(err)
	}
	FillNew(&cfg)
	r.c = r.make(&cfg)
	return r
}

func (r *rig) make(cfg *jsapi.ConsumerConfig) *Consumer {
	return New(Options{ID: 7, Stream: "S", Name: cfg.Name, Created: time.Unix(0, 1), Config: cfg, Store: r.store, Out: r.out, Events: r.events})
}

// start puts the consumer at its place.
func (r *rig) start() {
	next := r.store.first
	var lasts []uint64
	switch r.c.cfg.DeliverPolicy {
	case jsapi.DeliverNew:
		next = r.store.High() + 1
	case jsapi.DeliverByStartSequence:
		next = max(next, r.c.cfg.OptStartSeq)
	case jsapi.DeliverLastPerSubject:
		lasts, next = r.lasts(1, r.store.High()), r.store.High()+1
	}
	r.c.Start(next, lasts)
	r.c.Activate(r.now, lasts)
	r.recount()
}

// lasts are the last messages of the subjects wanted in [from, to].
func (r *rig) lasts(from, to uint64) (seqs []uint64) {
	last := map[string]uint64{}
	for seq := uint64(1); seq <= r.store.High(); seq++ {
		if r.store.has(seq) && r.wanted(seq) {
			last[r.store.subjects[seq-1]] = seq
		}
	}
	for _, seq := range last {
		if seq >= from && seq <= to {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}

func (r *rig) wanted(seq uint64) bool {
	f := r.c.cfg.Filters()
	return len(f) == 0 || slices.ContainsFunc(f, func(p string) bool { return subject.Match(p, r.store.subjects[seq-1]) })
}

// ahead counts what the consumer has not come to, from scratch.
func (r *rig) ahead() (n uint64) {
	from := r.c.Next()
	if seqs, resume, ok := r.c.Lasts(); ok && len(seqs) > 0 {
		for _, s := range seqs {
			if r.store.has(s) {
				n++
			}
		}
		from = resume + 1
	}
	for seq := from; seq <= r.store.High(); seq++ {
		if r.store.has(seq) && r.wanted(seq) {
			n++
		}
	}
	return n
}

func (r *rig) recount() {
	if r.c.Counted() {
		r.c.SetBacklog(r.ahead())
	}
}

func (r *rig) publish(subjects ...string) {
	for _, s := range subjects {
		seq := r.store.add(s)
		if r.c.Counted() && r.wanted(seq) {
			r.c.Stored(seq)
		}
	}
}

func (r *rig) remove(seq uint64) {
	if !r.store.has(seq) {
		return
	}
	if r.c.Counted() && r.wanted(seq) {
		r.c.Uncount(seq)
	}
	inside := seq != r.store.first
	r.store.remove(seq)
	if inside {
		r.c.Forget(seq, "removed")
	}
}

// pull makes a request and returns what is sent.
func (r *rig) pull(body string) []sent {
	var b PullBatch
	b.Add([]byte("inbox"), []byte(body), false)
	r.c.ApplyPulls(&b, r.now)
	for r.c.Deliver(r.now) {
	}
	return r.out.take()
}

// answer acknowledges a delivery.
func (r *rig) answer(m sent, payload, reply string) {
	var b AckBatch
	b.Add(fmt.Appendf(nil, "%d.%d.%d.1.0", m.deliveries, m.seq, m.cseq), []byte(reply), []byte(payload))
	r.c.ApplyAcks(&b, r.now)
}

// pass lets time go by and returns what is sent.
func (r *rig) pass(d time.Duration) []sent {
	r.now += int64(d)
	r.c.Tick(r.now)
	for r.c.Deliver(r.now) {
	}
	return r.out.take()
}

// restart replaces the consumer by one that knows only its records.
func (r *rig) restart(records [][]byte) {
	lasts := r.c.lasts
	c := r.make(r.c.cfg)
	if lasts.on {
		c.lasts = lastList{on: true, resume: lasts.resume}
	}
	for _, rec := range records {
		if err := c.ApplyProgress(rec); err != nil {
			panic(err)
		}
	}
	r.c = c
	for seq := range r.store.gone { // removals are in the log too
		c.Forget(seq, "")
	}
	var seqs []uint64
	if _, resume, ok := c.Lasts(); ok {
		seqs = r.lasts(c.Next(), resume)
	}
	c.Activate(r.now, seqs)
	r.recount()
}
