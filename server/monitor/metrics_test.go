package monitor

import (
	"bufio"
	"math"
	"regexp"
	"strings"
	"testing"
)

// checkExposition checks the text format: each metric has HELP and TYPE before its samples, all in one block, with
// a valid name, counters ending in _total, and no sample twice.
func checkExposition(t *testing.T, text string) map[string]string {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z_][a-z0-9_]*)(\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})? (-?[0-9.e+-]+|[+-]Inf|NaN)$`)
	values, kinds := map[string]string{}, map[string]string{}
	current := ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		line := s.Text()
		f := strings.SplitN(line, " ", 4)
		switch {
		case strings.HasPrefix(line, "# HELP "):
			if kinds[f[2]] != "" || len(f) < 4 {
				t.Errorf("heading again or empty: %s", line)
			}
			current = f[2]
		case strings.HasPrefix(line, "# TYPE "):
			if f[2] != current {
				t.Errorf("TYPE without HELP: %s", line)
			}
			kinds[current] = f[3]
			if (f[3] == "counter") != strings.HasSuffix(current, "_total") {
				t.Errorf("name and type disagree: %s", line)
			}
		default:
			m := sample.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("not a sample: %s", line)
				continue
			}
			name := m[1]
			if kinds[current] == "histogram" {
				for _, s := range []string{"_bucket", "_sum", "_count"} {
					name = strings.TrimSuffix(name, s)
				}
			}
			if name != current || !strings.HasPrefix(name, "godwit_") {
				t.Errorf("out of place: %s", line)
			}
			if _, dup := values[m[1]+m[2]]; dup {
				t.Errorf("twice: %s", line)
			}
			values[m[1]+m[2]] = m[3]
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	f := population()
	f.js = &JetStreamTotals{Stats: JetStreamStats{Store: 78, ReservedMemory: math.MaxUint64, API: JetStreamAPIStats{Total: 14}}, Streams: 4,
		Tail: JetStreamBuffer{21, 22}, Cache: JetStreamBuffer{23, 24}, Audited: 25, Violations: 26, Rewritten: 27, Freed: 28, DiskFree: 29, DiskFull: true, Meta: &MetaClusterInfo{Size: 3}}
	f.queues = []QueueInfo{{"SendQ", 4, 0}}
	m := New(Options{Source: f, Logger: &lines{}, Collectors: []Collector{CollectorFunc(func(w *MetricsWriter) {
		w.Gauge("extra", "With a \\ and a\nline end.", 1.5)
	})}})
	h := m.Handler("")
	get(t, h, "/varz")
	code, header, body := get(t, h, "/metrics")
	if code != 200 || header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("%d %v", code, header)
	}
	values := checkExposition(t, body)
	for name, want := range map[string]string{
		`godwit_connections{kind="client"}`:            "4",
		`godwit_connections_opened_total`:              "9",
		`godwit_connections_closed_total`:              "7",
		`godwit_subscriptions`:                         "72",
		`godwit_subscriptions_removed_total`:           "8",
		`godwit_ready`:                                 "1",
		`godwit_accounts`:                              "4",
		`godwit_queue_pending{queue="SendQ"}`:          "4",
		`godwit_monitor_requests_total{path="/varz"}`:  "1",
		`godwit_jetstream_enabled`:                     "1",
		`godwit_jetstream_used_bytes{storage="file"}`:  "78",
		`godwit_jetstream_api_requests_total`:          "14",
		`godwit_jetstream_disk_free_bytes`:             "29",
		`godwit_jetstream_disk_full`:                   "1",
		`godwit_jetstream_meta_cluster_size`:           "3",
		`godwit_jetstream_audited_consumers_total`:     "25",
		`godwit_jetstream_violations_total`:            "26",
		`godwit_jetstream_segments_rewritten_total`:    "27",
		`godwit_jetstream_rewrite_freed_bytes_total`:   "28",
		`godwit_extra`:                                 "1.5",
		`godwit_slow_consumers_total{kind="leafnode"}`: "0",
		`godwit_start_time_seconds`:                    "1.796076634941198e+09",
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q", name, values[name], want)
		}
	}
	if !strings.Contains(body, `# HELP godwit_extra With a \\ and a\nline end.`) {
		t.Error("help text isn't escaped")
	}
	f.js = nil
	f.notReady = []string{"server"}
	values = checkExposition(t, string(m.Metrics()))
	if values["godwit_jetstream_enabled"] != "0" || values["godwit_ready"] != "0" {
		t.Error("JetStream off or not ready isn't seen")
	}
}

func TestMetricsWriter(t *testing.T) {
	w := NewMetricsWriter()
	w.Heading("write_seconds", "histogram", "Time of writes.")
	w.Histogram([]float64{0.001, 1}, []uint64{2, 3, 4}, 12.5, "disk", "a\"b\\\n")
	w.Counter("big_total", "Large.", 1<<53)
	w.Gauge("odd", "Not a number.", math.NaN())
	w.Gauge("inf", "Endless.", math.Inf(-1))
	want := trim(`
		# HELP godwit_write_seconds Time of writes.
		# TYPE godwit_write_seconds histogram
		godwit_write_seconds_bucket{disk="a\"b\\\n",le="0.001"} 2
		godwit_write_seconds_bucket{disk="a\"b\\\n",le="1"} 5
		godwit_write_seconds_bucket{disk="a\"b\\\n",le="+Inf"} 9
		godwit_write_seconds_sum{disk="a\"b\\\n"} 12.5
		godwit_write_seconds_count{disk="a\"b\\\n"} 9
		# HELP godwit_big_total Large.
		# TYPE godwit_big_total counter
		godwit_big_total 9.007199254740992e+15
		# HELP godwit_odd Not a number.
		# TYPE godwit_odd gauge
		godwit_odd NaN
		# HELP godwit_inf Endless.
		# TYPE godwit_inf gauge
		godwit_inf -Inf`) + "\n"
	if got := string(w.Bytes()); got != want {
		t.Errorf("%s", lineDiff(want, got))
	}
	checkExposition(t, want)
	for _, bad := range []string{"", "Big", "a-b", "1a", "odd"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", bad)
				}
			}()
			w.Gauge(bad, "", 0)
		}()
	}
}
