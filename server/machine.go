package server

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeSpace is what can still be written to the file system of dir, in bytes; 0 if the system does not tell.
func freeSpace(dir string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}

// byteSize is n as people read it.
func byteSize(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.2f %cB", f, units[i])
}
