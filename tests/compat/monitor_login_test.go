package compat

import (
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"godwit/tests/harness"
)

// The monitoring port asks for a login where one is configured, but probes of the health need none; a reload changes who may.
func TestMonitoringLogin(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	config := func(more string) string {
		return fmt.Sprintf("http_authorization { users: [{user: ops, password: %q}, {token: probe}] %s }", hash, more)
	}
	s := harness.Start(t, harness.Options{Config: config("")})
	ask := func(path string, set func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequest("GET", s.MonitorURL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if set != nil {
			set(r)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	ops := func(r *http.Request) { r.SetBasicAuth("ops", "secret") }
	probe := func(r *http.Request) { r.Header.Set("Authorization", "Bearer probe") }
	for _, tt := range []struct {
		path string
		set  func(*http.Request)
		want int
	}{
		{"/varz", nil, 401}, {"/metrics", nil, 401}, {"/", nil, 401}, {"/nothing", nil, 404}, {"/healthz", nil, 200},
		{"/varz", ops, 200}, {"/metrics", probe, 200}, {"/varz", func(r *http.Request) { r.SetBasicAuth("ops", "Secret") }, 401},
	} {
		if got := ask(tt.path, tt.set); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.path, got, tt.want)
		}
	}
	s.Configure(config(", open: []"))
	s.Reload()
	if got := ask("/healthz", nil); got != 401 {
		t.Errorf("/healthz after a reload: %d", got)
	}
	s.Configure("")
	s.Reload()
	if got := ask("/varz", nil); got != 200 {
		t.Errorf("without a login: %d", got)
	}
}
