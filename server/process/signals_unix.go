//go:build unix

package process

import (
	"os"
	"syscall"
)

func watched() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
}

func actionOf(sig os.Signal) action {
	switch sig {
	case syscall.SIGINT:
		return actQuit
	case syscall.SIGTERM:
		return actTerminate
	case syscall.SIGHUP:
		return actReload
	case syscall.SIGUSR1:
		return actReopen
	case syscall.SIGUSR2:
		return actLameDuck
	}
	return actNone
}

// commands are the words of --signal.
func commands() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"stop":   syscall.SIGKILL,
		"quit":   syscall.SIGINT,
		"term":   syscall.SIGTERM,
		"reopen": syscall.SIGUSR1,
		"reload": syscall.SIGHUP,
		"ldm":    syscall.SIGUSR2,
	}
}

func kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }
