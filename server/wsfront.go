package server

import (
	"crypto/tls"
	"net"
	"strconv"

	"godwit/protocol"
	"godwit/server/auth"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/tlsconf"
	"godwit/server/websocket"
)

// applyWebsocket builds from o who may log in by WebSocket.
func (s *Server) applyWebsocket(o *options.Options) error {
	w := &o.Websocket
	if w.Port == 0 {
		return nil
	}
	a, err := auth.New(authConfig(o).Override(&w.Authorization, w.NoAuthUser, w.TLS != nil && w.TLS.VerifyAndMap))
	if err != nil {
		return err
	}
	s.wsAuth.Store(a)
	return nil
}

// listenWebsocket opens the WebSocket port, if there is to be one.
func (s *Server) listenWebsocket() error {
	o := s.options()
	w := &o.Websocket
	if w.Port == 0 {
		return nil
	}
	front := &conn.Front{Type: monitor.TypeWebSocket, Kind: auth.WebSocket, Auth: &s.wsAuth, AuthTimeout: authTimeout(o)}
	if w.Authorization.Timeout > 0 {
		front.AuthTimeout = w.Authorization.Timeout
	}
	cfg := websocket.Config{Options: w, Log: s.log, MaxPayload: func() int64 { return int64(s.options().MaxPayload) },
		Adopt: func(c *websocket.Conn, m *websocket.Meta) {
			s.adopt(c, &conn.Arrival{Front: front, TLS: m.TLS, Forwarded: m.Forwarded, Fill: m.Credentials.Fill, ClosingFor: c.ClosingFor})
		}}
	if w.TLS != nil {
		var err error
		if cfg.TLS, err = tlsconf.Server(w.TLS); err != nil {
			return err
		}
		if w.TLS.RateLimit > 0 {
			cfg.AllowTLS = tlsconf.NewLimiter(w.TLS.RateLimit).Allow
		}
	}
	l, err := websocket.New(cfg)
	if err != nil {
		return err
	}
	secure, verify := cfg.TLS != nil, cfg.TLS != nil && cfg.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	front.Info = func(i *protocol.Info) {
		i.Host, i.Port = wsAddress(w, l.Addr())
		i.TLSRequired, i.TLSAvailable, i.TLSVerify = secure, false, verify
	}
	if err := l.Start(); err != nil {
		return err
	}
	s.mu.Lock()
	s.ws = l
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		l.Close()
		return errStopping
	}
	return nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ws == nil {
		return nil
	}
	return s.ws.Addr()
}
