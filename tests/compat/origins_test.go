package compat

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"godwit/protocol/jsapi"
	"godwit/tests/harness"
)

// rawAPI makes requests of the streams API as they are on the wire.
type rawAPI struct {
	t  *testing.T
	nc *nats.Conn
}

func (a *rawAPI) ask(subject, body string, into any) {
	a.t.Helper()
	m, err := a.nc.Request("$JS.API."+subject, []byte(body), harness.Patience)
	if err != nil {
		a.t.Fatalf("%s: %v", subject, err)
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		a.t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
}

// create returns the error's number, 0 if there is none.
func (a *rawAPI) create(config string) jsapi.Code {
	a.t.Helper()
	var cfg struct{ Name string }
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		a.t.Fatal(err)
	}
	var resp struct{ Error *jsapi.Error }
	a.ask("STREAM.CREATE."+cfg.Name, config, &resp)
	if resp.Error != nil {
		return resp.Error.Code
	}
	return 0
}

func (a *rawAPI) made(configs ...string) {
	a.t.Helper()
	for _, c := range configs {
		if code := a.create(c); code != 0 {
			a.t.Fatalf("%s: error %d", c, code)
		}
	}
}

func (a *rawAPI) info(stream string) jsapi.StreamInfo {
	a.t.Helper()
	var info jsapi.StreamInfo
	a.ask("STREAM.INFO."+stream, "", &info)
	return info
}

// until waits for a stream to be as it should.
func (a *rawAPI) until(stream, what string, ok func(*jsapi.StreamInfo) bool) {
	a.t.Helper()
	deadline := time.Now().Add(harness.Patience)
	for {
		info := a.info(stream)
		if ok(&info) {
			return
		}
		if time.Now().After(deadline) {
			text, _ := json.Marshal(info)
			a.t.Fatalf("%s never %s: %s", stream, what, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (a *rawAPI) lastIs(stream string, seq uint64) {
	a.t.Helper()
	a.until(stream, fmt.Sprint("comes to ", seq), func(i *jsapi.StreamInfo) bool { return i.State.LastSeq == seq })
}

func (a *rawAPI) publish(subject, body string, headers ...string) string {
	a.t.Helper()
	m := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{}}
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	r, err := a.nc.RequestMsg(m, harness.Patience)
	if err != nil {
		a.t.Fatalf("publish on %s: %v", subject, err)
	}
	return string(r.Data)
}

func (a *rawAPI) message(stream string, seq uint64) *jsapi.StoredMessage {
	a.t.Helper()
	var resp jsapi.MsgGetResponse
	a.ask("STREAM.MSG.GET."+stream, fmt.Sprintf(`{"seq":%d}`, seq), &resp)
	if resp.Message == nil {
		a.t.Fatalf("%s has no message %d", stream, seq)
	}
	return resp.Message
}

// A mirror begins where its origin does, also when nothing is left there.
func TestMirrorOfPurgedOrigin(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	a := &rawAPI{t, s.Connect(t)}
	a.made(`{"name":"O","subjects":["o"]}`, `{"name":"F","subjects":["f"],"first_seq":1000000000000}`)
	for range 10 {
		a.publish("o", "x")
	}
	var purged struct{ Purged int }
	if a.ask("STREAM.PURGE.O", "", &purged); purged.Purged != 10 {
		t.Fatalf("purged %d", purged.Purged)
	}
	a.made(`{"name":"M","mirror":{"name":"O"}}`, `{"name":"N","mirror":{"name":"F"}}`)
	a.lastIs("M", 10)
	a.lastIs("N", 999999999999)
	if st := a.info("M").State; st.FirstSeq != 11 || st.Msgs != 0 {
		t.Errorf("%+v", st)
	}
	a.publish("o", "y")
	a.publish("f", "z", "Nats-Expected-Stream", "F")
	a.lastIs("M", 11)
	a.lastIs("N", 1000000000000)
	if m := a.message("N", 1000000000000); string(m.Data) != "z" || len(m.Header) > 0 {
		t.Errorf("%q %q: what was expected of the origin is not for the mirror", m.Data, m.Header)
	}
}

// Messages are copied whatever their headers asked of the origin, and counters add up.
func TestSourcedHeaders(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	a := &rawAPI{t, s.Connect(t)}
	a.made(`{"name":"O","subjects":["o.>"],"allow_msg_ttl":true,"allow_rollup_hdrs":true}`, `{"name":"S","sources":[{"name":"O"}]}`,
		`{"name":"CA","subjects":["a.>"],"allow_msg_counter":true}`, `{"name":"CB","subjects":["b.>"],"allow_msg_counter":true}`,
		`{"name":"C","subjects":["c.>"],"allow_msg_counter":true,"sources":[{"name":"CA","subject_transforms":[{"src":"a.>","dest":"c.>"}]},
			{"name":"CB","subject_transforms":[{"src":"b.>","dest":"c.>"}]}]}`)
	a.publish("o.1", "1")
	a.publish("o.2", "2", "Nats-TTL", "1h")
	a.publish("o.1", "3", "Nats-Rollup", "sub")
	a.until("S", "has the last message", func(i *jsapi.StreamInfo) bool {
		return len(i.Sources) == 1 && i.Sources[0].Seq == 3 && i.Sources[0].Lag == 0
	})
	a.publish("a.x", "", "Nats-Incr", "5")
	a.lastIs("C", 1)
	a.publish("b.x", "", "Nats-Incr", "7")
	a.lastIs("C", 2)
	if got, want := a.publish("c.x", "", "Nats-Incr", "100"), `{"stream":"C","seq":3,"val":"112"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	a.publish("a.x", "", "Nats-Incr", "-2")
	a.lastIs("C", 4)
	m := a.message("C", 4)
	h, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Data) != `{"val":"110"}` || h.Get("Nats-Incr") != "-2" || h.Get("Nats-Counter-Sources") != `{"CA":{"a.x":"3"},"CB":{"b.x":"7"}}` {
		t.Errorf("%s %v", m.Data, h)
	}
}

// Streams that would take their own messages are refused, and those that take what is too large for them.
func TestOriginsRefused(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	a := &rawAPI{t, s.Connect(t)}
	a.made(`{"name":"A","subjects":["a"],"max_msg_size":100,"sources":[{"name":"B"}]}`, `{"name":"D","subjects":["d"],"sources":[{"name":"E","filter_subject":"z"}]}`,
		`{"name":"E","subjects":["e"],"sources":[{"name":"D"}]}`, `{"name":"P","subjects":["p"]}`, `{"name":"O1","sources":[{"name":"P"}]}`, `{"name":"O2","sources":[{"name":"O1"},{"name":"P"}]}`)
	for config, want := range map[string]jsapi.Code{
		`{"name":"B","sources":[{"name":"A"}]}`:                    jsapi.ErrStreamInvalidConfig,
		`{"name":"O3","sources":[{"name":"P"},{"name":"O1"}]}`:     jsapi.ErrStreamInvalidConfig,
		`{"name":"C","mirror":{"name":"C"}}`:                       jsapi.ErrStreamInvalidConfig,
		`{"name":"M","mirror":{"name":"A"},"max_msg_size":99}`:     jsapi.ErrMirrorMaxMessageSizeTooBig,
		`{"name":"T","sources":[{"name":"A"}],"max_msg_size":99}`:  jsapi.ErrSourceMaxMessageSizeTooBig,
		`{"name":"U","sources":[{"name":"A"}],"max_msg_size":100}`: 0,
	} {
		if got := a.create(config); got != want {
			t.Errorf("%s: error %d, want %d", config, got, want)
		}
	}
}

// A copy that is full takes the next message when there is room, and none is left out.
func TestFullCopyGoesOn(t *testing.T) {
	if harness.OnPeer() {
		t.Skip("its mirror waits for much longer than a test can")
	}
	s := harness.Start(t, harness.Options{Streams: true})
	a := &rawAPI{t, s.Connect(t)}
	a.made(`{"name":"O","subjects":["o"]}`, `{"name":"M","mirror":{"name":"O"},"max_msgs":3,"discard":"new"}`, `{"name":"S","sources":[{"name":"O"}],"max_msgs":3,"discard":"new"}`)
	for i := range 6 {
		a.publish("o", fmt.Sprint(i+1))
	}
	for _, name := range []string{"M", "S"} {
		a.lastIs(name, 3)
		a.ask("STREAM.PURGE."+name, "", &struct{}{})
		a.lastIs(name, 6)
		for seq := uint64(4); seq <= 6; seq++ {
			if m := a.message(name, seq); string(m.Data) != fmt.Sprint(seq) {
				t.Errorf("%s: message %d is %q", name, seq, m.Data)
			}
		}
	}
}
