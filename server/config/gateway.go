package config

import (
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// gatewayBlock declares the gateway block.
func gatewayBlock() *conf.Block[options.Gateway] {
	type G = options.Gateway
	fields := append([]conf.Field[G]{
		{Key: "name", Type: "string", Bounds: "no spaces", Doc: "Name of this cluster among the others; switches the gateway on.", Set: func(d *conf.Decoder, _ string, v *conf.Value, g *G) {
			if s, ok := d.String(v); ok && noSpaces(d, v, "gateway", s) {
				g.Name = s
			}
		}},
		{Key: "authorization", Type: "map", Block: "authorization", Doc: "The user that gateways log in as. Only user, pass and timeout.", Set: func(d *conf.Decoder, _ string, v *conf.Value, g *G) {
			g.Authorization = decodePeerAuthorization(d, v, "Gateway").Authorization
		}},
		{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of gateway connections, both ways.", Set: func(d *conf.Decoder, _ string, v *conf.Value, g *G) { g.TLS = decodeTLS(d, v, tlsPeers) }},
		{Key: "advertise", Type: "host or host:port", Doc: "Address that other clusters are told.", Set: conf.Str(func(g *G) *string { return &g.Advertise })},
		{Key: "connect_retries", Type: "integer", Default: "0", Doc: "Attempts to reach a cluster that was learned from others.", Set: conf.Number(func(g *G) *int { return &g.ConnectRetries })},
		{Key: "connect_backoff", Type: "boolean", Default: "false", Doc: "Wait longer after each failed attempt.", Set: conf.Flag(func(g *G) *bool { return &g.ConnectBackoff })},
		{Key: "gateways", Type: "list of maps", Block: "remote gateway", Doc: "Clusters to connect to.", Set: func(d *conf.Decoder, _ string, v *conf.Value, g *G) {
			if v.Kind != conf.List {
				d.Errorf(v, "Expected gateways field to be an array, got %s", v.GoType())
				return
			}
			for _, e := range v.List {
				r := &options.RemoteGateway{}
				if remoteGatewayBlock().Decode(d, e, r) {
					g.Remotes = append(g.Remotes, r)
				}
			}
		}},
		{Key: "reject_unknown_cluster", Aliases: []string{"reject_unknown"}, Type: "boolean", Default: "false", Doc: "Refuse clusters that gateways does not list.", Set: conf.Flag(func(g *G) *bool { return &g.RejectUnknown })},
	}, writeFields("", func(g *G) *time.Duration { return &g.WriteDeadline }, func(g *G) *options.WriteTimeoutPolicy { return &g.WriteTimeout }, conf.Restart)...)
	return conf.NewBlock(conf.Block[G]{
		Name: "gateway", Doc: "Connections between clusters.",
		NotMap: mustBeMap("Expected gateway to be a map, got %s"),
	}, append(listenFields("the gateway listener", "", func(g *G) *string { return &g.Host }, func(g *G) *int { return &g.Port }), fields...)...)
}

// remoteGatewayBlock declares an entry of gateways.
func remoteGatewayBlock() *conf.Block[options.RemoteGateway] {
	type R = options.RemoteGateway
	return conf.NewBlock(conf.Block[R]{
		Name: "remote gateway", Doc: "A cluster to connect to.",
		NotMap: func(d *conf.Decoder, v *conf.Value) {
			d.Errorf(v, "Expected gateway entry to be a map/struct, got %v", v)
		},
	},
		conf.Field[R]{Key: "name", Type: "string", Doc: "Name of the cluster; required.", Set: conf.Str(func(r *R) *string { return &r.Name })},
		conf.Field[R]{Key: "url", Type: "URL", Doc: "One of its servers.", Set: func(d *conf.Decoder, _ string, v *conf.Value, r *R) {
			s, ok := d.String(v)
			if !ok {
				return
			}
			if u := decodeURL(d, v, s, "gateway"); u != nil {
				r.URLs = append(r.URLs, u)
			}
		}},
		conf.Field[R]{Key: "urls", Type: "list of URLs", Doc: "Several of its servers.", Set: func(d *conf.Decoder, _ string, v *conf.Value, r *R) {
			r.URLs = append(r.URLs, decodeURLs(d, v, "gateway")...)
		}},
		conf.Field[R]{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of connections to it; default is that of the gateway block.", Set: func(d *conf.Decoder, _ string, v *conf.Value, r *R) { r.TLS = decodeTLS(d, v, tlsPeers) }},
	)
}
