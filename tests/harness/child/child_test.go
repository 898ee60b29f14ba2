package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStopAsksFirstAndKillsLater(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		grace        time.Duration
		byItself     bool
	}{
		{"obedient", "echo ready; exec sleep 60", 20 * time.Second, true},
		{"stubborn", "trap '' TERM; echo ready; while :; do sleep 0.1; done", 50 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := startReady(t, tt.script)
			defer p.KillGroup()
			if got := p.Stop(tt.grace); got != tt.byItself {
				t.Errorf("ended by itself: %v", got)
			}
			if p.Alive() || p.Signal(syscall.SIGTERM) == nil {
				t.Error("still there")
			}
		})
	}
}

func TestStateTellsTheExitCode(t *testing.T) {
	p, err := Start(exec.Command("sh", "-c", "exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	if code := p.State().ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if _, err := Start(exec.Command("/nonexistent/program")); err == nil {
		t.Error("started a program that does not exist")
	}
}

// A child must die with its parent even when the parent is killed. The parent here is this test
// binary, started once more; it prints the process id of its own child.
func TestChildDiesWithItsParent(t *testing.T) {
	if os.Getenv("CHILD_TEST_PARENT") != "" {
		p, err := Start(exec.Command("sleep", "60"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pid %d\n", p.PID())
		<-p.Done()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildDiesWithItsParent$")
	cmd.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for in := bufio.NewScanner(out); pid == 0 && in.Scan(); {
		if rest, ok := strings.CutPrefix(in.Text(), "pid "); ok {
			pid, _ = strconv.Atoi(rest)
		}
	}
	if pid == 0 {
		t.Fatal("the parent told no process id")
	}
	parent.Kill()
	for end := time.Now().Add(10 * time.Second); !gone(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d outlived its parent", pid)
		}
	}
}

// gone tells whether the process has ended; an orphan that nobody reaped yet counts as ended.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

func startReady(t *testing.T, script string) *Process {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return p
}
