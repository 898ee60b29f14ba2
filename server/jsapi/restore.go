package jsapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/router"
)

const (
	restoreIdle    = 5 * time.Second
	restoreWaiting = 32 << 20 // bytes of chunks that wait to be written
	restoreChunks  = 4096     // and their number
)

var (
	errFlood   = errors.New("more was sent than can be written")
	errIdle    = errors.New("nothing was sent for a while")
	errStopped = errors.New("server is shutting down")
)

// streamRestore answers STREAM.RESTORE.S with the subject to which the chunks of a backup are to be sent, each as a
// request; an empty one ends it and is answered with the stream. Errors: 10003 without body, 10056 and 10128 for the name,
// 10130 if it is taken, those of a configuration, 10062 for a chunk.
func streamRestore() *endpoint {
	e := &endpoint{words: "STREAM.RESTORE", min: 1, max: 1, kind: "stream_restore_response",
		fail: func(h jsapi.Header) any { return jsapi.RestoreResponse{Header: h} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrBadRequest)
		}
		var req jsapi.RestoreRequest
		if err := r.decode(&req); err != nil {
			return nil, err
		}
		if req.Config.Name == "" {
			req.Config.Name = r.args[0]
		}
		if req.Config.Name != r.args[0] {
			return nil, jsapi.Err(jsapi.ErrStreamMismatch)
		}
		if jsapi.HasPathSeparator(r.args[0]) {
			return nil, jsapi.Err(jsapi.ErrStreamNameContainsPathSeparators)
		}
		target, err := r.caller.account.BeginRestore(req.Config)
		if err != nil {
			return nil, err
		}
		in := &restore{transfer: newTransfer(r), target: target, chunks: make(chan chunk, restoreChunks)}
		to := "$JS.SNAPSHOT.RESTORE." + in.stream + "." + nuid.Next()
		sub := r.caller.index.SubscribeReceiver(to, "", in)
		if !r.api.transfers.begin(func() {
			in.run()
			r.caller.index.Unsubscribe(sub)
		}) {
			r.caller.index.Unsubscribe(sub)
			return nil, jsapi.Err(jsapi.ErrStreamRestore, "err", "too many backups and restores are under way")
		}
		return jsapi.RestoreResponse{Header: r.head(), DeliverSubject: to}, nil
	}
	return e
}

// chunk is a piece of a backup as it came; an empty body is the end.
type chunk struct{ reply, body []byte }

// restore takes a backup. It implements router.Receiver.
type restore struct {
	*transfer
	target  *jetstream.Restoration
	chunks  chan chunk
	waiting atomic.Int64 // bytes
	flooded atomic.Bool
	bytes   int64
}

// run writes what comes and takes the stream in at the end.
func (in *restore) run() {
	in.advise("RESTORE_CREATE", func(*jsapi.TransferAdvisory) {})
	pr, pw := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := in.target.Write(pr)
		pr.CloseWithError(err)
		written <- err
	}()
	last, err := in.feed(pw)
	pw.CloseWithError(err) // nil is the end of the file
	if werr := <-written; err == nil || errors.Is(err, io.ErrClosedPipe) {
		err = werr
	}
	var s *jetstream.Stream
	var fault *jsapi.Error
	if err == nil {
		s, fault = in.target.Finish()
	} else if !errors.As(err, &fault) { // else a limit or a configuration
		fault = jsapi.Err(jsapi.ErrStreamRestore, "err", err.Error())
	}
	in.target.Abort() // what is left of it, if it failed
	in.answer(last.reply, s, fault)
	in.advise("RESTORE_COMPLETE", func(a *jsapi.TransferAdvisory) {
		in.ended(a)
		a.Bytes = in.bytes
		if fault != nil {
			a.Error = fault.Description
		}
	})
}

// feed hands chunks on until the end, and answers each but the last, which it returns.
func (in *restore) feed(w io.Writer) (last chunk, err error) {
	idle := time.NewTimer(restoreIdle)
	defer idle.Stop()
	for {
		select {
		case c := <-in.chunks:
			in.waiting.Add(-int64(len(c.body)))
			if len(c.body) == 0 {
				return c, nil
			}
			if in.flooded.Load() {
				return c, errFlood
			}
			if _, err := w.Write(c.body); err != nil {
				return c, err
			}
			in.bytes += int64(len(c.body))
			if len(c.reply) > 0 {
				in.sender.Send(&router.Message{Subject: c.reply})
				in.sender.Flush()
			}
			idle.Reset(restoreIdle)
		case <-idle.C:
			return last, errIdle
		case <-in.r.api.transfers.ctx.Done():
			return last, errStopped
		}
	}
}

// answer tells whoever sent the last chunk what became of it.
func (in *restore) answer(to []byte, s *jetstream.Stream, fault *jsapi.Error) {
	if len(to) == 0 {
		return
	}
	resp := jsapi.StreamCreateResponse{Header: jsapi.Header{Type: jsapi.TypePrefix + "stream_create_response", Error: fault}}
	if s != nil {
		if resp.StreamInfo, fault = in.r.streamInfo(s); fault != nil {
			resp.Error = fault // deleted at once
		}
	}
	if body, err := json.Marshal(&resp); err == nil {
		in.sender.Send(&router.Message{Subject: to, Payload: body})
		in.sender.Flush()
	}
}

// NewBatch implements router.Receiver.
func (in *restore) NewBatch() router.Batch { return in }

// Add implements router.Batch.
func (in *restore) Add(m *router.Message) {
	if in.waiting.Add(int64(len(m.Payload))) > restoreWaiting {
		in.flooded.Store(true)
	}
	body := m.Payload
	if in.flooded.Load() && len(body) > 0 {
		body = body[:1] // only to be refused
	}
	select {
	case in.chunks <- chunk{bytes.Clone(m.Reply), bytes.Clone(body)}:
	default:
		in.flooded.Store(true)
	}
}

// Flush implements router.Batch.
func (in *restore) Flush() {}
