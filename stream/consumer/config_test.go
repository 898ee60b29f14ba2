package consumer

import (
	"encoding/json"
	"testing"

	"godwit/protocol/jsapi"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConfigTexts(t *testing.T) {
	stream := jsapi.StreamConfig{Name: "A", Subjects: []string{"a.>"}, Replicas: 1}
	tests := []struct {
		cfg  string
		code jsapi.Code
		text string // empty: the table's
	}{
		{`{"ack_policy":"explicit","filter_subjects":["a.b","a.>"]}`, jsapi.ErrConsumerOverlappingSubjectFilters, ""},
		{`{"ack_policy":"explicit","filter_subjects":["a.b",""]}`, jsapi.ErrConsumerEmptyFilter, ""},
		{`{"ack_policy":"explicit","filter_subject":"a..b"}`, jsapi.ErrStreamInvalidConfig, "invalid subject"},
		{`{"filter_subject":"a.b","filter_subjects":["a.c"]}`, jsapi.ErrConsumerDuplicateFilterSubjects, ""},
		{`{"ack_policy":"explicit","backoff":[1,2],"max_deliver":1}`, jsapi.ErrConsumerMaxDeliverBackoff, ""},
		{`{"ack_policy":"explicit","backoff":[-1]}`, jsapi.ErrConsumerBackOffNegative, ""},
		{`{"ack_policy":"explicit","ack_wait":-1}`, jsapi.ErrConsumerAckWaitNegative, ""},
		{`{"ack_policy":"explicit","deliver_subject":"x.*"}`, jsapi.ErrConsumerDeliverToWildcards, ""},
		{`{"ack_policy":"explicit","deliver_subject":"x..a"}`, jsapi.ErrConsumerInvalidDeliverSubject, ""},
		{`{"ack_policy":"explicit","deliver_subject":"a.q"}`, jsapi.ErrConsumerDeliverCycle, ""},
		{`{"ack_policy":"explicit","deliver_subject":"x","max_waiting":2}`, jsapi.ErrConsumerPushMaxWaiting, ""},
		{`{"deliver_subject":"x","max_ack_pending":2}`, jsapi.ErrConsumerMaxPendingAckPolicyRequired, ""},
		{`{"deliver_subject":"x","idle_heartbeat":200}`, jsapi.ErrConsumerSmallHeartbeat, ""},
		{`{"deliver_subject":"x","flow_control":true}`, jsapi.ErrConsumerWithFlowControlNeedsHeartbeats, ""},
		{`{"ack_policy":"explicit","rate_limit_bps":5}`, jsapi.ErrConsumerPullWithRateLimit, ""},
		{`{"ack_policy":"explicit","idle_heartbeat":5}`, jsapi.ErrConsumerHBRequiresPush, ""},
		{`{"ack_policy":"explicit","flow_control":true}`, jsapi.ErrConsumerFCRequiresPush, ""},
		{`{"ack_policy":"explicit","max_expires":5}`, jsapi.ErrConsumerMaxRequestExpiresTooSmall, ""},
		{`{"num_replicas":3}`, jsapi.ErrConsumerReplicasExceedsStream, ""},
		{`{"num_replicas":-1}`, jsapi.ErrReplicasCountCannotBeNegative, ""},
		{`{"opt_start_seq":5}`, jsapi.ErrConsumerInvalidPolicy, "consumer delivery policy is deliver all, but optional start sequence is also set"},
		{`{"deliver_policy":"last_per_subject","opt_start_time":"2020-01-01T00:00:00Z","filter_subject":"a.b"}`, jsapi.ErrConsumerInvalidPolicy,
			"consumer delivery policy is deliver last per subject, but optional start time is also set"},
		{`{"deliver_policy":"by_start_sequence"}`, jsapi.ErrConsumerInvalidPolicy,
			"consumer delivery policy is deliver by start sequence, but optional start sequence is not set"},
		{`{"deliver_policy":"by_start_time"}`, jsapi.ErrConsumerInvalidPolicy,
			"consumer delivery policy is deliver by start time, but optional start time is not set"},
		{`{"deliver_policy":"by_start_time","opt_start_seq":3,"opt_start_time":"2020-01-01T00:00:00Z"}`, jsapi.ErrConsumerInvalidPolicy,
			"consumer delivery policy is deliver by start time, but optional start start sequence is also set"},
		{`{"deliver_policy":"last_per_subject"}`, jsapi.ErrConsumerInvalidPolicy,
			"consumer delivery policy is deliver last per subject, but optional filter subject is not set"},
		{`{"sample_freq":"x"}`, jsapi.ErrConsumerInvalidSampling,
			`failed to parse consumer sampling configuration: strconv.Atoi: parsing "x": invalid syntax`},
		{`{"direct":true}`, jsapi.ErrConsumerDirectRequiresPush, ""},
		{`{"priority_groups":["a"]}`, jsapi.ErrConsumerPriorityGroupWithPolicyNone, ""},
		{`{"priority_policy":"overflow"}`, jsapi.ErrConsumerPriorityPolicyWithoutGroup, ""},
		{`{"priority_policy":"overflow","priority_groups":["a b"]}`, jsapi.ErrConsumerInvalidGroupName, ""},
		{`{"priority_policy":"overflow","priority_groups":[""]}`, jsapi.ErrConsumerEmptyGroupName, ""},
		{`{"priority_timeout":5}`, jsapi.ErrConsumerPinnedTTLWithoutPriorityPolicyNone, ""},
		{`{"ack_policy":"flow_control"}`, jsapi.ErrConsumerAckFCRequiresPush, ""},
		{`{"durable_name":"a b"}`, jsapi.ErrStreamInvalidConfig, `consumer durable name can not contain '.', '*', '>', '\', '/'`},
		{`{"name":"a.b"}`, jsapi.ErrStreamInvalidConfig, `consumer name can not contain '.', '*', '>', '\', '/'`},
		{`{"name":"a","durable_name":"b"}`, jsapi.ErrConsumerCreateDurableAndNameMismatch, ""},
		{`{"ack_policy":"flow_control"}`, jsapi.ErrConsumerAckFCRequiresPush, ""},
		{`{"ack_policy":"flow_control","deliver_subject":"d","max_ack_pending":-1}`, jsapi.ErrConsumerAckFCRequiresMaxAckPending, ""},
		{`{"ack_policy":"flow_control","deliver_subject":"d","backoff":[1000]}`, jsapi.ErrConsumerAckFCRequiresNoAckWait, ""},
		{`{"ack_policy":"flow_control","deliver_subject":"d","ack_wait":1000}`, jsapi.ErrConsumerAckFCRequiresNoAckWait, ""},
		{`{"ack_policy":"flow_control","deliver_subject":"d","max_deliver":1}`, jsapi.ErrConsumerAckFCRequiresNoMaxDeliver, ""},
	}
	for _, tt := range tests {
		var cfg jsapi.ConsumerConfig
		if err := jsapi.Decode([]byte(tt.cfg), &cfg, true); err != nil {
			t.Fatalf("%s: %v", tt.cfg, err)
		}
		want := tt.text
		if want == "" {
			want = jsapi.Err(tt.code).Description
		}
		err := Check(&cfg, &stream, Limits{}, false)
		if err == nil || err.Code != tt.code || err.Description != want {
			t.Errorf("%s: got %+v, want %d %q", tt.cfg, err, tt.code, want)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	stream := jsapi.StreamConfig{Name: "A", Subjects: []string{"a.>"}, Replicas: 1}
	for in, want := range map[string]string{
		`{"ack_policy":"none"}`: `{"deliver_policy":"all","ack_policy":"none","max_deliver":-1,"replay_policy":"instant","max_waiting":512,"inactive_threshold":5000000000,"num_replicas":0}`,
		`{"ack_policy":"flow_control","durable_name":"d","deliver_subject":"x","idle_heartbeat":5000000000}`:     `{"durable_name":"d","deliver_policy":"all","ack_policy":"flow_control","max_deliver":-1,"replay_policy":"instant","max_ack_pending":1000,"flow_control":true,"deliver_subject":"x","idle_heartbeat":1000000000,"num_replicas":0}`,
		`{"ack_policy":"explicit","durable_name":"d","priority_policy":"pinned_client","priority_groups":["A"]}`: `{"durable_name":"d","deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,"max_deliver":-1,"replay_policy":"instant","max_waiting":512,"max_ack_pending":1000,"num_replicas":0,"priority_groups":["A"],"priority_policy":"pinned_client","priority_timeout":120000000000}`,
		`{"ack_policy":"explicit","durable_name":"d","max_ack_pending":-5,"max_deliver":-3,"max_waiting":-1}`:    `{"durable_name":"d","deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,"max_deliver":-1,"replay_policy":"instant","max_waiting":512,"max_ack_pending":-1,"num_replicas":0}`,
		`{"ack_policy":"explicit","backoff":[1000000000,2000000000],"ack_wait":5000000000,"durable_name":"d"}`:   `{"durable_name":"d","deliver_policy":"all","ack_policy":"explicit","ack_wait":1000000000,"max_deliver":-1,"backoff":[1000000000,2000000000],"replay_policy":"instant","max_waiting":512,"max_ack_pending":1000,"num_replicas":0}`,
	} {
		var cfg jsapi.ConsumerConfig
		if err := jsapi.Decode([]byte(in), &cfg, true); err != nil {
			t.Fatal(err)
		}
		if err := Check(&cfg, &stream, Limits{}, false); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		FillNew(&cfg)
		if got := encode(t, &cfg); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}
