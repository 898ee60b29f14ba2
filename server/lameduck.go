package server

import (
	"math/rand/v2"
	"time"

	"godwit/protocol"
	"godwit/server/monitor"
)

// LameDuck takes no new clients, tells those that are there, and after a while closes them one by one, in random order
// over the configured time, so that they do not all reconnect elsewhere at once. Then it shuts down. It returns when
// the server has shut down, by itself or by a call of Shutdown meanwhile.
func (s *Server) LameDuck() {
	if !s.lameDuck.CompareAndSwap(false, true) {
		<-s.done
		return
	}
	s.log.Noticef("Entering lame duck mode, stop accepting new clients")
	s.mu.Lock()
	ln := s.listener
	s.mu.Unlock()
	s.sys.Events().LameDuck()
	if ln != nil {
		ln.Close()
	}
	s.ws.close()
	for _, c := range s.env.Registry.All() {
		c.Announce(func(i *protocol.Info) { i.LameDuck = true })
	}
	if s.env.Registry.Len() > 0 && s.pause(s.options().LameDuckGrace) {
		s.log.Noticef("Closing existing clients")
		s.closeSlowly()
	}
	s.Shutdown()
}

// InLameDuck reports whether the server has entered lame duck mode.
func (s *Server) InLameDuck() bool { return s.lameDuck.Load() }

// closeSlowly closes all clients over the configured time.
func (s *Server) closeSlowly() {
	all := s.env.Registry.All()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if len(all) == 0 {
		return
	}
	step := min((s.options().LameDuckDuration-s.options().LameDuckGrace)/time.Duration(len(all)), time.Second)
	for i, c := range all {
		c.Close(monitor.ReasonServerShutdown, "")
		if i == len(all)-1 {
			return
		}
		if wait := step/2 + rand.N(step/2+1); !s.pause(wait) {
			return
		}
	}
}

// pause waits and reports false if the server was shut down meanwhile.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
		return false
	}
}
