package tester

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// topology lays out the servers of a create request: names, ports, peers.
func (svc *Service) topology(inst *instance, clusters, perCluster int) error {
	port := func() (int, error) {
		p, err := svc.ports.take()
		if err == nil {
			inst.reserved = append(inst.reserved, p)
		}
		return p, err
	}
	gateways := map[string][]string{}
	for c := 1; c <= clusters; c++ {
		var group []*server
		for i := 1; i <= perCluster; i++ {
			env := templateEnv{
				ServerName:    fmt.Sprintf("%s-n%d", inst.short, i),
				ShortID:       inst.short,
				InstanceID:    inst.id,
				Kind:          inst.kind,
				ServerIndex:   i,
				Host:          "localhost",
				AdvertiseHost: svc.cfg.Advertise,
				RoutePool:     svc.cfg.RoutePool,
				JetStream:     inst.jetstream,
				Ports:         map[string]int{},
			}
			var err error
			if env.ClientPort, err = port(); err != nil {
				return err
			}
			if inst.kind != "server" {
				env.ClusterName = inst.short
				if env.ClusterPort, err = port(); err != nil {
					return err
				}
			}
			if inst.kind == "super-cluster" {
				env.ServerName = fmt.Sprintf("%s-c%d_s%d", inst.short, c, i)
				env.ClusterName = fmt.Sprintf("%s-c%d", inst.short, c)
				if env.GatewayPort, err = port(); err != nil {
					return err
				}
				gateways[env.ClusterName] = append(gateways[env.ClusterName], fmt.Sprintf("nats://127.0.0.1:%d", env.GatewayPort))
			}
			env.ServerDir = filepath.Join(inst.dir, env.ServerName)
			env.StoreDir = env.ServerDir
			group = append(group, &server{env: env, tls: inst.tls})
		}
		for _, s := range group {
			for _, peer := range group {
				if peer != s {
					s.env.Routes = append(s.env.Routes, fmt.Sprintf("127.0.0.1:%d", peer.env.ClusterPort))
				}
			}
		}
		inst.servers = append(inst.servers, group...)
	}
	if inst.kind == "super-cluster" {
		for _, s := range inst.servers {
			s.env.Gateways = gateways
		}
	}
	return nil
}

// create builds, starts and registers an instance.
func (svc *Service) create(kind string, req *createRequest) (*instance, *apiError) {
	clusters, perCluster := 1, 1
	if kind != "server" {
		if perCluster = req.Servers; perCluster < 2 || perCluster > 16 {
			return nil, errf("002", "servers must be between 2 and 16")
		}
	}
	if kind == "super-cluster" {
		if clusters = req.Clusters; clusters < 2 || clusters > 8 {
			return nil, errf("004", "clusters must be between 2 and 8")
		}
	}
	if err := checkCustomization(req.Snippets, req.Template, req.TLS != nil, req.JetStream); err != nil {
		return nil, err
	}
	if req.Trace {
		return nil, errf("014", "trace capture is not available in this tester")
	}

	id := newID()
	inst := &instance{
		id:          id,
		short:       id[len(id)-8:],
		description: req.Description,
		kind:        kind,
		created:     time.Now(),
		dir:         filepath.Join(svc.cfg.Data, id),
		jetstream:   req.JetStream,
		sysUser:     req.Template == "" && !customAccounts(req.Snippets),
	}
	if err := svc.build(inst, clusters, perCluster, req); err != nil {
		svc.discard(inst)
		return nil, err
	}

	errs := make(chan *apiError, len(inst.servers))
	for _, s := range inst.servers {
		go func() { errs <- svc.start(inst, s) }()
	}
	var failed *apiError
	for range inst.servers {
		if err := <-errs; err != nil {
			failed = errf("003", "Server creation failed: %s", err.text)
		}
	}
	if failed != nil {
		svc.discard(inst)
		return nil, failed
	}

	if kind != "server" {
		svc.waitFormed(inst, clusters, perCluster)
	}
	// Let the servers notice that the readiness probes have hung up, so that a
	// connection limit counts only the test's own connections.
	time.Sleep(20 * time.Millisecond)

	svc.mu.Lock()
	svc.instances[inst.id] = inst
	svc.mu.Unlock()
	return inst, nil
}

// build prepares everything up to the start of the processes.
func (svc *Service) build(inst *instance, clusters, perCluster int, req *createRequest) *apiError {
	if err := os.MkdirAll(inst.dir, 0o755); err != nil {
		return errf("002", "instance directory: %v", err)
	}
	if req.TLS != nil {
		m, err := newManagedTLS(filepath.Join(inst.dir, "tls"), *req.TLS, svc.cfg.Advertise)
		if err != nil {
			return errf("008", "TLS setup failed: %v", err)
		}
		inst.tls = m
	}
	if err := svc.topology(inst, clusters, perCluster); err != nil {
		return errf("006", "%v", err)
	}
	for _, s := range inst.servers {
		for _, key := range listeners(req.Snippets) {
			p, err := svc.ports.take()
			if err != nil {
				return errf("006", "%v", err)
			}
			inst.reserved = append(inst.reserved, p)
			s.env.Ports[key] = p
		}
		s.snippets = req.Snippets
		if req.TLS != nil {
			s.tlsTimeout = req.TLS.Timeout
		}
		if err := os.MkdirAll(s.env.ServerDir, 0o755); err != nil {
			return errf("002", "server directory: %v", err)
		}
		if err := s.configure(req.Snippets, req.Template); err != nil {
			return errf("002", "configuration: %v", err)
		}
	}
	return nil
}
