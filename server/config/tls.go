package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"godwit/conf"
	"godwit/server/options"
)

// tlsContext says where a tls block stands.
type tlsContext int

const (
	tlsPlain tlsContext = iota
	tlsPeers            // of a cluster or gateway, where certificates can be checked against known URLs
	tlsProxy            // of a connection to a proxy, which knows fewer keys
)

// tlsBuild is a tls block in the making.
type tlsBuild struct {
	options.TLS
	context tlsContext
}

// errRootCA is nats-server's text about a ca_file without a certificate.
var errRootCA = errors.New("failed to parse root ca certificate")

// decodeTLS decodes a tls block and reads its files, to find mistakes early. It returns nil after an error.
func decodeTLS(d *conf.Decoder, v *conf.Value, context tlsContext) *options.TLS {
	b := &tlsBuild{context: context}
	errorsBefore := d.Count()
	block := tlsBlock()
	if context == tlsProxy {
		block = proxyTLSBlock()
	}
	if !block.Decode(d, v, b) || d.Count() > errorsBefore {
		return nil
	}
	if len(b.Certs) > 0 && b.CertFile != "" {
		d.Errorf(v, "error parsing tls config, cannot combine 'cert_file' option with 'certs' option")
		return nil
	}
	if bad := insecureCiphers(b.CipherSuites); len(bad) > 0 && !b.AllowInsecureCiphers {
		d.Errorf(v, "insecure cipher suites configured without 'allow_insecure_cipher_suites' option set: %s", strings.Join(bad, ", "))
		return nil
	}
	if err := checkTLSFiles(&b.TLS); err != nil {
		d.Errorf(v, "%v", err)
		return nil
	}
	return &b.TLS
}

// checkTLSFiles reads the files that t names.
func checkTLSFiles(t *options.TLS) error {
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		return errors.New("missing 'key_file' in TLS configuration")
	case t.CertFile == "" && t.KeyFile != "":
		return errors.New("missing 'cert_file' in TLS configuration")
	case t.CertFile != "":
		if err := checkPair(t.CertFile, t.KeyFile); err != nil {
			return fmt.Errorf("error parsing X509 certificate/key pair: %w", err)
		}
	}
	for i, c := range t.Certs {
		if err := checkPair(c.CertFile, c.KeyFile); err != nil {
			return fmt.Errorf("error parsing X509 certificate/key pair %d/%d: %w", i+1, len(t.Certs), err)
		}
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return errRootCA
		}
	}
	return nil
}

func checkPair(cert, key string) error {
	_, err := tls.LoadX509KeyPair(cert, key)
	return err
}

// tlsBlock declares a tls block.
func tlsBlock() *conf.Block[tlsBuild] {
	fields := append(tlsFileFields(), tlsPolicyFields()...)
	return conf.NewBlock(conf.Block[tlsBuild]{
		Name:    "tls",
		Doc:     "TLS of a listener, or of connections that the server makes. The files are read when the configuration is.",
		Unknown: func(key string) string { return fmt.Sprintf("error parsing tls config, unknown field %q", key) },
	}, append(fields, certStoreFields()...)...)
}

// proxyTLSBlock declares the tls block of a connection to a proxy.
func proxyTLSBlock() *conf.Block[tlsBuild] {
	return conf.NewBlock(conf.Block[tlsBuild]{
		Name:    "proxy tls",
		Doc:     "TLS of a connection to a proxy.",
		Unknown: func(key string) string { return fmt.Sprintf("%q is not supported for proxy TLS", key) },
	}, append(tlsFileFields(), tlsPolicyFields()...)...)
}

func tlsFileFields() []conf.Field[tlsBuild] {
	return []conf.Field[tlsBuild]{
		{Key: "cert_file", Type: "path", Reload: conf.Live, Doc: "Certificate, in PEM form. Needs key_file.", Set: tlsFile(func(t *tlsBuild) *string { return &t.CertFile })},
		{Key: "key_file", Type: "path", Reload: conf.Live, Doc: "Private key of the certificate.", Set: tlsFile(func(t *tlsBuild) *string { return &t.KeyFile })},
		{Key: "ca_file", Type: "path", Reload: conf.Live, Doc: "Certificates that sign those of the other side; default are the system's.", Set: tlsFile(func(t *tlsBuild) *string { return &t.CAFile })},
		{Key: "certs", Aliases: []string{"certificates"}, Type: "list of maps", Block: "certificate", Reload: conf.Live, Doc: "Several certificates instead of one.", Set: setCerts},
		{Key: "insecure", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Connections that the server makes do not check the other side's certificate.", Set: tlsFlag(func(t *tlsBuild) *bool { return &t.Insecure })},
		{Key: "verify", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Clients must show a certificate that ca_file has signed.", Set: tlsFlag(func(t *tlsBuild) *bool { return &t.Verify })},
		{Key: "verify_and_map", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "The same, and the certificate says which user it is.", Set: func(d *conf.Decoder, key string, v *conf.Value, t *tlsBuild) {
			tlsFlag(func(t *tlsBuild) *bool { return &t.VerifyAndMap })(d, key, v, t)
			t.Verify = t.Verify || t.VerifyAndMap
		}},
		{Key: "verify_cert_and_check_known_urls", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "In cluster and gateway: the other side's certificate must be for one of the configured URLs.", Set: setKnownURLs},
	}
}

func tlsPolicyFields() []conf.Field[tlsBuild] {
	return []conf.Field[tlsBuild]{
		{Key: "cipher_suites", Type: "list of strings", Reload: conf.Live, Doc: "Allowed cipher suites of TLS 1.2, with Go's names.", Set: setCiphers},
		{Key: "allow_insecure_cipher_suites", Type: "boolean", Default: "false", Reload: conf.Live, Doc: "Allow cipher suites that are known to be weak.", Set: tlsFlag(func(t *tlsBuild) *bool { return &t.AllowInsecureCiphers })},
		{Key: "curve_preferences", Type: "list of strings", Reload: conf.Live, Doc: "Key exchanges, best first: `X25519MLKEM768`, `SecP256r1MLKEM768`, `SecP384r1MLKEM1024`, `X25519`, `CurveP256`, `CurveP384`, `CurveP521`.", Set: setCurves},
		{Key: "min_version", Type: "`\"1.2\"` or `\"1.3\"`", Default: "1.2", Reload: conf.Live, Doc: "Oldest version that is spoken.", Set: setMinVersion},
		{Key: "timeout", Type: "seconds or duration", Default: "2", Reload: conf.Live, Doc: "Time for the handshake.", Set: func(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
			if span, ok := seconds(v, func(problem string) { d.Errorf(v, "error parsing tls config, 'timeout' %s", problem) }); ok {
				t.Timeout = span
			}
		}},
		{Key: "connection_rate_limit", Type: "integer", Unit: "per second", Default: "0", Reload: conf.Live, Doc: "New handshakes; further connections are refused. 0 is unlimited.", Set: func(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
			if v.Kind != conf.Int {
				d.Errorf(v, "error parsing tls config, 'connection_rate_limit' wrong type")
				return
			}
			t.RateLimit = v.Num
		}},
		{Key: "pinned_certs", Type: "list of strings", Reload: conf.Live, Doc: "Only these certificates are accepted: hex SHA-256 of the DER form of their public key (SubjectPublicKeyInfo).", Set: setPinned},
		{Key: "handshake_first", Aliases: []string{"first", "immediate"}, Type: "boolean, `auto` or duration", Default: "false", Reload: conf.Live, Doc: "The handshake comes before INFO. `auto` (`auto_fallback`, 50 ms) or a duration: INFO is sent in clear when the client has not begun it by then.", Set: setHandshakeFirst},
		{Key: "ocsp_peer", Type: "boolean or map", Block: "ocsp_peer", Reload: conf.Live, Doc: "Ask for the revocation state of the other side's certificate.", Set: setOCSPPeer},
	}
}

func tlsFile(at func(*tlsBuild) *string) conf.Setter[tlsBuild] {
	return func(d *conf.Decoder, key string, v *conf.Value, t *tlsBuild) {
		if v.Kind != conf.String {
			d.Errorf(v, "error parsing tls config, expected '%s' to be filename", strings.ToLower(key))
			return
		}
		*at(t) = v.Text
	}
}

func tlsFlag(at func(*tlsBuild) *bool) conf.Setter[tlsBuild] {
	return func(d *conf.Decoder, key string, v *conf.Value, t *tlsBuild) {
		if v.Kind != conf.Bool {
			d.Errorf(v, "error parsing tls config, expected '%s' to be a boolean", strings.ToLower(key))
			return
		}
		*at(t) = v.Flag
	}
}

func setKnownURLs(d *conf.Decoder, key string, v *conf.Value, t *tlsBuild) {
	errorsBefore := d.Count()
	tlsFlag(func(t *tlsBuild) *bool { return &t.VerifyKnownURLs })(d, key, v, t)
	if d.Count() > errorsBefore || !t.VerifyKnownURLs {
		return
	}
	if t.context != tlsPeers {
		d.Errorf(v, "verify_cert_and_check_known_urls not supported in this context")
		return
	}
	t.Verify = true
}

// certsPrefix begins messages about the list of certificates.
const certsPrefix = "error parsing certificates config: "

// certPairBlock declares an entry of the list of certificates.
func certPairBlock() *conf.Block[options.CertPair] {
	return conf.NewBlock(conf.Block[options.CertPair]{
		Name: "certificate", Doc: "One of several certificates.",
		Unknown: func(key string) string { return fmt.Sprintf(certsPrefix+"unknown field %q", key) },
	},
		conf.Field[options.CertPair]{Key: "cert_file", Type: "path", Reload: conf.Live, Doc: "Certificate, in PEM form; required.", Set: conf.Str(func(p *options.CertPair) *string { return &p.CertFile })},
		conf.Field[options.CertPair]{Key: "key_file", Type: "path", Reload: conf.Live, Doc: "Its private key; required.", Set: conf.Str(func(p *options.CertPair) *string { return &p.KeyFile })},
	)
}

func setCerts(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
	if v.Kind != conf.List {
		d.Errorf(v, certsPrefix+"unsupported type map[string]interface {}")
		return
	}
	for _, e := range v.List {
		if e.Kind != conf.MapKind {
			d.Errorf(e, certsPrefix+"unsupported type %s", e.GoType())
			continue
		}
		var pair options.CertPair
		before, at := d.Count(), e
		for _, m := range e.Map.Members { // wrong types come before unknown keys
			if at = m.Value; at.Kind != conf.String {
				d.Errorf(at, certsPrefix+"unsupported type %s", at.GoType())
			}
		}
		if d.Count() == before {
			certPairBlock().Decode(d, e, &pair)
		}
		if d.Count() == before && (pair.CertFile == "" || pair.KeyFile == "") {
			d.Errorf(at, certsPrefix+"both 'cert_file' and 'cert_key' options are required")
			continue
		}
		t.Certs = append(t.Certs, pair)
	}
}

// insecureCiphers returns the names of those suites that Go calls insecure.
func insecureCiphers(ids []uint16) (names []string) {
	for _, id := range ids {
		for _, c := range tls.InsecureCipherSuites() {
			if c.ID == id {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

func setCiphers(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
	list, ok := d.List(v)
	if !ok {
		return
	}
	if len(list) == 0 {
		d.Errorf(v, "error parsing tls config, 'cipher_suites' cannot be empty")
		return
	}
	known := append(tls.CipherSuites(), tls.InsecureCipherSuites()...)
next:
	for _, e := range list {
		name, ok := d.String(e)
		if !ok {
			continue
		}
		for _, c := range known {
			if c.Name == name {
				t.CipherSuites = append(t.CipherSuites, c.ID)
				continue next
			}
		}
		d.Errorf(e, "unrecognized cipher %s", name)
	}
}

// curve returns the key exchange of a name.
func curve(name string) (tls.CurveID, bool) {
	for _, id := range []tls.CurveID{tls.X25519MLKEM768, tls.SecP256r1MLKEM768, tls.SecP384r1MLKEM1024, tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521} {
		if id.String() == name {
			return id, true
		}
	}
	return 0, false
}

func setCurves(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
	list, ok := d.List(v)
	if !ok {
		return
	}
	if len(list) == 0 {
		d.Errorf(v, "error parsing tls config, 'curve_preferences' cannot be empty")
		return
	}
	for _, e := range list {
		name, ok := d.String(e)
		if !ok {
			continue
		}
		id, ok := curve(name)
		if !ok {
			d.Errorf(e, "unrecognized curve preference %s", name)
			continue
		}
		t.Curves = append(t.Curves, id)
	}
}

func setMinVersion(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
	if v.Kind != conf.String {
		d.Errorf(v, "error parsing tls config: 'min_version' wrong type: %v", v)
		return
	}
	switch v.Text {
	case "1.2":
		t.MinVersion = tls.VersionTLS12
	case "1.3":
		t.MinVersion = tls.VersionTLS13
	case "1.0", "1.1":
		d.Errorf(v, "error parsing tls config: unsupported TLS version: TLS %s", v.Text)
	default:
		d.Errorf(v, "error parsing tls config: unknown version: %s", v.Text)
	}
}

var pinnedForm = regexp.MustCompile("^[0-9a-fA-F]{64}$")

func setPinned(d *conf.Decoder, _ string, v *conf.Value, t *tlsBuild) {
	if v.Kind != conf.List {
		d.Errorf(v, "error parsing tls config, expected 'pinned_certs' to be a list of hex-encoded sha256 of DER encoded SubjectPublicKeyInfo")
		return
	}
	t.PinnedCerts = make(map[string]struct{}, len(v.List))
	for _, e := range v.List {
		s, ok := d.String(e)
		if !ok {
			continue
		}
		if !pinnedForm.MatchString(s) {
			d.Errorf(e, "error parsing tls config, 'pinned_certs' key %s does not look like hex-encoded sha256 of DER encoded SubjectPublicKeyInfo", s)
			continue
		}
		t.PinnedCerts[strings.ToLower(s)] = struct{}{}
	}
}

func setHandshakeFirst(d *conf.Decoder, key string, v *conf.Value, t *tlsBuild) {
	switch v.Kind {
	case conf.Bool:
		t.HandshakeFirst, t.HandshakeFirstFallback = v.Flag, 0
		return
	case conf.String:
	default:
		d.Errorf(v, "field %q should be a boolean or a string, got %s", key, v.GoType())
		return
	}
	switch strings.ToLower(v.Text) {
	case "true", "on":
		t.HandshakeFirst, t.HandshakeFirstFallback = true, 0
	case "false", "off":
		t.HandshakeFirst, t.HandshakeFirstFallback = false, 0
	case "auto", "auto_fallback":
		t.HandshakeFirst, t.HandshakeFirstFallback = true, options.DefaultHandshakeFallback
	default:
		wait, err := time.ParseDuration(v.Text)
		if err != nil {
			d.Errorf(v, "field %q's value %q is invalid", key, v.Text)
			return
		}
		t.HandshakeFirst, t.HandshakeFirstFallback = true, max(0, wait)
	}
}
