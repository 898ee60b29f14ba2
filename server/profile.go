package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"time"
)

// profiler serves Go's profiles on a port of its own.
type profiler struct {
	http *http.Server
	done chan struct{}
}

func (s *Server) startProfiler() (*profiler, error) {
	port := s.options().Monitoring.ProfPort
	if port == 0 {
		return nil, nil
	}
	runtime.SetBlockProfileRate(s.options().Monitoring.ProfBlockRate)
	ln, err := net.Listen("tcp", net.JoinHostPort(s.options().Host, strconv.Itoa(max(port, 0))))
	if err != nil {
		return nil, err
	}
	s.log.Noticef("profiling port: %d", ln.Addr().(*net.TCPAddr).Port)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	p := &profiler{http: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		if err := p.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Errorf("error starting profile server: %v", err)
		}
	}()
	return p, nil
}

func (p *profiler) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if p.http.Shutdown(ctx) != nil {
		p.http.Close()
	}
	<-p.done
}
