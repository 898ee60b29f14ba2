package monitor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Collector adds the metrics of one part of the server to /metrics.
type Collector interface {
	// Collect writes the metrics of this moment. The writer is lent.
	Collect(w *MetricsWriter)
}

// CollectorFunc is a Collector made of a function.
type CollectorFunc func(*MetricsWriter)

// Collect calls f.
func (f CollectorFunc) Collect(w *MetricsWriter) { f(w) }

// metricPrefix begins the name of every metric.
const metricPrefix = "godwit_"

// MetricsWriter writes metrics in the Prometheus text format. Names are given without the prefix "godwit_";
// those of counters end in "_total", and units are part of names, last (_bytes, _seconds). All samples of one metric
// follow its heading. It is for one goroutine.
type MetricsWriter struct {
	b     []byte
	name  string          // of the metric whose heading was written last, with prefix
	names map[string]bool // all so far
}

// NewMetricsWriter returns an empty writer.
func NewMetricsWriter() *MetricsWriter { return &MetricsWriter{names: make(map[string]bool)} }

// Bytes returns what was written so far; the slice is lent until the next write.
func (w *MetricsWriter) Bytes() []byte { return w.b }

// Counter writes a metric that only grows, without labels. Its name ends in "_total".
func (w *MetricsWriter) Counter(name, help string, v float64) {
	w.Heading(name, "counter", help)
	w.Sample(v)
}

// Gauge writes a metric that goes up and down, without labels.
func (w *MetricsWriter) Gauge(name, help string, v float64) {
	w.Heading(name, "gauge", help)
	w.Sample(v)
}

// Heading starts a metric of kind "counter", "gauge" or "histogram" whose samples follow. It panics on a name
// that isn't valid or was used before, since that is a mistake in the program.
func (w *MetricsWriter) Heading(name, kind, help string) {
	if !validMetricName(name) || w.names[name] {
		panic(fmt.Sprintf("monitor: metric name %q is not valid or not unique", name))
	}
	w.names[name] = true
	w.name = metricPrefix + name
	w.b = append(append(append(w.b, "# HELP "...), w.name...), ' ')
	w.b = append(append(w.b, helpEscaper.Replace(help)...), '\n')
	w.b = append(append(append(w.b, "# TYPE "...), w.name...), ' ')
	w.b = append(append(w.b, kind...), '\n')
}

// Sample writes a value of the metric headed last, with labels given as name, value, name, value…
func (w *MetricsWriter) Sample(v float64, labels ...string) { w.sample("", v, labels) }

// Histogram writes the samples of a histogram headed last: the counts of observations in each bucket (not
// summed up), whose upper bounds are in bounds; counts has one more entry, for what is above all bounds.
func (w *MetricsWriter) Histogram(bounds []float64, counts []uint64, sum float64, labels ...string) {
	var total uint64
	labels = append(labels[:len(labels):len(labels)], "le", "")
	for i, n := range counts {
		total += n
		le := "+Inf"
		if i < len(bounds) {
			le = formatMetric(bounds[i])
		}
		labels[len(labels)-1] = le
		w.sample("_bucket", float64(total), labels)
	}
	labels = labels[:len(labels)-2]
	w.sample("_sum", sum, labels)
	w.sample("_count", float64(total), labels)
}

func (w *MetricsWriter) sample(suffix string, v float64, labels []string) {
	w.b = append(append(w.b, w.name...), suffix...)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		w.b = append(append(append(w.b, sep), labels[i]...), `="`...)
		w.b = append(append(w.b, labelEscaper.Replace(labels[i+1])...), '"')
	}
	if len(labels) >= 2 {
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ' ')
	w.b = append(append(w.b, formatMetric(v)...), '\n')
}

// Escapes of the text format.
var (
	helpEscaper  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func formatMetric(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func validMetricName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return name != ""
}
