package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports lists the URLs under which a server can be reached, by listener. It is the content of a ports file.
type Ports struct {
	Nats       []string `json:"nats,omitempty"`       // nats:// or, with TLS required, tls://
	Monitoring []string `json:"monitoring,omitempty"` // http:// or https://
	Cluster    []string `json:"cluster,omitempty"`    // nats:// or tls://
	Profile    []string `json:"profile,omitempty"`    // http://
	WebSocket  []string `json:"websocket,omitempty"`  // ws:// or wss://
}

// ListenURLs returns the URLs of a listener on host and port. A host that stands for all addresses of the machine
// is replaced by each of them.
func ListenURLs(scheme, host string, port int) []string {
	hosts := []string{host}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if all := machineIPs(); len(all) > 0 {
			hosts = all
		}
	}
	urls := make([]string, len(hosts))
	for i, h := range hosts {
		urls[i] = scheme + "://" + net.JoinHostPort(h, strconv.Itoa(port))
	}
	return urls
}

// machineIPs lists the addresses of all network interfaces, those of the loopback included.
func machineIPs() []string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var ips []string
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			ips = append(ips, n.IP.String())
		}
	}
	return ips
}

// PortsFile is a ports file that was written. It is removed when the server shuts down, or its directory changes.
type PortsFile struct{ path string }

// PortsFilePath is the name of this process's ports file in dir: "<program>_<pid>.ports".
func PortsFilePath(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%s_%d.ports", Name(), os.Getpid()))
}

// WritePortsFile writes p into dir under the name that PortsFilePath gives. Whoever waits for the file sees it
// whole. A failure is worth an error in the log, "Error writing ports file (PATH): …", and not the end of the server.
func WritePortsFile(dir string, p Ports) (*PortsFile, error) {
	path := PortsFilePath(dir)
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	unfinished := path + ".tmp"
	if err := os.WriteFile(unfinished, b, 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return nil, errors.Join(err, os.Remove(unfinished))
	}
	return &PortsFile{path}, nil
}

// Path is the name of the file.
func (f *PortsFile) Path() string { return f.path }

// Remove removes the file. A failure is worth an error in the log, "Error cleaning up ports file PATH: …".
func (f *PortsFile) Remove() error { return os.Remove(f.path) }
