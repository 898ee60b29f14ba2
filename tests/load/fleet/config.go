package fleet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"godwit/tests/harness/certs"
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
	if s.TLS {
		fmt.Fprintf(&b, "tls {\n  cert_file: %q\n  key_file: %q\n}\n", s.certFile(), s.keyFile())
	}
	if o.Accounts > 0 {
		b.WriteString("accounts {\n")
		for a := range o.Accounts {
			fmt.Fprintf(&b, "  A%d { users: [", a)
			for u := range usersPerAccount {
				fmt.Fprintf(&b, "{user: %q, password: %q}, ", userName(a, u), userPassword)
			}
			b.WriteString("] }\n")
		}
		b.WriteString("}\n")
	}
	if o.Extra != "" {
		b.WriteString(o.Extra + "\n")
	}
	return b.String()
}

const (
	usersPerAccount = 10
	userPassword    = "bench"
)

func userName(account, user int) string { return fmt.Sprintf("u%d-%d", account, user) }

func (s *Server) certFile() string { return filepath.Join(filepath.Dir(s.conf), "cert.pem") }
func (s *Server) keyFile() string  { return filepath.Join(filepath.Dir(s.conf), "key.pem") }

// secure decides how clients log in, and makes the certificate for it.
func (s *Server) secure(o Options) error {
	if o.Accounts > 0 {
		s.User, s.Password = userName(o.Accounts/2, usersPerAccount/2), userPassword
	}
	if s.TLS = o.TLS; !s.TLS {
		return nil
	}
	c, err := certs.Issue("bench", []string{"127.0.0.1"}, nil)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(s.certFile(), []byte(c.CertPEM), 0o600), os.WriteFile(s.keyFile(), []byte(c.KeyPEM), 0o600))
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
