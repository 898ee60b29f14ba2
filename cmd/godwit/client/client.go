// Package client is the command line for everyday work with a server: it speaks to it as any NATS client does.
//
// Each command is in a file named after it. A command is a cli.Command made by a function of Tool, listed in Commands; leaf wraps
// its action: it gives it a connection, and turns errors into an exit status.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Tool is one call of the program.
type Tool struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal says whether In and Out are one that a person sits at.
	Terminal bool
	Status   int
}

// usageError is a mistake in the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// connFlags are those of each command that connects.
func connFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "server", Aliases: []string{"s"}, EnvVars: []string{"NATS_URL"}, Usage: "address of the server, or several with commas"},
		&cli.StringFlag{Name: "context", EnvVars: []string{"NATS_CONTEXT"}, Usage: "context of the nats tool to use instead of the selected one"},
		&cli.StringFlag{Name: "user", EnvVars: []string{"NATS_USER"}, Usage: "user, or a token"},
		&cli.StringFlag{Name: "password", EnvVars: []string{"NATS_PASSWORD"}, Usage: "password"},
		&cli.StringFlag{Name: "creds", EnvVars: []string{"NATS_CREDS"}, Usage: "file with credentials"},
		&cli.StringFlag{Name: "nkey", EnvVars: []string{"NATS_NKEY"}, Usage: "file with the seed of an nkey"},
		&cli.StringFlag{Name: "tlscert", EnvVars: []string{"NATS_CERT"}, Usage: "file with the client's certificate"},
		&cli.StringFlag{Name: "tlskey", EnvVars: []string{"NATS_KEY"}, Usage: "file with its key"},
		&cli.StringFlag{Name: "tlsca", EnvVars: []string{"NATS_CA"}, Usage: "file with the authorities to trust"},
		&cli.StringFlag{Name: "js-domain", EnvVars: []string{"NATS_JS_DOMAIN"}, Usage: "JetStream domain"},
		&cli.DurationFlag{Name: "timeout", EnvVars: []string{"NATS_TIMEOUT"}, Value: 5 * time.Second, Usage: "time for an answer"},
	}
}

// jsonFlag is that of commands whose result programs may want.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Aliases: []string{"j"}, Usage: "print JSON"}
}

func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "do not ask"}
}

// call is one command at work.
type call struct {
	*cli.Context
	t      *Tool
	ctx    context.Context // ends with an interrupt
	nc     *nats.Conn
	js     jetstream.JetStream
	domain string
}

// leaf makes a command that works with a connection.
func (t *Tool) leaf(c *cli.Command, do func(c *call) error) *cli.Command {
	c.Flags, c.HideHelpCommand = append(c.Flags, connFlags()...), true // "help" is an argument like others
	c.Action = func(x *cli.Context) error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := fits(x); err != nil {
			return err
		}
		run := &call{Context: x, t: t, ctx: ctx}
		if err := run.connect(); err != nil {
			return err
		}
		defer run.nc.Close()
		return do(run)
	}
	return c
}

// fits checks the number of arguments against what the command says it takes: words in brackets may be missing, and one that ends in
// "..." stands for any number.
func fits(c *cli.Context) error {
	names := strings.Fields(c.Command.ArgsUsage)
	need, most := 0, len(names)
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			need++
		}
		if strings.HasSuffix(strings.Trim(n, "[]"), "...") {
			most = 1 << 20
		}
	}
	if n := c.NArg(); n >= need && n <= most {
		return nil
	}
	takes := c.Command.ArgsUsage
	if takes == "" {
		takes = "no arguments"
	}
	return usage("%s takes: %s", nameOf(c), takes)
}

// nameOf is the command's full name.
func nameOf(c *cli.Context) string { return strings.TrimPrefix(c.Command.HelpName, "godwit ") }

// savedContext is a context as the nats tool keeps it, as far as it matters here.
type savedContext struct {
	Description string `json:"description"`
	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	Inbox       string `json:"inbox_prefix"`
	Domain      string `json:"jetstream_domain"`
	TLSFirst    bool   `json:"tls_first"`
}

// loadContext reads a context; without a name the selected one, if there is one.
func loadContext(name string) (s savedContext, err error) {
	dir, err := configDir()
	if err != nil {
		return s, nil // nobody has a home: there are no contexts
	}
	if name == "" {
		b, err := os.ReadFile(dir + "/context.txt")
		if err != nil {
			return s, nil
		}
		if name = strings.TrimSpace(string(b)); name == "" {
			return s, nil
		}
	}
	if strings.ContainsAny(name, `/\`) {
		return s, usage("%q is no name of a context", name)
	}
	b, err := os.ReadFile(dir + "/context/" + name + ".json")
	if errors.Is(err, os.ErrNotExist) {
		return s, &hinted{fmt.Errorf("there is no context %q", name), "list them with: nats context ls"}
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, fmt.Errorf("context %q: %w", name, err)
	}
	return s, nil
}

// configDir is where the nats tool keeps its contexts.
func configDir() (string, error) {
	if d := os.Getenv("XDG_CONFIG_HOME"); d != "" {
		return d + "/nats", nil
	}
	home, err := os.UserHomeDir()
	return home + "/.config/nats", err
}

// connect connects as flags, environment and context say, in this order.
func (c *call) connect() error {
	saved, err := loadContext(c.String("context"))
	if err != nil {
		return err
	}
	pick := func(flag, value string) string {
		if v := c.String(flag); v != "" {
			return v
		}
		return value
	}
	opts := []nats.Option{nats.Name(c.Command.HelpName), nats.Timeout(c.Duration("timeout")), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { fmt.Fprintln(c.t.Err, "godwit:", err) })}
	user, password := pick("user", saved.User), pick("password", saved.Password)
	switch {
	case pick("creds", saved.Creds) != "":
		opts = append(opts, nats.UserCredentials(pick("creds", saved.Creds)))
	case pick("nkey", saved.NKey) != "":
		o, err := nats.NkeyOptionFromSeed(pick("nkey", saved.NKey))
		if err != nil {
			return fmt.Errorf("nkey: %w", err)
		}
		opts = append(opts, o)
	case user != "" && password == "":
		opts = append(opts, nats.Token(user))
	case user != "":
		opts = append(opts, nats.UserInfo(user, password))
	case saved.Token != "":
		opts = append(opts, nats.Token(saved.Token))
	}
	if cert := pick("tlscert", saved.Cert); cert != "" {
		opts = append(opts, nats.ClientCert(cert, pick("tlskey", saved.Key)))
	}
	if ca := pick("tlsca", saved.CA); ca != "" {
		opts = append(opts, nats.RootCAs(ca))
	}
	if saved.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(saved.Inbox))
	}
	if saved.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	url := pick("server", saved.URL)
	if url == "" {
		url = nats.DefaultURL
	}
	if c.nc, err = nats.Connect(url, opts...); err != nil {
		return &hinted{fmt.Errorf("cannot connect to %s: %w", url, err), "is the server there? name another one with --server or NATS_URL"}
	}
	c.domain = pick("js-domain", saved.Domain)
	if c.domain != "" {
		c.js, err = jetstream.NewWithDomain(c.nc, c.domain)
	} else {
		c.js, err = jetstream.New(c.nc)
	}
	return err
}

// within returns a context for one answer.
func (c *call) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.Duration("timeout"))
}

// api asks the JetStream API for what the library does not know.
func (c *call) api(words string, body, answer any) error {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			return err
		}
	}
	prefix := "$JS.API."
	if c.domain != "" {
		prefix = "$JS." + c.domain + ".API."
	}
	m, err := c.nc.Request(prefix+words, b, c.Duration("timeout"))
	if err != nil {
		return fmt.Errorf("%s: %w", words, err)
	}
	var head struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &head); err != nil {
		return fmt.Errorf("%s: %w", words, err)
	}
	if head.Error != nil {
		return head.Error
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(m.Data, answer)
}

// Run runs a command of the app: args as main has them. It returns the exit status.
func (t *Tool) Run(app *cli.App, args []string) int {
	if t.complete(app, args) {
		return exitOK
	}
	err := app.Run(ordered(app, args))
	if err == nil {
		return t.Status
	}
	fmt.Fprintf(t.Err, "godwit: %v\n", explain(err))
	var bad *usageError
	if errors.As(err, &bad) || strings.HasPrefix(err.Error(), "flag provided but not defined") || strings.Contains(err.Error(), "invalid value") || strings.HasPrefix(err.Error(), "Required flag") {
		fmt.Fprintf(t.Err, "godwit: see godwit %s --help\n", strings.Join(commandOf(app, args), " "))
		return exitUsage
	}
	return max(exitFailed, t.Status)
}

// explain adds the next step where there is one.
func explain(err error) string {
	var h *hinted
	text := err.Error()
	switch {
	case errors.As(err, &h):
		return text + "; " + h.hint
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return text + "; list them with: godwit stream ls"
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return text + "; list them with: godwit consumer ls STREAM"
	case errors.Is(err, nats.ErrNoResponders):
		return text + ": nobody answers on that subject"
	}
	return text
}

// commandOf returns the words of args that name a command.
func commandOf(app *cli.App, args []string) (words []string) {
	list := app.Commands
	for _, a := range args[1:] {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.HasName(a) })
		if i < 0 {
			return words
		}
		words, list = append(words, list[i].Name), list[i].Subcommands
	}
	return words
}

// ordered puts flags in front of arguments, so that they may come in any order.
func ordered(app *cli.App, args []string) []string {
	list := app.Commands
	var leaf *cli.Command
	at := 1
	for ; at < len(args); at++ {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		leaf, list = list[i], list[i].Subcommands
	}
	if leaf == nil {
		return args
	}
	var flags, rest []string
	for i := at; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case len(a) < 2 || a[0] != '-' || a[1] >= '0' && a[1] <= '9':
			rest = append(rest, a)
		default:
			flags = append(flags, a)
			name, _, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if !joined && takesValue(leaf, name) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	out := append(slices.Clone(args[:at]), flags...)
	return append(append(out, "--"), rest...)
}

func takesValue(c *cli.Command, name string) bool {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			_, flag := f.(*cli.BoolFlag)
			return !flag
		}
	}
	return false
}
