package stream

import (
	"bytes"
	"math/big"
	"strconv"
)

// Headers that the publish path looks for. Names are case-sensitive.
const (
	hdrMsgID           = "Nats-Msg-Id"
	hdrExpectStream    = "Nats-Expected-Stream"
	hdrExpectSeq       = "Nats-Expected-Last-Sequence"
	hdrExpectSubjSeq   = "Nats-Expected-Last-Subject-Sequence"
	hdrExpectSubj      = "Nats-Expected-Last-Subject-Sequence-Subject"
	hdrExpectMsgID     = "Nats-Expected-Last-Msg-Id"
	hdrRollup          = "Nats-Rollup"
	hdrTTL             = "Nats-TTL"
	hdrIncr            = "Nats-Incr"
	hdrSchedule        = "Nats-Schedule"
	hdrScheduleNext    = "Nats-Schedule-Next"
	hdrScheduler       = "Nats-Scheduler"
	hdrScheduleZone    = "Nats-Schedule-Time-Zone"
	hdrScheduleTTL     = "Nats-Schedule-TTL"
	hdrScheduleRollup  = "Nats-Schedule-Rollup"
	hdrScheduleTarget  = "Nats-Schedule-Target"
	hdrScheduleSource  = "Nats-Schedule-Source"
	hdrStreamSource    = "Nats-Stream-Source"
	hdrBatchID         = "Nats-Batch-Id"
	hdrBatchSeq        = "Nats-Batch-Sequence"
	hdrBatchCommit     = "Nats-Batch-Commit"
	commitThis         = "1"   // this message is the last of the batch
	commitBefore       = "eob" // the one before was
	hdrRequestInfo     = "Nats-Request-Info"
	hdrMarkerReason    = "Nats-Marker-Reason"
	headerPrefix       = "Nats-"
	headerVersion      = "NATS/1.0"
	headerBlockMax     = 65535
	rollupSubject      = "sub"
	rollupAll          = "all"
	neverMatchSequence = ^uint64(0)
)

// span is a part of a buffer.
type span struct{ from, to uint32 }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

func (s span) empty() bool { return s.from == s.to }

// seen says which of the headers that need a check a message has.
type seen uint16

const (
	seenMsgID seen = 1 << iota
	seenExpectStream
	seenExpectSeq
	seenExpectSubjSeq
	seenExpectSubj
	seenExpectMsgID
	seenRollup
	seenTTL
	seenIncr
	seenSchedule
	seenScheduler // Nats-Schedule-Next or Nats-Scheduler
	seenSource
	seenBatch
	seenLarge // the block is larger than allowed
	seenFast  // the reply subject is that of a fast batch
)

// check is what a message with such headers wants; texts are spans of the batch's records.
type check struct {
	message                        int // number in the batch
	seen                           seen
	seq                            uint64 // expected last sequence; neverMatchSequence if it is no number
	subjSeq                        uint64 // expected last sequence of the subject, likewise
	msgID                          span
	stream                         span
	subj                           span
	lastID                         span
	rollup                         span
	batchID, batchSeq, batchCommit span
	ttl                            int64    // parseTTL
	incr                           *big.Int // nil if it is no number
	changed                        bool     // the record that judge looks at is to be stored instead of what was sent
}

// storeHeader appends the block as it is to be stored: what follows the version on the first line is cut, and so is
// Nats-Request-Info.
func storeHeader(dst, block []byte) []byte {
	line, rest, _ := bytes.Cut(block, []byte("\r\n"))
	if len(line) == len(headerVersion) && !bytes.Contains(rest, []byte(hdrRequestInfo)) {
		return append(dst, block...)
	}
	dst = append(append(dst, headerVersion...), "\r\n"...)
	for len(rest) > 0 {
		n := bytes.Index(rest, []byte("\r\n"))
		if n < 0 {
			n = len(rest)
		} else {
			n += 2
		}
		line := rest[:n]
		rest = rest[n:]
		if !bytes.HasPrefix(line, []byte(hdrRequestInfo+":")) {
			dst = append(dst, line...)
		}
	}
	return dst
}

// scanHeader notes in c what the block at b[from:to] wants. It reports whether there is anything.
func scanHeader(b []byte, from, to uint32, c *check) bool {
	block := b[from:to]
	if !bytes.Contains(block, []byte(headerPrefix)) {
		return false
	}
	at := from + uint32(len(headerVersion)) + 2
	for at < to {
		end := at
		if n := bytes.IndexByte(b[at:to], '\n'); n >= 0 {
			end = at + uint32(n)
		} else {
			end = to
		}
		if line := b[at:end]; bytes.HasPrefix(line, []byte(headerPrefix)) {
			if colon := bytes.IndexByte(line, ':'); colon > 0 {
				c.note(b, string(line[:colon]), trim(b, span{at + uint32(colon) + 1, end}))
			}
		}
		at = end + 1
	}
	return c.seen != 0
}

// trim narrows a span by blanks and line ends at both sides.
func trim(b []byte, s span) span {
	for s.from < s.to && (b[s.from] == ' ' || b[s.from] == '\t') {
		s.from++
	}
	for s.from < s.to && (b[s.to-1] == ' ' || b[s.to-1] == '\t' || b[s.to-1] == '\r') {
		s.to--
	}
	return s
}

// note takes one header; the first of a name counts.
func (c *check) note(b []byte, name string, value span) {
	first := func(bit seen) bool {
		if c.seen&bit != 0 || value.empty() {
			return false
		}
		c.seen |= bit
		return true
	}
	switch name {
	case hdrMsgID:
		if first(seenMsgID) {
			c.msgID = value
		}
	case hdrExpectStream:
		if first(seenExpectStream) {
			c.stream = value
		}
	case hdrExpectSeq:
		if first(seenExpectSeq) {
			c.seq = number(value.of(b))
		}
	case hdrExpectSubjSeq:
		if first(seenExpectSubjSeq) {
			c.subjSeq = number(value.of(b))
		}
	case hdrExpectSubj:
		if first(seenExpectSubj) {
			c.subj = value
		}
	case hdrExpectMsgID:
		if first(seenExpectMsgID) {
			c.lastID = value
		}
	case hdrRollup:
		if first(seenRollup) {
			c.rollup = value
		}
	case hdrTTL:
		if first(seenTTL) {
			c.ttl = parseTTL(string(value.of(b)))
		}
	case hdrIncr:
		if first(seenIncr) {
			c.incr = parseIncrement(value.of(b))
		}
	case hdrSchedule:
		first(seenSchedule)
	case hdrScheduleNext, hdrScheduler:
		first(seenScheduler)
	case hdrStreamSource:
		first(seenSource)
	case hdrBatchID:
		if first(seenBatch) {
			c.batchID = value
		}
	case hdrBatchSeq:
		if c.batchSeq.empty() {
			c.batchSeq = value
		}
	case hdrBatchCommit:
		if c.batchCommit.empty() {
			c.batchCommit = value
		}
	}
}

// number reads a sequence; what is none never matches one.
func number(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return neverMatchSequence
	}
	return n
}

// messageID returns the id in a stored header block, nil if there is none.
func messageID(block []byte) []byte {
	var c check
	if len(block) == 0 || !scanHeader(block, 0, uint32(len(block)), &c) || c.seen&seenMsgID == 0 {
		return nil
	}
	return c.msgID.of(block)
}
