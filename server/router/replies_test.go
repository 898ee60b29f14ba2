package router

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestResponsesAreNotAwaitedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := NewIndex(), NewIndex()
		defer a.Close()
		connectService(a, b, &ServiceLink{Local: "short", Threshold: time.Second}, &ServiceLink{Local: "long", Threshold: time.Minute},
			&ServiceLink{Local: "many", Threshold: time.Second, Many: true})
		responder, asker := newHeaderClient(a), newClient(b)
		responder.sub(">", "", "1")
		asker.sub("in", "", "2")
		s := asker.sender()
		awaited := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := len(a.Awaited(10)); got != want {
				t.Errorf("%d responses are awaited, want %d", got, want)
			}
		}
		for _, subj := range []string{"long", "short"} {
			send(s, pub(subj, "in", ""), 1)
		}
		send(s, pub("many", "in", ""), 1)
		many := replySubject.FindString(strings.Split(responder.take(), "HMSG many")[1])
		awaited(3)
		time.Sleep(time.Second - 1)
		awaited(3)
		send(responder.sender(), pub(many, "", "x"), 1) // its time begins anew
		time.Sleep(time.Nanosecond)
		awaited(2)
		time.Sleep(time.Second)
		awaited(1)
		send(s, pub("short", "in", ""), 1)
		time.Sleep(time.Second)
		awaited(1)
		time.Sleep(time.Minute)
		awaited(0)
		if c := a.Replies(); c != (ReplyCounts{Expired: 4}) {
			t.Errorf("counted %+v", c)
		}
	})
}

func TestAwaitedResponsesAreBounded(t *testing.T) {
	a, b, c := NewIndex(), NewIndex(), NewIndex()
	defer a.Close()
	r := &a.replies
	first := string(r.expect(nil, a, &expected{to: b, reply: []byte("r"), ttl: time.Minute}, ""))
	other := string(r.expect(nil, a, &expected{to: c, reply: []byte("r"), ttl: time.Minute}, ""))
	for range maxExpected {
		r.expect(nil, a, &expected{to: b, reply: []byte("r"), ttl: time.Minute}, "")
	}
	if n := len(a.Awaited(2 * maxExpected)); n != maxExpected+1 {
		t.Errorf("%d are awaited", n)
	}
	if to, _ := r.target([]byte(first)); to != nil {
		t.Error("the oldest is still awaited")
	}
	if to, _ := r.target([]byte(other)); to != c {
		t.Error("an account pushes out what another one awaits")
	}
	if c := a.Replies(); c != (ReplyCounts{Awaited: maxExpected + 1, Dropped: 1}) {
		t.Errorf("counted %+v", c)
	}
}

func TestClosedIndexAwaitsNothing(t *testing.T) {
	a := NewIndex()
	a.Close()
	if s := a.replies.expect(nil, a, &expected{to: a, reply: []byte("r"), ttl: time.Minute}, ""); s != nil {
		t.Errorf("got %q", s)
	}
}

// metrics are the measurements that a client has got.
func metrics(t *testing.T, c *client) (list []metric) {
	t.Helper()
	for _, frame := range strings.Split(c.take(), "MSG lat 9  ")[1:] {
		_, body, _ := strings.Cut(frame, "\r\n")
		var m metric
		if err := json.NewDecoder(strings.NewReader(body)).Decode(&m); err != nil {
			t.Fatalf("%v: %q", err, body)
		}
		list = append(list, m)
	}
	return list
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := NewIndex(), NewIndex()
		defer a.Close()
		connectService(a, b, &ServiceLink{Local: "svc", Threshold: time.Second, Latency: &Latency{Subject: "lat", Sampling: 100}})
		responder, asker, listener := newHeaderClient(a), newClient(b), newClient(a)
		responder.sub("svc", "", "1")
		listener.sub("lat", "", "9")
		asker.sub("in", "", "2")
		from := &requester{OriginInfo{ID: 7, Account: "B"}, 20 * time.Millisecond}
		s := asker.senderFrom(from)
		rs := responder.senderFrom(&requester{OriginInfo{ID: 8, Account: "A", User: "r"}, 10 * time.Millisecond})
		start := time.Now()
		one := func(want metric) {
			t.Helper()
			synctest.Wait()
			list := metrics(t, listener)
			if len(list) != 1 {
				t.Fatalf("%d measurements", len(list))
			}
			got := list[0]
			want.Type, want.ID, want.Requestor = "io.nats.server.metric.v1.service_latency", got.ID, json.RawMessage(`{"acc":"B","rtt":20000000}`)
			w, _ := json.Marshal(want)
			if g, _ := json.Marshal(got); !bytes.Equal(g, w) || len(got.ID) != 22 {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		}

		send(s, pub("svc", "in", "m"), 1)
		reply := replySubject.FindString(responder.take())
		if !strings.HasSuffix(reply, ".SERVER00.T") {
			t.Errorf("reply subject %q", reply)
		}
		time.Sleep(100 * time.Millisecond)
		send(rs, pub(reply, "", "x"), 1)
		one(metric{Status: 200, Time: start.Add(100 * time.Millisecond).UTC(), Start: start.Add(-20 * time.Millisecond).UTC(),
			Responder: &OriginInfo{ID: 8, Account: "A", User: "r", RTT: 10 * time.Millisecond},
			Service:   90 * time.Millisecond, Total: 120 * time.Millisecond})

		start = time.Now()
		send(s, pub("svc", "in", "m"), 1)
		time.Sleep(time.Second)
		one(metric{Status: 504, Description: "Service Timeout", Time: start.Add(time.Second).UTC(), Start: start.Add(-20 * time.Millisecond).UTC()})

		start = time.Now()
		send(s, pub("svc", "", "m"), 1)
		one(metric{Status: 400, Description: "Bad Request", Time: start.UTC(), Start: start.Add(-20 * time.Millisecond).UTC()})

		start = time.Now()
		sub := asker.sub("once.*", "", "3")
		send(s, pub("svc", "once.1", "m"), 1)
		b.Unlistened(from, "once.*") // but it does
		b.Unlistened(from, "in")
		if list := metrics(t, listener); len(list) != 0 {
			t.Errorf("got %v", list)
		}
		b.Unsubscribe(sub)
		b.Unlistened(&requester{}, "once.*")
		if list := metrics(t, listener); len(list) != 0 {
			t.Errorf("got %v", list)
		}
		b.Unlistened(from, "once.*")
		one(metric{Status: 408, Description: "Request Timeout", Time: start.UTC(), Start: start.Add(-20 * time.Millisecond).UTC()})
		b.Unlistened(from, "once.*")
		if list := metrics(t, listener); len(list) != 0 {
			t.Errorf("got %v", list)
		}

		send(s, pub("svc", "in", "m"), 1)
		b.Left(&requester{}) // somebody else
		if list := metrics(t, listener); len(list) != 0 {
			t.Errorf("got %v", list)
		}
		b.Left(from)
		one(metric{Status: 408, Description: "Request Timeout", Time: start.UTC(), Start: start.Add(-20 * time.Millisecond).UTC()})
		b.Left(from)
		if list := metrics(t, listener); len(list) != 0 {
			t.Errorf("a second measurement: %v", list)
		}
	})
}

func TestSampling(t *testing.T) {
	never, always := func(int) int { return 99 }, func(int) int { return 0 }
	for _, tt := range []struct {
		name     string
		sampling int
		chance   func(int) int
		header   string
		sampled  bool
		shown    string
	}{
		{"all", 100, never, "", true, ""},
		{"lucky", 50, always, "", true, ""},
		{"unlucky", 50, never, "", false, ""},
		{"unlucky with a trace", 50, never, "B3: 1", true, "B3=1"},
		{"headers without", 0, always, "", false, ""},
		{"uber", 0, always, "Uber-Trace-Id: 479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:1\r\nUberctx-X: y\r\nB3: 0", true,
			"Uber-Trace-Id=479fefe9525eddb:5adb976bfc1f95c1:479fefe9525eddb:1 Uberctx-X=y"},
		{"uber not sampled", 0, always, "Uber-Trace-Id: 1:2:3:0", false, ""},
		{"b3 sampled", 0, always, "X-B3-Sampled: 1", true, "X-B3-Sampled=1"},
		{"b3 id", 0, always, "X-B3-TraceId: 80f1", true, "X-B3-Traceid=80f1"},
		{"b3 id not sampled", 0, always, "X-B3-TraceId: 80f1\r\nX-B3-Sampled: 0", false, ""},
		{"b3 single", 0, always, "b3: 80f1-e457-1-05e3", true, "B3=80f1-e457-1-05e3"},
		{"b3 single not sampled", 0, always, "B3: 80f1-e457-0-05e3", false, ""},
		{"b3 zero", 0, always, "B3: 0", false, ""},
		{"traceparent", 0, always, "traceparent: 00-0af7-b7ad-01\r\nTracestate: a", true, "Traceparent=00-0af7-b7ad-01 Tracestate=a"},
		{"traceparent not sampled", 0, always, "Traceparent: 00-0af7-b7ad-00", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := []byte("NATS/1.0\r\nK: v\r\n" + tt.header + "\r\n\r\n")
			m := measureFor(&ServiceLink{Latency: &Latency{"lat", tt.sampling}}, nil, header, nil, tt.chance)
			if (m != nil) != tt.sampled {
				t.Fatalf("sampled: %v", m != nil)
			}
			if m == nil {
				return
			}
			want := ""
			js, _ := json.Marshal(m.header)
			fields := map[string][]string{}
			for f := range strings.FieldsSeq(tt.shown) {
				k, v, _ := strings.Cut(f, "=")
				fields[k] = []string{v}
			}
			if len(fields) > 0 {
				b, _ := json.Marshal(fields)
				want = string(b)
			}
			if got := strings.TrimPrefix(string(js), "null"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestRequestInfoHeader(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"none", "", "NATS/1.0\r\nNats-Request-Info: {}\r\n\r\n"},
		{"some", "NATS/1.0\r\nA: b\r\n\r\n", "NATS/1.0\r\nA: b\r\nNats-Request-Info: {}\r\n\r\n"},
		{"status line", "NATS/1.0 100 Idle\r\n\r\n", "NATS/1.0 100 Idle\r\nNats-Request-Info: {}\r\n\r\n"},
		{"forged", "NATS/1.0\r\nNats-Request-Info: x\r\nA: b\r\n\r\n", "NATS/1.0\r\nA: b\r\nNats-Request-Info: {}\r\n\r\n"},
		{"forged at the end", "NATS/1.0\r\nA: b\r\nnats-request-INFO : x\r\n\r\n", "NATS/1.0\r\nA: b\r\nNats-Request-Info: {}\r\n\r\n"},
		{"forged twice", "NATS/1.0\r\nNats-Request-Info: x\r\nNats-Request-Info: x\r\n\r\n", "NATS/1.0\r\nNats-Request-Info: {}\r\n\r\n"},
		{"no block", "hello", "NATS/1.0\r\nNats-Request-Info: {}\r\n\r\n"},
		{"cut block", "NATS/1.0\r\nNats-Request-Info: x", "NATS/1.0\r\nNats-Request-Info: {}\r\n\r\n"},
	} {
		if got := string(appendHeader(nil, withoutInfo([]byte(tt.in)), []byte("{}"))); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := string(appendRequestInfo(nil, nil, &ServiceLink{Importer: "a\"b<"}, &crossing{from: "a\"b<"})); !json.Valid([]byte(got)) {
		t.Errorf("got %s", got)
	}
}

// Whatever header block a client sends, exactly one line tells who asks: the server's own.
func FuzzRequestInfo(f *testing.F) {
	for _, s := range []string{"", "NATS/1.0\r\n\r\n", "NATS/1.0\r\nNats-Request-Info: {}\r\n\r\n", "NATS/1.0\r\nNats-Request-Info\r\n:x\r\n\r\n", "NATS/1.0",
		"\r\nNats-Request-Info:", "NATS/1.0\r\n nats-request-info : x\r\n\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		block := appendHeader(nil, withoutInfo(header), []byte(`{"own":1}`))
		if !bytes.HasPrefix(block, []byte("NATS/1.0")) || !bytes.HasSuffix(block, []byte("\r\n\r\n")) {
			t.Fatalf("no block: %q", block)
		}
		n := 0
		for line := range bytes.SplitSeq(block, []byte("\r\n")) {
			if name, value, ok := bytes.Cut(line, []byte(":")); ok && strings.EqualFold(strings.TrimSpace(string(name)), infoHeader) {
				n++
				if string(value) != ` {"own":1}` {
					t.Errorf("%q has %q", block, value)
				}
			}
		}
		if n != 1 {
			t.Errorf("%q has %d of them", block, n)
		}
	})
}

func TestHostileNames(t *testing.T) {
	for _, name := range []string{"A", "a b", "ä", "\x01", `"`, "<&>"} {
		var got struct {
			Acc string `json:"acc"`
		}
		js := appendRequestInfo(nil, nil, &ServiceLink{Importer: name}, &crossing{from: name})
		if err := json.Unmarshal(js, &got); err != nil || got.Acc != name {
			t.Errorf("%q: %s, %v", name, js, err)
		}
	}
}
