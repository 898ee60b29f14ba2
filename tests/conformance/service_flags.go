package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"godwit/tests/conformance/tester"
)

// serviceFlags are the flags that both commands share.
type serviceFlags struct {
	server, manager, data, advertise, ports string
	preserve                                bool
	routePool                               int
}

func addServiceFlags(fs *flag.FlagSet) *serviceFlags {
	f := &serviceFlags{}
	fs.StringVar(&f.server, "server", "", "server binary under test (required)")
	fs.StringVar(&f.manager, "manager", "", "server binary behind the service's own endpoint (default: the value of --server)")
	fs.StringVar(&f.data, "data", "", "directory for the files of the servers (default: a temporary one)")
	fs.StringVar(&f.advertise, "advertise", "localhost", "host the servers advertise to clients; empty for none")
	fs.StringVar(&f.ports, "port-range", "18000-31999", "ports given to servers; keep it below the ephemeral range")
	fs.IntVar(&f.routePool, "route-pool", 0, "pool_size of the cluster routes; 0 leaves it to the server")
	fs.BoolVar(&f.preserve, "preserve", false, "keep the files of servers that are no longer needed (with --data)")
	return f
}

// config checks the flags. The caller sets Data's default beforehand, and Log afterwards if it
// wants one.
func (f *serviceFlags) config() (cfg tester.Config, err error) {
	if f.server == "" {
		return cfg, errors.New("--server is required")
	}
	if f.manager == "" {
		f.manager = f.server
	}
	low, high, _ := strings.Cut(f.ports, "-")
	cfg = tester.Config{Advertise: f.advertise, Preserve: f.preserve, RoutePool: f.routePool, Log: io.Discard}
	cfg.PortLow, _ = strconv.Atoi(low)
	cfg.PortHigh, _ = strconv.Atoi(high)
	if cfg.PortLow < 1024 || cfg.PortHigh < cfg.PortLow+100 || cfg.PortHigh > 65535 {
		return cfg, fmt.Errorf("--port-range %q: want LOW-HIGH with at least 100 ports above 1023", f.ports)
	}
	if cfg.Server, err = binaryPath(f.server); err != nil {
		return cfg, err
	}
	if cfg.Manager, err = binaryPath(f.manager); err != nil {
		return cfg, err
	}
	cfg.Data, err = filepath.Abs(f.data)
	return cfg, err
}

func binaryPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// scratch makes a temporary directory, and returns how to remove it again.
func scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "godwit-conformance-")
	return dir, func() { os.RemoveAll(dir) }, err
}
