package process

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestRedactArgs(t *testing.T) {
	tests := []struct{ in, want string }{
		{"x", "x"},
		{"x -p 1 --user u --pass=secret --auth tok", "x -p 1 --user [REDACTED] --pass=[REDACTED] --auth [REDACTED]"},
		{"x -pass secret -auth=a=b", "x -pass [REDACTED] -auth=[REDACTED]"},
		{"x --pass", "x --pass"},
		{"x --pass= --user", "x --pass= --user"},
		{"x --passion fruit -password p", "x --passion fruit -password p"},
		{"x --cluster nats://u:p@h:1 --routes nats://a:b@h:2,nats://tok@i:3", "x --cluster nats://[REDACTED]@h:1 --routes nats://[REDACTED]@h:2,nats://[REDACTED]@i:3"},
		{"x --routes=nats://a:p@ss@h:2", "x --routes=nats://[REDACTED]@h:2"},
		{"x --routes=nats://h:2/a@b nats://?u@ nats://@h", "x --routes=nats://h:2/a@b nats://?u@ nats://@h"},
		{"x -- user@host a:b@c", "x -- user@host a:b@c"},
		{"pass --pass://u:p@h", "pass --pass://[REDACTED]@h"},
	}
	for _, tt := range tests {
		in := strings.Fields(tt.in)
		before := slices.Clone(in)
		if got := strings.Join(RedactArgs(in), " "); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		if !slices.Equal(in, before) {
			t.Errorf("arguments changed to %v", in)
		}
	}
	if got := RedactArgs([]string{"x", "--pass", ""}); !slices.Equal(got, []string{"x", "--pass", ""}) {
		t.Errorf("%q", got)
	}
}

func FuzzRedactArgs(f *testing.F) {
	for _, s := range []string{"--pass\x00s", "--routes\x00nats://u:p@h,nats://", "://@", "://a@b://c@d", "--auth=://x@y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		args := append([]string{"x"}, strings.Split(s, "\x00")...)
		last := span{}
		for _, s := range secrets(args) {
			if s.arg < last.arg || s.arg == last.arg && s.start < last.end || s.start >= s.end || s.end > len(args[s.arg]) {
				t.Fatalf("%q: %+v after %+v", args, s, last)
			}
			last = s
		}
		shown := RedactArgs(args)
		if len(shown) != len(args) {
			t.Errorf("%q became %q", args, shown)
		}
	})
}

// childEnv makes the test binary a child that hides its arguments.
const childEnv = "PROCESS_TEST_HIDE_ARGS"

// argsChild hides the arguments and prints what others see of them and what is left for itself.
func argsChild() int {
	if err := HideArgs(); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	seen, err := os.ReadFile("/proc/self/cmdline")
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Printf("%q\n%q\n", strings.Split(strings.TrimSuffix(string(seen), "\x00"), "\x00")[1:], os.Args[1:])
	return 0
}

func TestHideArgs(t *testing.T) {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		t.Skip("no /proc here: ", err)
	}
	tests := []struct{ args, seen []string }{
		{[]string{"--user", "bob", "-p", "1", "--pass=s3cret", "--routes", "nats://u:p@h:1", ""},
			[]string{"--user", "xxx", "-p", "1", "--pass=xxxxxx", "--routes", "nats://xxx@h:1", ""}},
		{[]string{"-p", "1"}, []string{"-p", "1"}},
		{nil, nil},
	}
	for _, tt := range tests {
		cmd := exec.Command(os.Args[0], tt.args...)
		cmd.Env = append(os.Environ(), childEnv+"=1", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		seen := tt.seen
		if seen == nil {
			seen = []string{}
		}
		args := tt.args
		if args == nil {
			args = []string{}
		}
		if want := fmt.Sprintf("%q\n%q\n", seen, args); string(out) != want || err != nil {
			t.Errorf("got %s, %v\nwant %s", out, err, want)
		}
	}
}
