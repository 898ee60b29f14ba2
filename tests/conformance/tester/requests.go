package tester

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// apiError is a failed request: it travels in the reply's headers.
type apiError struct{ code, text string }

func errf(code, format string, args ...any) *apiError {
	return &apiError{code, fmt.Sprintf(format, args...)}
}

// accept begins to serve one request, unless the service closes. Requests are served side by
// side, because a test may start a cluster while another server still stops.
func (svc *Service) accept(m *nats.Msg) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	if !svc.closing {
		svc.serving.Go(func() { svc.serve(m) })
	}
}

// serve carries out one request and sends its reply.
func (svc *Service) serve(m *nats.Msg) {
	began := time.Now()
	reply, note, apiErr := svc.dispatch(m)
	out := nats.NewMsg(m.Reply)
	if apiErr == nil {
		var err error
		if out.Data, err = json.Marshal(reply); err != nil {
			apiErr = errf("010", "reply: %v", err)
		}
	}
	if apiErr != nil {
		out.Header.Set("Nats-Service-Error", apiErr.text)
		out.Header.Set("Nats-Service-Error-Code", apiErr.code)
		note += " error " + apiErr.code + " " + apiErr.text
	}
	svc.logf("%s %s (%v)", strings.TrimPrefix(m.Subject, "tester."), note, time.Since(began).Round(time.Millisecond))
	if err := svc.nc.PublishMsg(out); err != nil {
		svc.logf("reply to %s: %v", m.Subject, err)
	}
}

// dispatch finds the request's handler; note is for the log.
func (svc *Service) dispatch(m *nats.Msg) (reply any, note string, err *apiError) {
	switch op := strings.TrimPrefix(m.Subject, "tester."); op {
	case "create.server", "create.cluster", "create.super-cluster":
		return svc.onCreate(strings.TrimPrefix(op, "create."), m.Data)
	case "start.server", "stop.server", "reload.server":
		return svc.onServer(strings.TrimSuffix(op, ".server"), m.Data)
	case "update.server":
		return svc.onUpdate(m.Data)
	case "start.instance", "stop.instance":
		inst, err := svc.findInstance(m.Data)
		if err != nil {
			return nil, "", err
		}
		return svc.switchInstance(inst, op == "start.instance"), inst.short, nil
	case "destroy":
		inst, err := svc.findInstance(m.Data)
		if err != nil {
			return nil, "", err
		}
		return map[string]bool{"destroyed": svc.remove(inst.id)}, inst.short, nil
	case "reset":
		svc.Reset()
		return map[string]bool{"shutdown": true}, "", nil
	case "list":
		return svc.onList(), "", nil
	case "status":
		return svc.onStatus(m.Data)
	}
	return nil, "", errf("001", "unknown request %s", m.Subject)
}

func (svc *Service) onCreate(kind string, body []byte) (reply any, note string, err *apiError) {
	var req createRequest
	if err := parse(body, &req); err != nil {
		return nil, "", err
	}
	inst, err := svc.create(kind, &req)
	if err != nil {
		return nil, req.Description, err
	}
	out := createReply{ID: inst.id, Description: inst.description, Kind: inst.kind, Servers: statuses(inst)}
	if inst.tls != nil {
		out.TLS = &inst.tls.material
	}
	return out, inst.short + " " + inst.description, nil
}

// onServer starts, stops or reloads one server.
func (svc *Service) onServer(act string, body []byte) (reply any, note string, err *apiError) {
	var req serverRequest
	if err := parse(body, &req); err != nil {
		return nil, "", err
	}
	inst, s := svc.findServer(req.Name)
	if s == nil {
		return nil, req.Name, errf("001", "Server not found")
	}
	switch act {
	case "start":
		err = svc.start(inst, s)
		return map[string]bool{"started": true}, req.Name, err
	case "stop":
		err = svc.stop(inst, s, stopGrace)
		return map[string]bool{"shutdown": true}, req.Name, err
	default:
		err = svc.reload(s)
		return map[string]bool{"reloaded": true}, req.Name, err
	}
}

func (svc *Service) onUpdate(body []byte) (reply any, note string, err *apiError) {
	var req updateRequest
	if err := parse(body, &req); err != nil {
		return nil, "", err
	}
	inst, s := svc.findServer(req.Name)
	if s == nil {
		return nil, req.Name, errf("001", "Server not found")
	}
	return map[string]bool{"updated": true}, req.Name, update(inst, s, &req)
}

func (svc *Service) onList() listReply {
	out := listReply{Instances: []instanceSummary{}}
	for _, inst := range svc.all() {
		sum := instanceSummary{inst.id, inst.description, inst.kind, "", len(inst.servers), inst.created}
		if inst.kind == "cluster" {
			sum.Cluster = inst.short
		}
		out.Instances = append(out.Instances, sum)
	}
	return out
}

// onStatus tells about one instance, or about all when the request names none.
func (svc *Service) onStatus(body []byte) (reply any, note string, err *apiError) {
	chosen := svc.all()
	var req instanceRequest
	if len(body) > 0 && json.Unmarshal(body, &req) == nil && req.InstanceID != "" {
		inst, err := svc.findInstance(body)
		if err != nil {
			return nil, "", err
		}
		chosen = []*instance{inst}
	}
	out := statusReply{Instances: []instanceStatus{}}
	for _, inst := range chosen {
		out.Instances = append(out.Instances, instanceStatus{inst.id, inst.description, inst.kind, statuses(inst)})
	}
	return out, "", nil
}

// update writes a new configuration for a server; it counts from the next reload or start.
func update(inst *instance, s *server, req *updateRequest) *apiError {
	if err := checkCustomization(req.Snippets, req.Template, s.tls != nil, inst.jetstream); err != nil {
		return err
	}
	if !slices.Equal(listeners(req.Snippets), listeners(s.snippets)) {
		return errf("008", "the set of listener snippets is fixed when the server is created")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.TLSTimeout != nil {
		if s.tls == nil {
			return errf("007", "tls_timeout needs a server with generated TLS")
		}
		s.tlsTimeout = *req.TLSTimeout
	}
	if err := s.configure(req.Snippets, req.Template); err != nil {
		return errf("009", "configuration: %v", err)
	}
	return nil
}

func (svc *Service) reload(s *server) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return errf("002", "Server not running")
	}
	confirmed, err := s.proc.reload(time.Second)
	if err != nil {
		return errf("010", "reload failed: %v", err)
	}
	if !confirmed {
		svc.logf("server %s logged no outcome of its reload", s.name())
	}
	return nil
}

// switchInstance starts or stops every server of an instance, best effort.
func (svc *Service) switchInstance(inst *instance, start bool) serverResults {
	out := serverResults{Servers: make([]serverResult, len(inst.servers))}
	var wg sync.WaitGroup
	for i, s := range inst.servers {
		wg.Go(func() {
			var err *apiError
			if start {
				err = svc.start(inst, s)
			} else {
				err = svc.stop(inst, s, stopGrace)
			}
			out.Servers[i] = serverResult{Name: s.name(), Running: s.status().Running}
			if err != nil {
				out.Servers[i].Error = err.text
			}
		})
	}
	wg.Wait()
	return out
}

func parse(body []byte, into any) *apiError {
	if err := json.Unmarshal(body, into); err != nil {
		return errf("001", "Invalid request: %v", err)
	}
	return nil
}
