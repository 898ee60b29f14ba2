package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ClientModule is the module that brings the suite.
const ClientModule = "github.com/nats-io/nats.go"

// buildFlags are what the client's own continuous integration builds its tests with.
func buildFlags() []string { return []string{"-modfile=go_test.mod", "-tags=internal_testing"} }

// Fetch downloads the client module through the go command and makes a writable copy in dir.
func Fetch(version, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "mod", "download", "-json", ClientModule+"@"+version)
	cmd.Dir = dir
	cmd.Env = goEnv("")
	text, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jerr := json.Unmarshal(text, &module); jerr != nil || module.Error != "" || module.Dir == "" {
		return fmt.Errorf("go mod download %s@%s: %v %s", ClientModule, version, err, module.Error)
	}
	return copyTree(module.Dir, dir)
}

// copyTree copies the files below from; the copies are writable, which the originals are not.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// Packages lists the packages below dir that match the patterns and have tests, in the form that
// the go command takes: ./test, or a dot for the root.
func Packages(dir string, patterns []string) ([]string, error) {
	args := append([]string{"list"}, buildFlags()...)
	args = append(args, "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}`)
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Dir = dir
	cmd.Env = goEnv("")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []string
	for _, path := range strings.Fields(string(text)) {
		list = append(list, "."+strings.TrimPrefix(path, ClientModule))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no tests in %v", patterns)
	}
	return list, nil
}

// goEnv is the environment of the go command; url points the suite at the tester.
func goEnv(url string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		// The suite skips some of its tests on its own servers' machines.
		return strings.HasPrefix(v, "GITHUB_ACTIONS=") || strings.HasPrefix(v, "TESTER_NATS_URL=")
	})
	env = append(env, "GOWORK=off", "GOFLAGS=")
	if url != "" {
		env = append(env, "TESTER_NATS_URL="+url)
	}
	return env
}
