package stream

import (
	"slices"
	"strconv"
	"time"

	"godwit/protocol/jsapi"
)

// Config returns the configuration in force.
func (p *Partition) Config() (cfg jsapi.StreamConfig) {
	_ = p.do(func() { cfg = p.given }) // closed: nothing
	return cfg
}

// InfoRequest says what State adds to the numbers.
type InfoRequest struct {
	Deleted  bool   // sequences removed between the first and the last message
	Subjects string // subjects that this matches, and how many messages each has
	Offset   int    // of the subjects, sorted
}

// State describes what the partition holds. total is the number of subjects matched.
func (p *Partition) State(r InfoRequest) (cfg jsapi.StreamConfig, st jsapi.StreamState, total int, err *jsapi.Error) {
	if p.do(func() {
		cfg, st = p.given, p.state.info()
		if r.Deleted {
			p.deleted.each(p.first, p.last, func(seq uint64) bool {
				st.Deleted = append(st.Deleted, p.opts.numbers.Global(seq))
				return true
			})
		}
		if r.Subjects != "" {
			st.Subjects, total = p.subjectPage(r.Subjects, r.Offset)
		}
	}) != nil {
		err = jsapi.Err(jsapi.ErrStreamNotFound)
	}
	return cfg, st, total, err
}

// info returns the numbers of the state.
func (s *state) info() jsapi.StreamState {
	out := s.p.opts.numbers
	st := jsapi.StreamState{Msgs: s.msgs, Bytes: s.bytes, LastSeq: out.Global(s.last), LastTime: timeOf(s.lastTime),
		NumSubjects: s.subjects.len(), Consumers: s.p.members.public}
	if s.last == 0 {
		st.FirstSeq = s.cfg.FirstSeq // 1, if it is set
		return st
	}
	st.FirstSeq = out.Global(s.first)
	if s.msgs > 0 {
		if s.peek() {
			st.FirstTime = timeOf(s.front.time)
		}
		st.NumDeleted = int(s.last - s.first + 1 - s.msgs)
	}
	return st
}

// timeOf turns nanoseconds since 1970 into a time; 0 is the zero time.
func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// subjectPage returns a page of the subjects that a filter matches with their counts, and how many there are.
func (s *state) subjectPage(filter string, offset int) (page map[string]uint64, total int) {
	var names []string
	s.subjects.match(filter, func(i int) bool {
		names = append(names, string(s.subjects.name(i)))
		return true
	})
	total = len(names)
	offset = max(0, offset)
	if offset >= total {
		return nil, total
	}
	slices.Sort(names)
	page = map[string]uint64{}
	for _, n := range names[offset:min(total, offset+jsapi.SubjectsPage)] {
		page[n] = s.subjects.entries[s.subjects.find(s.subjects.hash([]byte(n)), []byte(n))].count
	}
	return page, total
}

// Purge removes messages and returns how many.
func (p *Partition) Purge(r *jsapi.PurgeRequest) (uint64, *jsapi.Error) {
	if r.Sequence > 0 && r.Keep > 0 {
		return 0, jsapi.Err(jsapi.ErrBadRequest)
	}
	return p.change(func() (*command, *jsapi.Error) {
		switch {
		case p.cfg.Sealed:
			return nil, jsapi.Err(jsapi.ErrStreamSealed)
		case p.cfg.DenyPurge:
			return nil, jsapi.Err(jsapi.ErrStreamPurgeFailed, "err", "stream purge not permitted")
		}
		return &command{op: opPurge, filter: r.Subject, seq: p.opts.numbers.From(r.Sequence), keep: r.Keep}, nil
	})
}

// Delete removes one message. Its bytes stay on disk until their segment goes.
func (p *Partition) Delete(seq uint64) *jsapi.Error { return p.removeMessage(opDelete, seq) }

// Erase removes one message and overwrites its content on disk; when it returns, that is durable.
func (p *Partition) Erase(seq uint64) *jsapi.Error { return p.removeMessage(opErase, seq) }

func (p *Partition) removeMessage(op op, seq uint64) *jsapi.Error {
	failed := func(text string) *jsapi.Error { return jsapi.Err(jsapi.ErrStreamMsgDeleteFailed, "err", text) }
	gone := jsapi.Err(jsapi.ErrSequenceNotFound, "seq", strconv.FormatUint(seq, 10))
	seq, ok := p.opts.numbers.Local(seq)
	if !ok {
		return gone
	}
	n, err := p.change(func() (*command, *jsapi.Error) {
		switch {
		case p.cfg.Sealed:
			return nil, jsapi.Err(jsapi.ErrStreamSealed)
		case p.cfg.DenyDelete:
			return nil, failed("message delete not permitted")
		case seq > p.last:
			return nil, failed("stream store EOF")
		case seq < p.first:
			return nil, failed("no message found")
		case !p.has(seq):
			return nil, gone
		}
		return &command{op: op, seq: seq}, nil
	})
	if err == nil && n == 0 {
		err = gone
	}
	return err
}

// Reconfigure changes the configuration, which was checked.
func (p *Partition) Reconfigure(text []byte) *jsapi.Error {
	_, err := p.change(func() (*command, *jsapi.Error) { return &command{op: opConfig, text: text}, nil })
	return err
}

// change appends the command that f returns, waits until it is applied and returns how many messages it removed.
func (p *Partition) change(f func() (*command, *jsapi.Error)) (uint64, *jsapi.Error) {
	type outcome struct {
		n   uint64
		err *jsapi.Error
	}
	done := make(chan outcome, 1)
	if !p.box.call(func() {
		c, err := f()
		if err == nil {
			err = p.noRoom()
		}
		if err != nil {
			done <- outcome{err: err}
			return
		}
		c.done = func() { done <- outcome{c.result, c.err} }
		p.command(c)
	}, true) {
		return 0, jsapi.Err(jsapi.ErrStreamNotFound)
	}
	o, full := await(p, done)
	if full != nil {
		return 0, full
	}
	return o.n, o.err
}
