package system

// controlRequests are the requests that make one server do something, by the last token.
func controlRequests() map[string]handler {
	return map[string]handler{
		"RELOAD": (*Service).reload,
		"KICK":   connRequest("kick", Host.Kick),
		"LDM":    connRequest("lame duck", Host.LameDuck),
	}
}

// reload reads the configuration again and answers with nothing but the error, if there was one.
func (s *Service) reload(r *request) any {
	if e, ok := s.admit(r.body, &struct{}{}); !ok {
		return e
	}
	return s.outcome(s.host.Reload())
}

// connRequest makes the handler of a request {"cid": n}. A body that is not understood is reported to the operator,
// not answered.
func connRequest(what string, do func(Host, uint64) error) handler {
	return func(s *Service, r *request) any {
		var o struct {
			CID uint64 `json:"cid"`
		}
		err := errNoBody
		if len(r.body) > 0 {
			err = decode(r.body, &o)
		}
		if err != nil {
			s.log.Errorf("System request to %s a client: %v", what, err)
			return nil
		}
		return s.outcome(do(s.host, o.CID))
	}
}
