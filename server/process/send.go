package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// SendSignal does what --signal asks: param is "command" or "command=target", name the program's name.
//
// The commands are stop (KILL), quit (INT), term (TERM), reopen (USR1), reload (HUP) and ldm (USR2). The target is
// a process id, or a pid file; followed by "*" it means all processes of that name whose id begins so, and "*"
// alone all of them. Without a target there must be exactly one. This process itself is never meant.
//
// Errors are for people: unknown signal "x", invalid pid: x, invalid signal parameters: […], no NAME processes
// running, multiple NAME processes running: …, signal "x" 99: no such process.
func SendSignal(param, name string) error {
	return sender{name: name, self: os.Getpid(), proc: "/proc", kill: kill}.send(param)
}

// sender carries what tests replace.
type sender struct {
	name string
	self int
	proc string // where the process table is mounted
	kill func(pid int, sig syscall.Signal) error
}

func (s sender) send(param string) error {
	command, target, has := strings.Cut(param, "=")
	if has && strings.Contains(target, "=") {
		return fmt.Errorf("invalid signal parameters: %v", strings.Split(target, "=")[1:])
	}
	pids, err := s.resolve(target)
	if err != nil {
		return err
	}
	sig, ok := commands()[command]
	if !ok {
		return fmt.Errorf("unknown signal %q", command)
	}
	var failed strings.Builder
	for _, pid := range pids {
		if err := s.kill(pid, sig); err != nil {
			fmt.Fprintf(&failed, "\nsignal %q %d: %v", command, pid, err)
		}
	}
	if failed.Len() > 0 {
		return fmt.Errorf("%s", failed.String())
	}
	return nil
}

// resolve finds the processes a target means.
func (s sender) resolve(target string) ([]int, error) {
	prefix, glob := strings.CutSuffix(target, "*")
	if st, err := os.Stat(prefix); err == nil && st.Mode().IsRegular() {
		b, err := os.ReadFile(prefix)
		if err != nil {
			return nil, err
		}
		prefix = strings.TrimSpace(string(b))
	}
	if prefix != "" {
		pid, err := parsePID(prefix)
		if err != nil {
			return nil, err
		}
		if !glob {
			return []int{pid}, nil
		}
	}
	pids, err := s.running(prefix)
	switch {
	case err != nil:
		return nil, err
	case len(pids) == 0:
		return nil, fmt.Errorf("no %s processes running", s.name)
	case len(pids) > 1 && !glob:
		var list strings.Builder
		for _, pid := range pids {
			fmt.Fprintf(&list, "\n%d", pid)
		}
		return nil, fmt.Errorf("multiple %s processes running:%s", s.name, list.String())
	}
	return pids, nil
}

// commMax is how many bytes of a process's name the kernel keeps.
const commMax = 15

// running lists the processes named s.name whose id begins with prefix, this one excepted, in ascending order.
func (s sender) running(prefix string) ([]int, error) {
	entries, err := os.ReadDir(s.proc)
	if err != nil {
		return nil, fmt.Errorf("unable to list the running processes, name one by its pid: %w", err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == s.self || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if s.isNamed(e.Name()) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// isNamed says whether the process is a living one with the sender's name: what the kernel calls it, and if
// that is too long for the kernel, what it was started as.
func (s sender) isNamed(pid string) bool {
	comm, err := os.ReadFile(filepath.Join(s.proc, pid, "comm"))
	if err != nil || strings.TrimSuffix(string(comm), "\n") != s.name[:min(len(s.name), commMax)] {
		return false
	}
	cmdline, err := os.ReadFile(filepath.Join(s.proc, pid, "cmdline"))
	if err != nil || len(cmdline) == 0 { // it has ended and waits for its parent
		return false
	}
	if len(s.name) <= commMax {
		return true
	}
	arg0, _, _ := strings.Cut(string(cmdline), "\x00")
	return filepath.Base(arg0) == s.name
}
