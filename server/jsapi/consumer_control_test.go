package jsapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"godwit/protocol/jsapi"
)

// control is a stream S with three messages and a consumer C.
func control(t *testing.T, config string) *client {
	t.Helper()
	_, c := startClient(t)
	c.ok("STREAM.CREATE.S", `{"name":"S","subjects":["s.>"]}`, nil)
	for range 3 {
		c.pub("s.a", "", "x")
	}
	c.ok("CONSUMER.CREATE.S.C", `{"stream_name":"S","config":{"name":"C","durable_name":"C","ack_policy":"explicit"`+config+`}}`, nil)
	return c
}

// pull asks for messages; they arrive in the inbox returned.
func (c *client) pull(body string) *inbox {
	b := c.inbox()
	c.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", b.name, "", body)
	return b
}

func TestConsumerReset(t *testing.T) {
	c := control(t, "")
	in := c.pull("3")
	for range 2 {
		m := in.next(t)
		c.request(m.reply, "", "+ACK")
	}
	var resp jsapi.ConsumerResetResponse
	c.ok("CONSUMER.RESET.S.C", "", &resp)
	if resp.ResetSeq != 3 || resp.Delivered.Stream != 2 || resp.Delivered.Consumer != 0 || resp.NumPending != 1 || resp.NumAckPending != 0 {
		t.Fatalf("%+v", resp)
	}
	c.ok("CONSUMER.RESET.S.C", `{"seq":2,"unknown":1}`, &resp)
	if resp.ResetSeq != 2 || resp.NumPending != 2 {
		t.Fatalf("%+v", resp)
	}
	if m := c.pull("1").next(t); !strings.HasPrefix(m.reply, "$JS.ACK.S.C.1.2.1.") {
		t.Fatalf("delivered %+v", m)
	}
	if got := c.api("CONSUMER.RESET.S.C", "{"); !strings.Contains(got, `"err_code":10025`) || !strings.Contains(got, `"reset_seq":0`) {
		t.Fatalf("got %s", got)
	}
	b := c.inbox()
	c.publish("$JS.API.CONSUMER.RESET.S.D", b.name, "", "") // unknown: no answer
	c.publish("$JS.API.CONSUMER.RESET.X.C", b.name, "", "")
	c.publish("$JS.API.CONSUMER.RESET.S.C", "", "", `{"seq":1}`) // nobody to answer: nothing happens
	c.ok("CONSUMER.PAUSE.S.C", "", nil)                          // comes after them
	var info jsapi.ConsumerInfo
	c.ok("CONSUMER.INFO.S.C", "", &info)
	if info.Delivered.Stream != 2 || len(b.c) > 0 {
		t.Fatalf("%+v, %d answers", info, len(b.c))
	}
}

func TestConsumerUnpinAndAdvisories(t *testing.T) {
	c := control(t, `,"priority_policy":"pinned_client","priority_groups":["A"],"sample_freq":"100"`)
	events := c.subscribe("$JS.EVENT.>")
	event := func(subject string) (fields map[string]any) {
		t.Helper()
		for {
			m := events.next(t)
			if m.subject != subject {
				if m.subject == "$JS.EVENT.ADVISORY.API" {
					continue
				}
				t.Fatalf("event on %s, want %s", m.subject, subject)
			}
			if err := json.Unmarshal([]byte(m.data), &fields); err != nil {
				t.Fatal(err)
			}
			return fields
		}
	}
	in := c.pull(`{"batch":1,"group":"A"}`)
	m := in.next(t)
	e := event("$JS.EVENT.ADVISORY.CONSUMER.PINNED.S.C")
	id, _ := e["pinned_id"].(string)
	if e["type"] != "io.nats.jetstream.advisory.v1.consumer_group_pinned" || e["account"] != "$G" || e["stream"] != "S" ||
		e["consumer"] != "C" || e["group"] != "A" || m.header != "NATS/1.0\r\nNats-Pin-Id: "+id+"\r\n\r\n" {
		t.Fatalf("%v, header %q", e, m.header)
	}
	c.request(m.reply, "", "+ACK")
	e = event("$JS.EVENT.METRIC.CONSUMER.ACK.S.C")
	if e["type"] != "io.nats.jetstream.metric.v1.consumer_ack" || e["stream_seq"] != 1.0 || e["consumer_seq"] != 1.0 ||
		e["deliveries"] != 1.0 || e["ack_time"].(float64) < 0 {
		t.Fatalf("%v", e)
	}
	c.ok("CONSUMER.UNPIN.S.C", `{"group":"A"}`, nil)
	e = event("$JS.EVENT.ADVISORY.CONSUMER.UNPINNED.S.C")
	if e["type"] != "io.nats.jetstream.advisory.v1.consumer_group_unpinned" || e["group"] != "A" || e["reason"] != "admin" {
		t.Fatalf("%v", e)
	}
	var info jsapi.ConsumerInfo
	c.ok("CONSUMER.INFO.S.C", "", &info)
	if g := info.PriorityGroups; len(g) != 1 || g[0].PinnedClientID != "" || !g[0].PinnedTime.IsZero() {
		t.Fatalf("%+v", g)
	}
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	c.ok("CONSUMER.PAUSE.S.C", `{"pause_until":"`+until+`"}`, nil)
	if e = event("$JS.EVENT.ADVISORY.CONSUMER.PAUSE.S.C"); e["paused"] != true || e["pause_until"] != until {
		t.Fatalf("%v", e)
	}
}

// TestCreateAnswersBeforeFirstDelivery: a client that subscribes first still hears of the consumer before its messages.
func TestCreateAnswersBeforeFirstDelivery(t *testing.T) {
	_, c := startClient(t)
	c.ok("STREAM.CREATE.S", `{"name":"S","subjects":["s.>"]}`, nil)
	c.pub("s.a", "", "x")
	in := c.subscribe("in")
	for range 20 {
		c.publish("$JS.API.CONSUMER.CREATE.S", "in", "", `{"stream_name":"S","config":{"ack_policy":"none","deliver_subject":"in","mem_storage":true}}`)
		if m := in.next(t); m.subject != "in" {
			t.Fatalf("first %+v", m)
		}
		m := in.next(t)
		if m.subject != "s.a" {
			t.Fatalf("then %+v", m)
		}
		_, name, _ := strings.Cut(m.reply, "$JS.ACK.S.")
		name, _, _ = strings.Cut(name, ".")
		c.ok("CONSUMER.DELETE.S."+name, "", nil)
		if m := in.next(t); !strings.Contains(m.header, "409 Consumer Deleted") {
			t.Fatalf("at last %+v", m)
		}
	}
}

// TestAckByFlowControl acknowledges with the answer to a flow control request.
func TestAckByFlowControl(t *testing.T) {
	_, c := startClient(t)
	c.ok("STREAM.CREATE.S", `{"name":"S","subjects":["s.>"]}`, nil)
	in := c.subscribe("in")
	c.ok("CONSUMER.CREATE.S.C", `{"stream_name":"S","config":{"name":"C","durable_name":"C","ack_policy":"flow_control","deliver_subject":"in","max_ack_pending":2}}`, nil)
	for range 4 {
		c.pub("s.a", "", "x")
	}
	for seq := uint64(0); seq < 4; {
		m := in.next(t)
		if strings.Contains(m.header, "100 FlowControl Request") {
			c.publish(m.reply, "", "Nats-Last-Consumer: 9\r\nNats-Last-Stream: 4\r\n", "")
		} else if !strings.Contains(m.header, "100 Idle Heartbeat") {
			seq++
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		var info jsapi.ConsumerInfo
		c.ok("CONSUMER.INFO.S.C", "", &info)
		if info.AckFloor.Stream == 4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", info)
		}
		select {
		case m := <-in.c:
			if strings.Contains(m.header, "100 FlowControl Request") {
				c.publish(m.reply, "", "Nats-Last-Stream: 4\r\n", "")
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
}
