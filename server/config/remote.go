package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/server/options"
)

// remoteBlock declares a remote of leaf nodes.
func remoteBlock() *conf.Block[options.RemoteLeaf] {
	type R = options.RemoteLeaf
	return conf.NewBlock(conf.Block[R]{
		Name: "remote", Doc: "A server to connect to as a leaf.",
		NotMap: func(d *conf.Decoder, v *conf.Value) {
			d.Errorf(v, "Expected remote leafnode entry to be a map/struct, got %v", v)
		},
	}, append(remoteIdentityFields(), remoteBehaviourFields()...)...)
}

func remoteIdentityFields() []conf.Field[options.RemoteLeaf] {
	type R = options.RemoteLeaf
	return []conf.Field[R]{
		{Key: "url", Aliases: []string{"urls"}, Type: "URL or list of URLs", Doc: "Where to connect; port 7422 if it names none. `ws` and `wss` connect by WebSocket.", Set: setRemoteURLs},
		{Key: "account", Aliases: []string{"local"}, Type: "string", Default: options.DefaultGlobalAccount, Doc: "Account of this server that joins.", Set: conf.Str(func(r *R) *string { return &r.Account })},
		{Key: "credentials", Aliases: []string{"creds"}, Type: "path", Doc: "File with a user's JWT and seed to log in with.", Set: func(d *conf.Decoder, _ string, v *conf.Value, r *R) {
			if s, ok := d.String(v); ok {
				if r.Credentials = s; r.Nkey != "" {
					d.Errorf(v, "Remote leafnode can not have both creds and nkey defined")
				}
			}
		}},
		{Key: "nkey", Aliases: []string{"seed"}, Secret: true, Type: "string", Doc: "Seed of a user nkey to log in with.", Set: setRemoteNkey},
		{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of the connection.", Set: func(d *conf.Decoder, _ string, v *conf.Value, r *R) { r.TLS = decodeTLS(d, v, tlsPlain) }},
		{Key: "proxy", Type: "map", Block: "proxy", Reload: conf.Partly, Doc: "HTTP proxy through which to connect, for WebSocket URLs. Its tls can be reloaded.", Set: setProxy},
	}
}

func remoteBehaviourFields() []conf.Field[options.RemoteLeaf] {
	type R = options.RemoteLeaf
	flag := func(key, doc string, reload conf.Reload, at func(*R) *bool, aliases ...string) conf.Field[R] {
		return conf.Field[R]{Key: key, Aliases: aliases, Type: "boolean", Default: "false", Reload: reload, Doc: doc, Set: conf.Flag(at)}
	}
	deny := func(key, alias, doc string, at func(*R) *[]string) conf.Field[R] {
		return conf.Field[R]{Key: key, Aliases: []string{alias}, Type: "subject or list of subjects", Doc: doc, Set: func(d *conf.Decoder, _ string, v *conf.Value, r *R) { *at(r) = subjects(d, v, false) }}
	}
	return []conf.Field[R]{
		flag("hub", "This side is the hub, although it connects.", conf.Restart, func(r *R) *bool { return &r.Hub }),
		deny("deny_imports", "deny_import", "Subjects that may not come in.", func(r *R) *[]string { return &r.DenyImports }),
		deny("deny_exports", "deny_export", "Subjects that may not go out.", func(r *R) *[]string { return &r.DenyExports }),
		flag("no_randomize", "Try the URLs in their order.", conf.Restart, func(r *R) *bool { return &r.NoRandomize }, "dont_randomize"),
		flag("ws_compression", "Compress WebSocket frames.", conf.Restart, func(r *R) *bool { return &r.WSCompression }, "ws_compress", "websocket_compress", "websocket_compression"),
		flag("ws_no_masking", "Do not mask WebSocket frames.", conf.Restart, func(r *R) *bool { return &r.WSNoMasking }, "websocket_no_masking"),
		{Key: "jetstream_cluster_migrate", Aliases: []string{"js_cluster_migrate"}, Type: "boolean or map", Block: "migrate", Default: "false", Doc: "Give up leadership of streams when the connection is lost, after the delay.", Set: setMigrate},
		flag("isolate_leafnode_interest", "Do not pass subscriptions of other leaves on.", conf.Restart, func(r *R) *bool { return &r.IsolateInterest }, "isolate"),
		flag("request_isolation", "Ask the other side to do that.", conf.Restart, func(r *R) *bool { return &r.RequestIsolation }),
		{Key: "compression", Type: "boolean, string or map", Block: "compression", Default: "s2_auto", Reload: conf.Live, Doc: "Compression of the connection.", Set: compression(options.CompressionAuto, func(r *R) *options.Compression { return &r.Compression })},
		{Key: "first_info_timeout", Type: "duration", Default: "1s", Doc: "Time for the first line of the other side.", Set: conf.Span("", func(r *R) *time.Duration { return &r.FirstInfoTimeout })},
		{Key: "dial_timeout", Type: "duration", Doc: "Time for one attempt to connect; default is that of the leafnodes block.", Set: conf.Span("", func(r *R) *time.Duration { return &r.DialTimeout })},
		flag("disabled", "Do not connect.", conf.Live, func(r *R) *bool { return &r.Disabled }),
		flag("ignore_discovered_servers", "Connect to the configured URLs only.", conf.Restart, func(r *R) *bool { return &r.IgnoreDiscovered }),
	}
}

func setRemoteURLs(d *conf.Decoder, _ string, v *conf.Value, r *options.RemoteLeaf) {
	switch v.Kind {
	case conf.String:
		if u := decodeURL(d, v, v.Text, "leafnode"); u != nil {
			r.URLs = append(r.URLs, u)
		}
	case conf.List:
		r.URLs = append(r.URLs, decodeURLs(d, v, "leafnode")...)
	default:
		d.Errorf(v, "Expected remote leafnode url to be an array or string, got %v", v)
	}
}

func setRemoteNkey(d *conf.Decoder, _ string, v *conf.Value, r *options.RemoteLeaf) {
	seed, ok := d.String(v)
	if !ok {
		return
	}
	if kp, err := nkeys.FromSeed([]byte(seed)); err != nil {
		d.Errorf(v, "Remote leafnode nkey is not a valid seed: %q", seed)
		return
	} else {
		kp.Wipe()
	}
	if r.Nkey = seed; r.Credentials != "" {
		d.Errorf(v, "Remote leafnode can not have both creds and nkey defined")
	}
}

// migrateBlock declares the map of jetstream_cluster_migrate. Unknown keys in it mean nothing.
func migrateBlock() *conf.Block[options.RemoteLeaf] {
	type R = options.RemoteLeaf
	return conf.NewBlock(conf.Block[R]{Name: "migrate", Doc: "How leadership of streams is given up. A map switches it on.", Lenient: true},
		conf.Field[R]{Key: "leader_migrate_delay", Type: "duration", Default: "0", Doc: "Time without the connection before that.", Set: conf.Span("leader_migrate_delay", func(r *R) *time.Duration { return &r.MigrateDelay })})
}

func setMigrate(d *conf.Decoder, _ string, v *conf.Value, r *options.RemoteLeaf) {
	switch v.Kind {
	case conf.Bool:
		r.Migrate = v.Flag
	case conf.MapKind:
		r.Migrate = true
		migrateBlock().Decode(d, v, r)
	default:
		d.Errorf(v, "Expected boolean or map for jetstream_cluster_migrate, got %s", v.GoType())
	}
}

// proxyBlock declares the proxy of a remote.
func proxyBlock() *conf.Block[options.HTTPProxy] {
	type P = options.HTTPProxy
	return conf.NewBlock(conf.Block[P]{
		Name: "proxy", Doc: "An HTTP proxy.",
		NotMap: mustBeMap("Expected proxy to be a map, got %s"),
	},
		conf.Field[P]{Key: "url", Type: "URL", Doc: "Its address, `http` or `https`.", Set: conf.Str(func(p *P) *string { return &p.URL })},
		conf.Field[P]{Key: "username", Type: "string", Doc: "User at the proxy.", Set: conf.Str(func(p *P) *string { return &p.Username })},
		conf.Field[P]{Key: "password", Secret: true, Type: "string", Doc: "Password at the proxy.", Set: conf.Str(func(p *P) *string { return &p.Password })},
		conf.Field[P]{Key: "timeout", Type: "duration", Doc: "Time to connect through the proxy.", Set: conf.Span("proxy timeout", func(p *P) *time.Duration { return &p.Timeout })},
		conf.Field[P]{Key: "tls", Type: "map", Block: "proxy tls", Reload: conf.Live, Doc: "TLS of the connection to the proxy.", Set: func(d *conf.Decoder, _ string, v *conf.Value, p *P) { p.TLS = decodeTLS(d, v, tlsProxy) }},
	)
}

func setProxy(d *conf.Decoder, _ string, v *conf.Value, r *options.RemoteLeaf) {
	p := &options.HTTPProxy{}
	before := d.Count()
	if !proxyBlock().Decode(d, v, p) || d.Count() > before {
		return
	}
	if *p == (options.HTTPProxy{}) {
		return
	}
	r.Proxy = p
	if err := checkProxy(r); err != nil {
		d.Errorf(v, "%v", err)
	}
}

// Errors about the proxy of a remote.
var (
	errProxyURL  = errors.New("proxy URL must be specified when other proxy options are set")
	errProxyHost = errors.New("proxy URL must specify a host")
	errProxyUser = errors.New("proxy username and password must both be specified or both be empty")
)

// checkProxy checks the proxy of r, which has one.
func checkProxy(r *options.RemoteLeaf) error {
	p := r.Proxy
	if p.URL == "" {
		return errProxyURL
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("invalid proxy URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("proxy URL scheme must be http or https, got: %s", u.Scheme)
	}
	if u.Host == "" {
		return errProxyHost
	}
	if (p.Username == "") != (p.Password == "") {
		return errProxyUser
	}
	for _, remote := range r.URLs {
		if strings.EqualFold(remote.Scheme, "wss") && r.TLS == nil {
			return fmt.Errorf("proxy is configured but remote URL %s requires TLS and no TLS configuration is provided. "+
				"When using proxy with TLS endpoints, ensure TLS is properly configured for the leafnode remote", remote.Redacted())
		}
	}
	return nil
}
