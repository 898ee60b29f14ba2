package monitor

import (
	"net/http"
	"strings"
)

// HealthzOptions are the options of /healthz.
type HealthzOptions struct {
	JSEnabled     bool   `json:"js-enabled,omitempty"` // older name of JSEnabledOnly
	JSEnabledOnly bool   `json:"js-enabled-only,omitempty"`
	JSServerOnly  bool   `json:"js-server-only,omitempty"` // look at the listeners only
	JSMetaOnly    bool   `json:"js-meta-only,omitempty"`   // stop after the metadata group
	Account       string `json:"account,omitempty"`
	Stream        string `json:"stream,omitempty"`   // needs Account
	Consumer      string `json:"consumer,omitempty"` // needs Stream
	Details       bool   `json:"details,omitempty"`  // all problems, not the first
}

// HealthStatus is the answer of /healthz. The zero StatusCode is left out: it is shown over NATS only.
type HealthStatus struct {
	Status     string         `json:"status"`
	StatusCode int            `json:"status_code,omitempty"`
	Error      string         `json:"error,omitempty"`
	Errors     []HealthzError `json:"errors,omitempty"`
}

// HealthzError shows one problem.
type HealthzError struct {
	Type     HealthErrorType `json:"type"`
	Account  string          `json:"account,omitempty"`
	Stream   string          `json:"stream,omitempty"`
	Consumer string          `json:"consumer,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Health is the outcome of a health check: what to show, and with which HTTP status. Over NATS, StatusCode is set
// to Code.
type Health struct {
	HealthStatus
	Code int // 200, 400, 404, 500 or 503
}

// The words of HealthStatus.Status.
const (
	healthOK          = "ok"
	healthUnavailable = "unavailable"
	healthError       = "error"
)

// Healthz checks the server's health, cheap things first: parameters, listeners, JetStream, its metadata group,
// then accounts, streams and consumers. A failure is logged.
func (m *Monitor) Healthz(o HealthzOptions) *Health {
	h := &Health{Code: http.StatusOK, HealthStatus: HealthStatus{Status: healthOK}}
	m.check(&o, func(p HealthProblem) bool {
		if h.Code == http.StatusOK {
			h.Code, h.Status, h.Error = p.Code, p.status(), p.Error
		}
		if !o.Details {
			return false
		}
		h.Errors = append(h.Errors, p.HealthzError)
		return len(h.Errors) < healthErrorsMax
	})
	if o.Details && len(h.Errors) > 0 {
		h.Status, h.Error = healthError, ""
	}
	switch {
	case len(h.Errors) > 0:
		m.log.Warnf("Healthcheck failed: %d errors", len(h.Errors))
	case h.Error != "":
		m.log.Warnf("Healthcheck failed: %q", h.Error)
	}
	return h
}

// healthErrorsMax bounds the problems listed in one answer.
const healthErrorsMax = 10_000

// check reports problems to f until f returns false. A problem of one layer makes the layers above moot.
func (m *Monitor) check(o *HealthzOptions, f func(HealthProblem) bool) {
	if o.JSEnabled {
		m.log.Warnf("Healthcheck: js-enabled deprecated, use js-enabled-only instead")
	}
	switch {
	case o.Account == "" && o.Stream != "":
		f(badRequest(`"account" must not be empty when checking stream health`))
		return
	case o.Stream == "" && o.Consumer != "":
		f(badRequest(`"stream" must not be empty when checking consumer health`))
		return
	}
	if down := m.src.NotReady(); len(down) > 0 {
		f(HealthProblem{http.StatusInternalServerError, HealthzError{Type: HealthConnection,
			Error: "failed to be ready for connections after 1ms: " + strings.Join(down, ", ")}})
		return
	}
	if o.JSServerOnly {
		return
	}
	js := m.src.JetStreamHealth()
	if !js.Configured {
		return
	}
	if !js.Enabled {
		f(problem(HealthJetStream, "JetStream not enabled (10076)"))
		return
	}
	if o.JSEnabled || o.JSEnabledOnly {
		return
	}
	if js.Meta != "" {
		f(problem(HealthJetStream, js.Meta))
		return
	}
	if o.JSMetaOnly {
		return
	}
	m.src.CheckAssets(AssetSelector{o.Account, o.Stream, o.Consumer}, f)
}
