package server

import (
	"net"
	"runtime"
	"strconv"
	"time"

	"godwit/protocol"
	"godwit/server/auth"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/tlsconf"
)

// parts are what connections use, as a configuration makes them.
type parts struct {
	auth *auth.Authenticator
	tls  *conn.TLS // nil without
	ws   wsParts

	states *certificateStates
}

// build makes the parts, so that an error leaves everything as it was.
func (s *Server) build(o *options.Options) (p parts, err error) {
	p.states = &certificateStates{}
	defer func() {
		if err != nil {
			s.discard(p.states)
		}
	}()
	cfg := authConfig(o)
	if cfg.Delegate, err = s.delegate(o); err != nil {
		return p, err
	}
	if p.auth, err = auth.New(cfg); err != nil {
		return p, err
	}
	if p.ws, err = wsBuild(o, cfg); err != nil {
		return p, err
	}
	if p.ws.tls != nil {
		if err := s.watch(o, p.states, kindWebsocket, o.Websocket.TLS, p.ws.tls); err != nil {
			return p, err
		}
	}
	if o.TLS == nil {
		return p, nil
	}
	secure, err := tlsconf.Server(o.TLS)
	if err != nil {
		return p, err
	}
	if err := s.watch(o, p.states, kindClient, o.TLS, secure); err != nil {
		return p, err
	}
	p.tls = &conn.TLS{Config: secure, Timeout: tlsconf.Timeout(o.TLS), Optional: o.AllowNonTLS, First: o.TLS.HandshakeFirst,
		FirstFallback: o.TLS.HandshakeFirstFallback, Verify: o.TLS.Verify || o.TLS.VerifyAndMap, Map: o.TLS.VerifyAndMap}
	if o.TLS.RateLimit > 0 {
		p.tls.Allow = tlsconf.NewLimiter(o.TLS.RateLimit).Allow
	}
	return p, nil
}

// apply puts the parts in force for connections that come.
func (s *Server) apply(o *options.Options, p parts) {
	s.env.Settings.Store(settingsOf(o, s.name))
	s.env.Auth.Store(p.auth)
	s.env.TLS.Store(p.tls)
	s.ws.reload(p.ws)
	s.monitor.SetLogin(monitor.NewLogin(o.Monitoring.Login, auth.Matches))
	s.follow(p.states)
}

// settingsOf picks what connections look at; name is the server's.
func settingsOf(o *options.Options, name string) *conn.Settings {
	st := &conn.Settings{MaxConn: o.MaxConn, MaxSubs: o.MaxSubs, MaxSubTokens: o.MaxSubTokens, ControlLine: int(o.MaxControlLine),
		MaxPayload: int(o.MaxPayload), MaxPending: o.MaxPending, PingInterval: o.PingInterval, MaxPings: o.MaxPingsOut,
		WriteDeadline: o.WriteDeadline, WriteRetry: o.WriteTimeout == options.WriteTimeoutRetry,
		AuthTimeout: authTimeout(o), NoHeaders: o.NoHeaderSupport, NoStall: o.NoFastProducerStall, ProxyProtocol: o.ProxyProtocol,
		Trace: o.Log.Trace, TraceHeaders: o.Log.TraceHeaders, TraceMax: o.Log.MaxTracedMsgLen, ServerName: name}
	return st
}

// authTimeout is the time for a login. With TLS and no time given it leaves the handshake its own.
func authTimeout(o *options.Options) time.Duration {
	if t := o.Authorization.Timeout; t > 0 {
		return t
	}
	if o.TLS != nil {
		return tlsconf.Timeout(o.TLS) + time.Second
	}
	return options.DefaultAuthTimeout
}

// authConfig picks what logins depend on. The options list all users together; those of accounts are told apart here.
func authConfig(o *options.Options) auth.Config {
	cfg := auth.Config{Authorization: o.Authorization, NoAuthUser: o.NoAuthUser, AccountDefaults: map[string]*options.Permissions{},
		MapCertificates: o.TLS != nil && o.TLS.VerifyAndMap}
	cfg.Authorization.Users = nil
	system, others := false, false
	for _, u := range o.Authorization.Users {
		switch {
		case u.Account == "":
			cfg.Authorization.Users = append(cfg.Authorization.Users, u)
			continue
		case u.Account == o.SystemAccount:
			system = true
		default:
			others = true
		}
		cfg.Users = append(cfg.Users, u)
	}
	for _, a := range o.Accounts {
		cfg.AccountDefaults[a.Name] = a.Defaults
		others = others || a.Name != o.SystemAccount
	}
	block := len(cfg.Authorization.Users) > 0 || o.Authorization.Username != "" || o.Authorization.Token != ""
	cfg.AnonymousGlobal = system && !others && !block && o.NoAuthUser == ""
	cfg.RefuseEmptyPasswords = !cfg.MapCertificates &&
		(o.Websocket.TLS != nil && o.Websocket.TLS.VerifyAndMap || o.MQTT.TLS != nil && o.MQTT.TLS.VerifyAndMap)
	if o.Proxies != nil {
		cfg.TrustedProxies = o.Proxies.Trusted
	}
	return cfg
}

// baseInfo is what INFO says to every client.
func (s *Server) baseInfo(host string, port int) *protocol.Info {
	o := s.options()
	i := &protocol.Info{ServerID: s.id, ServerName: s.name, Version: ProtocolVersion, Proto: 1, GoVersion: runtime.Version(),
		Host: host, Port: port, Headers: !o.NoHeaderSupport, MaxPayload: o.MaxPayload, APILevel: apiLevel, XKey: s.xkey,
		JetStream: s.js.Load() != nil}
	if i.JetStream {
		i.Domain = o.JetStream.Domain
	}
	return i
}

// advertised is the address that INFO names: that of client_advertise where it is set.
func (s *Server) advertised(port int) (string, int) {
	adv := s.options().ClientAdvertise
	if adv == "" {
		return s.options().Host, port
	}
	h, p, err := net.SplitHostPort(adv)
	if err != nil {
		return adv, port
	}
	if n, err := strconv.Atoi(p); err == nil && n > 0 {
		port = n
	}
	return h, port
}
