package system

import (
	"errors"

	"godwit/server/monitor"
)

// serverRequests are the requests that one server or, under PING, all servers answer, by the last token.
func serverRequests() map[string]handler {
	return map[string]handler{
		"STATSZ":   (*Service).statszRequest,
		"IDZ":      (*Service).idz,
		"PROFILEZ": (*Service).profilez,
		"VARZ":     answering(func(s *Service, _ *request, _ *struct{}) (any, error) { return s.monitor.Varz(), nil }),
		"CONNZ":    answering(func(s *Service, _ *request, o *monitor.ConnzOptions) (any, error) { return s.monitor.Connz(*o) }),
		"ROUTEZ":   answering(func(s *Service, _ *request, o *monitor.RoutezOptions) (any, error) { return s.monitor.Routez(*o), nil }),
		"GATEWAYZ": answering(func(s *Service, _ *request, o *monitor.GatewayzOptions) (any, error) {
			return s.monitor.Gatewayz(*o), nil
		}),
		"LEAFZ":    answering(func(s *Service, _ *request, o *monitor.LeafzOptions) (any, error) { return s.monitor.Leafz(*o), nil }),
		"SUBSZ":    answering(func(s *Service, _ *request, o *monitor.SubszOptions) (any, error) { return s.monitor.Subsz(*o) }),
		"ACCOUNTZ": answering(func(s *Service, _ *request, o *monitor.AccountzOptions) (any, error) { return s.monitor.Accountz(*o) }),
		"JSZ":      answering(func(s *Service, _ *request, o *monitor.JSzOptions) (any, error) { return s.monitor.JSz(*o) }),
		"HEALTHZ":  answering(healthz),
		"EXPVARZ":  answering(func(s *Service, _ *request, _ *struct{}) (any, error) { return s.monitor.Expvarz(), nil }),
		"IPQUEUESZ": answering(func(s *Service, _ *request, o *monitor.IpqueueszOptions) (any, error) {
			return s.monitor.Ipqueuesz(*o), nil
		}),
		"RAFTZ": answering(raftz),
	}
}

// errSilent makes a request go without an answer.
var errSilent = errors.New("no answer")

// answering makes a handler of a function that answers for the options T in a request's body. The body also says which
// servers are to answer.
func answering[T any](f func(*Service, *request, *T) (any, error)) handler {
	return func(s *Service, r *request) any {
		var o T
		if e, ok := s.admit(r.body, &o); !ok {
			return e
		}
		data, err := f(s, r, &o)
		switch {
		case errors.Is(err, errSilent), errors.Is(err, monitor.ErrNotLeader):
			return nil
		case err != nil:
			return s.failure(err)
		}
		return s.answer(data)
	}
}

// admit decodes the body of a request and reports whether it is to be served. If not, e is what to answer, if
// anything.
func (s *Service) admit(body []byte, options any) (e any, ok bool) {
	var f filter
	if err := decode(body, &f, options); err != nil {
		return s.malformed(err), false
	}
	if len(body) > 0 {
		if i := s.host.Identity(); !f.admits(&i) {
			return nil, false
		}
	}
	return nil, true
}

// healthz shows the status code, as there is no other place for it.
func healthz(s *Service, _ *request, o *monitor.HealthzOptions) (any, error) {
	h := s.monitor.Healthz(*o)
	h.StatusCode = h.Code
	return &h.HealthStatus, nil
}

// raftz answers with nothing where there are no groups.
func raftz(s *Service, _ *request, o *monitor.RaftzOptions) (any, error) {
	z, err := s.monitor.Raftz(*o)
	if errors.Is(err, monitor.ErrNoRaft) || errors.Is(err, monitor.ErrNoRaftMatched) {
		return monitor.Raftz{}, nil
	}
	return z, err
}

// idz answers who is there, whatever is in the body.
func (s *Service) idz(*request) any {
	i := s.host.Identity()
	return &struct {
		Name string `json:"name"`
		Host string `json:"host"`
		ID   string `json:"id"`
	}{i.Name, i.Host, i.ID}
}
