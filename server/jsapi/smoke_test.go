package jsapi

import "testing"

func TestSmoke(t *testing.T) {
	_, c := startClient(t)
	t.Log(c.api("INFO", ""))
	t.Log(c.api("STREAM.CREATE.A", `{"name":"A","subjects":["a.>"]}`))
	t.Log(c.pub("a.b", "", "hello"))
	t.Log(c.pub("a.c", "X: y\r\n", "hello"))
	t.Log(c.api("STREAM.INFO.A", `{"subjects_filter":">"}`))
	t.Log(c.api("STREAM.MSG.GET.A", `{"seq":2}`))
	t.Log(c.api("CONSUMER.CREATE.A.C", `{"stream_name":"A","config":{"durable_name":"C","ack_policy":"explicit"}}`))
	b := c.inbox()
	c.publish("$JS.API.CONSUMER.MSG.NEXT.A.C", b.name, "", `{"batch":3,"no_wait":true}`)
	m := b.next(t)
	t.Log(m)
	r, ok := c.request(m.reply, "", "+ACK")
	t.Log(r, ok)
	m = b.next(t)
	t.Log(m)
	t.Log(b.next(t))
	t.Log(c.api("CONSUMER.INFO.A.C", ``))
	t.Log(c.api("STREAM.DELETE.A", ``))
}
