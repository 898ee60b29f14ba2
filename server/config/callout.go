package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/server/options"
)

// setConnectionTypes sets how a user may connect.
func setConnectionTypes(d *conf.Decoder, _ string, v *conf.Value, u *options.User) {
	list, ok := texts(d, v, "allowed connection types")
	if !ok {
		return
	}
	known := []string{"STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"}
	var bad []string
	for i, t := range list {
		if list[i] = strings.ToUpper(t); !slices.Contains(known, list[i]) {
			bad = append(bad, list[i])
		}
	}
	if bad != nil {
		d.Errorf(v, "invalid connection types %s", words(bad))
		return
	}
	u.ConnectionTypes = list
}

// calloutBlock declares an auth_callout map.
func calloutBlock() *conf.Block[options.AuthCallout] {
	return conf.NewBlock(conf.Block[options.AuthCallout]{
		Name: "auth_callout", Doc: "A service that decides about every login but those of its own users.",
		Unknown: func(key string) string { return fmt.Sprintf("Unknown field %q parsing authorization callout", key) },
		NotMap: func(d *conf.Decoder, v *conf.Value) {
			d.Errorf(v, "Expected authorization callout to be a map/struct, got %v", v)
		},
	},
		conf.Field[options.AuthCallout]{Key: "issuer", Type: "string", Reload: conf.Live, Doc: "Public account nkey that signs the service's answers; required.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *options.AuthCallout) {
			if key, ok := d.String(v); ok {
				if c.Issuer = key; !nkeys.IsValidPublicAccountKey(key) {
					d.Stopf(v, "Expected callout user to be a valid public account nkey, got %q", key)
				}
			}
		}},
		conf.Field[options.AuthCallout]{Key: "account", Aliases: []string{"acc"}, Type: "string", Default: options.DefaultGlobalAccount, Reload: conf.Live, Doc: "Account of the service.", Set: conf.Str(func(c *options.AuthCallout) *string { return &c.Account })},
		conf.Field[options.AuthCallout]{Key: "auth_users", Aliases: []string{"users"}, Type: "list of strings", Reload: conf.Live, Doc: "Users as whom the service logs in; required.", Set: calloutList("auth_users", func(c *options.AuthCallout) *[]string { return &c.AuthUsers })},
		conf.Field[options.AuthCallout]{Key: "xkey", Aliases: []string{"key"}, Type: "string", Reload: conf.Live, Doc: "Public curve nkey for which requests are encrypted.", Set: func(d *conf.Decoder, _ string, v *conf.Value, c *options.AuthCallout) {
			if key, ok := d.String(v); ok {
				if c.XKey = key; !nkeys.IsValidPublicCurveKey(key) {
					d.Stopf(v, "Expected callout xkey to be a valid public xkey, got %q", key)
				}
			}
		}},
		conf.Field[options.AuthCallout]{Key: "allowed_accounts", Type: "list of strings", Reload: conf.Live, Doc: "Only logins into these accounts go to the service; default is all.", Set: calloutList("allowed accounts", func(c *options.AuthCallout) *[]string { return &c.AllowedAccounts })},
	)
}

func calloutList(what string, at func(*options.AuthCallout) *[]string) conf.Setter[options.AuthCallout] {
	return func(d *conf.Decoder, _ string, v *conf.Value, c *options.AuthCallout) {
		if v.Kind != conf.List {
			d.Stopf(v, "Expected %s field to be an array, got %s", what, v.GoType())
			return
		}
		for _, e := range v.List {
			if s, ok := d.String(e); ok {
				*at(c) = append(*at(c), s)
			}
		}
	}
}

func decodeCallout(d *conf.Decoder, v *conf.Value) *options.AuthCallout {
	c := &options.AuthCallout{Account: options.DefaultGlobalAccount}
	before := d.Stops()
	if !calloutBlock().Decode(d, v, c) || d.Stops() > before {
		return nil
	}
	at := v
	for _, m := range v.Map.Members {
		at = m.Value
	}
	switch {
	case c.Issuer == "":
		d.Errorf(at, "Authorization callouts require an issuer to be specified")
	case len(c.AuthUsers) == 0:
		d.Errorf(at, "Authorization callouts require authorized users to be specified")
	}
	return c
}

// checkCallout checks the accounts that an auth_callout names.
func (b *build) checkCallout() {
	c := b.Authorization.Callout
	if c == nil {
		return
	}
	for _, name := range c.AllowedAccounts {
		if !slices.ContainsFunc(b.Accounts, func(a *options.Account) bool { return a.Name == name }) {
			b.decoder.Errorf(nil, "auth_callout allowed account %q not found in configured accounts", name)
		}
	}
}
