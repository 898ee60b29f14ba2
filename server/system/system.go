// Package system is the system account's side of a server: it answers the requests under $SYS.REQ, in the system
// account about everything and in every other account about that account alone, and publishes the server's events.
//
// Requests are copied from the publisher's goroutine into bounded queues and answered by one goroutine, profiles by
// another, so that no client waits for what another one asks. Events are queued, too, and sent by a third.
package system

import (
	"sync"

	"godwit/server/account"
	"godwit/server/monitor"
	"godwit/server/router"
)

// Host is what the system account needs of the server. Its methods may be called at any time from several goroutines
// until Close has returned, and none may wait for Close.
type Host interface {
	// Identity describes the server as it is now. What it refers to is shared.
	Identity() Identity
	// Reload reads the configuration again. The error's text is the answer.
	Reload() error
	// Kick closes a client or leafnode connection; ErrNoConnection if there is none of that number.
	Kick(cid uint64) error
	// LameDuck tells one client that the server will close it; ErrNoClient or ErrNotReady if it cannot be told.
	LameDuck(cid uint64) error
	// UserInfo describes the user of a connection; false if from is no connection of this server.
	UserInfo(from router.Origin) (UserInfo, bool)
}

// Logger takes what the package has to say to the operator.
type Logger interface {
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Options configures a Service.
type Options struct {
	Host     Host              // required
	Monitor  *monitor.Monitor  // required: answers most requests
	Accounts *account.Registry // required
	Log      Logger            // required
	// ActiveServers is the number of servers that this one knows of, itself included. Nil is one.
	ActiveServers func() int
	// DebugEverywhere lets every account ask for its own subscribers on $SYS.DEBUG.SUBSCRIBERS. Without it only the
	// system account can, as with nats-server 2.15.
	DebugEverywhere bool
}

// Service answers requests and sends events. It is made by New, begins with Start and ends with Close. All methods of
// a nil Service do nothing: that is the one of a server without a system account.
type Service struct {
	host            Host
	monitor         *monitor.Monitor
	accounts        *account.Registry
	system          *account.Account
	log             Logger
	activeServers   func() int
	debugEverywhere bool
	stamp           stamp
	id              string // of the server, for the life of the process
	requests        *queue // of the system account
	guests          *queue // of all others, answered while requests is empty
	profiles        chan *request
	cpuProfiler     cpuProfiler
	events          Events
	stop            chan struct{}
	done            sync.WaitGroup

	// mu ranks before router.Index.mu.
	mu struct {
		sync.Mutex
		subs   map[*account.Account][]*router.Sub
		closed bool
	}
}

// New makes a Service; nil if o.Accounts has no system account.
func New(o Options) *Service {
	if o.Accounts.System() == nil {
		return nil
	}
	s := &Service{host: o.Host, monitor: o.Monitor, accounts: o.Accounts, system: o.Accounts.System(), log: o.Log,
		activeServers: o.ActiveServers, debugEverywhere: o.DebugEverywhere, id: o.Host.Identity().ID,
		profiles: make(chan *request, profilesWaiting), cpuProfiler: runtimeProfiler{}, stop: make(chan struct{})}
	if s.activeServers == nil {
		s.activeServers = func() int { return 1 }
	}
	s.stamp.init()
	wake := make(chan struct{}, 1)
	s.requests, s.guests = newQueue(wake), newQueue(wake)
	s.mu.subs = make(map[*account.Account][]*router.Sub)
	s.events.init(s)
	return s
}

// Start begins to answer and to send.
func (s *Service) Start() {
	if s == nil {
		return
	}
	s.AccountsChanged()
	s.done.Go(s.answerAll)
	s.done.Go(s.profileAll)
	s.done.Go(s.events.run)
}

// AccountsChanged makes requests possible in accounts that are new, and ends them in those that have gone.
func (s *Service) AccountsChanged() {
	if s == nil {
		return
	}
	all := s.accounts.All()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return
	}
	there := make(map[*account.Account]bool, len(all))
	for _, a := range all {
		there[a] = true
		if _, ok := s.mu.subs[a]; !ok {
			s.mu.subs[a] = s.subscribe(a)
		}
	}
	for a := range s.mu.subs {
		if !there[a] {
			s.unsubscribeLocked(a)
		}
	}
}

func (s *Service) unsubscribeLocked(a *account.Account) {
	for _, sub := range s.mu.subs[a] {
		a.Index().Unsubscribe(sub)
	}
	delete(s.mu.subs, a)
}

// Close announces the shutdown, after all events that came before, and ends the service: no answer and no event is
// sent any more, and nothing is left running. It is called while those who listen are still connected.
func (s *Service) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		s.done.Wait()
		return
	}
	s.mu.closed = true
	for a := range s.mu.subs {
		s.unsubscribeLocked(a)
	}
	s.mu.Unlock()
	s.requests.close()
	s.guests.close()
	s.events.close()
	close(s.stop)
	s.done.Wait()
}

// Events are the hooks for what happens in the server.
func (s *Service) Events() *Events {
	if s == nil {
		return nil
	}
	return &s.events
}

// Queues describes the internal queues for monitoring.
func (s *Service) Queues() []monitor.QueueInfo {
	if s == nil {
		return nil
	}
	return []monitor.QueueInfo{
		s.requests.info("System recvQ"),
		s.guests.info("System recvQ Accounts"),
		{Name: "System profileQ", Pending: len(s.profiles)},
		{Name: "System sendQ", Pending: s.events.waiting()},
	}
}

// Refused counts what was dropped because a queue was full: requests, which got no answer, and events.
func (s *Service) Refused() (requests, events uint64) {
	if s == nil {
		return 0, 0
	}
	return s.requests.refused.Load() + s.guests.refused.Load(), s.events.refused.Load()
}
