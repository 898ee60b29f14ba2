//go:build unix

package process

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// recorder notes what handlers and log are called for.
type recorder struct {
	calls    chan string
	mu       sync.Mutex
	lameDuck bool
}

func newRecorder() *recorder { return &recorder{calls: make(chan string, 100)} }

func (r *recorder) handlers() Handlers {
	note := func(s string) func() { return func() { r.calls <- s } }
	return Handlers{
		Noticef:  func(format string, args ...any) { r.calls <- fmt.Sprintf(format, args...) },
		Shutdown: note("shutdown"), Again: note("again"), Reload: note("reload"), Reopen: note("reopen"),
		LameDuck: func() {
			r.mu.Lock()
			r.lameDuck = true
			r.mu.Unlock()
			r.calls <- "lame duck"
		},
		InLameDuck: func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.lameDuck
		},
	}
}

func TestSignalRules(t *testing.T) {
	const (
		trappedInt  = `Trapped "interrupt" signal`
		trappedTerm = `Trapped "terminated" signal`
		trappedHup  = `Trapped "hangup" signal`
		trappedUsr1 = `Trapped "user defined signal 1" signal`
		trappedUsr2 = `Trapped "user defined signal 2" signal`
	)
	tests := []struct {
		name string
		sigs []os.Signal
		want []string
	}{
		{"interrupt", []os.Signal{syscall.SIGINT}, []string{trappedInt, "shutdown"}},
		{"terminate", []os.Signal{syscall.SIGTERM}, []string{trappedTerm, "shutdown"}},
		{"hangup", []os.Signal{syscall.SIGHUP}, []string{trappedHup, "reload"}},
		{"reopen", []os.Signal{syscall.SIGUSR1}, []string{trappedUsr1, "reopen"}},
		{"lame duck once", []os.Signal{syscall.SIGUSR2, syscall.SIGUSR2}, []string{trappedUsr2, "lame duck", trappedUsr2}},
		{"lame duck ignores terminate", []os.Signal{syscall.SIGUSR2, syscall.SIGTERM}, []string{trappedUsr2, "lame duck", trappedTerm}},
		{"lame duck obeys interrupt", []os.Signal{syscall.SIGUSR2, syscall.SIGINT}, []string{trappedUsr2, "lame duck", trappedInt, "shutdown"}},
		{"lame duck reloads", []os.Signal{syscall.SIGUSR2, syscall.SIGHUP}, []string{trappedUsr2, "lame duck", trappedHup, "reload"}},
		{"no lame duck while ending", []os.Signal{syscall.SIGINT, syscall.SIGUSR2}, []string{trappedInt, "shutdown", trappedUsr2}},
		{"twice", []os.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGTERM}, []string{trappedInt, "shutdown", trappedInt, "again", trappedTerm, "again"}},
		{"another", []os.Signal{syscall.SIGWINCH}, []string{`Trapped "window changed" signal`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder()
			s := newSignals(r.handlers())
			for _, sig := range tt.sigs {
				s.in <- sig
			}
			var got []string
			for range tt.want {
				got = append(got, <-r.calls)
			}
			s.Stop()
			close(r.calls)
			for extra := range r.calls {
				got = append(got, extra)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestSlowReload checks that a reload that hangs doesn't keep the server from being ended, and that what is asked
// meanwhile counts as one.
func TestSlowReload(t *testing.T) {
	entered, let := make(chan struct{}, 10), make(chan struct{})
	h := newRecorder()
	hs := h.handlers()
	hs.Reload = func() {
		entered <- struct{}{}
		<-let
	}
	s := newSignals(hs)
	s.in <- syscall.SIGHUP
	<-entered
	for range 5 {
		s.in <- syscall.SIGHUP
	}
	s.in <- syscall.SIGINT
	for call := range h.calls {
		if call == "shutdown" {
			break
		}
	}
	close(let)
	<-entered // the one for all five
	s.Stop()
	if len(entered) != 0 {
		t.Error("reloaded more than once for signals that came together")
	}
}

func TestHandlersMayBeNil(t *testing.T) {
	trapped := make(chan struct{}, 10)
	s := newSignals(Handlers{Noticef: func(string, ...any) { trapped <- struct{}{} }})
	for _, sig := range append(watched(), syscall.SIGINT) {
		s.in <- sig
		<-trapped
	}
	s.Stop()
	s.Stop()
}

// TestWatchReceives sends real signals to this process.
func TestWatchReceives(t *testing.T) {
	r := newRecorder()
	s := Watch(r.handlers())
	defer s.Stop()
	for _, tt := range []struct {
		sig  syscall.Signal
		want string
	}{{syscall.SIGHUP, "reload"}, {syscall.SIGUSR1, "reopen"}, {syscall.SIGUSR2, "lame duck"}, {syscall.SIGINT, "shutdown"}, {syscall.SIGINT, "again"}} {
		if err := syscall.Kill(os.Getpid(), tt.sig); err != nil {
			t.Fatal(err)
		}
		<-r.calls // Trapped
		if got := <-r.calls; got != tt.want {
			t.Errorf("%v: %q", tt.sig, got)
		}
	}
}
