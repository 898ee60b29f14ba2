// Command godwit is the server. It takes nats-server's command line; called as nats-server it behaves as that program
// does.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"godwit/cmd/godwit/client"
	"godwit/server/process"
)

func main() {
	if err := process.HideArgs(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: passwords in the command line stay visible: %v\n", process.Name(), err)
	}
	os.Exit(start(os.Args, os.Stdout, os.Stderr))
}

// start runs what the command line says and returns the exit status. A word as first argument is a command of Godwit's
// own; without one, and always under the name nats-server, the command line is that of the server.
func start(args []string, stdout, stderr io.Writer) int {
	p := &program{name: strings.TrimSuffix(filepath.Base(args[0]), ".exe"), stdout: stdout, stderr: stderr}
	p.tool = &client.Tool{In: os.Stdin, Out: stdout, Err: stderr, Terminal: terminal(os.Stdin) && stdout == os.Stdout && terminal(os.Stdout)}
	app := p.app()
	if p.natsServer() || len(args) < 2 || app.Command(args[1]) == nil {
		return p.serve(args[1:])
	}
	if args[len(args)-1] == "--generate-bash-completion" || slices.ContainsFunc(p.tool.Commands(), func(c *cli.Command) bool { return c.HasName(args[1]) }) {
		return p.tool.Run(app, args)
	}
	if err := app.Run(args); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.name, err)
		return max(1, p.status)
	}
	return p.status
}

// program is one call of the binary.
type program struct {
	name           string
	stdout, stderr io.Writer
	status         int
	tool           *client.Tool
}

// terminal reports whether a person sits at a file.
func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// natsServer reports whether the binary was called by that server's name.
func (p *program) natsServer() bool { return p.name == "nats-server" }

func (p *program) app() *cli.App {
	return &cli.App{
		Name:            "godwit",
		Usage:           "a streaming server for NATS clients",
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          p.stdout,
		ErrWriter:       p.stderr,
		ExitErrHandler:  func(*cli.Context, error) {}, // start decides
		Commands:        append([]*cli.Command{p.serveCommand(), p.checkCommand(), p.configCommand()}, p.tool.Commands()...),
	}
}
