package monitor

import (
	"math"
	"runtime/metrics"
	"sync"
	"time"
)

// ProcessUsage is what the process uses of the machine.
type ProcessUsage struct {
	ResidentBytes int64
	CPUPercent    float64       // of one processor, over the time since it was last asked for, to a tenth
	CPUTime       time.Duration // since the start of the process
}

// cpuWindowMin is the shortest time over which a CPU percentage is computed. Asked again sooner, the sampler
// gives the last percentage.
const cpuWindowMin = time.Second

// processSampler computes ProcessUsage when asked. It has no goroutine: the percentage covers the time since it
// was last computed, at first since the sampler was made.
type processSampler struct {
	mu struct {
		sync.Mutex
		at      time.Time     // of the last computation
		cpu     time.Duration // CPU time then
		percent float64
	}
}

func (s *processSampler) init(now time.Time) {
	s.mu.at, s.mu.cpu = now, cpuTime()
}

func (s *processSampler) sample(now time.Time) ProcessUsage {
	u := ProcessUsage{ResidentBytes: residentBytes(), CPUTime: cpuTime()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if wall := now.Sub(s.mu.at); wall >= cpuWindowMin {
		used := max(u.CPUTime-s.mu.cpu, 0)
		s.mu.percent = math.Round(1000*float64(used)/float64(wall)) / 10
		s.mu.at, s.mu.cpu = now, u.CPUTime
	}
	u.CPUPercent = s.mu.percent
	return u
}

// runtimeBytes is the memory that the Go runtime holds of the operating system: close to the resident size, and
// available everywhere.
func runtimeBytes() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 || s[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
