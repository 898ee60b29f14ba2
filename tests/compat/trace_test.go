package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

const traceConfig = `
server_name: traced
accounts {
  A {
    jetstream: enabled
    users: [
      {user: a, password: p}
      {user: limited, password: p, permissions: {publish: {deny: ["no.trace", "no.pub"]}, subscribe: {deny: "hidden.x"}}}
    ]
    mappings: { "old.*": "new.$1", lost: [{destination: lost, weight: 0}] }
    exports: [{stream: "ev.>"}, {service: "closed.>"}, {service: "open.>", allow_trace: true}]
  }
  B {
    users: [{user: b, password: p}]
    imports: [
      {stream: {account: A, subject: "ev.>"}, prefix: "from.a", allow_trace: true}
      {service: {account: A, subject: "closed.>"}}
      {service: {account: A, subject: "open.>"}, to: "ask.>"}
    ]
  }
  C { users: [{user: c, password: p}], imports: [{stream: {account: A, subject: "ev.>"}}] }
  T { users: [{user: t, password: p}], msg_trace: {dest: "account.trace", sampling: 100} }
}`

// event is what a trace tells of one step.
type event struct {
	Type, TS, Name, Acc, Subj, To, From, Sub, Queue, Stream, Subject, Error string
	Kind                                                                    int
	CID                                                                     uint64
	NoInterest                                                              bool
}

func (e *event) String() string {
	s := e.Type
	for _, part := range []string{e.Name, e.Acc, e.Subj, e.From, e.To, e.Sub, e.Queue, e.Stream, e.Subject, e.Error} {
		if part != "" {
			s += " " + part
		}
	}
	if e.NoInterest {
		s += " nointerest"
	}
	return s
}

type traceTold struct {
	Server  struct{ Name string }
	Request struct {
		Header map[string][]string
		Size   int `json:"msgsize"`
	}
	Events []*event
}

// toldIn decodes a trace and returns its events, those after the first sorted.
func toldIn(t *testing.T, text []byte) (*traceTold, string) {
	t.Helper()
	told := &traceTold{}
	if err := json.Unmarshal(text, told); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if told.Server.Name != "traced" || len(told.Events) == 0 || told.Events[0].Type != "in" || told.Events[0].CID == 0 {
		t.Fatalf("%s", text)
	}
	var lines []string
	for _, e := range told.Events {
		if e.TS == "" || e.Kind != 0 {
			t.Errorf("%+v", e)
		}
		lines = append(lines, e.String())
	}
	slices.Sort(lines[1:])
	return told, strings.Join(lines, "; ")
}

// traced publishes a message that asks for a trace, with further headers as pairs, and returns the trace.
func traced(t *testing.T, nc *nats.Conn, told *nats.Subscription, subject, reply string, headers ...string) string {
	t.Helper()
	m := &nats.Msg{Subject: subject, Reply: reply, Data: []byte("hi"), Header: nats.Header{"Nats-Trace-Dest": {"told"}}}
	for i := 0; i+1 < len(headers); i += 2 {
		m.Header[headers[i]] = append(m.Header[headers[i]], headers[i+1])
	}
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	x, events := toldIn(t, next(t, told).Data)
	if got := fmt.Sprint(x.Request.Header["Nats-Trace-Dest"]); got != "[told]" || x.Request.Size < 30 {
		t.Errorf("the request is shown as %+v", x.Request)
	}
	return events
}

func TestMessagesAreTraced(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: traceConfig})
	a, told := s.Connect(t, as("a"), nats.Name("pub")), (*nats.Subscription)(nil)
	told = subscribe(t, s.Connect(t, as("a")), "told")
	check := func(want, subject string, headers ...string) {
		t.Helper()
		if got := traced(t, a, told, subject, "", headers...); got != want {
			t.Errorf("%s\n  got  %s\n  want %s", subject, got, want)
		}
	}
	only := []string{"Nats-Trace-Only", "true"}

	check("in pub A nobody", "nobody")
	check("in pub A nobody", "nobody", only...)
	s1, s2 := s.Connect(t, as("a"), nats.Name("one")), s.Connect(t, as("a"), nats.Name("two"))
	one := subscribe(t, s1, "x.y")
	if _, err := s2.QueueSubscribeSync("x.*", "q"); err != nil || s2.Flush() != nil {
		t.Fatal(err)
	}
	check("in pub A x.y; eg one x.y; eg two x.* q", "x.y")
	if m := next(t, one); m.Header.Get("Nats-Trace-Dest") != "told" || string(m.Data) != "hi" {
		t.Errorf("%+v", m)
	}
	for _, value := range []string{"true", "1", "ON"} {
		check("in pub A x.y; eg one x.y; eg two x.* q", "x.y", "Nats-Trace-Only", value)
	}
	nothing(t, one, s1)
	check("in pub A old.z; sm new.z", "old.z")
	check("in pub A lost; sm", "lost")

	quiet := s.Connect(t, as("a"), nats.Name("quiet"), nats.NoEcho())
	subscribe(t, quiet, "echo")
	if got := traced(t, quiet, told, "echo", ""); got != "in quiet A echo; eg quiet echo Not delivered because of no echo" {
		t.Error(got)
	}
	limited := s.Connect(t, as("limited"), nats.Name("limited"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	subscribe(t, limited, "hidden.>")
	check("in pub A hidden.x; eg limited hidden.> Not delivered because subscription denies this subject", "hidden.x")
	if got := traced(t, limited, told, "no.pub", ""); got != `in limited A no.pub Permissions Violation for Publish to "no.pub"` {
		t.Error(got)
	}

	// Who may not publish to the destination publishes nothing.
	watch := subscribe(t, s1, "w")
	err := limited.PublishMsg(&nats.Msg{Subject: "w", Header: nats.Header{"Nats-Trace-Dest": {"no.trace"}}})
	if err == nil {
		err = limited.Flush()
	}
	nothing(t, watch, s1)
	if last := limited.LastError(); err != nil || !errors.Is(last, nats.ErrPermissionViolation) || !strings.Contains(last.Error(), `"no.trace"`) {
		t.Error(err, last)
	}
	// A destination that is none: nothing is told, and with "only" nothing published.
	for n, headers := range []nats.Header{{"Nats-Trace-Dest": {"w.>"}, "Nats-Trace-Only": {"true"}}, {"Nats-Trace-Dest": {"w.>"}}, {"Nats-Trace-Dest": {"trace disabled"}},
		{"Nats-Trace-Only": {"true"}}, {"nats-trace-dest": {"told"}}} {
		if err := a.PublishMsg(&nats.Msg{Subject: "w", Header: headers}); err != nil || a.Flush() != nil {
			t.Fatal(err)
		}
		if n > 0 {
			next(t, watch)
		}
	}
	nothing(t, watch, s1)

	// A request that is only traced has no responders if nobody would get it.
	if _, err := a.RequestMsg(&nats.Msg{Subject: "nobody", Header: nats.Header{"Nats-Trace-Dest": {"told"}, "Nats-Trace-Only": {"1"}}}, harness.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Error(err)
	}
	next(t, told)

	var x traceTold
	for encoding, decode := range map[string]func([]byte) ([]byte, error){"gzip": gunzip, "snappy": unsnap} {
		if err := a.PublishMsg(&nats.Msg{Subject: "n", Header: nats.Header{"Nats-Trace-Dest": {"told"}, "Accept-Encoding": {encoding}, "X": {"1", "2"}}}); err != nil {
			t.Fatal(err)
		}
		m := next(t, told)
		text, err := decode(m.Data)
		if err == nil {
			err = json.Unmarshal(text, &x)
		}
		if err != nil || m.Header.Get("Content-Encoding") != encoding || fmt.Sprint(x.Request.Header["X"]) != "[1 2]" {
			t.Errorf("%s: %v %v %s", encoding, err, m.Header, text)
		}
	}
}

func gunzip(b []byte) (out []byte, err error) {
	r, err := gzip.NewReader(strings.NewReader(string(b)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func unsnap(b []byte) ([]byte, error) { return io.ReadAll(s2.NewReader(strings.NewReader(string(b)))) }

func TestMessagesAreTracedAcrossAccounts(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: traceConfig})
	a, b, c := s.Connect(t, as("a"), nats.Name("a")), s.Connect(t, as("b"), nats.Name("b")), s.Connect(t, as("c"), nats.Name("c"))
	toldA, toldB := subscribe(t, s.Connect(t, as("a")), "told"), subscribe(t, s.Connect(t, as("b")), "told")
	check := func(nc *nats.Conn, told *nats.Subscription, want, subject, reply string, headers ...string) {
		t.Helper()
		if got := traced(t, nc, told, subject, reply, headers...); got != want {
			t.Errorf("%s\n  got  %s\n  want %s", subject, got, want)
		}
	}
	subB, subC := subscribe(t, b, "from.a.ev.>"), subscribe(t, c, "ev.1")
	check(a, toldA, "in a A ev.1; eg b B ev.>; se B from.a.ev.1; se C ev.1", "ev.1", "")
	next(t, subB)
	next(t, subC)
	check(a, toldA, "in a A ev.1; eg b B ev.>; se B from.a.ev.1; se C ev.1", "ev.1", "", "Nats-Trace-Only", "1")
	nothing(t, subB, b)
	nothing(t, subC, c)

	open, closed, answers := subscribe(t, a, "open.q"), subscribe(t, a, "closed.q"), subscribe(t, b, "answer")
	check(b, toldB, "in b B closed.q; si A closed.q closed.q", "closed.q", "answer")
	if m := next(t, closed); m.Header.Get("Nats-Trace-Dest") != "trace disabled" || m.Respond([]byte("yes")) != nil {
		t.Errorf("%+v", m)
	}
	next(t, answers)
	check(b, toldB, "in b B ask.q; eg a A open.q; si A ask.q open.q", "ask.q", "answer")
	m := next(t, open)
	if dest := m.Header.Get("Nats-Trace-Dest"); dest == "" || dest == "told" { // nothing that the service could use
		t.Errorf("%+v", m)
	}
	r := &nats.Msg{Subject: m.Reply, Data: []byte("yes"), Header: nats.Header{"Nats-Trace-Dest": {"told"}}}
	if err := a.PublishMsg(r); err != nil {
		t.Fatal(err)
	}
	if _, got := toldIn(t, next(t, toldA).Data); got != fmt.Sprintf("in a A %s; si B %[1]s answer", m.Reply) {
		t.Error(got)
	}
	if m := next(t, answers); m.Header.Get("Nats-Trace-Dest") != "trace disabled" || string(m.Data) != "yes" {
		t.Errorf("%+v", m)
	}
	check(b, toldB, "in b B ask.q; eg a A open.q; si A ask.q open.q", "ask.q", "answer", "Nats-Trace-Only", "1")
	check(b, toldB, "in b B closed.q; si A closed.q closed.q", "closed.q", "answer", "Nats-Trace-Only", "1")
	nothing(t, open, a)
	nothing(t, closed, a)
}

func TestMessagesAreTracedIntoStreams(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: traceConfig})
	a, told := s.Connect(t, as("a"), nats.Name("a")), subscribe(t, s.Connect(t, as("a")), "told")
	js, ctx := streamsOf(t, a, ""), waiting(t)
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, MaxMsgs: 2, Discard: jetstream.DiscardNew,
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: "s.*", Destination: "t.$1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "I", Subjects: []string{"i"}, Retention: jetstream.InterestPolicy}); err != nil {
		t.Fatal(err)
	}
	check := func(want, subject string, headers ...string) {
		t.Helper()
		if got := traced(t, a, told, subject, "", headers...); got != want {
			t.Errorf("%s\n  got  %s\n  want %s", subject, got, want)
		}
	}
	check("in a A s.1; js S t.1", "s.1", "Nats-Trace-Only", "1")
	check("in a A s.1; js S t.1", "s.1")
	check("in a A s.1; js S expected stream does not match", "s.1", "Nats-Expected-Stream", "X")
	check("in a A s.2; js S t.2", "s.2")
	check("in a A s.3; js S t.3 maximum messages exceeded", "s.3")
	check("in a A i; js I i nointerest", "i", "Nats-Trace-Only", "1")
	check("in a A i; js I i nointerest", "i")
	m, err := stream.GetMsg(ctx, 1)
	if err != nil || m.Subject != "t.1" || m.Header.Get("Nats-Trace-Dest") != "trace disabled" {
		t.Errorf("%+v %v", m, err)
	}
	if info, err := stream.Info(ctx); err != nil || info.State.LastSeq != 2 {
		t.Errorf("%+v %v", info, err)
	}
	check("in a A $JS.API.STREAM.NAMES; si $SYS $JS.API.STREAM.NAMES $JS.API.STREAM.NAMES", "$JS.API.STREAM.NAMES")
	check("in a A $SYS.REQ.USER.INFO; si $SYS $SYS.REQ.USER.INFO $SYS.REQ.USER.A.INFO", "$SYS.REQ.USER.INFO")
}

// An account can ask for traces of all messages that carry a trace context.
func TestTraceContext(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: traceConfig})
	nc := s.Connect(t, as("t"), nats.Name("t"))
	told, x := subscribe(t, nc, "account.trace"), subscribe(t, nc, "x")
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
	publish := func(headers nats.Header) {
		t.Helper()
		if err := nc.PublishMsg(&nats.Msg{Subject: "x", Header: headers}); err != nil {
			t.Fatal(err)
		}
		next(t, x)
	}
	for _, headers := range []nats.Header{{"traceparent": {parent + "01"}}, {"TraceParent": {parent + "03"}}, {"traceparent": {parent + "01"}, "Nats-Trace-Only": {"true"}}} {
		publish(headers)
		if _, got := toldIn(t, next(t, told).Data); got != "in t T x; eg t x" {
			t.Error(got)
		}
	}
	for _, headers := range []nats.Header{{"traceparent": {parent + "00"}}, {"traceparent": {"x-01"}}, {"traceparent": {parent + "zz"}}, {"X": {parent + "01"}}} {
		publish(headers)
	}
	nothing(t, told, nc)
}
