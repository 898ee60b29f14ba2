package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"

	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/revocation"
)

// The names of listeners in logs and events about certificates.
const (
	kindClient    = "Client"
	kindWebsocket = "Websocket"
)

// certificateStates is what a configuration makes of ocsp, ocsp_peer and ocsp_cache.
type certificateStates struct {
	cache   *revocation.Cache // shared with the configuration before if the options are the same
	options options.OCSPCache // of cache
	staples []*revocation.Stapler
}

// errOCSPWithoutVerify: without verify clients present no certificates.
func errOCSPWithoutVerify(kind string) error {
	return fmt.Errorf("OCSP peer verification for %s connections requires TLS verify (mTLS) to be enabled", kind)
}

// watch lets the handshakes of a listener staple and check answers of responders.
func (s *Server) watch(o *options.Options, st *certificateStates, kind string, t *options.TLS, c *tls.Config) error {
	name := map[string]string{kindClient: "client", kindWebsocket: "websocket"}[kind]
	if p := t.OCSPPeer; p != nil && p.Verify {
		if !t.Verify && !t.VerifyAndMap {
			return errOCSPWithoutVerify(name)
		}
		s.openCache(o, st)
		revocation.NewPeers(revocation.Peers{Options: p, Kind: kind, Cache: st.cache, Log: s.log,
			Invalid: func(link, peer *x509.Certificate, reason string) {
				s.sys.Events().CertificateInvalid(link, peer, reason)
			},
			Rejected: func(peer *x509.Certificate, reason string) {
				s.sys.Events().CertificateRejected(kind, peer, reason)
			}}).Attach(c)
	}
	dir := ""
	if o.JetStream.StoreDir != "" {
		dir = filepath.Join(o.JetStream.StoreDir, "ocsp")
	}
	staple, err := revocation.NewStapler(c, revocation.StapleOptions{Kind: kind, TLS: t, OCSP: o.OCSP, Dir: dir, Log: s.log, Revoke: func(err error) {
		s.log.Errorf("Shutting down: %v", err)
		s.Shutdown()
	}})
	if err != nil {
		return err
	}
	if staple != nil {
		st.staples = append(st.staples, staple)
	}
	return nil
}

// openCache takes over the cache that is there, or opens one.
func (s *Server) openCache(o *options.Options, st *certificateStates) {
	if st.cache != nil {
		return
	}
	st.options = options.OCSPCache{Local: true, LocalStore: options.DefaultOCSPCacheDir, SaveInterval: options.DefaultOCSPSaveInterval}
	if o.OCSPCache != nil {
		st.options = *o.OCSPCache
	}
	if now := s.states.Load(); now != nil && now.cache != nil && now.options == st.options {
		st.cache = now.cache
		return
	}
	st.cache = revocation.NewCache(st.options, s.log)
}

// discard ends what was made for a configuration that is not put in force after all.
func (s *Server) discard(st *certificateStates) {
	for _, x := range st.staples {
		x.Close()
	}
	if now := s.states.Load(); now == nil || now.cache != st.cache {
		st.cache.Close()
	}
}

// follow puts the states of a configuration in force, in place of those before.
func (s *Server) follow(st *certificateStates) {
	for _, x := range st.staples {
		x.Start()
	}
	old := s.states.Swap(st)
	if old == nil {
		return
	}
	for _, x := range old.staples {
		x.Close()
	}
	if old.cache != st.cache {
		old.cache.Close()
	}
}

// fillVarz tells what the cache holds.
func (st *certificateStates) fillVarz(v *monitor.Varz) {
	if st == nil {
		return
	}
	if n, ok := st.cache.Stats(); ok {
		v.OCSPResponseCache = &monitor.OCSPPeerCache{Type: "local", Hits: n.Hits, Misses: n.Misses, Responses: n.Good + n.Revoked + n.Unknown,
			Revokes: n.Revoked, Goods: n.Good, Unknowns: n.Unknown}
	}
}

// ocspPeer reports whether a block asks for the states of clients' certificates.
func ocspPeer(t *options.TLS) bool { return t != nil && t.OCSPPeer != nil && t.OCSPPeer.Verify }
