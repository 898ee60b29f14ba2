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
		mux.HandleFunc(base+path, m.guard(path, func(w http.ResponseWriter, r *http.Request) {
			if counted != "" {
				m.requests.add(counted)
			}
			h(w, r)
		}))
	}
	for _, e := range m.endpoints() {
		handle(e.path, e.counted, m.limited(func(r *http.Request) response {
			answer, err := e.answer(&query{values: r.URL.Query()})
			if err != nil {
				return errorResponse(err)
			}
			return jsonResponse(http.StatusOK, answer, e.indent)
		}))
	}
	handle("/healthz", "/healthz", func(w http.ResponseWriter, r *http.Request) { m.healthzHTTP(r).send(w) })
	handle("/stacksz", "", m.limited(m.stacksHTTP))
	handle("/debug/vars", "", m.limited(m.varsHTTP))
	handle("/metrics", "", m.limited(m.metricsHTTP))
	for path, h := range m.pages {
		mux.Handle(base+path, m.guard(path, http.StripPrefix(base+strings.TrimSuffix(path, "/"), h).ServeHTTP))
	}
	root := base
	if root == "" {
		root = "/{$}"
	}
	mux.HandleFunc(root, m.guard("/", func(w http.ResponseWriter, r *http.Request) {
		m.requests.add("/")
		m.indexHTTP(w, r)
	}))
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

// response is an answer that is ready to be sent.
type response struct {
	code  int
	kind  string // Content-Type
	cross bool   // scripts from everywhere may read it
	body  []byte
}

func (a response) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.kind)
	if a.cross {
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the client is gone if this fails
}

// limited has f make the answer when one of the slots is free, or not at all if the client goes away first. A
// client that is slow to take its answer holds no slot.
func (m *Monitor) limited(f func(*http.Request) response) http.HandlerFunc {
	inSlot := func(r *http.Request) response {
		defer func() { <-m.slots }()
		return f(r)
	}
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
		inSlot(r).send(w)
	}
}

const (
	typeText = "text/plain; charset=utf-8"
	typeJSON = "application/json"
)

// errorResponse answers with the error's text: 404 for Raft groups that aren't there, else 400.
func errorResponse(err error) response {
	code := http.StatusBadRequest
	if errors.Is(err, ErrNoRaft) || errors.Is(err, ErrNoRaftMatched) {
		code = http.StatusNotFound
	}
	return response{code: code, kind: typeText, body: []byte(err.Error())}
}

// jsonResponse answers with v, indented unless indent is empty.
func jsonResponse(code int, v any, indent string) response {
	var b []byte
	var err error
	if indent == "" {
		b, err = json.Marshal(v)
	} else {
		b, err = json.MarshalIndent(v, "", indent)
	}
	if err != nil { // a Source has put something into an any that can't be encoded
		return response{code: http.StatusInternalServerError, kind: typeText, body: []byte(err.Error())}
	}
	return response{code: code, kind: typeJSON, cross: true, body: b}
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
