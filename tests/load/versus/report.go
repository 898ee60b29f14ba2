package versus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"godwit/tests/load/fleet"
)

// Report is what --json writes.
type Report struct {
	Tool    string            `json:"tool"`
	Time    string            `json:"time"`
	Machine map[string]string `json:"machine"`
	Servers map[string]string `json:"servers"`
	Cases   []*Case           `json:"cases"`
}

// NewReport begins a report: it asks the binaries for their versions.
func NewReport(o *Options) *Report {
	r := &Report{Tool: "godwit-load", Time: time.Now().UTC().Format(time.RFC3339), Machine: machine(),
		Servers: map[string]string{"a": filepath.Base(o.A) + ": " + fleet.Version(o.A)}}
	if o.B != "" {
		r.Servers["b"] = filepath.Base(o.B) + ": " + fleet.Version(o.B)
	}
	return r
}

func machine() map[string]string {
	m := map[string]string{"cores": fmt.Sprint(runtime.NumCPU()), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				m["cpu"] = strings.TrimLeft(name, "\t :")
				break
			}
		}
	}
	var uts syscall.Utsname
	if syscall.Uname(&uts) == nil {
		var b []byte
		for _, c := range uts.Release {
			if c == 0 {
				break
			}
			b = append(b, byte(c))
		}
		m["kernel"] = string(b)
	}
	if kb := meminfo("MemTotal"); kb > 0 {
		m["memory_gb"] = fmt.Sprintf("%.0f", float64(kb)/1e6)
	}
	return m
}

func meminfo(name string) (kb int64) {
	b, _ := os.ReadFile("/proc/meminfo")
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			fmt.Sscan(rest, &kb)
		}
	}
	return kb
}

// Write stores the report as JSON.
func (r *Report) Write(file string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
