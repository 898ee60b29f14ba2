package server

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"godwit/server/account"
	"godwit/server/auth"
	"godwit/server/auth/jwtauth"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/router"
)

// operators is operator mode in this server: logins by JWT, accounts as their JWTs say, and the requests about them.
type operators struct {
	s       *Server
	manager *jwtauth.Manager
	claims  chan claim // requests that wait; more are dropped, as nobody can have so many accounts to push at once
	subs    []*router.Sub
	done    sync.WaitGroup
}

// claim is a request about an account's JWT.
type claim struct{ subject, reply, body []byte }

const claimsWaiting = 1024

// withOperators returns o as operator mode has it: the system account is that of the operators.
func withOperators(o *options.Options) (*options.Options, error) {
	if err := jwtauth.Check(o, ProtocolVersion); err != nil || !jwtauth.Enabled(o) {
		return o, err
	}
	next := *o
	next.SystemAccount = jwtauth.SystemAccount(o)
	next.NoSystemAccount = next.SystemAccount == ""
	return &next, nil
}

// newOperators makes operator mode, if o asks for it.
func (s *Server) newOperators(o *options.Options) error {
	if !jwtauth.Enabled(o) {
		return nil
	}
	resolver, err := jwtauth.NewResolver(o, nil)
	if err != nil {
		return err
	}
	p := &operators{s: s, claims: make(chan claim, claimsWaiting)}
	cfg := jwtauth.ConfigOf(o)
	cfg.Resolver, cfg.Log, cfg.OnChange = resolver, s.log, p.changed
	cfg.ServerInfo = func() json.RawMessage {
		js, _ := json.Marshal(s.sys.ServerInfo()) // plain values cannot fail
		return js
	}
	if p.manager, err = jwtauth.New(cfg); err != nil {
		return err
	}
	s.operators = p
	return nil
}

// reload takes over what operator mode can change: the resolver and what is preloaded, the default sentinel and proxies. With
// an error nothing has changed. p may be nil.
func (p *operators) reload(old, o *options.Options) error {
	if p == nil {
		return nil
	}
	before, cfg := jwtauth.ConfigOf(old), jwtauth.ConfigOf(o)
	resolves := func(o *options.Options) []any { return []any{o.Resolver, o.ResolverPreload, o.ResolverTLS} }
	elsewhere := !reflect.DeepEqual(resolves(old), resolves(o))
	if !elsewhere && before.Sentinel == cfg.Sentinel && slices.Equal(before.TrustedProxies, cfg.TrustedProxies) {
		return nil
	}
	if elsewhere {
		resolver, err := jwtauth.NewResolver(o, nil)
		if err != nil {
			return err
		}
		cfg.Resolver = resolver
	}
	if err := p.manager.Reload(cfg); err != nil {
		if cfg.Resolver != nil {
			cfg.Resolver.Close()
		}
		return err
	}
	if elsewhere && p.s.accounts.System() != nil { // another kind of resolver answers other requests
		p.unsubscribe()
		p.subscribe()
	}
	return nil
}

// subscribe makes the requests about account JWTs come here.
func (p *operators) subscribe() {
	for _, sub := range p.manager.Subscriptions() {
		p.subs = append(p.subs, p.s.accounts.System().Index().SubscribeReceiver(sub.Subject, sub.Queue, p))
	}
}

// unsubscribe ends what subscribe began. Nothing comes any more that was sent afterwards.
func (p *operators) unsubscribe() {
	for _, sub := range p.subs {
		p.s.accounts.System().Index().Unsubscribe(sub)
	}
	p.subs = nil
}

// changed puts a new version of an account in force. See jwtauth.Config.
func (p *operators) changed(ch jwtauth.Change) {
	s := p.s
	a := s.accounts.Ensure(ch.Account.Key, ch.Account.Settings.Limits)
	a.SetTrace(ch.Account.Settings.Trace)
	p.setTerms(ch)
	if s.js.Load() != nil && !ch.Ended {
		if err := s.enableAccountStreams(a, ch.Account.Settings.JetStream); err != nil {
			s.log.Errorf("Streams of account %s: %v", a.Name(), err)
		}
	}
	s.sys.AccountsChanged()
	if ch.Before == nil && !ch.Ended {
		return // nobody is in it yet
	}
	var members []*conn.Conn
	for _, c := range s.env.Registry.All() {
		if c.Account() == a && !c.Gone.Load() {
			members = append(members, c)
		}
	}
	members = slices.DeleteFunc(members, func(c *conn.Conn) bool { return p.recheck(c, c.Identity(), ch.Recheck) })
	a.Index().Invalidate()
	if limit := a.Limits().MaxConn; limit >= 0 {
		closeSurplus(members, int(limit), monitor.ReasonMaxAccountConnectionsExceeded, account.ErrConnections.Error())
	}
}

// recheck looks at one connection again and reports whether it was closed.
func (p *operators) recheck(c *conn.Conn, id *auth.Identity, check func(*jwtauth.User) (*auth.Permissions, *jwtauth.Ending)) bool {
	if id == nil {
		return false
	}
	u, ok := id.Detail.(*jwtauth.User)
	if !ok {
		return false
	}
	perms, end := check(u)
	if end == nil {
		c.SetRights(perms)
		return false
	}
	reason := monitor.ReasonAuthenticationViolation
	for _, r := range []monitor.Reason{monitor.ReasonAuthenticationExpired, monitor.ReasonRevocation} {
		if r.String() == end.Reason {
			reason = r
		}
	}
	c.Close(reason, end.Text)
	return true
}

// joined closes the gap between a login and a change of its account meanwhile.
func (p *operators) joined(c *conn.Conn, id *auth.Identity) {
	if u, ok := id.Detail.(*jwtauth.User); ok {
		if _, end := p.manager.Recheck(u); end != nil {
			p.recheck(c, id, p.manager.Recheck)
		}
	}
}

// start answers the requests about account JWTs in the system account.
func (p *operators) start() {
	if p == nil || p.s.accounts.System() == nil {
		return
	}
	x := p.s.accounts.System().Index()
	p.subscribe()
	p.done.Go(func() {
		sender := router.NewSender(x)
		for c := range p.claims {
			replies, ok := p.manager.Handle(string(c.subject), c.body)
			if !ok || len(c.reply) == 0 {
				continue
			}
			for r := range replies {
				sender.Send(&router.Message{Subject: c.reply, Payload: r})
			}
			sender.Flush()
		}
	})
}

func (p *operators) close() {
	if p == nil {
		return
	}
	p.unsubscribe()
	close(p.claims)
	p.done.Wait()
	p.manager.Close()
}

// NewBatch implements router.Receiver.
func (p *operators) NewBatch() router.Batch { return p }

// Add implements router.Batch.
func (p *operators) Add(m *router.Message) {
	c := claim{slices.Clone(m.Subject), slices.Clone(m.Reply), slices.Clone(m.Payload)}
	select {
	case p.claims <- c:
	default:
		p.s.log.Warnf("A request on %s was dropped: %d are waiting", m.Subject, claimsWaiting)
	}
}

// Flush implements router.Batch.
func (p *operators) Flush() {}
