package system

// answerAll answers requests one after the other until Close: the system account's first.
func (s *Service) answerAll() {
	out := newOutput(s.system)
	for {
		q, r := s.requests, s.requests.take()
		if r == nil {
			q, r = s.guests, s.guests.take()
		}
		if r != nil {
			q.working.Store(1)
			if v := r.handle(s, r); v != nil {
				s.reply(out, r, v)
			}
			q.working.Store(0)
			continue
		}
		out.rest()
		select {
		case <-s.requests.wake:
		case <-s.stop:
			return
		}
	}
}

// reply sends v as the answer to r.
func (s *Service) reply(out *output, r *request, v any) {
	body, err := encode(v)
	if err != nil { // a figure that JSON cannot write
		s.log.Errorf("Answer to a system request: %v", err)
		body, err = encode(s.failure(err))
		if err != nil {
			return
		}
		v = nil
	}
	var header []byte
	if e, ok := v.(*envelope); ok && !e.plain() && r.accept != encodingNone {
		h, b, err := r.accept.apply(body)
		if err != nil {
			s.log.Errorf("Answer to a system request: %v", err)
		} else {
			header, body = h, b
		}
	}
	out.send(r.in, !r.imported, r.reply, header, body)
	out.flush()
}
