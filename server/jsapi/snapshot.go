package jsapi

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/protocol/subject"
	"godwit/server/router"
	"godwit/stream"
)

const (
	chunkDefault, chunkLeast, chunkMost = 128 << 10, 1 << 10, 1 << 20
	windowDefault, windowMost           = 8 << 20, 32 << 20
	noInterestAfter                     = 2 * time.Second
	interestEvery                       = 50 * time.Millisecond // between looks for it
	noFlowAfter                         = 5 * time.Second
)

// Why a backup ends early; the texts are status lines.
var (
	errNoInterest = errors.New("408 No Interest")
	errNoFlow     = errors.New("408 No Flow Response")
	errEnding     = errors.New("500 server is shutting down")
)

// streamSnapshot answers STREAM.SNAPSHOT.S with what will be sent, and then sends a backup of the stream to the subject that
// the body names. Errors: 10003 without body, 10059, 10015 for a subject that is not literal, 10064.
func streamSnapshot() *endpoint {
	e := &endpoint{words: "STREAM.SNAPSHOT", min: 1, max: 1, kind: "stream_snapshot_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrBadRequest)
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		var req jsapi.SnapshotRequest
		if err := r.decode(&req); err != nil {
			return nil, err
		}
		if !subject.ValidName(req.DeliverSubject) {
			return nil, jsapi.Err(jsapi.ErrSnapshotDeliverSubjectInvalid)
		}
		b, err := s.Partitions().Backup(!req.NoConsumers)
		if err != nil {
			return nil, err
		}
		out := newSnapshot(r, &req)
		answered := make(chan struct{})
		if !r.api.transfers.begin(func() { <-answered; out.run(b) }) {
			b.Close()
			return nil, jsapi.Err(jsapi.ErrStreamSnapshot, "err", "too many backups and restores are under way")
		}
		r.after = func() { close(answered) }
		cfg := b.Config
		cfg.Metadata = jsapi.WithLevel(cfg.Metadata, cfg.RequiredLevel())
		return jsapi.SnapshotResponse{Header: r.head(), Config: &cfg, State: &b.State}, nil
	}
	return e
}

// snapshot sends a backup in chunks. It implements io.Writer and, for acknowledgements, router.Receiver.
type snapshot struct {
	*transfer
	to     []byte
	acks   string // subject prefix
	chunk  int
	window int64
	buf    []byte
	index  int // of the last full chunk

	open atomic.Int64 // bytes not acknowledged
	wake chan struct{}
}

func newSnapshot(r *request, req *jsapi.SnapshotRequest) *snapshot {
	s := &snapshot{transfer: newTransfer(r), to: []byte(req.DeliverSubject), chunk: chunkDefault, window: windowDefault, wake: make(chan struct{}, 1)}
	if req.ChunkSize != 0 {
		s.chunk = min(max(req.ChunkSize, chunkLeast), chunkMost)
	}
	if req.WindowSize > 0 {
		s.window = int64(min(req.WindowSize, windowMost))
	}
	s.acks = "$JS.SNAPSHOT.ACK." + s.stream + "." + nuid.Next() + "."
	return s
}

// run sends b and closes it.
func (s *snapshot) run(b *stream.SetBackup) {
	defer b.Close()
	s.advise("SNAPSHOT_CREATE", func(a *jsapi.TransferAdvisory) { a.State = &b.State })
	sub := s.r.caller.index.SubscribeReceiver(s.acks+">", "", s)
	defer s.r.caller.index.Unsubscribe(sub)
	err := s.awaitListener()
	if err == nil {
		err = b.Write(s)
	}
	if err == nil {
		err = s.awaitInterest()
	}
	m := &router.Message{Subject: s.to}
	switch {
	case err == nil:
		if len(s.buf) > 0 {
			s.sender.Send(&router.Message{Subject: s.to, Payload: s.buf})
		}
		if s.index > 0 {
			m.Header = []byte("NATS/1.0 204\r\n\r\n")
		}
	case errors.Is(err, errNoInterest), errors.Is(err, errNoFlow), errors.Is(err, errEnding):
		m.Header = fmt.Appendf(nil, "NATS/1.0 %v\r\n\r\n", err)
	default:
		m.Header = fmt.Appendf(nil, "NATS/1.0 500 %v\r\n\r\n", err)
	}
	s.sender.Send(m)
	s.sender.Flush()
	s.advise("SNAPSHOT_COMPLETE", func(a *jsapi.TransferAdvisory) {
		s.ended(a)
		if err != nil {
			a.Error = err.Error()
		}
	})
}

// Write implements io.Writer.
func (s *snapshot) Write(p []byte) (n int, err error) {
	for n < len(p) {
		k := min(len(p)-n, s.chunk-len(s.buf))
		s.buf = append(s.buf, p[n:n+k]...)
		n += k
		if len(s.buf) < s.chunk {
			break
		}
		if err := s.send(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// send sends a full chunk once there is room for it.
func (s *snapshot) send() error {
	if err := s.awaitInterest(); err != nil {
		return err
	}
	if err := s.awaitRoom(); err != nil {
		return err
	}
	s.index++
	s.open.Add(int64(len(s.buf)))
	s.sender.Send(&router.Message{Subject: s.to, Reply: fmt.Appendf(nil, "%s%d.%d", s.acks, len(s.buf), s.index), Payload: s.buf})
	s.sender.Flush()
	s.buf = s.buf[:0]
	return nil
}

// awaitListener waits, for a while, until somebody subscribes to the subject itself if only wildcards match it: clients
// take it from the subjects of their answers, where nobody expects it, and subscribe to it once they were answered.
func (s *snapshot) awaitListener() error {
	_, err := s.await(func() bool {
		only := false
		s.r.caller.index.EachMatch(s.to, func(sub *router.Sub) bool {
			only = sub.Subject() != string(s.to)
			return only
		})
		return !only
	})
	return err
}

// awaitInterest waits until somebody listens.
func (s *snapshot) awaitInterest() error {
	ok, err := s.await(func() bool { return s.r.caller.index.HasInterest(s.to) })
	if err == nil && !ok {
		return errNoInterest
	}
	return err
}

// await looks until done is true, and reports whether it was in time.
func (s *snapshot) await(done func() bool) (ok bool, err error) {
	for waited := time.Duration(0); !done(); waited += interestEvery {
		if waited >= noInterestAfter {
			return false, nil
		}
		if err := s.pause(interestEvery); err != nil {
			return false, err
		}
	}
	return true, nil
}

// awaitRoom waits until the window has room for a chunk.
func (s *snapshot) awaitRoom() error {
	timer := time.NewTimer(noFlowAfter)
	defer timer.Stop()
	for s.open.Load() > 0 && s.open.Load()+int64(len(s.buf)) > s.window {
		select {
		case <-s.wake:
			timer.Reset(noFlowAfter)
		case <-timer.C:
			return errNoFlow
		case <-s.r.api.transfers.ctx.Done():
			return errEnding
		}
	}
	return nil
}

func (s *snapshot) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.r.api.transfers.ctx.Done():
		return errEnding
	}
}

// NewBatch implements router.Receiver.
func (s *snapshot) NewBatch() router.Batch { return s }

// Add implements router.Batch: an acknowledgement names the size and the index of its chunk.
func (s *snapshot) Add(m *router.Message) {
	size, _, _ := bytes.Cut(m.Subject[min(len(s.acks), len(m.Subject)):], []byte("."))
	n, err := strconv.Atoi(string(size))
	if err != nil || n <= 0 || n > s.chunk {
		return
	}
	s.open.Add(-int64(n))
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Flush implements router.Batch.
func (s *snapshot) Flush() {}
