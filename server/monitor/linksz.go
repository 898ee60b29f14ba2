package monitor

import "time"

// RoutezOptions are the options of /routez.
type RoutezOptions struct {
	Subscriptions       bool `json:"subscriptions"`
	SubscriptionsDetail bool `json:"subscriptions_detail"`
}

// Routez is the answer of /routez.
type Routez struct {
	ID        string             `json:"server_id"`
	Name      string             `json:"server_name"`
	Now       time.Time          `json:"now"`
	Import    *SubjectPermission `json:"import,omitempty"`
	Export    *SubjectPermission `json:"export,omitempty"`
	NumRoutes int                `json:"num_routes"`
	Routes    []*RouteInfo       `json:"routes"`
}

// SubjectPermission lists subjects.
type SubjectPermission struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// RouteSnapshot is what a LinkSource tells of routes.
type RouteSnapshot struct {
	Import, Export *SubjectPermission
	Routes         []*RouteInfo
}

// RouteInfo shows one connection to a route.
type RouteInfo struct {
	Rid          uint64             `json:"rid"`
	RemoteID     string             `json:"remote_id"`
	RemoteName   string             `json:"remote_name"`
	DidSolicit   bool               `json:"did_solicit"`
	IsConfigured bool               `json:"is_configured"`
	IP           string             `json:"ip"`
	Port         int                `json:"port"`
	Start        time.Time          `json:"start"`
	LastActivity time.Time          `json:"last_activity"`
	RTT          string             `json:"rtt,omitempty"`
	Uptime       string             `json:"uptime"`
	Idle         string             `json:"idle"`
	Import       *SubjectPermission `json:"import,omitempty"`
	Export       *SubjectPermission `json:"export,omitempty"`
	Pending      int                `json:"pending_size"`
	InMsgs       int64              `json:"in_msgs"`
	OutMsgs      int64              `json:"out_msgs"`
	InBytes      int64              `json:"in_bytes"`
	OutBytes     int64              `json:"out_bytes"`
	NumSubs      uint32             `json:"subscriptions"`
	Subs         []string           `json:"subscriptions_list,omitempty"`
	SubsDetail   []SubDetail        `json:"subscriptions_list_detail,omitempty"`
	Account      string             `json:"account,omitempty"` // of a route for one account only
	Compression  string             `json:"compression,omitempty"`
}

// Routez shows the routes.
func (m *Monitor) Routez(o RoutezOptions) *Routez {
	id := m.src.Identity()
	snap := m.src.Routes(subsMode(o.Subscriptions, o.SubscriptionsDetail))
	z := &Routez{ID: id.ID, Name: id.Name, Now: m.now().UTC(), Import: snap.Import, Export: snap.Export, Routes: snap.Routes}
	if z.Routes == nil {
		z.Routes = []*RouteInfo{}
	}
	z.NumRoutes = len(z.Routes)
	return z
}

// GatewayzOptions are the options of /gatewayz.
type GatewayzOptions struct {
	Name                       string `json:"name"`         // of the remote gateway; empty is all
	Accounts                   bool   `json:"accounts"`     // show accounts
	AccountName                string `json:"account_name"` // show this one; implies Accounts
	AccountSubscriptions       bool   `json:"subscriptions"`
	AccountSubscriptionsDetail bool   `json:"subscriptions_detail"`
}

// Gatewayz is the answer of /gatewayz.
type Gatewayz struct {
	ID       string                       `json:"server_id"`
	Now      time.Time                    `json:"now"`
	Name     string                       `json:"name,omitempty"`
	Host     string                       `json:"host,omitempty"`
	Port     int                          `json:"port,omitempty"`
	Outbound map[string]*RemoteGatewayz   `json:"outbound_gateways"`
	Inbound  map[string][]*RemoteGatewayz `json:"inbound_gateways"`
}

// GatewaySnapshot is what a LinkSource tells of gateways. Outbound and Inbound are by name of the remote gateway.
type GatewaySnapshot struct {
	Enabled  bool // gateways are configured
	Name     string
	Host     string
	Port     int
	Outbound map[string]*RemoteGatewayz
	Inbound  map[string][]*RemoteGatewayz
}

// RemoteGatewayz shows a connection to a gateway.
type RemoteGatewayz struct {
	IsConfigured bool               `json:"configured"`
	Connection   *ConnInfo          `json:"connection,omitempty"`
	Accounts     []*AccountGatewayz `json:"accounts,omitempty"`
}

// AccountGatewayz shows what is known of an account's interest at a remote gateway.
type AccountGatewayz struct {
	Name                  string      `json:"name"`
	InterestMode          string      `json:"interest_mode"`
	NoInterestCount       int         `json:"no_interest_count,omitempty"`
	InterestOnlyThreshold int         `json:"interest_only_threshold,omitempty"`
	TotalSubscriptions    int         `json:"num_subs,omitempty"`
	NumQueueSubscriptions int         `json:"num_queue_subs,omitempty"`
	Subs                  []string    `json:"subscriptions_list,omitempty"`
	SubsDetail            []SubDetail `json:"subscriptions_list_detail,omitempty"`
}

// Gatewayz shows the gateways. With gateways off both maps are empty; with gateways on and an unknown name the
// outbound map is nil.
func (m *Monitor) Gatewayz(o GatewayzOptions) *Gatewayz {
	o.Accounts = o.Accounts || o.AccountName != ""
	snap := m.src.Gateways(o)
	z := &Gatewayz{
		ID: m.src.Identity().ID, Now: m.now().UTC(), Name: snap.Name, Host: snap.Host, Port: snap.Port,
		Outbound: snap.Outbound, Inbound: snap.Inbound,
	}
	if z.Outbound == nil && (!snap.Enabled || o.Name == "") {
		z.Outbound = map[string]*RemoteGatewayz{}
	}
	if z.Inbound == nil {
		z.Inbound = map[string][]*RemoteGatewayz{}
	}
	return z
}

// LeafzOptions are the options of /leafz.
type LeafzOptions struct {
	Subscriptions bool   `json:"subscriptions"`
	Account       string `json:"account"`
}

// Leafz is the answer of /leafz.
type Leafz struct {
	ID       string     `json:"server_id"`
	Now      time.Time  `json:"now"`
	NumLeafs int        `json:"leafnodes"`
	Leafs    []LeafInfo `json:"leafs"`
}

// LeafInfo shows one leafnode connection.
type LeafInfo struct {
	ID          uint64    `json:"id"`
	Name        string    `json:"name"` // of the remote server
	IsSpoke     bool      `json:"is_spoke"`
	IsIsolated  bool      `json:"is_isolated,omitempty"`
	Account     string    `json:"account"`
	IP          string    `json:"ip"`
	Port        int       `json:"port"`
	RTT         string    `json:"rtt,omitempty"`
	InMsgs      int64     `json:"in_msgs"`
	OutMsgs     int64     `json:"out_msgs"`
	InBytes     int64     `json:"in_bytes"`
	OutBytes    int64     `json:"out_bytes"`
	NumSubs     uint32    `json:"subscriptions"`
	Subs        []string  `json:"subscriptions_list,omitempty"`
	Compression string    `json:"compression,omitempty"`
	Websocket   bool      `json:"websocket,omitempty"`
	Proxy       *ProxyKey `json:"proxy,omitempty"`
}

// Leafz shows the leafnode connections.
func (m *Monitor) Leafz(o LeafzOptions) *Leafz {
	z := &Leafz{ID: m.src.Identity().ID, Now: m.now().UTC(), Leafs: m.src.Leafs(o.Account, o.Subscriptions)}
	if z.Leafs == nil {
		z.Leafs = []LeafInfo{}
	}
	z.NumLeafs = len(z.Leafs)
	return z
}

func subsMode(list, detail bool) SubsMode {
	switch {
	case detail:
		return SubsDetailed
	case list:
		return SubsList
	}
	return SubsNone
}
