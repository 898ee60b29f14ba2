package monitor

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"

	"godwit/server/options"
)

// verifiedMost bounds how many presented credentials are remembered, so that those who come again each second cost no bcrypt
// comparison each time. They are remembered as hashes.
const verifiedMost = 256

// Login decides who may use the monitoring port. It is safe for concurrent use.
type Login struct {
	users []options.MonitoringUser
	open  map[string]bool
	match func(configured, presented string) bool
	work  chan struct{} // held while credentials are compared

	mu       sync.Mutex
	verified map[[sha256.Size]byte]*options.MonitoringUser
}

// NewLogin returns what a configuration says; o is shared and may be nil: then everybody may. match compares a configured
// password or token, which may be a hash, with one that is presented, in constant time.
func NewLogin(o *options.MonitoringLogin, match func(configured, presented string) bool) *Login {
	if o == nil {
		return nil
	}
	l := &Login{users: o.Users, open: map[string]bool{}, match: match, work: make(chan struct{}, 2), verified: map[[sha256.Size]byte]*options.MonitoringUser{}}
	for _, path := range o.Open {
		l.open["/"+strings.Trim(path, "/")] = true
	}
	return l
}

// identify returns as whom a request comes, nil if it does not say or that is not right.
func (l *Login) identify(r *http.Request) *options.MonitoringUser {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(header))
	l.mu.Lock()
	u := l.verified[sum]
	l.mu.Unlock()
	if u != nil {
		return u
	}
	select {
	case l.work <- struct{}{}:
		u = l.find(r, header)
		<-l.work
	case <-r.Context().Done():
		return nil
	}
	if u != nil {
		l.mu.Lock()
		if len(l.verified) >= verifiedMost {
			clear(l.verified)
		}
		l.verified[sum] = u
		l.mu.Unlock()
	}
	return u
}

func (l *Login) find(r *http.Request, header string) *options.MonitoringUser {
	if scheme, token, ok := strings.Cut(header, " "); ok && strings.EqualFold(scheme, "Bearer") {
		for i := range l.users {
			if u := &l.users[i]; u.Token != "" && l.match(u.Token, strings.TrimSpace(token)) {
				return u
			}
		}
		return nil
	}
	name, password, ok := r.BasicAuth()
	if !ok {
		return nil
	}
	for i := range l.users {
		u := &l.users[i]
		if u.Token == "" && subtle.ConstantTimeCompare([]byte(u.Name), []byte(name)) == 1 && l.match(u.Password, password) {
			return u
		}
	}
	return nil
}

// guard lets only those through to h who may; path is without the base.
func (m *Monitor) guard(path string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		l := m.login.Load()
		if l != nil && !l.open[path] && l.identify(r) == nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="godwit monitoring", charset="UTF-8"`)
			w.Header().Set("Cache-Control", "no-store")
			response{code: http.StatusUnauthorized, kind: typeText, body: []byte("Log in with a user of http_authorization.\n")}.send(w)
			return
		}
		h(w, r)
	}
}

// User returns as whom a request comes; nil if it is nobody, or there is no login.
func (m *Monitor) User(r *http.Request) *options.MonitoringUser {
	if l := m.login.Load(); l != nil {
		return l.identify(r)
	}
	return nil
}

// SetLogin puts a login in force; nil lets everybody in.
func (m *Monitor) SetLogin(l *Login) { m.login.Store(l) }
