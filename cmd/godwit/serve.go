package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"godwit/server"
	"godwit/server/config"
	"godwit/server/options"
	"godwit/server/process"
)

// serveCommand is "godwit serve": the same as godwit without a command.
func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name:            "serve",
		Usage:           "run a server; takes nats-server's flags",
		SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			p.status = p.serve(c.Args().Slice())
			return nil
		},
	}
}

// serve does what the server's command line says and returns the exit status.
func (p *program) serve(args []string) int {
	cmd, err := config.ParseFlags(p.name, args)
	if err != nil {
		return p.fail(cmd, err)
	}
	switch cmd.Action {
	case config.ShowVersion:
		version := server.Version
		if cmd.Name == config.NatsServer {
			version = server.ProtocolVersion
		}
		fmt.Fprintf(p.stdout, "%s: v%s\n", cmd.Name, version)
	case config.ShowHelp:
		if cmd.Notice != "" {
			fmt.Fprintln(p.stderr, cmd.Notice)
		}
		fmt.Fprint(p.stdout, config.Usage(cmd.Name))
	case config.ShowTLSHelp:
		fmt.Fprint(p.stdout, config.TLSHelp())
	case config.CheckConfig:
		fmt.Fprintf(p.stderr, "%s: %s\n", cmd.Name, cmd.Notice)
	case config.SendSignal:
		param := cmd.Signal
		if cmd.Target != "" {
			param += "=" + cmd.Target
		}
		if err := process.SendSignal(param, cmd.Name); err != nil {
			return p.fail(cmd, err)
		}
	default:
		return p.run(cmd)
	}
	return 0
}

// fail reports an error of the command line or the configuration. The name in front is the one that nats-server's users
// know if the program is called so.
func (p *program) fail(cmd *config.Command, err error) int {
	name := config.Godwit
	if cmd != nil {
		name = cmd.Name
	}
	fmt.Fprintf(p.stderr, "%s: %s\n", name, strings.TrimSuffix(err.Error(), "\n"))
	return 1
}

// run runs a server until it has ended.
func (p *program) run(cmd *config.Command) int {
	for _, w := range cmd.Warnings {
		fmt.Fprintln(p.stderr, w)
	}
	r := &runner{program: cmd.Name, stderr: p.stderr, changes: reloadable}
	r.load = func() (*options.Options, error) {
		next, warnings, err := cmd.Reload()
		for _, w := range warnings {
			r.log.Warnf("%s", w)
		}
		return next, err
	}
	r.welcome = cmd.Name == config.Godwit && len(p.flags(cmd)) == 0
	if r.welcome {
		lookInside(cmd.Options)
	}
	return r.run(cmd.Options)
}

// lookInside gives a server that was started with nothing said its dashboard, for this machine only: on nats-server's usual monitoring
// port, or another one if that is taken.
func lookInside(o *options.Options) {
	m := &o.Monitoring
	if m.HTTPPort != 0 || m.HTTPSPort != 0 {
		return
	}
	m.HTTPHost, m.HTTPPort = "127.0.0.1", 8222
	l, err := net.Listen("tcp", net.JoinHostPort(m.HTTPHost, strconv.Itoa(m.HTTPPort)))
	if err != nil {
		m.HTTPPort = options.RandomPort
		return
	}
	l.Close()
}

// flags lists what would make a greeting out of place: somebody who gives a configuration knows his way.
func (p *program) flags(cmd *config.Command) []string {
	var given []string
	for _, f := range []string{"config", "log", "syslog", "remote_syslog"} {
		if cmd.Given(f) {
			given = append(given, f)
		}
	}
	return given
}

// reloadable lists the changes from old to next, or says which cannot be made while the server runs.
func reloadable(old, next *options.Options) ([]string, error) {
	var lines []string
	var refused []error
	for _, c := range config.Diff(old, next) {
		if !c.Reloadable {
			refused = append(refused, errors.New(c.Refusal()))
			continue
		}
		lines = append(lines, describe(c))
	}
	return lines, errors.Join(refused...)
}

// describe says what changed: the new value where it is a simple one, which holds no secret.
func describe(c config.Change) string {
	switch c.Name { // as nats-server calls them
	case "authorization":
		return "authorization users"
	case "server_tags":
		return "tags"
	case "server_metadata":
		return "metadata"
	case "tls":
		if c.New.(*options.TLS) == nil {
			return "tls = disabled"
		}
		return "tls = enabled"
	}
	switch v := c.New.(type) {
	case bool, int, int32, int64, string, time.Duration:
		return fmt.Sprintf("%s = %v", c.Name, v)
	}
	return c.Name
}
