package config

import (
	"strings"

	"godwit/conf"
	"godwit/server/options"
)

// monitoringLoginBlock declares the block http_authorization.
func monitoringLoginBlock() *conf.Block[options.MonitoringLogin] {
	type L = options.MonitoringLogin
	return conf.NewBlock(conf.Block[L]{Name: "http_authorization", Doc: "Who may use the monitoring endpoints, with HTTP basic authentication or a bearer token. Not in nats-server."},
		conf.Field[L]{Key: "users", Type: "list of maps", Block: "monitoring user", Reload: conf.Live, Doc: "Those who may.", Set: func(d *conf.Decoder, key string, v *conf.Value, l *L) {
			if v.Kind != conf.List {
				d.Errorf(v, "expected %s to be an array, got %s", key, v.GoType())
				return
			}
			for _, e := range v.List {
				var u options.MonitoringUser
				if monitoringUserBlock().Decode(d, e, &u) && checkMonitoringUser(d, e, &u) {
					l.Users = append(l.Users, u)
				}
			}
		}},
		conf.Field[L]{Key: "open", Type: "list of paths", Default: "[\"/healthz\"]", Reload: conf.Live, Doc: "Endpoints that need no login, so that probes find them.", Set: func(d *conf.Decoder, key string, v *conf.Value, l *L) {
			if v.Kind != conf.List {
				d.Errorf(v, "expected %s to be an array, got %s", key, v.GoType())
				return
			}
			l.Open = []string{}
			for _, e := range v.List {
				path, ok := d.String(e)
				if ok && !strings.HasPrefix(path, "/") {
					d.Errorf(e, "path %q in %s does not begin with a slash", path, key)
				}
				l.Open = append(l.Open, path)
			}
		}},
	)
}

// monitoringUserBlock declares an entry of http_authorization.users.
func monitoringUserBlock() *conf.Block[options.MonitoringUser] {
	type U = options.MonitoringUser
	return conf.NewBlock(conf.Block[U]{Name: "monitoring user", Doc: "One who may use the monitoring endpoints. Not in nats-server."},
		conf.Field[U]{Key: "user", Type: "string", Reload: conf.Live, Doc: "Name.", Set: conf.Str(func(u *U) *string { return &u.Name })},
		conf.Field[U]{Key: "password", Aliases: []string{"pass"}, Type: "string", Secret: true, Reload: conf.Live, Doc: "Password, or its bcrypt hash.", Set: conf.Str(func(u *U) *string { return &u.Password })},
		conf.Field[U]{Key: "messages", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "The dashboard shows stored messages.", Set: conf.Flag(func(u *U) *bool { return &u.Messages })},
		conf.Field[U]{Key: "token", Type: "string", Secret: true, Reload: conf.Live, Doc: "Instead of name and password: a bearer token, or its bcrypt hash.", Set: conf.Str(func(u *U) *string { return &u.Token })},
	)
}

// checkMonitoringUser demands either form of credentials.
func checkMonitoringUser(d *conf.Decoder, v *conf.Value, u *options.MonitoringUser) bool {
	switch {
	case u.Token != "" && (u.Name != "" || u.Password != ""):
		d.Errorf(v, "a monitoring user has either a token or a user and a password")
	case u.Token == "" && (u.Name == "" || u.Password == ""):
		d.Errorf(v, "a monitoring user needs a user and a password, or a token")
	default:
		return true
	}
	return false
}

func setMonitoringLogin(d *conf.Decoder, key string, v *conf.Value, b *build) {
	l := &options.MonitoringLogin{Open: []string{"/healthz"}}
	if !monitoringLoginBlock().Decode(d, v, l) {
		return
	}
	if len(l.Users) == 0 {
		d.Errorf(v, "%s lists no users: nobody could use the monitoring endpoints", key)
		return
	}
	b.Monitoring.Login = l
}
