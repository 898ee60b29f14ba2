package server

import (
	"crypto/tls"
	"net"
	"strconv"
	"sync/atomic"

	"godwit/protocol"
	"godwit/server/auth"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/tlsconf"
	"godwit/server/websocket"
)

// wsFront is the WebSocket side of the server: its listener and what its connections look at.
type wsFront struct {
	listener *websocket.Listener
	auth     atomic.Pointer[auth.Authenticator]
}

// wsParts are what a configuration makes of the websocket block; built before anything of it is put in force.
type wsParts struct {
	auth *auth.Authenticator
	tls  *tls.Config
}

func wsBuild(o *options.Options, cfg auth.Config) (p wsParts, err error) {
	w := &o.Websocket
	if w.Port == 0 {
		return p, nil
	}
	if p.auth, err = auth.New(cfg.Override(&w.Authorization, w.NoAuthUser, w.TLS != nil && w.TLS.VerifyAndMap)); err != nil {
		return p, err
	}
	if w.TLS != nil {
		p.tls, err = tlsconf.Server(w.TLS)
	}
	return p, err
}

// newWebsocket makes the listener, if there is to be one. It does not listen yet.
func (s *Server) newWebsocket(o *options.Options, p wsParts) error {
	w := &o.Websocket
	if w.Port == 0 {
		return nil
	}
	f := &wsFront{}
	f.auth.Store(p.auth)
	front := &conn.Front{Type: monitor.TypeWebSocket, Kind: auth.WebSocket, Auth: &f.auth, AuthTimeout: authTimeout(o),
		PingInterval: w.PingInterval}
	if w.Authorization.Timeout > 0 {
		front.AuthTimeout = w.Authorization.Timeout
	}
	front.Info = func(i *protocol.Info) {
		w := &s.options().Websocket
		i.Host, i.Port = wsAddress(w, f.listener.Addr())
		i.TLSRequired, i.TLSAvailable = w.TLS != nil, w.TLS != nil
		i.TLSVerify = w.TLS != nil && (w.TLS.Verify || w.TLS.VerifyAndMap)
	}
	cfg := websocket.Config{Options: w, TLS: p.tls, Log: s.log, MaxPayload: func() int64 { return int64(s.options().MaxPayload) },
		Adopt: func(c *websocket.Conn, m *websocket.Meta) {
			s.adopt(c, &conn.Arrival{Front: front, TLS: m.TLS, Forwarded: m.Forwarded, Fill: m.Credentials.Fill, ClosingFor: c.ClosingFor})
		}}
	if w.TLS != nil && w.TLS.RateLimit > 0 {
		cfg.AllowTLS = tlsconf.NewLimiter(w.TLS.RateLimit).Allow
	}
	var err error
	if f.listener, err = websocket.New(cfg); err == nil {
		s.ws = f
	}
	return err
}

// reload puts in force what a running listener can change.
func (f *wsFront) reload(p wsParts) {
	if f == nil || p.auth == nil {
		return
	}
	f.auth.Store(p.auth)
	if p.tls != nil {
		f.listener.SetTLS(p.tls)
	}
}

func (f *wsFront) start() error {
	if f == nil {
		return nil
	}
	return f.listener.Start()
}

// close stops listening. Connections stay.
func (f *wsFront) close() {
	if f != nil {
		f.listener.Close()
	}
}

// wsAddress is the address that INFO names to WebSocket clients: that of advertise where it is set.
func wsAddress(w *options.Websocket, addr net.Addr) (string, int) {
	host, port := w.Host, w.Port
	if tcp, ok := addr.(*net.TCPAddr); ok {
		port = tcp.Port
	}
	if w.Advertise == "" {
		return host, port
	}
	h, p, err := net.SplitHostPort(w.Advertise)
	if err != nil {
		return w.Advertise, port
	}
	if n, err := strconv.Atoi(p); err == nil && n > 0 {
		port = n
	}
	return h, port
}

// WebsocketAddr is where WebSocket clients can connect; nil if they cannot.
func (s *Server) WebsocketAddr() net.Addr {
	if s.ws == nil {
		return nil
	}
	return s.ws.listener.Addr()
}
