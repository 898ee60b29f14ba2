package jsapi

import (
	"crypto/rand"
	"strings"

	"godwit/protocol/jsapi"
	"godwit/stream"
)

// consumerCreate answers CONSUMER.CREATE.S, CONSUMER.CREATE.S.C and CONSUMER.CREATE.S.C.F…: makes, changes or returns a
// consumer, as the action in the body says. The name is in the subject or, in the first form, in the body or made up.
// Errors: those of names and filters in the subject, of the configuration, 10059, 10148, 10149, 10026.
func consumerCreate() *endpoint {
	e := &endpoint{words: "CONSUMER.CREATE", min: 1, max: anyArgs, kind: "consumer_create_response", first: (*request).decodeCreate}
	e.serve = func(r *request) (any, *jsapi.Error) { return r.createConsumer(false) }
	return e
}

// consumerDurable answers CONSUMER.DURABLE.CREATE.S.C, the older form for durable consumers.
func consumerDurable() *endpoint {
	e := &endpoint{words: "CONSUMER.DURABLE.CREATE", min: 2, max: 2, kind: "consumer_create_response", first: (*request).decodeCreate}
	e.serve = func(r *request) (any, *jsapi.Error) { return r.createConsumer(true) }
	return e
}

func (r *request) decodeCreate() *jsapi.Error { return r.decode(&r.create) }

func (r *request) createConsumer(durable bool) (any, *jsapi.Error) {
	req := &r.create
	cfg := &req.Config
	if req.Stream != r.args[0] {
		return nil, jsapi.Err(jsapi.ErrStreamMismatch)
	}
	name, err := r.consumerName(cfg, durable)
	if err != nil {
		return nil, err
	}
	if cfg.Replicas > 1 {
		return nil, jsapi.Err(jsapi.ErrStreamReplicasNotSupported)
	}
	s, err := r.stream()
	if err != nil {
		return nil, err
	}
	if t := cfg.PauseUntil; t != nil && t.IsZero() {
		cfg.PauseUntil = nil
	}
	legacy := name == ""
	if legacy {
		name = randomName()
	}
	r.after = func() { s.Partitions().Begin(name) }
	info, err := s.Partitions().CreateConsumer(stream.ConsumerRequest{Name: name, Config: *cfg, Action: req.Action,
		Pedantic: req.Pedantic, Held: true, MaxConsumers: r.caller.account.Limits().MaxConsumers})
	if err != nil {
		return nil, err
	}
	r.decorateConsumer(info)
	return jsapi.ConsumerResponse{Header: r.head(), ConsumerInfo: info}, nil
}

// consumerName finds the name in the subject and checks it against the body; empty means that one is to be made up.
func (r *request) consumerName(cfg *jsapi.ConsumerConfig, durable bool) (string, *jsapi.Error) {
	if len(r.args) == 1 {
		if cfg.Durable != "" {
			return "", jsapi.Err(jsapi.ErrConsumerEphemeralWithDurableName)
		}
		return cfg.Name, nil
	}
	name := r.args[1]
	if jsapi.HasPathSeparator(name) {
		return "", jsapi.Err(jsapi.ErrConsumerNameContainsPathSeparators)
	}
	if durable && cfg.Durable == "" {
		return "", jsapi.Err(jsapi.ErrConsumerDurableNameNotSet)
	}
	if cfg.Durable != "" && cfg.Durable != name {
		return "", jsapi.Err(jsapi.ErrConsumerDurableNameNotMatchSubject)
	}
	if len(r.args) > 2 {
		filter := strings.Join(r.args[2:], ".")
		if len(cfg.FilterSubjects) > 0 {
			return "", jsapi.Err(jsapi.ErrConsumerMultipleFiltersNotAllowed)
		}
		if cfg.FilterSubject != filter {
			return "", jsapi.Err(jsapi.ErrConsumerCreateFilterSubjectMismatch)
		}
	}
	cfg.Name = name
	return name, nil
}

// randomName makes up the name of a consumer: 8 letters and digits.
func randomName() string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var b [8]byte
	rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b[:])
}
