package server

import (
	"errors"
	"maps"
	"time"

	"godwit/protocol"
	"godwit/server/auth/jwtauth"
	"godwit/server/conn"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/router"
	"godwit/server/system"
)

// host is the server as the system account sees it.
type host struct{ *Server }

// errNoReload is the answer to a request to reload where there is nothing to read.
var errNoReload = errors.New("can only reload config when a file is provided using -c or --config")

// OnReload sets what a request of the system account to reload does. It is called before Start.
func (s *Server) OnReload(f func() error) { s.reread = f }

// Identity implements system.Host.
func (h host) Identity() system.Identity {
	o := h.options()
	return system.Identity{Name: h.name, Host: o.Host, ID: h.id, Domain: o.JetStream.Domain, Version: ProtocolVersion,
		Tags: o.Tags, Metadata: o.Metadata, FeatureFlags: featureFlags(o), JetStream: h.js.Load() != nil}
}

// Reload implements system.Host.
func (h host) Reload() error {
	if h.reread == nil {
		return errNoReload
	}
	return h.reread()
}

// Kick implements system.Host.
func (h host) Kick(cid uint64) error {
	c := h.env.Registry.Get(cid)
	if c == nil {
		return system.ErrNoConnection
	}
	c.Close(monitor.ReasonKicked, "")
	return nil
}

// LameDuck implements system.Host.
func (h host) LameDuck(cid uint64) error {
	c := h.env.Registry.Get(cid)
	if c == nil {
		return system.ErrNoClient
	}
	if !c.Announce(func(i *protocol.Info) { i.LameDuck = true }) {
		return system.ErrNotReady
	}
	return nil
}

// UserInfo implements system.Host.
func (h host) UserInfo(from router.Origin) (system.UserInfo, bool) {
	c, ok := from.(*conn.Conn)
	if !ok {
		return system.UserInfo{}, false
	}
	m := c.Snapshot()
	u := system.UserInfo{User: m.User, Account: m.Account, AccountName: m.NameTag}
	if id := c.Identity(); id != nil {
		if user, ok := id.Detail.(*jwtauth.User); ok {
			u.UserName = user.Label
		}
	}
	perms, expires := c.Rights()
	if perms != nil {
		u.Permissions = perms.Info()
	}
	if !expires.IsZero() {
		u.Expires = time.Until(expires)
	}
	return u, true
}

// featureFlags returns every flag that is known, with its default or what the configuration says.
func featureFlags(o *options.Options) map[string]bool {
	flags := map[string]bool{"js_ack_fc_v2": false, "js_api_reply_v2": false, "js_raft_delete_range": true, "js_snapshot_sources": false}
	maps.Copy(flags, o.FeatureFlags)
	return flags
}
