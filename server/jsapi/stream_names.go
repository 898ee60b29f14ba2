package jsapi

import (
	"godwit/protocol/jsapi"
	"godwit/stream"
)

// streamNames answers STREAM.NAMES with a page of names, sorted, of all streams or of those that have subjects in
// common with the one in the body.
func streamNames() *endpoint {
	e := &endpoint{words: "STREAM.NAMES", info: true, kind: "stream_names_response",
		fail: func(h jsapi.Header) any { return jsapi.StreamNamesResponse{Header: h} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.StreamsRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		list := r.caller.account.Streams(req.Subject)
		resp := jsapi.StreamNamesResponse{Header: r.head(), Page: page(len(list), req.Offset, jsapi.NamesPage)}
		for _, s := range cut(list, resp.Page) {
			resp.Streams = append(resp.Streams, s.Name())
		}
		return resp, nil
	}
	return e
}

// streamList answers STREAM.LIST as streamNames does, with descriptions.
func streamList() *endpoint {
	e := &endpoint{words: "STREAM.LIST", info: true, kind: "stream_list_response",
		fail: func(h jsapi.Header) any { return jsapi.StreamListResponse{Header: h, Streams: []*jsapi.StreamInfo{}} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.StreamsRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		list := r.caller.account.Streams(req.Subject)
		resp := jsapi.StreamListResponse{Header: r.head(), Page: page(len(list), req.Offset, jsapi.ListPage), Streams: []*jsapi.StreamInfo{}}
		for _, s := range cut(list, resp.Page) {
			info, _, err := s.Info(stream.InfoRequest{})
			if err != nil {
				continue // deleted meanwhile
			}
			resp.Streams = append(resp.Streams, info)
		}
		return resp, nil
	}
	return e
}

// page clamps the offset of a request.
func page(total, offset, limit int) jsapi.Page {
	return jsapi.Page{Total: total, Offset: min(max(0, offset), total), Limit: limit}
}

// cut returns the part of a list that a page holds.
func cut[T any](list []T, p jsapi.Page) []T {
	return list[p.Offset:min(len(list), p.Offset+p.Limit)]
}
