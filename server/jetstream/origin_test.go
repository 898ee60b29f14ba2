package jetstream

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"godwit/protocol/jsapi"
	"godwit/server/router"
	"godwit/stream/vfs"
)

// fakeOrigin answers requests for consumers of a stream that is not there, and sends what a test wants.
type fakeOrigin struct {
	t        *testing.T
	index    *router.Index
	sender   *router.Sender
	requests inbox
	to       string // where the last consumer delivers to
	n        uint64 // its sequence
}

// asked waits for a request and answers it. It returns when it came, and the sequence that it begins with.
func (f *fakeOrigin) asked(fault *jsapi.Error) (at time.Time, from uint64) {
	f.t.Helper()
	<-f.requests.wake
	at = time.Now()
	list, _ := f.requests.take()
	if len(list) != 1 {
		f.t.Fatalf("%d requests at once", len(list))
	}
	var req jsapi.CreateConsumerRequest
	if err := json.Unmarshal(list[0].Payload, &req); err != nil {
		f.t.Fatal(err)
	}
	f.to, f.n = req.Config.DeliverSubject, 0
	resp := jsapi.ConsumerResponse{Header: jsapi.Header{Error: fault}}
	if fault == nil {
		resp.ConsumerInfo = &jsapi.ConsumerInfo{Name: req.Config.Name}
	}
	body, err := json.Marshal(&resp)
	if err != nil {
		f.t.Fatal(err)
	}
	f.send(&router.Message{Subject: list[0].Reply, Payload: body})
	return at, req.Config.OptStartSeq
}

func (f *fakeOrigin) send(m *router.Message) {
	f.sender.Send(m)
	f.sender.Flush()
	synctest.Wait()
}

// deliver sends a message with a sequence.
func (f *fakeOrigin) deliver(seq uint64) {
	f.n++
	f.send(&router.Message{Subject: []byte(f.to), Reply: fmt.Appendf(nil, "$JS.ACK.O.C.1.%d.%d.%d.0", seq, f.n, seq), Payload: []byte("x")})
}

func (f *fakeOrigin) heartbeat(last uint64) {
	f.send(&router.Message{Subject: []byte(f.to), Header: fmt.Appendf(nil, "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: %d\r\n\r\n", last)})
}

// testCopy runs f with a mirror of a fake origin and the clock of a bubble.
func testCopy(t *testing.T, f func(o *fakeOrigin, mirror *Stream)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{FS: vfs.NewMem(), StoreDir: "/store", Version: "0", MaxMemory: -1, MaxStore: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		index := router.NewIndex()
		a, err := s.EnableAccount("A", index, jsapi.AccountLimits{MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxConsumers: -1})
		if err != nil {
			t.Fatal(err)
		}
		o := &fakeOrigin{t: t, index: index, sender: router.NewSender(index)}
		o.requests.wake = make(chan struct{}, 1)
		sub := index.SubscribeReceiver(jsapi.Prefix+"CONSUMER.CREATE.O", "", &o.requests)
		defer index.Unsubscribe(sub)
		m, fault := a.Create(jsapi.StreamConfig{Name: "M", Storage: jsapi.MemoryStorage, Mirror: &jsapi.StreamSource{Name: "O"}}, false)
		if fault != nil {
			t.Fatal(fault)
		}
		f(o, m)
	})
}

func (f *fakeOrigin) lastIs(m *Stream, want uint64) {
	f.t.Helper()
	synctest.Wait()
	if got := m.set.First().LastSeq(); got != want {
		f.t.Fatalf("the mirror has come to %d, want %d", got, want)
	}
}

// Copying begins anew behind what is stored when a message was lost, when a heartbeat says so, when the consumer is gone, and
// when nothing is heard; heartbeats alone keep it going.
func TestCopyBeginsAnew(t *testing.T) {
	testCopy(t, func(o *fakeOrigin, m *Stream) {
		if _, from := o.asked(nil); from != 0 {
			t.Fatalf("began with %d", from)
		}
		o.deliver(1)
		o.deliver(2)
		o.lastIs(m, 2)
		o.n++ // lost on the way
		o.deliver(4)
		if _, from := o.asked(nil); from != 3 {
			t.Fatalf("after a gap it began with %d", from)
		}
		o.deliver(3)
		o.heartbeat(1)
		o.lastIs(m, 3)
		o.heartbeat(2) // there was another one
		if _, from := o.asked(nil); from != 4 {
			t.Fatalf("after a heartbeat it began with %d", from)
		}
		o.deliver(7) // some are missing there
		o.lastIs(m, 7)
		for range 60 {
			time.Sleep(time.Second)
			o.heartbeat(1)
		}
		quiet := time.Now()
		at, from := o.asked(nil)
		if from != 8 || at.Sub(quiet) < originSilence || at.Sub(quiet) > originSilence+originRetries {
			t.Fatalf("after silence it began with %d, %v later", from, at.Sub(quiet))
		}
		o.send(&router.Message{Subject: []byte(o.to), Header: []byte("NATS/1.0 409 Consumer Deleted\r\n\r\n")})
		if _, from := o.asked(nil); from != 8 {
			t.Fatalf("after the consumer was deleted it began with %d", from)
		}
	})
}

// While the origin refuses, the pauses grow up to a bound, and the error is shown; they are short again once something came.
func TestCopyRetries(t *testing.T) {
	testCopy(t, func(o *fakeOrigin, m *Stream) {
		last := time.Now()
		pauses := []time.Duration{originFirst}
		for want := originRetry; want < originRetries; want *= 2 {
			pauses = append(pauses, want)
		}
		for _, want := range append(pauses, originRetries, originRetries) {
			at, _ := o.asked(jsapi.Err(jsapi.ErrStreamNotFound))
			if at.Sub(last) != want {
				t.Fatalf("asked after %v, want %v", at.Sub(last), want)
			}
			last = at
			synctest.Wait()
			if mirror, _ := m.originInfo(); mirror.Error == nil || mirror.Error.Code != jsapi.ErrStreamNotFound || mirror.Active != -1 {
				t.Fatalf("shown is %+v", mirror)
			}
		}
		o.asked(nil)
		o.deliver(1)
		o.lastIs(m, 1)
		if mirror, _ := m.originInfo(); mirror.Error != nil || mirror.Active < 0 {
			t.Fatalf("shown is %+v", mirror)
		}
		last = time.Now()
		o.send(&router.Message{Subject: []byte(o.to), Header: []byte("NATS/1.0 409 Consumer Deleted\r\n\r\n")})
		if at, _ := o.asked(nil); at.Sub(last) != originRetry {
			t.Fatalf("asked after %v, want %v", at.Sub(last), originRetry)
		}
	})
}

// Flow control requests are answered when what came before them is stored.
func TestCopyAnswersFlowControl(t *testing.T) {
	testCopy(t, func(o *fakeOrigin, m *Stream) {
		answers := &inbox{wake: make(chan struct{}, 1)}
		sub := o.index.SubscribeReceiver("fc.1", "", answers)
		defer o.index.Unsubscribe(sub)
		o.asked(nil)
		o.deliver(1)
		o.deliver(2)
		o.send(&router.Message{Subject: []byte(o.to), Reply: []byte("fc.1"), Header: []byte("NATS/1.0 100 FlowControl Request\r\n\r\n")})
		<-answers.wake
		o.lastIs(m, 2)
		list, _ := answers.take()
		if v, ok := headerValue(list[0].Header, "Nats-Last-Stream"); !ok || string(v) != "2" {
			t.Errorf("answered %q", list[0].Header)
		}
	})
}
