package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// clusterBlock declares the cluster block.
func clusterBlock() *conf.Block[options.Cluster] {
	type C = options.Cluster
	fields := append([]conf.Field[C]{
		{Key: "name", Type: "string", Bounds: "no spaces; not `_`", Doc: "Name of the cluster; default is one that the servers agree on.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) {
			name, ok := d.String(v)
			switch {
			case !ok || !noSpaces(d, v, "cluster", name):
			case name == "_":
				d.Errorf(v, "cluster name is reserved")
			default:
				c.Name = name
			}
		}},
		{Key: "authorization", Type: "map", Block: "authorization", Reload: conf.Live, Doc: "The user that routes log in as. Only user, pass and timeout.", Set: setClusterAuth},
		{Key: "permissions", Type: "map", Block: "permissions", Reload: conf.Live, Doc: "`import` and `export`: subjects that may come in and go out.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) {
			setRoutePermissions(d, v, decodePermissions(d, v), c)
		}},
		{Key: "routes", Type: "list of URLs", Reload: conf.Live, Doc: "Servers of the cluster to connect to; from them it learns of the others.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) { c.Routes = decodeURLs(d, v, "route") }},
		{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of routes, both ways.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) { c.TLS = decodeTLS(d, v, tlsPeers) }},
		{Key: "cluster_advertise", Aliases: []string{"advertise"}, Type: "host or host:port", Reload: conf.Live, Doc: "Address that other servers are told.", Set: conf.Str(func(c *C) *string { return &c.Advertise })},
		{Key: "no_advertise", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Do not tell clients the addresses of this cluster's servers.", Set: conf.Flag(func(c *C) *bool { return &c.NoAdvertise })},
		{Key: "connect_retries", Type: "integer", Default: "0", Reload: conf.Live, Doc: "Attempts to reach a server that was learned from others.", Set: conf.Number(func(c *C) *int { return &c.ConnectRetries })},
		{Key: "connect_backoff", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Wait longer after each failed attempt.", Set: conf.Flag(func(c *C) *bool { return &c.ConnectBackoff })},
		{Key: "pool_size", Type: "integer", Default: "3", Reload: conf.Live, Doc: "Connections to each other server; -1 is one of the old form.", Set: conf.Number(func(c *C) *int { return &c.PoolSize })},
		{Key: "accounts", Type: "string or list of strings", Reload: conf.Live, Doc: "Accounts with a connection of their own.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) { c.PinnedAccounts, _ = texts(d, v, "accounts") }},
		{Key: "compression", Type: "boolean, string or map", Block: "compression", Default: "accept", Reload: conf.Live, Doc: "Compression of routes.", Set: compression(options.CompressionFast, func(c *C) *options.Compression { return &c.Compression })},
		{Key: "ping_interval", Type: "duration", Bounds: "at most 30s", Reload: conf.Live, Doc: "Time without traffic after which a route is pinged; default is that of clients.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *C) {
			t, ok := d.Duration(v, "ping_interval")
			if ok && t > options.MaxRoutePing {
				d.Warnf(v, "Cluster 'ping_interval' will reset to %v which is the max for routes", options.MaxRoutePing)
			}
			c.PingInterval = min(t, options.MaxRoutePing)
		}},
		{Key: "ping_max", Type: "integer", Reload: conf.Live, Doc: "Pings without an answer after which a route is closed; default is that of clients.", Set: conf.Number(func(c *C) *int { return &c.MaxPingsOut })},
	}, writeFields("", func(c *C) *time.Duration { return &c.WriteDeadline }, func(c *C) *options.WriteTimeoutPolicy { return &c.WriteTimeout }, conf.Live)...)
	return conf.NewBlock(conf.Block[C]{
		Name: "cluster", Doc: "Routes: connections between the servers of one cluster.",
		NotMap: mustBeMap("Expected map to define cluster, got %s"),
	}, append(listenFields("the route listener", "0", func(c *C) *string { return &c.Host }, func(c *C) *int { return &c.Port }), fields...)...)
}

func setClusterAuth(d *conf.Decoder, _ string, v *conf.Value, c *options.Cluster) {
	a := decodePeerAuthorization(d, v, "Cluster")
	c.Authorization = a.Authorization
	c.Authorization.Defaults = nil
	if a.permissionsAt != nil {
		d.Misused(v, "authorization", "setting \"permissions\" within cluster authorization block is deprecated")
		if c.Permissions == nil && a.Defaults != nil {
			c.Permissions = &options.RoutePermissions{Import: a.Defaults.Publish, Export: a.Defaults.Subscribe}
		}
	}
}

func setRoutePermissions(d *conf.Decoder, v *conf.Value, p *options.Permissions, c *options.Cluster) {
	if p == nil {
		return
	}
	if p.Response != nil {
		d.Errorf(v, "Cluster permissions do not support dynamic responses")
		return
	}
	c.Permissions = &options.RoutePermissions{Import: p.Publish, Export: p.Subscribe}
}

// decodeURLs decodes a list of URLs of a kind of peer: route, gateway, leafnode.
func decodeURLs(d *conf.Decoder, v *conf.Value, kind string) (urls []*url.URL) {
	list, ok := d.List(v)
	if !ok {
		return nil
	}
	for _, e := range list {
		s, ok := d.String(e)
		if !ok {
			continue
		}
		u := decodeURL(d, e, s, kind)
		if u == nil {
			continue
		}
		if slices.ContainsFunc(urls, func(o *url.URL) bool { return o.String() == u.String() }) {
			d.Misused(e, u.Redacted(), "Duplicate %s entry detected", kind)
			continue
		}
		urls = append(urls, u)
	}
	return urls
}

// decodeURL returns nil after an error.
func decodeURL(d *conf.Decoder, v *conf.Value, s, kind string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		d.Errorf(v, "error parsing %s url [%q]", kind, s)
		return nil
	}
	return u
}
