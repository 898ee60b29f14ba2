package router

import "godwit/protocol"

// lane is what one sender has gathered for one destination since it last handed over. The sender owns it; no lock is
// needed until then.
type lane struct {
	dst    *Dest
	batch  Batch  // of a receiver
	chunk  *Block // of a connection; nil while clean
	n      int    // bytes used in chunk
	last   int    // bytes used before the last flush: what to start with next time
	counts Counts
	dirty  bool
}

func (s *Sender) laneTo(d *Dest) *lane {
	if d == s.self && d != nil {
		return &s.own
	}
	l := s.lanes[d]
	if l == nil {
		if s.lanes == nil {
			s.lanes = make(map[*Dest]*lane)
		}
		s.crowded = s.crowded || s.strangerMax > 0 && len(s.lanes) >= s.strangerMax
		l = &lane{dst: d}
		s.lanes[d] = l
	}
	return l
}

// thin lets go of destinations of other accounts that have closed: nobody tells the sender when they do. Called with
// nothing gathered.
func (s *Sender) thin() {
	live := 0
	for d := range s.lanes {
		if !d.Gone.Load() {
			live++
		}
	}
	s.Forget()
	s.crowded, s.strangerMax = false, max(minStrangers, 2*live)
}

// minStrangers is a number of destinations that is not worth a look.
const minStrangers = 1024

// put appends one frame to the lane of t.
func (s *Sender) put(t *target, p *protocol.Pub) {
	l, prefix := t.lane, t.prefix
	if !p.HPUB {
		prefix = prefix[1:]
	} else if p.HeaderLen == 0 || !l.dst.Headers.Load() {
		s.putPlain(l, prefix[1:], p)
		return
	}
	need := len(prefix) + len(p.Tail)
	if l.chunk == nil || l.n+need > len(l.chunk.B) {
		s.provide(l, need)
	}
	b := l.chunk.B
	n := l.n + copy(b[l.n:], prefix)
	l.n = n + copy(b[n:], p.Tail)
	l.counts.Msgs++
	l.counts.Bytes += uint64(len(p.Body))
}

// putPlain appends an HPUB as a MSG without the header block: for clients that take no headers, and for an empty one.
func (s *Sender) putPlain(l *lane, prefix []byte, p *protocol.Pub) {
	payload := p.Payload()
	need := len(prefix) + len(p.Reply) + len(payload) + 16
	if l.chunk == nil || l.n+need > len(l.chunk.B) {
		s.provide(l, need)
	}
	b := append(l.chunk.B[:l.n], prefix...)
	b = protocol.AppendTail(b, p.Reply, payload)
	l.n = len(b)
	l.counts.Msgs++
	l.counts.Bytes += uint64(len(payload))
}

// Write appends protocol text for the connection itself, after all that was gathered for it. text is lent.
func (s *Sender) Write(text []byte) {
	l := &s.own
	if l.chunk == nil || l.n+len(text) > len(l.chunk.B) {
		s.provide(l, len(text))
	}
	l.n += copy(l.chunk.B[l.n:], text)
}

// provide gets room for n more bytes. A lane starts with a chunk as large as it needed last time and grows: with
// thousands of destinations most lanes take a few frames per read.
func (s *Sender) provide(l *lane, n int) {
	if l.chunk == nil {
		if !l.dirty {
			l.dirty = true
			s.dirty = append(s.dirty, l)
		}
	} else if size := len(l.chunk.B); size < s.chunkBytes {
		bigger := NewBlock(max(l.n+n, min(4*size, s.chunkBytes)))
		copy(bigger.B, l.chunk.B[:l.n])
		l.chunk.Release()
		l.chunk = bigger
		return
	} else {
		s.hand(l, len(s.dirty) == 1)
		if l.chunk != nil && len(l.chunk.B) >= n {
			return
		}
		if l.chunk != nil {
			l.chunk.Release()
		}
	}
	n = max(n, l.last, minChunk)
	if l.chunk = s.spare; l.chunk != nil && len(l.chunk.B) >= n {
		s.spare = nil
		return
	}
	l.chunk = NewBlock(n)
}

// Flush hands over all that was gathered. It returns the sink of a destination that has more queued than it should,
// for the caller to wait for; nil if there is none. Receivers may publish in turn, with senders of their own.
func (s *Sender) Flush() Sink {
	s.settle()
	var full Sink
	alone := len(s.dirty) == 1
	s.waited = s.self == nil // parts of the server never wait for a connection
	for _, l := range s.dirty {
		l.dirty = false
		if l.batch != nil {
			l.batch.Flush()
			continue
		}
		if s.hand(l, alone) && l.dst != s.self {
			full = l.dst.sink
		}
		if s.spare == nil {
			s.spare = l.chunk // still warm for the next lane
		} else if l.chunk != nil {
			l.chunk.Release()
		}
		l.chunk = nil
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	if s.lookups > 0 {
		s.index.lookups.Add(s.lookups)
		s.index.cacheHit.Add(s.hits)
		s.lookups, s.hits = 0, 0
	}
	return full
}

// hand gives the lane's chunk to its sink. The lane is empty afterwards and has no chunk if the sink kept it.
func (s *Sender) hand(l *lane, alone bool) (full bool) {
	if l.n > 0 {
		h := Handover{Block: l.chunk, N: l.n, Counts: l.counts, Alone: alone, MayWait: !s.waited && l.dst != s.self}
		done := l.dst.sink.Take(h)
		if done.Kept {
			l.chunk = nil
		}
		full, s.waited = done.Full, s.waited || done.Waited
	}
	l.last = max(l.n, l.last/2)
	l.n, l.counts = 0, Counts{}
	return full
}

// Close gives back all memory that can be used again. The sender must not be used afterwards.
func (s *Sender) Close() {
	s.Rest()
	if s.routes != nil {
		s.settle()
		*s.routes = routeCache{}
		cachePool.Put(s.routes)
		s.routes, s.last = nil, nil
	}
	s.lanes, s.ways, s.strangers = nil, nil, nil
}

// Sleep gives back the memory of a sender that has not been used for long, what it has cached too. It can still be used.
func (s *Sender) Sleep() {
	s.Rest()
	s.Forget()
	if s.routes != nil {
		cachePool.Put(s.routes)
		s.routes = nil
	}
}

// Rest gives back the memory that an idle sender does not need.
func (s *Sender) Rest() {
	if s.spare != nil {
		s.spare.Release()
		s.spare = nil
	}
}
