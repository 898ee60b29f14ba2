package compat

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"godwit/tests/harness"
)

// The signals that end a server, and the exit code that tells a supervisor it was wanted.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		code   int
	}{
		{"SIGINT", syscall.SIGINT, 0},
		{"SIGTERM", syscall.SIGTERM, 0},
		{"SIGUSR2 without clients", syscall.SIGUSR2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := harness.Start(t, harness.Options{Streams: true})
			harness.Eventually(t, func() error { // the harness's own probe may not be gone yet
				var varz struct{ Connections int }
				s.Monitor(t, "/varz", &varz)
				return harness.Want("connections", varz.Connections, 0)
			})
			s.Signal(tt.signal)
			if code := s.WaitEnd(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
		})
	}
}

// SIGUSR1 reopens the log file, for log rotation.
func TestLogRotation(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "server.log")
	s := harness.New(t, harness.Options{Config: "log_file: \"" + file + "\"\nport: -1\nhost: 127.0.0.1", NoListen: true})
	s.StartSilent(func() bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "Server is ready")
	})
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	s.Signal(syscall.SIGUSR1)
	harness.Eventually(t, func() error {
		_, err := os.Stat(file)
		return err
	})
}

// check runs "server -t -c FILE".
func check(t *testing.T, config string) (out string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "check.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), harness.Binary(t), "-t", "-c", file).CombinedOutput()
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatal(err)
		}
		return string(text), exit.ExitCode()
	}
	return string(text), 0
}

func TestConfigurationCheck(t *testing.T) {
	if out, code := check(t, "port: 4333\nmax_payload: 2MB\n"); code != 0 || !strings.Contains(out, "configuration file") || !strings.Contains(out, "is valid") {
		t.Errorf("a good file: code %d, %s", code, out)
	}
	for name, tt := range map[string]struct{ config, want string }{
		"unknown key":    {"port: 4333\nmax_paylod: 2MB\n", `check\.conf:2:1: .*max_paylod`},
		"wrong type":     {"port: 4333\n\nmax_payload: \"many\"\n", `check\.conf:3:`},
		"cut block":      {"port: 4333\nauthorization {\n", `check\.conf:|line 3`},
		"bad log option": {"debug: 7\n", `check\.conf:1:`},
	} {
		out, code := check(t, tt.config)
		if code == 0 || !regexp.MustCompile(tt.want).MatchString(out) {
			t.Errorf("%s: code %d, want %s in %s", name, code, tt.want, out)
		}
	}
}

// A port that is taken is a fatal error with the reason.
func TestPortInUse(t *testing.T) {
	first := harness.Start(t, harness.Options{})
	second := harness.New(t, harness.Options{Port: portOf(first.Addr())})
	if out := second.StartExpectingFailure(); !strings.Contains(out, "address already in use") {
		t.Errorf("got %s", out)
	}
}
