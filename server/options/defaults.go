package options

import "time"

// Defaults of nats-server, which clients and tools expect.
const (
	DefaultHost                  = "0.0.0.0"
	DefaultPort                  = 4222
	DefaultHTTPPort              = 8222
	DefaultMaxConn               = 65536
	DefaultMaxControlLine        = 4096
	DefaultMaxPayload            = 1 << 20
	DefaultMaxPending            = 64 << 20
	DefaultMaxClosedClients      = 10000
	DefaultPingInterval          = 2 * time.Minute
	DefaultMaxPingsOut           = 2
	DefaultWriteDeadline         = 10 * time.Second
	DefaultAuthTimeout           = 2 * time.Second
	DefaultTLSTimeout            = 2 * time.Second
	DefaultHandshakeFallback     = 50 * time.Millisecond // of handshake_first: auto
	DefaultLameDuckDuration      = 2 * time.Minute
	DefaultLameDuckGrace         = 10 * time.Second
	DefaultHTTPBasePath          = "/"
	DefaultConnectErrorReports   = 3600
	DefaultReconnectErrorReports = 1
	DefaultSystemAccount         = "$SYS"
	DefaultGlobalAccount         = "$G"
	DefaultSyncInterval          = 2 * time.Minute
	DefaultJSMaxConsumers        = 1000
	DefaultJSRequestQueue        = 10000
	DefaultRoutePoolSize         = 3
	MaxRoutePing                 = 30 * time.Second
	DefaultLeafPort              = 7422 // of the URLs of remotes that name none
	DefaultLeafReconnect         = time.Second
	DefaultLeafDialTimeout       = time.Second
	DefaultLeafFirstInfo         = time.Second
	DefaultMQTTAckWait           = 30 * time.Second
	DefaultMQTTMaxAckPending     = 1024
	DefaultMQTTAPITimeout        = 5 * time.Second
	DefaultOCSPCacheDir          = "_rc_"
	DefaultOCSPSaveInterval      = 5 * time.Minute
	DefaultResponseMaxMsgs       = 1
	DefaultResponseExpires       = 2 * time.Minute

	// DefaultStoreDir is the local directory that a server started as godwit without a configuration
	// file keeps its streams in.
	DefaultStoreDir = "./godwit-data"
)

// Special values.
const (
	RandomPort       = -1 // a port that the system chooses
	RefuseAll        = -1 // MaxConn: nobody may connect
	Dynamic    int64 = -1 // JetStream.MaxMemory and MaxStore: taken from what the machine has
)

// DefaultRTTThresholds returns the round trip times by which CompressionAuto chooses.
func DefaultRTTThresholds() []time.Duration {
	return []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
}

// Defaults returns the options of a server that was told nothing. Streams are off, as in nats-server.
func Defaults() *Options {
	o := &Options{
		Host:                  DefaultHost,
		Port:                  DefaultPort,
		MaxConn:               DefaultMaxConn,
		MaxControlLine:        DefaultMaxControlLine,
		MaxPayload:            DefaultMaxPayload,
		MaxPending:            DefaultMaxPending,
		MaxClosedClients:      DefaultMaxClosedClients,
		PingInterval:          DefaultPingInterval,
		MaxPingsOut:           DefaultMaxPingsOut,
		WriteDeadline:         DefaultWriteDeadline,
		LameDuckDuration:      DefaultLameDuckDuration,
		LameDuckGrace:         DefaultLameDuckGrace,
		SystemAccount:         DefaultSystemAccount,
		ConnectErrorReports:   DefaultConnectErrorReports,
		ReconnectErrorReports: DefaultReconnectErrorReports,
	}
	o.Log.Time = true
	o.Monitoring.HTTPBasePath = DefaultHTTPBasePath
	o.JetStream = JetStream{
		MaxMemory:    Dynamic,
		MaxStore:     Dynamic,
		SyncAlways:   true,
		SyncInterval: DefaultSyncInterval,
		Strict:       true,
		Limits:       JSLimits{DefaultMaxConsumers: DefaultJSMaxConsumers},
		RequestQueue: DefaultJSRequestQueue,
	}
	o.Cluster.PoolSize = DefaultRoutePoolSize
	o.Cluster.Compression.Mode = CompressionAccept
	o.Leaf.Compression = Compression{Mode: CompressionAuto, RTTThresholds: DefaultRTTThresholds()}
	o.Leaf.Reconnect = DefaultLeafReconnect
	o.Leaf.DialTimeout = DefaultLeafDialTimeout
	o.MQTT.AckWait = DefaultMQTTAckWait
	o.MQTT.MaxAckPending = DefaultMQTTMaxAckPending
	o.MQTT.APITimeout = DefaultMQTTAPITimeout
	return o
}
