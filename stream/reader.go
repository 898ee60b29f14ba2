package stream

import (
	"godwit/stream/consumer"
	"godwit/stream/segment"
)

// reader reads the log in order, passing over what is damaged. It implements consumer.Reader.
type reader struct {
	s   *state
	cur *segment.Cursor
}

func (s *state) reader(seq uint64) *reader {
	return &reader{s, s.p.log.NewCursor(seq)}
}

func (r *reader) Next(high uint64, rec *segment.Record) (seq uint64, time int64, ok bool) {
	for {
		seq, time, ok, err := r.cur.Next(high, rec)
		if err == nil {
			return seq, time, ok
		}
		r.s.p.damaged(err)
		if _, damaged := err.(*segment.CorruptError); !damaged {
			return 0, 0, false
		}
		r.cur.Skip()
	}
}

func (r *reader) Seek(seq uint64) { r.cur.Seek(seq) }

func (r *reader) Release() { r.cur.Release() }

// view is what consumers see of the state. It implements consumer.Store.
type view struct{ s *state }

func (v view) First() uint64 { return v.s.first }
func (v view) High() uint64  { return v.s.last }
func (v view) Epoch() uint64 { return v.s.epoch }

func (v view) Count(from, to uint64) uint64 { return v.s.count(from, to) }

func (v view) Next(seq uint64) uint64 { return v.s.deleted.next(max(seq, v.s.first)) }

func (v view) Reader(seq uint64) consumer.Reader { return v.s.reader(seq) }

func (v view) Read(seq uint64, r *segment.Record) (time int64, err error) { return v.s.read(seq, r) }

// count returns how many messages are stored in [from, to].
func (s *state) count(from, to uint64) uint64 {
	from, to = max(from, s.first), min(to, s.last)
	if from > to {
		return 0
	}
	return to - from + 1 - s.deleted.count(from, to)
}
