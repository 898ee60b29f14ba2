//go:build unix

package monitor

import (
	"syscall"
	"time"
)

// cpuTime is the time this process has run on processors, in user and in kernel mode.
func cpuTime() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
