package jsapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/router"
	"godwit/stream/vfs"
)

// Everything acknowledged is there after a power cut: streams, messages, consumers and their acknowledgements.
func TestRestart(t *testing.T) {
	fs := vfs.NewMem()
	v := start(t, fs, nil)
	c := newClient(t, v.index)
	c.ok("STREAM.CREATE.A", `{"name":"A","subjects":["a.>"]}`, nil)
	c.ok("STREAM.CREATE.M", `{"name":"M","subjects":["m"],"storage":"memory"}`, nil)
	c.ok("STREAM.CREATE.gone", `{"name":"gone","subjects":["g"]}`, nil)
	c.ok("STREAM.UPDATE.A", `{"name":"A","subjects":["a.>","b.>"],"description":"changed","allow_direct":true}`, nil)
	c.ok("CONSUMER.CREATE.A.C", `{"stream_name":"A","config":{"durable_name":"C","ack_policy":"explicit"}}`, nil)
	for i := range 5 {
		if ack := c.pub("b.x", "Nats-Msg-Id: "+fmt.Sprint(i)+"\r\n", fmt.Sprint(i)); ack.Sequence != uint64(i+1) {
			t.Fatalf("got %+v", ack)
		}
	}
	in := c.inbox()
	c.publish("$JS.API.CONSUMER.MSG.NEXT.A.C", in.name, "", "3")
	for i := range 3 {
		if m := in.next(t); i != 1 {
			c.request(m.reply, "", "")
		}
	}
	c.ok("STREAM.DELETE.gone", ``, nil)
	cut := fs.CrashClone(rand.New(rand.NewPCG(1, 2)))
	v.stop()
	for name, files := range map[string]*vfs.Mem{"stop": fs, "power cut": cut} {
		t.Run(name, func(t *testing.T) {
			v := start(t, files, nil)
			defer v.stop()
			if p := v.service.Health(); len(p) > 0 {
				t.Fatalf("problems %+v", p)
			}
			c := newClient(t, v.index)
			var names jsapi.StreamNamesResponse
			c.ok("STREAM.NAMES", "", &names)
			if len(names.Streams) != 1 || names.Streams[0] != "A" {
				t.Fatalf("streams %v", names.Streams)
			}
			var info jsapi.StreamInfoResponse
			c.ok("STREAM.INFO.A", "", &info)
			if info.State.Msgs != 5 || info.Config.Description != "changed" || info.State.Consumers != 1 {
				t.Fatalf("info %+v", info.StreamInfo)
			}
			if m, ok := c.request("$JS.API.DIRECT.GET.A", "", `{"seq":2}`); !ok || m.data != "1" {
				t.Fatalf("got %+v", m)
			}
			var ci jsapi.ConsumerResponse
			c.ok("CONSUMER.INFO.A.C", "", &ci)
			if ci.AckFloor.Stream != 1 || ci.NumAckPending != 1 || ci.NumPending != 2 {
				t.Fatalf("consumer %+v", ci.ConsumerInfo)
			}
			if ack := c.pub("b.x", "Nats-Msg-Id: 3\r\n", "again"); !ack.Duplicate || ack.Sequence != 4 {
				t.Fatalf("an id was forgotten: %+v", ack)
			}
			if ack := c.pub("a.y", "", "new"); ack.Sequence != 6 {
				t.Fatalf("got %+v", ack)
			}
			m, ok := c.request("$JS.API.CONSUMER.MSG.NEXT.A.C", "", "")
			if !ok || !strings.HasPrefix(m.reply, "$JS.ACK.A.C.1.4.") {
				t.Fatalf("got %+v", m)
			}
			if n := c.publish("m", "", "", "x"); n != 0 {
				t.Fatal("a memory stream came back")
			}
		})
	}
}

// A client that publishes on several subjects of a stream in one go finds its messages in that order.
func TestOrderAcrossSubjects(t *testing.T) {
	_, c := startClient(t)
	c.ok("STREAM.CREATE.A", `{"name":"A","subjects":["a","b.>","c"]}`, nil)
	subjects := []string{"a", "b.1", "c", "b.2"}
	const n = 5000 // more than one batch holds
	in := c.inbox()
	for i := range n {
		c.send(subjects[rand.IntN(len(subjects))], in.name, "", fmt.Sprint(i))
	}
	c.sender.Flush()
	for range n {
		in.next(t)
	}
	for seq := 1; seq <= n; seq += 97 {
		var r jsapi.MsgGetResponse
		c.ok("STREAM.MSG.GET.A", fmt.Sprintf(`{"seq":%d}`, seq), &r)
		if string(r.Message.Data) != fmt.Sprint(seq-1) {
			t.Fatalf("message %d is the %s-th", seq, r.Message.Data)
		}
	}
}

// Files that belong to no stream are neither used nor deleted.
func TestFilesOfUnknownOrigin(t *testing.T) {
	fs := vfs.NewMem()
	v := start(t, fs, nil)
	c := newClient(t, v.index)
	c.ok("STREAM.CREATE.A", `{"name":"A"}`, nil)
	c.ok("STREAM.CREATE.B", `{"name":"B"}`, nil)
	c.pub("A", "", "x")
	c.pub("B", "", "x")
	v.stop()
	const dir = "/data/jetstream/$G/streams/"
	damage := func(name string) {
		f, err := fs.OpenFile(dir+name, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte("#"), 10); err != nil {
			t.Fatal(err)
		}
	}
	damage("A/stream.json")
	damage("A/stream.copy.json")
	damage("B/stream.json") // it has a copy
	for _, d := range []string{"~new.x/0", "~deleted.y/0", "strange"} {
		if err := fs.MkdirAll(dir + d); err != nil {
			t.Fatal(err)
		}
	}
	v = start(t, fs, nil)
	defer v.stop()
	c = newClient(t, v.index)
	var names jsapi.StreamNamesResponse
	c.ok("STREAM.NAMES", "", &names)
	if len(names.Streams) != 1 || names.Streams[0] != "B" {
		t.Fatalf("streams %v", names.Streams)
	}
	if p := v.service.Health(); len(p) != 2 {
		t.Fatalf("problems %+v", p)
	}
	c.ok("STREAM.CREATE.A", `{"name":"A"}`, nil) // the name is free, the files are kept
	list, err := fs.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range list {
		have = append(have, e.Name)
	}
	if all := strings.Join(have, " "); len(have) != 4 || !strings.Contains(all, "~aside.") || !strings.Contains(all, "strange") {
		t.Fatalf("directories %v", have)
	}
}

func TestAccountLimits(t *testing.T) {
	s, err := jetstream.New(jetstream.Options{StoreDir: "/data", FS: vfs.NewMem(), MaxMemory: -1, MaxStore: 10_000, Version: "2.15.2", ServerName: "S"})
	if err != nil {
		t.Fatal(err)
	}
	x := router.NewIndex()
	a, err := s.EnableAccount("A/../..", x, jsapi.AccountLimits{MaxMemory: 0, MaxStore: 2000, MaxStreams: 2, MaxConsumers: 1, MaxAckPending: 10})
	if err != nil {
		t.Fatal(err)
	}
	api := New(s)
	api.Attach(a)
	defer func() { api.Close(); s.Close() }()
	c := newClient(t, x)
	code := func(verb, body string) jsapi.Code {
		t.Helper()
		var h jsapi.Header
		if err := json.Unmarshal([]byte(c.api(verb, body)), &h); err != nil {
			t.Fatal(err)
		}
		if h.Error == nil {
			return 0
		}
		return h.Error.Code
	}
	for _, tt := range []struct {
		verb, body string
		want       jsapi.Code
	}{
		{"STREAM.CREATE.R", `{"name":"R","max_bytes":3000}`, jsapi.ErrStorageResourcesExceeded},
		{"STREAM.CREATE.M", `{"name":"M","max_bytes":1,"storage":"memory"}`, jsapi.ErrMemoryResourcesExceeded},
		{"STREAM.CREATE.F", `{"name":"F","max_consumers":5}`, jsapi.ErrMaximumConsumersLimit},
		{"STREAM.CREATE.F", `{"name":"F"}`, 0},
		{"STREAM.CREATE.M", `{"name":"M","storage":"memory"}`, 0},
		{"STREAM.CREATE.X", `{"name":"X"}`, jsapi.ErrMaximumStreamsLimit},
		{"CONSUMER.CREATE.F.C", `{"stream_name":"F","config":{"ack_policy":"explicit","durable_name":"C","max_ack_pending":11}}`, jsapi.ErrConsumerMaxPendingAckExcess},
		{"CONSUMER.CREATE.F.C", `{"stream_name":"F","config":{"ack_policy":"explicit","durable_name":"C"}}`, 0},
		{"CONSUMER.CREATE.F.D", `{"stream_name":"F","config":{"ack_policy":"explicit","durable_name":"D"}}`, jsapi.ErrMaximumConsumersLimit},
	} {
		if got := code(tt.verb, tt.body); got != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.verb, tt.body, got, tt.want)
		}
	}
	if ack := c.pub("M", "", "x"); ack.Error == nil || ack.Error.Code != jsapi.ErrAccountResourcesExceeded {
		t.Errorf("memory beyond the limit: %+v", ack)
	}
	if ack := c.pub("F", "", strings.Repeat("x", 1500)); ack.Error != nil {
		t.Errorf("within the limit: %+v", ack.Error)
	}
	if ack := c.pub("F", "", strings.Repeat("x", 1500)); ack.Error == nil || ack.Error.Code != jsapi.ErrAccountResourcesExceeded {
		t.Errorf("beyond the limit: %+v", ack)
	}
	c.ok("STREAM.PURGE.F", "", nil)
	if ack := c.pub("F", "", strings.Repeat("x", 1500)); ack.Error != nil {
		t.Errorf("after a purge: %+v", ack.Error)
	}
	c.ok("STREAM.DELETE.F", "", nil)
	if st := a.Stats(); st.Store != 0 || st.Streams != 1 {
		t.Errorf("after a delete: %+v", st)
	}
}

func TestAccountWithoutStreams(t *testing.T) {
	v := start(t, vfs.NewMem(), nil)
	defer v.stop()
	x := router.NewIndex()
	v.api.Refuse("none", x)
	c := newClient(t, x)
	const want = `{"type":"io.nats.jetstream.api.v1.account_info_response","error":{"code":503,"err_code":10039,"description":"JetStream not enabled for account"}}`
	if got := c.api("INFO", ""); got != want {
		t.Errorf("got %s", got)
	}
}

func TestDomainPrefix(t *testing.T) {
	v := start(t, vfs.NewMem(), func(o *jetstream.Options) { o.Domain = "HUB" })
	defer v.stop()
	c := newClient(t, v.index)
	c.ok("STREAM.CREATE.A", `{"name":"A"}`, nil)
	m, ok := c.request("$JS.HUB.API.STREAM.INFO.A", "", "")
	if !ok || !strings.Contains(m.data, `"domain":"HUB"`) {
		t.Fatalf("got %+v", m)
	}
	if ack := c.pub("A", "", "x"); ack.Domain != "HUB" {
		t.Fatalf("got %+v", ack)
	}
	if _, ok := c.request("$JS.OTHER.API.INFO", "", ""); ok {
		t.Fatal("another domain was answered")
	}
}

func TestAdvisories(t *testing.T) {
	_, c := startClient(t)
	in := c.subscribe("$JS.EVENT.ADVISORY.>")
	next := func(subject string, want ...string) {
		t.Helper()
		m := in.next(t)
		for m.subject == "$JS.EVENT.ADVISORY.API" && subject != m.subject {
			m = in.next(t)
		}
		if m.subject != subject {
			t.Fatalf("got %s, want %s", m.subject, subject)
		}
		for _, w := range want {
			if !strings.Contains(m.data, w) {
				t.Errorf("%s: %s lacks %s", subject, m.data, w)
			}
		}
	}
	c.ok("STREAM.CREATE.A", `{"name":"A"}`, nil)
	next("$JS.EVENT.ADVISORY.STREAM.CREATED.A", `"type":"io.nats.jetstream.advisory.v1.stream_action"`, `"action":"create"`)
	next("$JS.EVENT.ADVISORY.API", `"subject":"$JS.API.STREAM.CREATE.A"`, `"name":"test"`)
	c.ok("CONSUMER.CREATE.A.C", `{"stream_name":"A","config":{"durable_name":"C","ack_policy":"explicit","max_deliver":1}}`, nil)
	next("$JS.EVENT.ADVISORY.CONSUMER.CREATED.A.C", `"consumer":"C"`)
	c.pub("A", "", "x")
	m, _ := c.request("$JS.API.CONSUMER.MSG.NEXT.A.C", "", "")
	c.request(m.reply, "", "-NAK")
	next("$JS.EVENT.ADVISORY.CONSUMER.MSG_NAKED.A.C", `"stream_seq":1`)
	next("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.A.C", `"deliveries":1`)
	c.request(m.reply, "", "+TERM no good")
	next("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.A.C", `"reason":"no good"`)
	c.ok("CONSUMER.DELETE.A.C", "", nil)
	next("$JS.EVENT.ADVISORY.CONSUMER.DELETED.A.C", `"action":"delete"`)
	c.ok("STREAM.DELETE.A", "", nil)
	next("$JS.EVENT.ADVISORY.STREAM.DELETED.A")
}

// FuzzRequests sends anything to every kind of request: each is answered with JSON, or not at all where the protocol
// says so, and the stream still works.
func FuzzRequests(f *testing.F) {
	verbs := []string{"INFO", "STREAM.CREATE.A", "STREAM.UPDATE.A", "STREAM.NAMES", "STREAM.LIST", "STREAM.INFO.A", "STREAM.PURGE.A",
		"STREAM.MSG.GET.A", "STREAM.MSG.DELETE.A", "CONSUMER.CREATE.A.C", "CONSUMER.CREATE.A", "CONSUMER.DURABLE.CREATE.A.D",
		"CONSUMER.NAMES.A", "CONSUMER.LIST.A", "CONSUMER.INFO.A.C", "CONSUMER.DELETE.A.C", "CONSUMER.PAUSE.A.C", "CONSUMER.UNPIN.A.C",
		"STREAM.SNAPSHOT.A", "STREAM.RESTORE.R", "STREAM.CREATE.M"}
	for i, body := range []string{"", "{}", "[]", "junk", `{"offset":-1}`, `{"name":"A","subjects":["a"]}`, `{"name":"A","max_age":9223372036854775807}`,
		`{"seq":18446744073709551615}`, `{"keep":1,"filter":"a"}`, `{"last_by_subj":"*"}`, `{"start_time":"0001-01-01T00:00:00Z"}`,
		`{"stream_name":"A","config":{"ack_policy":"explicit","durable_name":"C","ack_wait":9223372036854775807}}`,
		`{"stream_name":"A","config":{"deliver_policy":"by_start_time","opt_start_time":"9999-01-01T00:00:00Z"}}`, `{"pause_until":"9999-01-01T00:00:00Z"}`,
		`{"deliver_subject":"d","chunk_size":-1,"window_size":9223372036854775807}`, `{"config":{"name":"R","subjects":["r"]},"state":{"last_seq":18446744073709551615}}`,
		`{"name":"M","mirror":{"name":"A","opt_start_seq":18446744073709551615}}`, `{"name":"M","sources":[{"name":"A","subject_transforms":[{"src":"a","dest":"b"}]},{"name":"A"}]}`,
		`{"name":"A","subjects":["a"],"retention":"interest"}`, `{"seq":1,"batch":9223372036854775807,"max_bytes":-1}`, `{"multi_last":["a",">",""],"up_to_seq":18446744073709551615}`} {
		for k := range 3 {
			f.Add(uint(3*i+k), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, verb uint, body []byte) {
		v := start(t, vfs.NewMem(), nil)
		defer v.stop()
		c := newClient(t, v.index)
		c.ok("STREAM.CREATE.A", `{"name":"A","subjects":["a"],"allow_direct":true}`, nil)
		c.ok("CONSUMER.CREATE.A.C", `{"stream_name":"A","config":{"durable_name":"C","ack_policy":"explicit"}}`, nil)
		c.pub("a", "", "x")
		name := verbs[verb%uint(len(verbs))]
		if text := c.api(name, string(body)); !json.Valid([]byte(text)) {
			t.Fatalf("%s %q: %q", name, body, text)
		}
		if _, ok := c.request("$JS.API.DIRECT.GET.A", "", string(body)); !ok && name != "STREAM.UPDATE.A" {
			t.Fatal("direct gets are gone")
		}
		c.api("STREAM.INFO.A", "")
	})
}
