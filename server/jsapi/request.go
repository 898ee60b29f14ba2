package jsapi

import (
	"encoding/json"
	"time"

	"github.com/nats-io/nuid"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/router"
)

// request is one request on its way through a queue. It owns its texts.
type request struct {
	api      *API
	caller   *caller
	endpoint *endpoint
	args     []string // words of the subject after those that name the endpoint
	subject  string
	reply    []byte
	header   []byte
	body     []byte
	origin   *router.OriginInfo // nil if the server itself asks
	came     time.Time
	after    func() // what is done once the answer was sent; nil for nothing
	create   jsapi.CreateConsumerRequest
}

// endpoint is one kind of request.
type endpoint struct {
	words    string // of the subject, after the prefix
	min, max int    // words that follow
	info     bool   // it only reads
	kind     string // type of the response, without prefix
	quiet    bool   // a success is not counted
	// first reads the body before the checks that all requests have in common; nil for most.
	first func(r *request) *jsapi.Error
	serve func(r *request) (response any, err *jsapi.Error)
	// fail makes the response to a refused request: with the fields that are present even then.
	fail func(h jsapi.Header) any
}

// endpoints lists all kinds of requests.
func endpoints() []*endpoint {
	list := []*endpoint{
		accountInfo(),
		streamCreate(), streamUpdate(), streamNames(), streamList(), streamInfo(), streamDelete(), streamPurge(),
		msgGet(), msgDelete(), streamSnapshot(), streamRestore(),
		consumerCreate(), consumerDurable(), consumerNames(), consumerList(), consumerInfo(), consumerDelete(),
		consumerPause(), consumerReset(), consumerUnpin(),
		consumerInflight(), consumerAct(), consumerLag(), streamLag(),
	}
	list = append(list, clusterOnly()...)
	for _, e := range list {
		if e.fail == nil {
			e.fail = func(h jsapi.Header) any { return h }
		}
	}
	return list
}

// anyArgs is a number of words that no subject has.
const anyArgs = 1 << 16

// serve answers the request.
func (r *request) serve() {
	response, err := r.answer()
	if err == errSilent {
		return
	}
	if err != nil {
		response = r.endpoint.fail(jsapi.Header{Type: jsapi.TypePrefix + r.endpoint.kind, Error: err})
	}
	body, bad := json.Marshal(response)
	if bad != nil {
		r.api.service.Options().Warnf("JetStream: response to %s: %v", r.subject, bad)
		return
	}
	if a := r.caller.account; a != nil && (err != nil || !r.endpoint.quiet) {
		a.API.Total.Add(1)
		if err != nil {
			a.API.Errors.Add(1)
		}
	}
	s := r.sender()
	if len(r.reply) > 0 {
		s.Send(&router.Message{Subject: r.reply, Payload: body})
	}
	if !r.endpoint.quiet || err != nil {
		r.audit(s, body)
	}
	s.Flush()
	if r.after != nil {
		r.after()
	}
}

// errSilent is the error of a request that gets no answer.
var errSilent = &jsapi.Error{}

// answer does what is asked, after the checks that all requests have in common.
func (r *request) answer() (any, *jsapi.Error) {
	if first := r.endpoint.first; first != nil {
		if err := first(r); err != nil {
			return nil, err
		}
	}
	if jetstream.TooNew(r.header) {
		return nil, jsapi.Err(jsapi.ErrRequiredApiLevel)
	}
	if r.caller.account == nil {
		return nil, jsapi.Err(jsapi.ErrNotEnabledForAccount)
	}
	return r.endpoint.serve(r)
}

// sender is the one of the queue's worker, which is who calls.
func (r *request) sender() *router.Sender {
	if r.endpoint.info {
		return r.caller.senders[0]
	}
	return r.caller.senders[1]
}

// head opens a successful response.
func (r *request) head() jsapi.Header { return jsapi.Header{Type: jsapi.TypePrefix + r.endpoint.kind} }

// decode reads the body.
func (r *request) decode(v any) *jsapi.Error {
	return jsapi.Decode(r.body, v, r.api.service.Options().Strict)
}

// decodeOptional reads a body that may be absent.
func (r *request) decodeOptional(v any) *jsapi.Error {
	if !jsapi.JSONOrEmpty(r.body) {
		return nil
	}
	return r.decode(v)
}

// stream returns the stream that the first argument names.
func (r *request) stream() (*jetstream.Stream, *jsapi.Error) {
	if s := r.caller.account.Stream(r.args[0]); s != nil {
		return s, nil
	}
	return nil, jsapi.Err(jsapi.ErrStreamNotFound)
}

// decorate gives single answers the metadata that the server adds to configurations.
func (r *request) decorate(cfg *jsapi.StreamConfig) {
	cfg.Metadata = jsapi.Decorate(cfg.Metadata, cfg.RequiredLevel(), r.api.service.Options().Version)
}

func (r *request) decorateConsumer(info *jsapi.ConsumerInfo) {
	cfg := *info.Config
	cfg.Metadata = jsapi.Decorate(cfg.Metadata, cfg.RequiredLevel(), r.api.service.Options().Version)
	info.Config = &cfg
}

// audit publishes the advisory about the request if anybody listens.
func (r *request) audit(s *router.Sender, response []byte) {
	const subject = "$JS.EVENT.ADVISORY.API"
	if !r.caller.index.HasInterest([]byte(subject)) {
		return
	}
	o := r.api.service.Options()
	body, err := json.Marshal(struct {
		Type     string             `json:"type"`
		ID       string             `json:"id"`
		Time     time.Time          `json:"timestamp"`
		Server   string             `json:"server"`
		Client   *router.OriginInfo `json:"client"`
		Subject  string             `json:"subject"`
		Request  string             `json:"request,omitempty"`
		Response string             `json:"response"`
		Domain   string             `json:"domain,omitempty"`
	}{"io.nats.jetstream.advisory.v1.api_audit", nuid.Next(), time.Now().UTC(), o.ServerName, r.origin, r.subject,
		string(r.body), string(response), o.Domain})
	if err == nil {
		s.Send(&router.Message{Subject: []byte(subject), Payload: body})
	}
}
