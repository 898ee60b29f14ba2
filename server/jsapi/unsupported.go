package jsapi

import (
	"godwit/protocol/jsapi"
)

// unsupported is the error of a request that is known and cannot be done.
func unsupported(what string) *jsapi.Error {
	return &jsapi.Error{Status: 500, Code: jsapi.ErrStreamGeneralError, Description: what + " is not supported by this server"}
}

// streamSnapshot answers STREAM.SNAPSHOT.S with an error, as there are no backups of single streams.
func streamSnapshot() *endpoint {
	e := &endpoint{words: "STREAM.SNAPSHOT", min: 1, max: 1, kind: "stream_snapshot_response"}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrBadRequest)
		}
		if _, err := r.stream(); err != nil {
			return nil, err
		}
		return nil, unsupported("stream snapshot")
	}
	return e
}

// streamRestore answers STREAM.RESTORE.S with an error likewise.
func streamRestore() *endpoint {
	e := &endpoint{words: "STREAM.RESTORE", min: 1, max: 1, kind: "stream_restore_response",
		fail: func(h jsapi.Header) any {
			return struct {
				jsapi.Header
				DeliverSubject string `json:"deliver_subject"`
			}{Header: h}
		}}
	e.serve = func(r *request) (any, *jsapi.Error) {
		if jsapi.Empty(r.body) {
			return nil, jsapi.Err(jsapi.ErrBadRequest)
		}
		return nil, unsupported("stream restore")
	}
	return e
}

// clusterOnly answers the requests that make sense in a cluster only.
func clusterOnly() []*endpoint {
	var list []*endpoint
	for _, c := range []struct {
		words string
		args  int
		kind  string
	}{
		{"STREAM.LEADER.STEPDOWN", 1, "stream_leader_stepdown_response"},
		{"STREAM.PEER.REMOVE", 1, "stream_remove_peer_response"},
		{"STREAM.PEER.EVACUATE", 1, "stream_evacuate_peer_response"},
		{"STREAM.CANCEL_MOVE", 1, "stream_cancel_move_response"},
		{"CONSUMER.LEADER.STEPDOWN", 2, "consumer_leader_stepdown_response"},
		{"CONSUMER.PEER.REMOVE", 2, "consumer_remove_peer_response"},
		{"CONSUMER.PEER.EVACUATE", 2, "consumer_evacuate_peer_response"},
	} {
		list = append(list, &endpoint{words: c.words, min: c.args, max: c.args, kind: c.kind,
			serve: func(*request) (any, *jsapi.Error) { return nil, jsapi.Err(jsapi.ErrClusterRequired) }})
	}
	return list
}
