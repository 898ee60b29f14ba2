// Package jsapi answers the requests of the JetStream API, one kind of request per file. It decodes, checks what can be
// checked without knowing the streams, calls the service, and encodes.
package jsapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/router"
	"godwit/stream/latency"
)

// queueMax bounds the requests that wait in each of the two queues: those for information, and all others. When one is
// full, all that wait in it are dropped, as the protocol has it.
const queueMax = 10_000

// API answers requests. All methods are safe for concurrent use.
type API struct {
	// Requests is how long requests took, from their arrival to their answer.
	Requests latency.Histogram

	service *jetstream.Service
	routes  map[string]*endpoint // by the words of a subject; see endpoints

	info, other queue
	transfers   transfers

	mu   sync.Mutex // guards subs
	subs []attached
}

type attached struct {
	index *router.Index
	sub   *router.Sub
}

// New returns an API without accounts.
func New(s *jetstream.Service) *API {
	x := &API{service: s, routes: map[string]*endpoint{}}
	for _, e := range endpoints() {
		x.routes[e.words] = e
	}
	x.info.init(x)
	x.other.init(x)
	x.transfers.init()
	return x
}

// subjects are what requests come on, after the prefix. CONSUMER.MSG.NEXT and DIRECT.GET are not among them: a request
// for something that does not exist has to find nobody there.
func subjects() []string {
	return []string{"INFO", "STREAM.>", "CONSUMER.CREATE.>", "CONSUMER.DURABLE.>", "CONSUMER.NAMES.>", "CONSUMER.LIST.>",
		"CONSUMER.INFO.>", "CONSUMER.DELETE.>", "CONSUMER.PAUSE.>", "CONSUMER.RESET.>", "CONSUMER.UNPIN.>",
		"CONSUMER.LEADER.>", "CONSUMER.PEER.>", "ACCOUNT.>", "META.>", "SERVER.>", "GODWIT.>"}
}

// Attach answers the requests of an account. One whose requests find it without streams hears so; see Refuse.
func (x *API) Attach(a *jetstream.Account) { x.attach(a.Index(), a, a.Name()) }

// Refuse answers the requests of an account that has no streams.
func (x *API) Refuse(name string, index *router.Index) { x.attach(index, nil, name) }

func (x *API) attach(index *router.Index, a *jetstream.Account, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c := &caller{account: a, name: name, index: index, senders: [2]*router.Sender{router.NewSender(index), router.NewSender(index)}}
	prefixes := []string{jsapi.Prefix}
	if d := x.service.Options().Domain; d != "" {
		prefixes = append(prefixes, "$JS."+d+".API.")
	}
	for _, prefix := range prefixes {
		for _, s := range subjects() {
			sub := index.SubscribeReceiver(prefix+s, "", &receiver{x, c, len(prefix)})
			x.subs = append(x.subs, attached{index, sub})
		}
	}
}

// Detach ends the answers to an account.
func (x *API) Detach(index *router.Index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.subs = slices.DeleteFunc(x.subs, func(s attached) bool {
		if s.index == index {
			index.Unsubscribe(s.sub)
		}
		return s.index == index
	})
}

// Close stops answering and waits for requests that are being answered.
func (x *API) Close() {
	x.mu.Lock()
	for _, s := range x.subs {
		s.index.Unsubscribe(s.sub)
	}
	x.subs = nil
	x.mu.Unlock()
	x.info.close()
	x.other.close()
	x.transfers.close()
}

// Refusal returns the answer to a request on that subject that was refused before it came here; nil for pull requests, direct
// gets and what nobody answers, which get no more than a status. The subject is lent.
func (x *API) Refusal(subject []byte, why *jsapi.Error) []byte {
	_, words, _ := strings.Cut(string(subject), ".API.")
	e, _ := x.find(strings.Split(words, "."))
	if e == nil {
		return nil
	}
	body, err := json.Marshal(e.fail(jsapi.Header{Type: jsapi.TypePrefix + e.kind, Error: why}))
	if err != nil {
		return nil
	}
	return body
}

// caller is an account that sends requests.
type caller struct {
	account *jetstream.Account // nil if it has no streams
	name    string
	index   *router.Index
	senders [2]*router.Sender // one for each queue, used by its worker
}

// receiver takes requests from the router.
type receiver struct {
	x      *API
	c      *caller
	prefix int // length of "$JS.API."
}

// NewBatch implements router.Receiver.
func (r *receiver) NewBatch() router.Batch { return r }

// Add implements router.Batch.
func (r *receiver) Add(m *router.Message) {
	words := strings.Split(string(m.Subject[r.prefix:]), ".")
	e, args := r.x.find(words)
	if e == nil {
		return // nobody answers, as the protocol has it
	}
	req := &request{api: r.x, caller: r.c, endpoint: e, args: args, subject: string(m.Subject), reply: bytes.Clone(m.Reply),
		header: bytes.Clone(m.Header), body: bytes.Clone(m.Payload)}
	if m.From != nil {
		req.origin = m.From.OriginInfo()
	}
	if e.info {
		r.x.info.push(req)
	} else {
		r.x.other.push(req)
	}
}

// Flush implements router.Batch.
func (r *receiver) Flush() {}

// TraceService implements router.TracedService: clients see the API as a service of the system account.
func (r *receiver) TraceService(subject []byte) (account, to string) {
	return r.x.service.Options().SystemAccount, string(subject)
}

// find returns the endpoint that a subject names, and its other words.
func (x *API) find(words []string) (*endpoint, []string) {
	for n := min(4, len(words)); n > 0; n-- {
		e := x.routes[strings.Join(words[:n], ".")]
		if e == nil {
			continue
		}
		args := words[n:]
		if len(args) < e.min || len(args) > e.max {
			return nil, nil
		}
		for i, a := range args {
			if a == "" && i < e.min {
				return nil, nil
			}
		}
		return e, args
	}
	return nil, nil
}
