package monitor

import (
	"maps"
	"net/http"
	"slices"
)

// MetricsContentType is the type of the Prometheus text format.
const MetricsContentType = "text/plain; version=0.0.4; charset=utf-8"

func (m *Monitor) metricsHTTP(*http.Request) response {
	return response{code: http.StatusOK, kind: MetricsContentType, body: m.Metrics()}
}

// Metrics returns the figures of the server and of all collectors in the Prometheus text format.
func (m *Monitor) Metrics() []byte {
	w := NewMetricsWriter()
	m.serverMetrics(w)
	m.indexMetrics(w)
	m.jetStreamMetrics(w)
	for _, c := range m.collectors {
		c.Collect(w)
	}
	return w.Bytes()
}

func (m *Monitor) serverMetrics(w *MetricsWriter) {
	v := m.Varz()
	id := m.src.Identity()
	w.Heading("info", "gauge", "Constant 1; labels name the server.")
	w.Sample(1, "server_id", id.ID, "server_name", id.Name, "version", id.Version, "go", v.Go, "cluster", v.Cluster.Name)
	w.Gauge("start_time_seconds", "Unix time at which the server started.", unixSeconds(v.Start.UnixNano()))
	w.Gauge("config_load_time_seconds", "Unix time at which the configuration was last loaded.", unixSeconds(v.ConfigLoadTime.UnixNano()))
	w.Gauge("ready", "1 if every listener is up.", oneIf(len(m.src.NotReady()) == 0))
	w.Gauge("process_resident_memory_bytes", "Memory of the process that is resident.", float64(v.Mem))
	w.Counter("process_cpu_seconds_total", "Time the process ran on processors.", cpuTime().Seconds())
	w.Gauge("process_cores", "Processors usable by the process.", float64(v.Cores))
	w.Gauge("process_gomaxprocs", "Processors the Go runtime uses at one time.", float64(v.GoMaxProcs))

	w.Heading("connections", "gauge", "Connections open now.")
	w.Sample(float64(v.Connections), "kind", "client")
	w.Sample(float64(v.Routes), "kind", "route")
	w.Sample(float64(v.Leafs), "kind", "leafnode")
	w.Gauge("connections_max", "Client connections allowed at one time.", float64(v.MaxConn))
	w.Counter("connections_opened_total", "Client connections accepted since the start.", float64(v.TotalConnections))
	w.Counter("connections_closed_total", "Client and leafnode connections closed since the start.", float64(m.src.ClosedConns().Total()))
	w.Gauge("remote_servers", "Distinct servers at the other end of routes.", float64(v.Remotes))

	w.Heading("messages_total", "counter", "Messages received (in) and sent (out), by all connections and by clients.")
	w.Sample(float64(v.InMsgs), "direction", "in", "connections", "all")
	w.Sample(float64(v.InClientMsgs), "direction", "in", "connections", "client")
	w.Sample(float64(v.OutMsgs), "direction", "out", "connections", "all")
	w.Sample(float64(v.OutClientMsgs), "direction", "out", "connections", "client")
	w.Heading("message_bytes_total", "counter", "Bytes of messages received (in) and sent (out), by all connections and by clients.")
	w.Sample(float64(v.InBytes), "direction", "in", "connections", "all")
	w.Sample(float64(v.InClientBytes), "direction", "in", "connections", "client")
	w.Sample(float64(v.OutBytes), "direction", "out", "connections", "all")
	w.Sample(float64(v.OutClientBytes), "direction", "out", "connections", "client")

	kindMetric(w, "slow_consumers_total", "Connections closed, or kept from sending, because they read too slowly.", v.SlowConsumersStats)
	kindMetric(w, "stale_connections_total", "Connections closed because they stopped answering.", v.StaleConnectionStats)
	w.Counter("stalled_clients_total", "Times a publisher was held back by a slow subscriber.", float64(v.StalledClients))

	w.Heading("monitor_requests_total", "counter", "HTTP requests to the monitoring port by path.")
	for _, path := range sortedKeys(v.HTTPReqStats) {
		w.Sample(float64(v.HTTPReqStats[path]), "path", path)
	}
	w.Counter("monitor_requests_delayed_total", "HTTP requests that waited because too many were being answered.", float64(m.waited.Load()))
	w.Counter("disk_waits_total", "Times work waited for its turn at the disk.", float64(v.DiskIOWait.Waits))
	w.Counter("disk_wait_seconds_total", "Time work waited for its turn at the disk.", unixSeconds(int64(v.DiskIOWait.WaitTime)))
	w.Gauge("disk_waiters", "Work waiting for its turn at the disk.", float64(v.DiskIOWait.Waiters))
}

func (m *Monitor) indexMetrics(w *MetricsWriter) {
	st, _ := m.src.SublistStats("")
	w.Gauge("subscriptions", "Subscriptions of all accounts, internal ones included.", float64(st.NumSubs))
	w.Counter("subscriptions_added_total", "Subscriptions added.", float64(st.NumInserts))
	w.Counter("subscriptions_removed_total", "Subscriptions removed.", float64(st.NumRemoves))
	w.Counter("subscription_matches_total", "Subjects looked up in the subscription index.", float64(st.NumMatches))
	w.Gauge("subscription_cache_hit_ratio", "Share of look-ups answered from a cache.", st.CacheHitRate)
	w.Gauge("accounts", "Accounts loaded.", float64(len(m.src.AccountNames())))
	w.Heading("queue_pending", "gauge", "Entries waiting in an internal queue.")
	for _, q := range m.src.Queues() {
		w.Sample(float64(q.Pending), "queue", q.Name)
	}
}

func (m *Monitor) jetStreamMetrics(w *MetricsWriter) {
	t := m.src.JetStream(true)
	w.Gauge("jetstream_enabled", "1 if JetStream is on.", oneIf(t != nil))
	if t == nil {
		return
	}
	s := &t.Stats
	w.Heading("jetstream_used_bytes", "gauge", "Bytes held by streams.")
	w.Sample(float64(s.Memory), "storage", "memory")
	w.Sample(float64(s.Store), "storage", "file")
	w.Heading("jetstream_reserved_bytes", "gauge", "Bytes reserved for accounts and streams.")
	w.Sample(float64(s.ReservedMemory), "storage", "memory")
	w.Sample(float64(s.ReservedStore), "storage", "file")
	w.Heading("jetstream_max_bytes", "gauge", "Bytes streams may hold.")
	w.Sample(float64(t.Config.MaxMemory), "storage", "memory")
	w.Sample(float64(t.Config.MaxStore), "storage", "file")
	w.Gauge("jetstream_accounts", "Accounts that use JetStream.", float64(s.Accounts))
	w.Gauge("jetstream_streams", "Streams with a replica here.", float64(t.Streams))
	w.Gauge("jetstream_streams_led", "Streams this server leads.", float64(t.StreamsLeader))
	w.Gauge("jetstream_consumers", "Consumers with a replica here.", float64(t.Consumers))
	w.Gauge("jetstream_consumers_led", "Consumers this server leads.", float64(t.ConsumersLeader))
	w.Gauge("jetstream_messages", "Messages held by streams.", float64(t.Messages))
	w.Gauge("jetstream_message_bytes", "Bytes of messages held by streams.", float64(t.Bytes))
	w.Heading("jetstream_buffer_bytes", "gauge", "Memory for messages stored lately (tail), and for those read one by one (cache).")
	w.Sample(float64(t.Tail.Used), "buffer", "tail")
	w.Sample(float64(t.Cache.Used), "buffer", "cache")
	w.Heading("jetstream_buffer_max_bytes", "gauge", "Bounds of that memory.")
	w.Sample(float64(t.Tail.Max), "buffer", "tail")
	w.Sample(float64(t.Cache.Max), "buffer", "cache")
	w.Counter("jetstream_segments_rewritten_total", "Segments rewritten without messages that were removed.", float64(t.Rewritten))
	w.Counter("jetstream_rewrite_failures_total", "Times a segment could not be rewritten; it stays as it was and is tried again.", float64(t.RewriteFailed))
	w.Counter("jetstream_rewrite_freed_bytes_total", "Disk space that rewriting gave back.", float64(t.Freed))
	w.Gauge("jetstream_disk_free_bytes", "Bytes free where the files of streams are.", float64(t.DiskFree))
	w.Gauge("jetstream_disk_full", "1 if publishes are refused because less is free than the reserve.", oneIf(t.DiskFull))
	w.Counter("jetstream_api_requests_total", "API requests.", float64(s.API.Total))
	w.Counter("jetstream_api_errors_total", "API requests answered with an error.", float64(s.API.Errors))
	w.Gauge("jetstream_api_inflight", "API requests being worked on.", float64(s.API.Inflight))
	w.Counter("jetstream_audited_consumers_total", "Consumers checked, a part of each busy stream at a time.", float64(t.Audited))
	w.Counter("jetstream_violations_total", "Contradictions found by these checks; any is a bug, and the log has the details.", float64(t.Violations))
	if t.Meta != nil {
		w.Gauge("jetstream_meta_cluster_size", "Servers in the metadata group.", float64(t.Meta.Size))
		w.Gauge("jetstream_meta_pending", "Entries of the metadata group not yet applied.", float64(t.Meta.Pending))
		w.Gauge("jetstream_meta_leader", "1 if this server leads the metadata group.", oneIf(m.src.IsMetaLeader()))
	}
}

func kindMetric(w *MetricsWriter, name, help string, c KindCounts) {
	w.Heading(name, "counter", help)
	w.Sample(float64(c.Clients), "kind", "client")
	w.Sample(float64(c.Routes), "kind", "route")
	w.Sample(float64(c.Gateways), "kind", "gateway")
	w.Sample(float64(c.Leafs), "kind", "leafnode")
}

func unixSeconds(nanos int64) float64 { return float64(nanos) / 1e9 }

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sortedKeys(m map[string]uint64) []string { return slices.Sorted(maps.Keys(m)) }
