// Package conn is a client's connection: reading and parsing, login, subscriptions and publishing, and the outbound
// side that senders of other connections hand frames to.
package conn

import (
	"crypto/tls"
	"sync/atomic"
	"time"

	"godwit/protocol"
	"godwit/protocol/jsapi"
	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/monitor"
	"godwit/server/router"
)

// Env is what all connections of a server share. The server fills it before the first connection.
type Env struct {
	Settings atomic.Pointer[Settings]
	Auth     atomic.Pointer[auth.Authenticator]
	Accounts *account.Registry
	Registry *Registry
	Log      Logger
	// Info describes the server to a client; the connection adds what is its own. It is called once per INFO.
	Info func() protocol.Info
	// Nonce returns a new challenge, 15 characters.
	Nonce func() string
	// TLS is how clients' connections are encrypted; nil if they are not.
	TLS atomic.Pointer[TLS]
	// Connected is told of each CONNECT that let a client in, Left of an account that a client has left for another one,
	// Disconnected of each connection that has ended, which it is given. They must be set and must not block.
	Connected func(*Conn)
	// Joined is told of each login that was delegated, once the connection is a member of its account.
	Joined func(*Conn, *auth.Identity)
	// RefusedRequest returns the body of the answer to a request to the JetStream API that a quota refuses, nil for one that
	// is answered with a status only. The subject is lent. It may be nil.
	RefusedRequest func(subject []byte, why *jsapi.Error) []byte
	// Follow publishes what was told of a message that a client of the account has asked to be traced. It must not block, and
	// may be called by any goroutine; nil traces nothing.
	Follow func(a *account.Account, t *router.Trace, events []any)
	// Refused is told of each login that a service of an account has refused.
	Refused      func(*Conn, *auth.Failure)
	Left         func(*account.Account)
	Disconnected func(*monitor.Conn)
}

// Front is a listener of another kind than the client port, as far as its connections are clients like others. It has
// done TLS and whatever else comes before the protocol.
type Front struct {
	Type string              // as monitoring shows it
	Kind auth.ConnectionType // as allowed_connection_types names it
	Auth *atomic.Pointer[auth.Authenticator]
	// AuthTimeout is the time for a login.
	AuthTimeout time.Duration
	// PingInterval is that of its connections; 0 is the server's.
	PingInterval time.Duration
	// Info changes what INFO says to what is true of this listener.
	Info func(*protocol.Info)
}

// Arrival is what a front knows of one connection.
type Arrival struct {
	Front      *Front
	TLS        *tls.ConnectionState    // nil without TLS
	Forwarded  string                  // address of the client as a proxy tells it; for logs only
	Fill       func(*protocol.Connect) // sets what the client has left empty
	ClosingFor func(monitor.Reason)    // is told why the connection is about to be closed
}

// Logger is where connections report to.
type Logger interface {
	Noticef(format string, args ...any)
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
	Debugf(format string, args ...any)
	// RateLimitErrorf is Errorf for what a client can bring about again and again.
	RateLimitErrorf(format string, args ...any)
	Tracef(format string, args ...any)
}

// Settings are limits and times that a reload can change. Connections read them when they need them.
type Settings struct {
	MaxConn       int // client connections; below 0 none
	MaxSubs       int // per connection; 0 is unlimited
	MaxSubTokens  int // 0 is unlimited
	ControlLine   int // bytes
	MaxPayload    int // bytes
	MaxPending    int64
	PingInterval  time.Duration
	MaxPings      int
	WriteDeadline time.Duration
	WriteRetry    bool
	AuthTimeout   time.Duration
	NoHeaders     bool
	NoStall       bool
	ProxyProtocol bool // connections of the client port may begin with the header of a proxy
	Trace         bool
	TraceHeaders  bool
	TraceMax      int // bytes of a traced payload; 0 shows all
	ServerName    string
}

// TLS is how a listener does TLS. It is immutable; a reload makes a new one.
type TLS struct {
	Config        *tls.Config
	Allow         func() bool // asked before each handshake, for a rate limit; nil allows all
	Timeout       time.Duration
	Optional      bool          // clients may stay in clear
	First         bool          // the handshake comes before INFO
	FirstFallback time.Duration // wait this long for it, then go on as if First were not set; 0 waits for Timeout
	Verify        bool
	Map           bool
}
