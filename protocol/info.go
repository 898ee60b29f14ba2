package protocol

// Info is the JSON of INFO as clients see it. The order of the fields is the order on the wire.
type Info struct {
	ServerID      string   `json:"server_id"`
	ServerName    string   `json:"server_name"`
	Version       string   `json:"version"`
	Proto         int      `json:"proto"`
	GitCommit     string   `json:"git_commit,omitempty"`
	GoVersion     string   `json:"go"`
	Host          string   `json:"host"`
	Port          int      `json:"port"`
	Headers       bool     `json:"headers"`
	AuthRequired  bool     `json:"auth_required,omitempty"`
	TLSRequired   bool     `json:"tls_required,omitempty"`
	TLSVerify     bool     `json:"tls_verify,omitempty"`
	TLSAvailable  bool     `json:"tls_available,omitempty"`
	MaxPayload    int32    `json:"max_payload"`
	JetStream     bool     `json:"jetstream,omitempty"`
	IP            string   `json:"ip,omitempty"`
	ClientID      uint64   `json:"client_id,omitempty"`
	ClientIP      string   `json:"client_ip,omitempty"`
	Nonce         string   `json:"nonce,omitempty"`
	Cluster       string   `json:"cluster,omitempty"`
	Dynamic       bool     `json:"cluster_dynamic,omitempty"`
	Domain        string   `json:"domain,omitempty"`
	ConnectURLs   []string `json:"connect_urls,omitempty"`
	LameDuck      bool     `json:"ldm,omitempty"`
	ConnectInfo   bool     `json:"connect_info,omitempty"`
	RemoteAccount string   `json:"remote_account,omitempty"`
	IsSystem      bool     `json:"acc_is_sys,omitempty"`
	APILevel      int      `json:"api_lvl,omitempty"`
	XKey          string   `json:"xkey,omitempty"`
}

// Connect is the JSON of CONNECT. Fields that a client leaves out keep the values of NewConnect.
type Connect struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Echo         bool   `json:"echo"`
	Protocol     int    `json:"protocol"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
	TLSRequired  bool   `json:"tls_required"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	User         string `json:"user"`
	Pass         string `json:"pass"`
	Token        string `json:"auth_token"`
	JWT          string `json:"jwt"`
	Nkey         string `json:"nkey"`
	Sig          string `json:"sig"`
	ProxySig     string `json:"proxy_sig"`
	Account      string `json:"account"`
	NewAccount   bool   `json:"new_account"`
}

// NewConnect returns the values of a CONNECT that names none.
func NewConnect() Connect { return Connect{Verbose: true, Pedantic: true, Echo: true} }
