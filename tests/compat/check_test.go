package compat

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

// runCheck runs "godwit check" and returns what it printed and its exit status.
func runCheck(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Binary(t), append([]string{"check"}, args...)...)
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestCheckCommand(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	js, err := jetstream.New(s.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := js.Publish(ctx, "s.a", []byte("a message that is somewhat longer than nothing")); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(s.Dir(), "data")
	expect := func(status int, want string, args ...string) {
		t.Helper()
		out, got := runCheck(t, append(args, dir)...)
		if got != status || !strings.Contains(out, want) {
			t.Errorf("check %v: status %d, want %d and %q in\n%s", args, got, status, want, out)
		}
	}
	expect(3, "is in use by another process; stop the server first")
	second := harness.Start(t, harness.Options{})
	second.Stop()
	second.Configure("jetstream { store_dir: \"" + dir + "\" }")
	if text := second.StartExpectingFailure(); !strings.Contains(text, "is in use by another process") {
		t.Errorf("a second server on the same directory: %s", text)
	}
	s.Stop()
	expect(0, "ok    $G > S: 100 messages, 0 consumers")
	find := func(pattern string) string {
		t.Helper()
		var found string
		if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if ok, _ := filepath.Match(pattern, filepath.Base(path)); ok {
				found = path
			}
			return err
		}); err != nil || found == "" {
			t.Fatalf("no %s: %v", pattern, err)
		}
		return found
	}
	flip := func(path string, at int) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at] ^= 4
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	flip(find("*.checkpoint"), 20)
	flip(find("stream.json"), 20)
	expect(1, "can be made again with --repair")
	expect(1, "made again", "--repair")
	expect(0, "ok    $G > S: 100 messages")
	flip(find("*.log"), 4000)
	expect(2, "LOSS  $G > S")
	out, status := runCheck(t, "--json", dir)
	var list []struct {
		Stream string
		Status int
		Faults []struct {
			First uint64 `json:"first_seq"`
			Last  uint64 `json:"last_seq"`
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 2 || len(list) != 1 || list[0].Status != 2 || len(list[0].Faults) != 1 || list[0].Faults[0].First == 0 {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
	s.Start() // what is left is served
	if js, err = jetstream.New(s.Connect(t)); err != nil {
		t.Fatal(err)
	}
	st, err := js.Stream(ctx, "S")
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for seq := uint64(1); seq <= 100; seq++ {
		if _, err := st.GetMsg(ctx, seq); err != nil {
			lost++
			if seq < list[0].Faults[0].First || seq > list[0].Faults[0].Last {
				t.Errorf("message %d: %v", seq, err)
			}
		}
	}
	if lost == 0 || lost > 10 {
		t.Errorf("%d messages are lost", lost)
	}
	s.Stop()
}

func TestCheckCommandBadInput(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "check needs one directory"},
		{[]string{empty, empty}, "check needs one directory"},
		{[]string{empty}, "no stream is stored there"},
		{[]string{filepath.Join(empty, "nope")}, "no such file or directory"},
		{[]string{"--nonsense", empty}, "nonsense"},
	} {
		if out, status := runCheck(t, c.args...); status == 0 || !strings.Contains(out, c.want) {
			t.Errorf("check %v: status %d\n%s", c.args, status, out)
		}
	}
}
