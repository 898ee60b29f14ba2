package router

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"godwit/protocol/subject"
)

// requester is the origin of a connection that asks.
type requester struct {
	info OriginInfo
	rtt  time.Duration
}

func (r *requester) OriginInfo() *OriginInfo { return &r.info }
func (r *requester) RTT() time.Duration      { return r.rtt }

// senderFrom returns a sender of c that has an origin, and no rights to ask for.
func (c *client) senderFrom(o Origin) *Sender {
	s := &Sender{}
	s.Init(c.x, &c.Dest, o)
	s.Begin()
	return s
}

// newHeaderClient is newClient with headers.
func newHeaderClient(x *Index) *client {
	c := newClient(x)
	c.Headers.Store(true)
	return c
}

func mustTransform(t testing.TB, source, dest string) *subject.Transform {
	t.Helper()
	tr, err := subject.NewTransform(source, dest)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// connectService makes importer ask exporter, under the links given.
func connectService(exporter, importer *Index, links ...*ServiceLink) {
	for _, l := range links {
		l.To, l.Importer, l.Exporter, l.Server = exporter, "B", "A", "SERVER00"
		if l.Threshold == 0 {
			l.Threshold = DefaultThreshold
		}
	}
	exporter.Link((&LinksBuilder{Serves: true}).Build())
	importer.Link((&LinksBuilder{Services: links, Asked: []*Index{exporter}}).Build())
}

func connectStream(exporter, importer *Index, links ...*StreamLink) {
	for _, l := range links {
		l.To = importer
	}
	exporter.Link((&LinksBuilder{Streams: links}).Build())
	importer.Link((&LinksBuilder{Imported: []*Index{exporter}}).Build())
}

var replySubject = regexp.MustCompile(`_R_\.\w{6}\.\w{6}(\.SERVER00\.T)?`)

// masked hides what is random in frames.
func masked(frames string) string { return replySubject.ReplaceAllString(frames, "_R_") }

func TestStreamsCross(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectStream(a, b, &StreamLink{From: "s.>"}, &StreamLink{From: "p.*", Prefix: "pre."},
		&StreamLink{From: "m.*.*", Rename: mustTransform(t, "m.*.*", "to.$2.$1")})
	s := newClient(a).sender()
	own := newClient(a)
	own.sub(">", "", "9")
	c := newClient(b)
	for _, tt := range []struct{ pattern, subject, want string }{
		{"s.>", "s.x", "MSG s.x 1 r 1\r\nm\r\n"},
		{"s.x", "s.x", "MSG s.x 1 r 1\r\nm\r\n"},
		{">", "s.x.y", "MSG s.x.y 1 r 1\r\nm\r\n"},
		{"s.x", "s.y", ""},
		{"s.x", "s", ""},
		{"pre.p.*", "p.1", "MSG pre.p.1 1 r 1\r\nm\r\n"},
		{"p.*", "p.1", ""},
		{"*.*.1", "p.1", "MSG pre.p.1 1 r 1\r\nm\r\n"},
		{"to.*.*", "m.1.2", "MSG to.2.1 1 r 1\r\nm\r\n"},
		{"to.1.*", "m.1.2", ""},
		{"m.>", "m.1.2", ""},
		{">", "other", ""},
		{">", "s..x", ""},
		{">", "s.", ""},
		{"s.>", "s.*", "MSG s.* 1 r 1\r\nm\r\n"},
	} {
		t.Run(tt.pattern+" "+tt.subject, func(t *testing.T) {
			sub := c.sub(tt.pattern, "", "1")
			send(s, pub(tt.subject, "r", "m"), 3)
			if got, want := c.take(), strings.Repeat(tt.want, 3); got != want {
				t.Errorf("importer got %q, want %q", got, want)
			}
			if sub.Msgs() != uint64(3*min(1, len(tt.want))) {
				t.Errorf("%d messages are counted", sub.Msgs())
			}
			if a.HasInterest([]byte(tt.subject)) != (tt.want != "" || !strings.Contains(tt.subject, "..") && !strings.HasSuffix(tt.subject, ".")) {
				t.Error("wrong interest")
			}
			b.Unsubscribe(sub)
			send(s, pub(tt.subject, "r", "m"), 3)
			if got := c.take(); got != "" {
				t.Errorf("after it unsubscribed the importer got %q", got)
			}
		})
	}
}

func TestStreamInterestIsLive(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectStream(a, b, &StreamLink{From: "s.>", Prefix: "x."})
	s, c := newClient(a).sender(), newClient(b)
	send(s, pub("s.1", "", "m"), 5) // cached: nobody
	if a.HasInterest([]byte("s.1")) {
		t.Error("interest before anybody subscribed")
	}
	c.sub("x.s.*", "", "1")
	if !a.HasInterest([]byte("s.1")) {
		t.Error("no interest")
	}
	send(s, pub("s.1", "", "m"), 1)
	if got := c.take(); got != "MSG x.s.1 1 1\r\nm\r\n" {
		t.Errorf("got %q", got)
	}
	a.Link(nil)
	send(s, pub("s.1", "", "m"), 1)
	if got := c.take(); got != "" {
		t.Errorf("after the import ended the importer got %q", got)
	}
}

func TestStreamDoesNotFlowBack(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectStream(a, b, &StreamLink{From: "s.>"})
	c := newClient(a)
	c.sub(">", "", "1")
	send(newClient(b).sender(), pub("s.1", "", "m"), 3)
	if got := c.take(); got != "" {
		t.Errorf("the exporter got %q", got)
	}
}

func TestQueueGroupsSpanAccounts(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectStream(a, b, &StreamLink{From: "s.>"})
	here, there := newClient(a), newClient(b)
	here.sub("s.q", "q", "1")
	there.sub("s.*", "q", "2")
	there.sub("s.q", "other", "3")
	send(newClient(a).sender(), pub("s.q", "", "m"), 40)
	n1, got := strings.Count(here.take(), "MSG"), there.take()
	n2, n3 := strings.Count(got, " 2 1\r\n"), strings.Count(got, " 3 1\r\n")
	if n1+n2 != 40 || n1 == 0 || n2 == 0 || n3 != 40 {
		t.Errorf("one group got %d + %d messages, the other %d", n1, n2, n3)
	}
	if !a.HasListener([]byte("s.q"), "other") || a.HasListener([]byte("s.q"), "none") {
		t.Error("wrong interest of queue groups")
	}
}

func TestServiceRequest(t *testing.T) {
	for _, share := range []bool{false, true} {
		t.Run(fmt.Sprintf("share=%v", share), func(t *testing.T) {
			a, b := NewIndex(), NewIndex()
			connectService(a, b, &ServiceLink{Local: "ask.*", Rename: mustTransform(t, "ask.*", "svc.$1"), Share: share})
			responder, asker := newHeaderClient(a), newHeaderClient(b)
			responder.sub("svc.>", "", "1")
			asker.sub("inbox.*", "", "2")
			s := asker.senderFrom(&requester{OriginInfo{ID: 7, Account: "B", User: "u"}, 5})
			info := `{"acc":"B","rtt":5}`
			if share {
				info = `{"id":7,"acc":"B","user":"u","rtt":5}`
			}
			n := len("NATS/1.0\r\nNats-Request-Info: \r\n\r\n") + len(info)
			for i := range 3 { // uncached, cached
				send(s, pub("ask.x", "inbox.1", "m"), 1)
				got := responder.take()
				want := fmt.Sprintf("HMSG svc.x 1 _R_ %d %d\r\nNATS/1.0\r\nNats-Request-Info: %s\r\n\r\nm\r\n", n, n+1, info)
				if masked(got) != want {
					t.Fatalf("request %d: got %q, want %q", i, masked(got), want)
				}
				reply := replySubject.FindString(got)
				if !a.HasInterest([]byte(reply)) {
					t.Error("no interest in the response")
				}
				send(responder.sender(), pub(reply, "", "yes"), 3)
				if got := asker.take(); got != "MSG inbox.1 2 3\r\nyes\r\n" {
					t.Errorf("response: got %q", got)
				}
				if a.HasInterest([]byte(reply)) {
					t.Error("interest in a second response")
				}
			}
		})
	}
}

func TestServiceHasRespondersOnlyIfTheExporterHas(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectService(a, b, &ServiceLink{Local: "svc.>"})
	s := newClient(b).sender()
	if n := s.Publish(pub("svc.x", "r", "")); n != Undelivered || b.HasInterest([]byte("svc.x")) {
		t.Errorf("without responders: %d", n)
	}
	if list := a.Awaited(10); len(list) != 0 {
		t.Errorf("a response is awaited of nobody: %v", list)
	}
	responder := newHeaderClient(a)
	sub := responder.sub("svc.x", "", "1")
	s.Begin()
	if n := s.Publish(pub("svc.x", "r", "")); n != 1 || !b.HasInterest([]byte("svc.x")) {
		t.Errorf("with a responder: %d", n)
	}
	a.Unsubscribe(sub)
	s.Begin()
	if n := s.Publish(pub("svc.x", "r", "")); n != Undelivered {
		t.Errorf("after the responder has gone: %d", n)
	}
}

func TestResponses(t *testing.T) {
	for _, tt := range []struct {
		name string
		many bool
		send []string
		want string
	}{
		{"one", false, []string{"1", "2"}, "MSG in 2 1\r\n1\r\n"},
		{"an empty one", false, []string{"", "2"}, "MSG in 2 0\r\n\r\n"},
		{"many", true, []string{"1", "2"}, "MSG in 2 1\r\n1\r\nMSG in 2 1\r\n2\r\n"},
		{"until an empty one", true, []string{"1", "", "2"}, "MSG in 2 1\r\n1\r\nMSG in 2 0\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := NewIndex(), NewIndex()
			connectService(a, b, &ServiceLink{Local: "svc", Many: tt.many})
			responder, asker := newHeaderClient(a), newClient(b)
			responder.sub("svc", "", "1")
			asker.sub("in", "", "2")
			send(asker.sender(), pub("svc", "in", "m"), 1)
			reply := replySubject.FindString(responder.take())
			s := responder.sender()
			for _, body := range tt.send {
				send(s, pub(reply, "", body), 1)
			}
			if got := asker.take(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestResponseToNobodyEnds(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectService(a, b, &ServiceLink{Local: "svc", Many: true})
	responder := newHeaderClient(a)
	responder.sub("svc", "", "1")
	send(newClient(b).sender(), pub("svc", "nobody", "m"), 1)
	if len(a.Awaited(10)) != 1 {
		t.Fatal("no response is awaited")
	}
	send(responder.sender(), pub(replySubject.FindString(responder.take()), "", "x"), 1)
	if len(a.Awaited(10)) != 0 {
		t.Error("a response to nobody is still awaited")
	}
}

func TestResponseWithReply(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectService(a, b, &ServiceLink{Local: "svc"})
	b.Link((&LinksBuilder{Serves: true, Services: []*ServiceLink{{Local: "svc", To: a, Threshold: time.Minute}}}).Build())
	responder, asker := newHeaderClient(a), newHeaderClient(b)
	responder.sub("svc", "", "1")
	responder.sub("again", "", "3")
	asker.sub("in", "", "2")
	send(asker.sender(), pub("svc", "in", "m"), 1)
	send(responder.sender(), pub(replySubject.FindString(responder.take()), "again", "x"), 1)
	got := asker.take()
	if masked(got) != "MSG in 2 _R_ 1\r\nx\r\n" {
		t.Fatalf("got %q", got)
	}
	send(asker.sender(), pub(replySubject.FindString(got), "", "y"), 1)
	if got := responder.take(); got != "MSG again 3 1\r\ny\r\n" {
		t.Errorf("the answer to the response: got %q", got)
	}
	// Acknowledgements keep their subjects: they mean something by themselves.
	send(asker.sender(), pub("svc", "in", "m"), 1)
	send(responder.sender(), pub(replySubject.FindString(responder.take()), "$JS.ACK.S.C.1", "x"), 1)
	if got := asker.take(); got != "MSG in 2 $JS.ACK.S.C.1 1\r\nx\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestChainOfServices(t *testing.T) {
	a, b, c := NewIndex(), NewIndex(), NewIndex()
	a.Link((&LinksBuilder{Serves: true}).Build())
	b.Link((&LinksBuilder{Serves: true, Services: []*ServiceLink{{Local: "mid", Rename: mustTransform(t, "mid", "end"), To: a,
		Threshold: time.Minute, Importer: "B", Exporter: "A"}}, Asked: []*Index{a}}).Build())
	c.Link((&LinksBuilder{Services: []*ServiceLink{{Local: "start", Rename: mustTransform(t, "start", "mid"), To: b,
		Threshold: time.Minute, Importer: "C", Exporter: "B"}}, Asked: []*Index{a, b}}).Build())
	asker, middle, responder := newHeaderClient(c), newHeaderClient(b), newHeaderClient(a)
	asker.sub("in", "", "2")
	s := asker.sender()
	send(s, pub("start", "in", "m"), 3)
	if got := responder.take(); got != "" {
		t.Fatalf("got %q", got)
	}
	responder.sub("end", "", "1")
	middle.sub("mid", "", "3")
	send(s, pub("start", "in", "m"), 1)
	got := responder.take()
	if want := "HMSG end 1 _R_ 54 55\r\nNATS/1.0\r\nNats-Request-Info: {\"acc\":\"C\",\"svc\":\"B\"}\r\n\r\nm\r\n"; masked(got) != want {
		t.Fatalf("got %q, want %q", masked(got), want)
	}
	if want := "HMSG mid 3 _R_ 44 45\r\nNATS/1.0\r\nNats-Request-Info: {\"acc\":\"C\"}\r\n\r\nm\r\n"; masked(middle.take()) != want {
		t.Errorf("in the middle: not %q", want)
	}
	send(responder.sender(), pub(replySubject.FindString(got), "", "x"), 1)
	if got := asker.take(); got != "MSG in 2 1\r\nx\r\n" {
		t.Errorf("response: got %q", got)
	}
}

func TestCyclesEnd(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	link := func(to *Index) *Links {
		return (&LinksBuilder{Serves: true, Services: []*ServiceLink{{Local: "x", To: to, Threshold: time.Minute}}}).Build()
	}
	a.Link(link(b))
	b.Link(link(a))
	c := newClient(a)
	if n := c.sender().Publish(pub("x", "r", "m")); n != Undelivered {
		t.Errorf("%d", n)
	}
	if a.HasInterest([]byte("x")) {
		t.Error("interest")
	}
	c.sub("x", "", "1")
	send(newClient(b).sender(), pub("x", "", "m"), 2)
	if got := strings.Count(c.take(), "MSG"); got == 0 || got > 2*maxHops {
		t.Errorf("%d messages", got)
	}
}

// A response reaches the requester's own account, and nothing that its subject would lead to if it were published there.
func TestResponsesGoNoFurther(t *testing.T) {
	a, b, c := NewIndex(), NewIndex(), NewIndex()
	connectService(a, b, &ServiceLink{Local: "svc.*"})
	b.Link((&LinksBuilder{Streams: []*StreamLink{{From: "svc.*", To: c}}, Mappings: []*Mapping{mustMap(t, "in", WeightedSubject{"mapped", 100})},
		Services: []*ServiceLink{{Local: "svc.*", To: a, Threshold: time.Minute}}}).Build())
	responder, asker, other := newHeaderClient(a), newClient(b), newClient(c)
	responder.sub("svc.*", "", "1")
	asker.sub(">", "", "2")
	other.sub(">", "", "3")
	for _, inbox := range []string{"svc.other", "in"} {
		send(asker.sender(), pub("svc.x", inbox, "m"), 1)
		reply := replySubject.FindString(responder.take())
		asker.take()
		other.take()
		if !a.HasInterest([]byte(reply)) {
			t.Error("no interest")
		}
		send(responder.sender(), pub(reply, "", "x"), 1)
		if got := asker.take(); got != "MSG "+inbox+" 2 1\r\nx\r\n" {
			t.Errorf("the requester got %q", got)
		}
		if got := responder.take() + other.take(); got != "" {
			t.Errorf("others got %q", got)
		}
	}
}

func TestRequestsAreNotReExported(t *testing.T) {
	a, b, c := NewIndex(), NewIndex(), NewIndex()
	a.Link((&LinksBuilder{Serves: true, Streams: []*StreamLink{{From: "svc", To: c}}}).Build())
	b.Link((&LinksBuilder{Services: []*ServiceLink{{Local: "svc", To: a, Threshold: time.Minute}}}).Build())
	other := newClient(c)
	other.sub(">", "", "1")
	send(newClient(b).sender(), pub("svc", "", "m"), 3)
	if got := other.take(); got != "" {
		t.Errorf("got %q", got)
	}
	send(newClient(a).sender(), pub("svc", "", "m"), 1)
	if got := other.take(); got != "MSG svc 1 1\r\nm\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestPermissionsHoldAtTheEdge(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectStream(a, b, &StreamLink{From: "s.>", Prefix: "p."})
	c := newClient(b)
	c.deny = "p.s.secret"
	c.Guarded.Store(true)
	c.sub(">", "", "1")
	s := newClient(a).sender()
	send(s, pub("s.secret", "", "m"), 3)
	send(s, pub("s.open", "reply", "m"), 2)
	if got, want := c.take(), strings.Repeat("MSG p.s.open 1 reply 1\r\nm\r\n", 2); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(c.asks, []string{"reply", "reply"}) {
		t.Errorf("replies that may be sent: %q", c.asks)
	}
}

// watcher keeps what it is given.
type watcher struct{ got []string }

func (r *watcher) NewBatch() Batch { return r }
func (r *watcher) Flush()          {}
func (r *watcher) Add(m *Message) {
	from := "nobody"
	if m.From != nil {
		from = fmt.Sprintf("%+v", *m.From.OriginInfo())
	}
	r.got = append(r.got, masked(fmt.Sprintf("%s %s %q %s %s", m.Subject, m.Reply, m.Header, m.Payload, from)))
}

func (r *watcher) take() []string {
	got := r.got
	r.got = nil
	return got
}

// Parts of the server see the subject of their account, and of who published only what the import says.
func TestReceiversSeeAStranger(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	o := &requester{OriginInfo{ID: 7, Account: "B", User: "u", Server: "S"}, 5}
	connectService(a, b, &ServiceLink{Local: "svc"}, &ServiceLink{Local: "shared", Share: true})
	r := &watcher{}
	a.SubscribeReceiver(">", "", r)
	s := newClient(b).senderFrom(o)
	forged := hpub("svc", "NATS/1.0\r\nnats-request-info: {}\r\nK: v\r\n\r\n", "m")
	send(s, forged, 1)
	send(s, pub("shared", "re", "m"), 1)
	want := []string{
		`svc  "NATS/1.0\r\nK: v\r\n\r\n" m ` + fmt.Sprintf("%+v", OriginInfo{Account: "B", Service: "A", RTT: 5, Server: "S"}),
		`shared _R_ "" m ` + fmt.Sprintf("%+v", OriginInfo{ID: 7, Account: "B", User: "u", Service: "A", RTT: 5, Server: "S"}),
	}
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	connectStream(b, a, &StreamLink{From: "out.>", Prefix: "in."})
	send(s, pub("out.1", "", "m"), 2)
	for _, got := range r.take() {
		if got != `in.out.1  "" m {Start: Host: ID:0 Account: Service: User: Name: Lang: Version: RTT:0s Server: Kind: ClientType:}` {
			t.Errorf("of a stream: got %q", got)
		}
	}
}

// A consumer's deliveries travel on another subject than they show.
func TestSendToCrosses(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	a.Link((&LinksBuilder{Serves: true, Streams: []*StreamLink{{From: "deliver.>", To: b, Prefix: "x."}}}).Build())
	b.Link((&LinksBuilder{Services: []*ServiceLink{{Local: "next", To: a, Threshold: time.Minute, Many: true}}}).Build())
	c := newHeaderClient(b)
	c.sub("x.deliver.c", "", "1")
	c.sub("inbox", "", "2")
	out := NewSender(a)
	m := &Message{Subject: []byte("orders"), Reply: []byte("$JS.ACK.1"), Payload: []byte("m")}
	for range 3 {
		if n := out.SendTo([]byte("deliver.c"), m); n != 1 {
			t.Errorf("%d", n)
		}
	}
	out.Flush()
	if got, want := c.take(), strings.Repeat("MSG orders 1 $JS.ACK.1 1\r\nm\r\n", 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r := &watcher{}
	a.SubscribeReceiver("next", "", r)
	send(c.sender(), pub("next", "inbox", ""), 1)
	reply := []byte(a.Awaited(1)[0].Subject)
	for range 3 {
		if n := out.SendTo(reply, m); n != 1 {
			t.Errorf("%d", n)
		}
	}
	out.Flush()
	if got, want := c.take(), strings.Repeat("MSG orders 2 $JS.ACK.1 1\r\nm\r\n", 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A sender of one account meets connections of others; those that have closed must not add up.
func TestClosedStrangersAreLetGo(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	connectService(a, b, &ServiceLink{Local: "svc"})
	responder := newHeaderClient(a)
	responder.sub("svc", "", "1")
	rs := responder.sender()
	for i := range 5 * minStrangers {
		c := newClient(b)
		inbox := fmt.Sprintf("in.%d", i)
		sub := c.sub(inbox, "", "1")
		send(c.sender(), pub("svc", inbox, "m"), 1)
		send(rs, pub(replySubject.FindString(responder.take()), "", "x"), 1)
		if got := c.take(); got == "" {
			t.Fatal("no response")
		}
		c.Gone.Store(true)
		b.Unsubscribe(sub)
	}
	if n := len(rs.lanes); n > 2*minStrangers {
		t.Errorf("%d destinations are kept", n)
	}
}

// rightsOf allows some subjects.
type rightsOf map[string]bool

func (r rightsOf) CanPublish(subj []byte) bool { return r[string(subj)] }
func (r rightsOf) CanReply([]byte) bool        { return false }

// Whatever accounts, subscriptions and links there are: a message reaches exactly who the model says, however routes
// are cached.
func TestCrossingAgainstModel(t *testing.T) {
	tokens := []string{"a", "b", "c"}
	rapid.Check(t, func(rt *rapid.T) {
		literal := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 1, 3).Draw(rt, label), ".")
		}
		pattern := func(label string) string {
			toks := rapid.SliceOfN(rapid.SampledFrom(append([]string{"*"}, tokens...)), 1, 3).Draw(rt, label)
			if rapid.Bool().Draw(rt, label+" open") {
				toks[len(toks)-1] = ">"
			}
			return strings.Join(toks, ".")
		}
		const accounts = 3
		var xs [accounts]*Index
		var cs [accounts]*client
		for i := range xs {
			xs[i] = NewIndex()
			cs[i] = newHeaderClient(xs[i])
		}
		var builders [accounts]LinksBuilder
		prefixed := [accounts][]*StreamLink{}
		relink := func() {
			for i := range xs {
				var others []*Index
				for k := range xs {
					if k != i {
						others = append(others, xs[k])
					}
				}
				builders[i].Serves, builders[i].Asked, builders[i].Imported = true, others, others
				xs[i].Link(builders[i].Build())
			}
		}
		relink()
		var subs []*Sub
		var s [accounts]*Sender
		for i := range s {
			s[i] = cs[i].sender()
		}
		// reach counts what the model says: how often who gets a message.
		var reach func(at int, subj string, streams bool, hops int, got map[*Sub]int)
		reach = func(at int, subj string, streams bool, hops int, got map[*Sub]int) {
			for _, sub := range subs {
				if sub.Dest() == &cs[at].Dest && subject.Match(sub.Subject(), subj) {
					got[sub]++
				}
			}
			if streams {
				for _, l := range builders[at].Streams {
					if !subject.Match(l.From, subj) {
						continue
					}
					for k := range xs {
						if xs[k] == l.To {
							for _, sub := range subs {
								if sub.Dest() == &cs[k].Dest && subject.Match(sub.Subject(), l.Prefix+subj) {
									got[sub]++
								}
							}
						}
					}
				}
			}
			if hops == 0 {
				return
			}
			for _, l := range builders[at].Services {
				if !subject.Match(l.Local, subj) {
					continue
				}
				for k := range xs {
					if xs[k] == l.To {
						reach(k, subj, false, hops-1, got)
					}
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"subscribe": func(*rapid.T) {
				c := cs[rapid.IntRange(0, accounts-1).Draw(rt, "account")]
				subs = append(subs, c.sub(pattern("pattern"), "", fmt.Sprint(len(subs)+1)))
			},
			"unsubscribe": func(*rapid.T) {
				if len(subs) > 0 {
					i := rapid.IntRange(0, len(subs)-1).Draw(rt, "which")
					sub := subs[i]
					sub.Dest().Sink().(*client).x.Unsubscribe(sub)
					subs = slices.Delete(subs, i, i+1)
				}
			},
			"stream": func(*rapid.T) {
				from, to := rapid.IntRange(0, accounts-1).Draw(rt, "from"), rapid.IntRange(0, accounts-1).Draw(rt, "to")
				if from != to && len(prefixed[from]) < 4 {
					l := &StreamLink{From: pattern("from"), To: xs[to], Prefix: rapid.SampledFrom([]string{"", "a.", "b.c."}).Draw(rt, "prefix")}
					builders[from].Streams = append(builders[from].Streams, l)
					prefixed[from] = builders[from].Streams
					relink()
				}
			},
			"service": func(*rapid.T) {
				at := rapid.IntRange(0, accounts-2).Draw(rt, "at") // only to higher numbers: no cycles
				to := rapid.IntRange(at+1, accounts-1).Draw(rt, "to")
				if len(builders[at].Services) < 4 {
					builders[at].Services = append(builders[at].Services, &ServiceLink{Local: pattern("local"), To: xs[to],
						Threshold: time.Minute, Importer: fmt.Sprint(at), Exporter: fmt.Sprint(to)})
					relink()
				}
			},
			"publish": func(*rapid.T) {
				at, subj := rapid.IntRange(0, accounts-1).Draw(rt, "at"), literal("subject")
				want := map[*Sub]int{}
				reach(at, subj, true, maxHops, want)
				total := 0
				for _, n := range want {
					total += n
				}
				before := map[*Sub]uint64{}
				for _, sub := range subs {
					before[sub] = sub.Msgs()
				}
				s[at].Begin()
				if n := s[at].Publish(pub(subj, "", "m")); int(n) != total {
					rt.Fatalf("%q of account %d went to %d, want %d", subj, at, n, total)
				}
				s[at].Flush()
				for _, sub := range subs {
					if got := int(sub.Msgs() - before[sub]); got != want[sub] {
						rt.Fatalf("%q of account %d: %q got %d, want %d", subj, at, sub.Subject(), got, want[sub])
					}
				}
				if xs[at].HasInterest([]byte(subj)) != (total > 0) {
					rt.Fatalf("%q of account %d: wrong interest", subj, at)
				}
			},
		})
	})
}

// Whatever a client publishes, only what the import names gets into another account, and only where it may go there.
func FuzzBoundary(f *testing.F) {
	for _, s := range []string{"pub.a", "pub", "pub.", ".pub", "pub..a", "pub.>", "pub.*", "*.a", ">", "req.x", "req.*", "req.>", "req.x.y", "_R_.aaaaaa.bbbbbb",
		"_INBOX.pub.a", "$SYS.REQ.USER.INFO", "PUB.a", "pub.\xff", "map.x", "map.>", "tok.B"} {
		f.Add(s)
	}
	a, b := NewIndex(), NewIndex()
	m, err := NewMapping("map.*", []WeightedSubject{{"pub.$1", 100}})
	if err != nil {
		f.Fatal(err)
	}
	a.Link((&LinksBuilder{Serves: true, Mappings: []*Mapping{m}, Streams: []*StreamLink{{From: "pub.>", To: b, Prefix: "in."}}}).Build())
	b.Link((&LinksBuilder{Services: []*ServiceLink{{Local: "req.*", To: a, Rename: mustTransform(f, "req.*", "svc.B.$1"), Threshold: time.Minute}}}).Build())
	inA, inB := newHeaderClient(a), newHeaderClient(b)
	inA.sub(">", "", "1")
	inB.sub(">", "", "1")
	sa, sb := newClient(a).sender(), newClient(b).sender()
	f.Fuzz(func(t *testing.T, subj string) {
		if subj == "" || strings.ContainsAny(subj, " \t\r\n\f") {
			return // the parser lets none through
		}
		whole := !subject.HasEmptyToken(subj)
		send(sa, pub(subj, "", "m"), 2)
		got := inB.take()
		want := ""
		if whole && strings.HasPrefix(subj, "pub.") {
			want = "MSG in." + subj + " 1 1\r\nm\r\n"
		} else if rest, ok := strings.CutPrefix(subj, "map."); ok && whole && !strings.Contains(rest, ".") {
			want = "MSG in.pub." + rest + " 1 1\r\nm\r\n"
		}
		if got != want+want {
			t.Errorf("%q published by the exporter: the importer got %q, want %q twice", subj, got, want)
		}
		inA.take()
		send(sb, pub(subj, "", "m"), 2)
		got, want = inA.take(), ""
		if rest, ok := strings.CutPrefix(subj, "req."); ok && rest != "" && !strings.Contains(rest, ".") {
			want = "HMSG svc.B." + rest + " 1 "
		}
		if n := strings.Count(got, "MSG "); want == "" && got != "" || want != "" && (n != 2 || !strings.HasPrefix(got, want)) {
			t.Errorf("%q asked by the importer: the exporter got %q, want %q twice", subj, got, want)
		}
		inB.take()
	})
}

func BenchmarkService(b *testing.B) {
	x, y := NewIndex(), NewIndex()
	connectService(x, y, &ServiceLink{Local: "svc.>"})
	responder, asker := &sinkhole{}, &sinkhole{}
	responder.Init(responder)
	asker.Init(asker)
	responder.Headers.Store(true)
	x.Insert(NewSub(&responder.Dest, []byte("svc.>"), nil, []byte("1")), "svc.>")
	y.Insert(NewSub(&asker.Dest, []byte("in.*"), nil, []byte("1")), "in.*")
	s, back := &Sender{}, NewSender(x)
	s.Init(y, &asker.Dest, &requester{})
	s.Begin()
	p := pub("svc.x", "in.1", "m")
	b.ReportAllocs()
	for b.Loop() {
		s.Publish(p)
		s.Flush()
		for subj := range x.replies.mu.bySubj {
			back.Send(&Message{Subject: []byte(subj), Payload: []byte("x")})
		}
		back.Flush()
	}
}

// Links, subscriptions and connections come and go while messages, requests and responses are under way; in the end all
// is as the last change says.
func TestEverythingChangesAtOnce(t *testing.T) {
	a, b := NewIndex(), NewIndex()
	defer a.Close()
	service := func(local string) *ServiceLink {
		return &ServiceLink{Local: local, To: a, Threshold: time.Second, Importer: "B", Exporter: "A", Server: "SERVER00", Latency: &Latency{"lat", 50}}
	}
	link := func(on bool) {
		if !on {
			a.Link(nil)
			b.Link(nil)
			return
		}
		a.Link((&LinksBuilder{Serves: true, Streams: []*StreamLink{{From: "s.>", To: b, Prefix: "p."}},
			Mappings: []*Mapping{mustMap(t, "m", WeightedSubject{"s.m", 50})}}).Build())
		b.Link((&LinksBuilder{Services: []*ServiceLink{service("svc")}, Asked: []*Index{a}, Imported: []*Index{a}}).Build())
	}
	link(true)
	responder := newHeaderClient(a)
	responder.sub("svc", "", "1")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	loop := func(f func(i int)) {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		})
	}
	publisher, asker := newClient(a).sender(), newClient(b)
	origin := &requester{}
	ask, answer := asker.senderFrom(origin), responder.sender()
	loop(func(int) { send(publisher, pub("s.1", "", "m"), 2); send(publisher, pub("m", "", "m"), 2) })
	loop(func(int) { send(ask, pub("svc", "in", "m"), 2); b.Left(origin) })
	loop(func(int) {
		for _, reply := range replySubject.FindAllString(responder.take(), -1) {
			send(answer, pub(reply, "", "x"), 1)
		}
	})
	loop(func(i int) {
		c := newClient(b)
		sub, inbox := c.sub("p.s.*", "", "1"), c.sub("in", "", "2")
		a.HasInterest([]byte("s.1"))
		c.Gone.Store(true)
		b.Unsubscribe(sub)
		b.Unsubscribe(inbox)
		b.Departed()
	})
	for i := range 300 {
		link(i%3 > 0)
	}
	close(stop)
	wg.Wait()
	link(true)
	c := newClient(b)
	c.sub("p.s.1", "", "1")
	c.sub("in", "", "2")
	send(publisher, pub("s.1", "", "m"), 1)
	responder.take()
	send(ask, pub("svc", "in", "m"), 1)
	send(answer, pub(replySubject.FindString(responder.take()), "", "x"), 1)
	if got := c.take(); got != "MSG p.s.1 1 1\r\nm\r\nMSG in 2 1\r\nx\r\n" {
		t.Errorf("got %q", got)
	}
}
