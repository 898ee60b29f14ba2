package stream

import (
	"time"

	"godwit/protocol/jsapi"
	"godwit/stream/segment"
)

// state is what the applied part of the log amounts to. It changes in apply and replay only, and depends on nothing
// but the batches, so that all replicas come to the same.
type state struct {
	p       *Partition
	cfg     jsapi.StreamConfig // with the partition's share of limits
	given   jsapi.StreamConfig // as it is in the log
	key     key
	created time.Time

	first, last uint64 // first is last+1 if there is no message
	msgs, bytes uint64
	lastTime    int64 // of the last message, ns since 1970; 0 if there never was one
	deleted     seqSet
	epoch       uint64 // grows when a message other than the first is removed
	subjects    subjectTable
	ttl         expiries
	timers      timers
	dedup       dedup
	origins     origins
	applied     uint64 // index of the last batch applied
	grown       int64  // bytes stored that the quota was not told of

	front frontReader
	watch watchers
}

// frontReader looks at the first message.
type frontReader struct {
	reader *reader
	seq    uint64 // of rec; 0 if nothing was read
	time   int64
	rec    segment.Record
}

func (s *state) init(p *Partition, o Options) {
	s.p, s.cfg, s.created = p, o.Config, o.Created
	s.first = max(1, o.Config.FirstSeq)
	s.last = s.first - 1
	p.next = s.first
	s.dedup.key = o.Key
	s.watch.init()
	s.configure(o.Config)
}

// configure takes over a configuration; limits take effect with enforce.
func (s *state) configure(cfg jsapi.StreamConfig) {
	s.given, s.cfg = cfg, shareOf(cfg, s.p.opts.numbers)
	s.key, _ = parseKey(cfg.PartitionKey) // CheckConfig refuses what is invalid
	s.p.setSubjects(&cfg)
	s.dedup.resize(int64(cfg.Duplicates))
	if cfg.MaxMsgsPerSubject > 1 && s.subjects.lists == nil {
		s.subjects.lists = make([][]seqBytes, len(s.subjects.entries))
		if s.p.log != nil { // else Open does it
			s.fillLists()
		}
	} else if cfg.MaxMsgsPerSubject <= 1 {
		s.subjects.lists = nil
	}
}

// stored is the size that a message counts with, in bytes, as the protocol has it.
func (s *state) stored(subject, header, value int) uint64 {
	return storedSize(s.cfg.Storage, subject, header, value)
}

func storedSize(storage jsapi.Storage, subject, header, value int) uint64 {
	if storage == jsapi.MemoryStorage {
		return uint64(16 + subject + header + value)
	}
	n := uint64(22 + subject + value + 8)
	if header > 0 {
		n += 4 + uint64(header)
	}
	return n
}

func (s *state) size(r *segment.Record) uint64 {
	return s.stored(len(r.Subject), len(r.Header), len(r.Value))
}

// has says whether a message is stored.
func (s *state) has(seq uint64) bool {
	return seq >= s.first && seq <= s.last && !s.deleted.has(seq)
}

// read returns a stored message, segment.ErrNotFound if there is none.
func (s *state) read(seq uint64, r *segment.Record) (time int64, err error) {
	if !s.has(seq) {
		return 0, segment.ErrNotFound
	}
	time, err = s.p.log.Read(seq, r)
	if err != nil && err != segment.ErrNotFound {
		s.p.damaged(err)
		err = segment.ErrNotFound
	}
	return time, err
}

// peek returns the time of the first message and makes front.rec it; ok is false if there is none, or it is damaged.
func (s *state) peek() (ok bool) {
	f := &s.front
	if s.msgs == 0 {
		return false
	}
	if f.seq == s.first {
		return true
	}
	if f.reader == nil {
		f.reader = s.reader(s.first)
	}
	for {
		seq, t, ok := f.reader.Next(s.last, &f.rec)
		if !ok {
			f.seq = 0
			return false
		}
		if seq < s.first {
			if s.first-seq > 16 {
				f.reader.Seek(s.first)
			}
			continue
		}
		f.seq, f.time = seq, t
		return seq == s.first
	}
}

// scan calls f for every stored message in [from, to], ascending, until it returns false. The record is lent.
func (s *state) scan(from, to uint64, f func(seq uint64, time int64, r *segment.Record) bool) {
	from, to = max(from, s.first), min(to, s.last)
	if from > to {
		return
	}
	rd := s.reader(from)
	defer rd.Release()
	var r segment.Record
	for {
		seq, t, ok := rd.Next(to, &r)
		if !ok {
			return
		}
		if live := s.deleted.next(seq); live != seq {
			if live > to {
				return
			}
			if live > seq+16 {
				rd.Seek(live)
			}
			continue
		}
		if seq >= from && !f(seq, t, &r) {
			return
		}
	}
}

// lastOf returns the last message of a subject's entry.
func (s *state) lastOf(i int) uint64 {
	e := &s.subjects.entries[i]
	if e.lastStale {
		name := append([]byte{}, s.subjects.name(i)...)
		last, size := uint64(0), uint64(0)
		s.scan(e.first, e.last-1, func(seq uint64, _ int64, r *segment.Record) bool {
			if string(r.Subject) == string(name) {
				last, size = seq, s.size(r)
			}
			return true
		})
		e.last, e.bytes, e.lastStale = last, uint32(size), false
	}
	return e.last
}

// fillLists makes the sequence lists of all subjects from the log. What was uncertain about first and last messages is certain
// then.
func (s *state) fillLists() {
	defer s.subjects.settleEnds()
	s.scan(s.first, s.last, func(seq uint64, _ int64, r *segment.Record) bool {
		if i := s.subjects.find(s.subjects.hash(r.Subject), r.Subject); i >= 0 {
			s.subjects.lists[i] = append(s.subjects.lists[i], seqBytes{seq, uint32(s.size(r))})
		}
		return true
	})
}
