package jsapi

import (
	"godwit/protocol/jsapi"
)

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
