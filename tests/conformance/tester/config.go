package tester

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// snippetKeys are the extension points a request may fill. Those marked true
// describe a listener, for which a port of the same name is reserved.
var snippetKeys = map[string]bool{
	"accounts":       false,
	"system_account": false,
	"authorization":  false,
	"tls":            false,
	"websocket":      true,
	"mqtt":           true,
	"leafnode":       true,
	"jetstream":      false,
	"top":            false,
}

// templateEnv is what snippets and custom templates are rendered with.
type templateEnv struct {
	ServerName    string
	ShortID       string
	InstanceID    string
	Kind          string
	ServerIndex   int
	ServerDir     string
	StoreDir      string
	Host          string
	AdvertiseHost string
	ClientPort    int
	JetStream     bool
	ClusterName   string
	ClusterPort   int
	Routes        []string
	RoutePool     int
	GatewayPort   int
	Gateways      map[string][]string
	Ports         map[string]int
	Snippets      map[string]string
	TLS           *tlsFiles
	TLSInclude    string
}

// listeners returns the sorted port-bearing keys of a snippet set.
func listeners(snippets map[string]string) []string {
	var keys []string
	for key := range snippets {
		if snippetKeys[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// customAccounts tells whether the built-in system user may be gone.
func customAccounts(snippets map[string]string) bool {
	for _, key := range []string{"accounts", "system_account", "authorization"} {
		if _, ok := snippets[key]; ok {
			return true
		}
	}
	return false
}

// checkCustomization rejects what the contract forbids, with its error code.
func checkCustomization(snippets map[string]string, tmpl string, managedTLS, jetstream bool) *apiError {
	for key := range snippets {
		if _, known := snippetKeys[key]; !known {
			return errf("007", "unknown snippet %q", key)
		}
	}
	if _, ok := snippets["tls"]; ok && managedTLS {
		return errf("007", "a tls snippet and generated TLS are mutually exclusive")
	}
	if tmpl != "" && managedTLS && !strings.Contains(tmpl, ".TLSInclude") {
		return errf("007", "a template used with generated TLS must include .TLSInclude")
	}
	if _, ok := snippets["jetstream"]; ok && !jetstream {
		return errf("011", "a jetstream snippet needs a JetStream instance")
	}
	return nil
}

// writeConfig renders the snippets and the main file below env.ServerDir and
// returns the path of the main file plus the reserved listener ports that the
// configuration really opens.
func writeConfig(env templateEnv, snippets map[string]string, tmpl string, mtls *managedTLS, tlsTimeout float64) (string, []int, error) {
	env.Snippets = map[string]string{}
	if mtls != nil {
		env.TLS = &mtls.files
	}

	bodies := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(snippets)) {
		body, err := render(key, snippets[key], env)
		if err != nil {
			return "", nil, err
		}
		if port := env.Ports[key]; port != 0 {
			body = bindLoopback(body, port)
		}
		bodies[key] = body
	}
	for key, body := range bodies {
		rel := filepath.Join("snippets", key+".conf")
		if err := writeFile(filepath.Join(env.ServerDir, rel), body); err != nil {
			return "", nil, err
		}
		env.Snippets[key] = rel
	}

	tlsBlock := ""
	if mtls != nil {
		tlsBlock = renderTLS(mtls, tlsTimeout)
		env.TLSInclude = filepath.Join("snippets", "managed-tls.conf")
		if err := writeFile(filepath.Join(env.ServerDir, env.TLSInclude), tlsBlock); err != nil {
			return "", nil, err
		}
	}

	var text string
	if tmpl != "" {
		var err error
		if text, err = render("template", tmpl, env); err != nil {
			return "", nil, err
		}
		if !bindKey.MatchString(text) {
			text = loopbackHost + text
		}
	} else {
		text = builtinConfig(env, bodies, tlsBlock)
	}

	var open []int
	for key, port := range env.Ports {
		if strings.Contains(bodies[key], strconv.Itoa(port)) {
			open = append(open, port)
		}
	}
	path := filepath.Join(env.ServerDir, "server.conf")
	return path, open, writeFile(path, text)
}

const loopbackHost = "host: \"127.0.0.1\"\n"

// builtinConfig is the configuration of a server whose request carries no
// template. Snippet bodies are put in line, so that the server under test
// needs no working include directive.
func builtinConfig(env templateEnv, bodies map[string]string, tlsBlock string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	snippet := func(key, fallback string) {
		if body, ok := bodies[key]; ok {
			line("%s", body)
		} else if fallback != "" {
			line("%s", fallback)
		}
	}

	snippet("top", "")
	line("server_name: %q", env.ServerName)
	line("%sport: %d", loopbackHost, env.ClientPort)
	if env.AdvertiseHost != "" {
		line(`client_advertise: "%s:%d"`, env.AdvertiseHost, env.ClientPort)
	}
	line("%s", tlsBlock)
	snippet("tls", "")

	if env.JetStream {
		line("jetstream {\n  enabled: true\n  store_dir: %q", env.StoreDir)
		snippet("jetstream", "")
		line("}")
	}

	if env.ClusterName != "" {
		line("cluster {\n  name: %q\n  listen: \"127.0.0.1:%d\"", env.ClusterName, env.ClusterPort)
		if env.RoutePool != 0 {
			line("  pool_size: %d", env.RoutePool)
		}
		line("  routes: [")
		for _, peer := range env.Routes {
			line(`    "nats://%s"`, peer)
		}
		line("  ]\n}")
	}
	if len(env.Gateways) > 0 {
		line("gateway {\n  name: %q\n  listen: \"127.0.0.1:%d\"\n  gateways: [", env.ClusterName, env.GatewayPort)
		for _, name := range slices.Sorted(maps.Keys(env.Gateways)) {
			line("    { name: %q, urls: [ %s ] }", name, quoteAll(env.Gateways[name]))
		}
		line("  ]\n}")
	}

	snippet("accounts", builtinAccounts(env.JetStream))
	snippet("system_account", `system_account: "$SYS"`)
	snippet("authorization", "no_auth_user: user1")
	snippet("websocket", "")
	snippet("mqtt", "")
	snippet("leafnode", "")
	return b.String()
}

func builtinAccounts(jetstream bool) string {
	var b strings.Builder
	b.WriteString("accounts {\n")
	for i := 1; i <= 5; i++ {
		fmt.Fprintf(&b, "  USERS%d { users: [ { user: \"user%d\", password: \"password\" } ]", i, i)
		if jetstream {
			b.WriteString(", jetstream: enabled")
		}
		b.WriteString(" }\n")
	}
	b.WriteString("  $SYS { users: [ { user: \"system\", password: \"password\" } ] }\n}")
	return b.String()
}

func renderTLS(m *managedTLS, timeout float64) string {
	if timeout == 0 {
		timeout = 2
	}
	text := fmt.Sprintf("tls {\n  cert_file: %q\n  key_file: %q\n  ca_file: %q\n  timeout: %s\n",
		m.files.CertFile, m.files.KeyFile, m.files.CAFile, strconv.FormatFloat(timeout, 'f', -1, 64))
	if m.opts.mutual() {
		text += "  verify: true\n"
	}
	if m.opts.HandshakeFirst {
		text += "  handshake_first: true\n"
	}
	return text + "}"
}

func render(name, body string, env templateEnv) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(body)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, env); err != nil {
		return "", err
	}
	return b.String(), nil
}

var bindKey = regexp.MustCompile(`(?i)\b(host|net|listen)["']?\s*[:=\s]`)

// bindLoopback adds a host line to a listener block that opens port but names
// no address, which would otherwise listen on every interface.
func bindLoopback(body string, port int) string {
	brace := strings.Index(body, "{")
	if brace < 0 || bindKey.MatchString(body) || !strings.Contains(body, strconv.Itoa(port)) {
		return body
	}
	return body[:brace+1] + "\n  host: \"127.0.0.1\"\n" + body[brace+1:]
}

func quoteAll(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = strconv.Quote(item)
	}
	return strings.Join(quoted, ", ")
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
