package jsapi

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nuid"
)

// queue holds requests until a worker has answered them, one after the other. The worker exists only while there are
// some.
type queue struct {
	x    *API
	mu   sync.Mutex // guards what follows
	list []*request
	// running says that a worker exists; done is closed when it ends after close.
	running, closed bool
	done            chan struct{}
}

func (q *queue) init(x *API) { q.x = x }

func (q *queue) push(r *request) {
	r.came = time.Now()
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	dropped := 0
	if len(q.list) >= queueMax {
		dropped = len(q.list)
		clear(q.list)
		q.list = q.list[:0]
	}
	q.list = append(q.list, r)
	if !q.running {
		q.running = true
		go q.work()
	}
	q.mu.Unlock()
	if dropped > 0 {
		q.x.limitReached(dropped)
	}
}

func (q *queue) work() {
	var batch []*request
	for {
		q.mu.Lock()
		if len(q.list) == 0 {
			q.running = false
			if q.done != nil {
				close(q.done)
				q.done = nil
			}
			q.mu.Unlock()
			return
		}
		batch, q.list = q.list, batch[:0]
		q.mu.Unlock()
		for i, r := range batch {
			r.serve()
			q.x.Requests.Observe(time.Since(r.came), 1)
			batch[i] = nil
		}
	}
}

// close lets in nothing more and waits until what is in was answered.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	var done chan struct{}
	if q.running {
		if q.done == nil {
			q.done = make(chan struct{})
		}
		done = q.done
	}
	q.mu.Unlock()
	if done != nil {
		<-done
	}
}

// limitReached tells the system account that requests were dropped.
func (x *API) limitReached(dropped int) {
	o := x.service.Options()
	if o.SystemAdvisory == nil {
		return
	}
	const kind = "io.nats.jetstream.advisory.v1.api_limit_reached"
	body, err := json.Marshal(struct {
		Type    string    `json:"type"`
		ID      string    `json:"id"`
		Time    time.Time `json:"timestamp"`
		Server  string    `json:"server"`
		Domain  string    `json:"domain,omitempty"`
		Dropped int       `json:"dropped"`
	}{kind, nuid.Next(), time.Now().UTC(), o.ServerName, o.Domain, dropped})
	if err == nil {
		o.SystemAdvisory("$JS.EVENT.ADVISORY.API.LIMIT_REACHED", body)
	}
}
