// Package options holds everything that a running server can be told, as plain data: resolved values
// with Go's own types (time.Duration for times, bytes for sizes), no parsing and no I/O. Package config
// makes Options from a file and the command line; every part of the server reads what concerns it.
//
// An Options is built by one goroutine and shared, never written again, once a server has it. A reload
// builds a new one.
package options

import "time"

// Options configures a server. Build it with Defaults and change what should differ: the zero value of
// a field is not always its default.
type Options struct {
	ConfigFile   string // as given on the command line; empty without a file
	ConfigDigest string // "sha256:" and the hex digest of the file's contents; empty without a file

	// Identity.
	ServerName   string // empty: the server uses its id
	Tags         []string
	Metadata     map[string]string
	FeatureFlags map[string]bool

	// The client listener.
	Host            string
	Port            int    // RandomPort lets the system choose
	ClientAdvertise string // host or host:port shown to clients and peers instead of Host and Port
	DontListen      bool   // no client listener: connections come from inside the process only
	TLS             *TLS   // nil: no TLS
	AllowNonTLS     bool   // clients may stay in clear although TLS is configured
	ProxyProtocol   bool   // connections open with a PROXY protocol header
	OCSP            *OCSP
	OCSPCache       *OCSPCache

	// Limits of one client connection or of all.
	MaxConn             int   // RefuseAll refuses everybody; default 65536
	MaxSubs             int   // subscriptions of one connection; 0 is unlimited
	MaxSubTokens        int   // tokens of a subscribed subject, 1 to 255; 0 is unlimited
	MaxControlLine      int32 // bytes
	MaxPayload          int32 // bytes of headers and payload
	MaxPending          int64 // bytes queued for one connection before it is a slow consumer
	MaxClosedClients    int   // closed connections remembered for /connz
	NoHeaderSupport     bool
	NoSublistCache      bool
	NoFastProducerStall bool
	PingInterval        time.Duration
	MaxPingsOut         int // unanswered pings before a connection is stale
	WriteDeadline       time.Duration
	WriteTimeout        WriteTimeoutPolicy
	LameDuckDuration    time.Duration // over which clients are disconnected
	LameDuckGrace       time.Duration // before the first of them is

	// Who may log in, and as what. Users of accounts are in Authorization.Users with their account's name.
	Authorization    Authorization
	NoAuthUser       string // user or nkey of clients that show no credentials
	Accounts         []*Account
	Quotas           Quotas // of accounts and users without their own
	SystemAccount    string // default $SYS
	NoSystemAccount  bool
	Mappings         []*Mapping // of account $G
	Proxies          *Proxies
	Operators        []*Operator // trusted operators, in the order of the file
	TrustedKeys      []string    // public operator keys, instead of Operators
	Resolver         *Resolver
	ResolverPreload  map[string]string // account key to account JWT
	ResolverPinned   []string          // only these accounts may log in
	ResolverTLS      *TLS
	DefaultSentinel  string            // user JWT of clients that present none
	DefaultJSDomains map[string]string // account to JetStream domain

	Log        Log
	Monitoring Monitoring
	PidFile    string
	PortsDir   string // directory of the <exe>_<pid>.ports file

	JetStream JetStream
	Cluster   Cluster
	Gateway   Gateway
	Leaf      Leaf
	Websocket Websocket
	MQTT      MQTT

	ConnectErrorReports   int // every how many failed first attempts to connect to a peer one is logged
	ReconnectErrorReports int // the same for attempts after a connection was lost
}

// WriteTimeoutPolicy says what happens to a connection whose write hits the deadline.
type WriteTimeoutPolicy int

const (
	WriteTimeoutDefault WriteTimeoutPolicy = iota // clients are closed, peers retry
	WriteTimeoutClose
	WriteTimeoutRetry
)

// String returns the policy's word in a configuration file.
func (p WriteTimeoutPolicy) String() string {
	switch p {
	case WriteTimeoutClose:
		return "close"
	case WriteTimeoutRetry:
		return "retry"
	}
	return "default"
}

// Log says what is logged and where to.
type Log struct {
	Debug           bool
	Trace           bool
	TraceVerbose    bool // also the system account's traffic
	TraceHeaders    bool // only the headers of messages
	Time            bool // lines start with the time
	UTC             bool
	File            string // empty: standard error
	SizeLimit       int64  // bytes after which the file is rotated; 0 is never
	MaxFiles        int    // rotated files kept; 0 keeps all
	Syslog          bool
	RemoteSyslog    string // URL
	MaxTracedMsgLen int    // bytes of a payload shown in a trace; 0 shows all
}

// Monitoring configures the HTTP endpoints.
type Monitoring struct {
	HTTPHost      string // of both ports
	HTTPPort      int    // 0 is off, RandomPort lets the system choose
	HTTPSPort     int    // needs Options.TLS
	HTTPBasePath  string // starts with "/"
	ProfPort      int    // of the pprof endpoints; 0 is off
	ProfBlockRate int
	Login         *MonitoringLogin // nil: everybody may
	Messages      *bool            // without a login, whether the dashboard shows stored messages; nil: if HTTPHost is a loopback address
}

// MonitoringLogin says who may use the monitoring endpoints.
type MonitoringLogin struct {
	Users []MonitoringUser
	Open  []string // paths that need no login
}

// MonitoringUser is one who may: by name and password, or by token. Passwords and tokens may be bcrypt hashes.
type MonitoringUser struct {
	Name, Password, Token string
	Messages              bool // the dashboard shows stored messages
}

// Proxies lists the proxies whose signature of a login is trusted.
type Proxies struct {
	Trusted []string // public nkeys
}

// OCSPMode says whether and when the server staples OCSP responses to its certificate.
type OCSPMode int

const (
	OCSPModeAuto   OCSPMode = iota // when the certificate asks for it
	OCSPModeAlways                 // whenever the certificate names a responder
	OCSPModeNever
	OCSPModeMust // and shut down when the certificate is revoked or the responder is silent
)

// OCSP configures stapling.
type OCSP struct {
	Mode         OCSPMode
	OverrideURLs []string // responders instead of those in the certificate
}

// OCSPCache configures the store of responses about peers.
type OCSPCache struct {
	Local           bool   // keep responses in LocalStore; false keeps none
	LocalStore      string // directory
	PreserveRevoked bool
	SaveInterval    time.Duration
}
