package monitor

import (
	"slices"
	"time"
)

// JSzOptions are the options of /jsz; the JSON form is the body of its NATS twin.
type JSzOptions struct {
	Account          string `json:"account,omitempty"`
	Accounts         bool   `json:"accounts,omitempty"`
	Streams          bool   `json:"streams,omitempty"`  // implies Accounts unless Account is given
	Consumer         bool   `json:"consumer,omitempty"` // implies Streams
	DirectConsumer   bool   `json:"direct_consumer,omitempty"`
	Config           bool   `json:"config,omitempty"`
	LeaderOnly       bool   `json:"leader_only,omitempty"`
	Offset           int    `json:"offset,omitempty"` // negative counts as 0
	Limit            int    `json:"limit,omitempty"`  // below 1 counts as 1024
	RaftGroups       bool   `json:"raft,omitempty"`
	StreamLeaderOnly bool   `json:"stream_leader_only,omitempty"`
}

// JetStreamWant says what to tell of an account's streams.
type JetStreamWant struct {
	Streams          bool // the streams at all
	Consumers        bool
	DirectConsumers  bool // those made for mirrors and sources; nothing without Consumers
	Config           bool // of streams and consumers
	Raft             bool // names of Raft groups
	StreamLeaderOnly bool // only streams this server leads
}

// JetStreamTotals are the figures of JetStream on this server, whatever is filtered.
type JetStreamTotals struct {
	Stats           JetStreamStats
	Config          JetStreamConfig
	Limits          *JetStreamLimits
	Streams         int
	StreamsLeader   int // only if leader counts are asked for
	Consumers       int
	ConsumersLeader int // only if leader counts are asked for
	Messages        uint64
	Bytes           uint64
	Tail, Cache     JetStreamBuffer // memory for recent messages, and for those read one by one
	Audited         uint64          // consumers checked by audits
	Violations      uint64          // what audits found to be wrong
	Rewritten       uint64          // segments that were made smaller in the background
	Freed           uint64          // bytes by which they were
	RewriteFailed   uint64          // times that could not be done
	DiskFree        int64           // bytes free where the files are
	DiskFull        bool            // publishes into file streams are refused
	Meta            *MetaClusterInfo
}

// JetStreamBuffer is memory that all streams share, in bytes.
type JetStreamBuffer struct{ Used, Max int64 }

// JSInfo is the answer of /jsz.
type JSInfo struct {
	JetStreamStats
	ID              string             `json:"server_id"`
	Now             time.Time          `json:"now"`
	Disabled        bool               `json:"disabled,omitempty"`
	Config          JetStreamConfig    `json:"config"`
	Limits          *JetStreamLimits   `json:"limits,omitempty"`
	Streams         int                `json:"streams"`
	StreamsLeader   int                `json:"streams_leader,omitempty"`
	Consumers       int                `json:"consumers"`
	ConsumersLeader int                `json:"consumers_leader,omitempty"`
	Messages        uint64             `json:"messages"`
	Bytes           uint64             `json:"bytes"`
	Violations      uint64             `json:"violations,omitempty"` // of the invariant that audits check; see /metrics
	Meta            *MetaClusterInfo   `json:"meta_cluster,omitempty"`
	AccountDetails  []*JSAccountDetail `json:"account_details,omitempty"`
	Total           int                `json:"total"` // accounts that use JetStream
}

// JSAccountDetail shows JetStream in one account.
type JSAccountDetail struct {
	Name string `json:"name"` // as in the account's JWT, or the account
	ID   string `json:"id"`   // the account
	JetStreamStats
	Streams []JSStreamDetail `json:"stream_detail,omitempty"`
}

// JSStreamDetail shows a stream. Fields of type any hold the value that the JetStream API shows under the
// same name, and are nil if there is none.
type JSStreamDetail struct {
	Name               string            `json:"name"`
	Created            time.Time         `json:"created"`
	Cluster            any               `json:"cluster,omitempty"`
	Config             any               `json:"config,omitempty"`
	State              any               `json:"state"`
	Consumer           []any             `json:"consumer_detail,omitempty"`
	DirectConsumer     []any             `json:"direct_consumer_detail,omitempty"`
	Mirror             any               `json:"mirror,omitempty"`
	Sources            []any             `json:"sources,omitempty"`
	RaftGroup          string            `json:"stream_raft_group,omitempty"`
	ConsumerRaftGroups []*RaftGroupNames `json:"consumer_raft_groups,omitempty"`
}

// RaftGroupNames names the Raft group of a consumer.
type RaftGroupNames struct {
	Name      string `json:"name"`
	RaftGroup string `json:"raft_group,omitempty"`
}

// JSz shows JetStream. Errors: ErrNotLeader.
func (m *Monitor) JSz(o JSzOptions) (*JSInfo, error) {
	if o.LeaderOnly && !m.src.IsMetaLeader() {
		return nil, ErrNotLeader
	}
	z := &JSInfo{ID: m.src.Identity().ID, Now: m.now().UTC()}
	t := m.src.JetStream(o.RaftGroups)
	if t == nil {
		z.Disabled = true
		return z, nil
	}
	z.JetStreamStats, z.Config, z.Limits, z.Meta = t.Stats, t.Config, t.Limits, t.Meta
	z.Violations = t.Violations
	z.Streams, z.Consumers, z.Messages, z.Bytes = t.Streams, t.Consumers, t.Messages, t.Bytes
	if o.RaftGroups {
		z.StreamsLeader, z.ConsumersLeader = t.StreamsLeader, t.ConsumersLeader
	}
	names := m.src.JetStreamAccounts()
	slices.Sort(names)
	z.Total = len(names)
	for _, name := range o.accounts(names) {
		if d := m.src.JetStreamAccount(name, o.want()); d != nil {
			z.AccountDetails = append(z.AccountDetails, d)
		}
	}
	return z, nil
}

// accounts picks from the sorted names those to be shown. One that isn't among them is no error: there is nothing to show,
// unless all accounts are asked for as well.
func (o *JSzOptions) accounts(names []string) []string {
	if o.Account != "" && slices.Contains(names, o.Account) {
		return []string{o.Account}
	}
	if !o.Accounts && (o.Account != "" || !o.Streams && !o.Consumer) {
		return nil
	}
	limit := o.Limit
	if limit <= 0 {
		limit = listLimit
	}
	from := min(max(o.Offset, 0), len(names))
	return names[from : from+min(limit, len(names)-from)]
}

func (o *JSzOptions) want() JetStreamWant {
	return JetStreamWant{
		Streams: o.Streams || o.Consumer, Consumers: o.Consumer, DirectConsumers: o.DirectConsumer,
		Config: o.Config, Raft: o.RaftGroups, StreamLeaderOnly: o.StreamLeaderOnly,
	}
}

// JSAccount shows JetStream in one account for the account's own twin of /jsz. Errors have the texts
// its requests are answered with.
func (m *Monitor) JSAccount(name string, o JSzOptions) (*JSAccountDetail, error) {
	if m.src.JetStream(false) == nil {
		return nil, ErrNoJetStream
	}
	if !m.src.HasAccount(name) {
		return nil, &JSAccountError{Account: name}
	}
	d := m.src.JetStreamAccount(name, o.want())
	if d == nil {
		return nil, &JSAccountError{Account: name, Exists: true}
	}
	return d, nil
}
