package server

import (
	"godwit/server/monitor"
	"godwit/stream/latency"
)

// consumersMost is how many consumers are shown one by one in /metrics: with more of them, none is.
const consumersMost = 1000

// collectConns adds what connections hold back.
func (s *Server) collectConns(w *monitor.MetricsWriter) {
	var pending, most int64
	source{Server: s}.EachConn(func(c *monitor.Conn) bool {
		pending += int64(c.Pending)
		most = max(most, int64(c.Pending))
		return true
	})
	w.Gauge("connections_pending_bytes", "Bytes that wait to be sent to clients.", float64(pending))
	w.Gauge("connections_pending_most_bytes", "Of those, what waits for the client for which most does; at max_pending it is closed.", float64(most))
}

// collectStreams adds latencies and queues of streams, and how far consumers are behind.
func (s *Server) collectStreams(w *monitor.MetricsWriter) {
	js := s.js.Load()
	if js == nil {
		return
	}
	publish, deliver, sync := js.service.Latencies()
	histogram(w, "jetstream_publish_seconds", "Time from a publish into a stream to its acknowledgement.", publish)
	histogram(w, "jetstream_sync_seconds", "Time of syncs of stream files.", sync)
	histogram(w, "jetstream_deliver_age_seconds", "Age of messages when consumers get them for the first time, of one message of each group.", deliver)
	histogram(w, "jetstream_api_request_seconds", "Time from an API request to its answer.", &js.api.Requests)
	bytes, refused := js.service.Mailboxes()
	w.Gauge("jetstream_mailbox_bytes", "Bytes of messages that wait to be stored.", float64(bytes))
	w.Counter("jetstream_mailbox_refused_messages_total", "Messages refused because too much waited to be stored.", float64(refused))
	s.collectLag(w, js)
}

func histogram(w *monitor.MetricsWriter, name, help string, h *latency.Histogram) {
	w.Heading(name, "histogram", help)
	counts, sum := h.Counts()
	w.Histogram(latency.Bounds(), counts, sum)
}

// consumerLag is what /metrics says about one consumer.
type consumerLag struct {
	labels                                             []string
	pending, unacked, dead, undeliveredFor, unackedFor float64
}

func (s *Server) collectLag(w *monitor.MetricsWriter, js *streams) {
	total := js.service.Info().Consumers
	w.Gauge("jetstream_consumers_hidden", "Consumers that are not shown one by one, as there are more than 1,000.", float64(hiddenOf(total)))
	var list []consumerLag
	if hiddenOf(total) == 0 {
		for _, a := range js.service.Accounts() {
			for _, x := range a.Streams("") {
				for _, name := range x.Partitions().ConsumerNames() {
					lag, err := x.Partitions().Lag(name)
					if err != nil || len(list) == consumersMost {
						continue
					}
					list = append(list, consumerLag{[]string{"account", a.Name(), "stream", x.Name(), "consumer", name}, float64(lag.Messages),
						float64(lag.Unacked), float64(lag.Dead), ageOf(lag.Undelivered), ageOf(lag.Oldest)})
				}
			}
		}
	}
	for _, m := range []struct {
		name, help string
		value      func(l *consumerLag) float64
	}{
		{"jetstream_consumer_pending_messages", "Messages that a consumer is still to get.", func(l *consumerLag) float64 { return l.pending }},
		{"jetstream_consumer_unacknowledged_messages", "Messages that a consumer has got, and that are neither acknowledged nor terminated.", func(l *consumerLag) float64 { return l.unacked }},
		{"jetstream_consumer_dead_messages", "Of those, messages that were delivered as often as max_deliver allows.", func(l *consumerLag) float64 { return l.dead }},
		{"jetstream_consumer_undelivered_age_seconds", "Age of the oldest message that a consumer is still to get; 0 without one.", func(l *consumerLag) float64 { return l.undeliveredFor }},
		{"jetstream_consumer_unacknowledged_age_seconds", "Age of the oldest message that it has got and that is not resolved; 0 without one.", func(l *consumerLag) float64 { return l.unackedFor }},
	} {
		w.Heading(m.name, "gauge", m.help)
		for i := range list {
			w.Sample(m.value(&list[i]), list[i].labels...)
		}
	}
}

// hiddenOf is how many of so many consumers are not shown.
func hiddenOf(consumers int) int {
	if consumers > consumersMost {
		return consumers
	}
	return 0
}
