package monitor

import "time"

// ConnInfo shows one connection.
type ConnInfo struct {
	Cid            uint64        `json:"cid"`
	Kind           string        `json:"kind,omitempty"`
	Type           string        `json:"type,omitempty"`
	IP             string        `json:"ip"`
	Port           int           `json:"port"`
	Start          time.Time     `json:"start"`
	LastActivity   time.Time     `json:"last_activity"`
	Stop           time.Time     `json:"stop,omitzero"`
	Reason         string        `json:"reason,omitempty"`
	RTT            string        `json:"rtt,omitempty"`
	Uptime         string        `json:"uptime"`
	Idle           string        `json:"idle"`
	Pending        int64         `json:"pending_bytes"`
	InMsgs         int64         `json:"in_msgs"`
	OutMsgs        int64         `json:"out_msgs"`
	InBytes        int64         `json:"in_bytes"`
	OutBytes       int64         `json:"out_bytes"`
	Stalls         int64         `json:"stalls,omitempty"`
	Throttled      string        `json:"throttled,omitempty"`    // time; not in nats-server
	Refused        int64         `json:"refused_msgs,omitempty"` // not in nats-server
	NumSubs        uint32        `json:"subscriptions"`
	Name           string        `json:"name,omitempty"`
	Lang           string        `json:"lang,omitempty"`
	Version        string        `json:"version,omitempty"`
	TLSVersion     string        `json:"tls_version,omitempty"`
	TLSCipher      string        `json:"tls_cipher_suite,omitempty"`
	TLSPeerCerts   []TLSPeerCert `json:"tls_peer_certs,omitempty"`
	TLSFirst       bool          `json:"tls_first,omitempty"`
	AuthorizedUser string        `json:"authorized_user,omitempty"`
	Account        string        `json:"account,omitempty"`
	Subs           []string      `json:"subscriptions_list,omitempty"`
	SubsDetail     []SubDetail   `json:"subscriptions_list_detail,omitempty"`
	JWT            string        `json:"jwt,omitempty"`
	IssuerKey      string        `json:"issuer_key,omitempty"`
	NameTag        string        `json:"name_tag,omitempty"`
	Tags           []string      `json:"tags,omitempty"`
	MQTTClient     string        `json:"mqtt_client,omitempty"`
	Proxy          *ProxyKey     `json:"proxy,omitempty"`
}

// globalAccount is the account whose name isn't shown with a connection.
const globalAccount = "$G"

// connInfo shows c as o asks for.
func (m *Monitor) connInfo(c *Conn, now time.Time, o *ConnzOptions) *ConnInfo {
	ci := NewConnInfo(c, now, o.Username)
	if o.Subscriptions || o.SubscriptionsDetail {
		subs, open := c.Subs, c.Stop.IsZero()
		if open {
			subs = m.src.ConnSubs(c.CID)
		}
		ci.showSubs(subs, o.SubscriptionsDetail, !open)
	}
	return ci
}

// NewConnInfo shows a connection without its subscriptions; who it authenticated as only with auth.
func NewConnInfo(c *Conn, now time.Time, auth bool) *ConnInfo {
	if !c.Stop.IsZero() {
		now = c.Stop
	}
	ci := &ConnInfo{
		Cid: c.CID, Kind: c.Kind, Type: c.Type, IP: c.IP, Port: c.Port,
		Start: c.Start.UTC(), LastActivity: c.LastActivity.UTC(), Reason: c.Reason.String(),
		RTT: formatRTT(c.RTT), Uptime: FormatUptime(now.Sub(c.Start)), Idle: FormatUptime(now.Sub(c.LastActivity)),
		Pending: c.Pending, InMsgs: c.InMsgs, OutMsgs: c.OutMsgs, InBytes: c.InBytes, OutBytes: c.OutBytes,
		Stalls: c.Stalls, NumSubs: c.NumSubs, Name: c.Name, Lang: c.Lang, Version: c.Version,
		TLSFirst: c.TLSFirst, MQTTClient: c.MQTTClient,
	}
	if ci.Refused = c.Refused; c.Throttled > 0 {
		ci.Throttled = c.Throttled.String()
	}
	if !c.Stop.IsZero() {
		ci.Stop = c.Stop.UTC()
	}
	if c.TLS != nil {
		ci.TLSVersion, ci.TLSCipher = c.TLS.Version, c.TLS.Cipher
	}
	if c.ProxyKey != "" {
		ci.Proxy = &ProxyKey{c.ProxyKey}
	}
	if auth {
		ci.AuthorizedUser = c.User
		if c.Account != globalAccount {
			ci.Account = c.Account
		}
		ci.JWT, ci.IssuerKey, ci.NameTag, ci.Tags = c.JWT, c.IssuerKey, c.NameTag, c.Tags
		if c.TLS != nil {
			ci.TLSPeerCerts = c.TLS.PeerCerts
		}
	}
	return ci
}

// showSubs fills one of the two lists. Details name the account only with account.
func (ci *ConnInfo) showSubs(subs []SubDetail, detail, account bool) {
	if !detail {
		for i := range subs {
			ci.Subs = append(ci.Subs, subs[i].Subject)
		}
		return
	}
	ci.SubsDetail = make([]SubDetail, len(subs))
	copy(ci.SubsDetail, subs)
	if !account {
		for i := range ci.SubsDetail {
			ci.SubsDetail[i].Account, ci.SubsDetail[i].AccountTag = "", ""
		}
	}
}
