package jsapi

import "godwit/protocol/jsapi"

// consumerReset answers CONSUMER.RESET.S.C: deliveries begin anew after the ack floor, or at the sequence in the body.
// Nothing happens without a reply subject, and an unknown consumer gets no answer at all. Errors: 10025, 10204.
func consumerReset() *endpoint {
	e := &endpoint{words: "CONSUMER.RESET", min: 2, max: 2, kind: "consumer_reset_response",
		fail: func(h jsapi.Header) any { return jsapi.ConsumerResetResponse{Header: h} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if len(r.reply) == 0 {
			return nil, errSilent
		}
		s, err := r.stream()
		if err != nil {
			return nil, errSilent
		}
		var req jsapi.ResetRequest
		if !jsapi.Empty(r.body) {
			if err := jsapi.Decode(r.body, &req, false); err != nil {
				return nil, err
			}
		}
		info, seq, err := s.Partitions().ResetConsumer(r.args[1], req.Seq)
		if err != nil {
			if err.Code == jsapi.ErrConsumerNotFound {
				return nil, errSilent
			}
			return nil, err
		}
		r.decorateConsumer(info)
		return jsapi.ConsumerResetResponse{Header: r.head(), ConsumerInfo: info, ResetSeq: seq}, nil
	}
	return e
}
