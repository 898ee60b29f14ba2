package monitor

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestHTTPParameterErrors(t *testing.T) {
	bad := func(kind, name, parse string) string {
		return "Error decoding " + kind + " for '" + name + "': strconv." + parse + `: parsing "x": invalid syntax`
	}
	tests := map[string]string{
		"/connz?auth=x":                     "boolean auth ParseBool",
		"/connz?subs=x":                     "boolean subs ParseBool",
		"/connz?offset=x":                   "int offset Atoi",
		"/connz?limit=x":                    "int limit Atoi",
		"/connz?cid=x":                      "uint64 cid ParseUint",
		"/subsz?subs=x":                     "boolean subs ParseBool",
		"/subscriptionsz?limit=x":           "int limit Atoi",
		"/subsz?offset=x":                   "int offset Atoi",
		"/routez?subs=x":                    "boolean subs ParseBool",
		"/gatewayz?subs=x":                  "boolean subs ParseBool",
		"/gatewayz?accs=x":                  "boolean accs ParseBool",
		"/leafz?subs=x":                     "boolean subs ParseBool",
		"/accstatz?unused=x":                "boolean unused ParseBool",
		"/jsz?accounts=x":                   "boolean accounts ParseBool",
		"/jsz?streams=x":                    "boolean streams ParseBool",
		"/jsz?consumers=x":                  "boolean consumers ParseBool",
		"/jsz?direct-consumers=x":           "boolean direct-consumers ParseBool",
		"/jsz?config=x":                     "boolean config ParseBool",
		"/jsz?offset=x":                     "int offset Atoi",
		"/jsz?limit=x":                      "int limit Atoi",
		"/jsz?leader-only=x":                "boolean leader-only ParseBool",
		"/jsz?raft=x":                       "boolean raft ParseBool",
		"/jsz?stream-leader-only=x":         "boolean stream-leader-only ParseBool",
		"/healthz?js-enabled=x":             "boolean js-enabled ParseBool",
		"/healthz?js-enabled-only=x":        "boolean js-enabled-only ParseBool",
		"/healthz?js-server-only=x":         "boolean js-server-only ParseBool",
		"/healthz?js-meta-only=x":           "boolean js-meta-only ParseBool",
		"/healthz?details=x":                "boolean details ParseBool",
		"/ipqueuesz?all=x":                  "boolean all ParseBool",
		"/connz?state=x":                    "Error decoding state for x",
		"/connz?state=1":                    "Error decoding state for 1",
		"/connz?sort=x":                     "invalid sorting option: x",
		"/connz?sort=stop":                  "sort by stop only valid on closed connections",
		"/connz?sort=reason&state=any":      "sort by reason only valid on closed connections",
		"/connz?cid=-1":                     `Error decoding uint64 for 'cid': strconv.ParseUint: parsing "-1": invalid syntax`,
		"/connz?limit=99999999999999999999": `Error decoding int for 'limit': strconv.Atoi: parsing "99999999999999999999": value out of range`,
		"/subsz?subs=detail":                `Error decoding boolean for 'subs': strconv.ParseBool: parsing "detail": invalid syntax`,
		"/leafz?subs=detail":                `Error decoding boolean for 'subs': strconv.ParseBool: parsing "detail": invalid syntax`,
		"/subsz?test=foo.*":                 "invalid test subject, must be valid publish subject: foo.*",
		"/accountz?acc=X":                   "Account X does not exist",
		"/jsz?leader-only=1":                "filtered response: not leader",
		"/raftz":                            "No Raft nodes registered",
	}
	m, _ := newTest(population())
	h := m.Handler("")
	for path, want := range tests {
		t.Run(path, func(t *testing.T) {
			if f := strings.Fields(want); len(f) == 3 && strings.HasPrefix(f[2], "Parse") || len(f) == 3 && f[2] == "Atoi" {
				want = bad(f[0], f[1], f[2])
			}
			status := http.StatusBadRequest
			if path == "/raftz" {
				status = http.StatusNotFound
			}
			code, header, body := get(t, h, path)
			if code != status || body != want {
				t.Errorf("got %d %s\nwant %d %s", code, body, status, want)
			}
			if header.Get("Content-Type") != "text/plain; charset=utf-8" || header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("header %v", header)
			}
		})
	}
}

func TestHTTPAcceptsEmptyParametersAndWords(t *testing.T) {
	m, _ := newTest(population())
	h := m.Handler("")
	for path, want := range map[string]int{ // connections shown
		"/connz?state=&limit=&sort=&subs=&auth=&cid=": 4,
		"/connz?state=OPEN":                           4,
		"/connz?state=Closed":                         5,
		"/connz?state=ANY":                            9,
		"/connz?state=all":                            9,
		"/connz?subs=DeTail":                          4,
		"/connz?subs=T&auth=f":                        4,
		"/connz?acc=A&acc=B":                          3,
		"/connz?callback=x":                           4,
	} {
		code, _, body := get(t, h, path)
		var z Connz
		if err := json.Unmarshal([]byte(body), &z); code != 200 || err != nil || len(z.Conns) != want {
			t.Errorf("%s: %d, %d connections, %v; want %d", path, code, len(z.Conns), err, want)
		}
	}
}

func TestHTTPAnswers(t *testing.T) {
	f := population()
	f.queues = []QueueInfo{{"SendQ", 0, 0}, {"System recvQ", 2, 1}}
	m, _ := newTest(f)
	h := m.Handler("/")
	tests := []struct{ path, want string }{
		{"/connz?cid=999", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "num_connections": 0,
		  "total": 4,
		  "offset": 0,
		  "limit": 1,
		  "connections": []
		}`},
		{"/subsz?acc=zzz&subs=1", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "num_subscriptions": 0,
		  "num_cache": 0,
		  "num_inserts": 0,
		  "num_removes": 0,
		  "num_matches": 0,
		  "cache_hit_rate": 0,
		  "max_fanout": 0,
		  "avg_fanout": 0,
		  "total": 0,
		  "offset": 0,
		  "limit": 1024
		}`},
		{"/subscriptionsz?subs=true&test=x.a&acc=B&limit=1", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "num_subscriptions": 0,
		  "num_cache": 0,
		  "num_inserts": 0,
		  "num_removes": 0,
		  "num_matches": 0,
		  "cache_hit_rate": 0,
		  "max_fanout": 0,
		  "avg_fanout": 0,
		  "total": 0,
		  "offset": 0,
		  "limit": 1
		}`},
		{"/routez?subs=detail", `
		{
		  "server_id": "NSERVER",
		  "server_name": "n1",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "num_routes": 0,
		  "routes": []
		}`},
		{"/gatewayz?gw_name=zz", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "outbound_gateways": {},
		  "inbound_gateways": {}
		}`},
		{"/leafz?acc=zz", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "leafnodes": 0,
		  "leafs": []
		}`},
		{"/accountz", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "system_account": "$SYS",
		  "accounts": [
		    "$G",
		    "A",
		    "B",
		    "$SYS"
		  ]
		}`},
		{"/accstatz", `
		{
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "account_statz": []
		}`},
		{"/jsz", `
		{
		  "memory": 0,
		  "storage": 0,
		  "reserved_memory": 0,
		  "reserved_storage": 0,
		  "accounts": 0,
		  "ha_assets": 0,
		  "api": {
		    "level": 0,
		    "total": 0,
		    "errors": 0
		  },
		  "server_id": "NSERVER",
		  "now": "2026-11-30T22:10:39.941198101Z",
		  "disabled": true,
		  "config": {
		    "max_memory": 0,
		    "max_storage": 0
		  },
		  "streams": 0,
		  "consumers": 0,
		  "messages": 0,
		  "bytes": 0,
		  "total": 0
		}`},
		{"/healthz", `{"status":"ok"}`},
		{"/ipqueuesz", `
		{
		   "System recvQ": {
		      "pending": 2,
		      "in_progress": 1
		   }
		}`},
		{"/ipqueuesz?all=1&queues=Send", `
		{
		   "SendQ": {
		      "pending": 0
		   }
		}`},
		{"/ipqueuesz?queues=none", `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			code, header, body := get(t, h, tt.path)
			if want := trim(tt.want); code != 200 || body != want {
				t.Errorf("%d\n%s", code, lineDiff(want, body))
			}
			if header.Get("Content-Type") != "application/json" || header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("header %v", header)
			}
		})
	}
}

func TestHTTPPathsAndBase(t *testing.T) {
	m, _ := newTest(newFake())
	for _, base := range []string{"", "/", "nats/x", "/nats/x", "/nats/x/"} {
		prefix := cleanBase(base)
		if strings.Contains(base, "x") && prefix != "/nats/x" || !strings.Contains(base, "x") && prefix != "" {
			t.Errorf("%q becomes %q", base, prefix)
		}
		h := m.Handler(base)
		tests := map[string]int{
			prefix + "/varz": 200, prefix + "/debug/vars": 200, prefix + "/stacksz": 200, prefix + "/metrics": 200,
			prefix + "/varz/": 404, prefix + "/nope": 404, prefix + "/expvarz": 404, prefix + "/debug/": 404,
			prefix + "/index.html": 404, prefix + "//varz": 307, prefix + "/foo/../varz": 307,
		}
		if prefix == "" {
			tests["/"] = 200
			tests["/?x=1"] = 200
		} else {
			for path, code := range map[string]int{prefix: 200, prefix + "/": 404, "/varz": 404, "/": 404, "/nats": 404, "/debug/vars": 404} {
				tests[path] = code
			}
		}
		for path, want := range tests {
			code, header, body := get(t, h, path)
			if code != want {
				t.Errorf("base %q, %s: got %d, want %d", base, path, code, want)
			}
			if want == 404 && (body != "404 page not found\n" || header.Get("Content-Type") != "text/plain; charset=utf-8") {
				t.Errorf("base %q, %s: %q %v", base, path, body, header)
			}
		}
	}
}

func TestHTTPAnyMethod(t *testing.T) {
	m, _ := newTest(newFake())
	h := m.Handler("")
	for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/healthz", nil))
		if w.Code != 200 || w.Body.String() != `{"status":"ok"}` {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
}

func TestHTTPRequestCounts(t *testing.T) {
	m, _ := newTest(newFake())
	h := m.Handler("/base")
	for _, p := range []string{"", "/varz", "/connz", "/connz?sort=x", "/subsz", "/subscriptionsz", "/healthz", "/raftz", "/ipqueuesz",
		"/stacksz", "/debug/vars", "/metrics", "/nope", "/jsz", "/accountz", "/accstatz", "/routez", "/gatewayz", "/leafz"} {
		get(t, h, "/base"+p)
	}
	want := map[string]uint64{"/": 1, "/varz": 1, "/connz": 2, "/subsz": 2, "/healthz": 1, "/jsz": 1, "/accountz": 1, "/accstatz": 1,
		"/routez": 1, "/gatewayz": 1, "/leafz": 1}
	if got := m.Varz().HTTPReqStats; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	_, _, body := get(t, h, "/base/varz")
	if !strings.Contains(body, `"/varz": 2`) {
		t.Error("a request to /varz doesn't count itself")
	}
}

func TestVarzFillsWhatTheProcessKnows(t *testing.T) {
	m, _ := newTest(newFake())
	v := m.Varz()
	if v.Uptime != "5s" || !v.Now.Equal(t0.Add(5e9)) || v.Go != runtime.Version() || v.Mem < 1<<20 || v.Cores < 1 || v.GoMaxProcs < 1 ||
		v.HTTPReqStats == nil || v.Start.Location() != v.Now.Location() {
		t.Errorf("%+v", v)
	}
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil || !strings.Contains(string(b), ` "cluster": {},
 "gateway": {},
 "leaf": {},
 "mqtt": {},
 "websocket": {},
 "jetstream": {},
`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestIndexPage(t *testing.T) {
	m, _ := newTest(newFake())
	code, header, body := get(t, m.Handler(""), "/")
	if code != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(body, "v2.15.2") {
		t.Errorf("%d %v\n%s", code, header, body)
	}
	for _, l := range []string{"varz>General", "jsz>JetStream", "connz>Connections", "accountz>Accounts", "accstatz>Account Stats", "subsz>Subscriptions",
		"routez>Routes", "leafz>LeafNodes", "gatewayz>Gateways", "raftz>Raft Groups", "healthz>Health Probe", "debug/vars>Expvar"} {
		path, label, _ := strings.Cut(l, ">")
		if !strings.Contains(body, `<a href="./`+path+`">`+label+"</a>") {
			t.Errorf("no link to %s named %s", path, label)
		}
	}
	if !strings.Contains(body, ">Help</a>") {
		t.Error("no help")
	}
}

func TestStacksAndVars(t *testing.T) {
	m, _ := newTest(newFake())
	h := m.Handler("")
	code, header, body := get(t, h, "/stacksz")
	if code != 200 || header.Get("Content-Type") != "application/json" || !strings.HasPrefix(body, "goroutine ") || !strings.Contains(body, "TestStacksAndVars") {
		t.Errorf("%d %v %.200s", code, header, body)
	}
	m.args = []string{"godwit", "--pass", "[REDACTED]"}
	code, header, body = get(t, h, "/debug/vars")
	if code != 200 || header.Get("Content-Type") != "application/json; charset=utf-8" || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", code, header)
	}
	if !strings.HasPrefix(body, "{\n\"cmdline\": [\"godwit\",\"--pass\",\"[REDACTED]\"],\n\"memstats\": {\"Alloc\":") {
		t.Errorf("%.200s", body)
	}
	var vars struct {
		Cmdline  []string         `json:"cmdline"`
		Memstats runtime.MemStats `json:"memstats"`
	}
	if err := json.Unmarshal([]byte(body), &vars); err != nil || vars.Memstats.HeapAlloc == 0 {
		t.Errorf("%+v, %v", vars.Cmdline, err)
	}
	m.args = nil
	if got := m.cmdline(); len(got) != 1 {
		t.Errorf("without arguments given, %v is shown", got)
	}
}

// TestRequestsWaitForASlot fills all slots and checks that one more waits, but a health probe doesn't.
func TestRequestsWaitForASlot(t *testing.T) {
	f := newFake()
	f.hold, f.entered = make(chan struct{}), make(chan struct{}, 4)
	m := New(Options{Source: f, Logger: &lines{}, MaxRequests: 2})
	srv := httptest.NewServer(m.Handler(""))
	defer srv.Close()
	done := make(chan int, 3)
	ask := func() {
		r, err := http.Get(srv.URL + "/varz")
		if err != nil {
			done <- 0
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		done <- r.StatusCode
	}
	go ask()
	go ask()
	<-f.entered
	<-f.entered
	go ask()
	for m.waited.Load() == 0 {
		runtime.Gosched()
	}
	r, err := http.Get(srv.URL + "/healthz")
	if err != nil || r.StatusCode != 200 {
		t.Fatal(r, err)
	}
	_ = r.Body.Close()
	select {
	case <-f.entered:
		t.Error("three at a time")
	default:
	}
	close(f.hold)
	codes := []int{<-done, <-done, <-done}
	if !slices.Equal(codes, []int{200, 200, 200}) {
		t.Error(codes)
	}
}
