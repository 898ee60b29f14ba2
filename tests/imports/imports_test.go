package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func TestImportDirections(t *testing.T) {
	packages := list(t)
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	for _, violation := range Violations(packages, Rules(), Bans()) {
		t.Error(violation)
	}
}

// list asks the go command for every package of the module.
func list(t *testing.T) (packages []Package) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", Module+"/...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	in := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p Package
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestViolations(t *testing.T) {
	for _, tt := range []struct {
		pkg, imports string
		want         string // part of the sentence; empty for none
	}{
		{"godwit/protocol", "godwit/protocol/subject", ""},
		{"godwit/protocol", "godwit/server/options", "wire formats"},
		{"godwit/protocol/subject", "godwit/conf", "only the command"},
		{"godwit/conf", "godwit/protocol", "configuration language"},
		{"godwit/server/config", "godwit/conf", ""},
		{"godwit/server/conn", "godwit/conf", "only the command"},
		{"godwit/server/router", "godwit/server/account", "small interface"},
		{"godwit/server/account", "godwit/server/router", ""},
		{"godwit/server/conn", "godwit/server", "server that owns them"},
		{"godwit/server/conn", "godwit/stream", "not streams"},
		{"godwit/server", "godwit/server/conn", ""},
		{"godwit/server", "godwit/cmd/godwit", "below the commands"},
		{"godwit/cmd/godwit", "godwit/server", ""},
		{"godwit/stream/segment", "godwit/stream/vfs", ""},
		{"godwit/stream/segment", "godwit/stream", "not messages"},
		{"godwit/stream/vfs", "godwit/stream/segment", "at the bottom"},
		{"godwit/raft", "godwit/stream", "meets streams in the domain service"},
		{"godwit/raft/logstore", "godwit/stream/segment", ""},
		{"godwit/server/router", "godwit/tests/harness", "nothing that is shipped"},
		{"godwit/server/conn", "github.com/nats-io/nats.go/jetstream", "connect to itself"},
		{"godwit/server/conn", "github.com/nats-io/nats.gold", ""},
		{"godwit/somewhere", "fmt", "no rule"},
		{"godwit/serverless", "fmt", "no rule"},
		{"example.com/other", "godwit/conf", ""},
	} {
		got := strings.Join(Violations([]Package{{tt.pkg, []string{tt.imports}}}, Rules(), Bans()), "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s imports %s: got %q, want %q", tt.pkg, tt.imports, got, tt.want)
		}
	}
}

// Every entry of the tables has a reason, and no path has two rules.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Why == "" || seen[r.Of] {
			t.Errorf("rule of %s: no reason, or a second rule", r.Of)
		}
		seen[r.Of] = true
	}
	for _, b := range Bans() {
		if b.Why == "" {
			t.Errorf("ban of %s: no reason", b.Import)
		}
	}
}
