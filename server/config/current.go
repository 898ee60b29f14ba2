package config

import (
	"strconv"
	"time"

	"godwit/server/options"
)

// current returns the value in force of keys that have one for the whole server, by path, in the form in which a file
// would have it. Missing ones have the declared default or none.
func current(o *options.Options) map[string]any {
	out := make(map[string]any)
	for _, s := range settings() {
		put(out, s.name, s.get(o))
	}
	delete(out, "http") // a host here, an address in a file
	if o.MaxConn == options.RefuseAll {
		out["max_connections"] = int64(0)
	}
	currentStreams(out, &o.JetStream)
	currentPeers(out, o)
	currentListeners(out, o)
	return out
}

// currentStreams adds what is told by a number of the jetstream block. Zero is the default of most.
func currentStreams(out map[string]any, j *options.JetStream) {
	delete(out, "jetstream.max_memory_store")
	delete(out, "jetstream.max_file_store")
	const b = "jetstream."
	if j.MaxMemory != options.Dynamic {
		put(out, b+"max_memory_store", j.MaxMemory)
	}
	if j.MaxStore != options.Dynamic {
		put(out, b+"max_file_store", j.MaxStore)
	}
	if j.SyncAlways {
		put(out, b+"sync_interval", "always")
	} else {
		put(out, b+"sync_interval", j.SyncInterval)
	}
	if j.DiskReserve < 0 {
		put(out, b+"disk_reserve", 0)
	} else {
		putSet(out, b+"disk_reserve", j.DiskReserve)
	}
	if j.OwnFileSystem != nil {
		put(out, b+"own_file_system", *j.OwnFileSystem)
	}
	put(out, b+"strict", j.Strict)
	putSet(out, b+"domain", j.Domain)
	putSet(out, b+"unique_tag", j.UniqueTag)
	putSet(out, b+"extension_hint", j.ExtensionHint)
	putSet(out, b+"tail_memory", j.TailMemory)
	putSet(out, b+"cache_memory", j.CacheMemory)
	putSet(out, b+"segment_size", j.SegmentSize)
	putSet(out, b+"max_outstanding_catchup", j.MaxCatchup)
	putSet(out, b+"max_buffered_size", j.MaxBufferedSize)
	putSet(out, b+"max_buffered_msgs", j.MaxBufferedMsgs)
	put(out, b+"request_queue_limit", j.RequestQueue)
	putSet(out, b+"info_queue_limit", j.InfoQueue)
	put(out, b+"meta_compact", j.MetaCompact)
	put(out, b+"meta_compact_size", j.MetaCompactSize)
	put(out, b+"meta_compact_sync", j.MetaCompactSync)
	putSet(out, b+"max_concurrent_io", j.MaxConcurrentIO)
	put(out, b+"limits.default_max_consumers", j.Limits.DefaultMaxConsumers)
	put(out, b+"limits.max_ack_pending", j.Limits.MaxAckPending)
	put(out, b+"limits.max_request_batch", j.Limits.MaxRequestBatch)
	putSet(out, b+"limits.duplicate_window", j.Limits.DuplicateWindow)
}

func currentPeers(out map[string]any, o *options.Options) {
	put(out, "cluster.pool_size", o.Cluster.PoolSize)
	put(out, "cluster.no_advertise", o.Cluster.NoAdvertise)
	put(out, "cluster.connect_retries", o.Cluster.ConnectRetries)
	putSet(out, "cluster.cluster_advertise", o.Cluster.Advertise)
	put(out, "gateway.host", o.Gateway.Host)
	put(out, "gateway.port", o.Gateway.Port)
	put(out, "leafnodes.host", o.Leaf.Host)
	put(out, "leafnodes.port", o.Leaf.Port)
	put(out, "leafnodes.reconnect", o.Leaf.Reconnect)
	put(out, "leafnodes.dial_timeout", o.Leaf.DialTimeout)
}

func currentListeners(out map[string]any, o *options.Options) {
	put(out, "websocket.host", o.Websocket.Host)
	put(out, "websocket.port", o.Websocket.Port)
	put(out, "mqtt.host", o.MQTT.Host)
	put(out, "mqtt.port", o.MQTT.Port)
	put(out, "mqtt.ack_wait", o.MQTT.AckWait)
	put(out, "mqtt.js_api_timeout", o.MQTT.APITimeout)
	put(out, "mqtt.max_ack_pending", int(o.MQTT.MaxAckPending))
	if t := o.TLS; t != nil {
		putSet(out, "tls.cert_file", t.CertFile)
		putSet(out, "tls.key_file", t.KeyFile)
		putSet(out, "tls.ca_file", t.CAFile)
		put(out, "tls.verify", t.Verify)
	}
	putSet(out, "authorization.user", o.Authorization.Username)
	putSet(out, "authorization.pass", o.Authorization.Password)
	putSet(out, "authorization.token", o.Authorization.Token)
}

// putSet adds a value that is not zero.
func putSet[T comparable](out map[string]any, path string, v T) {
	var zero T
	if v != zero {
		put(out, path, v)
	}
}

// put adds a value as a file would have it, or nothing if it is not a simple one.
func put(out map[string]any, path string, v any) {
	switch v := v.(type) {
	case bool, int64:
		out[path] = v
	case int:
		out[path] = int64(v)
	case int32:
		out[path] = int64(v)
	case string:
		if v != "" {
			out[path] = v
		}
	case time.Duration:
		out[path] = spanText(v)
	case options.WriteTimeoutPolicy:
		out[path] = v.String()
	case []string:
		if len(v) > 0 {
			list := make([]any, len(v))
			for i, s := range v {
				list[i] = s
			}
			out[path] = list
		}
	}
}

// spanText writes a duration without units that are zero: "2m" and not "2m0s".
func spanText(d time.Duration) string {
	switch {
	case d != 0 && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d != 0 && d%time.Minute == 0 && d < time.Hour:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return d.String()
}
