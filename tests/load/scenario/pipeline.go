package scenario

import (
	"fmt"
	"sync/atomic"
	"time"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// Pipeline sends numbered requests over one connection with a bounded number
// of them unanswered, and matches the answers. It is the engine behind
// JetStream publishing, request/reply and key-value access.
//
// The reply subject of the requests must end in the request's number, as
// client libraries do it (a subject of its own for every answer).
type Pipeline struct {
	Conn   *wire.Conn
	Frames *wire.Frames
	Total  uint64
	Window int

	// Fill prepares frame slot for request n, beyond stamp and reply.
	Fill func(slot int, n uint64)
	// Answer checks the answer to request n.
	Answer func(n uint64, m *wire.Msg) error
	// Lat, if set, records the time from each write to its answer.
	Lat *stats.Hist
	// Stop, if set, ends the sending early once it returns true.
	Stop func() bool

	inboxLen int           // subject bytes before the number
	low      atomic.Uint64 // all requests below are answered
	sent     atomic.Uint64
	ring     []slotState
	wake     chan struct{}
	failed   chan struct{}
}

type slotState struct {
	at       time.Duration // since the pipeline's start
	answered bool
}

// numberDigits is the width of the number in reply subjects.
const numberDigits = 9

// NewPipeline subscribes the connection to its inbox. subject may contain a
// run of '#' for a number that Fill writes.
func NewPipeline(c *wire.Conn, id int, subject string, size int, total uint64, window int) (*Pipeline, error) {
	inbox := fmt.Sprintf("_INBOX.p%04d.", id)
	if err := c.Sub(inbox+"*", "", 1); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	digits := "#########"[:numberDigits]
	ring := 1
	for ring < window {
		ring *= 2
	}
	return &Pipeline{
		Conn: c, Frames: wire.NewFrames(subject, inbox+digits, size, uint32(id)),
		Total: total, Window: window, inboxLen: len(inbox),
		ring: make([]slotState, ring),
		wake: make(chan struct{}, 1), failed: make(chan struct{}),
	}, nil
}

// Run returns once every request is answered.
func (p *Pipeline) Run(e *Env) error {
	if p.Window == 1 {
		return p.runSync()
	}
	start := time.Now()
	return e.Parallel(
		func() error { return p.write(start) },
		func() error { return p.read(start) },
	)
}

// runSync has one request in flight and measures the round trip alone.
func (p *Pipeline) runSync() error {
	for n := uint64(0); n < p.Total && (p.Stop == nil || !p.Stop()); n++ {
		p.prepare(0, n)
		p.sent.Store(n + 1)
		at := time.Now()
		if err := p.Conn.Write(p.Frames.Bytes(1)); err != nil {
			return err
		}
		m, err := p.Conn.Next()
		if err != nil {
			return err
		}
		if p.Lat != nil {
			p.Lat.Add(time.Since(at))
		}
		if got := p.number(m); got != n {
			return fmt.Errorf("answer to request %d instead of %d", got, n)
		}
		if err := p.Answer(n, m); err != nil {
			return err
		}
		p.low.Store(n + 1)
	}
	return nil
}

func (p *Pipeline) prepare(slot int, n uint64) {
	p.Frames.Stamp(slot, n)
	p.Frames.Reply(slot, n)
	if p.Fill != nil {
		p.Fill(slot, n)
	}
}

func (p *Pipeline) number(m *wire.Msg) uint64 {
	return wire.LeadingNumber(m.Subject()[p.inboxLen:])
}

func (p *Pipeline) write(start time.Time) error {
	mask := uint64(len(p.ring) - 1)
	var sent uint64
	for sent < p.Total {
		if p.Stop != nil && p.Stop() {
			return nil
		}
		room := p.low.Load() + uint64(p.Window) - sent
		if room == 0 {
			select {
			case <-p.wake:
			case <-p.failed:
				return nil // the reader reports why
			}
			continue
		}
		n := min(room, uint64(p.Frames.Max), p.Total-sent)
		at := time.Since(start)
		for i := uint64(0); i < n; i++ {
			p.prepare(int(i), sent+i)
			p.ring[(sent+i)&mask] = slotState{at: at}
		}
		sent += n
		p.sent.Store(sent)
		if err := p.Conn.Write(p.Frames.Bytes(int(n))); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pipeline) read(start time.Time) error {
	defer close(p.failed) // harmless once the writer has ended
	mask := uint64(len(p.ring) - 1)
	var low uint64
	p.Conn.OnDrain = func() error {
		if low != p.low.Load() {
			p.low.Store(low)
			select {
			case p.wake <- struct{}{}:
			default:
			}
		}
		return nil
	}
	defer func() { p.Conn.OnDrain = nil }()
	for low < p.Total {
		m, err := p.Conn.Next()
		if err != nil {
			p.low.Store(low)
			return fmt.Errorf("after %d of %d answers: %w", low, p.Total, err)
		}
		n := p.number(m)
		sent := p.sent.Load()
		s := &p.ring[n&mask]
		if n < low || n >= sent || s.answered {
			return fmt.Errorf("second or unasked answer to request %d", n)
		}
		s.answered = true
		if p.Lat != nil {
			p.Lat.Add(time.Since(start) - s.at)
		}
		if err := p.Answer(n, m); err != nil {
			return err
		}
		for low < sent && p.ring[low&mask].answered {
			low++
		}
	}
	p.low.Store(low)
	return nil
}
