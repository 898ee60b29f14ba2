package system

import (
	"time"

	"godwit/server/monitor"
)

// The types of events, by which tools tell them apart.
const (
	typeConnect    = "io.nats.server.advisory.v1.client_connect"
	typeDisconnect = "io.nats.server.advisory.v1.client_disconnect"
	typeConns      = "io.nats.server.advisory.v1.account_connections"
)

// advisory heads a typed event.
type advisory struct {
	Type   string      `json:"type"`
	ID     string      `json:"id"`
	Time   time.Time   `json:"timestamp"`
	Server *ServerInfo `json:"server"`
}

func (s *Service) advisory(kind string, at time.Time) advisory {
	return advisory{Type: kind, ID: s.stamp.id(), Time: at.UTC(), Server: s.about()}
}

// connectEvent tells of a client that has logged in.
type connectEvent struct {
	advisory
	Client clientInfo `json:"client"`
}

// disconnectEvent tells of a client that has gone, or that was not let in. Sent and Received are as the client sees
// them.
type disconnectEvent struct {
	advisory
	Client   clientInfo       `json:"client"`
	Sent     monitor.MsgBytes `json:"sent"`
	Received monitor.MsgBytes `json:"received"`
	Reason   string           `json:"reason"`
}

// connsEvent tells how many connections an account has, and what its traffic was.
type connsEvent struct {
	advisory
	monitor.AccountStat
}

func (s *Service) connsEvent(st *monitor.AccountStat) *connsEvent {
	return &connsEvent{s.advisory(typeConns, time.Now()), *st}
}

// clientInfo describes a connection.
type clientInfo struct {
	Start      time.Time     `json:"start,omitzero"`
	Host       string        `json:"host,omitempty"`
	ID         uint64        `json:"id,omitempty"`
	Account    string        `json:"acc,omitempty"`
	User       string        `json:"user,omitempty"`
	Name       string        `json:"name,omitempty"`
	Lang       string        `json:"lang,omitempty"`
	Version    string        `json:"ver,omitempty"`
	RTT        time.Duration `json:"rtt,omitempty"`
	Stop       time.Time     `json:"stop,omitzero"`
	JWT        string        `json:"jwt,omitempty"`
	IssuerKey  string        `json:"issuer_key,omitempty"`
	NameTag    string        `json:"name_tag,omitempty"`
	Tags       []string      `json:"tags,omitempty"`
	Kind       string        `json:"kind,omitempty"`
	ClientType string        `json:"client_type,omitempty"`
	ClientID   string        `json:"client_id,omitempty"` // of MQTT
}

// describe shows a connection at the time at, which is when it ended if it has.
func describe(c *monitor.Conn, at time.Time) clientInfo {
	i := clientInfo{Start: c.Start.UTC(), Host: c.IP, ID: c.CID, Account: c.Account, User: c.User, Name: c.Name,
		Lang: c.Lang, Version: c.Version, RTT: c.RTT, JWT: c.JWT, IssuerKey: c.IssuerKey, NameTag: c.NameTag, Tags: c.Tags,
		Kind: c.Kind, ClientType: c.Type, ClientID: c.MQTTClient}
	if c.Reason != monitor.ReasonNone {
		i.Stop = at.UTC()
	}
	return i
}

func (s *Service) disconnectEvent(e *event) *disconnectEvent {
	c := e.conn
	return &disconnectEvent{advisory: s.advisory(typeDisconnect, e.at), Client: describe(c, e.at),
		Sent: monitor.MsgBytes{Msgs: c.InMsgs, Bytes: c.InBytes}, Received: monitor.MsgBytes{Msgs: c.OutMsgs, Bytes: c.OutBytes},
		Reason: e.reason}
}
