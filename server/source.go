package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/protocol/subject"
	"godwit/server/account"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/router"
	"godwit/server/tlsconf"
)

// source is the server as monitoring sees it.
type source struct {
	*Server
	monitor.NoLinks
	monitor.NoRaft
}

func (s *Server) startMonitor() error {
	prof, err := s.startProfiler()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.prof = prof
	s.mu.Unlock()
	m := &s.options().Monitoring
	so := monitor.ServerOptions{Host: m.HTTPHost, Port: m.HTTPPort, BasePath: m.HTTPBasePath}
	if so.Host == "" {
		so.Host = s.options().Host
	}
	if m.HTTPPort != 0 && m.HTTPSPort != 0 {
		return fmt.Errorf("can't specify both HTTP (%d) and HTTPs (%d) ports", m.HTTPPort, m.HTTPSPort)
	}
	if m.HTTPSPort != 0 {
		t := s.env.TLS.Load()
		if t == nil {
			return monitor.ErrHTTPSWithoutTLS
		}
		so.Port, so.TLS = m.HTTPSPort, &tls.Config{GetConfigForClient: s.monitorTLS}
	}
	if so.Port == 0 {
		return nil
	}
	http, err := s.monitor.Listen(so)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.http = http
	s.mu.Unlock()
	return nil
}

// Identity implements monitor.Source.
func (s source) Identity() monitor.Identity {
	return monitor.Identity{ID: s.id, Name: s.name, Version: ProtocolVersion}
}

// monitorTLS returns the configuration in force, for one connection to the monitoring port. Clients of that need no certificate, unless
// the states of theirs are asked for.
func (s *Server) monitorTLS(*tls.ClientHelloInfo) (*tls.Config, error) {
	t := s.env.TLS.Load()
	if t == nil {
		return nil, monitor.ErrHTTPSWithoutTLS
	}
	if ocspPeer(s.options().TLS) {
		return t.Config, nil
	}
	c := t.Config.Clone()
	c.ClientAuth, c.VerifyConnection = tls.NoClientCert, nil
	return c, nil
}

// Varz implements monitor.Source.
func (s source) Varz() *monitor.Varz {
	o, i, t := s.options(), s.info.Load(), s.env.Registry.Totals()
	a := s.env.Auth.Load()
	v := &monitor.Varz{ID: s.id, Name: s.name, Version: ProtocolVersion, Proto: i.Proto, Host: i.Host, Port: i.Port,
		AuthRequired: a.Required(), MaxConn: o.MaxConn, MaxSubs: o.MaxSubs, PingInterval: o.PingInterval, MaxPingsOut: o.MaxPingsOut,
		HTTPHost: o.Monitoring.HTTPHost, HTTPPort: o.Monitoring.HTTPPort, HTTPBasePath: strings.TrimSuffix(o.Monitoring.HTTPBasePath, "/"),
		HTTPSPort: o.Monitoring.HTTPSPort, AuthTimeout: authTimeout(o).Seconds(), MaxControlLine: o.MaxControlLine,
		MaxPayload: int(o.MaxPayload), MaxPending: o.MaxPending, TLSTimeout: options.DefaultTLSTimeout.Seconds(),
		WriteDeadline: o.WriteDeadline, Start: s.started, ConfigLoadTime: *s.loaded.Load(), ConfigDigest: o.ConfigDigest,
		Tags: o.Tags, Metadata: o.Metadata, FeatureFlags: featureFlags(o)}
	if addr := s.MonitorAddr(); addr != nil && o.Monitoring.HTTPPort < 0 {
		v.HTTPPort = addr.(*net.TCPAddr).Port
	}
	if o.WriteTimeout != options.WriteTimeoutDefault {
		v.WriteTimeout = o.WriteTimeout.String()
	}
	if o.TLS != nil {
		v.TLSRequired, v.TLSVerify = !o.AllowNonTLS, o.TLS.Verify || o.TLS.VerifyAndMap
		v.TLSTimeout = tlsconf.Timeout(o.TLS).Seconds()
		v.TLSOCSPPeerVerify = ocspPeer(o.TLS)
	}
	s.states.Load().fillVarz(v)
	for _, op := range o.Operators {
		v.TrustedOperatorsJwt = append(v.TrustedOperatorsJwt, op.JWT)
		if claims, err := jwt.DecodeOperatorClaims(op.JWT); err == nil {
			v.TrustedOperatorsClaim = append(v.TrustedOperatorsClaim, claims)
		}
	}
	if acc := s.accounts.System(); acc != nil {
		v.SystemAccount = acc.Name()
	}
	v.Connections, v.TotalConnections = s.env.Registry.Len(), t.Accepted
	v.InMsgs, v.InBytes, v.OutMsgs, v.OutBytes = t.InMsgs, t.InBytes, t.OutMsgs, t.OutBytes
	v.InClientMsgs, v.InClientBytes, v.OutClientMsgs, v.OutClientBytes = t.InMsgs, t.InBytes, t.OutMsgs, t.OutBytes
	v.SlowConsumers, v.StaleConnections, v.StalledClients = int64(t.SlowPending+t.SlowDeadline), t.Stale, t.Stalls
	v.SlowConsumersStats.Clients = t.SlowPending + t.SlowDeadline
	v.StaleConnectionStats.Clients = uint64(t.Stale)
	for _, acc := range s.accounts.All() {
		v.Subscriptions += shownSubscriptions(acc)
		n := acc.Quota().Bucket().Counts()
		v.Throttled += time.Duration(n.Throttled.Load())
		v.Refused += n.Messages.Load()
	}
	if st := s.js.Load(); st != nil {
		st.fillVarz(&v.JetStream)
	}
	if w := &o.Websocket; w.Port != 0 {
		v.Websocket = monitor.WebsocketOptsVarz{Host: w.Host, Port: w.Port, Advertise: w.Advertise, NoAuthUser: w.NoAuthUser,
			JWTCookie: w.JWTCookie, HandshakeTimeout: w.HandshakeTimeout, AuthTimeout: w.Authorization.Timeout.Seconds(), NoTLS: w.NoTLS,
			TLSMap: w.TLS != nil && w.TLS.VerifyAndMap, TLSOCSPPeerVerify: ocspPeer(w.TLS), SameOrigin: w.SameOrigin, AllowedOrigins: w.AllowedOrigins, Compression: w.Compression}
		if tcp, ok := s.WebsocketAddr().(*net.TCPAddr); ok {
			v.Websocket.Port = tcp.Port
		}
	}
	return v
}

// EachConn implements monitor.ConnSource.
func (s source) EachConn(f func(*monitor.Conn) bool) {
	for _, c := range s.env.Registry.All() {
		c.MeasureRTT()
		m := c.Snapshot()
		if m.Reason == monitor.ReasonNone && !f(&m) {
			return
		}
	}
}

// ConnSubs implements monitor.ConnSource.
func (s source) ConnSubs(cid uint64) []monitor.SubDetail {
	if c := s.env.Registry.Get(cid); c != nil {
		return c.Subscriptions()
	}
	return nil
}

// ClosedConns implements monitor.ConnSource.
func (s source) ClosedConns() *monitor.ClosedRing { return s.env.Registry.Closed() }

// selected returns the accounts that a name stands for: all for the empty one.
func (s source) selected(name string) []*account.Account {
	if name == "" {
		all := s.accounts.All()
		sort.Slice(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
		return all
	}
	if a := s.accounts.Lookup(name); a != nil {
		return []*account.Account{a}
	}
	return nil
}

// SublistStats implements monitor.ConnSource.
func (s source) SublistStats(name string) (monitor.SublistStats, bool) {
	accounts := s.selected(name)
	var sum router.Stats
	for _, a := range accounts {
		st := a.Index().Stats()
		sum.Subscriptions += int64(shownSubscriptions(a))
		sum.Inserts += st.Inserts
		sum.Removes += st.Removes
		sum.Lookups += st.Lookups
		sum.CacheHits += st.CacheHits
	}
	out := monitor.SublistStats{NumSubs: uint32(sum.Subscriptions), NumInserts: sum.Inserts, NumRemoves: sum.Removes,
		NumMatches: sum.Lookups + sum.CacheHits}
	if out.NumMatches > 0 {
		out.CacheHitRate = float64(sum.CacheHits) / float64(out.NumMatches)
	}
	return out, len(accounts) > 0
}

// EachSub implements monitor.ConnSource. Beside an account's own subscriptions it shows those of other accounts that get
// its streams, as they are seen there, and the subjects of its service imports.
func (s source) EachSub(name, test string, f func(*monitor.SubDetail) bool) {
	more := true
	for _, a := range s.selected(name) {
		show := func(owner string, sub *router.Sub, subj string) bool {
			d := monitor.SubDetail{Account: owner, AccountTag: owner, Subject: subj, Queue: sub.Queue(), Sid: sub.SID(),
				Msgs: int64(sub.Msgs()), Max: int64(sub.Max()), Cid: conn.IDOf(sub)}
			more = f(&d)
			return more
		}
		visit := func(sub *router.Sub) bool { return show(a.Name(), sub, sub.Subject()) }
		if test == "" {
			a.Index().Each(visit)
		} else {
			a.Index().EachMatch([]byte(test), visit)
		}
		for n, subj := range a.Index().ServiceImports() {
			if more && (test == "" || subject.Match(subj, test)) {
				more = f(&monitor.SubDetail{Account: a.Name(), AccountTag: a.Name(), Subject: subj, Sid: strconv.Itoa(n + 1)})
			}
		}
		if more {
			a.Index().EachImported(func(importer string, sub *router.Sub, subj string) bool {
				return test != "" && !subject.Match(subj, test) || show(importer, sub, subj)
			})
		}
		if !more {
			return
		}
	}
}

// shownSubscriptions is the number of subscriptions that EachSub shows of an account.
func shownSubscriptions(a *account.Account) uint32 {
	x := a.Index()
	return uint32(x.Stats().Subscriptions) + uint32(len(x.ServiceImports())+x.CountImported())
}

// HasAccount implements monitor.AccountSource.
func (s source) HasAccount(name string) bool { return name != "" && s.accounts.Lookup(name) != nil }

// AccountNames implements monitor.AccountSource.
func (s source) AccountNames() []string {
	var names []string
	for _, a := range s.accounts.All() {
		names = append(names, a.Name())
	}
	return names
}

// SystemAccount implements monitor.AccountSource.
func (s source) SystemAccount() string {
	if a := s.accounts.System(); a != nil {
		return a.Name()
	}
	return ""
}

// Account implements monitor.AccountSource.
func (s source) Account(name string) *monitor.AccountDetail {
	if !s.HasAccount(name) {
		return nil
	}
	a := s.accounts.Lookup(name)
	now, _ := a.Conns()
	st, _ := s.SublistStats(name)
	d := &monitor.AccountDetail{AccountName: name, LastUpdate: s.loaded.Load().UTC(), IsSystem: a == s.accounts.System(), Complete: true,
		JetStream: s.js.Load().enabled(name), ClientCnt: now, SubCnt: st.NumSubs, NameTag: name, Sublist: &st, Imports: s.sys.Imports(name), Exports: s.sys.Exports(name),
		Quota: showQuota(a)}
	s.showExchange(a, d)
	return d
}

// AccountStats implements monitor.AccountSource.
func (s source) AccountStats(name string) (monitor.AccountStat, bool) {
	if !s.HasAccount(name) {
		return monitor.AccountStat{}, false
	}
	a := s.accounts.Lookup(name)
	now, _ := a.Conns()
	closed := a.Closed()
	st := monitor.AccountStat{Account: name, Name: name, Conns: now, TotalConns: now,
		NumSubs: shownSubscriptions(a), SlowConsumers: a.SlowConsumers().Load()}
	st.Received.Msgs, st.Received.Bytes = closed.InMsgs.Load(), closed.InBytes.Load()
	st.Sent.Msgs, st.Sent.Bytes = closed.OutMsgs.Load(), closed.OutBytes.Load()
	for _, c := range s.env.Registry.All() {
		if c.Account() == a {
			inMsgs, inBytes, outMsgs, outBytes := c.Traffic()
			st.Received.Msgs += inMsgs
			st.Received.Bytes += inBytes
			st.Sent.Msgs += outMsgs
			st.Sent.Bytes += outBytes
		}
	}
	return st, true
}

// NotReady implements monitor.HealthSource.
func (s source) NotReady() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready || s.stopping || s.lameDuck.Load() {
		return []string{"server"}
	}
	return nil
}

// Queues implements monitor.InternalsSource.
func (s source) Queues() []monitor.QueueInfo { return s.sys.Queues() }
