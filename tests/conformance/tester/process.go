package tester

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"godwit/tests/harness/child"
)

// process is one running server: BINARY -c FILE with its output in a log file.
type process struct {
	*child.Process
	logPath  string
	logStart int64         // size of the log when this process began
	stopping atomic.Bool   // set before a signal that asks it to end
	settled  chan struct{} // closed once onExit has returned or was not needed
}

// startProcess runs the binary; onExit is called when it ends unasked.
func startProcess(binary, config, logPath string, onExit func(p *process, state string)) (*process, error) {
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	p := &process{logPath: logPath, settled: make(chan struct{})}
	if st, err := logFile.Stat(); err == nil {
		p.logStart = st.Size()
	}
	cmd := exec.Command(binary, "-c", config)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if p.Process, err = child.Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.settled)
		state := p.State().String()
		if !p.stopping.Load() && onExit != nil {
			onExit(p, state)
		}
	}()
	return p, nil
}

// stop asks the process to end and kills it after the grace period.
func (p *process) stop(grace time.Duration) {
	p.stopping.Store(true)
	p.Stop(grace)
	<-p.settled
}

// log returns what this process has written after offset.
func (p *process) log(offset int64) string {
	data, err := os.ReadFile(p.logPath)
	if err != nil || offset > int64(len(data)) {
		return ""
	}
	return string(data[offset:])
}

func (p *process) logTail(lines int) string {
	all := strings.Split(strings.TrimRight(p.log(p.logStart), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}

var (
	reloadDone   = regexp.MustCompile(`(?i)reloaded server configuration`)
	reloadFailed = regexp.MustCompile(`(?i)failed to reload.*`)
)

// reload sends SIGHUP and learns the outcome from the log. A server that logs
// neither message is taken to have reloaded after the wait.
func (p *process) reload(wait time.Duration) (confirmed bool, err error) {
	st, err := os.Stat(p.logPath)
	if err != nil {
		return false, err
	}
	if err := p.Signal(syscall.SIGHUP); err != nil {
		return false, err
	}
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); time.Sleep(3 * time.Millisecond) {
		text := p.log(st.Size())
		if m := reloadFailed.FindString(text); m != "" {
			return true, errors.New(m)
		}
		if reloadDone.MatchString(text) {
			return true, nil
		}
		if !p.Alive() {
			return true, fmt.Errorf("the server ended: %s", p.logTail(5))
		}
	}
	return false, nil
}
