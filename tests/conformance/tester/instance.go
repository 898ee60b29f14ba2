package tester

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	startLimit = 9 * time.Second // below the client's 10 s for start.server
	stopGrace  = 6 * time.Second // below the client's 10 s for stop.server
)

// instance is what one create request made: a server, a cluster or a
// super-cluster.
type instance struct {
	id, short   string
	description string
	kind        string
	created     time.Time
	dir         string
	jetstream   bool
	tls         *managedTLS
	servers     []*server
	sysUser     bool  // the built-in system user exists
	reserved    []int // every port held for this instance
}

// server is one managed server; it keeps its ports and its directory while it
// is stopped.
type server struct {
	env        templateEnv
	snippets   map[string]string
	tls        *managedTLS
	tlsTimeout float64

	mu      sync.Mutex
	config  string
	opens   []int // listener ports besides the client port
	proc    *process
	removed bool
}

func (s *server) name() string { return s.env.ServerName }

func (s *server) running() bool { return s.proc != nil && s.proc.Alive() }

func (s *server) status() serverStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	ports := maps.Clone(s.env.Ports)
	if s.env.ClusterPort != 0 {
		ports["cluster"] = s.env.ClusterPort
	}
	if s.env.GatewayPort != 0 {
		ports["gateway"] = s.env.GatewayPort
	}
	return serverStatus{
		Name:    s.name(),
		Cluster: s.env.ClusterName,
		Port:    s.env.ClientPort,
		Ports:   ports,
		Running: s.running(),
	}
}

// configure writes the configuration without touching a running process.
func (s *server) configure(snippets map[string]string, tmpl string) error {
	config, opens, err := writeConfig(s.env, snippets, tmpl, s.tls, s.tlsTimeout)
	if err == nil {
		s.config, s.opens = config, opens
	}
	return err
}

func (svc *Service) start(inst *instance, s *server) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed {
		return errf("001", "Server not found")
	}
	if s.running() {
		return errf("003", "Server already running")
	}
	proc, err := startProcess(svc.cfg.Server, s.config, filepath.Join(s.env.ServerDir, "server.log"), svc.watch(inst, s))
	if err != nil {
		return errf("005", "could not start %s: %v", s.name(), err)
	}
	s.proc = proc
	if err := proc.waitReady(s.name(), s.env.ClientPort, s.opens, s.tls, startLimit); err != nil {
		proc.stop(0)
		return errf("005", "%v", err)
	}
	return nil
}

func (svc *Service) stop(inst *instance, s *server, grace time.Duration) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return errf("003", "Server not running")
	}
	s.proc.stop(grace)
	if what, text := s.proc.trouble(); what != "" {
		svc.alarm(inst, s, Alarm{What: what, Fault: true, Log: text})
	}
	return nil
}

// discard stops the servers of an instance and forgets its files and ports.
func (svc *Service) discard(inst *instance) {
	var wg sync.WaitGroup
	for _, s := range inst.servers {
		wg.Go(func() {
			svc.stop(inst, s, 3*time.Second)
			s.mu.Lock()
			s.removed = true
			s.mu.Unlock()
		})
	}
	wg.Wait()
	if !svc.cfg.Preserve {
		os.RemoveAll(inst.dir)
	}
	svc.ports.release(inst.reserved...)
}

// remove takes an instance off the books and discards it.
func (svc *Service) remove(id string) bool {
	svc.mu.Lock()
	inst := svc.instances[id]
	delete(svc.instances, id)
	svc.mu.Unlock()
	if inst == nil {
		return false
	}
	svc.discard(inst)
	return true
}

func (svc *Service) Reset() {
	svc.mu.Lock()
	ids := make([]string, 0, len(svc.instances))
	for id := range svc.instances {
		ids = append(ids, id)
	}
	svc.mu.Unlock()
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() { svc.remove(id) })
	}
	wg.Wait()
}
