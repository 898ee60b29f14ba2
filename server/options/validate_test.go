package options

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func TestDefaultsAreValid(t *testing.T) {
	if err := Defaults().Validate(); err != nil {
		t.Error(err)
	}
	if o := Defaults(); o.JetStream.Enabled || !o.JetStream.SyncAlways || o.MaxConn != 65536 || o.Port != 4222 {
		t.Errorf("defaults are %+v", o)
	}
}

// TestValidate holds each check to nats-server's words.
func TestValidate(t *testing.T) {
	user := func(o *Options) { o.Authorization.Users = []*User{{Username: "u"}} }
	operator := func(o *Options) {
		o.Operators = []*Operator{{Subject: "O"}}
		o.Resolver = &Resolver{Kind: ResolverMemory}
	}
	ms := time.Millisecond
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   string
	}{
		{"grace", func(o *Options) { o.LameDuckGrace = 3 * time.Minute }, "lame duck grace period (3m0s) should be strictly lower than lame duck duration (2m0s)"},
		{"payload", func(o *Options) { o.MaxPayload = 100 << 20 }, "max_payload (104857600) cannot be higher than max_pending (67108864)"},
		{"pending", func(o *Options) { o.MaxPending = 10 }, "max_payload (1048576) cannot be higher than max_pending (10)"},
		{"name", func(o *Options) { o.ServerName = "a b" }, "server name cannot contain spaces"},
		{"closed clients", func(o *Options) { o.MaxClosedClients = -1 }, "max_closed_clients can not be negative"},
		{"no users", func(o *Options) { o.NoAuthUser = "x" }, `no_auth_user: "x" present, but users/nkeys are not defined`},
		{"not that user", func(o *Options) { user(o); o.NoAuthUser = "x" }, `no_auth_user: "x" not present as user or nkey in authorization block or account configuration`},
		{"that user", func(o *Options) { user(o); o.NoAuthUser = "u" }, ""},
		{"system account", func(o *Options) { o.SystemAccount = "X" }, "error resolving system account: account missing"},
		{"system account exists", func(o *Options) { o.SystemAccount = "X"; o.Accounts = []*Account{{Name: "X"}} }, ""},

		{"cluster names", func(o *Options) { o.Cluster.Name = "a"; o.Gateway.Name = "b"; o.Gateway.Port = -1 }, "cluster name conflicts between cluster and gateway definitions"},
		{"cluster name", func(o *Options) { o.Cluster.Name = "a b" }, "cluster name cannot contain spaces"},
		{"pool", func(o *Options) { o.Cluster.PoolSize = -1; o.Cluster.PinnedAccounts = []string{"A"} }, "pool_size cannot be negative if pinned accounts are specified"},
		{"pinned", func(o *Options) { o.Cluster.PinnedAccounts = []string{"A", "A"} }, `found duplicate account name "A" in pinned accounts list ["A" "A" "$SYS"]`},
		{"compression", func(o *Options) { o.Cluster.Port = -1; o.Cluster.Compression.Mode = "x" }, `unsupported compression mode "x"`},
		{"compression of nothing", func(o *Options) { o.Cluster.Compression.Mode = "x" }, ""},
		{"descending", func(o *Options) { o.Leaf.Compression = Compression{CompressionAuto, []time.Duration{50 * ms, 10 * ms}} }, "RTT threshold values [50ms 10ms] should be in ascending order"},
		{"five", func(o *Options) { o.Leaf.Compression = Compression{CompressionAuto, []time.Duration{1, 2, 3, 4, 5}} }, `compression mode "s2_auto" should have no more than 4 RTT thresholds: [1ns 2ns 3ns 4ns 5ns]`},
		{"none", func(o *Options) { o.Leaf.Compression = Compression{CompressionAuto, []time.Duration{0}} }, `compression mode "s2_auto" requires at least one RTT threshold`},
		{"left out", func(o *Options) { o.Leaf.Compression = Compression{CompressionAuto, []time.Duration{0, 0, 5}} }, ""},

		{"gateway name", func(o *Options) { o.Gateway.Port = -1 }, "gateway has no name"},
		{"gateway port", func(o *Options) { o.Gateway.Name = "G" }, `gateway "G" has no port specified (select -1 for random port)`},
		{"remote name", func(o *Options) { o.Gateway = Gateway{Name: "G", Port: -1, Remotes: []*RemoteGateway{{}}} }, "gateway in the list 0 has no name"},
		{"remote URL", func(o *Options) { o.Gateway = Gateway{Name: "G", Port: -1, Remotes: []*RemoteGateway{{Name: "x"}}} }, `gateway "x" has no URL`},

		{"leaf account", func(o *Options) { o.Leaf.Account = "A" }, `cannot find local account "A" specified in leafnode authorization`},
		{"leaf user's account", func(o *Options) { o.Leaf.Authorization.Users = []*User{{Account: "A"}} }, `cannot find local account "A" specified in leafnode authorization`},
		{"remote's account", func(o *Options) { o.Leaf.Remotes = []*RemoteLeaf{{Account: "A"}} }, `cannot find local account "A" specified in leafnode remote`},
		{"remote's compression", func(o *Options) { o.Leaf.Remotes = []*RemoteLeaf{{Compression: Compression{Mode: "y"}}} }, `unsupported compression mode "y"`},
		{"mixed URLs", func(o *Options) {
			o.Leaf.Remotes = []*RemoteLeaf{{URLs: []*url.URL{mustURL("nats://h:1"), mustURL("ws://u:p@h:2")}}}
		}, `remote leaf node configuration cannot have a mix of websocket and non-websocket urls: ["nats://h:1" "ws://u:xxxxx@h:2"]`},
		{"leaf and gateway", func(o *Options) { o.Leaf.Port = -1; o.Gateway = Gateway{Name: "G", Port: -1} }, "leaf nodes and gateways (both being defined) require a system account to also be configured"},

		{"websocket TLS", func(o *Options) { o.Websocket.Port = -1 }, "websocket requires TLS configuration"},
		{"origin", func(o *Options) { o.Websocket = Websocket{Port: -1, NoTLS: true, AllowedOrigins: []string{"foo"}} }, `unable to parse allowed origin: parse "foo": invalid URI for request`},
		{"websocket user", func(o *Options) {
			user(o)
			o.Websocket = Websocket{Port: -1, NoTLS: true, Authorization: Authorization{Username: "a"}}
		}, "websocket authentication username not compatible with presence of users/nkeys"},
		{"websocket token", func(o *Options) {
			user(o)
			o.Websocket = Websocket{Port: -1, NoTLS: true, Authorization: Authorization{Token: "a"}}
		}, "websocket authentication token not compatible with presence of users/nkeys"},
		{"websocket no_auth_user", func(o *Options) { o.Websocket = Websocket{Port: -1, NoTLS: true, NoAuthUser: "x"} }, `no_auth_user: "x" present, but users/nkeys are not defined`},
		{"cookie", func(o *Options) { o.Websocket = Websocket{Port: -1, NoTLS: true, JWTCookie: "x"} }, `trusted operators or trusted keys configuration is required for JWT authentication via cookie "x"`},
		{"header", func(o *Options) {
			o.Websocket = Websocket{Port: -1, NoTLS: true, Headers: map[string]string{"Host": "x"}}
		}, `websocket: invalid header "Host" not allowed`},
		{"header prefix", func(o *Options) {
			o.Websocket = Websocket{Port: -1, NoTLS: true, Headers: map[string]string{"Sec-WebSocket-X": "x"}}
		}, `websocket: invalid header "Sec-WebSocket-X", "Sec-WebSocket-" prefix not allowed`},
		{"websocket off", func(o *Options) { o.Websocket.Headers = map[string]string{"Host": "x"} }, ""},

		{"mqtt alone", func(o *Options) { o.MQTT.Port = -1 }, "mqtt requires JetStream to be enabled if running in standalone mode"},
		{"mqtt in a cluster", func(o *Options) { o.MQTT.Port = -1; o.Cluster.Port = -1 }, "mqtt requires server name to be explicitly set"},
		{"mqtt user", func(o *Options) {
			user(o)
			o.JetStream.Enabled = true
			o.MQTT.Port, o.MQTT.Authorization.Username = -1, "a"
		}, "mqtt authentication username not compatible with presence of users/nkeys"},
		{"mqtt ack wait", func(o *Options) { o.JetStream.Enabled = true; o.MQTT.Port, o.MQTT.AckWait = -1, -1 }, "ack wait must be a positive value"},
		{"mqtt timeout", func(o *Options) { o.JetStream.Enabled = true; o.MQTT.Port, o.MQTT.APITimeout = -1, -1 }, "JS API timeout must be a positive value"},
		{"mqtt replicas", func(o *Options) {
			o.JetStream.Enabled = true
			o.MQTT.Port, o.MQTT.StreamReplicas, o.MQTT.ConsumerReplicas = -1, 1, 3
		}, "mqtt: consumer_replicas (3) cannot be higher than stream_replicas (1)"},

		{"domain", func(o *Options) { o.JetStream.Enabled = true; o.JetStream.Domain = "a.b" }, "invalid domain name: may not contain ., * or >"},
		{"clustered streams without a name", func(o *Options) { o.JetStream.Enabled = true; o.Cluster.Port = -1 }, "jetstream cluster requires `server_name` to be set"},
		{"clustered streams without a cluster name", func(o *Options) { o.JetStream.Enabled = true; o.Cluster.Port = -1; o.ServerName = "s" }, "jetstream cluster requires `cluster.name` to be set"},
		{"default domain", func(o *Options) {
			o.Accounts = []*Account{{Name: "A"}}
			o.DefaultJSDomains = map[string]string{"B": "d"}
		}, "in non operator mode, `default_js_domain` references non existing account \"B\""},
		{"default domain with streams", func(o *Options) {
			o.JetStream.Enabled = true
			o.Accounts = []*Account{{Name: "A", JetStream: UnlimitedJetStream()}}
			o.DefaultJSDomains = map[string]string{"A": "d"}
		}, `default_js_domain contains account name "A" with enabled JetStream`},
		{"default domain of the system", func(o *Options) {
			operator(o)
			o.SystemAccount = "S"
			o.DefaultJSDomains = map[string]string{"S": "d"}
		}, `system account "S" can not be in default_js_domain`},

		{"operator", operator, ""},
		{"operator and no resolver", func(o *Options) { operator(o); o.Resolver = nil }, "operators require an account resolver to be configured"},
		{"operator and accounts", func(o *Options) { operator(o); o.Accounts = []*Account{{Name: "A"}} }, "operators do not allow Accounts to be configured directly"},
		{"operator and users", func(o *Options) { operator(o); user(o) }, "operators do not allow users to be configured directly"},
		{"operator and callout", func(o *Options) { operator(o); o.Authorization.Callout = &AuthCallout{} }, "operators do not allow authorization callouts to be configured directly"},
		{"operator and keys", func(o *Options) { operator(o); o.TrustedKeys = []string{"O"} }, "conflicting options for 'TrustedKeys' and 'TrustedOperators'"},
		{"operator and no_auth_user", func(o *Options) { operator(o); o.NoAuthUser = "x" }, "no_auth_user not compatible with Trusted Operator"},
		{"operator's system account", func(o *Options) { operator(o); o.SystemAccount = "X"; o.Operators[0].SystemAccount = "Y" }, "system_account in config and operator JWT must be identical"},
		{"full resolver", func(o *Options) { operator(o); o.Resolver.Kind = ResolverFull }, "using nats based account resolver - the system account needs to be specified in configuration or the operator jwt"},
		{"pinned account", func(o *Options) { operator(o); o.ResolverPinned = []string{"x"} }, `pinned account key "x" is not a valid public account nkey`},
		{"sentinel", func(o *Options) { o.DefaultSentinel = "x" }, "default sentinel requires operators and accounts"},
		{"operator and leaf users", func(o *Options) { operator(o); o.Leaf.Authorization.Users = []*User{{}} }, "operator mode does not allow specifying users in leafnode config"},
		{"operator and leaf nkeys", func(o *Options) { operator(o); o.Leaf.Port, o.Leaf.Account = -1, "x" }, "operator mode and non account nkeys are incompatible"},
		{"operator and remotes", func(o *Options) { operator(o); o.Leaf.Remotes = []*RemoteLeaf{{}} }, "operator mode requires account nkeys in remotes. Please add an `account` key to each remote in your `leafnodes` section"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Defaults()
			tt.change(o)
			got := ""
			if err := o.Validate(); err != nil {
				got = err.Error()
			}
			if got != tt.want && (tt.name != "operator and remotes" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	o := Defaults()
	o.Websocket.Port = -1
	if !errors.Is(o.Validate(), ErrWebsocketTLS) {
		t.Error("the error is no sentinel")
	}
}

func TestWords(t *testing.T) {
	if WriteTimeoutDefault.String() != "default" || WriteTimeoutClose.String() != "close" || WriteTimeoutRetry.String() != "retry" {
		t.Error("write_timeout policies have other words in files")
	}
	if l := NoAccountLimits(); l.MaxConn != Unlimited || l.MaxLeafs != Unlimited {
		t.Errorf("%+v", l)
	}
}
