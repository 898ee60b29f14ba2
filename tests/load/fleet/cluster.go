// Package fleet runs the servers of a measurement, one or three of them, each with a generated
// configuration and a fresh data directory.
package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"godwit/tests/harness/child"
	"godwit/tests/load/wire"
)

// stopGrace is how long a server may take to end after SIGTERM.
const stopGrace = 10 * time.Second

// Server is one server process under test.
type Server struct {
	Name string
	Addr string
	Dir  string // its data
	wire.Login

	bin, conf, logFile string
	profPort           int                           // 0 without profiling
	process            atomic.Pointer[child.Process] // nil before the first start
}

// Cluster is the set of servers of one run: one or three.
type Cluster struct {
	Servers []*Server
}

// Options says how to configure the servers of a run.
type Options struct {
	Bin       string
	Nodes     int
	JetStream bool
	Sync      string // a --sync policy
	Profile   bool
	Extra     string // more configuration lines
	TLS       bool   // clients connect with TLS
	Accounts  int    // of usersPerAccount users each; clients are one in the middle
	Dir       string // fresh directory for everything
}

// New writes the configurations without starting anything.
func New(o Options) (*Cluster, error) {
	perNode := 3 // client, route, profiling
	ports, err := freePorts(o.Nodes * perNode)
	if err != nil {
		return nil, err
	}
	var routes []string
	for i := 0; i < o.Nodes; i++ {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[i*perNode+1]))
	}
	c := &Cluster{}
	for i := 0; i < o.Nodes; i++ {
		name := fmt.Sprintf("n%d", i+1)
		dir := filepath.Join(o.Dir, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		s := &Server{
			Name: name, Dir: filepath.Join(dir, "data"), bin: o.Bin,
			Addr:    fmt.Sprintf("127.0.0.1:%d", ports[i*perNode]),
			conf:    filepath.Join(dir, "server.conf"),
			logFile: filepath.Join(dir, "server.log"),
		}
		if o.Profile {
			s.profPort = ports[i*perNode+2]
		}
		if err := s.secure(o); err != nil {
			return nil, err
		}
		conf := configText(o, s, ports[i*perNode+1], routes)
		if err := os.WriteFile(s.conf, []byte(conf), 0o644); err != nil {
			return nil, err
		}
		c.Servers = append(c.Servers, s)
	}
	return c, nil
}

// Start launches the processes; it does not wait until they serve.
func (c *Cluster) Start() error {
	for _, s := range c.Servers {
		if err := s.start(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) start() error {
	log, err := os.OpenFile(s.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.bin, "-c", s.conf)
	cmd.Stdout, cmd.Stderr = log, log
	process, err := child.Start(cmd)
	if err != nil {
		return err
	}
	s.process.Store(process)
	return nil
}

// WaitServing waits until every server greets a client.
func (c *Cluster) WaitServing(limit time.Duration) error {
	end := time.Now().Add(limit)
	for _, s := range c.Servers {
		for {
			conn, err := wire.Dial(s.Addr, s.Login, end)
			if err == nil {
				conn.Close()
				break
			}
			select {
			case <-s.process.Load().Done():
				return fmt.Errorf("server %s ended by itself:\n%s", s.Name, s.logTail())
			case <-time.After(time.Millisecond):
			}
			if time.Now().After(end) {
				return fmt.Errorf("server %s does not serve after %v: %w\n%s", s.Name, limit, err, s.logTail())
			}
		}
	}
	return nil
}

// Stop ends the processes, by SIGTERM first. It may be called more than once.
func (c *Cluster) Stop() {
	var stopping sync.WaitGroup
	for _, s := range c.Servers {
		if p := s.process.Load(); p != nil {
			stopping.Go(func() { p.Stop(stopGrace) })
		}
	}
	stopping.Wait()
}

// Kill ends all processes at once with SIGKILL.
func (c *Cluster) Kill() {
	var killing sync.WaitGroup
	for _, s := range c.Servers {
		if p := s.process.Load(); p != nil {
			killing.Go(p.Kill)
		}
	}
	killing.Wait()
}

// Alive says whether every process still runs. A server that is no process of ours counts as
// alive.
func (c *Cluster) Alive() error {
	for _, s := range c.Servers {
		if p := s.process.Load(); p != nil && !p.Alive() {
			return fmt.Errorf("server %s ended by itself:\n%s", s.Name, s.logTail())
		}
	}
	return nil
}

func (s *Server) logTail() string {
	b, _ := os.ReadFile(s.logFile)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}

// Named returns the server of that name.
func (c *Cluster) Named(name string) *Server {
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}
