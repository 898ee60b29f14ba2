package scenario

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

const fastInbox = "_INBOX.fast.f1."

// fastPublisher publishes one long fast-ingest batch: the state travels in
// the reply subject and the server acknowledges every so many messages, as
// many as it likes to.
type fastPublisher struct {
	conn    *wire.Conn
	total   uint64
	allowed atomic.Uint64 // messages that may have been sent
	wake    chan struct{}
	failed  chan struct{}
	frames  func(op int) *wire.Frames
}

// allow reads a flow acknowledgement: up to which message it goes, and how
// many messages lie between two. Two such distances may be outstanding.
func (f *fastPublisher) allow(payload []byte) error {
	seq, ok1 := jsonNumber(payload, `"seq":`)
	every, ok2 := jsonNumber(payload, `"msgs":`)
	if !ok1 || !ok2 || !bytes.Contains(payload, []byte(`"type":"ack"`)) {
		return fmt.Errorf("fast batch: %s", payload)
	}
	f.allowed.Store(seq + 2*every)
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return nil
}

func (f *fastPublisher) write() error {
	middle, last := f.frames(1), f.frames(2)
	for sent := uint64(1); sent < f.total; {
		room := f.allowed.Load() - min(f.allowed.Load(), sent)
		if room == 0 {
			select {
			case <-f.wake:
			case <-f.failed:
				return nil // the reader reports why
			}
			continue
		}
		frames, n := middle, min(room, uint64(middle.Max), f.total-1-sent)
		if n == 0 {
			frames, n = last, 1
		}
		for i := uint64(0); i < n; i++ {
			frames.Stamp(int(i), sent+i)
			frames.Reply(int(i), sent+i+1)
		}
		if err := f.conn.Write(frames.Bytes(int(n))); err != nil {
			return err
		}
		sent += n
	}
	return nil
}

func (f *fastPublisher) read() error {
	defer close(f.failed)
	for {
		m, err := f.conn.Next()
		if err != nil {
			return err
		}
		if !bytes.Contains(m.Payload, []byte(`"batch"`)) {
			if err := f.allow(m.Payload); err != nil {
				return err
			}
			continue
		}
		seq, err := ackSeq(m)
		if err != nil {
			return err
		}
		if count, _ := jsonNumber(m.Payload, `"count":`); seq != f.total || count != f.total {
			return fmt.Errorf("fast batch of %d messages ended with %s", f.total, m.Payload)
		}
		return nil
	}
}

// jsPubFast: fast-ingest batch publishing, up to --window messages ahead of
// the acknowledgements.
func jsPubFast(e *Env) ([]stats.Phase, error) {
	info, err := e.CreateStream(wire.StreamConfig{Name: stream, Subjects: []string{"load.>"}, AllowBatched: true})
	if err != nil {
		return nil, err
	}
	if !info.Config.AllowBatched {
		return nil, ErrUnsupported
	}
	c, err := e.Dial(e.PubServer(0))
	if err != nil {
		return nil, err
	}
	if err := c.Sub(fastInbox+">", "", 1); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	flow := strconv.Itoa(max(e.Window/2, 1))
	f := &fastPublisher{conn: c, total: max(e.Msgs, 2), wake: make(chan struct{}, 1), failed: make(chan struct{})}
	f.frames = func(op int) *wire.Frames {
		return wire.NewFrames("load.s", fmt.Sprintf("%s%s.fail.#########.%d.$FI", fastInbox, flow, op), e.Size, 0)
	}
	// The first message is answered with the flow that the server grants.
	first := f.frames(0)
	first.Stamp(0, 0)
	first.Reply(0, 1)
	if err := c.Write(first.Bytes(1)); err != nil {
		return nil, err
	}
	m, err := c.Next()
	if err != nil {
		return nil, err
	}
	if err := f.allow(m.Payload); err != nil {
		return nil, err
	}
	meter := e.Begin("main")
	if err := e.Parallel(f.write, f.read); err != nil {
		return nil, err
	}
	return []stats.Phase{meter.End(f.total, e.Size, nil)}, e.CheckStream(stream, f.total)
}
