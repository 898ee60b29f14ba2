package config

import (
	"fmt"
	"reflect"

	"godwit/server/options"
)

// redacted stands for secrets in messages.
const redacted = "[REDACTED]"

// Change is a setting that differs between two configurations.
type Change struct {
	Name       string // key of the file, with its block: "max_connections", "cluster.routes"
	Old, New   any
	Reloadable bool // a running server can make the change
	refusal    string
}

// Refusal returns nat-server's words about a change that a running server can not make.
func (c Change) Refusal() string { return c.refusal }

// setting is something that Diff compares.
type setting struct {
	name   string
	option string // what a refusal calls it; empty: the change is always made
	get    func(*options.Options) any
	// judge decides about a change that differs in kind; it returns the words of a refusal or nothing.
	judge func(old, new *options.Options) string
}

// Diff lists what differs between old and new, in the order of the reference page.
func Diff(old, new *options.Options) (changes []Change) {
	for _, s := range settings() {
		a, b := s.get(old), s.get(new)
		if reflect.DeepEqual(a, b) {
			continue
		}
		c := Change{Name: s.name, Old: a, New: b}
		switch {
		case s.judge != nil:
			c.refusal = s.judge(old, new)
		case s.option != "":
			c.refusal = notSupported(s.option, a, b)
		}
		c.Reloadable = c.refusal == ""
		changes = append(changes, c)
	}
	return changes
}

// notSupported refuses a change of what is called option.
func notSupported(option string, before, after any) string {
	return fmt.Sprintf("config reload not supported for %s: old=%v, new=%v", option, plain(before), plain(after))
}

// plain returns a value as messages show it: what a pointer points to, and no secrets.
func plain(v any) any {
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	if r.Kind() != reflect.Struct {
		return v
	}
	masked := reflect.New(r.Type()).Elem()
	masked.Set(r)
	mask(masked)
	return masked.Interface()
}

// mask overwrites the secrets in a struct and in the structs within it.
func mask(s reflect.Value) {
	for i := range s.NumField() {
		f := s.Field(i)
		if f.Kind() == reflect.Struct && f.CanSet() {
			mask(f)
		}
		switch s.Type().Field(i).Name {
		case "Password", "Token", "Nkey", "EncryptionKey", "PrevEncryptionKey":
			if f.Kind() == reflect.String && f.Len() > 0 {
				f.SetString(redacted)
			}
		case "Users": // each has a password
			f.SetZero()
		}
	}
}

// live is a setting that can always be reloaded, fixed one that never can.
func live(name string, get func(*options.Options) any) setting { return setting{name: name, get: get} }

func fixed(name, option string, get func(*options.Options) any) setting {
	return setting{name: name, option: option, get: get}
}

func judged(name string, get func(*options.Options) any, judge func(old, new *options.Options) string) setting {
	return setting{name: name, get: get, judge: judge}
}

// settings lists what Diff compares.
func settings() []setting {
	type O = *options.Options
	list := []setting{
		fixed("host", "Host", func(o O) any { return o.Host }),
		fixed("port", "Port", func(o O) any { return o.Port }),
		live("client_advertise", func(o O) any { return o.ClientAdvertise }),
		fixed("dont_listen", "DontListen", func(o O) any { return o.DontListen }),
		live("tls", func(o O) any { return o.TLS }),
		fixed("allow_non_tls", "AllowNonTLS", func(o O) any { return o.AllowNonTLS }),
		fixed("proxy_protocol", "ProxyProtocol", func(o O) any { return o.ProxyProtocol }),
		live("connect_error_reports", func(o O) any { return o.ConnectErrorReports }),
		live("reconnect_error_reports", func(o O) any { return o.ReconnectErrorReports }),
		live("max_connections", func(o O) any { return o.MaxConn }),
		fixed("max_subscriptions", "MaxSubs", func(o O) any { return o.MaxSubs }),
		fixed("max_sub_tokens", "MaxSubTokens", func(o O) any { return o.MaxSubTokens }),
		live("max_control_line", func(o O) any { return o.MaxControlLine }),
		live("max_payload", func(o O) any { return o.MaxPayload }),
		fixed("max_pending", "MaxPending", func(o O) any { return o.MaxPending }),
		fixed("max_closed_clients", "MaxClosedClients", func(o O) any { return o.MaxClosedClients }),
		fixed("no_header_support", "NoHeaderSupport", func(o O) any { return o.NoHeaderSupport }),
		fixed("disable_sublist_cache", "NoSublistCache", func(o O) any { return o.NoSublistCache }),
		live("ping_interval", func(o O) any { return o.PingInterval }),
		live("ping_max", func(o O) any { return o.MaxPingsOut }),
		live("no_fast_producer_stall", func(o O) any { return o.NoFastProducerStall }),
		fixed("lame_duck_duration", "LameDuckDuration", func(o O) any { return o.LameDuckDuration }),
		fixed("lame_duck_grace_period", "LameDuckGracePeriod", func(o O) any { return o.LameDuckGrace }),
		live("write_deadline", func(o O) any { return o.WriteDeadline }),
		fixed("write_timeout", "WriteTimeout", func(o O) any { return o.WriteTimeout }),
	}
	list = append(list, observedSettings()...)
	list = append(list, securitySettings()...)
	return append(list, blockSettings()...)
}

// observedSettings are those about what people see of a server.
func observedSettings() []setting {
	type O = *options.Options
	return []setting{
		live("debug", func(o O) any { return o.Log.Debug }),
		live("trace", func(o O) any { return o.Log.Trace }),
		live("trace_verbose", func(o O) any { return o.Log.TraceVerbose }),
		live("trace_headers", func(o O) any { return o.Log.TraceHeaders }),
		live("max_traced_msg_len", func(o O) any { return o.Log.MaxTracedMsgLen }),
		live("logtime", func(o O) any { return o.Log.Time }),
		live("logtime_utc", func(o O) any { return o.Log.UTC }),
		live("log_file", func(o O) any { return o.Log.File }),
		fixed("log_size_limit", "LogSizeLimit", func(o O) any { return o.Log.SizeLimit }),
		fixed("log_max_num", "LogMaxFiles", func(o O) any { return o.Log.MaxFiles }),
		live("syslog", func(o O) any { return o.Log.Syslog }),
		live("remote_syslog", func(o O) any { return o.Log.RemoteSyslog }),
		fixed("http", "HTTPHost", func(o O) any { return o.Monitoring.HTTPHost }),
		fixed("http_port", "HTTPPort", func(o O) any { return o.Monitoring.HTTPPort }),
		fixed("https_port", "HTTPSPort", func(o O) any { return o.Monitoring.HTTPSPort }),
		fixed("http_base_path", "HTTPBasePath", func(o O) any { return o.Monitoring.HTTPBasePath }),
		live("http_messages", func(o O) any { return o.Monitoring.Messages }),
		live("http_authorization", func(o O) any { return o.Monitoring.Login }),
		fixed("prof_port", "ProfPort", func(o O) any { return o.Monitoring.ProfPort }),
		live("prof_block_rate", func(o O) any { return o.Monitoring.ProfBlockRate }),
		live("pid_file", func(o O) any { return o.PidFile }),
		live("ports_file_dir", func(o O) any { return o.PortsDir }),
		fixed("server_name", "ServerName", func(o O) any { return o.ServerName }),
		live("server_tags", func(o O) any { return o.Tags }),
		live("server_metadata", func(o O) any { return o.Metadata }),
		fixed("feature_flags", "FeatureFlags", func(o O) any { return o.FeatureFlags }),
	}
}

// securitySettings are those about logins and trust.
func securitySettings() []setting {
	type O = *options.Options
	return []setting{
		live("authorization", func(o O) any { return o.Authorization }),
		live("accounts", func(o O) any { return o.Accounts }),
		live("mappings", func(o O) any { return o.Mappings }),
		live("quotas", func(o O) any { return o.Quotas }),
		judged("system_account", func(o O) any { return o.SystemAccount }, judgeSystemAccount),
		fixed("no_system_account", "NoSystemAccount", func(o O) any { return o.NoSystemAccount }),
		judged("no_auth_user", func(o O) any { return o.NoAuthUser }, judgeNoAuthUser),
		live("proxies", func(o O) any { return o.Proxies }),
		live("ocsp", func(o O) any { return o.OCSP }),
		live("ocsp_cache", func(o O) any { return o.OCSPCache }),
		fixed("operator", "TrustedOperators", func(o O) any { return o.Operators }),
		fixed("trusted", "TrustedKeys", func(o O) any { return o.TrustedKeys }),
		judged("resolver", func(o O) any { return o.Resolver }, func(old, new O) string {
			if (old.Resolver == nil) != (new.Resolver == nil) {
				return "config reload does not support moving to or from an account resolver"
			}
			return ""
		}),
		live("resolver_tls", func(o O) any { return o.ResolverTLS }),
		live("resolver_preload", func(o O) any { return o.ResolverPreload }),
		fixed("resolver_pinned_accounts", "resolverPinnedAccounts", func(o O) any { return o.ResolverPinned }),
		live("default_sentinel", func(o O) any { return o.DefaultSentinel }),
		fixed("default_js_domain", "JsAccDefaultDomain", func(o O) any { return o.DefaultJSDomains }),
	}
}

// judgeSystemAccount allows to drop a system account that was only implied.
func judgeSystemAccount(old, new *options.Options) string {
	if old.SystemAccount == options.DefaultSystemAccount && new.SystemAccount == "" && !new.NoSystemAccount {
		return ""
	}
	return fmt.Sprintf("config reload not supported for SystemAccount: old=%v, new=%v", old.SystemAccount, new.SystemAccount)
}

// judgeNoAuthUser allows to drop a user that does not exist any more.
func judgeNoAuthUser(old, new *options.Options) string {
	gone := true
	for _, u := range new.Authorization.Users {
		if u.Username == old.NoAuthUser || u.Nkey == old.NoAuthUser {
			gone = false
		}
	}
	if new.NoAuthUser == "" && gone {
		return ""
	}
	return fmt.Sprintf("config reload not supported for NoAuthUser: old=%v, new=%v", old.NoAuthUser, new.NoAuthUser)
}
