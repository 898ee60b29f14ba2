package options

import "time"

// Account is a tenant: a subject space of its own. Its users are in Options.Authorization.Users.
type Account struct {
	Name      string
	Nkey      string // public account nkey; empty if none
	Imports   []*Import
	Exports   []*Export
	Mappings  []*Mapping
	Limits    AccountLimits
	Quota     *Quota            // nil: Quotas.Account of the server
	JetStream *AccountJetStream // nil: no streams for this account
	Trace     *MsgTrace
	Defaults  *Permissions // already given to the users without own permissions
}

// AccountLimits bound what the connections of an account may do; Unlimited (-1) is no limit.
type AccountLimits struct {
	MaxConn    int32
	MaxSubs    int32 // per connection
	MaxPayload int32 // bytes
	MaxLeafs   int32
}

// Unlimited is no limit, in AccountLimits and AccountJetStream.
const Unlimited = -1

// NoAccountLimits returns the limits of an account that has none.
func NoAccountLimits() AccountLimits {
	return AccountLimits{MaxConn: Unlimited, MaxSubs: Unlimited, MaxPayload: Unlimited, MaxLeafs: Unlimited}
}

// AccountJetStream bounds the streams of an account; Unlimited (-1) is no limit.
type AccountJetStream struct {
	MaxMemory            int64 // bytes
	MaxStore             int64 // bytes
	MaxStreams           int
	MaxConsumers         int
	MaxAckPending        int
	MemoryMaxStreamBytes int64 // largest max_bytes of a memory stream
	StoreMaxStreamBytes  int64
	MaxBytesRequired     bool // streams must set max_bytes
	TrafficInOwner       bool // cluster traffic of its assets travels in the account, not in the system account
}

// UnlimitedJetStream returns the limits of an account that has all streams may use.
func UnlimitedJetStream() *AccountJetStream {
	return &AccountJetStream{
		MaxMemory: Unlimited, MaxStore: Unlimited, MaxStreams: Unlimited, MaxConsumers: Unlimited, MaxAckPending: Unlimited,
	}
}

// MsgTrace says where traces of messages go that carry a trace context.
type MsgTrace struct {
	Dest     string // subject
	Sampling int    // percent, 1 to 100
}

// ExchangeKind tells streams from services.
type ExchangeKind int

const (
	StreamExchange  ExchangeKind = iota // messages flow from the exporter
	ServiceExchange                     // requests flow to the exporter, responses back
)

// ResponseType says how many responses a service gives to one request.
type ResponseType int

const (
	Singleton ResponseType = iota
	Streamed
	Chunked
)

// Export offers a subject to other accounts.
type Export struct {
	Kind          ExchangeKind
	Subject       string
	Accounts      []string // empty: every account, unless Private
	Private       bool     // an accounts list was given
	Response      ResponseType
	Threshold     time.Duration // how long a response may be awaited; 0 is the default
	Latency       *ServiceLatency
	TokenPosition int  // the subject's token that must be the importing account's name; 0 is none
	AllowTrace    bool // traces go on into this account; services only
}

// ServiceLatency asks for measurements of a service to be published.
type ServiceLatency struct {
	Subject  string
	Sampling int // percent, 1 to 100; 0 when only tracing headers ask for a measurement
}

// Import brings an export of another account into this one.
type Import struct {
	Kind       ExchangeKind
	Account    string // the exporting account
	Subject    string // there
	Prefix     string // streams: put in front of the subject
	To         string // the subject here; empty if it is the same
	Share      bool   // services: tell the exporter who asks
	AllowTrace bool   // streams only
}

// Mapping rewrites the subjects of messages that are published to Source.
type Mapping struct {
	Source string
	Dests  []MappingDest
}

// MappingDest is one destination of a mapping.
type MappingDest struct {
	Subject string
	Weight  uint8  // percent of the messages
	Cluster string // used by servers of this cluster only; empty: by all
}
