package monitor

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
)

// endpoint answers one path. It returns what to encode, or an error that is answered with status 400.
type endpoint func(q *query) (any, error)

// endpoints are the paths with a JSON answer. counted is the name under which http_req_stats counts them;
// empty if they aren't.
func (m *Monitor) endpoints() []struct {
	path, counted, indent string
	answer                endpoint
} {
	return []struct {
		path, counted, indent string
		answer                endpoint
	}{
		{"/varz", "/varz", "  ", m.varzHTTP},
		{"/connz", "/connz", "  ", m.connzHTTP},
		{"/routez", "/routez", "  ", m.routezHTTP},
		{"/gatewayz", "/gatewayz", "  ", m.gatewayzHTTP},
		{"/leafz", "/leafz", "  ", m.leafzHTTP},
		{"/subsz", "/subsz", "  ", m.subszHTTP},
		{"/subscriptionsz", "/subsz", "  ", m.subszHTTP},
		{"/accountz", "/accountz", "  ", m.accountzHTTP},
		{"/accstatz", "/accstatz", "  ", m.accstatzHTTP},
		{"/jsz", "/jsz", "  ", m.jszHTTP},
		{"/ipqueuesz", "", "   ", m.ipqueueszHTTP},
		{"/raftz", "", "   ", m.raftzHTTP},
	}
}

// Handler returns the HTTP handler for all endpoints under base, to which a leading slash is added if it has none.
func (m *Monitor) Handler(base string) http.Handler {
	base = cleanBase(base)
	mux := http.NewServeMux()
	handle := func(path, counted string, h http.HandlerFunc) {
		mux.HandleFunc(base+path, func(w http.ResponseWriter, r *http.Request) {
			if counted != "" {
				m.requests.add(counted)
			}
			h(w, r)
		})
	}
	for _, e := range m.endpoints() {
		handle(e.path, e.counted, m.limited(func(w http.ResponseWriter, r *http.Request) {
			q := &query{values: r.URL.Query()}
			answer, err := e.answer(q)
			if err != nil {
				writeError(w, err)
				return
			}
			writeJSON(w, http.StatusOK, answer, e.indent)
		}))
	}
	handle("/healthz", "/healthz", m.healthzHTTP)
	handle("/stacksz", "", m.limited(m.stacksHTTP))
	handle("/debug/vars", "", m.limited(m.varsHTTP))
	handle("/metrics", "", m.limited(m.metricsHTTP))
	root := base
	if root == "" {
		root = "/{$}"
	}
	mux.HandleFunc(root, func(w http.ResponseWriter, r *http.Request) {
		m.requests.add("/")
		m.indexHTTP(w, r)
	})
	return mux
}

// cleanBase returns the prefix of all paths: empty, or with a leading and no trailing slash.
func cleanBase(base string) string {
	base = strings.Trim(base, "/")
	if base == "" {
		return ""
	}
	return "/" + base
}

// limited lets h run when one of the slots is free, or not at all if the client goes away first.
func (m *Monitor) limited(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case m.slots <- struct{}{}:
		default:
			m.waited.Add(1)
			select {
			case m.slots <- struct{}{}:
			case <-r.Context().Done():
				return
			}
		}
		defer func() { <-m.slots }()
		h(w, r)
	}
}

// writeError answers with the error's text: 404 for Raft groups that aren't there, else 400.
func writeError(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if errors.Is(err, ErrNoRaft) || errors.Is(err, ErrNoRaftMatched) {
		code = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(err.Error())) // the client is gone if this fails
}

// writeJSON answers with v, indented unless indent is empty.
func writeJSON(w http.ResponseWriter, code int, v any, indent string) {
	var b []byte
	var err error
	if indent == "" {
		b, err = json.Marshal(v)
	} else {
		b, err = json.MarshalIndent(v, "", indent)
	}
	if err != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(err.Error()))
		return
	}
	jsonHeader(w.Header())
	w.WriteHeader(code)
	_, _ = w.Write(b)
}

func jsonHeader(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Access-Control-Allow-Origin", "*")
}

// requestCounts counts requests by path.
type requestCounts struct {
	mu struct {
		sync.Mutex
		hits map[string]uint64 // a path appears with its first hit
	}
}

func (c *requestCounts) add(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.hits == nil {
		c.mu.hits = make(map[string]uint64)
	}
	c.mu.hits[path]++
}

func (c *requestCounts) snapshot() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	hits := make(map[string]uint64, len(c.mu.hits))
	for k, v := range c.mu.hits {
		hits[k] = v
	}
	return hits
}
