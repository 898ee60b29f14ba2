package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"godwit/tests/harness/child"
)

// Patience bounds every wait of the harness for something that must happen. It is long, because
// it only matters when a test fails.
const Patience = 20 * time.Second

// stopGrace is how long a server may take to end after SIGTERM.
const stopGrace = 15 * time.Second

// Options configures a server. The zero value is a server without streams on a free port.
type Options struct {
	// Config is added to the configuration, which otherwise only says where to listen. A value
	// for listen, port or host must not be in it; NoListen leaves that part out.
	Config   string
	NoListen bool
	// Streams turns streams on, with files in the server's directory.
	Streams bool
	// StreamConfig is added to the jetstream block.
	StreamConfig string
	// Port fixes the client port; 0 picks a free one at every start.
	Port int
	// Args are added to the command line.
	Args []string
}

// Server is one server process, or a stopped one that can be started again.
type Server struct {
	t       testing.TB
	opts    Options
	dir     string
	config  string
	log     *serverLog
	process *child.Process
	addr    string // of the client port
	monitor string // base URL of the monitoring port
}

// Start starts a server and waits until it accepts clients. It is stopped at the end of the test,
// which fails if the server panicked, raced or had ended by itself.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	s := New(t, opts)
	s.Start()
	return s
}

// New writes the configuration of a server without starting it.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	s := &Server{t: t, opts: opts, dir: t.TempDir(), log: newServerLog()}
	s.config = filepath.Join(s.dir, "server.conf")
	s.Configure(opts.Config)
	t.Cleanup(s.close)
	return s
}

// Configure replaces the text of Options.Config; it counts from the next start or reload.
func (s *Server) Configure(config string) {
	s.t.Helper()
	var b strings.Builder
	if !s.opts.NoListen {
		port := s.opts.Port
		if port == 0 {
			port = -1
		}
		fmt.Fprintf(&b, "listen: \"127.0.0.1:%d\"\nhttp: \"127.0.0.1:-1\"\n", port)
	}
	if s.opts.Streams {
		fmt.Fprintf(&b, "jetstream {\n  store_dir: %q\n  %s\n}\n", filepath.Join(s.dir, "data"), s.opts.StreamConfig)
	}
	b.WriteString(config + "\n")
	if err := os.WriteFile(s.config, []byte(b.String()), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

var (
	clientLine  = regexp.MustCompile(`Listening for client connections on (\S+)`)
	monitorLine = regexp.MustCompile(`Starting http monitor on (\S+)`)
)

// Start starts a stopped server and waits until it greets clients.
func (s *Server) Start() {
	s.t.Helper()
	s.StartUnprobed()
	// The line may come a moment before the socket accepts.
	for end := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		raw, err := dialRaw(s.addr)
		if err == nil {
			raw.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the server does not greet clients: %v\n%s", err, s.Log())
		}
	}
}

// StartUnprobed starts a stopped server and waits until its log tells where it listens: for
// servers that do not greet whoever connects.
func (s *Server) StartUnprobed() {
	s.t.Helper()
	s.launch()
	found := s.log.wait(clientLine, s.process.Done(), Patience)
	if found == nil {
		s.t.Fatalf("the server does not listen:\n%s", s.Log())
	}
	s.addr = found[1]
	if m := s.log.find(monitorLine); m != nil {
		s.monitor = "http://" + m[1]
	}
}

// StartSilent starts a stopped server that prints nothing here, because it logs elsewhere, and
// waits until ready says that it runs.
func (s *Server) StartSilent(ready func() bool) {
	s.t.Helper()
	s.launch()
	Eventually(s.t, func() error {
		if !s.process.Alive() || !ready() {
			return fmt.Errorf("the server is not ready; it printed %q", s.Log())
		}
		return nil
	})
}

// launch starts the process with a fresh log.
func (s *Server) launch() {
	s.t.Helper()
	if s.process != nil && s.process.Alive() {
		s.t.Fatal("the server is running already")
	}
	s.log = newServerLog()
	cmd := exec.Command(Binary(s.t), append([]string{"-c", s.config}, s.opts.Args...)...)
	cmd.Dir = s.dir
	// A race-built server would sleep for a second at its end.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.Stdout, cmd.Stderr = s.log, s.log
	process, err := child.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.process = process
}

// StartExpectingFailure starts a server that must refuse its configuration, and returns its log.
func (s *Server) StartExpectingFailure() string {
	s.t.Helper()
	s.launch()
	select {
	case <-s.process.Done():
	case <-time.After(Patience):
		s.t.Fatalf("the server went on:\n%s", s.Log())
	}
	if s.process.State().Success() {
		s.t.Fatalf("the server ended well:\n%s", s.Log())
	}
	log := s.Log()
	s.process = nil
	return log
}

// StartAndKill starts a stopped server and kills it after a moment, ready or not: a crash in the
// middle of a recovery.
func (s *Server) StartAndKill(after time.Duration) {
	s.t.Helper()
	s.launch()
	time.Sleep(after)
	s.process.Kill()
	s.checkLog()
	s.process = nil
}

// StopAndKill asks the server to end and kills it after a moment, unless it has ended by then: a crash while it saves
// what it can.
func (s *Server) StopAndKill(after time.Duration) {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	select {
	case <-s.process.Done():
	case <-time.After(after):
		s.process.Kill()
	}
	s.checkLog()
	s.process = nil
}

// Stop ends the server by SIGTERM and waits for it.
func (s *Server) Stop() {
	s.t.Helper()
	s.mustRun()
	if !s.process.Stop(stopGrace) {
		s.t.Errorf("the server did not end within %v of SIGTERM:\n%s", stopGrace, s.Log())
	}
	s.checkLog()
	s.process = nil
}

// Kill ends the server by SIGKILL and waits until it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	s.mustRun()
	s.process.Kill()
	s.checkLog()
	s.process = nil
}

// Restart stops the server and starts it again.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Reload sends SIGHUP and waits for the outcome in the log; it returns the line that tells it.
func (s *Server) Reload() string {
	s.t.Helper()
	outcome := regexp.MustCompile(`(?i)(?:reloaded server configuration|failed to reload).*`)
	before := s.log.count(outcome)
	s.Signal(syscall.SIGHUP)
	line, ok := s.log.waitCount(outcome, before+1, s.process.Done(), Patience)
	if !ok {
		s.t.Fatalf("the server did not tell about its reload:\n%s", s.Log())
	}
	return line
}

// Signal sends a signal to the server.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	s.mustRun()
	if err := s.process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// WaitEnd waits until the server has ended by itself and returns its exit code.
func (s *Server) WaitEnd() int {
	s.t.Helper()
	s.mustHaveStarted()
	select {
	case <-s.process.Done():
	case <-time.After(Patience):
		s.t.Fatalf("the server still runs:\n%s", s.Log())
	}
	code := s.process.State().ExitCode()
	s.checkLog()
	s.process = nil
	return code
}

// WaitLog waits for a line of the log that matches, and returns its submatches.
func (s *Server) WaitLog(pattern string) []string {
	s.t.Helper()
	s.mustHaveStarted()
	found := s.log.wait(regexp.MustCompile(pattern), s.process.Done(), Patience)
	if found == nil {
		s.t.Fatalf("no %q in the log:\n%s", pattern, s.Log())
	}
	return found
}

// Addr is the host and port for clients.
func (s *Server) Addr() string { return s.addr }

// URL is what clients connect to.
func (s *Server) URL() string { return "nats://" + s.addr }

// PID is the process id of the running server.
func (s *Server) PID() int { return s.process.PID() }

// Dir is the server's directory: its configuration, and its streams under data.
func (s *Server) Dir() string { return s.dir }

// ConfigFile is the path of the server's configuration.
func (s *Server) ConfigFile() string { return s.config }

// Log is what the server has printed since its last start, without the oldest part of a very
// long log.
func (s *Server) Log() string { return s.log.text() }

func (s *Server) mustHaveStarted() {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("the server is not running")
	}
}

func (s *Server) mustRun() {
	s.t.Helper()
	s.mustHaveStarted()
	if !s.process.Alive() {
		s.t.Fatalf("the server had ended by itself: %v\n%s", s.process.State(), s.Log())
	}
}

// close ends the server at the end of the test.
func (s *Server) close() {
	if s.process == nil {
		return
	}
	if !s.process.Alive() {
		s.t.Errorf("the server ended by itself: %v\n%s", s.process.State(), s.Log())
		return
	}
	if !s.process.Stop(stopGrace) {
		s.t.Errorf("the server did not end within %v of SIGTERM:\n%s", stopGrace, s.Log())
	}
	s.checkLog()
	if s.t.Failed() {
		s.t.Logf("log of the server:\n%s", s.Log())
	}
}

var faultLine = regexp.MustCompile(`^(panic: |fatal error: |WARNING: DATA RACE)|invariant violated`)

// checkLog fails the test when the log shows a panic or a data race.
func (s *Server) checkLog() {
	s.t.Helper()
	if s.log.find(faultLine) != nil {
		s.t.Errorf("the server panicked, raced or found that it is wrong:\n%s", s.Log())
	}
}
