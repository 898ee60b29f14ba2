package stream

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"godwit/stream/segment"
)

var errBadTTL = errors.New("malformed times to live")

// ttlNever is the time to live of a message that stays whatever its age.
const ttlNever = -1

// parseTTL reads the value of Nats-TTL: "never", whole seconds above 0, or a duration of at least one second, cut to
// whole ones. The result is ttlNever, seconds, or 0 for what is none of these.
func parseTTL(s string) int64 {
	if strings.EqualFold(s, "never") {
		return ttlNever
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && s[0] != '+' {
		return max(n, 0)
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second {
		return 0
	}
	return int64(d / time.Second)
}

// expiryTime is when a message of the given time ends, in ns; never if that lies beyond what the clock can count.
func expiryTime(t, seconds int64) int64 {
	if seconds > (math.MaxInt64-max(t, 0))/int64(time.Second) {
		return never
	}
	return t + seconds*int64(time.Second)
}

// expiry is when one message ends.
type expiry struct {
	at  int64
	seq uint64
}

// deadlines are messages by time, the earliest first: a heap.
type deadlines []expiry

// expiries are the messages with a time to live of their own. An entry may be of a message that is gone meanwhile.
type expiries struct {
	heap  deadlines
	taken []expiry // due, and about to be removed by what is in flight
	// pinned are messages that no age removes. All stored messages below floor are pinned; it is only a shortcut.
	pinned seqSet
	floor  uint64
}

func (d *deadlines) add(e expiry) {
	h := append(*d, e)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].at <= h[i].at {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*d = h
}

// pop takes out the earliest.
func (d *deadlines) pop() expiry {
	h := *d
	top, n := h[0], len(h)-1
	h[0] = h[n]
	*d = h[:n]
	d.sift(0)
	return top
}

// sift moves entry i down to its place.
func (d *deadlines) sift(i int) {
	for h := *d; ; {
		down := 2*i + 1
		if down >= len(h) {
			return
		}
		if down+1 < len(h) && h[down+1].at < h[down].at {
			down++
		}
		if h[i].at <= h[down].at {
			return
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}

// noteTTL takes in the time to live of a message that was stored.
func (s *state) noteTTL(r *segment.Record, seq uint64, t int64) {
	switch ttl := parseTTL(string(headerValue(r.Header, hdrTTL))); {
	case ttl == ttlNever:
		s.ttl.pinned.add(seq)
	case ttl > 0:
		if at := expiryTime(t, ttl); at < never {
			s.ttl.heap.add(expiry{at, seq})
		}
	}
	if len(s.ttl.heap) > 4096 && uint64(len(s.ttl.heap)) > 2*s.msgs {
		s.sweepTTL()
	}
}

// sweepTTL forgets messages that are gone.
func (s *state) sweepTTL() {
	x := &s.ttl
	kept := x.heap[:0]
	for _, e := range x.heap {
		if s.has(e.seq) {
			kept = append(kept, e)
		}
	}
	x.heap = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		x.heap.sift(i)
	}
}

// nextTTL is when the next message ends by its time to live, never if none does.
func (s *state) nextTTL() int64 {
	x := &s.ttl
	for len(x.heap) > 0 && !s.has(x.heap[0].seq) {
		x.heap.pop()
	}
	if len(x.heap) == 0 {
		return never
	}
	return x.heap[0].at
}

// takeTTL moves up to limit messages that have ended at now to taken.
func (s *state) takeTTL(now int64, limit int) {
	x := &s.ttl
	for len(x.taken) < limit && s.nextTTL() <= now {
		x.taken = append(x.taken, x.heap.pop())
	}
}

// oldest returns the first message that age can remove; seq is 0 if there is none.
func (s *state) oldest() (seq uint64, t int64) {
	if s.ttl.pinned.n == 0 {
		if s.peek() {
			return s.first, s.front.time
		}
		return 0, 0
	}
	s.scan(max(s.first, s.ttl.floor), s.last, func(at uint64, when int64, _ *segment.Record) bool {
		if s.ttl.pinned.has(at) {
			return true
		}
		seq, t = at, when
		return false
	})
	if s.ttl.floor = seq; seq == 0 {
		s.ttl.floor = s.last + 1
	}
	return seq, t
}

// expireBelow removes everything below seq but what is pinned.
func (s *state) expireBelow(seq uint64) {
	if s.ttl.pinned.n == 0 {
		s.removeBelow(seq)
		return
	}
	for {
		var list []doomed
		s.scan(max(s.first, s.ttl.floor), seq-1, func(at uint64, _ int64, r *segment.Record) bool {
			if !s.ttl.pinned.has(at) {
				list = append(list, doomed{at, s.size(r), string(r.Subject)})
			}
			return len(list) < expireMax
		})
		s.removeAll(list, "")
		if len(list) < expireMax {
			s.ttl.floor = max(s.ttl.floor, min(seq, s.last+1))
			return
		}
	}
}

// removeAll removes messages.
func (s *state) removeAll(list []doomed, reason string) {
	for _, d := range list {
		s.remove(s.subjects.find(s.subjects.hash([]byte(d.subject)), []byte(d.subject)), d.seq, d.bytes, reason)
	}
}

// removeSeqs removes messages, ascending, as far as they are still there, and returns how many.
func (s *state) removeSeqs(seqs []uint64) uint64 {
	var list []doomed
	s.visit(seqs, func(seq uint64, _ int64, r *segment.Record) {
		list = append(list, doomed{seq, s.size(r), string(r.Subject)})
	})
	s.removeAll(list, "")
	return uint64(len(list))
}

// visit calls f for those of the messages, ascending, that are stored. The record is lent.
func (s *state) visit(seqs []uint64, f func(seq uint64, t int64, r *segment.Record)) {
	var rd *reader
	var r segment.Record
	at := uint64(0) // of the reader
	for _, seq := range seqs {
		if !s.has(seq) {
			continue
		}
		if rd == nil {
			rd = s.reader(seq)
			defer rd.Release()
		} else if seq > at+16 {
			rd.Seek(seq)
		}
		for {
			got, t, ok := rd.Next(seq, &r)
			if !ok {
				break
			}
			if at = got + 1; got == seq {
				f(seq, t, &r)
				break
			}
		}
	}
}

// appendTo encodes what is live for a checkpoint.
func (x *expiries) appendTo(dst []byte, s *state) []byte {
	at, n := len(dst), uint64(0)
	dst = binary.LittleEndian.AppendUint64(dst, 0)
	for _, list := range [...][]expiry{x.heap, x.taken} {
		for _, e := range list {
			if s.has(e.seq) {
				dst = binary.LittleEndian.AppendUint64(dst, uint64(e.at))
				dst = binary.LittleEndian.AppendUint64(dst, e.seq)
				n++
			}
		}
	}
	binary.LittleEndian.PutUint64(dst[at:], n)
	return x.pinned.appendTo(dst)
}

func (x *expiries) decode(d *decoder) error {
	*x = expiries{}
	head := d.bytes(8)
	if d.bad {
		return errBadTTL
	}
	n := binary.LittleEndian.Uint64(head)
	if n > uint64(len(d.b))/16 {
		d.fail()
		return errBadTTL
	}
	for range n {
		b := d.bytes(16)
		x.heap.add(expiry{int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])})
	}
	return x.pinned.decode(d)
}
