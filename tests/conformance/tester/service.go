// Package tester is the service that the public Go client's suite asks for servers, clusters and
// super-clusters: it runs them as processes of a given binary, with generated configurations, and
// stops, restarts, changes and reloads them on request.
package tester

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Config says what to run and where. Server, Data, Log and the port range must be set.
type Config struct {
	Server    string    // path of the binary under test
	Manager   string    // path of the binary behind the service's own endpoint
	Port      int       // port of that endpoint; 0 picks one from the range
	Data      string    // directory for the files of instances; absolute
	Advertise string    // host that managed servers advertise to clients; empty for none
	Preserve  bool      // keep the files of destroyed instances
	RoutePool int       // pool_size of the routes; 0 leaves it to the server
	PortLow   int       // first and
	PortHigh  int       // last of the ports given to managed servers
	Log       io.Writer // every request with its duration, and every alarm; writes are serialized
}

// Service answers the tester.* requests. Its methods may be called from any goroutine.
type Service struct {
	cfg   Config
	ports *portPool
	port  int // of the service's own endpoint
	mgr   *process
	nc    *nats.Conn
	died  chan string // capacity 1: the manager ended unasked

	serving sync.WaitGroup // requests under way

	mu        sync.Mutex // ranks after server.mu
	closing   bool       // no further request is begun
	instances map[string]*instance
	alarms    []Alarm

	logMu sync.Mutex // ranks last
}

// Start starts the server behind the endpoint and begins to answer requests. After an error
// nothing is left running.
func Start(cfg Config) (*Service, error) {
	svc := &Service{
		cfg:       cfg,
		ports:     newPortPool(cfg.PortLow, cfg.PortHigh),
		port:      cfg.Port,
		died:      make(chan string, 1),
		instances: map[string]*instance{},
	}
	if err := svc.startManager(); err != nil {
		svc.Close()
		return nil, err
	}
	if _, err := svc.nc.Subscribe("tester.>", svc.accept); err != nil {
		svc.Close()
		return nil, err
	}
	return svc, svc.nc.Flush()
}

// startManager runs the server behind the management endpoint and connects.
func (svc *Service) startManager() (err error) {
	if svc.port == 0 {
		if svc.port, err = svc.ports.take(); err != nil {
			return err
		}
	}
	dir := filepath.Join(svc.cfg.Data, "manager")
	config := filepath.Join(dir, "server.conf")
	err = writeFile(config, fmt.Sprintf("server_name: \"conformance\"\nlisten: \"127.0.0.1:%d\"\n", svc.port))
	if err != nil {
		return err
	}
	svc.mgr, err = startProcess(svc.cfg.Manager, config, filepath.Join(dir, "server.log"), func(p *process, state string) {
		svc.died <- state + "\n" + p.logTail(15)
	})
	if err != nil {
		return err
	}
	if err := svc.mgr.waitReady("manager", svc.port, nil, nil, 10*time.Second); err != nil {
		return err
	}
	svc.nc, err = nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", svc.port), nats.MaxReconnects(-1), nats.Name("conformance"))
	return err
}

// URL is what the suite finds in the environment variable TESTER_NATS_URL. The host is a name on
// purpose: some TLS tests need it to differ from the address.
func (svc *Service) URL() string { return fmt.Sprintf("nats://localhost:%d", svc.port) }

// Died delivers one text if the server behind the endpoint ends unasked.
func (svc *Service) Died() <-chan string { return svc.died }

// Close ends every server and returns when the requests under way are answered or given up.
func (svc *Service) Close() {
	svc.mu.Lock()
	svc.closing = true
	svc.mu.Unlock()
	svc.serving.Wait()
	if svc.nc != nil {
		svc.nc.Close()
	}
	svc.Reset()
	if svc.mgr != nil {
		svc.mgr.stop(3 * time.Second)
	}
}

func (svc *Service) logf(format string, args ...any) {
	svc.logMu.Lock()
	defer svc.logMu.Unlock()
	fmt.Fprintf(svc.cfg.Log, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// Probe runs one plain server and returns its version.
func (svc *Service) Probe() (string, error) {
	inst, apiErr := svc.create("server", &createRequest{Description: "probe"})
	if apiErr != nil {
		return "", errors.New(apiErr.text)
	}
	defer svc.remove(inst.id)
	info, err := readInfo(inst.servers[0].env.ClientPort, nil)
	if err != nil {
		return "", err
	}
	return info.Version, nil
}

func (svc *Service) all() []*instance {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	var list []*instance
	for _, inst := range svc.instances {
		list = append(list, inst)
	}
	slices.SortFunc(list, func(a, b *instance) int { return cmp.Compare(a.created.UnixNano(), b.created.UnixNano()) })
	return list
}

func (svc *Service) findInstance(body []byte) (*instance, *apiError) {
	var req instanceRequest
	if err := parse(body, &req); err != nil {
		return nil, err
	}
	if req.InstanceID == "" {
		return nil, errf("002", "instance_id is required")
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	inst := svc.instances[req.InstanceID]
	if inst == nil {
		return nil, errf("001", "instance %q not found", req.InstanceID)
	}
	return inst, nil
}

func (svc *Service) findServer(name string) (*instance, *server) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	for _, inst := range svc.instances {
		for _, s := range inst.servers {
			if s.name() == name {
				return inst, s
			}
		}
	}
	return nil, nil
}

func statuses(inst *instance) []serverStatus {
	list := make([]serverStatus, len(inst.servers))
	for i, s := range inst.servers {
		list[i] = s.status()
	}
	return list
}

func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
