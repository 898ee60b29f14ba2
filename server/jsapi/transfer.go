package jsapi

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/server/router"
)

// transfersMax bounds the backups and restores that are under way at the same time.
const transfersMax = 64

// transfers are the backups and restores under way, each with a goroutine of its own.
type transfers struct {
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu sync.Mutex // guards n
	n  int
}

func (t *transfers) init() { t.ctx, t.stop = context.WithCancel(context.Background()) }

// begin runs f on a goroutine; false if too many are running, or the server ends.
func (t *transfers) begin(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n >= transfersMax || t.ctx.Err() != nil {
		return false
	}
	t.n++
	t.wait.Go(func() {
		f()
		t.mu.Lock()
		t.n--
		t.mu.Unlock()
	})
	return true
}

// close ends all and waits for them.
func (t *transfers) close() {
	t.mu.Lock()
	t.stop()
	t.mu.Unlock()
	t.wait.Wait()
}

// transfer is what backup and restore have in common.
type transfer struct {
	r      *request
	sender *router.Sender // of its own goroutine
	stream string
	start  time.Time
}

func newTransfer(r *request) *transfer {
	return &transfer{r: r, sender: router.NewSender(r.caller.index), stream: r.args[0], start: time.Now().UTC()}
}

// advise publishes an advisory if anybody listens. what is like SNAPSHOT_CREATE.
func (t *transfer) advise(what string, fill func(a *jsapi.TransferAdvisory)) {
	subject := []byte("$JS.EVENT.ADVISORY.STREAM." + what + "." + t.stream)
	if !t.r.caller.index.HasInterest(subject) {
		return
	}
	a := jsapi.TransferAdvisory{Type: "io.nats.jetstream.advisory.v1." + strings.ToLower(what), ID: nuid.Next(), Time: time.Now().UTC(),
		Stream: t.stream, Client: t.r.origin, Domain: t.r.api.service.Options().Domain}
	fill(&a)
	if body, err := json.Marshal(&a); err == nil {
		t.sender.Send(&router.Message{Subject: subject, Payload: body})
		t.sender.Flush()
	}
}

// ended fills in when the transfer began and ended.
func (t *transfer) ended(a *jsapi.TransferAdvisory) {
	end := time.Now().UTC()
	a.Start, a.End = &t.start, &end
}
