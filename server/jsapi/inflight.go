package jsapi

import "godwit/protocol/jsapi"

// consumerInflight answers GODWIT.V1.CONSUMER.INFLIGHT.S.C with a page of what the consumer has delivered and what is not resolved.
// Errors: 10059, 10014.
func consumerInflight() *endpoint {
	e := &endpoint{words: "GODWIT.V1.CONSUMER.INFLIGHT", min: 2, max: 2, info: true, kind: "godwit_consumer_inflight_response",
		fail: func(h jsapi.Header) any {
			return jsapi.InflightResponse{Header: h, Messages: []jsapi.InflightMessage{}}
		}}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.InflightRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		out, err := s.Partitions().Inflight(r.args[1], &req)
		if err != nil {
			return nil, err
		}
		out.Header = r.head()
		return out, nil
	}
	return e
}

// consumerAct answers GODWIT.V1.CONSUMER.ACT.S.C: something is done to one of those messages. Errors: 10059, 10014, 20003, 20004.
func consumerAct() *endpoint {
	e := &endpoint{words: "GODWIT.V1.CONSUMER.ACT", min: 2, max: 2, kind: "godwit_consumer_act_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.InflightAct
		if err := r.decode(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		if err := s.Partitions().ActOn(r.args[1], &req); err != nil {
			return nil, err
		}
		return jsapi.SuccessResponse{Header: r.head(), Success: true}, nil
	}
	return e
}

// consumerLag answers GODWIT.V1.CONSUMER.LAG.S.C: how far the consumer is behind. Errors: 10059, 10014.
func consumerLag() *endpoint {
	e := &endpoint{words: "GODWIT.V1.CONSUMER.LAG", min: 2, max: 2, info: true, kind: "godwit_consumer_lag_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		lag, err := s.Partitions().Lag(r.args[1])
		if err != nil {
			return nil, err
		}
		return jsapi.ConsumerLagResponse{Header: r.head(), ConsumerLag: lag}, nil
	}
	return e
}

// streamLag answers GODWIT.V1.STREAM.LAG.S with that of a page of the stream's consumers, by name. Error: 10059.
func streamLag() *endpoint {
	e := &endpoint{words: "GODWIT.V1.STREAM.LAG", min: 1, max: 1, info: true, kind: "godwit_stream_lag_response",
		fail: func(h jsapi.Header) any {
			return jsapi.StreamLagResponse{Header: h, Consumers: []*jsapi.ConsumerLag{}}
		}}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.PageRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		names := s.Partitions().ConsumerNames()
		resp := jsapi.StreamLagResponse{Header: r.head(), Page: page(len(names), req.Offset, jsapi.LagPage), Consumers: []*jsapi.ConsumerLag{}}
		for _, name := range cut(names, resp.Page) {
			if lag, err := s.Partitions().Lag(name); err == nil { // else it was deleted meanwhile
				resp.Consumers = append(resp.Consumers, lag)
			}
		}
		return resp, nil
	}
	return e
}
