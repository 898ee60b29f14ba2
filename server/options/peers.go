package options

import (
	"net/url"
	"time"
)

// Cluster configures the routes between the servers of one cluster. The listener is on if Port is not 0.
type Cluster struct {
	Name           string
	Host           string
	Port           int
	Authorization  Authorization // single user only
	Permissions    *RoutePermissions
	TLS            *TLS
	Advertise      string
	NoAdvertise    bool
	Routes         []*url.URL
	ConnectRetries int
	ConnectBackoff bool
	PoolSize       int      // connections to each peer; negative: one connection of the old form
	PinnedAccounts []string // with connections of their own
	Compression    Compression
	PingInterval   time.Duration // at most MaxRoutePing; 0 uses Options.PingInterval, bounded likewise
	MaxPingsOut    int           // 0 uses Options.MaxPingsOut
	WriteDeadline  time.Duration // 0 uses Options.WriteDeadline
	WriteTimeout   WriteTimeoutPolicy
}

// RoutePermissions restrict what crosses a route: Import limits what peers send here, Export what goes out.
type RoutePermissions struct {
	Import, Export *SubjectPermission
}

// CompressionMode says how the traffic of a peer connection is compressed.
type CompressionMode string

const (
	CompressionUnset        CompressionMode = ""
	CompressionNotSupported CompressionMode = "not supported"
	CompressionOff          CompressionMode = "off"
	CompressionAccept       CompressionMode = "accept"
	CompressionAuto         CompressionMode = "s2_auto"
	CompressionFast         CompressionMode = "s2_fast"
	CompressionBetter       CompressionMode = "s2_better"
	CompressionBest         CompressionMode = "s2_best"
)

// Compression is a compression mode; with CompressionAuto the round trip time chooses by RTTThresholds,
// of which there are one to four, ascending: up to the first uncompressed, then fast, better, best.
type Compression struct {
	Mode          CompressionMode
	RTTThresholds []time.Duration
}

// Gateway configures the connections between clusters. It is on if Name is not empty.
type Gateway struct {
	Name           string
	Host           string
	Port           int
	Authorization  Authorization // single user only
	TLS            *TLS
	Advertise      string
	ConnectRetries int
	ConnectBackoff bool
	Remotes        []*RemoteGateway
	RejectUnknown  bool
	WriteDeadline  time.Duration
	WriteTimeout   WriteTimeoutPolicy
}

// RemoteGateway is a cluster to connect to.
type RemoteGateway struct {
	Name string
	URLs []*url.URL
	TLS  *TLS // nil: the gateway's
}

// Leaf configures leaf node connections: the listener (on if Port is not 0) and the remotes.
type Leaf struct {
	Host            string
	Port            int
	Authorization   Authorization // users have a name, a password and an account
	Nkey            string        // instead of a single user
	Account         string        // of the single user
	TLS             *TLS
	Advertise       string
	NoAdvertise     bool
	Reconnect       time.Duration
	DialTimeout     time.Duration
	MinVersion      string // oldest accepted version of a leaf; empty: any
	Compression     Compression
	IsolateInterest bool
	Remotes         []*RemoteLeaf
	WriteDeadline   time.Duration
	WriteTimeout    WriteTimeoutPolicy
}

// RemoteLeaf is a server to connect to as a leaf.
type RemoteLeaf struct {
	URLs             []*url.URL
	Account          string // the local account; empty is $G
	Credentials      string // file
	Nkey             string // seed
	TLS              *TLS
	WSCompression    bool
	WSNoMasking      bool
	Hub              bool
	DenyImports      []string
	DenyExports      []string
	NoRandomize      bool
	Migrate          bool          // give up leadership of streams when the remote is gone
	MigrateDelay     time.Duration // after this time
	IsolateInterest  bool
	RequestIsolation bool
	Compression      Compression
	FirstInfoTimeout time.Duration // 0 is the default
	DialTimeout      time.Duration // 0 is Leaf.DialTimeout
	Disabled         bool
	IgnoreDiscovered bool // connect to the configured URLs only
	Proxy            *HTTPProxy
}

// HTTPProxy is a proxy through which a leaf connects.
type HTTPProxy struct {
	URL                string
	Username, Password string
	Timeout            time.Duration
	TLS                *TLS
}

// Websocket configures the WebSocket listener, on if Port is not 0.
type Websocket struct {
	Host             string
	Port             int
	Advertise        string
	NoTLS            bool
	TLS              *TLS
	SameOrigin       bool
	AllowedOrigins   []string
	HandshakeTimeout time.Duration // 0 is none
	Compression      bool
	Authorization    Authorization // overrides the server's single user and token
	NoAuthUser       string
	JWTCookie        string
	UsernameCookie   string
	PasswordCookie   string
	TokenCookie      string
	Headers          map[string]string // added to the answer of a handshake
	PingInterval     time.Duration     // 0 is Options.PingInterval
}

// MQTT configures the MQTT listener, on if Port is not 0.
type MQTT struct {
	Host                      string
	Port                      int
	TLS                       *TLS
	Authorization             Authorization // overrides the server's single user and token
	NoAuthUser                string
	AckWait                   time.Duration
	APITimeout                time.Duration
	MaxAckPending             uint16
	JSDomain                  string
	StreamReplicas            int
	ConsumerReplicas          int
	ConsumerMemoryStorage     bool
	ConsumerInactiveThreshold time.Duration
	RejectQoS2Publish         bool
	DowngradeQoS2Subscribe    bool
}
