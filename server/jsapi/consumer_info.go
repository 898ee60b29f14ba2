package jsapi

import (
	"godwit/protocol/jsapi"
)

// consumerInfo answers CONSUMER.INFO.S.C. Errors: 10038 for a body, 10059, 10014.
func consumerInfo() *endpoint {
	e := &endpoint{words: "CONSUMER.INFO", min: 2, max: 2, info: true, kind: "consumer_info_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if !jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrNotEmptyRequest)
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		info, err := s.Partitions().ConsumerInfo(r.args[1])
		if err != nil {
			return nil, err
		}
		r.decorateConsumer(info)
		return jsapi.ConsumerResponse{Header: r.head(), ConsumerInfo: info}, nil
	}
	return e
}

// consumerNames answers CONSUMER.NAMES.S with a page of names, sorted. Error: 10059.
func consumerNames() *endpoint {
	e := &endpoint{words: "CONSUMER.NAMES", min: 1, max: 1, info: true, kind: "consumer_names_response",
		fail: func(h jsapi.Header) any { return jsapi.ConsumerNamesResponse{Header: h, Consumers: []string{}} }}
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
		resp := jsapi.ConsumerNamesResponse{Header: r.head(), Page: page(len(names), req.Offset, jsapi.NamesPage), Consumers: []string{}}
		resp.Consumers = append(resp.Consumers, cut(names, resp.Page)...)
		return resp, nil
	}
	return e
}

// consumerList answers CONSUMER.LIST.S as consumerNames does, with descriptions.
func consumerList() *endpoint {
	e := &endpoint{words: "CONSUMER.LIST", min: 1, max: 1, info: true, kind: "consumer_list_response",
		fail: func(h jsapi.Header) any {
			return jsapi.ConsumerListResponse{Header: h, Consumers: []*jsapi.ConsumerInfo{}}
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
		list, total := s.Partitions().Consumers(max(0, req.Offset), jsapi.ListPage)
		resp := jsapi.ConsumerListResponse{Header: r.head(), Page: page(total, req.Offset, jsapi.ListPage), Consumers: []*jsapi.ConsumerInfo{}}
		resp.Consumers = append(resp.Consumers, list...)
		return resp, nil
	}
	return e
}

// consumerDelete answers CONSUMER.DELETE.S.C. Errors: 10038 for a body, 10059, 10014.
func consumerDelete() *endpoint {
	e := &endpoint{words: "CONSUMER.DELETE", min: 2, max: 2, kind: "consumer_delete_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if !jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrNotEmptyRequest)
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		if err := s.Partitions().DeleteConsumer(r.args[1]); err != nil {
			return nil, err
		}
		return jsapi.SuccessResponse{Header: r.head(), Success: true}, nil
	}
	return e
}
