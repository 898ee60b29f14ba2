package jsapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/router"
	"godwit/stream/vfs"
)

// backup takes a backup of a stream in chunks, and acknowledges each.
func (c *client) backup(stream, options string) (text []byte, resp jsapi.SnapshotResponse) {
	c.t.Helper()
	in := c.inbox()
	defer c.index.Unsubscribe(in.sub)
	c.ok("STREAM.SNAPSHOT."+stream, fmt.Sprintf(`{"deliver_subject":%q%s}`, in.name, options), &resp)
	for {
		m := in.next(c.t)
		if m.data == "" {
			if m.header != "" && m.header != "NATS/1.0 204\r\n\r\n" {
				c.t.Fatalf("the backup ended with %q", m.header)
			}
			return text, resp
		}
		text = append(text, m.data...)
		if m.reply != "" {
			c.publish(m.reply, "", "", "")
		}
	}
}

// restore restores a backup and returns the last answer.
func (c *client) restore(request string, text []byte) (resp jsapi.StreamCreateResponse) {
	c.t.Helper()
	var req jsapi.RestoreRequest
	if err := json.Unmarshal([]byte(request), &req); err != nil {
		c.t.Fatal(err)
	}
	var begin jsapi.RestoreResponse
	c.ok("STREAM.RESTORE."+req.Config.Name, request, &begin)
	for len(text) > 0 {
		n := min(len(text), 1000)
		m, ok := c.request(begin.DeliverSubject, "", string(text[:n]))
		if !ok {
			c.t.Fatal("the restore has ended")
		}
		if m.data != "" {
			return c.created(m.data)
		}
		text = text[n:]
	}
	m, ok := c.request(begin.DeliverSubject, "", "")
	if !ok {
		c.t.Fatal("the restore has ended")
	}
	return c.created(m.data)
}

func (c *client) created(text string) (resp jsapi.StreamCreateResponse) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(text), &resp); err != nil || resp.Type != jsapi.TypePrefix+"stream_create_response" {
		c.t.Fatalf("%v in %s", err, text)
	}
	return resp
}

// What depends on headers works on after a restore: times to live, counters, schedules, ids.
func TestRestoredHeadersKeepTheirMeaning(t *testing.T) {
	_, c := startClient(t)
	const cfg = `{"name":"S","subjects":["s.>"],"allow_msg_ttl":true,"allow_msg_schedules":true,"allow_direct":true,"subject_delete_marker_ttl":3600000000000}`
	c.ok("STREAM.CREATE.S", cfg, nil)
	c.ok("STREAM.CREATE.N", `{"name":"N","subjects":["n.>"],"allow_msg_counter":true}`, nil)
	c.pub("s.long", "Nats-TTL: 1h\r\nNats-Msg-Id: one\r\n", "x")
	due := time.Now().Add(2 * time.Second)
	c.pub("s.sch", "Nats-Schedule: @at "+due.UTC().Format(time.RFC3339Nano)+"\r\nNats-Schedule-Target: s.target\r\n", "late")
	c.pub("n.a", "Nats-Incr: 5\r\n", "")
	text, resp := c.backup("S", `,"chunk_size":1024`)
	if resp.State.Msgs != 2 || resp.Config.Name != "S" {
		t.Fatalf("%+v", resp)
	}
	counters, _ := c.backup("N", "")
	c.ok("STREAM.DELETE.S", "", nil)
	c.ok("STREAM.DELETE.N", "", nil)
	if r := c.restore(`{"config":`+cfg+`,"state":{}}`, text); r.Error != nil || r.State.Msgs != 2 {
		t.Fatalf("%+v", r)
	}
	if r := c.restore(`{"config":{"name":"N","subjects":["n.>"],"allow_msg_counter":true},"state":{}}`, counters); r.Error != nil {
		t.Fatalf("%+v", r.Error)
	}
	if ack := c.pub("s.other", "Nats-Msg-Id: one\r\n", "x"); !ack.Duplicate || ack.Sequence != 1 {
		t.Errorf("an id was forgotten: %+v", ack)
	}
	if ack := c.pub("n.a", "Nats-Incr: 2\r\n", ""); ack.Value != "7" {
		t.Errorf("the counter is at %q", ack.Value)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if m, ok := c.request("$JS.API.DIRECT.GET.S.s.target", "", ""); ok && m.data == "late" {
			break
		} else if time.Now().After(end) {
			t.Fatal("the schedule did not fire")
		}
	}
	if time.Now().Before(due) {
		t.Error("the schedule fired too early")
	}
}

// A stream may come back under another name and with another configuration; its limits hold at once.
func TestRestoreWithAnotherConfiguration(t *testing.T) {
	_, c := startClient(t)
	c.ok("STREAM.CREATE.S", `{"name":"S","subjects":["s.>"]}`, nil)
	for i := range 20 {
		c.pub("s.a", "", fmt.Sprint(i))
	}
	c.ok("CONSUMER.CREATE.S.C", `{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}}`, nil)
	text, _ := c.backup("S", "")
	bare, resp := c.backup("S", `,"no_consumers":true`)
	if resp.State.Consumers != 0 || len(bare) >= len(text) {
		t.Errorf("%d bytes with consumers, %d without; %+v", len(text), len(bare), resp.State)
	}
	for _, tt := range []struct {
		cfg       string
		msgs      uint64
		consumers int
		text      []byte
	}{
		{`{"name":"Other","subjects":["other"],"storage":"memory"}`, 20, 1, text},
		{`{"name":"Limited","subjects":["limited"],"max_msgs":3}`, 3, 1, text},
		{`{"name":"Packed","subjects":["packed"],"compression":"s2","retention":"workqueue"}`, 20, 0, bare},
	} {
		r := c.restore(`{"config":`+tt.cfg+`,"state":{}}`, tt.text)
		if r.Error != nil || r.State.Msgs != tt.msgs || r.State.LastSeq != 20 || r.State.Consumers != tt.consumers {
			t.Errorf("%s: %+v %+v", tt.cfg, r.Error, r.StreamInfo)
		}
	}
	var info jsapi.ConsumerResponse
	if c.ok("CONSUMER.INFO.Limited.C", "", &info); info.NumPending != 3 {
		t.Errorf("%+v", info.ConsumerInfo)
	}
	for request, want := range map[string]jsapi.Code{
		`{"config":{"name":"R","subjects":["s.a"]},"state":{}}`:                jsapi.ErrStreamSubjectOverlap,
		`{"config":{"name":"Q","subjects":["r"]},"state":{}}`:                  jsapi.ErrStreamMismatch,
		`{"config":{"name":"R","subjects":["r"],"max_age":-1},"state":{}}`:     jsapi.ErrStreamInvalidConfig,
		`{"config":{"name":"R","subjects":["r"],"num_replicas":3},"state":{}}`: jsapi.ErrStreamReplicasNotSupported,
		``: jsapi.ErrBadRequest,
	} {
		var h jsapi.Header
		if err := json.Unmarshal([]byte(c.api("STREAM.RESTORE.R", request)), &h); err != nil || h.Error == nil || h.Error.Code != want {
			t.Errorf("%s: %v %+v", request, err, h.Error)
		}
	}
}

// A restore counts against the limits of the account; one that fails leaves nothing behind.
func TestRestoreBeyondTheAccountsStorage(t *testing.T) {
	fs := vfs.NewMem()
	s, err := jetstream.New(jetstream.Options{StoreDir: "/data", FS: fs, MaxMemory: -1, MaxStore: -1, Version: "2.15.2", ServerName: "S"})
	if err != nil {
		t.Fatal(err)
	}
	api := New(s)
	defer func() { api.Close(); s.Close() }()
	var clients []*client
	for name, store := range map[string]int64{"big": -1, "small": 10_000} {
		x := router.NewIndex()
		a, err := s.EnableAccount(name, x, jsapi.AccountLimits{MaxMemory: -1, MaxStore: store, MaxStreams: -1, MaxConsumers: -1})
		if err != nil {
			t.Fatal(err)
		}
		api.Attach(a)
		if c := newClient(t, x); name == "big" {
			clients = append([]*client{c}, clients...)
		} else {
			clients = append(clients, c)
		}
	}
	big, small := clients[0], clients[1]
	big.ok("STREAM.CREATE.S", `{"name":"S"}`, nil)
	for range 20 {
		big.pub("S", "", strings.Repeat("x", 900))
	}
	text, _ := big.backup("S", "")
	const request = `{"config":{"name":"S"},"state":{}}`
	for range 2 { // what the first one took is given back
		if r := small.restore(request, text); r.Error == nil || r.Error.Code != jsapi.ErrAccountResourcesExceeded {
			t.Fatalf("%+v", r)
		}
	}
	if list, err := fs.ReadDir("/data/jetstream/small/streams"); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, err := big.backup("S", ""); err.Error != nil {
		t.Error(err.Error)
	}
	big.ok("STREAM.PURGE.S", `{"keep":5}`, nil)
	text, _ = big.backup("S", "")
	if r := small.restore(request, text); r.Error != nil || r.State.Msgs != 5 || r.State.LastSeq != 20 {
		t.Fatalf("%+v", r)
	}
	if st := s.Accounts(); len(st) != 2 {
		t.Fatal(st)
	}
	for _, a := range s.Accounts() {
		if st := a.Stats(); a.Name() == "small" && (st.Store < 4500 || st.Store > 5500) {
			t.Errorf("%d bytes are counted", st.Store)
		}
	}
}

func TestTransferAdvisories(t *testing.T) {
	_, c := startClient(t)
	in := c.subscribe("$JS.EVENT.ADVISORY.STREAM.>")
	next := func(what string, want ...string) {
		t.Helper()
		m := in.next(t)
		for strings.Contains(m.subject, ".CREATED.") || strings.Contains(m.subject, ".DELETED.") {
			m = in.next(t)
		}
		if m.subject != "$JS.EVENT.ADVISORY.STREAM."+what+".S" {
			t.Fatalf("got %s, want %s", m.subject, what)
		}
		for _, w := range append(want, `"type":"io.nats.jetstream.advisory.v1.`+strings.ToLower(what)+`"`, `"stream":"S"`, `"name":"test"`) {
			if !strings.Contains(m.data, w) {
				t.Errorf("%s: %s lacks %s", what, m.data, w)
			}
		}
	}
	c.ok("STREAM.CREATE.S", `{"name":"S"}`, nil)
	c.pub("S", "", "x")
	text, _ := c.backup("S", "")
	next("SNAPSHOT_CREATE", `"messages":1`)
	next("SNAPSHOT_COMPLETE", `"start":`, `"end":`)
	c.ok("STREAM.DELETE.S", "", nil)
	if r := c.restore(`{"config":{"name":"S"},"state":{}}`, text); r.Error != nil {
		t.Fatal(r.Error)
	}
	next("RESTORE_CREATE")
	next("RESTORE_COMPLETE", `"start":`, `"end":`, fmt.Sprintf(`"bytes":%d`, len(text)))
}

// A backup that nobody acknowledges waits and ends; a restore that is left alone ends, and its subject with it.
func TestTransfersThatAreLeftAlone(t *testing.T) {
	_, c := startClient(t)
	c.ok("STREAM.CREATE.S", `{"name":"S"}`, nil)
	noise := make([]byte, 5000) // which cannot be compressed
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	c.pub("S", "", string(noise))
	in := c.inbox()
	c.ok("STREAM.SNAPSHOT.S", fmt.Sprintf(`{"deliver_subject":%q,"chunk_size":1024,"window_size":1024}`, in.name), nil)
	if m := in.next(t); len(m.data) != 1024 || !strings.HasPrefix(m.reply, "$JS.SNAPSHOT.ACK.S.") || !strings.HasSuffix(m.reply, ".1024.1") {
		t.Fatalf("%d bytes, reply %s", len(m.data), m.reply)
	}
	var begin jsapi.RestoreResponse
	c.ok("STREAM.RESTORE.R", `{"config":{"name":"R"},"state":{}}`, &begin)
	if m := in.next(t); m.header != "NATS/1.0 408 No Flow Response\r\n\r\n" {
		t.Fatalf("%+v", m)
	}
	for end := time.Now().Add(10 * time.Second); c.index.HasInterest([]byte(begin.DeliverSubject)); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the restore waits for ever")
		}
	}
	if _, ok := c.request(begin.DeliverSubject, "", "x"); ok {
		t.Error("a chunk after the end was answered")
	}
	c.ok("STREAM.CREATE.R", `{"name":"R"}`, nil)
}
