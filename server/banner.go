package server

import (
	"godwit/server/auth"
	"godwit/server/auth/jwtauth"
)

// discouragedPayload is the size of messages, in bytes, above which max_payload is worth a warning.
const discouragedPayload = 8 << 20

// logStart says what is starting.
func (s *Server) logStart() {
	if s.program == natsServer {
		s.log.Noticef("Starting nats-server")
		s.log.Noticef("  Version:  %s", ProtocolVersion)
		s.log.Noticef("  Git:      [not set]")
	} else {
		s.log.Noticef("Starting godwit")
		s.log.Noticef("  Version:  %s", Version)
		s.log.Noticef("  Protocol: %s", ProtocolVersion)
	}
	s.log.Noticef("  Name:     %s", s.name)
	s.log.Noticef("  ID:       %s", s.id)
	for _, line := range jwtauth.Banner(s.options()) {
		s.log.Noticef("%s", line)
	}
	if s.plaintext() {
		s.log.Warnf("Plaintext passwords detected, use nkeys or bcrypt")
	}
	if s.options().MaxPayload > discouragedPayload {
		s.log.Warnf("Maximum payloads over %s are generally discouraged and could lead to poor performance", byteSize(discouragedPayload))
	}
	if s.options().ConfigFile != "" {
		s.log.Noticef("Using configuration file: %s (%s)", s.options().ConfigFile, s.options().ConfigDigest)
	}
}

// plaintext reports whether a password is configured that is not hashed.
func (s *Server) plaintext() bool {
	a := &s.options().Authorization
	clear := func(password string) bool { return password != "" && !auth.IsBcrypt(password) }
	if clear(a.Password) || clear(a.Token) {
		return true
	}
	for _, u := range a.Users {
		if clear(u.Password) {
			return true
		}
	}
	return false
}
