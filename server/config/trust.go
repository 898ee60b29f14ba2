package config

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/server/options"
)

// trustFields are the keys about operators and account JWTs.
func trustFields() []conf.Field[build] {
	return []conf.Field[build]{
		{Key: "operator", Aliases: []string{"operators", "root", "roots", "root_operator", "root_operators"}, Type: "path, JWT or list of them", Doc: "Trusted operators. With them, all logins are by JWT.", Set: setOperators},
		{Key: "trusted", Aliases: []string{"trusted_keys"}, Type: "string or list of strings", Doc: "Public keys of trusted operators, instead of operator.", Set: setTrusted},
		{Key: "resolver", Aliases: []string{"account_resolver", "accounts_resolver"}, Type: "`MEMORY`, `URL(…)` or map", Block: "resolver", Reload: conf.Partly, Doc: "Where account JWTs come from. It can be changed by a reload, not added or removed.", Set: setResolver},
		{Key: "resolver_tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of the URL resolver's connections.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) { b.ResolverTLS = decodeTLS(d, v, tlsPlain) }},
		{Key: "resolver_preload", Type: "map of strings", Reload: conf.Live, Doc: "Account JWTs by public account key, for the memory resolver.", Set: setPreload},
		{Key: "resolver_pinned_accounts", Type: "string or list of strings", Doc: "Only these accounts, and the system account, may log in.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			b.ResolverPinned, _ = texts(d, v, "resolver_pinned_accounts")
		}},
		{Key: "default_sentinel", Type: "user JWT", Reload: conf.Live, Doc: "JWT of clients that present none.", Set: conf.Str(func(b *build) *string { return &b.DefaultSentinel })},
		{Key: "default_js_domain", Type: "map of strings", Doc: "Domain whose streams an account uses by default, by account.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			if v.Kind != conf.MapKind {
				d.Errorf(v, "error default_js_domain config: unsupported type %s", v.GoType())
				return
			}
			b.DefaultJSDomains = make(map[string]string, len(v.Map.Members))
			for _, m := range v.Map.Members {
				if s, ok := d.String(m.Value); ok {
					b.DefaultJSDomains[m.Key] = s
				}
			}
		}},
	}
}

func setOperators(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	var list []string
	switch v.Kind {
	case conf.String:
		list = []string{v.Text}
	case conf.List:
		for _, e := range v.List {
			if e.Kind != conf.String {
				d.Errorf(v, "error parsing operators: unsupported type %s where string is expected", e.GoType())
				return
			}
			list = append(list, e.Text)
		}
	default:
		d.Errorf(v, "error parsing operators: unsupported type %s", v.GoType())
		return
	}
	for _, s := range list {
		op, err := readOperator(s)
		if err != nil {
			d.Errorf(v, "error parsing operator JWT: %v", err)
			continue
		}
		b.Operators = append(b.Operators, op)
	}
}

func setTrusted(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	keys, ok := texts(d, v, "trusted")
	if !ok {
		return
	}
	for i, k := range keys {
		if !nkeys.IsValidPublicOperatorKey(k) {
			at := v
			if v.Kind == conf.List {
				at = v.List[i]
			}
			d.Errorf(at, "trust key %q required to be a valid public operator nkey", k)
		}
	}
	b.TrustedKeys = keys
}

func setPreload(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	if v.Kind != conf.MapKind {
		d.Errorf(v, "preload should be a map of account_public_key:account_jwt")
		return
	}
	b.ResolverPreload = make(map[string]string, len(v.Map.Members))
	for _, m := range v.Map.Members {
		if m.Value.Kind != conf.String {
			d.Errorf(m.Value, "preload map value should be a string JWT")
			continue
		}
		if _, err := decodeClaims(m.Value.Text, "account"); err != nil {
			d.Errorf(m.Value, "invalid account JWT")
			continue
		}
		b.ResolverPreload[m.Key] = m.Value.Text
	}
}

var resolverForm = regexp.MustCompile(`(?i)^(MEM|MEMORY|URL)(?:\((.*)\))?$`)

// errResolver is nats-server's text, blanks and brackets included.
var errResolver = errors.New(`error parsing account resolver, should be MEM or  URL("url") or a map containing dir and type state=[FULL|CACHE])`)

func setResolver(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	switch v.Kind {
	case conf.String:
		m := resolverForm.FindStringSubmatch(strings.TrimSpace(v.Text))
		switch {
		case m == nil, strings.EqualFold(m[1], "URL") && m[2] == "":
			d.Errorf(v, "%v", errResolver)
		case strings.EqualFold(m[1], "URL"):
			b.Resolver = &options.Resolver{Kind: options.ResolverURL, URL: strings.Trim(strings.TrimSpace(m[2]), `"'`)}
		default:
			b.Resolver = &options.Resolver{Kind: options.ResolverMemory}
		}
	case conf.MapKind:
		r := &resolverBuild{}
		before := d.Count()
		resolverBlock().Decode(d, v, r)
		if d.Count() == before {
			r.check(d, v)
		}
		b.Resolver = &r.Resolver
	default:
		d.Errorf(v, "error parsing operator resolver, wrong type %s", v.GoType())
	}
}

// resolverBuild is a resolver map in the making.
type resolverBuild struct {
	options.Resolver
	kind      string
	ttl, sync bool // these keys were given
}

// resolverBlock declares a resolver map. Unknown keys in it mean nothing.
func resolverBlock() *conf.Block[resolverBuild] {
	type R = resolverBuild
	return conf.NewBlock(conf.Block[R]{Name: "resolver", Doc: "A directory of account JWTs.", Lenient: true},
		conf.Field[R]{Key: "type", Type: "`full` or `cache`", Doc: "Keep the JWTs of all accounts and exchange them with other servers, or only those recently asked for; required.", Set: conf.Str(func(r *R) *string { return &r.kind })},
		conf.Field[R]{Key: "dir", Type: "path", Doc: "The directory; required.", Set: conf.Str(func(r *R) *string { return &r.Dir })},
		conf.Field[R]{Key: "allow_delete", Type: "boolean", Default: "false", Doc: "Full: accounts may be deleted.", Set: conf.Flag(func(r *R) *bool { return &r.AllowDelete })},
		conf.Field[R]{Key: "hard_delete", Type: "boolean", Default: "false", Doc: "Full: the file of a deleted account is removed instead of renamed.", Set: conf.Flag(func(r *R) *bool { return &r.HardDelete })},
		conf.Field[R]{Key: "interval", Type: "duration, as a string", Default: "1m", Doc: "Full: time between exchanges with other servers.", Set: strictSpan("", func(r *R) *time.Duration { r.sync = true; return &r.Interval })},
		conf.Field[R]{Key: "ttl", Type: "duration, as a string", Doc: "Cache: time after which an entry is asked for again.", Set: strictSpan("", func(r *R) *time.Duration { r.ttl = true; return &r.TTL })},
		conf.Field[R]{Key: "limit", Type: "integer", Doc: "Number of JWTs kept; default is 1000 for a cache and unlimited else.", Set: conf.Number(func(r *R) *int64 { return &r.Limit })},
		conf.Field[R]{Key: "timeout", Type: "duration, as a string", Default: "1.9s", Doc: "Time for an answer of other servers.", Set: strictSpan("", func(r *R) *time.Duration { return &r.Timeout })},
	)
}

// check checks the map as a whole.
func (r *resolverBuild) check(d *conf.Decoder, v *conf.Value) {
	var bad []string
	switch strings.ToUpper(r.kind) {
	case "FULL":
		r.Kind = options.ResolverFull
		if r.ttl {
			bad = append(bad, "FULL does not accept ttl")
		}
		if r.HardDelete && !r.AllowDelete {
			bad = append(bad, "hard_delete has no effect without delete")
		}
	case "CACHE":
		r.Kind = options.ResolverCache
		if r.sync {
			bad = append(bad, "CACHE does not accept sync")
		}
		if r.AllowDelete {
			bad = append(bad, "CACHE does not accept allow_delete")
		}
		if r.HardDelete {
			bad = append(bad, "CACHE does not accept hard_delete")
		}
	default:
		d.Errorf(v, "%v", errResolver)
		return
	}
	if r.Dir == "" {
		bad = append(bad, "dir has no value and needs to point to a directory")
	} else if info, err := os.Stat(r.Dir); err == nil && !info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		bad = append(bad, "dir needs to point to an accessible directory")
	}
	for _, text := range bad {
		d.Errorf(v, "%s", text)
	}
}
