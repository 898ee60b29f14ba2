package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/server/options"
)

// securityFields are the keys at the top of a file about who may log in and whom to trust.
func securityFields() []conf.Field[build] {
	return slices.Concat([]conf.Field[build]{
		{Key: "authorization", Type: "map", Block: "authorization", Reload: conf.Live, Doc: "Who may log in. Clients that may no longer are disconnected by a reload.", Set: setAuthorization},
		{Key: "accounts", Type: "map or list of names", Block: "accounts", Named: true, Reload: conf.Live, Doc: "Accounts: separate subject spaces with users of their own.", Set: setAccounts},
		{Key: "mappings", Aliases: []string{"maps"}, Type: "map", Block: "mappings", Named: true, Reload: conf.Live, Doc: "Subject mappings of the global account.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			b.Mappings = decodeMappings(d, v)
		}},
		{Key: "quotas", Type: "map", Block: "quotas", Reload: conf.Live, Doc: "What accounts and users may publish per second that have no `quota` of their own. Not in nats-server.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			quotasBlock().Decode(d, v, &b.Quotas)
		}},
		{Key: "system_account", Aliases: []string{"system"}, Type: "string", Default: options.DefaultSystemAccount, Doc: "Account of the server's own traffic.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			if v.Kind != conf.String {
				d.Errorf(v, "system account name must be a string")
				return
			}
			b.SystemAccount = v.Text
		}},
		{Key: "no_system_account", Aliases: []string{"no_system", "no_sys_acc"}, Type: "boolean", Default: "false", Doc: "Make no system account.",
			Set: conf.Flag(func(b *build) *bool { return &b.NoSystemAccount })},
		{Key: "no_auth_user", Type: "string", Doc: "User, or public nkey of one, as whom clients without credentials are logged in.",
			Set: conf.Str(func(b *build) *string { return &b.NoAuthUser })},
		{Key: "proxies", Type: "map", Block: "proxies", Reload: conf.Partly, Doc: "Proxies that vouch for their clients. The keys can be reloaded.", Set: setProxies},
		{Key: "ocsp", Type: "boolean or map", Block: "ocsp", Reload: conf.Live, Doc: "Staple the revocation state to the server's certificate; true is mode auto, false is never.", Set: setOCSP},
		{Key: "ocsp_cache", Type: "boolean or map", Block: "ocsp_cache", Reload: conf.Live, Doc: "Remember the revocation states of peers' certificates.", Set: setOCSPCache},
	}, trustFields())
}

// proxiesBlock declares the block proxies.
func proxiesBlock() *conf.Block[options.Proxies] {
	return conf.NewBlock(conf.Block[options.Proxies]{
		Name: "proxies", Doc: "Proxies whose signature of a login is trusted.",
		NotMap: mustBeMap("expected proxies to be a map/struct, got %s"),
	}, conf.Field[options.Proxies]{Key: "trusted", Type: "list of maps", Block: "trusted proxy", Reload: conf.Live, Doc: "The proxies.", Set: setTrustedProxies})
}

func setProxies(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	var p options.Proxies
	if proxiesBlock().Decode(d, v, &p) {
		b.Proxies = &p
	}
}

// trustedProxyBlock declares an entry of the list of proxies.
func trustedProxyBlock() *conf.Block[options.Proxies] {
	type P = options.Proxies
	return conf.NewBlock(conf.Block[P]{
		Name: "trusted proxy", Doc: "A proxy.",
		NotMap: mustBeMap("expected proxies' trusted entry to be a map/struct, got %s"),
	}, conf.Field[P]{Key: "key", Aliases: []string{"public_key"}, Type: "string", Reload: conf.Live, Doc: "Its public nkey.", Set: func(d *conf.Decoder, _ string, v *conf.Value, p *P) {
		key, ok := d.String(v)
		switch {
		case !ok:
		case !nkeys.IsValidPublicKey(key):
			d.Errorf(v, "invalid proxy key %q", key)
		default:
			p.Trusted = append(p.Trusted, key)
		}
	}})
}

func setTrustedProxies(d *conf.Decoder, _ string, v *conf.Value, p *options.Proxies) {
	if v.Kind != conf.List {
		d.Errorf(v, "expected proxies' trusted field to be an array, got %s", v.GoType())
		return
	}
	entry := trustedProxyBlock()
	for _, e := range v.List {
		entry.Decode(d, e, p)
	}
}

// ocspBlock declares the block ocsp.
func ocspBlock() *conf.Block[options.OCSP] {
	return conf.NewBlock(conf.Block[options.OCSP]{
		Name: "ocsp", Doc: "Stapling of revocation states.",
		Unknown: func(string) string { return "error parsing ocsp config: unsupported field string" },
	},
		conf.Field[options.OCSP]{Key: "mode", Type: "`auto`, `always`, `must` or `never`", Default: "auto", Reload: conf.Live, Doc: "Staple when the certificate asks for it, whenever it names a responder, the same and stop when it is revoked, or never.", Set: setOCSPMode},
		conf.Field[options.OCSP]{Key: "url", Type: "URL", Reload: conf.Live, Doc: "Responder to ask instead of the one in the certificate.", Set: func(d *conf.Decoder, _ string, v *conf.Value, o *options.OCSP) {
			if s, ok := d.String(v); ok {
				o.OverrideURLs = []string{s}
			}
		}},
		conf.Field[options.OCSP]{Key: "urls", Type: "list of URLs", Reload: conf.Live, Doc: "The same for several.", Set: func(d *conf.Decoder, _ string, v *conf.Value, o *options.OCSP) {
			if v.Kind != conf.List {
				d.Errorf(v, "interface conversion: interface {} is %s, not []string", v.GoType())
				return
			}
			for _, e := range v.List {
				if s, ok := d.String(e); ok {
					o.OverrideURLs = append(o.OverrideURLs, s)
				}
			}
		}},
	)
}

func setOCSPMode(d *conf.Decoder, _ string, v *conf.Value, o *options.OCSP) {
	s, ok := d.String(v)
	if !ok {
		return
	}
	modes := map[string]options.OCSPMode{"auto": options.OCSPModeAuto, "always": options.OCSPModeAlways, "must": options.OCSPModeMust, "never": options.OCSPModeNever}
	mode, ok := modes[strings.ToLower(s)]
	if !ok {
		d.Errorf(v, "error parsing ocsp config: unsupported ocsp mode string")
		return
	}
	o.Mode = mode
}

func setOCSP(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	o := &options.OCSP{}
	switch v.Kind {
	case conf.Bool:
		if !v.Flag {
			o.Mode = options.OCSPModeNever
		}
	case conf.MapKind:
		ocspBlock().Decode(d, v, o)
	default:
		d.Errorf(v, "error parsing ocsp config: unsupported type %s", v.GoType())
		return
	}
	b.OCSP = o
}

// ocspCacheBlock declares the block ocsp_cache.
func ocspCacheBlock() *conf.Block[options.OCSPCache] {
	return conf.NewBlock(conf.Block[options.OCSPCache]{
		Name: "ocsp_cache", Doc: "The store of revocation states.",
		Unknown: unknownCacheField,
	},
		conf.Field[options.OCSPCache]{Key: "type", Type: "`local` or `none`", Default: "local", Reload: conf.Live, Doc: "Keep states in a file, or do not keep them.", Set: func(d *conf.Decoder, key string, v *conf.Value, c *options.OCSPCache) {
			if v.Kind != conf.String {
				d.Errorf(v, "%s", unknownCacheField(key))
				return
			}
			switch strings.ToLower(v.Text) {
			case "local":
				c.Local = true
			case "none":
				c.Local = false
			default:
				d.Errorf(v, "error parsing OCSP peer cache config, unknown type [%s]", v.Text)
			}
		}},
		conf.Field[options.OCSPCache]{Key: "local_store", Type: "path", Default: options.DefaultOCSPCacheDir, Reload: conf.Live, Doc: "Directory of the file.", Set: func(d *conf.Decoder, key string, v *conf.Value, c *options.OCSPCache) {
			if v.Kind != conf.String {
				d.Errorf(v, "%s", unknownCacheField(key))
				return
			}
			c.LocalStore = v.Text
		}},
		conf.Field[options.OCSPCache]{Key: "preserve_revoked", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Keep a revoked state for ever.", Set: func(d *conf.Decoder, key string, v *conf.Value, c *options.OCSPCache) {
			if v.Kind != conf.Bool {
				d.Errorf(v, "%s", unknownCacheField(key))
				return
			}
			c.PreserveRevoked = v.Flag
		}},
		conf.Field[options.OCSPCache]{Key: "save_interval", Type: "duration or seconds", Default: "5m", Bounds: "at least 1s", Reload: conf.Live, Doc: "Time between two saves of the file.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *options.OCSPCache) {
			t, ok := seconds(v, func(problem string) {
				what := "tls peer" // the original's words, odd as they are
				if v.Kind != conf.String {
					what, problem = "OCSP peer cache", "unexpected type"
				}
				d.Errorf(v, "error parsing %s config, conversion error: %s", what, problem)
			})
			if ok {
				c.SaveInterval = max(t, time.Second)
			}
		}},
	)
}

func unknownCacheField(key string) string {
	return fmt.Sprintf("error parsing OCSP peer cache config, unknown field [%q]", key)
}

func setOCSPCache(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	c := &options.OCSPCache{Local: true, LocalStore: options.DefaultOCSPCacheDir, SaveInterval: options.DefaultOCSPSaveInterval}
	switch v.Kind {
	case conf.Bool:
		c.Local = v.Flag
	case conf.MapKind:
		ocspCacheBlock().Decode(d, v, c)
	default:
		d.Errorf(v, "error parsing tags: unsupported type %s", v.GoType())
		return
	}
	b.OCSPCache = c
}
