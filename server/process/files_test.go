package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(argsChild())
	}
	goleak.VerifyTestMain(m)
}

func TestPIDFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pid")
	if err := os.WriteFile(path, []byte("12345678901234567890"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WritePIDFile(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != fmt.Sprint(os.Getpid()) {
		t.Errorf("%q, %v", b, err)
	}
	if pid, err := ReadPIDFile(path); pid != os.Getpid() || err != nil {
		t.Error(pid, err)
	}
	if err := WritePIDFile(filepath.Join(path, "y")); err == nil || !strings.HasPrefix(err.Error(), "open "+path) {
		t.Error(err)
	}
	if _, err := ReadPIDFile(path + "no"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for content, want := range map[string]string{"": "invalid pid: ", "abc": "invalid pid: abc", "0": "invalid pid: 0", "-1": "invalid pid: -1", "99999999999999999999": "invalid pid: 99999999999999999999"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPIDFile(path); err == nil || err.Error() != want {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestPortsJSON(t *testing.T) {
	tests := []struct {
		p    Ports
		want string
	}{
		{Ports{}, `{}`},
		{Ports{Nats: []string{"nats://127.0.0.1:15301"}, Monitoring: []string{"http://127.0.0.1:15302"}, Profile: []string{"http://127.0.0.1:15303"}},
			`{"nats":["nats://127.0.0.1:15301"],"monitoring":["http://127.0.0.1:15302"],"profile":["http://127.0.0.1:15303"]}`},
		{Ports{WebSocket: []string{"ws://[::1]:1"}, Cluster: []string{"tls://h:2"}, Nats: []string{"tls://h:3", "tls://i:3"}},
			`{"nats":["tls://h:3","tls://i:3"],"cluster":["tls://h:2"],"websocket":["ws://[::1]:1"]}`},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		f, err := WritePortsFile(dir, tt.p)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s_%d.ports", Name(), os.Getpid())
		if f.Path() != filepath.Join(dir, name) || f.Path() != PortsFilePath(dir) {
			t.Error(f.Path())
		}
		b, err := os.ReadFile(f.Path())
		if err != nil || string(b) != tt.want {
			t.Errorf("got %s, %v; want %s", b, err, tt.want)
		}
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
		if err := f.Remove(); !errors.Is(err, fs.ErrNotExist) {
			t.Error("removed twice: ", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Error("left behind: ", left, err)
		}
	}
	if _, err := WritePortsFile(filepath.Join(t.TempDir(), "none"), Ports{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestListenURLs(t *testing.T) {
	if got := ListenURLs("nats", "127.0.0.1", 4222); !slices.Equal(got, []string{"nats://127.0.0.1:4222"}) {
		t.Error(got)
	}
	if got := ListenURLs("ws", "::1", 8080); !slices.Equal(got, []string{"ws://[::1]:8080"}) {
		t.Error(got)
	}
	if got := ListenURLs("tls", "example.com", 1); !slices.Equal(got, []string{"tls://example.com:1"}) {
		t.Error(got)
	}
	for _, all := range []string{"", "0.0.0.0", "::"} {
		if got := ListenURLs("nats", all, 4222); !slices.Contains(got, "nats://127.0.0.1:4222") || slices.Contains(got, "nats://0.0.0.0:4222") {
			t.Errorf("%q: %v", all, got)
		}
	}
	b, err := json.Marshal(Ports{Nats: ListenURLs("nats", "0.0.0.0", 1)})
	if err != nil || strings.Contains(string(b), "null") {
		t.Error(string(b), err)
	}
}

func TestName(t *testing.T) {
	if n := Name(); n == "" || strings.ContainsRune(n, filepath.Separator) {
		t.Error(n)
	}
}
