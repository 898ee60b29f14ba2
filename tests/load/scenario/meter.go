package scenario

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"godwit/tests/harness/procfs"
	"godwit/tests/load/stats"
)

// Meter measures one phase of a scenario.
type Meter struct {
	e      *Env
	name   string
	start  time.Time
	server time.Duration
	client time.Duration
	io     procfs.IO
	prof   sync.WaitGroup
}

// Begin starts measuring; everything must be connected and set up.
func (e *Env) Begin(name string) *Meter {
	m := &Meter{e: e, name: name, io: e.Cluster.IO()}
	if e.ProfDir != "" && e.Label != "" {
		for _, s := range e.Cluster.Servers {
			m.prof.Add(1)
			go func() {
				defer m.prof.Done()
				role := ""
				if s == e.leader && len(e.Cluster.Servers) > 1 {
					role = "-leader"
				}
				file := fmt.Sprintf("%s-%s-%s%s.pprof", e.Label, name, s.Name, role)
				if err := s.Profile(e.ProfSecs, filepath.Join(e.ProfDir, file)); err != nil {
					fmt.Fprintf(e.Log, "profile: %v\n", err)
				}
			}()
		}
	}
	m.client = procfs.OwnCPU()
	m.server = e.Cluster.CPU()
	m.start = time.Now()
	return m
}

// End closes the phase: units messages of the given payload size were moved.
func (m *Meter) End(units uint64, size int, lat *stats.Hist) stats.Phase {
	took := time.Since(m.start)
	server := m.e.Cluster.CPU() - m.server
	client := procfs.OwnCPU() - m.client
	io := m.e.Cluster.IO()
	_, peak := m.e.Cluster.RSS()
	n := float64(units)
	p := stats.Phase{Name: m.name, Values: map[string]float64{
		"msgs": n, "secs": took.Seconds(),
		"msgs_per_s":      n / took.Seconds(),
		"mb_per_s":        n * float64(size) / took.Seconds() / 1e6,
		"server_cpu_s_M":  server.Seconds() / n * 1e6,
		"client_cpu_s_M":  client.Seconds() / n * 1e6,
		"server_cpu_s":    server.Seconds(),
		"server_rss_mb":   float64(peak) / 1e6,
		"disk_mb":         float64(m.e.Cluster.Disk()) / 1e6,
		"disk_written_mb": float64(io.Written-m.io.Written) / 1e6,
		"reads_per_msg":   float64(io.Reads-m.io.Reads) / n,
		"writes_per_msg":  float64(io.Writes-m.io.Writes) / n,
	}}
	p.Latency(lat)
	m.prof.Wait()
	return p
}
