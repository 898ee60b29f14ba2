package jsapi

import "godwit/protocol/jsapi"

// streamDelete answers STREAM.DELETE.S: the stream, its consumers and its files go. Errors: 10038 for a body, 10059.
func streamDelete() *endpoint {
	e := &endpoint{words: "STREAM.DELETE", min: 1, max: 1, kind: "stream_delete_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if !jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrNotEmptyRequest)
		}
		if err := r.caller.account.Delete(r.args[0]); err != nil {
			return nil, err
		}
		return jsapi.SuccessResponse{Header: r.head(), Success: true}, nil
	}
	return e
}

// streamPurge answers STREAM.PURGE.S: messages go, all or as the body selects them. Errors: 10059, 10003 for a
// selection that contradicts itself, 10109, 10110.
func streamPurge() *endpoint {
	e := &endpoint{words: "STREAM.PURGE", min: 1, max: 1, kind: "stream_purge_response",
		fail: func(h jsapi.Header) any { return jsapi.StreamPurgeResponse{Header: h} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.PurgeRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		n, err := s.Partitions().Purge(&req)
		if err != nil {
			return nil, err
		}
		return jsapi.StreamPurgeResponse{Header: r.head(), Success: true, Purged: n}, nil
	}
	return e
}
