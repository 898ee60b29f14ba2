package jsapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestErrorTableIsSorted(t *testing.T) {
	for i := 1; i < len(table); i++ {
		if table[i-1].code >= table[i].code {
			t.Errorf("%d comes before %d", table[i-1].code, table[i].code)
		}
	}
	for _, e := range table {
		if got := Err(e.code); got.Status != e.status || got.Code != e.code || got.Description != e.text {
			t.Errorf("%d gives %+v", e.code, got)
		}
	}
}

func TestErr(t *testing.T) {
	tests := []struct {
		err  *Error
		want string
	}{
		{Err(ErrStreamNotFound), `{"code":404,"err_code":10059,"description":"stream not found"}`},
		{Err(ErrStreamWrongLastSequence, "seq", "7"), `{"code":400,"err_code":10071,"description":"wrong last sequence: 7"}`},
		{Err(ErrStreamExternalApiOverlap, "prefix", "p", "subject", "s"),
			`{"code":400,"err_code":10021,"description":"stream external api prefix p must not overlap with s"}`},
		{InvalidConfig("some text"), `{"code":500,"err_code":10052,"description":"some text"}`},
		{Wrap(ErrStreamCreate, errors.New("disk full")), `{"code":500,"err_code":10049,"description":"disk full"}`},
		{Wrap(ErrStreamCreate, fmt.Errorf("wrapped: %w", Err(ErrStreamNotFound))), `{"code":404,"err_code":10059,"description":"stream not found"}`},
		{Err(9999), `{"code":500,"err_code":9999,"description":"unknown error"}`},
	}
	for _, tt := range tests {
		b, err := json.Marshal(tt.err)
		if err != nil || string(b) != tt.want {
			t.Errorf("got %s, %v; want %s", b, err, tt.want)
		}
	}
	if !Is(fmt.Errorf("x: %w", Err(ErrStreamNotFound)), ErrStreamNotFound) || Is(errors.New("x"), ErrStreamNotFound) {
		t.Error("Is does not look at the code")
	}
}

// The texts are those of a decoder that clients have seen for years.
func TestDecodeTexts(t *testing.T) {
	stream := func() any { return &StreamConfigRequest{} }
	consumer := func() any { return &CreateConsumerRequest{} }
	tests := []struct {
		into       func() any
		body, want string // the text after "invalid JSON: ", empty if it is fine
	}{
		{stream, `{"name":"A"}`, ""},
		{stream, ``, ""},
		{stream, ` {"name":"A"} {"name":"B"} `, ""},
		{stream, `{"name":"A","foo":1}`, `json: unknown field "foo"`},
		{stream, `{"name":"A"`, "unexpected EOF"},
		{stream, `{"name":"A"}}`, "invalid character '}' looking for beginning of value at offset 13"},
		{stream, `junk`, "invalid character 'j' looking for beginning of value at offset 1"},
		{stream, `{"retention":"x"}`, `can not unmarshal "\"x\""`},
		{stream, `{"retention":5}`, `can not unmarshal "5"`},
		{stream, `{"retention":""}`, `can not unmarshal "\"\""`},
		{stream, `{"discard":null}`, `can not unmarshal "null"`},
		{stream, `{"compression":"x"}`, "unknown compression algorithm"},
		{stream, `{"compression":null}`, "unknown compression algorithm"},
		{stream, `{"persist_mode":""}`, ""},
		{stream, `{"persist_mode":null}`, `can not unmarshal "null"`},
		{stream, `{"name":5}`, "json: cannot unmarshal number into Go struct field StreamConfigRequest.StreamConfig.name of type string"},
		{stream, `{"max_msgs":"x"}`, "json: cannot unmarshal string into Go struct field StreamConfigRequest.StreamConfig.max_msgs of type int64"},
		{consumer, `{"stream_name":"A","config":{"ack_policy":"explicit"},"action":"bogus"}`, `unknown consumer action: "bogus"`},
		{consumer, `{"action":5}`, "unknown consumer action: 5"},
		{consumer, `{"action":null}`, "unknown consumer action: null"},
		{consumer, `{"action":""}`, ""},
		{consumer, `{"config":{"ack_policy":""}}`, `can not unmarshal "\"\""`},
		{consumer, `{"config":{"deliver_policy":"undefined"}}`, ""},
		{consumer, `{"config":{"deliver_policy":""}}`, `can not unmarshal "\"\""`},
		{consumer, `{"config":{"deliver_policy":"\u0061ll"}}`, `can not unmarshal "\"\\u0061ll\""`},
		{consumer, `{"config":{"priority_policy":""}}`, `unknown priority policy: ""`},
		{consumer, `{"config":{"max_deliver":1.5}}`, "json: cannot unmarshal number 1.5 into Go struct field ConsumerConfig.config.max_deliver of type int"},
		{consumer, `{"config":{"backoff":"x"}}`, "json: cannot unmarshal string into Go struct field ConsumerConfig.config.backoff of type []time.Duration"},
		{consumer, `{"config":{"opt_start_time":"x"}}`, `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`},
	}
	for _, tt := range tests {
		err := Decode([]byte(tt.body), tt.into(), true)
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Description, "invalid JSON: ")
			if err.Code != ErrInvalidJSON || err.Status != 400 {
				t.Errorf("%s: %+v", tt.body, err)
			}
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.body, got, tt.want)
		}
	}
	if err := Decode([]byte(`{"name":"A","foo":1}`), &StreamConfigRequest{}, false); err != nil {
		t.Errorf("lenient: %v", err)
	}
}

func TestEmptyBodies(t *testing.T) {
	for body, want := range map[string][2]bool{ // Empty, JSONOrEmpty
		"": {true, false}, " \r\n": {true, false}, "{}": {true, true}, " {} ": {true, true}, "{ }": {false, true}, "[]": {false, true},
		"junk": {false, false}, "5": {false, false}, `{"a":1}`: {false, true},
	} {
		if got := Empty([]byte(body)); got != want[0] {
			t.Errorf("%q empty: %v", body, got)
		}
		if got := JSONOrEmpty([]byte(body)); got != want[1] {
			t.Errorf("%q JSON: %v", body, got)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"A": true, "ä-_$": true, "": false, "a.b": false, "a b": false, "a*": false, ">": false,
		"a/b": false, `a\b`: false, "a\tb": false, "a\fb": false, "a\nb": false} {
		if got := ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestMetadata(t *testing.T) {
	in := map[string]string{"a": "b", MetaLevel: "9", MetaVersion: "1.2.3", MetaRequiredLevel: "3"}
	got := Decorate(in, 1, "2.15.2")
	want := map[string]string{"a": "b", MetaLevel: "5", MetaVersion: "2.15.2", MetaRequiredLevel: "1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if in[MetaLevel] != "9" {
		t.Error("the argument was changed")
	}
	if got := StripMetadata(in); !reflect.DeepEqual(got, map[string]string{"a": "b"}) {
		t.Errorf("got %v", got)
	}
	if got := StripMetadata(map[string]string{MetaLevel: "9"}); got != nil {
		t.Errorf("got %v", got)
	}
	if n := MetadataSize(map[string]string{"ab": "cde"}); n != 5 {
		t.Errorf("size %d", n)
	}
}

func TestRequiredLevel(t *testing.T) {
	until := time.Now()
	for want, cfgs := range map[int][]StreamConfig{
		0: {{}, {AllowDirect: true}}, 1: {{AllowMsgTTL: true}, {SubjectDeleteMarkerTTL: time.Second}},
		2: {{AllowMsgCounter: true}, {AllowAtomicPublish: true}, {AllowMsgSchedules: true}, {PersistMode: AsyncPersist}},
		4: {{AllowBatchPublish: true, AllowMsgTTL: true}},
	} {
		for _, c := range cfgs {
			if got := c.RequiredLevel(); got != want {
				t.Errorf("%+v: %d", c, got)
			}
		}
	}
	for want, cfgs := range map[int][]ConsumerConfig{
		0: {{}, {PauseUntil: &time.Time{}}}, 1: {{PauseUntil: &until}, {PriorityPolicy: PriorityOverflow}}, 4: {{AckPolicy: AckFlowControl}},
	} {
		for _, c := range cfgs {
			if got := c.RequiredLevel(); got != want {
				t.Errorf("%+v: %d", c, got)
			}
		}
	}
}

// Which keys are there is what clients look at; these are answers of the server everybody knows.
func TestResponseKeys(t *testing.T) {
	h := func(kind string) Header { return Header{Type: TypePrefix + kind, Error: Err(ErrStreamNotFound)} }
	const e = `"error":{"code":404,"err_code":10059,"description":"stream not found"}`
	const p = `{"type":"io.nats.jetstream.api.v1.`
	tests := []struct {
		v    any
		want string
	}{
		{StreamInfoResponse{Header: h("stream_info_response")}, p + `stream_info_response",` + e + `,"total":0,"offset":0,"limit":0}`},
		{StreamCreateResponse{Header: h("stream_create_response")}, p + `stream_create_response",` + e + `}`},
		{StreamPurgeResponse{Header: h("stream_purge_response")}, p + `stream_purge_response",` + e + `,"purged":0}`},
		{SuccessResponse{Header: h("stream_delete_response")}, p + `stream_delete_response",` + e + `}`},
		{ConsumerListResponse{Header: h("consumer_list_response"), Consumers: []*ConsumerInfo{}}, p + `consumer_list_response",` + e +
			`,"total":0,"offset":0,"limit":0,"consumers":[]}`},
		{ConsumerPauseResponse{Header: h("consumer_pause_response")}, p + `consumer_pause_response",` + e +
			`,"paused":false,"pause_until":"0001-01-01T00:00:00Z"}`},
		{StreamNamesResponse{Header: Header{Type: "t"}, Page: Page{Limit: NamesPage}}, `{"type":"t","total":0,"offset":0,"limit":1024,"streams":null}`},
		{PubAck{Error: Err(ErrStreamNotFound), Stream: "S"}, `{` + e + `,"stream":"S","seq":0}`},
		{PubAck{Stream: "S", Sequence: 7, Domain: "D"}, `{"stream":"S","seq":7,"domain":"D"}`},
		{&StreamConfig{Name: "A"}, `{"name":"A","retention":"limits","max_consumers":0,"max_msgs":0,"max_bytes":0,"max_age":0,` +
			`"max_msgs_per_subject":0,"max_msg_size":0,"discard":"old","storage":"file","num_replicas":0,"compression":"none",` +
			`"allow_direct":false,"mirror_direct":false,"sealed":false,"deny_delete":false,"deny_purge":false,` +
			`"allow_rollup_hdrs":false,"consumer_limits":{},"allow_msg_ttl":false}`},
		{&StreamState{}, `{"messages":0,"bytes":0,"first_seq":0,"first_ts":"0001-01-01T00:00:00Z","last_seq":0,` +
			`"last_ts":"0001-01-01T00:00:00Z","consumer_count":0}`},
		{&ConsumerConfig{}, `{"deliver_policy":"all","ack_policy":"none","replay_policy":"instant","num_replicas":0}`},
	}
	for _, tt := range tests {
		b, err := json.Marshal(tt.v)
		if err != nil || string(b) != tt.want {
			t.Errorf("%T:\n got %s, %v\nwant %s", tt.v, b, err, tt.want)
		}
	}
}

func FuzzStreamConfig(f *testing.F) {
	f.Add([]byte(`{"name":"KV_B","subjects":["$KV.B.\u003e"],"retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"discard":"new","max_age":0,"max_msgs_per_subject":3,"max_msg_size":-1,"storage":"file","num_replicas":1,"duplicate_window":120000000000,"deny_delete":true,"allow_rollup_hdrs":true,"compression":"none","allow_direct":true,"mirror_direct":false,"consumer_limits":{}}`))
	f.Add([]byte(`{"mirror":{"name":"x","external":{"api":"a"}},"sources":[null,{"name":"b","subject_transforms":[{"src":"a","dest":"b"}]}],"metadata":{"a":"b"}}`))
	f.Add([]byte(`{"max_age":9223372036854775808}`))
	f.Fuzz(func(t *testing.T, b []byte) { roundTrip(t, b, func() any { return &StreamConfigRequest{} }) })
}

func FuzzConsumerConfig(f *testing.F) {
	f.Add([]byte(`{"stream_name":"A","config":{"durable_name":"C","ack_policy":"explicit","backoff":[1,2],"opt_start_time":"2020-01-01T00:00:00Z"},"action":"create"}`))
	f.Add([]byte(`{"config":{"pause_until":"0001-01-01T00:00:00Z","filter_subjects":["a","b"],"priority_policy":"pinned_client"},"action":""}`))
	f.Fuzz(func(t *testing.T, b []byte) { roundTrip(t, b, func() any { return &CreateConsumerRequest{} }) })
}

// roundTrip decodes, encodes and decodes again: what was read is what is written.
func roundTrip(t *testing.T, b []byte, empty func() any) {
	v := empty()
	if Decode(b, v, true) != nil {
		return
	}
	out, err := json.Marshal(v)
	if err != nil {
		if strings.Contains(err.Error(), "Time.MarshalJSON") {
			return // a time that can be read and not written
		}
		t.Fatalf("%s: %v", b, err)
	}
	again := empty()
	if err := Decode(out, again, true); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	second, err := json.Marshal(again)
	if err != nil || string(second) != string(out) {
		t.Fatalf("%s became %s, %v", out, second, err)
	}
}
