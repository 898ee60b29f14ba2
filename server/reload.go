package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"time"

	"godwit/server/account"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
)

// Reload puts o in force, which differs from the options in force only in what can be changed while the server runs.
// Either all of it is applied or, with an error, nothing. Connections whose login no longer holds are closed, and
// subscriptions that are no longer permitted end. One call at a time.
func (s *Server) Reload(o *options.Options) error {
	old := s.options()
	o, err := withOperators(o)
	if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	parts, err := s.build(o)
	if err != nil {
		return fmt.Errorf("reload: %w", err)
	}
	if err := s.operators.reload(old, o); err != nil {
		s.discard(parts.states)
		return fmt.Errorf("reload: %w", err)
	}
	s.accounts.Update(o) // first: connections look at their quotas when they take over new settings
	s.apply(o, parts)
	s.setTerms(o, old)
	if err := s.reloadStreams(o); err != nil {
		s.log.Errorf("Error enabling jetstream on configured accounts: %v", err)
	}
	s.sys.AccountsChanged()
	now := time.Now()
	s.opts.Store(o)
	s.loaded.Store(&now)
	if addr, ok := s.ClientAddr().(*net.TCPAddr); ok {
		s.info.Store(s.baseInfo(s.advertised(addr.Port)))
	}
	s.log.SetDebug(o.Log.Debug)
	s.log.SetTrace(o.Log.Trace)
	if o.Monitoring.ProfBlockRate != old.Monitoring.ProfBlockRate {
		runtime.SetBlockProfileRate(o.Monitoring.ProfBlockRate)
	}
	for _, c := range s.env.Registry.All() {
		c.Recheck()
	}
	for _, a := range s.accounts.All() {
		a.Index().Invalidate()
	}
	all := s.env.Registry.All()
	if o.MaxConn < old.MaxConn {
		if n := closeSurplus(all, o.MaxConn, monitor.ReasonMaxConnectionsExceeded, "maximum connections exceeded"); n > 0 {
			s.log.Noticef("Closed %d connections to fall within max_connections", n)
		}
	}
	for _, a := range s.accounts.All() {
		if limit := a.Limits().MaxConn; limit >= 0 {
			in := slices.DeleteFunc(slices.Clone(all), func(c *conn.Conn) bool { return c.Account() != a })
			closeSurplus(in, int(limit), monitor.ReasonMaxAccountConnectionsExceeded, account.ErrConnections.Error())
		}
	}
	return nil
}

// closeSurplus closes connections chosen at random until limit of them are left, and returns how many it closed.
func closeSurplus(conns []*conn.Conn, limit int, reason monitor.Reason, text string) int {
	surplus := max(len(conns)-max(limit, 0), 0)
	rand.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
	for _, c := range conns[:surplus] {
		c.Close(reason, text)
	}
	return surplus
}
