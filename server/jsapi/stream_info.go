package jsapi

import (
	"godwit/protocol/jsapi"
	"godwit/stream"
)

// streamInfo answers STREAM.INFO.S. The body may ask for removed sequences and for subjects, paged. Error: 10059.
func streamInfo() *endpoint {
	e := &endpoint{words: "STREAM.INFO", min: 1, max: 1, info: true, kind: "stream_info_response",
		fail: func(h jsapi.Header) any { return jsapi.StreamInfoResponse{Header: h} }}
	e.serve = func(r *request) (any, *jsapi.Error) {
		var req jsapi.StreamInfoRequest
		if err := r.decodeOptional(&req); err != nil {
			return nil, err
		}
		s, err := r.stream()
		if err != nil {
			return nil, err
		}
		info, total, err := s.Info(stream.InfoRequest{Deleted: req.DeletedDetails, Subjects: req.SubjectsFilter, Offset: req.Offset})
		if err != nil {
			return nil, err
		}
		r.decorate(&info.Config)
		info.Cluster = &jsapi.ClusterInfo{Leader: r.api.service.Options().ServerName}
		resp := jsapi.StreamInfoResponse{Header: r.head(), StreamInfo: info}
		if total > 0 {
			resp.Page = jsapi.Page{Total: total, Offset: max(0, req.Offset), Limit: jsapi.SubjectsPage}
		}
		return resp, nil
	}
	return e
}
