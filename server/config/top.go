package config

import (
	"slices"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// topBlock declares the keys at the top of a file.
func topBlock() *conf.Block[build] {
	return conf.NewBlock(conf.Block[build]{
		Name: "Top level",
		Doc:  "Keys that stand in no block. Keys are matched in any case.",
	}, slices.Concat(networkFields(), limitFields(), timingFields(), logFields(), monitorFields(), fileFields(), identityFields(), securityFields(), blockFields())...)
}

func networkFields() []conf.Field[build] {
	host := func(b *build) *string { return &b.Host }
	port := func(b *build) *int { return &b.Port }
	return append(listenFields("the client listener", "4222", host, port),
		conf.Field[build]{Key: "client_advertise", Type: "host or host:port", Reload: conf.Live, Doc: "Address that clients and peers are told instead of the one listened on.",
			Set: conf.Str(func(b *build) *string { return &b.ClientAdvertise })},
		conf.Field[build]{Key: "tls", Type: "map", Block: "tls", Reload: conf.Live, Doc: "TLS of the client listener.",
			Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) { b.TLS = decodeTLS(d, v, tlsPlain) }},
		conf.Field[build]{Key: "allow_non_tls", Type: "boolean", Default: "false", Doc: "Clients may connect in clear although TLS is configured.",
			Set: conf.Flag(func(b *build) *bool { return &b.AllowNonTLS })},
		conf.Field[build]{Key: "proxy_protocol", Type: "boolean", Default: "false", Doc: "Client connections open with a PROXY protocol header (version 1 or 2).",
			Set: conf.Flag(func(b *build) *bool { return &b.ProxyProtocol })},
		conf.Field[build]{Key: "connect_error_reports", Type: "integer", Default: "3600", Reload: conf.Live, Doc: "Every how many failed first attempts to reach a peer one is logged.",
			Set: conf.Number(func(b *build) *int { return &b.ConnectErrorReports })},
		conf.Field[build]{Key: "reconnect_error_reports", Type: "integer", Default: "1", Reload: conf.Live, Doc: "The same for attempts after a connection was lost.",
			Set: conf.Number(func(b *build) *int { return &b.ReconnectErrorReports })},
	)
}

func limitFields() []conf.Field[build] {
	return []conf.Field[build]{
		{Key: "max_connections", Aliases: []string{"max_conn"}, Type: "integer", Default: "65536", Reload: conf.Live, Doc: "Clients connected at a time; 0 lets nobody in. When a reload lowers it, the clients above it are closed.", Set: setMaxConn},
		{Key: "max_subscriptions", Aliases: []string{"max_subs"}, Type: "integer", Default: "0", Doc: "Subscriptions of one connection; 0 is unlimited.",
			Set: conf.Number(func(b *build) *int { return &b.MaxSubs })},
		{Key: "max_sub_tokens", Aliases: []string{"max_subscription_tokens"}, Type: "integer", Bounds: "1 to 255", Doc: "Tokens in the subject of a subscription; default is no limit.", Set: setMaxSubTokens},
		{Key: "max_control_line", Type: "integer", Unit: "bytes", Default: "4096", Bounds: "below 2 GiB", Reload: conf.Live, Doc: "Longest protocol line of a client.",
			Set: conf.Number(func(b *build) *int32 { return &b.MaxControlLine })},
		{Key: "max_payload", Type: "integer", Unit: "bytes", Default: "1MB", Bounds: "below 2 GiB and not above max_pending", Reload: conf.Live, Doc: "Largest message: headers and payload.",
			Set: conf.Number(func(b *build) *int32 { return &b.MaxPayload })},
		{Key: "max_pending", Type: "integer", Unit: "bytes", Default: "64MB", Doc: "Bytes waiting for one connection before it counts as a slow consumer and is closed.",
			Set: conf.Number(func(b *build) *int64 { return &b.MaxPending })},
		{Key: "max_closed_clients", Type: "integer", Default: "10000", Doc: "Closed connections that /connz remembers.",
			Set: conf.Number(func(b *build) *int { return &b.MaxClosedClients })},
		{Key: "no_header_support", Type: "boolean", Default: "false", Doc: "Clients may not send messages with headers.",
			Set: conf.Flag(func(b *build) *bool { return &b.NoHeaderSupport })},
		{Key: "disable_sublist_cache", Aliases: []string{"no_sublist_cache"}, Type: "boolean", Default: "false", Doc: "Do not remember which subscriptions a subject matches.",
			Set: conf.Flag(func(b *build) *bool { return &b.NoSublistCache })},
	}
}

func setMaxConn(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	if n, ok := d.Int(v); ok {
		if b.MaxConn = int(n); n <= 0 {
			b.MaxConn = options.RefuseAll
		}
	}
}

func setMaxSubTokens(d *conf.Decoder, key string, v *conf.Value, b *build) {
	n, ok := d.Int(v)
	switch {
	case !ok:
	case n > 255:
		d.Errorf(v, "%s value is too big", key)
	case n <= 0:
		d.Errorf(v, "%s value can not be negative", key)
	default:
		b.MaxSubTokens = int(n)
	}
}

func timingFields() []conf.Field[build] {
	fields := []conf.Field[build]{
		{Key: "ping_interval", Type: "duration", Default: "2m", Reload: conf.Live, Doc: "Time without traffic after which a client is pinged.",
			Set: conf.Span("ping_interval", func(b *build) *time.Duration { return &b.PingInterval })},
		{Key: "ping_max", Type: "integer", Default: "2", Reload: conf.Live, Doc: "Pings without an answer after which a connection is closed as stale.",
			Set: conf.Number(func(b *build) *int { return &b.MaxPingsOut })},
		{Key: "no_fast_producer_stall", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Do not slow down a publisher whose receivers fall behind.",
			Set: conf.Flag(func(b *build) *bool { return &b.NoFastProducerStall })},
		{Key: "lame_duck_duration", Type: "duration, as a string", Default: "2m", Bounds: "at least 30s", Doc: "Time over which a server in lame duck mode closes its clients.", Set: setLameDuckDuration},
		{Key: "lame_duck_grace_period", Type: "duration, as a string", Default: "10s", Bounds: "shorter than lame_duck_duration", Doc: "Time between the announcement of lame duck mode and the first closed client.", Set: setLameDuckGrace},
	}
	return append(fields, writeFields("10s", func(b *build) *time.Duration { return &b.WriteDeadline }, func(b *build) *options.WriteTimeoutPolicy { return &b.Options.WriteTimeout }, conf.Live)...)
}

func setLameDuckDuration(d *conf.Decoder, key string, v *conf.Value, b *build) {
	var t time.Duration
	errors := d.Count()
	strictSpan("error parsing lame_duck_duration: ", func(b *build) *time.Duration { return &t })(d, key, v, b)
	switch {
	case d.Count() != errors:
	case t < 30*time.Second:
		d.Errorf(v, "invalid lame_duck_duration of %v, minimum is 30 seconds", t)
	default:
		b.LameDuckDuration = t
	}
}

func setLameDuckGrace(d *conf.Decoder, key string, v *conf.Value, b *build) {
	var t time.Duration
	errors := d.Count()
	strictSpan("error parsing lame_duck_grace_period: ", func(b *build) *time.Duration { return &t })(d, key, v, b)
	switch {
	case d.Count() != errors:
	case t < 0:
		d.Errorf(v, "invalid lame_duck_grace_period, needs to be positive")
	default:
		b.LameDuckGrace = t
	}
}

func logFields() []conf.Field[build] {
	also := func(at func(*build) *bool) conf.Setter[build] {
		return func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			if on, ok := d.Bool(v); ok {
				*at(b), b.Log.Trace = on, on
			}
		}
	}
	return []conf.Field[build]{
		{Key: "debug", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Log what helps to find mistakes.",
			Set: conf.Flag(func(b *build) *bool { return &b.Log.Debug })},
		{Key: "trace", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Log all traffic of clients and peers.",
			Set: conf.Flag(func(b *build) *bool { return &b.Log.Trace })},
		{Key: "trace_verbose", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Log all traffic, that of the system account too. Sets trace.",
			Set: also(func(b *build) *bool { return &b.Log.TraceVerbose })},
		{Key: "trace_headers", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Log traffic, but only the headers of messages. Sets trace.",
			Set: also(func(b *build) *bool { return &b.Log.TraceHeaders })},
		{Key: "max_traced_msg_len", Type: "integer", Unit: "bytes", Default: "0", Reload: conf.Live, Doc: "How much of a payload a trace shows; 0 shows all.",
			Set: conf.Number(func(b *build) *int { return &b.Log.MaxTracedMsgLen })},
		{Key: "logtime", Type: "boolean", Default: "true", Reload: conf.Live, Doc: "Log lines show the time.",
			Set: conf.Flag(func(b *build) *bool { return &b.Log.Time })},
		{Key: "logtime_utc", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "The time is UTC instead of local.",
			Set: conf.Flag(func(b *build) *bool { return &b.Log.UTC })},
		{Key: "log_file", Aliases: []string{"logfile"}, Type: "path", Reload: conf.Live, Doc: "File to log to instead of standard error.",
			Set: conf.Str(func(b *build) *string { return &b.Log.File })},
		{Key: "log_size_limit", Aliases: []string{"logfile_size_limit"}, Type: "integer", Unit: "bytes", Default: "0", Doc: "Size at which the log file is put aside and a new one begun; 0 is never.",
			Set: conf.Number(func(b *build) *int64 { return &b.Log.SizeLimit })},
		{Key: "log_max_num", Aliases: []string{"logfile_max_num"}, Type: "integer", Default: "0", Doc: "Log files put aside that are kept; 0 keeps all.",
			Set: conf.Number(func(b *build) *int { return &b.Log.MaxFiles })},
		{Key: "syslog", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Log to the system's log.",
			Set: conf.Flag(func(b *build) *bool { return &b.Log.Syslog })},
		{Key: "remote_syslog", Type: "URL", Reload: conf.Live, Doc: "Log to the system's log of another machine, as in `udp://host:514`.",
			Set: conf.Str(func(b *build) *string { return &b.Log.RemoteSyslog })},
	}
}

func monitorFields() []conf.Field[build] {
	host := func(b *build) *string { return &b.Monitoring.HTTPHost }
	port := func(b *build) *int { return &b.Monitoring.HTTPPort }
	secure := func(b *build) *int { return &b.Monitoring.HTTPSPort }
	return []conf.Field[build]{
		{Key: "http", Type: "port or host:port", Doc: "Address of the monitoring endpoints.", Set: hostPort(host, port)},
		{Key: "https", Type: "port or host:port", Doc: "Address of the monitoring endpoints with TLS, for which the tls block is used.", Set: hostPort(host, secure)},
		{Key: "http_port", Aliases: []string{"monitor_port"}, Type: "integer", Default: "0", Doc: "Port of the monitoring endpoints; 0 is off, -1 lets the system choose.", Set: conf.Number(port)},
		{Key: "https_port", Type: "integer", Default: "0", Doc: "The same with TLS.", Set: conf.Number(secure)},
		{Key: "http_base_path", Type: "path", Default: "/", Doc: "Path before the names of the endpoints.",
			Set: conf.Str(func(b *build) *string { return &b.Monitoring.HTTPBasePath })},
		{Key: "http_authorization", Type: "map", Block: "http_authorization", Reload: conf.Live, Doc: "Who may use the monitoring endpoints; default is everybody. Not in nats-server.", Set: setMonitoringLogin},
		{Key: "http_messages", Type: "boolean", Reload: conf.Live, Doc: "Without `http_authorization`, whether the dashboard shows stored messages; default is true if the monitoring port listens on a loopback address only. Not in nats-server.",
			Set: func(d *conf.Decoder, key string, v *conf.Value, b *build) {
				if flag, ok := d.Bool(v); ok {
					b.Monitoring.Messages = &flag
				}
			}},
		{Key: "prof_port", Type: "integer", Default: "0", Doc: "Port of the profiling endpoints; 0 is off.",
			Set: conf.Number(func(b *build) *int { return &b.Monitoring.ProfPort })},
		{Key: "prof_block_rate", Type: "integer", Unit: "nanoseconds", Default: "0", Reload: conf.Live, Doc: "Blocked time for which the block profile takes one sample on average; 0 is off.",
			Set: conf.Number(func(b *build) *int { return &b.Monitoring.ProfBlockRate })},
	}
}

func fileFields() []conf.Field[build] {
	return []conf.Field[build]{
		{Key: "pid_file", Aliases: []string{"pidfile"}, Type: "path", Reload: conf.Live, Doc: "File to which the process id is written.",
			Set: conf.Str(func(b *build) *string { return &b.PidFile })},
		{Key: "ports_file_dir", Type: "path", Reload: conf.Live, Doc: "Directory in which a file lists the addresses listened on while the server runs.",
			Set: conf.Str(func(b *build) *string { return &b.PortsDir })},
		{Key: "store_dir", Aliases: []string{"storedir"}, Type: "path", Doc: "Directory of the streams; the same as store_dir in the jetstream block.", Set: setStoreDir},
	}
}

func setStoreDir(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	dir, ok := d.String(v)
	switch {
	case !ok:
	case b.storeDirSet:
		d.Errorf(v, "Duplicate 'store_dir' configuration")
	default:
		b.JetStream.StoreDir, b.storeDirSet = dir, true
	}
}

func identityFields() []conf.Field[build] {
	return []conf.Field[build]{
		{Key: "server_name", Type: "string", Bounds: "no spaces", Doc: "Name of the server, unique among those connected to each other; default is its id.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			if s, ok := d.String(v); ok && noSpaces(d, v, "server", s) {
				b.ServerName = s
			}
		}},
		{Key: "server_tags", Type: "string or list of strings", Reload: conf.Live, Doc: "Labels by which streams choose servers; kept in lower case.", Set: setTags},
		{Key: "server_metadata", Type: "map of strings", Reload: conf.Live, Doc: "Notes shown with the server's other data.", Set: setMetadata},
		{Key: "feature_flags", Type: "map of booleans", Doc: "Behaviours to switch on or off: `js_ack_fc_v2`, `js_api_reply_v2`, `js_raft_delete_range`, `js_snapshot_sources`.", Set: setFeatureFlags},
	}
}

func setTags(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	var tags []string
	switch v.Kind {
	case conf.String:
		tags = []string{v.Text}
	case conf.List:
		for _, e := range v.List {
			if e.Kind != conf.String {
				d.Errorf(v, "error parsing tags: unsupported type %s where string is expected", e.GoType())
				return
			}
			tags = append(tags, e.Text)
		}
	default:
		d.Errorf(v, "error parsing tags: unsupported type %s", v.GoType())
		return
	}
	for _, t := range tags {
		t = strings.ToLower(strings.TrimSpace(t))
		if t != "" && !slices.Contains(b.Tags, t) {
			b.Tags = append(b.Tags, t)
		}
	}
}

func setMetadata(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	if v.Kind != conf.MapKind {
		d.Errorf(v, "error parsing metadata: unsupported type %s", v.GoType())
		return
	}
	b.Metadata = make(map[string]string, len(v.Map.Members))
	for _, m := range v.Map.Members {
		if s, ok := d.String(m.Value); ok {
			b.Metadata[m.Key] = s
		}
	}
}

func setFeatureFlags(d *conf.Decoder, _ string, v *conf.Value, b *build) {
	if v.Kind != conf.MapKind {
		d.Errorf(v, "error parsing feature flags: unsupported type %s", v.GoType())
		return
	}
	b.FeatureFlags = make(map[string]bool, len(v.Map.Members))
	for _, m := range v.Map.Members {
		if m.Value.Kind != conf.Bool {
			d.Errorf(m.Value, "error parsing feature flag %q: expected bool, got %s", m.Key, m.Value.GoType())
			continue
		}
		b.FeatureFlags[m.Key] = m.Value.Flag
	}
}

// blockFields are the keys whose values are blocks of their own files.
func blockFields() []conf.Field[build] {
	return []conf.Field[build]{
		{Key: "jetstream", Type: "boolean, `enabled`, `disabled` or map", Block: "jetstream", Default: "false", Reload: conf.Partly, Doc: "Streams. A map switches them on. Reloadable: on and off, more memory and storage (where both old and new are given), limits, and meta_compact.", Set: setJetStream},
		{Key: "cluster", Type: "map", Block: "cluster", Reload: conf.Partly, Doc: "Routes to the other servers of the cluster. Everything but host, port and name can be reloaded.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) { clusterBlock().Decode(d, v, &b.Cluster) }},
		{Key: "gateway", Type: "map", Block: "gateway", Reload: conf.Partly, Doc: "Connections to other clusters. Only tls can be reloaded.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) { gatewayBlock().Decode(d, v, &b.Gateway) }},
		{Key: "leafnodes", Aliases: []string{"leaf"}, Type: "map", Block: "leafnodes", Reload: conf.Partly, Doc: "Leaf nodes: those that connect here, and remotes that this server connects to. Remotes can be added and removed, compression and tls changed.", Set: setLeaf},
		{Key: "websocket", Aliases: []string{"ws"}, Type: "map", Block: "websocket", Reload: conf.Partly, Doc: "Listener for WebSocket clients. Only tls can be reloaded.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) {
			websocketBlock().Decode(d, v, &b.Websocket)
		}},
		{Key: "mqtt", Type: "map", Block: "mqtt", Reload: conf.Partly, Doc: "Listener for MQTT clients. tls, ack_wait, max_ack_pending, stream_replicas, consumer_memory_storage and consumer_inactive_threshold can be reloaded.", Set: func(d *conf.Decoder, _ string, v *conf.Value, b *build) { mqttBlock().Decode(d, v, &b.MQTT) }},
	}
}

// mustBeMap returns a NotMap that notes an error in the words given.
func mustBeMap(format string) func(*conf.Decoder, *conf.Value) {
	return func(d *conf.Decoder, v *conf.Value) { d.Errorf(v, format, v.GoType()) }
}
