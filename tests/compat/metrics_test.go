package compat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// scrape returns the kinds of all metrics, by name, and the values of the samples.
func scrape(t *testing.T, s *harness.Server) (kinds map[string]string, values map[string]string) {
	t.Helper()
	kinds, values = map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(s.Page(t, "/metrics"))), "\n") {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE "):
			kinds[words[2]] = words[3]
		case !strings.HasPrefix(line, "#"):
			values[strings.Join(words[:len(words)-1], " ")] = words[len(words)-1]
		}
	}
	return kinds, values
}

// Latencies are counted, a consumer's lag is shown, and names follow the conventions of Prometheus.
func TestMetricsOfStreams(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	nc := s.Connect(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: "C", AckPolicy: nats.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	for range 7 {
		if _, err := js.Publish("s", nil); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := js.PullSubscribe("s", "C", nats.Bind("S", "C"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Fetch(2); err != nil {
		t.Fatal(err)
	}
	kinds, values := scrape(t, s)
	labels := `{account="$G",stream="S",consumer="C"}`
	for name, want := range map[string]string{
		"godwit_jetstream_publish_seconds_count":                     "7",
		`godwit_jetstream_publish_seconds_bucket{le="+Inf"}`:         "7",
		"godwit_jetstream_consumer_pending_messages" + labels:        "5",
		"godwit_jetstream_consumer_unacknowledged_messages" + labels: "2",
		"godwit_jetstream_consumer_dead_messages" + labels:           "0",
		"godwit_jetstream_mailbox_bytes":                             "0",
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %s", name, values[name], want)
		}
	}
	for _, name := range []string{"godwit_jetstream_sync_seconds_count", "godwit_jetstream_api_request_seconds_count", "godwit_jetstream_deliver_age_seconds_count",
		"godwit_jetstream_consumer_undelivered_age_seconds" + labels, "godwit_jetstream_consumer_unacknowledged_age_seconds" + labels} {
		if v := values[name]; v == "" || v == "0" {
			t.Errorf("%s is %q", name, v)
		}
	}
	for name, kind := range kinds {
		if (kind == "counter") != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s", name, kind)
		}
		if regexp.MustCompile(`_(ms|millis|milliseconds|us|ns|minutes|kb|mb|percent)(_|$)`).MatchString(name) {
			t.Errorf("%s has a unit that is no base unit", name)
		}
		if kind == "histogram" && !strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_bytes") {
			t.Errorf("the histogram %s has no unit", name)
		}
	}
}

// What the dashboard for Grafana and the alert rules ask for is there.
func TestMonitoringDocsNameMetricsThatExist(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	kinds, _ := scrape(t, s)
	dir := filepath.Join("..", "..", "docs", "monitoring")
	name := regexp.MustCompile(`godwit_[a-z0-9_]+`)
	for _, file := range []string{"godwit.json", "alerts.yml"} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(b) {
			t.Errorf("%s is no JSON", file)
		}
		found := name.FindAllString(string(b), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d metrics only", file, len(found))
		}
		for _, m := range found {
			if kinds[m] == "" && kinds[strings.TrimSuffix(m, "_bucket")] != "histogram" {
				t.Errorf("%s: %s is not in /metrics", file, m)
			}
		}
	}
}
