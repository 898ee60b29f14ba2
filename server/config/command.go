package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"godwit/conf"
	"godwit/server/options"
)

// Action is what a command line asks for.
type Action int

const (
	Run         Action = iota // start the server with Command.Options
	ShowVersion               // exit status 0
	ShowHelp                  // Usage on standard output, after Notice, if any, on standard error; exit status 0
	ShowTLSHelp               // TLSHelp on standard output; exit status 0
	CheckConfig               // Notice on standard error; exit status 0
	SendSignal                // Signal to Target
)

// Names of the program.
const (
	Godwit     = "godwit"
	NatsServer = "nats-server" // everything is as that program does it
)

// Errors of a command line.
var (
	ErrNoCheckFile  = errors.New("must specify [-c, --config] option to check configuration file syntax")
	ErrNoReloadFile = errors.New("can only reload config when a file is provided using -c or --config")
)

// Command is what a command line asks for, and the options that it and the configuration file give.
type Command struct {
	Name     string // Godwit or NatsServer, which messages begin with
	Action   Action
	Options  *options.Options // for Run
	Warnings []string         // about the file, for Run: lines to show on standard error as they are
	Notice   string
	Signal   string // for SendSignal: a word, not checked
	Target   string // for SendSignal: process id, pid file or pattern; empty: the only server that runs

	flags []given
}

// ParseFlags reads a command line: program as it was called, args what follows. It reads the configuration
// file, puts the flags over it and checks everything as a server does before it starts. Options do not
// refer to the memory of args. An error is to be shown behind the program's name, with exit status 1.
func ParseFlags(program string, args []string) (*Command, error) {
	c := &Command{Name: programName(program)}
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.Clone(args[i])
	}
	list, words, err := readFlags(args)
	if err != nil {
		c.Action, c.Notice = ShowHelp, err.Error()
		return c, nil
	}
	c.flags = list
	if done, err := c.words(words); done || err != nil {
		return c, err
	}
	return c, c.run()
}

func programName(program string) string {
	if strings.TrimSuffix(strings.ToLower(filepath.Base(program)), ".exe") == NatsServer {
		return NatsServer
	}
	return Godwit
}

func (c *Command) on(name string) bool {
	v, _ := value(c.flags, name)
	return v.on
}

// words handles what the command line asks for instead of a server.
func (c *Command) words(words []string) (done bool, err error) {
	switch {
	case c.on("version"):
		c.Action = ShowVersion
		return true, nil
	case c.on("help"):
		c.Action = ShowHelp
		return true, nil
	case c.on("help_tls"):
		c.Action = ShowTLSHelp
		return true, nil
	}
	if len(words) > 0 {
		switch strings.ToLower(words[0]) {
		case "version":
			c.Action = ShowVersion
		case "help":
			c.Action = ShowHelp
		default:
			return true, fmt.Errorf("unrecognized command: %q", words[0])
		}
		return true, nil
	}
	if v, _ := value(c.flags, "signal"); v.text != "" {
		c.Action = SendSignal
		name, target, _ := strings.Cut(v.text, "=")
		if _, more, ok := strings.Cut(target, "="); ok {
			return true, fmt.Errorf("invalid signal parameters: %v", strings.Split(more, "="))
		}
		c.Signal, c.Target = name, target
		return true, nil
	}
	return false, nil
}

// ConfigFile returns the path that the command line gives, or nothing.
func (c *Command) ConfigFile() string {
	v, _ := value(c.flags, "config")
	return v.text
}

// Given tells whether the flag, by one of its names without dashes, was on the command line.
func (c *Command) Given(flag string) bool {
	return slices.ContainsFunc(c.flags, func(g given) bool { return slices.Contains(g.def.names, flag) })
}

// run makes the options of a server, or checks the file.
func (c *Command) run() error {
	path := c.ConfigFile()
	if c.on("t") {
		if path == "" {
			return ErrNoCheckFile
		}
		success, err := CheckFile(path)
		c.Action, c.Notice = CheckConfig, success
		return err
	}
	o, warnings, err := c.options(path)
	c.Options, c.Warnings = o, warnings
	return err
}

// options reads the file, if any, puts the flags over it and checks the whole.
func (c *Command) options(path string) (o *options.Options, warnings []string, err error) {
	o = options.Defaults()
	if path == "" {
		c.startOptions(o)
	} else if warnings, err = loadInto(conf.Loader{}, path, o); err != nil {
		return nil, nil, err
	}
	if err := override(o, c.flags); err != nil {
		return nil, nil, err
	}
	baseline(o)
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	return o, warnings, nil
}

// startOptions are what a server without a configuration file has beside the defaults: Godwit keeps streams.
func (c *Command) startOptions(o *options.Options) {
	if o.JetStream.Enabled = c.Name == Godwit; o.JetStream.Enabled {
		o.JetStream.StoreDir = options.DefaultStoreDir
	}
}

// Reload reads the file again, puts the same flags over it and checks the whole. The options are new; what
// they change may still be more than a running server can.
func (c *Command) Reload() (o *options.Options, warnings []string, err error) {
	path := c.ConfigFile()
	if path == "" {
		return nil, nil, ErrNoReloadFile
	}
	return c.options(path)
}
