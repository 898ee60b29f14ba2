package jsapi

import "godwit/protocol/jsapi"

// msgGet answers STREAM.MSG.GET.S with one stored message. Errors: 10003 for a body that selects nothing or contradicts
// itself, 10059, 10037.
func msgGet() *endpoint {
	e := &endpoint{words: "STREAM.MSG.GET", min: 1, max: 1, info: true, kind: "stream_msg_get_response", quiet: true}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrBadRequest)
		}
		var req jsapi.MsgGetRequest
		if err := r.decode(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		msg, err := s.Partitions().Get(&req)
		if err != nil {
			return nil, err
		}
		return jsapi.MsgGetResponse{Header: r.head(), Message: msg}, nil
	}
	return e
}

// msgDelete answers STREAM.MSG.DELETE.S: one message goes, and unless no_erase says otherwise its content is overwritten
// before the answer. Errors: 10003 without body, 10059, 10109, 10057.
func msgDelete() *endpoint {
	e := &endpoint{words: "STREAM.MSG.DELETE", min: 1, max: 1, kind: "stream_msg_delete_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrBadRequest)
		}
		var req jsapi.MsgDeleteRequest
		if err := r.decode(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		remove := s.Partitions().Erase
		if req.NoErase {
			remove = s.Partitions().Delete
		}
		if err := remove(req.Seq); err != nil {
			return nil, err
		}
		return jsapi.SuccessResponse{Header: r.head(), Success: true}, nil
	}
	return e
}
