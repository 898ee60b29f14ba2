//go:build !unix

package process

import (
	"errors"
	"os"
	"syscall"
)

func watched() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

func actionOf(sig os.Signal) action {
	switch sig {
	case os.Interrupt:
		return actQuit
	case syscall.SIGTERM:
		return actTerminate
	}
	return actNone
}

// commands has only what can be done to another process everywhere.
func commands() map[string]syscall.Signal { return map[string]syscall.Signal{"stop": syscall.SIGKILL} }

func kill(pid int, _ syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return errors.Join(p.Kill(), p.Release())
}
