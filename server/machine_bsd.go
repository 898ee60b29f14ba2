//go:build darwin || freebsd

package server

import "golang.org/x/sys/unix"

// machineMemory is the machine's memory in bytes; 0 if the system does not tell.
func machineMemory() int64 {
	for _, name := range []string{"hw.memsize", "hw.physmem"} { // darwin, freebsd
		if n, err := unix.SysctlUint64(name); err == nil {
			return int64(n)
		}
	}
	return 0
}
