package config

import (
	"slices"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/server/options"
)

// authBuild is an authorization block in the making. Leaf nodes use it too.
type authBuild struct {
	options.Authorization
	permissionsAt *conf.Value // where default permissions were given
}

// authorizationBlock declares the authorization block of the server, a cluster or a gateway.
func authorizationBlock() *conf.Block[authBuild] {
	return conf.NewBlock(conf.Block[authBuild]{
		Name: "authorization",
		Doc:  "Credentials: a single user, a token, or a list of users. In a cluster or gateway block, only a single user.",
	}, append(credentialFields(),
		conf.Field[authBuild]{Key: "token", Secret: true, Type: "string", Reload: conf.Live, Doc: "Token that all clients share; plain or a bcrypt hash.", Set: conf.Str(func(a *authBuild) *string { return &a.Token })},
		conf.Field[authBuild]{Key: "users", Type: "list of maps", Block: "user", Reload: conf.Live, Doc: "Users.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *authBuild) {
			a.Users = decodeUsers(d, v)
		}},
		conf.Field[authBuild]{Key: "default_permissions", Aliases: []string{"default_permission", "permissions"}, Type: "map", Block: "permissions", Reload: conf.Live, Doc: "Permissions of users without their own.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *authBuild) {
			a.Defaults, a.permissionsAt = decodePermissions(d, v), v
		}},
		conf.Field[authBuild]{Key: "auth_callout", Aliases: []string{"auth_hook"}, Type: "map", Block: "auth_callout", Reload: conf.Live, Doc: "A service that decides about logins.", Set: func(d *conf.Decoder, _ string, v *conf.Value, a *authBuild) {
			a.Callout = decodeCallout(d, v)
		}},
		conf.Field[authBuild]{Key: "proxy_required", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Clients must come through a trusted proxy.", Set: conf.Flag(func(a *authBuild) *bool { return &a.ProxyRequired })},
	)...)
}

// credentialFields are the fields of a single user and of the time for a login.
func credentialFields() []conf.Field[authBuild] {
	return []conf.Field[authBuild]{
		{Key: "user", Aliases: []string{"username"}, Type: "string", Reload: conf.Live, Doc: "Name of the single user.", Set: conf.Str(func(a *authBuild) *string { return &a.Username })},
		{Key: "pass", Aliases: []string{"password"}, Secret: true, Type: "string", Reload: conf.Live, Doc: "Password of the single user; plain or a bcrypt hash.", Set: conf.Str(func(a *authBuild) *string { return &a.Password })},
		{Key: "timeout", Type: "seconds or duration", Default: "2", Reload: conf.Live, Doc: "Time for a login. Above 60 s there is a warning.", Set: setAuthTimeout},
	}
}

func setAuthTimeout(d *conf.Decoder, _ string, v *conf.Value, a *authBuild) {
	authTimeout(d, v, a, "authorization")
}

// authTimeout sets the time for a login; messages call the block what.
func authTimeout(d *conf.Decoder, v *conf.Value, a *authBuild, what string) {
	t, ok := seconds(v, func(problem string) { d.Errorf(v, "error parsing %s config, 'timeout' %s", what, problem) })
	if !ok {
		return
	}
	if t > time.Minute {
		d.Misused(v, "timeout", "timeout of %v (%f seconds) is high, consider keeping it under 60 seconds. possibly caused by unquoted duration; use '1m' instead of 1m, for example", v, t.Seconds())
	}
	a.Timeout = t
}

// decodeAuthorization decodes an authorization block of a peer listener, called what, which allows a
// single user only.
func decodePeerAuthorization(d *conf.Decoder, v *conf.Value, what string) *authBuild {
	a := &authBuild{}
	authorizationBlock().Decode(d, v, a)
	switch {
	case a.Users != nil:
		d.Errorf(v, "%s authorization does not allow multiple users", what)
	case a.Token != "":
		d.Errorf(v, "%s authorization does not support tokens", what)
	case a.Callout != nil:
		d.Errorf(v, "%s authorization does not support callouts", what)
	}
	return a
}

// setAuthorization decodes the authorization block of the server.
func setAuthorization(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	a := &authBuild{}
	if !authorizationBlock().Decode(d, v, a) {
		return
	}
	single, token := a.Username != "" || a.Password != "", a.Token != ""
	switch {
	case single && token:
		d.Errorf(v, "Cannot have a user/pass and token")
	case single && len(a.Users)+len(b.Authorization.Users) > 0:
		d.Errorf(v, "Can not have a single user/pass and a users array")
	case token && len(a.Users)+len(b.Authorization.Users) > 0:
		d.Errorf(v, "Can not have a token and a users array")
	}
	for _, u := range a.Users {
		if u.Permissions == nil {
			u.Permissions = a.Defaults
		}
	}
	users := b.Authorization.Users
	b.Authorization = a.Authorization
	b.Authorization.Users = users
	b.addUsers(v, a.Users)
}

// addUsers takes users that are declared at v.
func (b *build) addUsers(v *conf.Value, users []*options.User) {
	for _, u := range users {
		same := func(o *options.User) bool { return o.Username == u.Username && o.Nkey == u.Nkey }
		if slices.ContainsFunc(b.Authorization.Users, same) {
			if u.Nkey != "" {
				b.decoder.Errorf(v, "Duplicate nkey %q detected", u.Nkey)
			} else {
				b.decoder.Errorf(v, "Duplicate user %q detected", u.Username)
			}
			continue
		}
		b.Authorization.Users = append(b.Authorization.Users, u)
	}
}

// userBlock declares an entry of a users list.
func userBlock() *conf.Block[options.User] {
	return conf.NewBlock(conf.Block[options.User]{
		Name: "user", Doc: "A user: a name with a password, or a public nkey.",
		NotMap: func(d *conf.Decoder, v *conf.Value) { d.Errorf(v, "Expected user entry to be a map/struct, got %v", v) },
	},
		conf.Field[options.User]{Key: "user", Aliases: []string{"username"}, Type: "string", Reload: conf.Live, Doc: "Name.", Set: conf.Str(func(u *options.User) *string { return &u.Username })},
		conf.Field[options.User]{Key: "pass", Aliases: []string{"password"}, Secret: true, Type: "string", Reload: conf.Live, Doc: "Password; plain or a bcrypt hash.", Set: conf.Str(func(u *options.User) *string { return &u.Password })},
		conf.Field[options.User]{Key: "nkey", Type: "string", Reload: conf.Live, Doc: "Public user nkey, instead of name and password.", Set: conf.Str(func(u *options.User) *string { return &u.Nkey })},
		conf.Field[options.User]{Key: "permissions", Aliases: []string{"permission", "authorization"}, Type: "map", Block: "permissions", Reload: conf.Live, Doc: "What the user may publish and subscribe to.", Set: func(d *conf.Decoder, _ string, v *conf.Value, u *options.User) {
			u.Permissions = decodePermissions(d, v)
		}},
		conf.Field[options.User]{Key: "allowed_connection_types", Aliases: []string{"connection_types", "clients"}, Type: "string or list of strings", Reload: conf.Live, Doc: "How the user may connect: `STANDARD`, `WEBSOCKET`, `LEAFNODE`, `LEAFNODE_WS`, `MQTT`, `MQTT_WS`, `IN_PROCESS`; default is every way.", Set: setConnectionTypes},
		conf.Field[options.User]{Key: "quota", Type: "map", Block: "quota", Reload: conf.Live, Doc: "What the user may publish per second. Not in nats-server.", Set: setQuota(func(u *options.User) **options.Quota { return &u.Quota })},
		conf.Field[options.User]{Key: "proxy_required", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "The user must come through a trusted proxy.", Set: conf.Flag(func(u *options.User) *bool { return &u.ProxyRequired })},
	)
}

func decodeUsers(d *conf.Decoder, v *conf.Value) []*options.User {
	if v.Kind != conf.List {
		d.Errorf(v, "Expected users field to be an array, got %v", v)
		return nil
	}
	users := make([]*options.User, 0, len(v.List))
	for _, e := range v.List {
		u := &options.User{}
		before := d.Stops()
		if !userBlock().Decode(d, e, u) || d.Stops() > before {
			continue
		}
		at := e
		for _, m := range e.Map.Members {
			at = m.Value
		}
		switch {
		case u.Nkey == "" && u.Username == "":
			d.Errorf(at, "User entry requires a user")
		case u.Nkey == "":
			users = append(users, u)
		case !nkeys.IsValidPublicUserKey(u.Nkey):
			d.Errorf(at, "Not a valid public nkey for a user")
		case u.Username != "" || u.Password != "":
			d.Errorf(at, "Nkey users do not take usernames or passwords")
		default:
			users = append(users, u)
		}
	}
	return users
}
