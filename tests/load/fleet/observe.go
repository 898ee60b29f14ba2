package fleet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"godwit/tests/harness/procfs"
)

// pid returns the process id, or 0 if the server is not a process of ours.
func (s *Server) pid() int {
	p := s.process.Load()
	if p == nil {
		return 0
	}
	return p.PID()
}

// CPU returns the CPU time used by all processes so far.
func (c *Cluster) CPU() (total time.Duration) {
	for _, s := range c.Servers {
		cpu, _ := procfs.CPU(s.pid())
		total += cpu
	}
	return total
}

// RSS returns the memory of all processes.
func (c *Cluster) RSS() (now, peak int64) {
	for _, s := range c.Servers {
		n, p := procfs.RSS(s.pid())
		now += n
		peak += p
	}
	return now, peak
}

// IO returns what all processes did to files and sockets.
func (c *Cluster) IO() (total procfs.IO) {
	for _, s := range c.Servers {
		io := procfs.ReadIO(s.pid())
		total.Written += io.Written
		total.Reads += io.Reads
		total.Writes += io.Writes
	}
	return total
}

// Disk returns the size of all data directories.
func (c *Cluster) Disk() (total int64) {
	for _, s := range c.Servers {
		total += procfs.DiskUsage(s.Dir)
	}
	return total
}

// Profile fetches a CPU profile over the profiling port into file.
func (s *Server) Profile(seconds int, file string) error {
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/profile?seconds=%d", s.profPort, seconds))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, resp.Body)
	return err
}
