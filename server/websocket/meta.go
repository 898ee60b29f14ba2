package websocket

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"

	"godwit/protocol"
	"godwit/protocol/ws"
	"godwit/server/auth"
	"godwit/server/options"
)

// Kind is what a connection is for. The path of the request says it.
type Kind int

// The kinds.
const (
	Client Kind = iota
	Leafnode
	MQTT
)

const (
	leafnodePath = "/leafnode"
	mqttPath     = "/mqtt"
	mqttProtocol = "mqtt"
)

func kindOf(req *http.Request) Kind {
	switch path := req.URL.EscapedPath(); {
	case strings.HasSuffix(path, leafnodePath):
		return Leafnode
	case strings.HasSuffix(path, mqttPath):
		return MQTT
	}
	return Client
}

// ConnectionType is the kind as allowed_connection_types names it.
func (k Kind) ConnectionType() auth.ConnectionType {
	switch k {
	case Leafnode:
		return auth.LeafnodeWS
	case MQTT:
		return auth.MQTTWS
	}
	return auth.WebSocket
}

// Meta is what the handshake has shown about a connection. It is the taker's.
type Meta struct {
	Kind        Kind
	TLS         *tls.ConnectionState // nil without TLS
	Compression bool                 // agreed on
	NoMasking   bool                 // agreed on
	Forwarded   string               // address of the client as a proxy tells it, in brackets if it is IPv6; empty if none does
	Credentials Credentials
}

// Credentials are those of cookies. They count where CONNECT has none.
type Credentials struct {
	JWT, User, Pass, Token string
}

// Fill sets the fields that the client has left empty.
func (c *Credentials) Fill(o *protocol.Connect) {
	for _, f := range []struct {
		field *string
		value string
	}{{&o.JWT, c.JWT}, {&o.User, c.User}, {&o.Pass, c.Pass}, {&o.Token, c.Token}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
}

// credentials reads the cookies that the options name. Of cookies with the same name the last counts.
func credentials(req *http.Request, o *options.Websocket) Credentials {
	var c Credentials
	for _, cookie := range req.Cookies() {
		for _, f := range []struct {
			name  string
			field *string
		}{{o.JWTCookie, &c.JWT}, {o.UsernameCookie, &c.User}, {o.PasswordCookie, &c.Pass}, {o.TokenCookie, &c.Token}} {
			if f.name != "" && f.name == cookie.Name {
				*f.field = cookie.Value
			}
		}
	}
	return c
}

// forwarded is the client's address by the first X-Forwarded-For header, if that is one address and nothing else.
func forwarded(req *http.Request) string {
	value := req.Header.Get("X-Forwarded-For")
	ip := net.ParseIP(value)
	switch {
	case ip == nil:
		return ""
	case ip.To4() == nil:
		return "[" + value + "]"
	}
	return value
}

const (
	browserAgent    = "Mozilla/"
	browserFrameMax = 4096 // bytes of payload in a frame to a browser
)

// limitFrames sets what the client's program wants: browsers handle small frames better, and Safari takes no compressed
// message in pieces.
func limitFrames(cfg *ws.Config, agent string) {
	if !strings.HasPrefix(agent, browserAgent) {
		return
	}
	cfg.FrameMax = browserFrameMax
	cfg.Unsplit = strings.Contains(agent, "Version/") && strings.Contains(agent, "Safari/")
}
