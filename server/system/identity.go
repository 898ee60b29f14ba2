package system

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"
)

// Identity describes a server to those who ask several.
type Identity struct {
	Name         string // server_name, or the ID
	Host         string // the client listener's, as configured
	ID           string // public server key
	Cluster      string // empty without one
	Domain       string // of JetStream, empty without one
	Version      string // without "v"
	Tags         []string
	Metadata     map[string]string
	FeatureFlags map[string]bool
	JetStream    bool
}

// Bits of ServerInfo.Flags: what the server can do beyond its version.
const (
	flagJetStream       = 1 << iota
	flagBinarySnapshots // of stream metadata
	flagAccountTraffic  // replication may travel in the account's own routes
)

// ServerInfo heads every answer and event.
type ServerInfo struct {
	Name         string            `json:"name"`
	Host         string            `json:"host"`
	ID           string            `json:"id"`
	Cluster      string            `json:"cluster,omitempty"`
	Domain       string            `json:"domain,omitempty"`
	Version      string            `json:"ver"`
	Tags         []string          `json:"tags,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	FeatureFlags map[string]bool   `json:"feature_flags,omitempty"`
	JetStream    bool              `json:"jetstream"`
	Flags        uint64            `json:"flags"`
	Seq          uint64            `json:"seq"` // counts this server's answers and events
	Time         time.Time         `json:"time"`
}

// ServerInfo returns the head of an answer that is made elsewhere.
func (s *Service) ServerInfo() *ServerInfo { return s.about() }

// about returns the head of one answer or event, which takes the next number.
func (s *Service) about() *ServerInfo {
	i := s.host.Identity()
	info := &ServerInfo{Name: i.Name, Host: i.Host, ID: i.ID, Cluster: i.Cluster, Domain: i.Domain, Version: i.Version,
		Tags: i.Tags, Metadata: i.Metadata, FeatureFlags: i.FeatureFlags, JetStream: i.JetStream,
		Seq: s.stamp.seq.Add(1), Time: time.Now().UTC()}
	if i.JetStream {
		info.Flags = flagJetStream | flagBinarySnapshots | flagAccountTraffic
	}
	return info
}

// stamp numbers what the server sends.
type stamp struct {
	seq atomic.Uint64
	mu  struct {
		sync.Mutex
		ids *nuid.NUID
	}
}

func (st *stamp) init() { st.mu.ids = nuid.New() }

// id returns a new unique id of 22 characters.
func (st *stamp) id() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.mu.ids.Next()
}
