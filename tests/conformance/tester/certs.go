package tester

import (
	"crypto/tls"
	"os"
	"path/filepath"

	"godwit/tests/harness/certs"
)

// managedTLS is the generated key material of one instance.
type managedTLS struct {
	opts     tlsOptions
	material tlsMaterial
	files    tlsFiles
	dial     *tls.Config // what the tester itself uses to probe the servers
}

// tlsFiles is .TLS in the template environment.
type tlsFiles struct {
	CAFile   string
	CertFile string
	KeyFile  string
}

func newManagedTLS(dir string, opts tlsOptions, advertise string) (*managedTLS, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	sans := opts.SANs
	if len(sans) == 0 {
		sans = []string{"localhost", "127.0.0.1", "::1"}
		if advertise != "" && advertise != "localhost" {
			sans = append(sans, advertise)
		}
	}

	ca, err := certs.Issue("conformance CA", nil, nil)
	if err != nil {
		return nil, err
	}
	leaf, err := certs.Issue("conformance server", sans, ca)
	if err != nil {
		return nil, err
	}

	m := &managedTLS{
		opts:     opts,
		material: tlsMaterial{CA: ca.CertPEM},
		files: tlsFiles{
			CAFile:   filepath.Join(dir, "ca.pem"),
			CertFile: filepath.Join(dir, "server-cert.pem"),
			KeyFile:  filepath.Join(dir, "server-key.pem"),
		},
		dial: &tls.Config{InsecureSkipVerify: true},
	}
	for file, text := range map[string]string{
		m.files.CAFile:   ca.CertPEM,
		m.files.CertFile: leaf.CertPEM,
		m.files.KeyFile:  leaf.KeyPEM,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}

	if opts.mutual() {
		client, err := certs.Issue("conformance client", sans, ca)
		if err != nil {
			return nil, err
		}
		m.material.ClientCert, m.material.ClientKey = client.CertPEM, client.KeyPEM
		pair, err := tls.X509KeyPair([]byte(client.CertPEM), []byte(client.KeyPEM))
		if err != nil {
			return nil, err
		}
		m.dial.Certificates = []tls.Certificate{pair}
	}
	return m, nil
}
