package router

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"godwit/protocol"
	"godwit/protocol/subject"
)

// client is a connection that keeps what it is given.
type client struct {
	Dest
	mu   sync.Mutex
	text []byte
	got  Counts
	gone []*Sub
	deny string
	asks []string
	x    *Index
}

func newClient(x *Index) *client {
	c := &client{x: x}
	c.Init(c)
	return c
}

func (c *client) Take(h Handover) Done {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, h.Block.B[:h.N]...)
	c.got.Msgs += h.Counts.Msgs
	c.got.Bytes += h.Counts.Bytes
	return Done{}
}
func (c *client) Exhausted(s *Sub) { c.gone = append(c.gone, s); c.x.Unsubscribe(s) }
func (c *client) Denies(subj []byte, queue string) bool {
	return c.deny != "" && string(subj) == c.deny
}
func (c *client) Replies(reply []byte) { c.asks = append(c.asks, string(reply)) }

func (c *client) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(c.text)
	c.text = nil
	return text
}

func (c *client) sub(subj, queue, sid string) *Sub {
	s := NewSub(&c.Dest, []byte(subj), []byte(queue), []byte(sid))
	c.x.Insert(s, subj)
	return s
}

// sender returns a sender of a connection of its own.
func (c *client) sender() *Sender {
	s := &Sender{}
	s.Init(c.x, &c.Dest, nil)
	s.Begin()
	return s
}

func pub(subj, reply, payload string) *protocol.Pub {
	tail := fmt.Sprintf("%d\r\n%s\r\n", len(payload), payload)
	if reply != "" {
		tail = reply + " " + tail
	}
	return &protocol.Pub{Subject: []byte(subj), Reply: []byte(reply), Tail: []byte(tail), Body: []byte(payload)}
}

func hpub(subj, header, payload string) *protocol.Pub {
	tail := fmt.Sprintf("%d %d\r\n%s%s\r\n", len(header), len(header)+len(payload), header, payload)
	return &protocol.Pub{Subject: []byte(subj), Tail: []byte(tail), Body: []byte(header + payload), HeaderLen: len(header), HPUB: true}
}

// send publishes the same message several times, so that cached and uncached ways are taken.
func send(s *Sender, p *protocol.Pub, times int) {
	s.Begin()
	for i := range times {
		q := *p
		q.Same = i > 0
		s.Publish(&q)
	}
	s.Flush()
}

func TestFrames(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	c.Headers.Store(true)
	old := newClient(x) // takes no headers
	c.sub("a.*", "", "7")
	old.sub("a.>", "", "x9")
	s := newClient(x).sender()
	for _, tt := range []struct {
		name      string
		p         *protocol.Pub
		want, old string
	}{
		{"plain", pub("a.b", "", "hi"), "MSG a.b 7 2\r\nhi\r\n", "MSG a.b x9 2\r\nhi\r\n"},
		{"reply", pub("a.b", "r", "hi"), "MSG a.b 7 r 2\r\nhi\r\n", "MSG a.b x9 r 2\r\nhi\r\n"},
		{"header", hpub("a.b", "NATS/1.0\r\n\r\n", "hi"), "HMSG a.b 7 12 14\r\nNATS/1.0\r\n\r\nhi\r\n", "MSG a.b x9 2\r\nhi\r\n"},
		{"empty header block", hpub("a.b", "", "hi"), "MSG a.b 7 2\r\nhi\r\n", "MSG a.b x9 2\r\nhi\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			send(s, tt.p, 3)
			if got, want := c.take(), strings.Repeat(tt.want, 3); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got, want := old.take(), strings.Repeat(tt.old, 3); got != want {
				t.Errorf("without headers: got %q, want %q", got, want)
			}
		})
	}
}

func TestQueueGroupGetsEachMessageOnce(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	for i, pattern := range []string{"a.b", "a.*", ">"} {
		c.sub(pattern, "q", strconv.Itoa(i+1))
	}
	s := newClient(x).sender()
	const n = 300
	send(s, pub("a.b", "", ""), n)
	got := c.take()
	for sid := 1; sid <= 3; sid++ {
		if k := strings.Count(got, fmt.Sprintf("MSG a.b %d 0", sid)); k < n/10 {
			t.Errorf("member %d got %d of %d messages", sid, k, n)
		}
	}
	if k := strings.Count(got, "MSG"); k != n {
		t.Errorf("%d messages delivered, want %d", k, n)
	}
}

func TestListeners(t *testing.T) {
	x, other := NewIndex(), NewIndex()
	connectStream(x, other, &StreamLink{From: "i.>"})
	c := newClient(x)
	c.sub("a.*", "q", "1")
	c.sub("b", "", "2")
	c.sub("g", "q", "3")
	c.sub("*.y", "", "4")
	there := newClient(other)
	there.sub("i.b", "", "1")
	there.sub("i.g", "q", "2")
	there.sub("i.w.*", "", "3")
	for _, tt := range []struct {
		subj, queue    string
		any, listening bool
	}{
		{"a.x", "", true, false}, {"a.x", "q", true, false}, {"a.y", "", true, false},
		{"b", "", true, true}, {"b", "q", true, false},
		{"g", "", true, false}, {"g", "q", true, true}, {"g", "r", true, false},
		{"c", "", false, false}, {"c", "q", false, false},
		{"i.b", "", true, true}, {"i.b", "q", true, false},
		{"i.g", "", true, false}, {"i.g", "q", true, true},
		{"i.w.x", "", true, false}, {"i.z", "", false, false},
	} {
		any, listening := x.HasInterest([]byte(tt.subj)), x.HasListener([]byte(tt.subj), tt.queue)
		if any != tt.any || listening != tt.listening {
			t.Errorf("%s, group %q: interest %v, somebody listens %v", tt.subj, tt.queue, any, listening)
		}
	}
}

func TestQueueSkipsMembersThatCannotTake(t *testing.T) {
	x := NewIndex()
	gone, own, denied, ok := newClient(x), newClient(x), newClient(x), newClient(x)
	for _, c := range []*client{gone, own, denied, ok} {
		c.sub("a", "q", "1")
	}
	gone.Gone.Store(true)
	denied.Guarded.Store(true)
	denied.deny = "a"
	s := own.sender()
	s.Restrict(nil, false)
	send(s, pub("a", "", ""), 50)
	if n := strings.Count(ok.take(), "MSG"); n != 50 {
		t.Errorf("got %d of 50", n)
	}
	if got := gone.take() + own.take() + denied.take(); got != "" {
		t.Errorf("delivered to members that must not get it: %q", got)
	}
}

func TestSubscriptionEndsAfterItsMessages(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	a, b := c.sub("a", "", "1"), c.sub("a", "", "2")
	s := newClient(x).sender()
	send(s, pub("a", "", ""), 2)
	c.take()
	if !x.Limit(a, 5) || x.Limit(b, 2) {
		t.Fatal("limit above what was delivered must hold, one at it must not")
	}
	x.Unsubscribe(b)
	send(s, pub("a", "", ""), 10)
	if n := strings.Count(c.take(), "MSG a 1"); n != 3 {
		t.Errorf("%d more messages, want 3", n)
	}
	if len(c.gone) != 1 || x.Stats().Subscriptions != 0 {
		t.Errorf("ended %v, left %d", c.gone, x.Stats().Subscriptions)
	}
}

func TestRepliesOfGuardedConnectionsAreTold(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	c.Guarded.Store(true)
	c.sub("a", "", "1")
	s := newClient(x).sender()
	send(s, pub("a", "r.1", ""), 3)
	if !slices.Equal(c.asks, []string{"r.1", "r.1", "r.1"}) {
		t.Errorf("told %q", c.asks)
	}
}

type rightsFunc func(string) bool

func (f rightsFunc) CanPublish(s []byte) bool { return f(string(s)) }
func (f rightsFunc) CanReply(s []byte) bool   { return strings.HasPrefix(string(s), "reply.") }

func TestDeniedPublish(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	c.sub(">", "", "1")
	s := newClient(x).sender()
	s.Restrict(rightsFunc(func(s string) bool { return s == "ok" }), true)
	for _, tt := range []struct {
		subj string
		want Result
	}{{"ok", 1}, {"no", Denied}, {"reply.x", 1}} {
		for i := range 4 {
			if got := s.Publish(pub(tt.subj, "", "")); got != tt.want {
				t.Errorf("%s, time %d: got %d, want %d", tt.subj, i, got, tt.want)
			}
		}
	}
}

// batch records what a receiver gets.
type batch struct {
	r *receiver
	n int
}
type receiver struct {
	got     []string
	flushes int
}

func (r *receiver) NewBatch() Batch { return &batch{r: r} }
func (b *batch) Add(m *Message) {
	b.r.got = append(b.r.got, fmt.Sprintf("%s %s %s|%s", m.Subject, m.Reply, m.Header, m.Payload))
	b.n++
}
func (b *batch) Flush() { b.r.flushes++; b.n = 0 }

func TestReceiverGetsBatches(t *testing.T) {
	x := NewIndex()
	r := &receiver{}
	sub := x.SubscribeReceiver("a.>", "", r)
	s := newClient(x).sender()
	send(s, pub("a.b", "r", "p"), 3)
	send(s, hpub("a.c", "NATS/1.0\r\n\r\n", "p"), 1)
	want := []string{"a.b r |p", "a.b r |p", "a.b r |p", "a.c  NATS/1.0\r\n\r\n|p"}
	if !slices.Equal(r.got, want) || r.flushes != 2 {
		t.Errorf("got %q in %d batches", r.got, r.flushes)
	}
	x.Unsubscribe(sub)
	send(s, pub("a.b", "r", "p"), 3)
	if len(r.got) != 4 {
		t.Errorf("got %q after the end", r.got[4:])
	}
}

func TestSendFromInside(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	c.Headers.Store(true)
	c.sub("_INBOX.a.*", "", "3")
	s := NewSender(x)
	m := &Message{Subject: []byte("orders.1"), Reply: []byte("$JS.ACK.x"), Payload: []byte("p")}
	for range 3 { // uncached, then cached
		if n := s.SendTo([]byte("_INBOX.a.b"), m); n != 1 {
			t.Fatalf("went to %d", n)
		}
	}
	s.Flush()
	if got, want := c.take(), strings.Repeat("MSG orders.1 3 $JS.ACK.x 1\r\np\r\n", 3); got != want {
		t.Errorf("got %q", got)
	}
	m = &Message{Subject: []byte("_INBOX.a.b"), Header: []byte("NATS/1.0 503\r\n\r\n")}
	for range 3 {
		s.Send(m)
	}
	s.Flush()
	if got, want := c.take(), strings.Repeat("HMSG _INBOX.a.b 3 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", 3); got != want {
		t.Errorf("got %q", got)
	}
	if n := s.Send(&Message{Subject: []byte("nobody")}); n != 0 {
		t.Errorf("went to %d", n)
	}
}

// TestIndexMatchesModel compares the index and a sender's caches with a list of subscriptions under random changes.
func TestIndexMatchesModel(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "c", "*", ">", "d"})
	literal := rapid.SampledFrom([]string{"a", "b", "c", "d", "*"})
	rapid.Check(t, func(t *rapid.T) {
		x := NewIndex()
		c := newClient(x)
		s := newClient(x).sender()
		var subs []*Sub
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				name := strings.Join(rapid.SliceOfN(token, 1, 4).Draw(t, "pattern"), ".")
				if !subject.WellFormed(name) {
					continue
				}
				next++
				queue := rapid.SampledFrom([]string{"", "", "q", "r"}).Draw(t, "queue")
				subs = append(subs, c.sub(name, queue, strconv.Itoa(next)))
			case 2:
				if len(subs) > 0 {
					i := rapid.IntRange(0, len(subs)-1).Draw(t, "which")
					x.Unsubscribe(subs[i])
					x.Unsubscribe(subs[i])
					subs = slices.Delete(subs, i, i+1)
				}
			default:
				name := strings.Join(rapid.SliceOfN(literal, 1, 4).Draw(t, "subject"), ".")
				send(s, pub(name, "", ""), rapid.IntRange(1, 3).Draw(t, "times"))
				c.take()
				send(s, pub(name, "", ""), 1)
				plain, queues := map[string]int{}, map[string]map[string]bool{}
				for _, sub := range subs {
					if !subject.Match(sub.Subject(), name) {
						continue
					}
					if sub.Queue() == "" {
						plain[sub.SID()]++
					} else {
						if queues[sub.Queue()] == nil {
							queues[sub.Queue()] = map[string]bool{}
						}
						queues[sub.Queue()][sub.SID()] = true
					}
				}
				got := map[string]int{}
				for _, line := range strings.Split(c.take(), "\r\n") {
					if f := strings.Fields(line); len(f) == 4 {
						got[f[2]]++
					}
				}
				for sid := range plain {
					if got[sid] != 1 {
						t.Fatalf("%s: subscription %s got %d", name, sid, got[sid])
					}
					delete(got, sid)
				}
				for q, members := range queues {
					n := 0
					for sid := range members {
						n += got[sid]
						delete(got, sid)
					}
					if n != 1 {
						t.Fatalf("%s: group %s got %d", name, q, n)
					}
				}
				if len(got) > 0 {
					t.Fatalf("%s: delivered to %v, which does not match", name, got)
				}
			}
			if n := int(x.Stats().Subscriptions); n != len(subs) {
				t.Fatalf("index counts %d, want %d", n, len(subs))
			}
		}
		seen := 0
		x.Each(func(*Sub) bool { seen++; return true })
		if seen != len(subs) {
			t.Fatalf("Each saw %d of %d", seen, len(subs))
		}
		for _, sub := range subs {
			x.Unsubscribe(sub)
		}
		if !x.wild.empty() || x.literals.live != 0 {
			t.Fatal("nodes are left behind")
		}
	})
}

func TestIndexShrinksWhenSubscriptionsLeave(t *testing.T) {
	x := NewIndex()
	c := newClient(x)
	var subs []*Sub
	for i := range 10000 {
		subs = append(subs, c.sub(fmt.Sprintf("s.%d", i), "", strconv.Itoa(i)), c.sub(fmt.Sprintf("w.%d.*", i), "", strconv.Itoa(i)))
	}
	for _, s := range subs {
		x.Unsubscribe(s)
	}
	if n := len(*x.literals.slots.Load()); n > 16*minSlots {
		t.Errorf("%d slots for nothing", n)
	}
	if !x.wild.empty() {
		t.Error("trie is not empty")
	}
}

func TestSendersSeeChangesOfOtherConnections(t *testing.T) {
	x := NewIndex()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 { // churn on other subjects and, with wildcards, on the same
		wg.Go(func() {
			c := newClient(x)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				a := c.sub(fmt.Sprintf("churn.%d.%d", i, n%100), "", "1")
				b := c.sub("busy.*", "q", "2")
				x.Unsubscribe(a)
				x.Unsubscribe(b)
				runtime.Gosched()
			}
		})
	}
	c := newClient(x)
	s := newClient(x).sender()
	for n := range 300 {
		sub := c.sub("busy.x", "", strconv.Itoa(n))
		send(s, pub("busy.x", "", ""), 3)
		if got := strings.Count(c.take(), fmt.Sprintf("MSG busy.x %d 0", n)); got != 3 {
			t.Fatalf("round %d: got %d of 3", n, got)
		}
		x.Unsubscribe(sub)
		send(s, pub("busy.x", "", ""), 3)
		if got := c.take(); got != "" {
			t.Fatalf("round %d: got %q after the end", n, got)
		}
	}
	close(stop)
	wg.Wait()
}

func TestDepartedDestinationsAreForgotten(t *testing.T) {
	x := NewIndex()
	s := newClient(x).sender()
	freed := new(atomic.Int32)
	func() {
		for range 100 {
			c := newClient(x)
			sub := c.sub("a", "", "1")
			send(s, pub("a", "", ""), 3)
			runtime.AddCleanup(c, func(f *atomic.Int32) { f.Add(1) }, freed)
			x.Unsubscribe(sub)
			x.Departed()
		}
	}()
	send(s, pub("a", "", ""), 3)
	for range 100 {
		runtime.GC()
		if freed.Load() >= 99 { // the last one may still be on the stack
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("%d of 100 closed connections were let go", freed.Load())
}

func TestPublishDoesNotAllocate(t *testing.T) {
	x := NewIndex()
	c := &sinkhole{}
	c.Init(c)
	x.Insert(NewSub(&c.Dest, []byte("a.*"), nil, []byte("1")), "a.*")
	s := newClient(x).sender()
	cached := pub("a.b", "", strings.Repeat("x", 100))
	others := make([]*protocol.Pub, 2000)
	for i := range others {
		others[i] = pub(fmt.Sprintf("a.%d", i), "", "x")
	}
	for name, f := range map[string]func(){
		"one subject": func() { send(s, cached, 10) },
		"many subjects": func() {
			s.Begin()
			for _, p := range others {
				s.Publish(p)
			}
			s.Flush()
		},
	} {
		f()
		f()
		if n := testing.AllocsPerRun(20, f); n > 2 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// sinkhole is a connection that reads at once.
type sinkhole struct {
	Dest
	bytes int
}

func (c *sinkhole) Take(h Handover) Done {
	c.bytes += h.N
	return Done{}
}
func (c *sinkhole) Exhausted(*Sub)             {}
func (c *sinkhole) Denies([]byte, string) bool { return false }
func (c *sinkhole) Replies([]byte)             {}

func BenchmarkPublish(b *testing.B) {
	x := NewIndex()
	c := &sinkhole{}
	c.Init(c)
	x.Insert(NewSub(&c.Dest, []byte("a.*"), nil, []byte("1")), "a.*")
	payload := strings.Repeat("x", 128)
	for _, n := range []int{1, 2, 2000} {
		b.Run(fmt.Sprintf("subjects=%d", n), func(b *testing.B) {
			s := newClient(x).sender()
			pubs := make([]*protocol.Pub, n)
			for i := range pubs {
				pubs[i] = pub(fmt.Sprintf("a.%d", i), "", payload)
				pubs[i].Same = n == 1
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Publish(pubs[i%n])
				if i%1000 == 999 {
					s.Flush()
					s.Begin()
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	x := NewIndex()
	c := newClient(x)
	const n = 100000
	for i := range n {
		switch i % 10 {
		case 8:
			c.sub(fmt.Sprintf("x.%d.*", i), "", strconv.Itoa(i))
		case 9:
			c.sub(fmt.Sprintf("x.%d.>", i), "", strconv.Itoa(i))
		default:
			c.sub(fmt.Sprintf("x.%d.y", i), "", strconv.Itoa(i))
		}
	}
	subjects := make([][]byte, n)
	for i := range subjects {
		subjects[i] = fmt.Appendf(nil, "x.%d.y", (i*7919)%n)
	}
	var m matches
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s := subjects[i%n]
		x.find(s, hashOf(s), &m)
	}
}
