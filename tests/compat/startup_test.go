package compat

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"godwit/tests/harness"
)

// What cannot work ends the start with words that say why.
func TestStartIsRefused(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{"pid_file: \"/proc/nothing/pid\"", "Could not write pidfile: "},
		{"https: \"127.0.0.1:-1\"", "can't specify both HTTP (-1) and HTTPs (-1) ports"},
		{"client_advertise: \"a:b:c\"", "too many colons in address"},
		{"jetstream: enabled, default_js_domain: {\"$SYS\": x}", "default_js_domain"},
		{"accounts {A: {jetstream: enabled}}, jetstream: enabled, default_js_domain: {A: x}", "default_js_domain contains account name \"A\" with enabled JetStream"},
		{"max_payload: 100MB, max_pending: 10MB", "max_payload (104857600) cannot be higher than max_pending (10485760)"},
		{"lame_duck_grace_period: \"3m\"", "lame duck grace period (3m0s) should be strictly lower than lame duck duration (2m0s)"},
		{"no_auth_user: x, authorization {users: [{user: a, password: b}]}", "no_auth_user: \"x\" not present as user or nkey in authorization block or account configuration"},
		{"websocket {port: -1}", "websocket requires TLS configuration"},
		{"websocket {port: -1, no_tls: true, headers: {Host: x}}", "websocket: invalid header \"Host\" not allowed"},
		{"mqtt {port: -1}", "mqtt requires JetStream to be enabled if running in standalone mode"},
		{"system_account: NONE", "error resolving system account: account missing"},
	} {
		s := harness.New(t, harness.Options{Config: tt.config})
		if log := s.StartExpectingFailure(); !strings.Contains(log, tt.want) {
			t.Errorf("%s: no %q in %s", tt.config, tt.want, log)
		}
	}
}

func TestStartWarns(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "max_payload: 20MB\nauthorization {users: [{user: a, password: b}]}"})
	for _, want := range []string{"Maximum payloads over 8.00 MB are generally discouraged and could lead to poor performance", "Plaintext passwords detected, use nkeys or bcrypt"} {
		if !strings.Contains(s.Log(), "[WRN] "+want) {
			t.Errorf("no %q in %s", want, s.Log())
		}
	}
}

// The ports file follows the configuration, and so do other things that a reload changes beside connections.
func TestReloadMovesFiles(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	reload := func(config string, lines ...string) {
		t.Helper()
		s.Configure(config)
		if line := s.Reload(); !strings.Contains(line, "Reloaded server configuration") {
			t.Fatal(line)
		}
		for _, line := range lines {
			if !strings.Contains(s.Log(), "Reloaded: "+line) {
				t.Errorf("no %q in %s", line, s.Log())
			}
		}
	}
	ports := func(dir string) string {
		found, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("*_%d.ports", s.PID())))
		if err != nil || len(found) > 1 {
			t.Fatal(found, err)
		}
		if len(found) == 0 {
			return ""
		}
		text, err := os.ReadFile(found[0])
		var p struct{ Nats, Monitoring []string }
		if err != nil || json.Unmarshal(text, &p) != nil || len(p.Nats) != 1 || len(p.Monitoring) != 1 {
			t.Errorf("%v: %s", err, text)
		}
		return strings.Join(p.Nats, " ")
	}
	one, two := t.TempDir(), t.TempDir()
	pid := filepath.Join(two, "pid")
	reload(fmt.Sprintf("ports_file_dir: %q, server_tags: [x], server_metadata: {a: b}", one), "tags", "metadata", "ports_file_dir = "+one)
	if got := ports(one); got != s.URL() {
		t.Errorf("the ports file says %q", got)
	}
	reload(fmt.Sprintf("ports_file_dir: %q, pid_file: %q, authorization {users: [{user: a, password: b}]}", two, pid), "authorization users")
	if a, b := ports(one), ports(two); a != "" || b != s.URL() {
		t.Errorf("ports files: %q and %q", a, b)
	}
	if text, err := os.ReadFile(pid); err != nil || string(text) != fmt.Sprint(s.PID()) {
		t.Errorf("pid file: %q, %v", text, err)
	}
	s.Stop()
	if left, _ := filepath.Glob(filepath.Join(two, "*.ports")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
