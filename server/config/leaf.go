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

// setLeaf decodes the leafnodes block.
func setLeaf(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	leafBlock().Decode(d, v, &b.Leaf)
}

// leafBlock declares the leafnodes block.
func leafBlock() *conf.Block[options.Leaf] {
	type L = options.Leaf
	fields := append([]conf.Field[L]{
		{Key: "authorization", Type: "map", Block: "leafnodes authorization", Doc: "Who may connect as a leaf; default is the server's authorization.", Set: setLeafAuth},
		{Key: "remotes", Type: "list of maps", Block: "remote", Reload: conf.Partly, Doc: "Servers to connect to as a leaf.", Set: setRemotes},
		{Key: "reconnect", Aliases: []string{"reconnect_delay", "reconnect_interval"}, Type: "duration", Default: "1s", Doc: "Time between two attempts to connect to a remote.", Set: conf.Span("reconnect", func(l *L) *time.Duration { return &l.Reconnect })},
		{Key: "dial_timeout", Type: "duration", Default: "1s", Doc: "Time for one attempt.", Set: conf.Span("dial_timeout", func(l *L) *time.Duration { return &l.DialTimeout })},
		{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of the listener.", Set: func(d *conf.Decoder, _ string, v *conf.Value, l *L) { l.TLS = decodeTLS(d, v, tlsPlain) }},
		{Key: "advertise", Aliases: []string{"leafnode_advertise"}, Type: "host or host:port", Doc: "Address that leaves are told.", Set: conf.Str(func(l *L) *string { return &l.Advertise })},
		{Key: "no_advertise", Type: "boolean", Default: "false", Doc: "Do not tell leaves the addresses of this cluster's servers.", Set: conf.Flag(func(l *L) *bool { return &l.NoAdvertise })},
		{Key: "min_version", Aliases: []string{"minimum_version"}, Type: "version", Bounds: "at least 2.8.0", Doc: "Oldest version of a server that may connect as a leaf.", Set: setLeafMinVersion},
		{Key: "compression", Type: "boolean, string or map", Block: "compression", Default: "s2_auto", Reload: conf.Live, Doc: "Compression of leaf connections.", Set: compression(options.CompressionAuto, func(l *L) *options.Compression { return &l.Compression })},
		{Key: "isolate_leafnode_interest", Aliases: []string{"isolate"}, Type: "boolean", Default: "false", Doc: "Leaves do not see each other's subscriptions.", Set: conf.Flag(func(l *L) *bool { return &l.IsolateInterest })},
	}, writeFields("", func(l *L) *time.Duration { return &l.WriteDeadline }, func(l *L) *options.WriteTimeoutPolicy { return &l.WriteTimeout }, conf.Restart)...)
	return conf.NewBlock(conf.Block[L]{
		Name: "leafnodes", Doc: "Leaf nodes: servers that join others with part of their subject space.",
		NotMap: mustBeMap("Expected map to define a leafnode, got %s"),
	}, append(listenFields("the leaf node listener", "0", func(l *L) *string { return &l.Host }, func(l *L) *int { return &l.Port }), fields...)...)
}

func setLeafMinVersion(d *conf.Decoder, _ string, v *conf.Value, l *options.Leaf) {
	s, ok := d.String(v)
	if !ok {
		return
	}
	major, minor, _, err := version(s)
	switch {
	case err != nil:
		d.Errorf(v, "invalid leafnode's minimum version: %v", err)
	case major < 2 || major == 2 && minor < 8:
		d.Errorf(v, "the minimum version should be at least 2.8.0")
	default:
		l.MinVersion = s
	}
}

// version reads "major.minor.patch", which more may follow.
func version(s string) (major, minor, patch int, err error) {
	if n, _ := fmt.Sscanf(s, "%d.%d.%d", &major, &minor, &patch); n != 3 || major < 0 || minor < 0 || patch < 0 {
		return 0, 0, 0, fmt.Errorf("invalid semver")
	}
	return major, minor, patch, nil
}

// leafAuthBuild is the authorization block of leaf nodes in the making.
type leafAuthBuild struct {
	authBuild
	nkey    string
	account string
}

// leafAuthBlock declares the authorization block of leaf nodes.
func leafAuthBlock() *conf.Block[leafAuthBuild] {
	type A = leafAuthBuild
	return conf.NewBlock(conf.Block[A]{Name: "leafnodes authorization", Doc: "Who may connect as a leaf."},
		conf.Field[A]{Key: "user", Aliases: []string{"username"}, Type: "string", Doc: "Name of the single user.", Set: conf.Str(func(a *A) *string { return &a.Username })},
		conf.Field[A]{Key: "pass", Aliases: []string{"password"}, Secret: true, Type: "string", Doc: "Its password.", Set: conf.Str(func(a *A) *string { return &a.Password })},
		conf.Field[A]{Key: "nkey", Type: "string", Doc: "Public user nkey, instead of name and password.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			s, ok := d.String(v)
			switch {
			case !ok:
			case !nkeys.IsValidPublicUserKey(s):
				d.Errorf(v, "Not a valid public nkey for leafnode authorization")
			default:
				a.nkey = s
			}
		}},
		conf.Field[A]{Key: "account", Type: "string", Doc: "Account of the single user or nkey.", Set: conf.Str(func(a *A) *string { return &a.account })},
		conf.Field[A]{Key: "timeout", Type: "seconds or duration", Default: "2", Doc: "Time for a login.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) {
			authTimeout(d, v, &a.authBuild, "leafnode authorization")
		}},
		conf.Field[A]{Key: "users", Type: "list of maps", Block: "leafnodes user", Doc: "Users.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *A) { a.Users = decodeLeafUsers(d, v) }},
		conf.Field[A]{Key: "proxy_required", Type: "boolean", Default: "false", Doc: "Leaves must come through a trusted proxy.", Set: conf.Flag(func(a *A) *bool { return &a.ProxyRequired })},
	)
}

// leafUserBlock declares a user of the authorization block of leaf nodes.
func leafUserBlock() *conf.Block[options.User] {
	type U = options.User
	return conf.NewBlock(conf.Block[U]{
		Name: "leafnodes user", Doc: "A user as whom leaves log in.",
		NotMap: func(d *conf.Decoder, v *conf.Value) { d.Errorf(v, "Expected user entry to be a map/struct, got %v", v) },
	},
		conf.Field[U]{Key: "user", Aliases: []string{"username"}, Type: "string", Doc: "Name.", Set: conf.Str(func(u *U) *string { return &u.Username })},
		conf.Field[U]{Key: "pass", Aliases: []string{"password"}, Secret: true, Type: "string", Doc: "Password.", Set: conf.Str(func(u *U) *string { return &u.Password })},
		conf.Field[U]{Key: "account", Type: "string", Doc: "Account that the leaf joins.", Set: conf.Str(func(u *U) *string { return &u.Account })},
		conf.Field[U]{Key: "proxy_required", Type: "boolean", Default: "false", Doc: "The leaf must come through a trusted proxy.", Set: conf.Flag(func(u *U) *bool { return &u.ProxyRequired })},
	)
}

func decodeLeafUsers(d *conf.Decoder, v *conf.Value) []*options.User {
	if v.Kind != conf.List {
		d.Errorf(v, "Expected users field to be an array, got %v", v)
		return nil
	}
	type U = options.User
	entry := leafUserBlock()
	users := make([]*U, 0, len(v.List))
	for _, e := range v.List {
		u := &U{}
		if entry.Decode(d, e, u) {
			users = append(users, u)
		}
	}
	return users
}

func setLeafAuth(d *conf.Decoder, _ string, v *conf.Value, l *options.Leaf) {
	a := &leafAuthBuild{}
	before := d.Count()
	if !leafAuthBlock().Decode(d, v, a) || d.Count() > before {
		return
	}
	l.Authorization, l.Nkey, l.Account = a.Authorization, a.nkey, a.account
	if err := checkLeafAuth(l); err != nil {
		d.Errorf(v, "%v", err)
	}
}

// checkLeafAuth checks the users of leaf nodes against each other.
func checkLeafAuth(l *options.Leaf) error {
	a := &l.Authorization
	if len(a.Users) == 0 {
		return nil
	}
	if a.Username != "" {
		return fmt.Errorf("can not have a single user/pass and a users array")
	}
	if l.Nkey != "" {
		return fmt.Errorf("can not have a single nkey and a users array")
	}
	for i, u := range a.Users {
		if slices.ContainsFunc(a.Users[:i], func(o *options.User) bool { return o.Username == u.Username }) {
			return fmt.Errorf("duplicate user %q detected in leafnode authorization", u.Username)
		}
	}
	return nil
}

func setRemotes(d *conf.Decoder, _ string, v *conf.Value, l *options.Leaf) {
	if v.Kind != conf.List {
		d.Errorf(v, "Expected remotes field to be an array, got %s", v.GoType())
		return
	}
	seen := make(map[string]bool)
	for _, e := range v.List {
		r := &options.RemoteLeaf{Compression: options.Compression{Mode: options.CompressionAuto, RTTThresholds: options.DefaultRTTThresholds()}}
		if !remoteBlock().Decode(d, e, r) {
			continue
		}
		name := remoteName(r)
		if seen[name] {
			at := e
			if len(e.Map.Members) > 0 {
				at = e.Map.Members[0].Value
			}
			d.Errorf(at, "duplicate remote %s", name)
			continue
		}
		seen[name] = true
		l.Remotes = append(l.Remotes, r)
	}
}

// remoteName names a remote by what tells it from others.
func remoteName(r *options.RemoteLeaf) string {
	urls := make([]string, len(r.URLs))
	for i, u := range r.URLs {
		urls[i] = u.Redacted()
	}
	slices.Sort(urls)
	account := r.Account
	if account == "" {
		account = options.DefaultGlobalAccount
	}
	name := fmt.Sprintf("urls=[%s], account=%q", strings.Trim(words(urls), "[]"), account)
	if r.Credentials != "" {
		name += fmt.Sprintf(", credentials=%q", r.Credentials)
	}
	return name
}
