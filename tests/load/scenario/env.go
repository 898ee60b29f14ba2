// Package scenario holds the kinds of measurement: what is set up, what is timed, and what is
// checked about every message.
package scenario

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"godwit/tests/load/fleet"
	"godwit/tests/load/wire"
)

// stallLimit is how long no byte may move before a run counts as stuck.
const stallLimit = 15 * time.Second

// startLimit is how long servers may take until they serve.
const startLimit = 20 * time.Second

// Env is what a scenario runs in: fresh servers and the options.
type Env struct {
	*Settings
	Msgs    uint64 // messages of this run (Settings.Msgs, or as calibrated)
	Size    int
	Cluster *fleet.Cluster
	Label   string // for profile files

	deadline time.Time
	leader   *fleet.Server // of the stream, once there is one

	mu    sync.Mutex
	conns []*wire.Conn
	cause error // why the connections were closed early
}

// NewEnv waits until the servers serve and know each other. Close must be called.
func NewEnv(settings *Settings, cluster *fleet.Cluster, msgs uint64, size int, label string) (*Env, error) {
	if err := cluster.WaitServing(startLimit); err != nil {
		return nil, err
	}
	e := &Env{Settings: settings, Msgs: msgs, Size: size, Cluster: cluster, Label: label, deadline: time.Now().Add(settings.Limit)}
	if err := e.waitRoutes(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Close closes all data connections.
func (e *Env) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.conns {
		c.Close()
	}
	e.conns = nil
}

// Dial opens a data connection to a server, with a large receive buffer.
func (e *Env) Dial(s *fleet.Server) (*wire.Conn, error) {
	c, err := wire.Dial(s.Addr, s.Login, e.deadline)
	if err != nil {
		return nil, err
	}
	c.GrowReadBuffer()
	e.mu.Lock()
	e.conns = append(e.conns, c)
	e.mu.Unlock()
	return c, nil
}

// PubServer and SubServer choose the server for the i-th publisher or
// subscriber. With core NATS in a cluster the traffic crosses a route. With
// JetStream the --via option decides.
func (e *Env) PubServer(i int) *fleet.Server { return e.pick(i, 0) }
func (e *Env) SubServer(i int) *fleet.Server { return e.pick(i, 1) }

func (e *Env) pick(i, core int) *fleet.Server {
	all := e.Cluster.Servers
	if e.leader == nil {
		return all[core%len(all)]
	}
	switch e.Via {
	case "spread":
		return all[i%len(all)]
	case "follower":
		var others []*fleet.Server
		for _, s := range all {
			if s != e.leader {
				others = append(others, s)
			}
		}
		if len(others) > 0 {
			return others[i%len(others)]
		}
	}
	return e.leader
}

// Control opens a control connection to the stream's leader (or, before there
// is one, to the first server).
func (e *Env) Control() (*wire.Control, error) {
	s := e.Cluster.Servers[0]
	if e.leader != nil {
		s = e.leader
	}
	return wire.NewControl(s.Addr, s.Login, e.deadline)
}

// CreateStream makes the stream of the scenario and notes its leader.
func (e *Env) CreateStream(cfg wire.StreamConfig) (*wire.StreamInfo, error) {
	ctl, err := e.Control()
	if err != nil {
		return nil, err
	}
	defer ctl.Close()
	if cfg.Storage == "" {
		cfg.Storage = e.Storage
	}
	cfg.Replicas = e.Replicas
	info, err := ctl.CreateStream(cfg)
	if err != nil {
		return nil, fmt.Errorf("create stream: %w", err)
	}
	e.leader = e.Cluster.Servers[0]
	if s := e.Cluster.Named(info.Cluster.Leader); s != nil {
		e.leader = s
	}
	return info, nil
}

// CheckStream verifies that the stream holds exactly msgs messages.
func (e *Env) CheckStream(name string, msgs uint64) error {
	ctl, err := e.Control()
	if err != nil {
		return err
	}
	defer ctl.Close()
	info, err := ctl.Stream(name)
	if err != nil {
		return err
	}
	if info.State.Msgs != msgs || info.State.LastSeq != msgs {
		return fmt.Errorf("stream has %d messages up to sequence %d after %d acknowledged publishes",
			info.State.Msgs, info.State.LastSeq, msgs)
	}
	return nil
}

// awaitReplicas waits until the leader sees every replica of the stream up to
// date, and a little longer for the last messages to be applied.
func (e *Env) awaitReplicas(name string) error {
	if e.Replicas == 1 {
		return nil
	}
	ctl, err := e.Control()
	if err != nil {
		return err
	}
	defer ctl.Close()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		info, err := ctl.Stream(name)
		if err != nil {
			return err
		}
		behind := len(info.Cluster.Replicas) != e.Replicas-1
		for _, r := range info.Cluster.Replicas {
			behind = behind || !r.Current || r.Lag > 0
		}
		if !behind {
			time.Sleep(500 * time.Millisecond)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("replicas of %s do not catch up", name)
		}
	}
}

// Parallel runs the functions at once and waits for all. The first error
// closes every connection, so that the others end too.
func (e *Env) Parallel(fns ...func() error) error {
	var wg sync.WaitGroup
	for _, fn := range fns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := fn(); err != nil {
				e.abort(err)
			}
		}()
	}
	stop := make(chan struct{})
	go e.watch(stop)
	wg.Wait()
	close(stop)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cause
}

func (e *Env) abort(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause != nil {
		return
	}
	if dead := e.Cluster.Alive(); dead != nil {
		err = errors.Join(err, dead)
	}
	e.cause = err
	for _, c := range e.conns {
		c.Close()
	}
}

// Aborted tells why the run was given up, if it was.
func (e *Env) Aborted() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cause
}

// watch aborts a run in which no byte moves any more: something was lost.
func (e *Env) watch(stop chan struct{}) {
	var last uint64
	since := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		var moved uint64
		e.mu.Lock()
		for _, c := range e.conns {
			moved += c.Moved()
		}
		e.mu.Unlock()
		if moved != last {
			last, since = moved, time.Now()
		} else if time.Since(since) > stallLimit {
			e.abort(fmt.Errorf("stuck: no byte moved for %v; messages are missing", stallLimit))
			return
		}
	}
}
