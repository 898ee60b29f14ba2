package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"godwit/server/options"
)

// change gives a field another value than it has; it returns nothing where there is nothing to change.
func change(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(v.Uint() + 1)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Slice:
		e := reflect.New(v.Type().Elem()).Elem()
		if e.Kind() == reflect.Pointer {
			e.Set(reflect.New(e.Type().Elem()))
		}
		v.Set(reflect.Append(v, e))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
		v.Set(m)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		return false
	}
	return true
}

// eachField calls f with the name of every field of the options and a function that changes it.
func eachField(t reflect.Type, prefix string, index []int, f func(name string, change func(o *options.Options) bool)) {
	for i := range t.NumField() {
		field, path := t.Field(i), append(index[:len(index):len(index)], i)
		name := prefix + field.Name
		if field.Type.Kind() == reflect.Struct {
			eachField(field.Type, name+".", path, f)
			continue
		}
		f(name, func(o *options.Options) bool { return change(reflect.ValueOf(o).Elem().FieldByIndex(path)) })
	}
}

// TestDiffSeesEveryField: a change to any field of the options is a change of some setting.
func TestDiffSeesEveryField(t *testing.T) {
	fields := 0
	eachField(reflect.TypeFor[options.Options](), "", nil, func(name string, change func(o *options.Options) bool) {
		if name == "ConfigFile" || name == "ConfigDigest" {
			return
		}
		fields++
		o, n := options.Defaults(), options.Defaults()
		if !change(n) {
			t.Errorf("%s: the test can not change it", name)
			return
		}
		changes := Diff(o, n)
		if len(changes) != 1 && !strings.HasPrefix(name, "JetStream.Max") {
			t.Errorf("%s: %d changes", name, len(changes))
			return
		}
		c := changes[0]
		if c.Reloadable != (c.Refusal() == "") || c.Name == "" || reflect.DeepEqual(c.Old, c.New) {
			t.Errorf("%s: %+v", name, c)
		}
	})
	if fields < 150 {
		t.Errorf("only %d fields", fields)
	}
	if c := Diff(options.Defaults(), options.Defaults()); c != nil {
		t.Errorf("equal options differ: %v", c)
	}
}

func TestDiff(t *testing.T) {
	type O = *options.Options
	remote := func(name string) *options.RemoteLeaf {
		return &options.RemoteLeaf{URLs: []*url.URL{{Scheme: "nats", Host: name}}}
	}
	for _, tt := range []struct {
		name     string
		old, new func(o O)
		want     string
	}{
		{"debug", nil, func(o O) { o.Log.Debug = true }, "debug ok"},
		{"port", nil, func(o O) { o.Port = 5 }, "port: config reload not supported for Port: old=4222, new=5"},
		{"two", nil, func(o O) { o.MaxConn = 5; o.MaxPending = 6 }, "max_connections ok, max_pending: config reload not supported for MaxPending: old=67108864, new=6"},
		{"cluster host", nil, func(o O) { o.Cluster.Host = "b" }, "cluster.host: config reload not supported for cluster host: old=, new=b"},
		{"routes", nil, func(o O) { o.Cluster.Routes = []*url.URL{{Host: "a"}} }, "cluster.routes ok"},
		{"equal routes", func(o O) { o.Cluster.Routes = []*url.URL{{Host: "a"}} }, func(o O) { o.Cluster.Routes = []*url.URL{{Host: "a"}} }, ""},
		{"pool", nil, func(o O) { o.Cluster.PoolSize = 9 }, "cluster ok"},
		{"system account goes", nil, func(o O) { o.SystemAccount = "" }, "system_account ok"},
		{"system account", nil, func(o O) { o.SystemAccount = "X" }, "system_account: config reload not supported for SystemAccount: old=$SYS, new=X"},
		{"no_auth_user goes", func(o O) { o.NoAuthUser = "u" }, nil, "no_auth_user ok"},
		{"no_auth_user goes, the user stays", func(o O) {
			o.NoAuthUser = "u"
			o.Authorization.Users = []*options.User{{Username: "u"}}
		}, func(o O) { o.Authorization.Users = []*options.User{{Username: "u"}} }, "no_auth_user: config reload not supported for NoAuthUser: old=u, new="},
		{"resolver comes", nil, func(o O) { o.Resolver = &options.Resolver{} }, "resolver: config reload does not support moving to or from an account resolver"},
		{"resolver changes", func(o O) { o.Resolver = &options.Resolver{} }, func(o O) { o.Resolver = &options.Resolver{URL: "x"} }, "resolver ok"},
		{"memory grows", func(o O) { o.JetStream.MaxMemory = 5 }, func(o O) { o.JetStream.MaxMemory = 6 }, "jetstream.max_memory_store ok"},
		{"memory shrinks", func(o O) { o.JetStream.MaxMemory = 5 }, func(o O) { o.JetStream.MaxMemory = 4 }, "jetstream.max_memory_store: config reload not supported for decreasing jetstream max memory and store"},
		{"memory becomes given", nil, func(o O) { o.JetStream.MaxMemory = 4 }, "jetstream.max_memory_store: config reload not supported for jetstream dynamic max memory and store"},
		{"store", nil, func(o O) { o.JetStream.StoreDir = "x" }, "jetstream.store_dir: config reload not supported for jetstream storage directory"},
		{"streams end", func(o O) { o.JetStream.StoreDir, o.JetStream.MaxMemory = "x", 5 }, func(o O) { o.JetStream.Enabled = false },
			"jetstream.enabled ok, jetstream.store_dir ok, jetstream.max_memory_store ok"},
		{"streams begin", func(o O) { o.JetStream.Enabled = false }, func(o O) { o.JetStream.StoreDir, o.JetStream.Domain = "x", "d" },
			"jetstream.enabled ok, jetstream.store_dir ok, jetstream ok"},
		{"domain", nil, func(o O) { o.JetStream.Domain = "d" }, "refused"},
		{"remote comes", nil, func(o O) { o.Leaf.Remotes = []*options.RemoteLeaf{remote("a")} }, "leafnodes.remotes ok"},
		{"remote changes", func(o O) { o.Leaf.Remotes = []*options.RemoteLeaf{remote("a")} }, func(o O) {
			r := remote("a")
			r.Hub = true
			o.Leaf.Remotes = []*options.RemoteLeaf{r}
		}, `leafnodes.remotes: config reload not supported for LeafNode: remote urls=["nats://a"], account="$G": field "Hub": old=false, new=true`},
		{"remote is disabled", func(o O) { o.Leaf.Remotes = []*options.RemoteLeaf{remote("a")} }, func(o O) {
			r := remote("a")
			r.Disabled, r.TLS = true, &options.TLS{}
			o.Leaf.Remotes = []*options.RemoteLeaf{r}
		}, "leafnodes.remotes ok"},
		{"gateway tls", func(o O) { o.Gateway.Remotes = []*options.RemoteGateway{{Name: "a"}} }, func(o O) {
			o.Gateway.Remotes = []*options.RemoteGateway{{Name: "a", TLS: &options.TLS{}}}
		}, "gateway.tls ok"},
		{"mqtt", nil, func(o O) { o.MQTT.AckWait = 5; o.MQTT.TLS = &options.TLS{} }, "mqtt.tls ok, mqtt.sessions ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, new := options.Defaults(), options.Defaults()
			old.JetStream.Enabled, new.JetStream.Enabled = true, true
			if tt.old != nil {
				tt.old(old)
			}
			if tt.new != nil {
				tt.new(new)
			}
			var out []string
			for _, c := range Diff(old, new) {
				if c.Reloadable {
					out = append(out, c.Name+" ok")
				} else {
					out = append(out, c.Name+": "+c.Refusal())
				}
			}
			if got := strings.Join(out, ", "); got != tt.want && !(tt.want == "refused" && strings.HasPrefix(got, "jetstream: config reload not supported for JetStream: old={")) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestRefusalsKeepSecrets: passwords do not reach the log by way of a refused change.
func TestRefusalsKeepSecrets(t *testing.T) {
	old, new := options.Defaults(), options.Defaults()
	old.JetStream.Enabled, new.JetStream.Enabled = true, true
	new.Websocket.Authorization = options.Authorization{Password: "hush", Token: "hush", Users: []*options.User{{Password: "hush"}}}
	new.MQTT.Authorization.Password = "hush"
	new.Gateway.Authorization.Password = "hush"
	new.Leaf.Authorization.Password = "hush"
	new.JetStream.EncryptionKey = "hush"
	changes := Diff(old, new)
	if len(changes) != 5 {
		t.Errorf("%d changes", len(changes))
	}
	for _, c := range changes {
		if c.Reloadable || strings.Contains(c.Refusal(), "hush") {
			t.Errorf("%s", fmt.Sprint(c.Name, c.Refusal()))
		}
	}
}
