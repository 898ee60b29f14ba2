package monitor

import (
	"strconv"
	"testing"
	"time"
)

func TestProcessSample(t *testing.T) {
	var s processSampler
	now := time.Now()
	s.init(now)
	s.mu.cpu = 0 // as if all CPU time so far was used since now
	u := s.sample(now.Add(cpuWindowMin / 2))
	if u.CPUPercent != 0 {
		t.Errorf("computed too early: %v", u)
	}
	if u.ResidentBytes < 1<<20 || u.CPUTime < 0 {
		t.Errorf("%+v", u)
	}
	for x := 0; cpuTime() < time.Millisecond; x++ { // use some
		_ = strconv.Itoa(x)
	}
	u = s.sample(now.Add(cpuWindowMin))
	if want := 100 * u.CPUTime.Seconds() / cpuWindowMin.Seconds(); u.CPUPercent < want-0.06 || u.CPUPercent > want+0.06 {
		t.Errorf("got %v, want %v", u.CPUPercent, want)
	}
	if again := s.sample(now.Add(cpuWindowMin + time.Millisecond)); again.CPUPercent != u.CPUPercent {
		t.Errorf("%v after %v", again, u)
	}
	s.mu.cpu = time.Hour // a clock that goes back isn't a negative load
	if u := s.sample(now.Add(3 * cpuWindowMin)); u.CPUPercent != 0 {
		t.Errorf("%+v", u)
	}
}

func TestRuntimeBytes(t *testing.T) {
	if n := runtimeBytes(); n < 1<<20 || n > 1<<40 {
		t.Error(n)
	}
}
