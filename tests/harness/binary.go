package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Environment variables that say what is tested.
const (
	binaryVariable = "GODWIT_BIN"  // path of the server binary
	peerVariable   = "GODWIT_PEER" // not empty: the binary is nats-server
	cliVariable    = "NATS_CLI"    // path of the nats command line tool
)

// Main runs the tests of a package and returns the exit status; TestMain calls it. Unless
// GODWIT_BIN names a binary, it builds one for all tests of the package.
func Main(m *testing.M) int {
	if os.Getenv(binaryVariable) == "" {
		dir, err := os.MkdirTemp("", "godwit-harness-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary := filepath.Join(dir, "godwit")
		build := exec.Command("go", "build", "-o", binary, "godwit/cmd/godwit")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "build godwit: %v\n", err)
			return 1
		}
		os.Setenv(binaryVariable, binary)
	}
	return m.Run()
}

// Binary returns the path of the server under test.
func Binary(t testing.TB) string {
	t.Helper()
	path := os.Getenv(binaryVariable)
	if path == "" {
		t.Fatalf("%s is not set: does the package's TestMain call harness.Main?", binaryVariable)
	}
	return path
}

// OnPeer tells whether the binary is nats-server and not Godwit.
func OnPeer() bool { return os.Getenv(peerVariable) != "" }

// Count returns how often a test repeats its work: normally the given number, or what the
// environment variable says for a long run.
func Count(t testing.TB, variable string, normally int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return normally
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a number of at least 1", variable, text)
	}
	return n
}

// CLI returns the path of the nats command line tool, and skips the test where there is none.
func CLI(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(cliVariable); path != "" {
		return path
	}
	path, err := exec.LookPath("nats")
	if err != nil {
		t.Skipf("no nats command line tool: set %s", cliVariable)
	}
	return path
}
