package monitor

import (
	"bytes"
	"os"
	"strconv"
)

// residentBytes reads the resident size from the second number of /proc/self/statm, which counts pages.
func residentBytes() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if n, ok := statmResident(b, os.Getpagesize()); ok {
			return n
		}
	}
	return runtimeBytes()
}

func statmResident(statm []byte, pageBytes int) (int64, bool) {
	f := bytes.Fields(statm)
	if len(f) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	return pages * int64(pageBytes), err == nil && pages > 0
}
