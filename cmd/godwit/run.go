package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"godwit/server"
	"godwit/server/config"
	"godwit/server/dashboard"
	"godwit/server/logging"
	"godwit/server/options"
	"godwit/server/process"
)

// runner is the process around a server: its log, its files and its signals.
type runner struct {
	program string
	stderr  io.Writer
	// load reads the configuration again, with the command line over it.
	load func() (*options.Options, error)
	// changes lists what differs, one line each, or says why a change cannot be made while the server runs.
	changes func(old, next *options.Options) ([]string, error)
	welcome bool // say where to connect and what to try

	log *logging.Logger
	srv *server.Server
	cur atomic.Pointer[options.Options]

	reloading sync.Mutex         // held during a reload
	ports     *process.PortsFile // nil if there is none; guarded by reloading
}

// run runs a server with o until it is told to stop, and returns the exit status.
func (r *runner) run(o *options.Options) int {
	log, err := logging.New(logOptions(o))
	if err != nil {
		return r.fail(err)
	}
	defer log.Close()
	r.log = log
	r.cur.Store(o)
	if r.srv, err = server.New(o, log); err != nil {
		return r.fail(err)
	}
	signals := process.Watch(process.Handlers{
		Noticef:    log.Noticef,
		Shutdown:   func() { go r.srv.Shutdown() },
		LameDuck:   func() { go r.srv.LameDuck() },
		InLameDuck: r.srv.InLameDuck,
		Reload:     r.reload,
		Reopen:     r.reopen,
	})
	defer signals.Stop()
	if o.PidFile != "" {
		if err := process.WritePIDFile(o.PidFile); err != nil {
			log.Fatalf("Could not write pidfile: %v", err)
			return 1
		}
	}
	r.srv.OnReload(r.tryReload)
	r.srv.CalledAs(r.program)
	if err := r.srv.Start(); err != nil {
		log.Fatalf("%v", err)
		return 1
	}
	r.reloading.Lock()
	r.ports = r.writePorts(r.cur.Load())
	r.reloading.Unlock()
	if r.welcome {
		r.greet()
	}
	<-r.srv.Done()
	r.reloading.Lock()
	defer r.reloading.Unlock()
	r.removePorts()
	return 0
}

// removePorts removes the ports file, if there is one.
func (r *runner) removePorts() {
	if r.ports == nil {
		return
	}
	if err := r.ports.Remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.log.Warnf("Could not remove the ports file: %v", err)
	}
	r.ports = nil
}

// moveFiles writes the files that next has at other places than old.
func (r *runner) moveFiles(old, next *options.Options) {
	if next.PidFile != old.PidFile && next.PidFile != "" {
		if err := process.WritePIDFile(next.PidFile); err != nil {
			r.log.Errorf("Could not write pidfile: %v", err)
		}
	}
	if next.PortsDir != old.PortsDir {
		r.removePorts()
		r.ports = r.writePorts(next)
	}
}

func (r *runner) fail(err error) int {
	fmt.Fprintf(r.stderr, "%s: %v\n", r.program, err)
	return 1
}

func logOptions(o *options.Options) logging.Options {
	l := &o.Log
	return logging.Options{File: l.File, SizeLimit: l.SizeLimit, MaxFiles: l.MaxFiles, RemoteSyslog: l.RemoteSyslog, Syslog: l.Syslog,
		Time: l.Time, UTC: l.UTC, Debug: l.Debug, Trace: l.Trace}
}

// reload is what the signal does.
func (r *runner) reload() {
	if err := r.tryReload(); err != nil {
		r.log.Errorf("Failed to reload server configuration: %v", err)
	}
}

// tryReload puts a changed configuration in force, all of it or nothing. It may be called from several goroutines.
func (r *runner) tryReload() error {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	old := r.cur.Load()
	if old.ConfigFile == "" {
		return config.ErrNoReloadFile
	}
	next, err := r.load()
	if err != nil {
		return err
	}
	lines, err := r.changes(old, next)
	if err != nil {
		return err
	}
	if err := r.srv.Reload(next); err != nil {
		return err
	}
	if err := r.log.Reconfigure(logOptions(next)); err != nil {
		r.log.Errorf("Could not change the log: %v", err)
	}
	r.moveFiles(old, next)
	r.cur.Store(next)
	for _, line := range lines {
		r.log.Noticef("Reloaded: %s", line)
	}
	r.log.Noticef("Reloaded server configuration (%s)", next.ConfigDigest)
	return nil
}

func (r *runner) reopen() {
	if err := r.log.Reopen(); err != nil {
		r.log.Errorf("Could not open the log file again: %v", err)
		return
	}
	r.log.Noticef("File log re-opened")
}

// dashboard says where it is; nothing if there is none.
func (r *runner) dashboard() string {
	addr, ok := r.srv.MonitorAddr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	o := r.cur.Load()
	scheme, host := "http", "127.0.0.1"
	if o.Monitoring.HTTPSPort != 0 {
		scheme = "https"
	}
	if addr.IP != nil && !addr.IP.IsUnspecified() {
		host = addr.IP.String()
	}
	return fmt.Sprintf(" The dashboard is at %s://%s%s.", scheme, net.JoinHostPort(host, strconv.Itoa(addr.Port)), path.Join(o.Monitoring.HTTPBasePath, dashboard.Path)+"/")
}

func (r *runner) writePorts(o *options.Options) *process.PortsFile {
	if o.PortsDir == "" {
		return nil
	}
	var p process.Ports
	if addr, ok := r.srv.ClientAddr().(*net.TCPAddr); ok {
		p.Nats = process.ListenURLs("nats", o.Host, addr.Port)
	}
	if addr, ok := r.srv.MonitorAddr().(*net.TCPAddr); ok {
		scheme := "http"
		if o.Monitoring.HTTPSPort != 0 {
			scheme = "https"
		}
		p.Monitoring = process.ListenURLs(scheme, o.Monitoring.HTTPHost, addr.Port)
	}
	if addr, ok := r.srv.WebsocketAddr().(*net.TCPAddr); ok {
		scheme := "ws"
		if o.Websocket.TLS != nil {
			scheme = "wss"
		}
		p.WebSocket = process.ListenURLs(scheme, o.Websocket.Host, addr.Port)
	}
	f, err := process.WritePortsFile(o.PortsDir, p)
	if err != nil {
		r.log.Errorf("Error writing ports file: %v", err)
		return nil
	}
	return f
}

// greet tells a newcomer what can be done now.
func (r *runner) greet() {
	addr, ok := r.srv.ClientAddr().(*net.TCPAddr)
	if !ok {
		return
	}
	r.log.Flush(time.Second) // what was logged comes first; a slow log is no reason to wait longer
	url := "nats://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(addr.Port))
	fmt.Fprintf(r.stderr, `
Godwit is ready at %[1]s
Try it; the nats command line tool does the same:

  godwit sub 'hello.>' -s %[1]s             # in one terminal
  godwit pub hello.world hi -s %[1]s        # in another
  godwit stream add ORDERS --subjects 'orders.>' -s %[1]s
  godwit pub orders.1 'first order' -J -s %[1]s
  godwit stream view ORDERS -s %[1]s

Streams are kept in %[2]s.%[3]s Ctrl-C stops the server.

`, url, r.cur.Load().JetStream.StoreDir, r.dashboard())
}
