package config

import (
	"errors"
	"flag"
	"io"
	"strconv"
	"strings"

	"godwit/server/options"
)

// flagKind says what a flag takes.
type flagKind int

const (
	textFlag flagKind = iota
	intFlag
	boolFlag
)

// flagDef declares a flag of the command line: all its names, what help says, and what it does.
type flagDef struct {
	names []string
	arg   string // what help calls the value; empty for a boolean
	doc   string
	kind  flagKind
	set   func(o *options.Options, v flagValue) // nil: the command line itself uses it
}

// flagValue is the value of a flag. Empty texts and 0 count as not given, as in nats-server.
type flagValue struct {
	text string
	num  int
	on   bool
}

// given is a flag that was on the command line.
type given struct {
	def   *flagDef
	value flagValue
}

// flagGroup is a part of help.
type flagGroup struct {
	title string
	flags []*flagDef
}

func text(names, arg, doc string, at func(o *options.Options) *string) *flagDef {
	d := &flagDef{names: strings.Split(names, " "), arg: arg, doc: doc}
	if at != nil {
		d.set = func(o *options.Options, v flagValue) {
			if v.text != "" {
				*at(o) = v.text
			}
		}
	}
	return d
}

func number(names, arg, doc string, at func(o *options.Options) *int) *flagDef {
	return &flagDef{names: strings.Split(names, " "), arg: arg, doc: doc, kind: intFlag, set: func(o *options.Options, v flagValue) {
		if v.num != 0 {
			*at(o) = v.num
		}
	}}
}

func boolean(names, doc string, at ...func(o *options.Options) *bool) *flagDef {
	d := &flagDef{names: strings.Split(names, " "), doc: doc, kind: boolFlag}
	if at != nil {
		d.set = func(o *options.Options, v flagValue) {
			for _, field := range at {
				*field(o) = v.on
			}
		}
	}
	return d
}

// flagGroups declares all flags.
func flagGroups() []flagGroup {
	debug := func(o *options.Options) *bool { return &o.Log.Debug }
	trace := func(o *options.Options) *bool { return &o.Log.Trace }
	verbose := func(o *options.Options) *bool { return &o.Log.TraceVerbose }
	return []flagGroup{
		{"Server", []*flagDef{
			text("a addr net", "host", "listen on this host", func(o *options.Options) *string { return &o.Host }),
			number("p port", "port", "listen for clients on this port; -1 for any", func(o *options.Options) *int { return &o.Port }),
			text("n name server_name", "name", "name of the server", func(o *options.Options) *string { return &o.ServerName }),
			text("P pid", "file", "write the process id to this file", func(o *options.Options) *string { return &o.PidFile }),
			number("m http_port", "port", "serve monitoring over HTTP on this port", func(o *options.Options) *int { return &o.Monitoring.HTTPPort }),
			number("ms https_port", "port", "serve monitoring over HTTPS on this port", func(o *options.Options) *int { return &o.Monitoring.HTTPSPort }),
			text("c config", "file", "read this configuration file", nil),
			boolean("t", "check the configuration file and exit"),
			text("sl signal", "signal[=pid]", "send a signal to a running server: stop, quit, term, reopen, reload, ldm", nil),
			text("client_advertise", "host:port", "tell clients this address", func(o *options.Options) *string { return &o.ClientAdvertise }),
			text("ports_file_dir", "dir", "write a file with all ports to this directory", func(o *options.Options) *string { return &o.PortsDir }),
		}},
		{"Logging", []*flagDef{
			text("l log", "file", "log to this file", func(o *options.Options) *string { return &o.Log.File }),
			boolean("T logtime", "start log lines with the time (true)", func(o *options.Options) *bool { return &o.Log.Time }),
			boolean("logtime_utc", "show the time in UTC", func(o *options.Options) *bool { return &o.Log.UTC }),
			boolean("s syslog", "log to the system's log", func(o *options.Options) *bool { return &o.Log.Syslog }),
			text("r remote_syslog", "url", "log to the system's log of another machine (udp://host:514)", func(o *options.Options) *string { return &o.Log.RemoteSyslog }),
			boolean("D debug", "log what helps to find mistakes", debug),
			boolean("V trace", "log all traffic", trace),
			boolean("VV", "log all traffic, that of the system account too", trace, verbose),
			boolean("DV", "both -D and -V", debug, trace),
			boolean("DVV", "both -D and -VV", debug, trace, verbose),
			{names: []string{"log_size_limit"}, arg: "bytes", doc: "begin a new log file at this size", kind: intFlag, set: func(o *options.Options, v flagValue) {
				if v.num != 0 {
					o.Log.SizeLimit = int64(v.num)
				}
			}},
			number("max_traced_msg_len", "bytes", "show this much of a payload in traces", func(o *options.Options) *int { return &o.Log.MaxTracedMsgLen }),
		}},
		{"Streams", []*flagDef{
			boolean("js jetstream", "switch streams on", func(o *options.Options) *bool { return &o.JetStream.Enabled }),
			text("sd store_dir", "dir", "keep streams in this directory", func(o *options.Options) *string { return &o.JetStream.StoreDir }),
		}},
		{"Logins", []*flagDef{
			text("user", "user", "clients must log in as this user", func(o *options.Options) *string { return &o.Authorization.Username }),
			text("pass", "password", "with this password", func(o *options.Options) *string { return &o.Authorization.Password }),
			text("auth", "token", "clients must log in with this token", func(o *options.Options) *string { return &o.Authorization.Token }),
		}},
		{"TLS", []*flagDef{
			boolean("tls", "use TLS without asking for client certificates"),
			text("tlscert", "file", "certificate of the server", nil),
			text("tlskey", "file", "its private key", nil),
			boolean("tlsverify", "use TLS and check client certificates"),
			text("tlscacert", "file", "certificates that sign those of clients", nil),
		}},
		{"Cluster", []*flagDef{
			text("routes", "url,url", "connect to these servers", nil),
			text("cluster cluster_listen", "url", "listen for other servers of the cluster here", nil),
			text("cluster_name", "name", "name of the cluster", func(o *options.Options) *string { return &o.Cluster.Name }),
			boolean("no_advertise", "do not tell clients the addresses of the cluster's servers", func(o *options.Options) *bool { return &o.Cluster.NoAdvertise }),
			text("cluster_advertise", "host:port", "tell other servers this address", func(o *options.Options) *string { return &o.Cluster.Advertise }),
			number("connect_retries", "number", "try this often to reach a server learned from others", func(o *options.Options) *int { return &o.Cluster.ConnectRetries }),
		}},
		{"Other", []*flagDef{
			number("profile", "port", "serve profiles on this port", func(o *options.Options) *int { return &o.Monitoring.ProfPort }),
			boolean("h help", "show this help"),
			boolean("v version", "show the version"),
			boolean("help_tls", "show help about TLS"),
		}},
	}
}

// gathered is a flag's value for package flag; it adds to the list of flags given.
type gathered struct {
	def  *flagDef
	list *[]given
}

// Errors in package flag's words.
var (
	errParse = errors.New("parse error")
	errRange = errors.New("value out of range")
)

func (g gathered) String() string { return "" }

// IsBoolFlag tells package flag that no value needs to follow.
func (g gathered) IsBoolFlag() bool { return g.def.kind == boolFlag }

// Set notes one occurrence of the flag.
func (g gathered) Set(s string) error {
	v := flagValue{text: s}
	var err error
	switch g.def.kind {
	case boolFlag:
		v.on, err = strconv.ParseBool(s)
	case intFlag:
		var n int64
		n, err = strconv.ParseInt(s, 0, strconv.IntSize)
		v.num = int(n)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errRange
	case err != nil:
		return errParse
	}
	*g.list = append(*g.list, given{g.def, v})
	return nil
}

// readFlags reads a command line. words are what follows the flags. The error is in package flag's words.
func readFlags(args []string) (list []given, words []string, err error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	for _, group := range flagGroups() {
		for _, def := range group.flags {
			for _, name := range def.names {
				fs.Var(gathered{def, &list}, name, def.doc)
			}
		}
	}
	if err := fs.Parse(args); err != nil {
		return nil, nil, err
	}
	return list, fs.Args(), nil
}

// value returns the last value given to the flag of that name.
func value(list []given, name string) (v flagValue, ok bool) {
	for _, g := range list {
		if g.def.names[len(g.def.names)-1] == name || g.def.names[0] == name {
			v, ok = g.value, true
		}
	}
	return v, ok
}
