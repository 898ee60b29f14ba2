// Package child runs programs that never outlive the process that started them: the kernel
// kills each one when its parent goes away, however the parent ended.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is one running child. Its methods may be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd     // owned by the goroutine in run until done is closed
	pid  int           // immutable after Start
	done chan struct{} // closed once the child is gone and cmd.ProcessState is set
}

// Start starts cmd, which is given: the caller must not use it afterwards. The child gets a
// process group of its own, so that a Ctrl-C at the terminal does not reach it.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the child and waits for its end on one and the same thread: the kernel sends the
// parent-death signal when the thread that started the child goes away, so it must stay.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err == nil {
		p.pid = p.cmd.Process.Pid
	}
	started <- err
	if err == nil {
		p.cmd.Wait() // its outcome is read through State
		close(p.done)
	}
}

// PID returns the child's process id, which is also its process group.
func (p *Process) PID() int { return p.pid }

// Done is closed once the child is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive tells whether the child still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// State says how the child ended, in the words of os.ProcessState; it waits for the end.
func (p *Process) State() *os.ProcessState {
	<-p.done
	return p.cmd.ProcessState
}

// Signal sends a signal to the child alone. A child that is gone makes it an error.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends the child with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// Stop asks the child to end with SIGTERM, kills it after the grace period, and returns once it
// is gone. It tells whether the child went by itself.
func (p *Process) Stop(grace time.Duration) bool {
	p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		p.Kill()
		return false
	}
}

// KillGroup ends the child and everything else in its process group with SIGKILL. It may be
// called after the child is gone, for what the child left behind.
func (p *Process) KillGroup() { syscall.Kill(-p.pid, syscall.SIGKILL) }

// SignalGroup sends a signal to the child's whole process group.
func (p *Process) SignalGroup(sig syscall.Signal) { syscall.Kill(-p.pid, sig) }
