package system

import (
	"sync"
	"sync/atomic"
	"time"

	"godwit/protocol/subject"
	"godwit/server/account"
	"godwit/server/monitor"
)

// eventsMax bounds the events that wait to be sent. What comes beyond is dropped and counted: nobody in the server
// waits for those who listen.
const eventsMax = 4096

// Client is a connection that an event is about.
type Client interface {
	// Snapshot describes the connection as it is now.
	Snapshot() monitor.Conn
	// Account is where the client has logged in; nil if it has not.
	Account() *account.Account
}

// Events takes note of what happens in the server and tells those who listen in the system account. Its hooks may be
// called from any goroutine, also those of a nil Events, and never block: they queue, and only if somebody listens.
type Events struct {
	s       *Service
	beats   heartbeats
	wake    chan struct{} // capacity 1
	refused atomic.Uint64

	// mu: router.Index locks nothing for lookups, so that nothing is locked under it.
	mu struct {
		sync.Mutex
		queue  []event
		closed bool
	}
	spare []event // of the sending goroutine
}

// event is one thing to tell.
type event struct {
	subject string
	also    string // the same event under an older subject; empty for most
	kind    eventKind
	at      time.Time
	conn    *monitor.Conn    // of those about a connection; shared
	reason  string           // why it ended
	account *account.Account // whose connections, or in which the event is sent
	conns   int              // how many it had when this was queued
	value   func(s *Service, at time.Time) any
}

type eventKind uint8

const (
	eventConnect eventKind = iota
	eventDisconnect
	eventConns
	eventLameDuck
	eventMade // by value
)

func (e *Events) init(s *Service) {
	e.s, e.wake = s, make(chan struct{}, 1)
	e.beats.init()
}

// ClientConnected is called after each CONNECT that let a client in.
func (e *Events) ClientConnected(c Client) {
	if e == nil {
		return
	}
	a := c.Account()
	if a == nil {
		return
	}
	e.AccountConnections(a)
	if subj := accountSubject(a.Name(), "CONNECT"); e.wanted(e.s.system, subj) {
		snap := c.Snapshot()
		e.put(event{subject: subj, kind: eventConnect, at: time.Now(), conn: &snap})
	}
}

// ClientDisconnected is called when a connection has ended and no longer counts in its account: last describes it and
// is shared from now on. A connection that ended because of its credentials is told of under CLIENT.AUTH.ERR, too.
func (e *Events) ClientDisconnected(last *monitor.Conn) {
	if e == nil {
		return
	}
	at := last.Stop
	if at.IsZero() {
		at = time.Now()
	}
	ev := event{kind: eventDisconnect, at: at, conn: last, reason: last.Reason.String()}
	switch last.Reason {
	case monitor.ReasonAuthenticationViolation, monitor.ReasonProxyNotTrusted, monitor.ReasonProxyRequired:
		ev.subject = e.authErrSubject()
		if e.wanted(e.s.system, ev.subject) {
			e.put(ev)
		}
	}
	if a := e.s.accounts.Lookup(last.Account); a != nil {
		e.AccountConnections(a)
	}
	ev.subject = accountSubject(last.Account, "DISCONNECT")
	if e.wanted(e.s.system, ev.subject) {
		e.put(ev)
	}
}

// LoginRefused tells account a that a service of its own has refused a login for the given reason. The server's own
// event comes with ClientDisconnected.
func (e *Events) LoginRefused(a *account.Account, last *monitor.Conn, reason string) {
	if e == nil || !e.wanted(a, accountAuthErr) {
		return
	}
	e.put(event{subject: accountAuthErr, kind: eventDisconnect, at: time.Now(), conn: last, reason: reason, account: a})
}

// AccountConnections is called when the number of an account's connections has changed, other than by the calls
// above: when a client has moved to another account, for the one that it left.
func (e *Events) AccountConnections(a *account.Account) {
	if e == nil || a == e.s.accounts.Global() {
		return
	}
	e.beats.note(a, time.Now())
	subj, old := accountSubject(a.Name(), "SERVER.CONNS"), oldConnsSubject(a.Name())
	if e.wanted(e.s.system, subj) || e.wanted(e.s.system, old) {
		e.put(event{subject: subj, also: old, kind: eventConns, account: a})
	}
}

// LameDuck is called when the server enters lame duck mode. Shutdown is told of by Close.
func (e *Events) LameDuck() {
	if e == nil {
		return
	}
	if subj := e.serverSubject("LAMEDUCK"); e.wanted(e.s.system, subj) {
		e.put(event{subject: subj, kind: eventLameDuck})
	}
}

// wanted reports whether anybody listens to a subject. One that holds an account's name may be none.
func (e *Events) wanted(a *account.Account, subj string) bool {
	return a.Index().HasInterest([]byte(subj)) && subject.ValidName(subj)
}

func (e *Events) put(ev event) {
	e.mu.Lock()
	switch {
	case e.mu.closed:
	case len(e.mu.queue) >= eventsMax:
		e.refused.Add(1)
	default:
		if ev.kind == eventConns { // under the lock, so that the last event has the last number
			ev.conns, _ = ev.account.Conns()
		}
		e.mu.queue = append(e.mu.queue, ev)
	}
	e.mu.Unlock()
	e.notify()
}

func (e *Events) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// close lets no event in any more.
func (e *Events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.closed = true
}

func (e *Events) waiting() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.mu.queue)
}

// accountAuthErr is where an account hears of refused logins.
const accountAuthErr = "$SYS.ACCOUNT.CLIENT.AUTH.ERR"

func accountSubject(account, what string) string { return "$SYS.ACCOUNT." + account + "." + what }

func oldConnsSubject(account string) string { return "$SYS.SERVER.ACCOUNT." + account + ".CONNS" }

func (e *Events) serverSubject(what string) string { return "$SYS.SERVER." + e.s.id + "." + what }

func (e *Events) authErrSubject() string { return e.serverSubject("CLIENT.AUTH.ERR") }
