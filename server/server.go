// Package server puts the parts of a server together and runs them.
package server

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/conn"
	"godwit/server/logging"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/system"
)

// Version is Godwit's own version. ProtocolVersion is the version of nats-server whose features it has: clients and
// tools decide by it what they may use.
const (
	Version         = "0.1.0"
	ProtocolVersion = "2.15.2"
	apiLevel        = 5
)

// firstClientID follows the numbers that connections inside the server take.
const firstClientID = 5

// Server is one server. New makes it, Start runs it, Shutdown ends it.
type Server struct {
	opts      atomic.Pointer[options.Options] // in force; shared
	log       *logging.Logger
	id        string // public server nkey
	key       nkeys.KeyPair
	xkey      string // public curve key
	curve     nkeys.KeyPair
	name      string
	started   time.Time
	loaded    atomic.Pointer[time.Time] // when the configuration was
	env       conn.Env
	accounts  *account.Registry
	js        atomic.Pointer[streams] // nil while JetStream is off
	monitor   *monitor.Monitor
	info      atomic.Pointer[protocol.Info]
	nextID    atomic.Uint64
	lameDuck  atomic.Bool
	ws        *wsFront // nil without WebSocket clients
	states    atomic.Pointer[certificateStates]
	operators *operators      // nil outside operator mode
	inquiries inquiries       // to services that decide about logins
	sys       *system.Service // nil without a system account
	program   string          // it was called by
	reread    func() error

	// mu guards what Start and Shutdown change. Nothing is waited for under it.
	mu       sync.Mutex
	listener net.Listener
	http     *monitor.Server
	prof     *profiler
	stopping bool
	ready    bool
	done     chan struct{} // closed when Shutdown is over
	accepts  sync.WaitGroup
	conns    sync.WaitGroup // one for each connection's reader
}

// New makes a server that does nothing yet. o is shared from now on and must not be changed; log is the caller's.
func New(o *options.Options, log *logging.Logger) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := guardable(o); err != nil {
		return nil, err
	}
	o, err := withOperators(o)
	if err != nil {
		return nil, err
	}
	s := &Server{log: log, started: time.Now(), done: make(chan struct{})}
	s.opts.Store(o)
	s.loaded.Store(&s.started)
	if err := s.identify(); err != nil {
		return nil, err
	}
	s.nextID.Store(firstClientID - 1)
	s.accounts = account.NewRegistry(o)
	s.accounts.SetServer(s.name, o.Cluster.Name)
	s.env.Accounts = s.accounts
	s.env.Registry = conn.NewRegistry(monitor.NewClosedRing(o.MaxClosedClients))
	s.env.Log = log
	s.env.Info = func() protocol.Info { return *s.info.Load() }
	s.env.Nonce = newNonce
	s.env.Connected = func(c *conn.Conn) { s.sys.Events().ClientConnected(c) }
	s.env.Left = func(a *account.Account) { s.sys.Events().AccountConnections(a) }
	s.env.Disconnected = func(last *monitor.Conn) { s.sys.Events().ClientDisconnected(last) }
	s.env.Refused = func(c *conn.Conn, why *auth.Failure) {
		if a := s.accounts.Lookup(why.Account); a != nil {
			last := c.Snapshot()
			s.sys.Events().LoginRefused(a, &last, why.Reason)
		}
	}
	s.env.RefusedRequest = s.refuseRequest
	s.env.Joined = func(c *conn.Conn, id *auth.Identity) { s.operators.joined(c, id) }
	s.monitor = monitor.New(monitor.Options{Source: source{Server: s}, Logger: s.log, Pages: s.pages(),
		Collectors: []monitor.Collector{monitor.CollectorFunc(s.collectExchange), monitor.CollectorFunc(s.collectQuotas), monitor.CollectorFunc(s.collectConns),
			monitor.CollectorFunc(s.collectStreams)}})
	s.sys = system.New(system.Options{Host: host{s}, Monitor: s.monitor, Accounts: s.accounts, Log: s.log})
	if s.sys != nil {
		s.env.Follow = s.sys.PublishTrace
	}
	s.setTerms(o, nil)
	if err := s.newOperators(o); err != nil {
		return nil, err
	}
	s.inquiries.init(s.accounts)
	parts, err := s.build(o)
	if err == nil {
		if err = s.newWebsocket(o, parts.ws); err != nil {
			s.discard(parts.states)
		}
	}
	if err != nil {
		s.operators.close()
		return nil, err
	}
	s.apply(o, parts)
	return s, nil
}

// identify makes the keys of this run.
func (s *Server) identify() error {
	kp, err := nkeys.CreateServer()
	if err != nil {
		return fmt.Errorf("server key: %w", err)
	}
	s.key = kp
	if s.id, err = kp.PublicKey(); err != nil {
		return fmt.Errorf("server key: %w", err)
	}
	curve, err := nkeys.CreateCurveKeys()
	if err != nil {
		return fmt.Errorf("curve key: %w", err)
	}
	s.curve = curve
	if s.xkey, err = curve.PublicKey(); err != nil {
		return fmt.Errorf("curve key: %w", err)
	}
	if s.name = s.options().ServerName; s.name == "" {
		s.name = s.id
	}
	return nil
}

// newNonce returns a challenge for clients that log in with a key.
func newNonce() string {
	var b [11]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Start opens everything. It returns when clients can connect, or with the reason why they cannot; then nothing is
// left open.
func (s *Server) Start() (err error) {
	defer func() {
		if err != nil {
			s.Shutdown()
		}
	}()
	s.logStart()
	s.warnAbsent()
	s.info.Store(s.baseInfo(s.advertised(s.options().Port)))
	if err := s.startMonitor(); err != nil {
		//lint:ignore ST1005 the text that operators know
		return fmt.Errorf("Can't start monitoring: %w", err)
	}
	if s.options().JetStream.Enabled {
		if err := s.startStreams(s.options()); err != nil {
			//lint:ignore ST1005 the text that operators know
			return fmt.Errorf("Can't start JetStream: %w", err)
		}
	}
	s.sys.Start()
	s.operators.start()
	s.info.Store(s.baseInfo(s.advertised(s.options().Port)))
	if err := s.ws.start(); err != nil {
		return err
	}
	if !s.options().DontListen {
		if err := s.listen(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
	s.log.Noticef("Server is ready")
	return nil
}

// natsServer is the name under which everything is as that program does it.
const natsServer = "nats-server"

// CalledAs sets the name that the program was called by, which the log begins with. It is called before Start.
func (s *Server) CalledAs(program string) { s.program = program }

// options are those in force.
func (s *Server) options() *options.Options { return s.opts.Load() }

// ID is the server's public key, new at each start.
func (s *Server) ID() string { return s.id }

// Name is the configured name or the ID.
func (s *Server) Name() string { return s.name }

// ClientAddr is where clients can connect; nil before Start and without a listener.
func (s *Server) ClientAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// MonitorAddr is where the HTTP endpoints are; nil if there are none.
func (s *Server) MonitorAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return nil
	}
	return s.http.Addr()
}

// Shutdown ends the server: it closes all connections, waits until nothing of them is left and closes the streams. A
// second call waits for the first.
func (s *Server) Shutdown() {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		<-s.done
		return
	}
	s.stopping = true
	ln, http, prof := s.listener, s.http, s.prof
	s.mu.Unlock()
	s.log.Noticef("Initiating Shutdown...")
	if ln != nil {
		ln.Close()
	}
	s.ws.close()
	s.accepts.Wait()
	st := s.js.Load()
	if st != nil {
		st.service.EndRequests() // they hear of it while their connections are there
	}
	s.sys.Close() // its last word is that the server goes
	for _, c := range s.env.Registry.All() {
		c.Close(monitor.ReasonServerShutdown, "")
	}
	s.inquiries.close()
	s.conns.Wait()
	s.follow(&certificateStates{})
	s.operators.close()
	s.accounts.Close()
	if st != nil {
		st.close()
	}
	if http != nil {
		if err := http.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.Warnf("Closing the monitoring port: %v", err)
		}
	}
	if prof != nil {
		prof.close()
	}
	s.log.Noticef("Server Exiting..")
	close(s.done)
}

// Done is closed when the server has shut down.
func (s *Server) Done() <-chan struct{} { return s.done }
