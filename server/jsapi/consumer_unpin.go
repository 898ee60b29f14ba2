package jsapi

import (
	"encoding/json"

	"godwit/protocol/jsapi"
	"godwit/stream/consumer"
)

// consumerUnpin answers CONSUMER.UNPIN.S.C: another client of the group in the body may be pinned. Errors: 10025 without
// a group, 10162, 10059, 10014, 10160.
func consumerUnpin() *endpoint {
	e := &endpoint{words: "CONSUMER.UNPIN", min: 2, max: 2, kind: "consumer_unpin_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.UnpinRequest
		if err := json.Unmarshal(r.body, &req); err != nil {
			return nil, jsapi.Err(jsapi.ErrInvalidJSON, "err", err.Error())
		}
		if req.Group == "" {
			return nil, jsapi.Err(jsapi.ErrInvalidJSON, "err", "consumer group not specified")
		}
		if !consumer.ValidGroup(req.Group) {
			return nil, jsapi.Err(jsapi.ErrConsumerInvalidGroupName)
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		if err := s.Partitions().UnpinConsumer(r.args[1], req.Group); err != nil {
			return nil, err
		}
		return r.head(), nil
	}
	return e
}
