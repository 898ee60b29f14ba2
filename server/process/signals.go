package process

import (
	"os"
	"os/signal"
	"sync"
)

// Handlers says what signals do. A nil handler ignores its signal.
type Handlers struct {
	// Noticef logs every signal: Trapped "hangup" signal. Required.
	Noticef func(format string, args ...any)
	// Shutdown starts to end the server (SIGINT; SIGTERM unless InLameDuck). It is called once and must not block.
	Shutdown func()
	// Again is called for SIGINT and SIGTERM after Shutdown was: someone is losing patience.
	Again func()
	// LameDuck starts lame duck mode (SIGUSR2 unless InLameDuck). It must not block.
	LameDuck func()
	// InLameDuck says whether lame duck mode has begun.
	InLameDuck func() bool
	// Reload loads the configuration (SIGHUP), Reopen opens the log file again (SIGUSR1). They may take their
	// time: they run one at a time, away from the other signals. Signals that come meanwhile count as one.
	Reload, Reopen func()
}

// Signals receives the signals of the process.
type Signals struct {
	h        Handlers
	in       chan os.Signal
	reload   chan struct{} // capacity 1
	reopen   chan struct{} // capacity 1
	stop     chan struct{}
	stopOnce sync.Once
	running  sync.WaitGroup
	ending   bool // Shutdown was called; only run uses it
}

// Watch starts to receive signals. Stop must be called.
func Watch(h Handlers) *Signals {
	s := newSignals(h)
	signal.Notify(s.in, watched()...)
	return s
}

func newSignals(h Handlers) *Signals {
	s := &Signals{
		h: h, in: make(chan os.Signal, 16), stop: make(chan struct{}),
		reload: make(chan struct{}, 1), reopen: make(chan struct{}, 1),
	}
	s.running.Go(s.run)
	s.running.Go(s.runSlow)
	return s
}

// Stop gives the signals back to the operating system's defaults and waits until no handler runs. It must not
// be called from a handler.
func (s *Signals) Stop() {
	s.stopOnce.Do(func() {
		signal.Stop(s.in)
		close(s.stop)
	})
	s.running.Wait()
}

func (s *Signals) run() {
	for {
		select {
		case sig := <-s.in:
			s.h.Noticef("Trapped %q signal", sig)
			s.handle(actionOf(sig))
		case <-s.stop:
			return
		}
	}
}

// runSlow runs the handlers that may take their time.
func (s *Signals) runSlow() {
	for {
		select {
		case <-s.reload:
			call(s.h.Reload)
		case <-s.reopen:
			call(s.h.Reopen)
		case <-s.stop:
			return
		}
	}
}

// action is what a signal asks for.
type action uint8

const (
	actNone action = iota
	actQuit
	actTerminate
	actReload
	actReopen
	actLameDuck
)

func (s *Signals) handle(a action) {
	lameDuck := s.h.InLameDuck != nil && s.h.InLameDuck()
	switch a {
	case actTerminate, actQuit:
		switch {
		case a == actTerminate && lameDuck: // it ends by itself
		case s.ending:
			call(s.h.Again)
		default:
			s.ending = true
			call(s.h.Shutdown)
		}
	case actLameDuck:
		if !lameDuck && !s.ending {
			call(s.h.LameDuck)
		}
	case actReload:
		offer(s.reload)
	case actReopen:
		offer(s.reopen)
	}
}

func call(f func()) {
	if f != nil {
		f()
	}
}

// offer fills c unless it is full.
func offer(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
