package monitor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// t0 is the time at which fake servers started.
var t0 = time.Date(2026, 11, 30, 22, 10, 34, 941198101, time.UTC)

// fake is a server made of plain values.
type fake struct {
	NoLinks
	NoRaft
	conns     []Conn
	subs      map[uint64][]SubDetail
	closed    *ClosedRing
	accounts  []string
	system    string
	details   map[string]*AccountDetail
	stats     map[string]AccountStat
	sublists  map[string]SublistStats
	notReady  []string
	js        *JetStreamTotals
	jsHealth  JetStreamHealth
	problems  []HealthProblem
	asked     AssetSelector
	leader    bool
	jsDetails map[string]*JSAccountDetail
	jsWant    JetStreamWant
	queues    []QueueInfo
	hold      chan struct{} // if set, Varz waits for it
	entered   chan struct{} // told when Varz is called
}

func newFake() *fake {
	return &fake{closed: NewClosedRing(5), subs: map[uint64][]SubDetail{}, accounts: []string{"$G", "A", "B", "$SYS"}, system: "$SYS"}
}

func (f *fake) Identity() Identity { return Identity{"NSERVER", "n1", "2.15.2"} }

func (f *fake) Varz() *Varz {
	if f.entered != nil {
		f.entered <- struct{}{}
	}
	if f.hold != nil {
		<-f.hold
	}
	return &Varz{ID: "NSERVER", Name: "n1", Start: t0, ConfigLoadTime: t0, Connections: len(f.conns), TotalConnections: 9}
}

func (f *fake) EachConn(g func(*Conn) bool) {
	var lent Conn // overwritten each time, as a server may do
	for _, c := range f.conns {
		lent = c
		if !g(&lent) {
			return
		}
	}
	lent = Conn{}
}

func (f *fake) ConnSubs(cid uint64) []SubDetail { return f.subs[cid] }
func (f *fake) ClosedConns() *ClosedRing        { return f.closed }

func (f *fake) SublistStats(account string) (SublistStats, bool) {
	if account == "" {
		return SublistStats{NumSubs: 72, NumInserts: 80, NumRemoves: 8, NumMatches: 40, CacheHitRate: 0.25, MaxFanout: 3, AvgFanout: 1.5}, true
	}
	st, ok := f.sublists[account]
	return st, ok
}

func (f *fake) EachSub(account, test string, g func(*SubDetail) bool) {
	var lent SubDetail
	for _, c := range f.conns {
		for _, s := range f.subs[c.CID] {
			if (account == "" || s.Account == account) && (test == "" || overlap(s.Subject, test)) {
				lent = s
				if !g(&lent) {
					return
				}
			}
		}
	}
}

func (f *fake) HasAccount(name string) bool        { return slices.Contains(f.accounts, name) }
func (f *fake) AccountNames() []string             { return slices.Clone(f.accounts) }
func (f *fake) SystemAccount() string              { return f.system }
func (f *fake) Account(name string) *AccountDetail { return f.details[name] }
func (f *fake) NotReady() []string                 { return f.notReady }
func (f *fake) JetStreamHealth() JetStreamHealth   { return f.jsHealth }
func (f *fake) JetStream(bool) *JetStreamTotals    { return f.js }
func (f *fake) IsMetaLeader() bool                 { return f.leader }
func (f *fake) Queues() []QueueInfo                { return f.queues }

func (f *fake) AccountStats(name string) (AccountStat, bool) {
	st, ok := f.stats[name]
	return st, ok
}

func (f *fake) CheckAssets(sel AssetSelector, g func(HealthProblem) bool) {
	f.asked = sel
	for _, p := range f.problems {
		if !g(p) {
			return
		}
	}
}

func (f *fake) JetStreamAccounts() []string {
	var names []string
	for n := range f.jsDetails {
		names = append(names, n)
	}
	return names
}

func (f *fake) JetStreamAccount(name string, want JetStreamWant) *JSAccountDetail {
	f.jsWant = want
	return f.jsDetails[name]
}

// lines is a Logger that remembers.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Noticef(format string, args ...any) { l.add("INF", format, args) }
func (l *lines) Warnf(format string, args ...any)   { l.add("WRN", format, args) }
func (l *lines) Errorf(format string, args ...any)  { l.add("ERR", format, args) }

func (l *lines) add(tag, format string, args []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, tag+" "+fmt.Sprintf(format, args...))
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

// newTest returns a Monitor over f whose clock stands at t0 plus five seconds.
func newTest(f *fake) (*Monitor, *lines) {
	log := &lines{}
	return New(Options{Source: f, Logger: log, Now: func() time.Time { return t0.Add(5 * time.Second) }}), log
}

// get asks h for path and returns status, header and body.
func get(t *testing.T, h http.Handler, path string) (int, http.Header, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Result().Header, string(body)
}

// trim removes the indentation that lets expected texts stand in test code.
func trim(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		b.WriteString(strings.TrimLeft(line, "\t"))
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
