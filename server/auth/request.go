package auth

import (
	"crypto/tls"
	"slices"
	"time"

	"godwit/server/options"
)

// ConnectionType is how a client is connected, with the names of allowed_connection_types.
type ConnectionType string

const (
	Standard    ConnectionType = "STANDARD"
	WebSocket   ConnectionType = "WEBSOCKET"
	Leafnode    ConnectionType = "LEAFNODE"
	LeafnodeWS  ConnectionType = "LEAFNODE_WS"
	MQTT        ConnectionType = "MQTT"
	MQTTWS      ConnectionType = "MQTT_WS"
	InProcess   ConnectionType = "IN_PROCESS"
	defaultType                = Standard
)

// Request is one login: what CONNECT holds and what is known of the connection. It is lent.
type Request struct {
	User, Pass string
	Token      string
	Nkey       string // public nkey
	Sig        string // of the nonce, by Nkey or the JWT's user
	JWT        string
	ProxySig   string // of the nonce, by a proxy

	Nonce string               // as INFO said it; empty if it had none
	TLS   *tls.ConnectionState // nil if the connection is not encrypted
	Type  ConnectionType       // empty means Standard
	Host  string               // the client's address, without a port; empty for in-process connections

	Proxied bool   // a trusted proxy vouches for the connection; the Authenticator sets it
	Client  Client // for those who decide elsewhere
}

// Client is what is known of who logs in beside what could prove anything.
type Client struct {
	ID                  uint64 // of the connection
	Kind, Type          string // as monitoring shows them
	Name, Lang, Version string // as the client says
	Protocol            int
}

// empty reports whether the request has nothing that could be meant to prove something.
func (r *Request) empty() bool {
	return r.User == "" && r.Pass == "" && r.Token == ""
}

// Identity is who a connection is. Shared.
type Identity struct {
	Account     string        // account name
	Name        string        // to display: user name, nkey, or a placeholder for a token; empty if anonymous
	Permissions *Permissions  // nil means everything is permitted
	Expires     time.Time     // when the login ends; zero means never
	Source      *options.User // the configured user; nil for a token, the single user, or nobody

	// What a Delegate knows beyond that.
	Limits    *Limits  // of this user; nil has none of its own
	JWT       string   // to show in monitoring; empty if there is none or it is a secret
	IssuerKey string   // public key of who signed the JWT
	NameTag   string   // name of the account, to display
	Tags      []string // of the user
	Detail    any      // the Delegate's own
}

// Limits bound one connection of a user, beside those of the account and the server. options.Unlimited (-1) is no limit.
type Limits struct {
	MaxSubs    int32
	MaxPayload int32 // bytes
}

func (u *user) allowsType(t ConnectionType) bool {
	if t == "" {
		t = defaultType
	}
	return len(u.ConnectionTypes) == 0 || slices.Contains(u.ConnectionTypes, string(t))
}
