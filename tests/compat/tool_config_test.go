package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files are judged as a server does, keys are explained, and what is in force is shown with where it comes from, but not its secrets.
func TestToolConfig(t *testing.T) {
	x := &tool{t: t, env: append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")), dir: t.TempDir()}
	for name, text := range map[string]string{
		"good.conf": "port: 5555\nauthorization { user: me, password: secret1 }\nhttp_authorization { users: [{user: x, password: secret2}] }\njetstream {}\n",
		"bad.conf":  "port: x\n",
	} {
		if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x.steps([]toolStep{
		{args: "config test good.conf"},
		{args: "config test --json good.conf", want: []string{`"valid": true`}},
		{args: "config test bad.conf", status: 1, want: []string{"bad.conf:1:0"}},
		{args: "config test nothing.conf", status: 1, want: []string{"nothing.conf"}},
		{args: "config test", status: 2, want: []string{"config test needs one file"}},
		{args: "config explain max_payload", want: []string{"Largest message", "1MB", "takes effect"}},
		{args: "config explain jetstream.segment_size", want: []string{"256MB", "refused: needs a restart"}},
		{args: "config explain --json max_payload", want: []string{`"max_payload"`}},
		{args: "config explain max_paylod", status: 1, want: []string{`there is no key "max_paylod"`, "did you mean max_payload"}},
		{args: "config explain", want: []string{"Top level", "listen", "jetstream"}},
		{args: "config print -c good.conf --given", want: []string{"port", "5555", "good.conf:1", "[REDACTED]"}},
		{args: "config print -c good.conf", want: []string{"max_payload", "default"}},
		{args: "config print -c good.conf --json", want: []string{`"path": "port"`}},
		{args: "config print -c bad.conf", status: 1, want: []string{"bad.conf:1:0"}},
		{args: "config", status: 2, want: []string{"config needs a command"}},
		{args: "config nothing", status: 2, want: []string{`config has no command "nothing"`}},
	})
	out, _, _ := x.run("", "config", "print", "-c", "good.conf", "--given")
	for _, secret := range []string{"secret1", "secret2"} {
		if strings.Contains(out, secret) {
			t.Errorf("a secret is shown:\n%s", out)
		}
	}
}
