package system

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/router"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer is a Host and a Source made of plain values.
type fakeServer struct {
	monitor.NoLinks
	monitor.NoRaft
	monitor.NoJetStream
	mu       sync.Mutex
	identity Identity
	conns    []monitor.Conn
	accounts *account.Registry
	varz     monitor.Varz
	users    map[router.Origin]UserInfo
	closed   *monitor.ClosedRing
	raft     map[string]*monitor.RaftGroup
	reloads  int
	fail     error // of Reload
	hold     chan struct{}
	log      []string
}

func (f *fakeServer) Identity() Identity { return f.identity }

func (f *fakeServer) Reload() error {
	if f.hold != nil {
		<-f.hold
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reloads++
	return f.fail
}

func (f *fakeServer) Kick(cid uint64) error {
	if cid != 7 {
		return ErrNoConnection
	}
	return nil
}

func (f *fakeServer) LameDuck(cid uint64) error {
	switch cid {
	case 7:
		return nil
	case 8:
		return ErrNotReady
	}
	return ErrNoClient
}

func (f *fakeServer) UserInfo(from router.Origin) (UserInfo, bool) {
	u, ok := f.users[from]
	return u, ok
}

func (f *fakeServer) Warnf(format string, args ...any)  { f.note("W ", format, args) }
func (f *fakeServer) Errorf(format string, args ...any) { f.note("E ", format, args) }

func (f *fakeServer) note(level, format string, args []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, level+fmt.Sprintf(format, args...))
}

// source shows the fake server to the monitor, whose Identity is another one.
type source struct{ *fakeServer }

func (f source) Identity() monitor.Identity {
	return monitor.Identity{ID: f.identity.ID, Name: f.identity.Name, Version: f.identity.Version}
}

func (f source) Varz() *monitor.Varz { v := f.varz; return &v }

func (f source) EachConn(g func(*monitor.Conn) bool) {
	for _, c := range f.conns {
		if !g(&c) {
			return
		}
	}
}

func (f source) ConnSubs(uint64) []monitor.SubDetail { return nil }
func (f source) ClosedConns() *monitor.ClosedRing    { return f.closed }

func (f source) SublistStats(name string) (monitor.SublistStats, bool) {
	return monitor.SublistStats{NumSubs: 3}, name == "" || f.HasAccount(name)
}

func (f source) EachSub(name, _ string, g func(*monitor.SubDetail) bool) {
	if name == "A" {
		g(&monitor.SubDetail{Account: name, Subject: "foo", Sid: "1", Cid: 7})
	}
}

func (f source) HasAccount(name string) bool { return name != "" && f.accounts.Lookup(name) != nil }

func (f source) AccountNames() []string {
	var names []string
	for _, a := range f.accounts.All() {
		names = append(names, a.Name())
	}
	slices.Sort(names)
	return names
}

func (f source) SystemAccount() string { return f.accounts.System().Name() }

func (f source) Account(name string) *monitor.AccountDetail {
	if !f.HasAccount(name) {
		return nil
	}
	return &monitor.AccountDetail{AccountName: name, LastUpdate: time.Now(), Complete: true, NameTag: name}
}

func (f source) AccountStats(name string) (monitor.AccountStat, bool) {
	if !f.HasAccount(name) {
		return monitor.AccountStat{}, false
	}
	n, _ := f.accounts.Lookup(name).Conns()
	st := monitor.AccountStat{Account: name, Name: name, Conns: n, TotalConns: n, NumSubs: 4}
	st.Sent.Msgs, st.Received.Bytes = 2, 9
	return st, true
}

func (f source) NotReady() []string                       { return nil }
func (f source) JetStreamHealth() monitor.JetStreamHealth { return monitor.JetStreamHealth{} }
func (f source) Queues() []monitor.QueueInfo              { return []monitor.QueueInfo{{Name: "q"}} }
func (f source) RaftGroups(string, string) (map[string]*monitor.RaftGroup, bool) {
	return f.raft, f.raft != nil
}
func (f source) CheckAssets(monitor.AssetSelector, func(monitor.HealthProblem) bool) {}

// Noticef implements monitor.Logger.
func (f source) Noticef(string, ...any) {}

// world is a service with its accounts. The system account is SYS.
type world struct {
	*fakeServer
	s        *Service
	t        testing.TB
	inboxes  map[*account.Account]*inbox
	sequence int
}

const serverID = "NSERVERID"

// newWorld makes a service that is not started.
func newWorld(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	o := &options.Options{SystemAccount: "SYS"}
	for _, name := range []string{"A", "B"} {
		o.Accounts = append(o.Accounts, &options.Account{Name: name, Limits: options.NoAccountLimits()})
	}
	f := &fakeServer{accounts: account.NewRegistry(o), closed: monitor.NewClosedRing(3), users: map[router.Origin]UserInfo{},
		identity: Identity{Name: "S1", Host: "0.0.0.0", ID: serverID, Version: "2.15.2", Tags: []string{"az:1", "r1"},
			Metadata: map[string]string{"rack": "r9"}, FeatureFlags: map[string]bool{"x": false, "y": true}}}
	m := monitor.New(monitor.Options{Source: source{f}, Logger: source{f}})
	so := Options{Host: f, Monitor: m, Accounts: f.accounts, Log: f}
	for _, c := range change {
		c(&so)
	}
	return &world{fakeServer: f, s: New(so), t: t, inboxes: map[*account.Account]*inbox{}}
}

func (w *world) account(name string) *account.Account {
	w.t.Helper()
	a := w.accounts.Lookup(name)
	if a == nil {
		w.t.Fatalf("no account %q", name)
	}
	return a
}

// message is what a subscriber got.
type message struct {
	subject, header, body string
	at                    time.Time
}

// inbox is a subscriber that keeps what it gets.
type inbox struct {
	mu  sync.Mutex
	got []message
}

func (b *inbox) NewBatch() router.Batch { return b }
func (b *inbox) Flush()                 {}
func (b *inbox) Add(m *router.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, message{string(m.Subject), string(m.Header), string(m.Payload), time.Now()})
}

// take returns what came since the last call.
func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

// listen subscribes in an account.
func (w *world) listen(name, subject string) *inbox {
	b := &inbox{}
	w.account(name).Index().SubscribeReceiver(subject, "", b)
	return b
}

// caller is a client that makes requests.
type caller struct {
	router.Dest
	info router.OriginInfo
}

func (c *caller) OriginInfo() *router.OriginInfo { return &c.info }

// publish sends a request of from, which may be nil, without waiting for anything.
func (w *world) publish(from router.Origin, name, subject, reply, header, body string) {
	snd := &router.Sender{}
	snd.Init(w.account(name).Index(), nil, from)
	snd.Begin()
	if header != "" {
		header = "NATS/1.0\r\n" + header + "\r\n\r\n"
	}
	snd.Publish(&protocol.Pub{Subject: []byte(subject), Reply: []byte(reply), Body: []byte(header + body),
		HeaderLen: len(header), HPUB: header != ""})
	snd.Flush()
}

// ask makes a request in an account and returns the answers, in a bubble.
func (w *world) ask(from router.Origin, name, subject, header, body string) []message {
	w.t.Helper()
	a := w.account(name)
	if w.inboxes[a] == nil {
		w.inboxes[a] = w.listen(name, "_INBOX.>")
	}
	w.sequence++
	reply := fmt.Sprintf("_INBOX.%d", w.sequence)
	w.publish(from, name, subject, reply, header, body)
	synctest.Wait()
	got := w.inboxes[a].take()
	for _, m := range got {
		if m.subject != reply {
			w.t.Errorf("answer on %s, not %s", m.subject, reply)
		}
	}
	return got
}

var (
	serverInfo = regexp.MustCompile(`\{"name":"S1","host":"0.0.0.0","id":"NSERVERID","ver":"2.15.2","tags":\["az:1","r1"\],` +
		`"metadata":\{"rack":"r9"\},"feature_flags":\{"x":false,"y":true\},"jetstream":false,"flags":0,"seq":\d+,"time":"[^"]+Z"\}`)
	eventID = regexp.MustCompile(`"id":"[0-9A-Za-z]{22}"`)
	machine = regexp.MustCompile(`"mem":\d+,"cores":\d+,"cpu":[\d.]+,`)
	procs   = regexp.MustCompile(`("gomemlimit":\d+,)?"gomaxprocs":\d+`)
)

// shape replaces what differs between runs.
func shape(body string) string {
	body = serverInfo.ReplaceAllString(body, "SERVER")
	body = eventID.ReplaceAllString(body, `"id":ID`)
	body = machine.ReplaceAllString(body, "MACHINE,")
	body = procs.ReplaceAllString(body, "PROCS")
	return strings.ReplaceAll(body, "2000-01-01T00:00:00Z", "NOW")
}

// one returns the body of the only answer; empty if there was none.
func (w *world) one(got []message) string {
	w.t.Helper()
	switch len(got) {
	case 0:
		return ""
	case 1:
		return shape(got[0].body)
	}
	w.t.Fatalf("%d answers: %v", len(got), got)
	return ""
}
