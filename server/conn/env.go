// Package conn is a client's connection: reading and parsing, login, subscriptions and publishing, and the outbound
// side that senders of other connections hand frames to.
package conn

import (
	"crypto/tls"
	"sync/atomic"
	"time"

	"godwit/protocol"
	"godwit/server/account"
	"godwit/server/auth"
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
}

// Logger is where connections report to.
type Logger interface {
	Noticef(format string, args ...any)
	Errorf(format string, args ...any)
	Debugf(format string, args ...any)
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
