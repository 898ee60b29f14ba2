package system

import (
	"encoding/json"
	"testing"
)

func TestFilter(t *testing.T) {
	server := &Identity{Name: "n1-east", Cluster: "east", Host: "10.0.0.1", Domain: "hub", Tags: []string{"az:1", "SSD"}}
	tests := []struct {
		body string
		want bool
	}{
		{`{}`, true},
		{`{"server_name":"n1"}`, true},
		{`{"server_name":"east"}`, true},
		{`{"server_name":"N1"}`, false},
		{`{"server_name":"n1","exact_match":true}`, false},
		{`{"server_name":"n1-east","exact_match":true}`, true},
		{`{"exact_match":true}`, true},
		{`{"cluster":"eas"}`, true},
		{`{"cluster":"eas","exact_match":true}`, false},
		{`{"cluster":"west"}`, false},
		{`{"host":"10."}`, true},
		{`{"host":"10.","exact_match":true}`, false},
		{`{"domain":"hub"}`, true},
		{`{"domain":"hu"}`, false},
		{`{"tags":["AZ:1","ssd"]}`, true},
		{`{"tags":["az:1","hdd"]}`, false},
		{`{"server_name":"n1","cluster":"west"}`, false},
		{`{"server_name":"n1","host":"0.0.1","tags":["ssd"],"domain":"hub","cluster":"east"}`, true},
	}
	for _, tt := range tests {
		var f filter
		if err := json.Unmarshal([]byte(tt.body), &f); err != nil {
			t.Fatal(err)
		}
		if got := f.admits(server); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.body, got, tt.want)
		}
	}
	if f := (filter{Cluster: "c"}); f.admits(&Identity{Name: "alone"}) {
		t.Error("a server without a cluster answers for one")
	}
}
