package jsapi

import (
	"time"

	"godwit/protocol/jsapi"
)

// consumerPause answers CONSUMER.PAUSE.S.C: deliveries stop until the time in the body; without one, or with one that
// has passed, they go on. Errors: 10059, 10014.
func consumerPause() *endpoint {
	e := &endpoint{words: "CONSUMER.PAUSE", min: 2, max: 2, kind: "consumer_pause_response",
		fail: func(h jsapi.Header) any { return jsapi.ConsumerPauseResponse{Header: h} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.PauseRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		left := time.Until(req.PauseUntil)
		resp := jsapi.ConsumerPauseResponse{Header: r.head(), PauseUntil: req.PauseUntil}
		if left > 0 {
			resp.Paused, resp.PauseRemaining = true, left
		}
		if err := s.Partitions().PauseConsumer(r.args[1], req.PauseUntil); err != nil {
			return nil, err
		}
		return resp, nil
	}
	return e
}
