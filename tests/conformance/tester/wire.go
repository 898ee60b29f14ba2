package tester

import "time"

// JSON bodies of the tester.* management requests and replies, as the ntf
// client (github.com/synadia-io/orbit.go/ntf-client v0.0.3) sends and reads
// them.

type tlsOptions struct {
	Mode           string   `json:"mode,omitempty"` // "server" or "mutual"; empty means mutual
	SANs           []string `json:"sans,omitempty"`
	HandshakeFirst bool     `json:"handshake_first,omitempty"`
	Timeout        float64  `json:"timeout,omitempty"` // seconds; 0 means 2
}

func (o *tlsOptions) mutual() bool { return o.Mode != "server" }

type tlsMaterial struct {
	CA         string `json:"ca_pem"`
	ClientCert string `json:"client_cert_pem,omitempty"`
	ClientKey  string `json:"client_key_pem,omitempty"`
}

// createRequest covers create.server, create.cluster and create.super-cluster:
// the smaller topologies simply leave out the counts.
type createRequest struct {
	Servers     int               `json:"servers"`
	Clusters    int               `json:"clusters"`
	JetStream   bool              `json:"jetstream"`
	Description string            `json:"description"`
	Snippets    map[string]string `json:"snippets"`
	Template    string            `json:"template"`
	TLS         *tlsOptions       `json:"tls"`
	Trace       bool              `json:"trace"`
}

type createReply struct {
	ID          string         `json:"id"`
	Description string         `json:"description,omitempty"`
	Kind        string         `json:"kind"`
	Servers     []serverStatus `json:"servers"`
	TLS         *tlsMaterial   `json:"tls,omitempty"`
}

type serverStatus struct {
	Name    string         `json:"name"`
	Cluster string         `json:"cluster"`
	Port    int            `json:"port"`
	Ports   map[string]int `json:"ports,omitempty"`
	Running bool           `json:"running"`
}

// instanceRequest names an instance: destroy, status, start/stop instance.
type instanceRequest struct {
	InstanceID string `json:"instance_id"`
}

// serverRequest names a server: start, stop, reload.
type serverRequest struct {
	Name string `json:"name"`
}

type updateRequest struct {
	Name       string            `json:"name"`
	Snippets   map[string]string `json:"snippets"`
	Template   string            `json:"template"`
	TLSTimeout *float64          `json:"tls_timeout"`
}

type statusReply struct {
	Instances []instanceStatus `json:"instances"`
}

type instanceStatus struct {
	ID          string         `json:"id"`
	Description string         `json:"description,omitempty"`
	Kind        string         `json:"kind"`
	Servers     []serverStatus `json:"servers"`
}

type listReply struct {
	Instances []instanceSummary `json:"instances"`
}

type instanceSummary struct {
	ID          string    `json:"id"`
	Description string    `json:"description,omitempty"`
	Kind        string    `json:"kind"`
	Cluster     string    `json:"cluster,omitempty"`
	Servers     int       `json:"servers"`
	Created     time.Time `json:"created"`
}

type serverResult struct {
	Name    string `json:"name"`
	Running bool   `json:"running"`
	Error   string `json:"error,omitempty"`
}

type serverResults struct {
	Servers []serverResult `json:"servers"`
}
