// Package procfs reads what the kernel knows about a process: CPU time, memory, input and output.
package procfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is USER_HZ, which is 100 on every Linux that matters.
const ticksPerSecond = 100

// CPU returns the user plus system CPU time of a process.
func CPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The command name may hold blanks; the fields we want follow its ')'.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("short /proc/%d/stat", pid)
	}
	user, _ := strconv.ParseInt(string(f[11]), 10, 64)
	sys, _ := strconv.ParseInt(string(f[12]), 10, 64)
	return time.Duration(user+sys) * time.Second / ticksPerSecond, nil
}

// field returns a "Name: value" number of a file under /proc/PID.
func field(pid int, file, name string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			f := strings.Fields(rest)
			if len(f) > 0 {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n
			}
		}
	}
	return 0
}

// RSS returns the resident set in bytes; peak is its high-water mark.
func RSS(pid int) (now, peak int64) {
	return field(pid, "status", "VmRSS") << 10, field(pid, "status", "VmHWM") << 10
}

// IO is what a process has done to files and sockets so far.
type IO struct {
	Written       int64 // bytes caused to be sent to storage
	Reads, Writes int64 // system calls
}

// ReadIO reads the counters of a process; they are zero for one that is gone.
func ReadIO(pid int) IO {
	return IO{field(pid, "io", "write_bytes"), field(pid, "io", "syscr"), field(pid, "io", "syscw")}
}

// OwnCPU returns the CPU time that the calling process has used.
func OwnCPU() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// DiskUsage sums the sizes of the files below dir.
func DiskUsage(dir string) int64 {
	var total int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
