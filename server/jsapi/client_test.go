package jsapi

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"godwit/protocol/jsapi"
	"godwit/server/jetstream"
	"godwit/server/router"
	"godwit/stream/segment"
	"godwit/stream/vfs"
)

// client is a connection as the router sees it, without a socket.
type client struct {
	t      *testing.T
	index  *router.Index
	sender *router.Sender
	n      int
	// patience is how long exchange waits for an answer.
	patience time.Duration
}

// OriginInfo implements router.Origin.
func (c *client) OriginInfo() *router.OriginInfo { return &router.OriginInfo{ID: 1, Name: "test"} }

func newClient(t *testing.T, x *router.Index) *client {
	c := &client{t: t, index: x}
	c.sender = &router.Sender{}
	c.sender.Init(x, nil, c)
	c.sender.Begin()
	return c
}

type msg struct {
	subject, reply, header, data string
}

// inbox collects what arrives on a subject.
type inbox struct {
	c    chan msg
	sub  *router.Sub
	name string
}

func (b *inbox) NewBatch() router.Batch { return b }
func (b *inbox) Add(m *router.Message) {
	b.c <- msg{string(m.Subject), string(m.Reply), string(m.Header), string(m.Payload)}
}
func (b *inbox) Flush() {}

func (c *client) subscribe(subject string) *inbox {
	b := &inbox{c: make(chan msg, 10000), name: subject}
	b.sub = c.index.SubscribeReceiver(subject, "", b)
	c.t.Cleanup(func() { c.index.Unsubscribe(b.sub) })
	return b
}

func (c *client) inbox() *inbox {
	c.n++
	return c.subscribe(fmt.Sprintf("_INBOX.%p.%d", c, c.n))
}

// next waits for a message.
func (b *inbox) next(t *testing.T) msg {
	t.Helper()
	select {
	case m := <-b.c:
		return m
	case <-time.After(10 * time.Second):
		t.Fatalf("nothing on %s", b.name)
		panic("unreachable")
	}
}

func (c *client) publish(subject, reply, header, data string) int {
	n := c.send(subject, reply, header, data)
	c.sender.Flush()
	return n
}

// send publishes without handing over.
func (c *client) send(subject, reply, header, data string) int {
	if header != "" {
		header = "NATS/1.0\r\n" + header + "\r\n"
	}
	return c.sender.Send(&router.Message{Subject: []byte(subject), Reply: []byte(reply), Header: []byte(header), Payload: []byte(data)})
}

// request sends one and returns the answer, or nothing if nobody listens.
func (c *client) request(subject, header, data string) (msg, bool) {
	c.t.Helper()
	b := c.inbox()
	defer c.index.Unsubscribe(b.sub)
	if c.publish(subject, b.name, header, data) == 0 {
		return msg{}, false
	}
	return b.next(c.t), true
}

// api calls the API and returns the answer's JSON.
func (c *client) api(verb, body string) string {
	c.t.Helper()
	m, ok := c.request("$JS.API."+verb, "", body)
	if !ok {
		c.t.Fatalf("%s: no responders", verb)
	}
	return m.data
}

// ok calls the API, fails the test on an error, and decodes the answer.
func (c *client) ok(verb, body string, into any) {
	c.t.Helper()
	text := c.api(verb, body)
	var h jsapi.Header
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		c.t.Fatalf("%s: %v in %s", verb, err, text)
	}
	if h.Error != nil {
		c.t.Fatalf("%s: %+v", verb, h.Error)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			c.t.Fatalf("%s: %v in %s", verb, err, text)
		}
	}
}

// pub publishes and returns the acknowledgement.
func (c *client) pub(subject, header, data string) jsapi.PubAck {
	c.t.Helper()
	m, ok := c.request(subject, header, data)
	if !ok {
		c.t.Fatalf("publish on %s: no responders", subject)
	}
	var ack jsapi.PubAck
	if err := json.Unmarshal([]byte(m.data), &ack); err != nil {
		c.t.Fatalf("%v in %s", err, m.data)
	}
	return ack
}

// server is a service with one account.
type server struct {
	service *jetstream.Service
	api     *API
	index   *router.Index
	account *jetstream.Account
}

func start(t *testing.T, fs vfs.FS, change func(*jetstream.Options)) *server {
	t.Helper()
	o := jetstream.Options{StoreDir: "/data", FS: fs, MaxMemory: -1, MaxStore: -1, ServerName: "S", Version: "2.15.2",
		Sync: segment.SyncAlways, Strict: true, SegmentBytes: 1 << 20, Warnf: t.Logf}
	if change != nil {
		change(&o)
	}
	s, err := jetstream.New(o)
	if err != nil {
		t.Fatal(err)
	}
	v := &server{service: s, api: New(s), index: router.NewIndex()}
	limits := jsapi.AccountLimits{MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1,
		MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1}
	if v.account, err = s.EnableAccount("$G", v.index, limits); err != nil {
		t.Fatal(err)
	}
	v.api.Attach(v.account)
	return v
}

func (v *server) stop() {
	v.api.Close()
	v.service.Close()
}

func startClient(t *testing.T) (*server, *client) {
	t.Helper()
	v := start(t, vfs.NewMem(), nil)
	t.Cleanup(v.stop)
	return v, newClient(t, v.index)
}
