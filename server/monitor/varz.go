package monitor

import (
	"runtime"
	"time"
)

// Varz is the answer of /varz: settings, counters and the state of the process. Durations are nanoseconds,
// timeouts written as float64 are seconds.
type Varz struct {
	ID                string        `json:"server_id"`
	Name              string        `json:"server_name"`
	Version           string        `json:"version"`
	Proto             int           `json:"proto"`
	GitCommit         string        `json:"git_commit,omitempty"`
	Go                string        `json:"go"`
	Host              string        `json:"host"` // of the client listener, or as advertised
	Port              int           `json:"port"`
	AuthRequired      bool          `json:"auth_required,omitempty"`
	TLSRequired       bool          `json:"tls_required,omitempty"`
	TLSVerify         bool          `json:"tls_verify,omitempty"`
	TLSOCSPPeerVerify bool          `json:"tls_ocsp_peer_verify,omitempty"`
	IP                string        `json:"ip,omitempty"`
	ConnectURLs       []string      `json:"connect_urls,omitempty"`
	WSConnectURLs     []string      `json:"ws_connect_urls,omitempty"`
	MaxConn           int           `json:"max_connections"` // as configured
	MaxSubs           int           `json:"max_subscriptions,omitempty"`
	PingInterval      time.Duration `json:"ping_interval"`
	MaxPingsOut       int           `json:"ping_max"`
	HTTPHost          string        `json:"http_host"`
	HTTPPort          int           `json:"http_port"`
	HTTPBasePath      string        `json:"http_base_path"` // as configured
	HTTPSPort         int           `json:"https_port"`
	AuthTimeout       float64       `json:"auth_timeout"`
	MaxControlLine    int32         `json:"max_control_line"`
	MaxPayload        int           `json:"max_payload"`
	MaxPending        int64         `json:"max_pending"`

	Cluster   ClusterOptsVarz   `json:"cluster"`
	Gateway   GatewayOptsVarz   `json:"gateway"`
	LeafNode  LeafNodeOptsVarz  `json:"leaf"`
	MQTT      MQTTOptsVarz      `json:"mqtt"`
	Websocket WebsocketOptsVarz `json:"websocket"`
	JetStream JetStreamVarz     `json:"jetstream"`

	TLSTimeout    float64       `json:"tls_timeout"`
	WriteDeadline time.Duration `json:"write_deadline"`
	WriteTimeout  string        `json:"write_timeout,omitempty"` // "close" or "retry"; empty is the default
	Start         time.Time     `json:"start"`
	Now           time.Time     `json:"now"`
	Uptime        string        `json:"uptime"`
	Mem           int64         `json:"mem"` // resident bytes
	Cores         int           `json:"cores"`
	GoMaxProcs    int           `json:"gomaxprocs"`
	GoMemLimit    int64         `json:"gomemlimit,omitempty"`
	CPU           float64       `json:"cpu"` // percent of one processor

	Connections      int               `json:"connections"` // clients open now
	TotalConnections uint64            `json:"total_connections"`
	Routes           int               `json:"routes"`
	Remotes          int               `json:"remotes"` // distinct servers at the end of routes
	Leafs            int               `json:"leafnodes"`
	InMsgs           int64             `json:"in_msgs"` // over all kinds of connection
	InBytes          int64             `json:"in_bytes"`
	InClientMsgs     int64             `json:"in_client_msgs"`
	InClientBytes    int64             `json:"in_client_bytes"`
	OutMsgs          int64             `json:"out_msgs"`
	OutBytes         int64             `json:"out_bytes"`
	OutClientMsgs    int64             `json:"out_client_msgs"`
	OutClientBytes   int64             `json:"out_client_bytes"`
	SlowConsumers    int64             `json:"slow_consumers"`
	StaleConnections int64             `json:"stale_connections"`
	StalledClients   int64             `json:"stalled_clients"`
	Throttled        time.Duration     `json:"throttled_time,omitempty"` // that quotas held connections back, summed up; not in nats-server
	Refused          int64             `json:"refused_msgs,omitempty"`   // by quotas; not in nats-server
	Subscriptions    uint32            `json:"subscriptions"`            // over all accounts, internal ones included
	HTTPReqStats     map[string]uint64 `json:"http_req_stats"`
	ConfigLoadTime   time.Time         `json:"config_load_time"`
	ConfigDigest     string            `json:"config_digest"` // "sha256:…", or empty without a file

	Tags                  []string          `json:"tags,omitempty"`
	Metadata              map[string]string `json:"metadata,omitempty"`
	FeatureFlags          map[string]bool   `json:"feature_flags,omitempty"`
	TrustedOperatorsJwt   []string          `json:"trusted_operators_jwt,omitempty"`
	TrustedOperatorsClaim []any             `json:"trusted_operators_claim,omitempty"`
	SystemAccount         string            `json:"system_account,omitempty"`
	PinnedAccountFail     uint64            `json:"pinned_account_fails,omitempty"`
	OCSPResponseCache     *OCSPPeerCache    `json:"ocsp_peer_cache,omitempty"`
	SlowConsumersStats    KindCounts        `json:"slow_consumer_stats"`
	StaleConnectionStats  KindCounts        `json:"stale_connection_stats"`
	DiskIOWait            DiskIOWaitStats   `json:"disk_io_wait_stats"`
	Proxies               *ProxiesOptsVarz  `json:"proxies,omitempty"`
	TLSCertNotAfter       time.Time         `json:"tls_cert_not_after,omitzero"`
}

// KindCounts counts an event by the kind of connection it happened to.
type KindCounts struct {
	Clients  uint64 `json:"clients"`
	Routes   uint64 `json:"routes"`
	Gateways uint64 `json:"gateways"`
	Leafs    uint64 `json:"leafs"`
}

// DiskIOWaitStats tells how often work waited for a place among the disk operations running at one time.
type DiskIOWaitStats struct {
	Waiters     int64  `json:"waiters"` // waiting now
	Waits       uint64 `json:"waits"`
	WaitTime    uint64 `json:"wait_time"`     // nanoseconds, summed
	MaxWaitTime uint64 `json:"max_wait_time"` // nanoseconds
}

// OCSPPeerCache describes the cache of OCSP responses about peers.
type OCSPPeerCache struct {
	Type      string `json:"cache_type,omitempty"`
	Hits      int64  `json:"cache_hits,omitempty"`
	Misses    int64  `json:"cache_misses,omitempty"`
	Responses int64  `json:"cached_responses,omitempty"`
	Revokes   int64  `json:"cached_revoked_responses,omitempty"`
	Goods     int64  `json:"cached_good_responses,omitempty"`
	Unknowns  int64  `json:"cached_unknown_responses,omitempty"`
}

// ProxiesOptsVarz shows the proxies trusted to sign for their clients.
type ProxiesOptsVarz struct {
	Trusted []ProxyKey `json:"trusted,omitempty"`
}

// ProxyKey is the public key of a proxy.
type ProxyKey struct {
	Key string `json:"key"`
}

// Varz returns the state of the server.
func (m *Monitor) Varz() *Varz {
	v := m.src.Varz()
	now := m.now()
	p := m.process.sample(now)
	v.Go = runtime.Version()
	v.Start = v.Start.UTC()
	v.ConfigLoadTime = v.ConfigLoadTime.UTC()
	v.Now = now.UTC()
	v.Uptime = FormatUptime(now.Sub(v.Start))
	v.Mem, v.CPU, v.Cores = p.ResidentBytes, p.CPUPercent, cores()
	v.GoMaxProcs, v.GoMemLimit = runtime.GOMAXPROCS(0), memoryLimit()
	v.HTTPReqStats = m.requests.snapshot()
	return v
}
