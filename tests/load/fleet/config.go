package fleet

import (
	"fmt"
	"net"
	"strings"
	"time"
)

func configText(o Options, s *Server, routePort int, routes []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server_name: %s\nlisten: %q\n", s.Name, s.Addr)
	if s.profPort != 0 {
		fmt.Fprintf(&b, "prof_port: %d\n", s.profPort)
	}
	if o.JetStream {
		fmt.Fprintf(&b, "jetstream {\n  store_dir: %q\n  max_memory_store: 8G\n  max_file_store: 64G\n", s.Dir)
		if v := SyncInterval(o.Sync); v != "" {
			fmt.Fprintf(&b, "  sync_interval: %s\n", v)
		}
		b.WriteString("}\n")
	}
	if o.Nodes > 1 {
		fmt.Fprintf(&b, "cluster {\n  name: bench\n  listen: \"127.0.0.1:%d\"\n  routes: [%s]\n}\n",
			routePort, strings.Join(routes, ", "))
	}
	if o.Extra != "" {
		b.WriteString(o.Extra + "\n")
	}
	return b.String()
}

// freePorts asks the kernel for n unused ports.
func freePorts(n int) ([]int, error) {
	var ports []int
	for i := 0; i < n; i++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// SyncAllowed tells whether v is a sync policy: default, always, lazy or a duration.
func SyncAllowed(v string) bool {
	if v == "default" || v == "always" || v == "lazy" {
		return true
	}
	d, err := time.ParseDuration(v)
	return err == nil && d > 0
}

// SyncInterval is the value of the configuration key for a --sync policy, "" for the server's own.
func SyncInterval(policy string) string {
	switch policy {
	case "default":
		return ""
	case "lazy":
		return "2m"
	}
	return policy
}
