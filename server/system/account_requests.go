package system

import (
	"godwit/server/monitor"
)

// everyAccount stands in the place of an account's name for all accounts.
const everyAccount = "PING"

// accountRequests are the requests of the system account about one account, by the last token.
func accountRequests() map[string]handler {
	return map[string]handler{
		"CONNZ": (*Service).accountConnz,
		"STATZ": (*Service).accountStatz,
		"CONNS": (*Service).accountConns,
		"SUBSZ": answering(func(s *Service, r *request, o *monitor.SubszOptions) (any, error) {
			o.Account, o.Subscriptions = r.account, true
			return s.monitor.Subsz(*o)
		}),
		"LEAFZ": answering(func(s *Service, r *request, o *monitor.LeafzOptions) (any, error) {
			o.Account = r.account
			return s.monitor.Leafz(*o), nil
		}),
		"JSZ": answering(func(s *Service, r *request, o *monitor.JSzOptions) (any, error) {
			return s.monitor.JSAccount(r.account, *o)
		}),
		"INFO": answering(func(s *Service, r *request, _ *struct{}) (any, error) {
			z, err := s.monitor.Accountz(monitor.AccountzOptions{Account: r.account})
			if err != nil {
				return nil, err
			}
			return z.Account, nil
		}),
	}
}

// accountConnz lists the connections of the request's account, whatever account the body names.
func (s *Service) accountConnz(r *request) any {
	return answering(func(s *Service, r *request, o *monitor.ConnzOptions) (any, error) {
		o.Account = r.account
		return s.monitor.Connz(*o)
	})(s, r)
}

// accountStatz shows the traffic of the request's account or, asked for every account by the system account, of those
// that the body names. With nothing to show there is no answer.
func (s *Service) accountStatz(r *request) any {
	return answering(func(s *Service, r *request, o *monitor.AccountStatzOptions) (any, error) {
		if !r.named || r.account != everyAccount {
			o.Accounts = []string{r.account}
		}
		z := s.monitor.AccountStatz(*o)
		if len(z.Accounts) == 0 {
			return nil, errSilent
		}
		return z, nil
	})(s, r)
}

// stat returns the counters of an account.
func (s *Service) stat(name string) (monitor.AccountStat, bool) {
	z := s.monitor.AccountStatz(monitor.AccountStatzOptions{Accounts: []string{name}, IncludeUnused: true})
	if len(z.Accounts) == 0 {
		return monitor.AccountStat{}, false
	}
	return z.Accounts[0], true
}

// accountConns answers with the event about the number of connections, if the account has any. Other servers ask it,
// so that a body must be JSON, but filters nothing.
func (s *Service) accountConns(r *request) any {
	if decode(r.body, &struct{}{}) != nil {
		return nil
	}
	st, ok := s.stat(r.account)
	if !ok || st.Conns+st.LeafNodes == 0 {
		return nil
	}
	return s.connsEvent(&st)
}
