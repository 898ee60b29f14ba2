// Package monitor answers questions about one running server: the HTTP endpoints of the monitoring port
// (/varz, /connz, /healthz, …, /metrics) and the same answers as Go values, from which the system account's
// request subjects are served.
//
// It keeps no state of the server. What it needs it asks of a Source, which hands out plain snapshots; all
// filtering, sorting, paging and formatting happens here. Key names, key order and the presence of keys in the
// JSON are the contract of the monitoring specification.
package monitor

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Logger takes what the monitor has to say to the operator.
type Logger interface {
	Noticef(format string, args ...any)
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Options configures a Monitor.
type Options struct {
	// Source supplies everything about the server. Required.
	Source Source
	// Logger hears of failed health checks. Required.
	Logger Logger
	// Args is the command line shown by /debug/vars, secrets already removed. Nil shows only the program.
	Args []string
	// Collectors add their own metrics to /metrics, in this order.
	Collectors []Collector
	// Pages are handlers of whole folders, by their path, which ends in a slash and is taken away from the request's. Whoever
	// may use the endpoints may use them.
	Pages map[string]http.Handler
	// MaxRequests bounds the HTTP requests answered at one time, health probes excepted; more wait for a place
	// until their client gives up. Default 64.
	MaxRequests int
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Monitor answers monitoring requests. It is safe for concurrent use.
type Monitor struct {
	src        Source
	log        Logger
	args       []string
	collectors []Collector
	now        func() time.Time
	slots      chan struct{}
	requests   requestCounts
	process    processSampler
	waited     atomic.Uint64 // requests that found no free slot
	login      atomic.Pointer[Login]
	pages      map[string]http.Handler
}

// New returns a Monitor over o.Source.
func New(o Options) *Monitor {
	if o.MaxRequests <= 0 {
		o.MaxRequests = 64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Monitor{
		src: o.Source, log: o.Logger, args: o.Args, collectors: o.Collectors, pages: o.Pages, now: o.Now,
		slots: make(chan struct{}, o.MaxRequests),
	}
	m.process.init(m.now())
	return m
}

// Process returns the figures of the process at this moment.
func (m *Monitor) Process() ProcessUsage { return m.process.sample(m.now()) }

// memoryLimit is the soft memory limit of the Go runtime in bytes; 0 if there is none.
func memoryLimit() int64 {
	const none = 1<<63 - 1
	if n := debug.SetMemoryLimit(-1); n < none {
		return n
	}
	return 0
}

// cores is the number of processors usable by this process.
func cores() int { return runtime.NumCPU() }
