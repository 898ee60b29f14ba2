package config

import (
	"math"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// mqttBlock declares the mqtt block.
func mqttBlock() *conf.Block[options.MQTT] {
	type M = options.MQTT
	flag := func(key, doc string, reload conf.Reload, at func(*M) *bool) conf.Field[M] {
		return conf.Field[M]{Key: key, Type: "boolean", Default: "false", Reload: reload, Doc: doc, Set: conf.Flag(at)}
	}
	return conf.NewBlock(conf.Block[M]{
		Name: "mqtt", Doc: "Listener for MQTT clients. It needs server_name and streams.",
		NotMap: mustBeMap("Expected mqtt to be a map, got %s"),
	}, append(listenFields("the MQTT listener", "0", func(m *M) *string { return &m.Host }, func(m *M) *int { return &m.Port }),
		conf.Field[M]{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of the listener.", Set: func(d *conf.Decoder, _ string, v *conf.Value, m *M) { m.TLS = decodeTLS(d, v, tlsPlain) }},
		conf.Field[M]{Key: "authorization", Aliases: []string{"authentication"}, Type: "map", Block: "listener authorization", Doc: "Single user or token for this listener, instead of the server's.", Set: listenerAuth(func(m *M) *options.Authorization { return &m.Authorization })},
		conf.Field[M]{Key: "no_auth_user", Type: "string", Doc: "User of clients without credentials on this listener.", Set: conf.Str(func(m *M) *string { return &m.NoAuthUser })},
		conf.Field[M]{Key: "ack_wait", Aliases: []string{"ackwait"}, Type: "duration", Default: "30s", Reload: conf.Live, Doc: "Time after which a QoS 1 message without an acknowledgement is sent again.", Set: conf.Span("ack_wait", func(m *M) *time.Duration { return &m.AckWait })},
		conf.Field[M]{Key: "js_api_timeout", Aliases: []string{"api_timeout"}, Type: "duration", Default: "5s", Doc: "Time for an answer of the streams' API.", Set: conf.Span("js_api_timeout", func(m *M) *time.Duration { return &m.APITimeout })},
		conf.Field[M]{Key: "max_ack_pending", Aliases: []string{"max_pending", "max_inflight"}, Type: "integer", Default: "1024", Bounds: "0 to 65535", Reload: conf.Live, Doc: "QoS 1 messages of one subscription that wait for acknowledgements.", Set: func(d *conf.Decoder, _ string, v *conf.Value, m *M) {
			n, ok := d.Int(v)
			switch {
			case !ok:
			case n < 0 || n > math.MaxUint16:
				d.Errorf(v, "invalid value %d, should in [0..%d] range", n, math.MaxUint16)
			default:
				m.MaxAckPending = uint16(n)
			}
		}},
		conf.Field[M]{Key: "js_domain", Type: "string", Doc: "Domain of the streams that keep sessions.", Set: conf.Str(func(m *M) *string { return &m.JSDomain })},
		conf.Field[M]{Key: "stream_replicas", Type: "integer", Reload: conf.Live, Doc: "Replicas of those streams; default depends on the size of the cluster.", Set: conf.Number(func(m *M) *int { return &m.StreamReplicas })},
		conf.Field[M]{Key: "consumer_replicas", Type: "integer", Doc: "Has no effect.", Set: func(d *conf.Decoder, key string, v *conf.Value, _ *M) {
			d.Misused(v, key, "consumer replicas setting ignored in this server version")
		}},
		flag("consumer_memory_storage", "Keep the state of consumers in memory.", conf.Live, func(m *M) *bool { return &m.ConsumerMemoryStorage }),
		conf.Field[M]{Key: "consumer_inactive_threshold", Aliases: []string{"consumer_auto_cleanup"}, Type: "duration", Reload: conf.Live, Doc: "Time after which unused consumers are removed; default is never.", Set: conf.Span("consumer_inactive_threshold", func(m *M) *time.Duration { return &m.ConsumerInactiveThreshold })},
		flag("reject_qos2_publish", "Disconnect clients that publish with QoS 2.", conf.Restart, func(m *M) *bool { return &m.RejectQoS2Publish }),
		flag("downgrade_qos2_subscribe", "Grant QoS 1 where QoS 2 was asked for.", conf.Restart, func(m *M) *bool { return &m.DowngradeQoS2Subscribe }),
	)...)
}
