package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"godwit/conf"
	"godwit/server/options"
)

// load decodes text as a file; it must be good.
func load(t *testing.T, text string) *options.Options {
	t.Helper()
	o := options.Defaults()
	loader := conf.Loader{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }}
	warnings, err := loadInto(loader, "x.conf", o)
	if err != nil || warnings != nil {
		t.Fatalf("%s\n%v %q", text, err, warnings)
	}
	return o
}

// show writes values with blanks between them.
func show(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

// TestResolvedValues: what a file says arrives in the options, with units resolved.
func TestResolvedValues(t *testing.T) {
	for _, tt := range []struct {
		in   string
		get  func(o *options.Options) any
		want any
	}{
		{"listen: 'h:5'", func(o *options.Options) any { return show(o.Host, o.Port) }, "h 5"},
		{"listen: 4223", func(o *options.Options) any { return show(o.Host, o.Port) }, "0.0.0.0 4223"},
		{"max_connections: 0", func(o *options.Options) any { return o.MaxConn }, options.RefuseAll},
		{"max_connections: 5", func(o *options.Options) any { return o.MaxConn }, 5},
		{"port: 1", func(o *options.Options) any { return o.MaxConn }, options.DefaultMaxConn},
		{"max_payload: 0", func(o *options.Options) any { return o.MaxPayload }, int32(options.DefaultMaxPayload)},
		{"max_payload: 2kb", func(o *options.Options) any { return o.MaxPayload }, int32(2048)},
		{"max_pending: 0", func(o *options.Options) any { return o.MaxPending }, int64(options.DefaultMaxPending)},
		{"ping_interval: '0s'", func(o *options.Options) any { return o.PingInterval }, options.DefaultPingInterval},
		{"ping_interval: 90s", func(o *options.Options) any { return o.PingInterval }, 90 * time.Second},
		{"trace_verbose: true", func(o *options.Options) any { return o.Log.Trace && o.Log.TraceVerbose }, true},
		{"http: '1.2.3.4:8222'", func(o *options.Options) any { return show(o.Monitoring.HTTPHost, o.Monitoring.HTTPPort) }, "1.2.3.4 8222"},
		{"host: a\nhttp_port: 5", func(o *options.Options) any { return o.Monitoring.HTTPHost }, "a"},
		{"http_base_path: x", func(o *options.Options) any { return o.Monitoring.HTTPBasePath }, "/x"},
		{"server_tags: [A, ' b c ', a]", func(o *options.Options) any { return o.Tags }, []string{"a", "b c"}},
		{"server_metadata: {A: b}", func(o *options.Options) any { return o.Metadata }, map[string]string{"A": "b"}},
		{"write_timeout: retry", func(o *options.Options) any { return o.WriteTimeout }, options.WriteTimeoutRetry},
		{"no_system_account: true", func(o *options.Options) any { return o.SystemAccount }, ""},
		{"ocsp: false", func(o *options.Options) any { return o.OCSP.Mode }, options.OCSPModeNever},
		{"ocsp: {mode: must, urls: [a, b]}", func(o *options.Options) any { return *o.OCSP }, options.OCSP{Mode: options.OCSPModeMust, OverrideURLs: []string{"a", "b"}}},
		{"ocsp_cache: true", func(o *options.Options) any { return *o.OCSPCache }, options.OCSPCache{Local: true, LocalStore: "_rc_", SaveInterval: 5 * time.Minute}},
		{"ocsp_cache: {type: none, save_interval: '5ms'}", func(o *options.Options) any { return *o.OCSPCache }, options.OCSPCache{LocalStore: "_rc_", SaveInterval: time.Second}},

		{"jetstream: true", func(o *options.Options) any {
			return show(o.JetStream.Enabled, o.JetStream.SyncAlways, o.JetStream.MaxMemory)
		}, "true true -1"},
		{"jetstream: disabled", func(o *options.Options) any { return o.JetStream.Enabled }, false},
		{"jetstream {enabled: false, store_dir: d}", func(o *options.Options) any { return show(o.JetStream.Enabled, o.JetStream.StoreDir) }, "false d"},
		{"store_dir: d", func(o *options.Options) any { return show(o.JetStream.Enabled, o.JetStream.StoreDir) }, "false d"},
		{"jetstream {tail_memory: 8388608, cache_memory: '1G'}", func(o *options.Options) any { return show(o.JetStream.TailMemory, o.JetStream.CacheMemory) }, "8388608 1073741824"},
		{"jetstream {segment_size: '64K'}", func(o *options.Options) any { return show(o.JetStream.SegmentSize) }, "65536"},
		{"quotas {account {messages: 10k, bytes: '10MB', requests: 5, burst: 500ms, max_delay: 0s}}", func(o *options.Options) any { return show(*o.Quotas.Account, o.Quotas.User) },
			"{10000 10485760 5 500ms 0s} <nil>"},
		{"quotas {user {bytes: 10MB}}", func(o *options.Options) any { return show(*o.Quotas.User, o.Quotas.User.Limits()) }, "{0 10485760 0 1s 2s} true"},
		{"accounts {A {quota {}, users [{user: u, quota {messages: 1}}]}}", func(o *options.Options) any {
			return show(o.Accounts[0].Quota.Limits(), *o.Authorization.Users[0].Quota)
		}, "false {1 0 0 1s 2s}"},
		{"jetstream {sync_interval: '2m'}", func(o *options.Options) any { return show(o.JetStream.SyncAlways, o.JetStream.SyncInterval) }, "false 2m0s"},
		{"jetstream {sync: Always}", func(o *options.Options) any { return o.JetStream.SyncAlways }, true},
		{"jetstream {max_mem: '2G', max_file: 5kb}", func(o *options.Options) any { return show(o.JetStream.MaxMemory, o.JetStream.MaxStore) }, "2147483648 5120"},
		{"jetstream {max_mem: 0}", func(o *options.Options) any { return o.JetStream.MaxMemory }, int64(0)},
		{"jetstream {request_queue_limit: 5}", func(o *options.Options) any { return show(o.JetStream.RequestQueue, o.JetStream.InfoQueue) }, "5 5"},
		{"jetstream {limits {duplicate_window: '5m', batch {timeout: '3s'}}}", func(o *options.Options) any {
			return o.JetStream.Limits
		}, options.JSLimits{DuplicateWindow: 5 * time.Minute, BatchTimeout: 3 * time.Second, DefaultMaxConsumers: 1000}},
		{"jetstream {tpm {pcr: 3, cipher: aes}}", func(o *options.Options) any { return *o.JetStream.TPM }, options.TPM{PCR: 3, Cipher: options.CipherAES}},

		{"tls {handshake_first: auto}", func(o *options.Options) any { return show(o.TLS.HandshakeFirst, o.TLS.HandshakeFirstFallback) }, "true 50ms"},
		{"tls {first: '300ms'}", func(o *options.Options) any { return show(o.TLS.HandshakeFirst, o.TLS.HandshakeFirstFallback) }, "true 300ms"},
		{"tls {first: off}", func(o *options.Options) any { return o.TLS.HandshakeFirst }, false},
		{"tls {timeout: 1.5, verify_and_map: true}", func(o *options.Options) any { return show(o.TLS.Timeout, o.TLS.Verify, o.TLS.VerifyAndMap) }, "1.5s true true"},
		{"tls {pinned_certs: ['" + strings.Repeat("AB", 32) + "']}", func(o *options.Options) any { return o.TLS.PinnedCerts }, map[string]struct{}{strings.Repeat("ab", 32): {}}},
		{"cluster {tls {verify_cert_and_check_known_urls: true}}", func(o *options.Options) any { return o.Cluster.TLS.VerifyKnownURLs && o.Cluster.TLS.Verify }, true},

		{"cluster {listen: -1, compression: on}", func(o *options.Options) any {
			return show(o.Cluster.Host, o.Cluster.Port, o.Cluster.Compression.Mode)
		}, "0.0.0.0 -1 s2_fast"},
		{"cluster {port: 1}", func(o *options.Options) any { return show(o.Cluster.PoolSize, o.Cluster.Compression.Mode) }, "3 accept"},
		{"leafnodes {compression: on}", func(o *options.Options) any { return show(o.Leaf.Compression) }, "{s2_auto [10ms 50ms 100ms]}"},
		{"leafnodes {remotes [{url: 'nats://h'}]}", func(o *options.Options) any {
			r := o.Leaf.Remotes[0]
			return show(r.URLs[0], r.Compression.Mode, r.Migrate)
		}, "nats://h s2_auto false"},
		{"leafnodes {remotes [{url: 'nats://h', js_cluster_migrate: {leader_migrate_delay: '5s'}}]}", func(o *options.Options) any {
			return show(o.Leaf.Remotes[0].Migrate, o.Leaf.Remotes[0].MigrateDelay)
		}, "true 5s"},
		{"cluster {permissions {import: a, export: {deny: [b, c]}}}", func(o *options.Options) any {
			return show(*o.Cluster.Permissions.Import, *o.Cluster.Permissions.Export)
		}, "{[a] []} {[] [b c]}"},
		{"gateway {gateways [{name: G, url: 'nats://a', urls: ['nats://b']}]}", func(o *options.Options) any {
			return show(o.Gateway.Remotes[0].Name, o.Gateway.Remotes[0].URLs)
		}, "G [nats://a nats://b]"},
		{"websocket {handshake_timeout: 5, origins: a, headers {X: y}}", func(o *options.Options) any {
			return show(o.Websocket.HandshakeTimeout, o.Websocket.AllowedOrigins, o.Websocket.Headers)
		}, "5s [a] map[X:y]"},
		{"mqtt {ack_wait: '0s', max_inflight: 7}", func(o *options.Options) any { return show(o.MQTT.AckWait, o.MQTT.MaxAckPending) }, "30s 7"},
		{"resolver: URL(http://h/x)", func(o *options.Options) any { return *o.Resolver }, options.Resolver{Kind: options.ResolverURL, URL: "http://h/x"}},
	} {
		if got := tt.get(load(t, tt.in)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s\n  got  %#v\n  want %#v", tt.in, got, tt.want)
		}
	}
}

// Settings that nats-server does not have say what is wrong with them, too.
func TestOwnSettingsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"jetstream {segment_size: 4095}":    `x.conf:1:11: Expected a size between 4KB and 2GB for "segment_size", got 4095`,
		"jetstream {segment_size: 'x'}":     `x.conf:1:11: Expected a size between 4KB and 2GB for "segment_size", got x`,
		"jetstream {segment_size: '2049M'}": `x.conf:1:11: Expected a size between 4KB and 2GB for "segment_size", got 2049M`,
		"quotas {account {messages: -1}}":   `x.conf:1:17: Expected a rate of 0 or more for "messages", got -1`,
		"quotas {account {bytes: 'x'}}":     `x.conf:1:17: Expected a rate of 0 or more for "bytes", got x`,
		"quotas {account {bytes: '2048T'}}": `x.conf:1:17: Expected a rate of 0 or more for "bytes", got 2048T`,
		"quotas {user {requests: 1.5}}":     `x.conf:1:14: Expected a rate of 0 or more for "requests", got 1.5`,
		"quotas {user {burst: 0s}}":         `x.conf:1:14: burst is to be between 1ms and 1h0m0s, got 0s`,
		"quotas {user {max_delay: 31s}}":    `x.conf:1:14: max_delay is to be between 0s and 30s, got 31s`,
		"quotas {user {max_delay: '-1s'}}":  `x.conf:1:14: max_delay is to be between 0s and 30s, got -1s`,
		"quotas {accounts {}}":              `x.conf:1:8: unknown field "accounts" (did you mean "account"?)`,
		"accounts {A {quota: 5}}":           `x.conf:1:13: interface conversion: interface {} is int64, not map[string]interface {}`,
		"jetstream {tail_memory: -1}":       `x.conf:1:11: Expected a size of 0 or more for "tail_memory", got -1`,
	} {
		if _, err := check("x.conf", text); err == nil || strings.TrimSpace(err.Error()) != want {
			t.Errorf("%s\n  got  %v\n  want %s", text, err, want)
		}
	}
}

func TestUsersAndAccounts(t *testing.T) {
	o := load(t, `
		authorization {
			default_permissions { publish: d }
			users [ {user: a, pass: b}, {user: c, permissions { subscribe: ["x q", y], allow_responses: true }, clients: mqtt} ]
		}
		accounts {
			A { users [{user: e}], default_permissions { publish: f }
				exports [ {service: "s.*", response: stream, threshold: "5s", account_token_position: 2}, {stream: t, accounts: [B]} ]
				jetstream { max_mem: 5, max_streams: 2 }, limits { max_conn: 3 } }
			B { imports [ {stream: {account: A, subject: t}, prefix: p}, {service: {account: A, subject: s.B}, to: q, share: true} ]
				mappings { "m.*": [{dest: "n.$1", weight: 40}, {dest: "o.$1", weight: "60%", cluster: C}] }
				msg_trace: {dest: tr, sampling: "5%"}, jetstream: enabled }
		}
		mappings { g: h }`)
	var users []string
	for _, u := range o.Authorization.Users {
		pub := "-"
		if u.Permissions != nil && u.Permissions.Publish != nil {
			pub = strings.Join(u.Permissions.Publish.Allow, ",")
		}
		users = append(users, fmt.Sprintf("%s@%s:%s%v", u.Username, u.Account, pub, u.ConnectionTypes))
	}
	if got, want := strings.Join(users, " "), "a@:d[] c@:-[MQTT] e@A:f[]"; got != want {
		t.Errorf("users are %s, want %s", got, want)
	}
	c := o.Authorization.Users[1].Permissions
	if got := show(*c.Subscribe, *c.Response); got != "{[x q y] []} {1 2m0s}" {
		t.Error(got)
	}
	A, B := o.Accounts[0], o.Accounts[1]
	if got := fmt.Sprintf("%+v %+v", *A.Exports[0], *A.Exports[1]); got != "{Kind:1 Subject:s.* Accounts:[] Private:false Response:1 Threshold:5s Latency:<nil> TokenPosition:2 AllowTrace:false} "+
		"{Kind:0 Subject:t Accounts:[B] Private:true Response:0 Threshold:0s Latency:<nil> TokenPosition:0 AllowTrace:false}" {
		t.Error(got)
	}
	if got := fmt.Sprintf("%+v %+v", *B.Imports[0], *B.Imports[1]); got != "{Kind:0 Account:A Subject:t Prefix:p To: Share:false AllowTrace:false} "+
		"{Kind:1 Account:A Subject:s.B Prefix: To:q Share:true AllowTrace:false}" {
		t.Error(got)
	}
	if got := show(*A.JetStream, A.Limits, *B.JetStream, *B.Trace); got != "{5 -1 2 -1 -1 0 0 false false} {3 -1 -1 -1} {-1 -1 -1 -1 -1 0 0 false false} {tr 5}" {
		t.Error(got)
	}
	if got := show(*B.Mappings[0], *o.Mappings[0]); got != "{m.* [{n.$1 40 } {o.$1 60 C}]} {g [{h 100 }]}" {
		t.Error(got)
	}
}

func TestLoadAndCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good.conf", "port: 4222")
	write("warn.conf", "port: 4222\nping_interval: 5\nwrite_deadline: 5")
	write("bad.conf", "prot: 4222\nping_interval: 5\ndebug: 1")
	write("empty.conf", "# nothing")
	write("lex.conf", "port: -")

	if s, err := CheckFile("good.conf"); err != nil || s != "configuration file good.conf is valid (sha256:797533ebd0dfba7d34a0f9337ecf147e442871f48ddfd07ed751575a5737267e)" {
		t.Error(s, err)
	}
	_, err := CheckFile("warn.conf")
	const warnings = "warn.conf:2:1: invalid use of field \"ping_interval\": ping_interval should be converted to a duration\n" +
		"warn.conf:3:1: invalid use of field \"write_deadline\": write_deadline should be converted to a duration\n"
	if !errors.Is(err, ErrWarnings) || err.Error() != warnings {
		t.Errorf("%q", err)
	}
	o, lines, err := Load("warn.conf")
	if err != nil || strings.Join(lines, "\n")+"\n" != warnings || o.PingInterval != 5*time.Second || o.ConfigFile != "warn.conf" {
		t.Error(lines, err)
	}
	_, _, err = Load("bad.conf")
	const problems = "bad.conf:2:1: invalid use of field \"ping_interval\": ping_interval should be converted to a duration\n" +
		"bad.conf:1:0: unknown field \"prot\" (did you mean \"port\"?)\n" +
		"bad.conf:3:1: interface conversion: interface {} is int64, not bool\n"
	if ee := (*Errors)(nil); !errors.As(err, &ee) || err.Error() != problems {
		t.Errorf("%q", err)
	}
	if _, err := CheckFile("empty.conf"); err == nil || err.Error() != "empty.conf: config has no values or is empty\n" {
		t.Errorf("%q", err)
	}
	if o, w, err := Load("empty.conf"); err != nil || len(w) != 1 || o.Port != 4222 {
		t.Error(w, err)
	}
	if _, err := CheckFile("lex.conf"); err == nil || err.Error() != "Parse error on line 1: 'Expected a digit but got '\x00'.'" {
		t.Errorf("%q", err)
	}
	if _, err := CheckFile("none.conf"); err == nil || err.Error() != "open none.conf: no such file or directory" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q", err)
	}
}

// signed makes a signed JWT.
func signed(t *testing.T, signer nkeys.KeyPair, nats map[string]any) string {
	t.Helper()
	key, err := signer.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := part(map[string]string{"typ": "JWT", "alg": "ed25519-nkey"}) + "." + part(map[string]any{"iss": key, "sub": key, "name": "n", "nats": nats})
	sig, err := signer.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func TestOperators(t *testing.T) {
	op, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	acc, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	accKey, err := acc.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	opJWT := signed(t, op, map[string]any{"type": "operator", "version": 2, "system_account": accKey, "strict_signing_key_usage": true})
	accJWT := signed(t, acc, map[string]any{"type": "account", "version": 2, "signing_keys": []any{map[string]any{"kind": "user_scope"}}})
	path := filepath.Join(t.TempDir(), "op.jwt")
	decorated := "-----BEGIN NATS OPERATOR JWT-----\n" + opJWT + "\n------END NATS OPERATOR JWT------\n"
	if err := os.WriteFile(path, []byte(decorated), 0o600); err != nil {
		t.Fatal(err)
	}
	o := load(t, fmt.Sprintf("operator: [%q, %q]\nresolver: MEM\nresolver_preload {%s: %q}", opJWT, path, accKey, accJWT))
	if len(o.Operators) != 2 || !reflect.DeepEqual(o.Operators[0], o.Operators[1]) || o.Operators[0].SystemAccount != accKey || !o.Operators[0].StrictSigning || o.Operators[0].JWT != opJWT {
		t.Errorf("%+v", o.Operators)
	}
	if o.ResolverPreload[accKey] != accJWT {
		t.Errorf("%v", o.ResolverPreload)
	}
	forged := opJWT[:len(opJWT)-4] + "AAAA"
	for text, want := range map[string]string{
		fmt.Sprintf("operator: %q", forged):                                            "x.conf:1:0: error parsing operator JWT: claim failed signature verification\n",
		fmt.Sprintf("operator: %q", signed(t, acc, map[string]any{"type": "account"})): "x.conf:1:0: error parsing operator JWT: not the kind of claim that is expected\n",
		"operator: eyJ": "x.conf:1:0: error parsing operator JWT: expected 3 chunks\n",
		fmt.Sprintf("resolver_preload {a: %q}", opJWT):               "x.conf:1:18: invalid account JWT\n",
		fmt.Sprintf("operator: %q", "eyJ.!."+forged[len(forged)-9:]): "x.conf:1:0: error parsing operator JWT: illegal base64 data at input byte 0\n",
	} {
		if _, err := check("x.conf", text); err == nil || err.Error() != want && !strings.Contains(want, "illegal") {
			t.Errorf("%.40s…\n  got  %v\n  want %s", text, err, want)
		}
	}
}

// FuzzDecode: no text makes the blocks panic, and options that come out are usable.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"port: 4222", "tls {cert_file: x}", "authorization {users [{user: a}]}", "accounts {A {exports [{stream: x}], imports [{stream {account: A, subject: x}}]}}",
		"jetstream {max_mem: '5G'}", "cluster {routes ['nats://h:5'], compression {mode: auto, rtt: ['1s']}}", "leafnodes {remotes [{url: 'ws://h', proxy {url: x}}]}",
		"websocket {headers {a: b}}", "mqtt {max_inflight: 5}", "mappings {'a.*': 'b.$1'}", "resolver {type: full, dir: '.'}", "operator: eyJ.eyJ.x", "proxies {trusted [{key: x}]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := options.Defaults()
		loader := conf.Loader{
			ReadFile:  func(string) ([]byte, error) { return []byte(text), nil },
			LookupEnv: func(string) (string, bool) { return "", false },
		}
		if strings.Contains(strings.ToLower(text), "include") {
			return
		}
		if _, err := loadInto(loader, "x.conf", o); err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		if o.PingInterval == 0 || o.MaxPayload == 0 || o.Port == 0 {
			t.Fatalf("%q leaves defaults empty", text)
		}
		_ = o.Validate()
		if changes := Diff(o, o); changes != nil {
			t.Fatalf("options differ from themselves: %v", changes)
		}
	})
}
