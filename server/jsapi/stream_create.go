package jsapi

import (
	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/stream"
)

// streamCreate answers STREAM.CREATE.S: makes the stream of the configuration in the body, or returns the one there is
// with the same. Errors: those of names (10056, 10128, 10052), configuration, limits, and 10058 and 10065 for what is
// taken.
func streamCreate() *endpoint {
	e := &endpoint{words: "STREAM.CREATE", min: 1, max: 1, kind: "stream_create_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		req, err := r.streamConfig()
		if err != nil {
			return nil, err
		}
		s, err := r.caller.account.Create(req.StreamConfig, req.Pedantic)
		if err != nil {
			return nil, err
		}
		info, err := r.streamInfo(s)
		if err != nil {
			return nil, err
		}
		info.Domain = ""
		return jsapi.StreamCreateResponse{Header: r.head(), StreamInfo: info, DidCreate: true}, nil
	}
	return e
}

// streamUpdate answers STREAM.UPDATE.S: the configuration in the body, which is whole, becomes that of the stream.
// Errors: as for create, 10059, and what cannot be changed.
func streamUpdate() *endpoint {
	e := &endpoint{words: "STREAM.UPDATE", min: 1, max: 1, kind: "stream_update_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		req, err := r.streamConfig()
		if err != nil {
			return nil, err
		}
		s, err := r.caller.account.Update(req.StreamConfig, req.Pedantic)
		if err != nil {
			return nil, err
		}
		info, err := r.streamInfo(s)
		if err != nil {
			return nil, err
		}
		return jsapi.StreamUpdateResponse{Header: r.head(), StreamInfo: info}, nil
	}
	return e
}

// streamConfig reads the body of create and update and checks the name.
func (r *request) streamConfig() (*jsapi.StreamConfigRequest, *jsapi.Error) {
	req := &jsapi.StreamConfigRequest{}
	if err := r.decode(req); err != nil {
		return nil, err
	}
	if req.Name != r.args[0] {
		return nil, jsapi.Err(jsapi.ErrStreamMismatch)
	}
	if jsapi.HasPathSeparator(r.args[0]) {
		return nil, jsapi.Err(jsapi.ErrStreamNameContainsPathSeparators)
	}
	return req, nil
}

// streamInfo describes a stream for an answer about it alone.
func (r *request) streamInfo(s *jetstream.Stream) (*jsapi.StreamInfo, *jsapi.Error) {
	info, _, err := s.Info(stream.InfoRequest{})
	if err != nil {
		return nil, err
	}
	r.decorate(&info.Config)
	return info, nil
}
