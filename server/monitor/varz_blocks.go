package monitor

import "time"

// ClusterOptsVarz shows the cluster block. All of it is absent without a cluster.
type ClusterOptsVarz struct {
	Name            string        `json:"name,omitempty"`
	Host            string        `json:"addr,omitempty"`
	Port            int           `json:"cluster_port,omitempty"`
	AuthTimeout     float64       `json:"auth_timeout,omitempty"`
	URLs            []string      `json:"urls,omitempty"` // host:port
	TLSTimeout      float64       `json:"tls_timeout,omitempty"`
	TLSRequired     bool          `json:"tls_required,omitempty"`
	TLSVerify       bool          `json:"tls_verify,omitempty"`
	PoolSize        int           `json:"pool_size,omitempty"`
	WriteDeadline   time.Duration `json:"write_deadline,omitempty"`
	WriteTimeout    string        `json:"write_timeout,omitempty"`
	TLSCertNotAfter time.Time     `json:"tls_cert_not_after,omitzero"`
}

// GatewayOptsVarz shows the gateway block.
type GatewayOptsVarz struct {
	Name            string                  `json:"name,omitempty"`
	Host            string                  `json:"host,omitempty"`
	Port            int                     `json:"port,omitempty"`
	AuthTimeout     float64                 `json:"auth_timeout,omitempty"`
	TLSTimeout      float64                 `json:"tls_timeout,omitempty"`
	TLSRequired     bool                    `json:"tls_required,omitempty"`
	TLSVerify       bool                    `json:"tls_verify,omitempty"`
	Advertise       string                  `json:"advertise,omitempty"`
	ConnectRetries  int                     `json:"connect_retries,omitempty"`
	Gateways        []RemoteGatewayOptsVarz `json:"gateways,omitempty"`
	RejectUnknown   bool                    `json:"reject_unknown,omitempty"`
	WriteDeadline   time.Duration           `json:"write_deadline,omitempty"` // the cluster's value, as it is known to be shown
	WriteTimeout    string                  `json:"write_timeout,omitempty"`
	TLSCertNotAfter time.Time               `json:"tls_cert_not_after,omitzero"`
}

// RemoteGatewayOptsVarz shows one gateway to connect to.
type RemoteGatewayOptsVarz struct {
	Name       string   `json:"name"`
	TLSTimeout float64  `json:"tls_timeout,omitempty"`
	URLs       []string `json:"urls,omitempty"`
}

// LeafNodeOptsVarz shows the leafnodes block.
type LeafNodeOptsVarz struct {
	Host              string               `json:"host,omitempty"`
	Port              int                  `json:"port,omitempty"`
	AuthTimeout       float64              `json:"auth_timeout,omitempty"`
	TLSTimeout        float64              `json:"tls_timeout,omitempty"`
	TLSRequired       bool                 `json:"tls_required,omitempty"`
	TLSVerify         bool                 `json:"tls_verify,omitempty"`
	Remotes           []RemoteLeafOptsVarz `json:"remotes,omitempty"`
	TLSOCSPPeerVerify bool                 `json:"tls_ocsp_peer_verify,omitempty"`
	WriteDeadline     time.Duration        `json:"write_deadline,omitempty"` // the cluster's value, as it is known to be shown
	WriteTimeout      string               `json:"write_timeout,omitempty"`
	TLSCertNotAfter   time.Time            `json:"tls_cert_not_after,omitzero"`
}

// RemoteLeafOptsVarz shows one leafnode remote.
type RemoteLeafOptsVarz struct {
	LocalAccount      string     `json:"local_account,omitempty"`
	TLSTimeout        float64    `json:"tls_timeout,omitempty"`
	URLs              []string   `json:"urls,omitempty"` // without user and password
	Deny              *DenyRules `json:"deny,omitempty"`
	TLSOCSPPeerVerify bool       `json:"tls_ocsp_peer_verify,omitempty"`
}

// DenyRules lists the subjects a leafnode remote neither exports nor imports.
type DenyRules struct {
	Exports []string `json:"exports,omitempty"`
	Imports []string `json:"imports,omitempty"`
}

// MQTTOptsVarz shows the mqtt block.
type MQTTOptsVarz struct {
	Host              string        `json:"host,omitempty"`
	Port              int           `json:"port,omitempty"`
	NoAuthUser        string        `json:"no_auth_user,omitempty"`
	AuthTimeout       float64       `json:"auth_timeout,omitempty"`
	TLSMap            bool          `json:"tls_map,omitempty"`
	TLSTimeout        float64       `json:"tls_timeout,omitempty"`
	TLSPinnedCerts    []string      `json:"tls_pinned_certs,omitempty"`
	JsDomain          string        `json:"js_domain,omitempty"`
	AckWait           time.Duration `json:"ack_wait,omitempty"`
	MaxAckPending     uint16        `json:"max_ack_pending,omitempty"`
	TLSOCSPPeerVerify bool          `json:"tls_ocsp_peer_verify,omitempty"`
	TLSCertNotAfter   time.Time     `json:"tls_cert_not_after,omitzero"`
}

// WebsocketOptsVarz shows the websocket block.
type WebsocketOptsVarz struct {
	Host              string        `json:"host,omitempty"`
	Port              int           `json:"port,omitempty"`
	Advertise         string        `json:"advertise,omitempty"`
	NoAuthUser        string        `json:"no_auth_user,omitempty"`
	JWTCookie         string        `json:"jwt_cookie,omitempty"`
	HandshakeTimeout  time.Duration `json:"handshake_timeout,omitempty"`
	AuthTimeout       float64       `json:"auth_timeout,omitempty"`
	NoTLS             bool          `json:"no_tls,omitempty"`
	TLSMap            bool          `json:"tls_map,omitempty"`
	TLSPinnedCerts    []string      `json:"tls_pinned_certs,omitempty"`
	SameOrigin        bool          `json:"same_origin,omitempty"`
	AllowedOrigins    []string      `json:"allowed_origins,omitempty"`
	Compression       bool          `json:"compression,omitempty"`
	TLSOCSPPeerVerify bool          `json:"tls_ocsp_peer_verify,omitempty"`
	TLSCertNotAfter   time.Time     `json:"tls_cert_not_after,omitzero"`
}

// JetStreamVarz shows JetStream; all of it is absent when JetStream is off.
type JetStreamVarz struct {
	Config *JetStreamConfig `json:"config,omitempty"`
	Stats  *JetStreamStats  `json:"stats,omitempty"`
	Meta   *MetaClusterInfo `json:"meta,omitempty"`
	Limits *JetStreamLimits `json:"limits,omitempty"`
}

// JetStreamConfig shows how JetStream is configured. Sizes are bytes.
type JetStreamConfig struct {
	MaxMemory    int64         `json:"max_memory"`
	MaxStore     int64         `json:"max_storage"`
	StoreDir     string        `json:"store_dir,omitempty"`
	SyncInterval time.Duration `json:"sync_interval,omitempty"`
	SyncAlways   bool          `json:"sync_always,omitempty"`
	Domain       string        `json:"domain,omitempty"`
	CompressOK   bool          `json:"compress_ok,omitempty"`
	UniqueTag    string        `json:"unique_tag,omitempty"`
	Strict       bool          `json:"strict,omitempty"`
}

// JetStreamLimits shows the limits of the whole server.
type JetStreamLimits struct {
	MaxRequestBatch           int           `json:"max_request_batch,omitempty"`
	MaxAckPending             int           `json:"max_ack_pending,omitempty"`
	MaxHAAssets               int           `json:"max_ha_assets,omitempty"`
	Duplicates                time.Duration `json:"max_duplicate_window,omitempty"`
	MaxBatchInflightPerStream int           `json:"max_batch_inflight_per_stream,omitempty"`
	MaxBatchInflightTotal     int           `json:"max_batch_inflight_total,omitempty"`
	MaxBatchSize              int           `json:"max_batch_size,omitempty"`
	MaxBatchTimeout           time.Duration `json:"max_batch_timeout,omitempty"`
	DefaultMaxConsumers       int           `json:"default_max_consumers,omitempty"`
}

// JetStreamStats counts what JetStream uses. Sizes are bytes; a reservation without limit is the largest uint64.
type JetStreamStats struct {
	Memory         uint64            `json:"memory"`
	Store          uint64            `json:"storage"`
	ReservedMemory uint64            `json:"reserved_memory"`
	ReservedStore  uint64            `json:"reserved_storage"`
	Accounts       int               `json:"accounts"`
	HAAssets       int               `json:"ha_assets"`
	API            JetStreamAPIStats `json:"api"`
}

// JetStreamAPIStats counts API requests.
type JetStreamAPIStats struct {
	Level    int    `json:"level"`
	Total    uint64 `json:"total"`
	Errors   uint64 `json:"errors"`
	Inflight uint64 `json:"inflight,omitempty"`
}

// MetaClusterInfo shows the metadata group.
type MetaClusterInfo struct {
	Name            string           `json:"name,omitempty"`
	Leader          string           `json:"leader,omitempty"` // server name
	Peer            string           `json:"peer,omitempty"`   // node hash of the leader
	Replicas        []*PeerInfo      `json:"replicas,omitempty"`
	Size            int              `json:"cluster_size"`
	QuorumNeeded    int              `json:"quorum_needed"`
	Rescue          bool             `json:"rescue,omitempty"`
	Pending         int              `json:"pending"`
	PendingRequests int              `json:"pending_requests"`
	PendingInfos    int              `json:"pending_infos"`
	Snapshot        MetaSnapshotInfo `json:"snapshot"`
}

// MetaSnapshotInfo tells of the metadata group's snapshots.
type MetaSnapshotInfo struct {
	PendingEntries uint64        `json:"pending_entries"`
	PendingSize    uint64        `json:"pending_size"`
	LastTime       time.Time     `json:"last_time"` // zero if never
	LastDuration   time.Duration `json:"last_duration,omitempty"`
}

// PeerInfo shows a replica as its leader sees it.
type PeerInfo struct {
	Name    string        `json:"name"`
	Current bool          `json:"current"`
	Offline bool          `json:"offline,omitempty"`
	Active  time.Duration `json:"active"` // since it was last heard
	Lag     uint64        `json:"lag,omitempty"`
	Peer    string        `json:"peer"`
	Pending bool          `json:"pending,omitempty"`
}
