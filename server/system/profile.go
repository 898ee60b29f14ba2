package system

import (
	"bytes"
	"fmt"
	"io"
	"runtime/pprof"
	"time"
)

const (
	// profilesWaiting is how many profiles can be asked for while one is made; beyond it they are refused at once.
	profilesWaiting = 4
	cpuProfileMax   = 15 * time.Second
)

// profileOptions say what to profile.
type profileOptions struct {
	Name     string        `json:"name"`     // "cpu", or a profile of the Go runtime
	Debug    int           `json:"debug"`    // 0 is the binary form, others are text
	Duration time.Duration `json:"duration"` // of a CPU profile
}

// profileAnswer holds a profile, or says why there is none.
type profileAnswer struct {
	Profile []byte `json:"profile"`
	Error   string `json:"error"`
}

// cpuProfiler is the one CPU profiler of the process.
type cpuProfiler interface {
	// start writes a profile to w until stop is called. It fails if somebody else has started one.
	start(w io.Writer) error
	stop()
}

type runtimeProfiler struct{}

func (runtimeProfiler) start(w io.Writer) error { return pprof.StartCPUProfile(w) }
func (runtimeProfiler) stop()                   { pprof.StopCPUProfile() }

// profilez hands a request for a profile to the goroutine that makes them, since a CPU profile takes its time.
func (s *Service) profilez(r *request) any {
	var o profileOptions
	if e, ok := s.admit(r.body, &o); !ok {
		return e
	}
	select {
	case s.profiles <- r:
		return nil
	default:
		return s.answer(&profileAnswer{Error: "Too many profiles are asked for at one time"})
	}
}

// profileAll makes profiles one after the other until Close.
func (s *Service) profileAll() {
	out := newOutput(s.system)
	for {
		select {
		case r := <-s.profiles:
			if s.stopped() {
				return
			}
			var o profileOptions
			if err := decode(r.body, &o); err != nil {
				s.reply(out, r, s.malformed(err))
			} else if a := s.profile(&o); a != nil {
				s.reply(out, r, s.answer(a))
			}
			out.rest()
		case <-s.stop:
			return
		}
	}
}

// stopped reports whether Close has been called.
func (s *Service) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// profile makes a profile; nil if Close came in between.
func (s *Service) profile(o *profileOptions) *profileAnswer {
	failed := func(format string, args ...any) *profileAnswer {
		return &profileAnswer{Error: fmt.Sprintf(format, args...)}
	}
	var b bytes.Buffer
	switch o.Name {
	case "":
		return failed("Profile name not specified")
	case "cpu":
		if o.Duration <= 0 || o.Duration > cpuProfileMax {
			return failed("Duration %s should be between 0s and 15s", o.Duration)
		}
		if err := s.cpuProfiler.start(&b); err != nil {
			return failed("Failed to start CPU profile: %v", err)
		}
		t := time.NewTimer(o.Duration)
		defer t.Stop()
		select {
		case <-t.C:
			s.cpuProfiler.stop()
		case <-s.stop:
			s.cpuProfiler.stop()
			return nil
		}
	default:
		p := pprof.Lookup(o.Name)
		if p == nil {
			return failed("Profile %q not found", o.Name)
		}
		if err := p.WriteTo(&b, o.Debug); err != nil {
			return failed("Profile %q error: %v", o.Name, err)
		}
	}
	return &profileAnswer{Profile: b.Bytes()}
}
