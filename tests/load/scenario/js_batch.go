package scenario

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"godwit/tests/load/stats"
	"godwit/tests/load/wire"
)

// batchPublisher publishes atomic batches: each is one buffer whose frames
// carry the headers Nats-Batch-Id, Nats-Batch-Sequence and, on the last,
// Nats-Batch-Commit.
type batchPublisher struct {
	conn    *wire.Conn
	buf     []byte
	size    int
	ids     []wire.Counter // the batch number in every header, and in two replies
	bodies  []int          // offset of every payload
	batches uint64
	window  uint64
	done    chan struct{} // one token for every committed batch
}

const batchInbox = "_INBOX.batch."

func newBatchPublisher(c *wire.Conn, count, size int, batches uint64, window int) *batchPublisher {
	b := &batchPublisher{conn: c, size: size, batches: batches, window: uint64(window),
		done: make(chan struct{}, window)}
	const digits = "000000000"
	for i := 1; i <= count; i++ {
		reply := ""
		hdr := "NATS/1.0\r\nNats-Batch-Id:b" + digits + "\r\nNats-Batch-Sequence:" + strconv.Itoa(i) + "\r\n"
		switch i {
		case count:
			reply = batchInbox + digits + ".commit "
			hdr += "Nats-Batch-Commit:1\r\n"
		case 1:
			reply = batchInbox + digits + ".start "
		}
		hdr += "\r\n"
		line := fmt.Sprintf("HPUB load.s %s%d %d\r\n", reply, len(hdr), len(hdr)+size)
		if reply != "" {
			b.ids = append(b.ids, wire.Counter{Off: len(b.buf) + strings.Index(line, digits), Width: len(digits)})
		}
		b.ids = append(b.ids, wire.Counter{Off: len(b.buf) + len(line) + strings.Index(hdr, digits), Width: len(digits)})
		b.buf = append(append(b.buf, line...), hdr...)
		b.bodies = append(b.bodies, len(b.buf))
		b.buf = append(append(b.buf, wire.NewPayload(size)...), "\r\n"...)
	}
	return b
}

func (b *batchPublisher) write(e *Env) error {
	for n := uint64(0); n < b.batches; n++ {
		if n >= b.window {
			if _, ok := <-b.done; !ok {
				return nil // the reader reports why
			}
		}
		for _, id := range b.ids {
			id.Put(b.buf, n)
		}
		for i, off := range b.bodies {
			wire.StampPayload(b.buf[off:], n*uint64(len(b.bodies))+uint64(i), 0)
		}
		if err := b.conn.Write(b.buf); err != nil {
			return err
		}
	}
	return nil
}

func (b *batchPublisher) read() error {
	defer close(b.done)
	count := uint64(len(b.bodies))
	want := []byte(fmt.Sprintf(`"count":%d`, count))
	var started, committed, last uint64
	for committed < b.batches {
		m, err := b.conn.Next()
		if err != nil {
			return fmt.Errorf("after %d of %d batches: %w", committed, b.batches, err)
		}
		n := wire.LeadingNumber(m.Subject()[len(batchInbox):])
		if bytes.HasSuffix(m.Subject(), []byte("start")) {
			if len(m.Payload) > 0 || n != started {
				return fmt.Errorf("start of batch %d answered with %q", n, m.Payload)
			}
			started++
			continue
		}
		seq, err := ackSeq(m)
		if err != nil {
			return err
		}
		if n != committed || seq != last+count || !bytes.Contains(m.Payload, want) {
			return fmt.Errorf("batch %d after %d batches up to %d: %s", n, committed, last, m.Payload)
		}
		committed++
		last = seq
		select {
		case b.done <- struct{}{}:
		default: // the writer has ended
		}
	}
	return nil
}

// jsPubBatch: atomic batch publishing.
func jsPubBatch(e *Env) ([]stats.Phase, error) {
	info, err := e.CreateStream(wire.StreamConfig{Name: stream, Subjects: []string{"load.>"}, AllowAtomic: true})
	if err != nil {
		return nil, err
	}
	if !info.Config.AllowAtomic {
		return nil, ErrUnsupported
	}
	count := or(e.Batch, 100)
	batches := max(e.Msgs/uint64(count), 1)
	window := min(max(e.Window/count, 1), 50) // servers allow 50 open batches a stream
	c, err := e.Dial(e.PubServer(0))
	if err != nil {
		return nil, err
	}
	if err := c.Sub(batchInbox+"*.*", "", 1); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	b := newBatchPublisher(c, count, e.Size, batches, window)
	m := e.Begin("main")
	if err := e.Parallel(func() error { return b.write(e) }, b.read); err != nil {
		return nil, err
	}
	total := batches * uint64(count)
	phase := m.End(total, e.Size, nil)
	phase.Values["msgs_per_batch"] = float64(count)
	return []stats.Phase{phase}, e.CheckStream(stream, total)
}
