package config

import (
	"fmt"
	"net/url"
	"reflect"

	"godwit/server/options"
)

// blockSettings are those of the blocks for streams, peers and listeners.
func blockSettings() []setting {
	type O = *options.Options
	list := []setting{
		live("jetstream.enabled", func(o O) any { return o.JetStream.Enabled }),
		judged("jetstream.store_dir", func(o O) any { return o.JetStream.StoreDir }, whileOn(refuse("jetstream storage directory"))),
		judged("jetstream.max_memory_store", func(o O) any { return o.JetStream.MaxMemory }, whileOn(judgeStoreLimits)),
		judged("jetstream.max_file_store", func(o O) any { return o.JetStream.MaxStore }, whileOn(judgeStoreLimits)),
		live("jetstream.limits", func(o O) any { return o.JetStream.Limits }),
		live("jetstream.meta_compact", func(o O) any {
			return [...]any{o.JetStream.MetaCompact, o.JetStream.MetaCompactSize, o.JetStream.MetaCompactSync}
		}),
		judged("jetstream", otherStreamSettings, whileOn(func(old, new *options.Options) string {
			return notSupported("JetStream", otherStreamSettings(old), otherStreamSettings(new))
		})),
		judged("jetstream.encryption_key", func(o O) any {
			return [...]any{o.JetStream.EncryptionKey, o.JetStream.PrevEncryptionKey, o.JetStream.TPM}
		}, whileOn(refuse("jetstream encryption key"))),
	}
	return append(list, peerSettings()...)
}

// otherStreamSettings are those that have no rule of their own.
func otherStreamSettings(o *options.Options) any {
	j := o.JetStream
	j.Enabled, j.StoreDir, j.MaxMemory, j.MaxStore, j.Limits = false, "", 0, 0, options.JSLimits{}
	j.MetaCompact, j.MetaCompactSize, j.MetaCompactSync = 0, 0, false
	j.EncryptionKey, j.PrevEncryptionKey, j.TPM = "", "", nil
	return j
}

// whileOn asks judge about changes of streams only if there are streams before and after: they begin with whatever is
// configured then.
func whileOn(judge func(old, new *options.Options) string) func(old, new *options.Options) string {
	return func(old, new *options.Options) string {
		if !old.JetStream.Enabled || !new.JetStream.Enabled {
			return ""
		}
		return judge(old, new)
	}
}

func refuse(what string) func(old, new *options.Options) string {
	return func(old, new *options.Options) string { return "config reload not supported for " + what }
}

// judgeStoreLimits allows limits that were given to grow.
func judgeStoreLimits(old, new *options.Options) string {
	for _, pair := range [][2]int64{{old.JetStream.MaxMemory, new.JetStream.MaxMemory}, {old.JetStream.MaxStore, new.JetStream.MaxStore}} {
		switch before, after := pair[0], pair[1]; {
		case before == after:
		case before == options.Dynamic || after == options.Dynamic:
			return "config reload not supported for jetstream dynamic max memory and store"
		case after < before:
			return "config reload not supported for decreasing jetstream max memory and store"
		}
	}
	return ""
}

// peerSettings are those of routes, gateways, leaf nodes and the other listeners.
func peerSettings() []setting {
	type O = *options.Options
	return []setting{
		fixed("cluster.host", "cluster host", func(o O) any { return o.Cluster.Host }),
		fixed("cluster.port", "cluster port", func(o O) any { return o.Cluster.Port }),
		fixed("cluster.name", "cluster name", func(o O) any { return o.Cluster.Name }),
		live("cluster.routes", func(o O) any { return urlTexts(o.Cluster.Routes) }),
		live("cluster", func(o O) any {
			c := o.Cluster
			c.Host, c.Port, c.Name, c.Routes = "", 0, "", nil
			return c
		}),
		live("gateway.tls", func(o O) any { return gatewayTLS(&o.Gateway) }),
		fixed("gateway", "Gateway", func(o O) any { return withoutTLS(&o.Gateway) }),
		live("leafnodes.tls", func(o O) any { return o.Leaf.TLS }),
		live("leafnodes.compression", func(o O) any { return o.Leaf.Compression }),
		fixed("leafnodes", "LeafNode", func(o O) any {
			l := o.Leaf
			l.TLS, l.Compression, l.Remotes = nil, options.Compression{}, nil
			return l
		}),
		judged("leafnodes.remotes", func(o O) any { return o.Leaf.Remotes }, judgeRemotes),
		live("websocket.tls", func(o O) any { return o.Websocket.TLS }),
		fixed("websocket", "Websocket", func(o O) any {
			w := o.Websocket
			w.TLS = nil
			return w
		}),
		live("mqtt.tls", func(o O) any { return o.MQTT.TLS }),
		live("mqtt.sessions", func(o O) any {
			m := &o.MQTT
			return [...]any{m.AckWait, m.MaxAckPending, m.StreamReplicas, m.ConsumerMemoryStorage, m.ConsumerInactiveThreshold}
		}),
		fixed("mqtt", "MQTT", func(o O) any {
			m := o.MQTT
			m.TLS, m.AckWait, m.MaxAckPending, m.StreamReplicas = nil, 0, 0, 0
			m.ConsumerMemoryStorage, m.ConsumerInactiveThreshold = false, 0
			return m
		}),
	}
}

func urlTexts(urls []*url.URL) (list []string) {
	for _, u := range urls {
		list = append(list, u.String())
	}
	return list
}

// gatewayTLS returns the TLS of the gateway and, by name, of its remotes.
func gatewayTLS(g *options.Gateway) any {
	remotes := make(map[string]*options.TLS)
	for _, r := range g.Remotes {
		if r.TLS != nil {
			remotes[r.Name] = r.TLS
		}
	}
	return [...]any{g.TLS, remotes}
}

func withoutTLS(g *options.Gateway) options.Gateway {
	out := *g
	out.TLS, out.Remotes = nil, nil
	for _, r := range g.Remotes {
		c := *r
		c.TLS = nil
		out.Remotes = append(out.Remotes, &c)
	}
	return out
}

// judgeRemotes allows to add and remove remotes and to change some fields of one.
func judgeRemotes(old, new *options.Options) string {
	before := make(map[string]*options.RemoteLeaf)
	for _, r := range old.Leaf.Remotes {
		before[remoteName(r)] = r
	}
	for _, r := range new.Leaf.Remotes {
		was := before[remoteName(r)]
		if was == nil {
			continue
		}
		a, b := reflect.ValueOf(lasting(was)), reflect.ValueOf(lasting(r))
		for i := range a.NumField() {
			if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
				name := a.Type().Field(i).Name
				if name == "Nkey" { // a seed
					x, y = redacted, redacted
				}
				return fmt.Sprintf("config reload not supported for LeafNode: remote %s: field %q: old=%v, new=%v",
					remoteName(r), name, plain(x), plain(y))
			}
		}
	}
	return ""
}

// lasting returns a remote without what a reload can change.
func lasting(r *options.RemoteLeaf) options.RemoteLeaf {
	c := *r
	c.Compression, c.Disabled, c.TLS = options.Compression{}, false, nil
	if c.Proxy != nil {
		p := *c.Proxy
		p.TLS = nil
		c.Proxy = &p
	}
	return c
}
