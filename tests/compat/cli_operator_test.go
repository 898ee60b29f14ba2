package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"godwit/tests/harness"
)

// operatorCLI is an operator made by the command line tool, with a server that trusts it.
type operatorCLI struct {
	*cli
	t      *testing.T
	s      *harness.Server
	store  string // of the operator
	system string // public key of the system account
}

var publicKey = regexp.MustCompile(`\((A[A-Z2-7]{55})\)`)

func newOperatorCLI(t *testing.T) *operatorCLI {
	t.Helper()
	s := harness.New(t, harness.Options{Streams: true})
	c := &operatorCLI{cli: newCLI(t, s), t: t, s: s}
	c.ok(t, []string{"System Account: SYSTEM"}, "auth", "operator", "add", "OP")
	c.system = c.account("SYSTEM")
	for _, v := range c.env {
		if home, ok := strings.CutPrefix(v, "XDG_DATA_HOME="); ok {
			c.store = filepath.Join(home, "nats", "nsc", "stores", "OP")
		}
	}
	system, err := os.ReadFile(filepath.Join(c.store, "accounts", "SYSTEM", "SYSTEM.jwt"))
	if err != nil {
		t.Fatal(err)
	}
	s.Configure(fmt.Sprintf("server_name: S\noperator: %q\nsystem_account: %s\nresolver { type: full, dir: %q, allow_delete: true }\nresolver_preload { %s: %q }",
		filepath.Join(c.store, "OP.jwt"), c.system, filepath.Join(s.Dir(), "jwt"), c.system, strings.TrimSpace(string(system))))
	s.Start()
	c.env = append(c.env, "NATS_URL="+s.URL())
	c.user("sys", "SYSTEM")
	return c
}

// account returns the public key of an account.
func (c *operatorCLI) account(name string) string {
	c.t.Helper()
	found := publicKey.FindStringSubmatch(c.ok(c.t, nil, "auth", "account", "info", name))
	if found == nil {
		c.t.Fatalf("account %s has no key", name)
	}
	return found[1]
}

// user makes a user and returns its credentials file.
func (c *operatorCLI) user(name, account string, more ...string) string {
	c.t.Helper()
	c.ok(c.t, nil, append([]string{"auth", "user", "add", name, account, "--defaults", "--credential", c.creds(name)}, more...)...)
	return c.creds(name)
}

func (c *operatorCLI) creds(name string) string { return filepath.Join(c.s.Dir(), name+".creds") }

// as runs a command as a user.
func (c *operatorCLI) as(user string, want []string, args ...string) string {
	c.t.Helper()
	return c.ok(c.t, want, append([]string{"--creds", c.creds(user)}, args...)...)
}

// push makes an account as it is in the operator's store hold in the server.
func (c *operatorCLI) push(account string) {
	c.t.Helper()
	c.as("sys", []string{"Update completed on S", "Success 1 Failed 0 Expected 1"}, "auth", "account", "push", account)
}

func (c *operatorCLI) refused(user, want string, args ...string) {
	c.t.Helper()
	if out, err := c.run(c.t, append([]string{"--creds", c.creds(user)}, args...)...); err == nil || !strings.Contains(out, want) {
		c.t.Errorf("nats %s: %v, no %q in\n%s", strings.Join(args, " "), err, want, out)
	}
}

// Accounts and users that the tool makes get in, see each other as their exports and imports say, and get out again.
func TestCLIManagesAccounts(t *testing.T) {
	c := newOperatorCLI(t)
	c.ok(t, nil, "auth", "account", "add", "ORDERS", "--jetstream", "--js-disk", "64MiB", "--js-memory", "16MiB", "--connections", "10", "--defaults")
	c.ok(t, nil, "auth", "account", "add", "LEDGER", "--defaults")
	c.user("bob", "ORDERS")
	c.user("ann", "LEDGER")
	c.refused("bob", "Authorization Violation", "pub", "x", "y")
	c.push("ORDERS")
	c.push("LEDGER")
	orders := c.account("ORDERS")
	c.as("sys", []string{"ORDERS (" + orders + ")", "Connections: 10", "Max File Storage: 64 MiB"}, "auth", "account", "query", "ORDERS")
	c.as("bob", []string{"Account: ORDERS (" + orders + ")", "User: bob (U", "Storage: 0 B of 64 MiB"}, "account", "info")
	c.as("bob", nil, "stream", "add", "S", "--subjects", "s.>", "--defaults")
	c.as("bob", []string{"Stored in Stream: S"}, "pub", "s.1", "first", "--jetstream")
	c.as("bob", []string{"NATS CLI", "Connections per server"}, "account", "report", "connections")
	c.as("ann", []string{"JetStream not enabled for account"}, "account", "info")

	// What a new version of the account says of streams holds at once.
	c.ok(t, nil, "auth", "account", "edit", "ORDERS", "--js-streams", "1")
	c.push("ORDERS")
	c.refused("bob", "maximum number of streams reached", "stream", "add", "T", "--subjects", "t.>", "--defaults")
	c.ok(t, nil, "auth", "account", "edit", "ORDERS", "--no-jetstream")
	c.push("ORDERS")
	c.as("bob", []string{"JetStream not enabled for account"}, "account", "info")
	c.ok(t, nil, "auth", "account", "edit", "ORDERS", "--jetstream", "--js-disk", "32MiB", "--js-memory", "16MiB", "--js-streams", "5")
	c.push("ORDERS")
	c.as("bob", []string{"of 32 MiB", "Streams: 1 of 5"}, "account", "info")
	c.as("bob", []string{"first"}, "stream", "get", "S", "1")

	// What one account exports the other imports, on live connections.
	nc := c.s.Connect(t, nats.UserCredentials(c.creds("bob")))
	if _, err := nc.Subscribe("ping.>", func(m *nats.Msg) { m.Respond([]byte("pong from " + m.Subject)) }); err != nil {
		t.Fatal(err)
	}
	events := subscribe(t, c.s.Connect(t, nats.UserCredentials(c.creds("ann"))), "orders.ev.>")
	c.as("ann", []string{"No responders are available"}, "request", "orders.ping.x", "hi")
	c.ok(t, nil, "auth", "account", "exports", "add", "pings", "ping.>", "ORDERS", "--service")
	c.ok(t, nil, "auth", "account", "exports", "add", "events", "ev.>", "ORDERS")
	c.ok(t, nil, "auth", "account", "imports", "add", "pings", "ping.>", "LEDGER", "--source", orders, "--service", "--local", "orders.ping.>")
	c.ok(t, nil, "auth", "account", "imports", "add", "events", "ev.>", "LEDGER", "--source", orders, "--local", "orders.ev.>")
	c.ok(t, nil, "auth", "account", "mappings", "add", "ORDERS", "old", "ev.mapped", "100")
	c.push("ORDERS")
	c.push("LEDGER")
	c.as("ann", []string{"pong from ping.x"}, "request", "orders.ping.x", "hi")
	c.as("bob", nil, "pub", "ev.1", "event")
	c.as("bob", nil, "pub", "old", "event")
	for _, want := range []string{"orders.ev.1", "orders.ev.mapped"} {
		if m := next(t, events); m.Subject != want {
			t.Errorf("got %q, want %q", m.Subject, want)
		}
	}

	// A scoped key decides what its users may do.
	c.ok(t, nil, "auth", "account", "keys", "add", "ORDERS", "reader", "--sub-allow", "r.>", "--sub-allow", "_INBOX.>", "--pub-deny", ">")
	c.user("scoped", "ORDERS", "--key", "reader")
	c.refused("scoped", "Authorization Violation", "pub", "x", "y")
	c.push("ORDERS")
	c.refused("scoped", `Permissions Violation for Publish to "x"`, "pub", "x", "y")
	c.as("sys", []string{"ping.>", "ev.>", "JetStream"}, "server", "account", "info", orders)

	// A revoked user is out at once.
	closed := make(chan error, 1)
	c.s.Connect(t, nats.UserCredentials(c.creds("bob")), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { closed <- err }))
	c.ok(t, nil, "auth", "user", "rm", "bob", "ORDERS", "--revoke", "--force")
	c.push("ORDERS")
	if err := harness.Receive(t, "error of the revoked user", closed); err != nats.ErrAuthRevoked {
		t.Errorf("closed with %v", err)
	}
	c.refused("bob", "Authorization Violation", "pub", "x", "y")
}

// What the tool shows of a server in operator mode to a user of the system account.
func TestCLIServerInOperatorMode(t *testing.T) {
	c := newOperatorCLI(t)
	c.ok(t, nil, "auth", "account", "add", "ORDERS", "--jetstream", "--js-disk", "64MiB", "--js-memory", "16MiB", "--defaults")
	c.push("ORDERS")
	c.user("bob", "ORDERS")
	orders := c.account("ORDERS")
	c.as("bob", nil, "stream", "add", "S", "--subjects", "s.>", "--defaults")
	nc := c.s.Connect(t, nats.UserCredentials(c.creds("bob")), nats.Name("worker"))
	var varz struct {
		ID        string   `json:"server_id"`
		Operators []string `json:"trusted_operators_jwt"`
		Claims    []struct {
			Name string
			Nats struct {
				System string `json:"system_account"`
			}
		} `json:"trusted_operators_claim"`
	}
	c.s.Monitor(t, "/varz", &varz)
	if len(varz.Operators) != 1 || !strings.HasPrefix(varz.Operators[0], "eyJ") || len(varz.Claims) != 1 || varz.Claims[0].Name != "OP" || varz.Claims[0].Nats.System != c.system {
		t.Errorf("operators in /varz: %q %+v", varz.Operators, varz.Claims)
	}
	for _, tt := range []struct {
		command string
		want    []string
	}{
		{"server info S", []string{varz.ID, "2.15.2", "JetStream"}},
		{"server list", []string{"Server Overview", "2.15.2"}},
		{"server ping", []string{"S"}},
		{"server report accounts", []string{orders}},
		{"server report connections", []string{"worker", "NATS CLI"}},
		{"server report jetstream", []string{"JetStream Summary", "S"}},
		{"server report health", []string{"S", "ok"}},
		{"server report cpu", []string{"S"}},
		{"server report mem", []string{"S", "MiB"}},
		{"server request accounts", []string{orders, c.system}},
		{"server request connections", []string{`"name":"worker"`}},
		{"server request jetstream", []string{`"streams":1`}},
		{"server request jetstream-health", []string{`"status":"ok"`}},
		{"server request subscriptions", []string{`"num_subscriptions"`}},
		{"server request variables", []string{varz.ID, `"system_account":"` + c.system}},
		{"server request gateways", []string{`"outbound_gateways":{}`}},
		{"server request leafnodes", []string{`"leafs":[]`}},
		{"server request routes", []string{`"routes":[]`}},
		{"server request ipqueue", []string{varz.ID}},
		{"server account info " + orders, []string{orders, "Complete: true"}},
		{"server check connection", []string{"OK Connection"}},
		{"server check server --name S", []string{"OK S"}},
		{"account info", []string{"System Account: true"}},
	} {
		t.Run(tt.command, func(t *testing.T) {
			c.t = t
			c.as("sys", tt.want, strings.Fields(tt.command)...)
		})
	}
	c.t = t
	c.as("bob", []string{"OK JetStream"}, "server", "check", "jetstream")
	c.as("bob", []string{"OK S"}, "server", "check", "stream", "--stream", "S")

	closed := make(chan bool, 1)
	nc.SetClosedHandler(func(*nats.Conn) { closed <- true })
	cid, err := nc.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	c.as("sys", nil, "server", "request", "kick", fmt.Sprint(cid), varz.ID)
	harness.Receive(t, "end of the kicked connection", closed)
	c.as("sys", nil, "server", "config", "reload", varz.ID, "--force")
	c.s.WaitLog("Reloaded server configuration")
	// Users of other accounts see none of it.
	c.refused("bob", "", "server", "request", "variables")
}
