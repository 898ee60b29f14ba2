package monitor

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"godwit/server/options"
)

func TestLogin(t *testing.T) {
	m, _ := newTest(newFake())
	compared := atomic.Int64{}
	match := func(configured, presented string) bool {
		compared.Add(1)
		return configured == presented
	}
	for _, base := range []string{"", "/base"} {
		h := m.Handler(base)
		ask := func(path string, set func(*http.Request)) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", cmp.Or(strings.TrimSuffix(base+path, "/"), "/"), nil)
			if set != nil {
				set(r)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		basic := func(user, password string) func(*http.Request) {
			return func(r *http.Request) { r.SetBasicAuth(user, password) }
		}
		bearer := func(token string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }
		}
		m.SetLogin(nil)
		if w := ask("/varz", nil); w.Code != http.StatusOK {
			t.Fatalf("without a login: %d", w.Code)
		}
		m.SetLogin(NewLogin(&options.MonitoringLogin{Users: []options.MonitoringUser{{Name: "a", Password: "p"}, {Token: "t"}}, Open: []string{"/healthz"}}, match))
		for _, tt := range []struct {
			path string
			set  func(*http.Request)
			ok   bool
		}{
			{"/varz", nil, false},
			{"/", nil, false},
			{"/metrics", nil, false},
			{"/debug/vars", nil, false},
			{"/stacksz", nil, false},
			{"/healthz", nil, true},
			{"/healthz", basic("a", "wrong"), true},
			{"/varz", basic("a", "p"), true},
			{"/", basic("a", "p"), true},
			{"/varz", basic("a", "wrong"), false},
			{"/varz", basic("b", "p"), false},
			{"/varz", basic("", "t"), false},
			{"/varz", basic("", ""), false},
			{"/varz", bearer("t"), true},
			{"/varz", bearer("p"), false},
			{"/varz", bearer(""), false},
			{"/varz", func(r *http.Request) { r.Header.Set("Authorization", "Digest x") }, false},
		} {
			w := ask(tt.path, tt.set)
			if refused := w.Code == http.StatusUnauthorized; refused == tt.ok {
				t.Errorf("%s: %d", tt.path, w.Code)
			} else if refused && (!strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") || strings.Contains(w.Body.String(), "server_id")) {
				t.Errorf("%s: %v %s", tt.path, w.Header(), w.Body)
			}
		}
		before := compared.Load()
		for range 10 {
			ask("/varz", basic("a", "p"))
		}
		if n := compared.Load() - before; n != 0 {
			t.Errorf("known credentials were compared %d times more", n)
		}
		l := m.login.Load()
		for i := range 2 * verifiedMost {
			ask("/varz", basic("a", strings.Repeat("x", i)))
		}
		if n := len(l.verified); n > verifiedMost {
			t.Errorf("%d credentials are remembered", n)
		}
	}
}
