package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"godwit/server/options"
)

// setup makes files for command lines and goes to their folder.
func setup(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "certs"), os.DirFS("testdata/certs")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, text := range map[string]string{
		"f.conf": "port: 4333\ndebug: true\nhost: h\ncluster {port: 5, name: c, authorization {user: a, password: b}}\n",
		"p.conf": "port: 4333",
		"w.conf": "port: 4333\nping_interval: 5\n",
		"e.conf": "max_payload: 100MB",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommands compares what a command line leads to with nats-server's answers.
func TestCommands(t *testing.T) {
	setup(t)
	for _, tt := range []struct{ args, want string }{
		{"-v", "version"}, {"--version", "version"}, {"version", "version"}, {"version foo", "version"}, {"VERSION", "version"}, {"-T=false -v", "version"}, {"-V -VV -v", "version"},
		{"-h", "help"}, {"--help", "help"}, {"help", "help"}, {"help foo", "help"}, {"--help_tls", "tls help"},
		{"-x", "help: flag provided but not defined: -x"},
		{"--xyz=3", "help: flag provided but not defined: -xyz"},
		{"-v -x", "help: flag provided but not defined: -x"},
		{"-p x", `help: invalid value "x" for flag -p: parse error`},
		{"-p=x", `help: invalid value "x" for flag -p: parse error`},
		{"-p", "help: flag needs an argument: -p"},
		{"--port=99999999999999999999", `help: invalid value "99999999999999999999" for flag -port: value out of range`},
		{"-D=x", `help: invalid boolean value "x" for -D: parse error`},
		{"-DV=2", `help: invalid boolean value "2" for -DV: parse error`},
		{"--log_size_limit x", `help: invalid value "x" for flag -log_size_limit: parse error`},
		{"---v", "help: bad flag syntax: ---v"},
		{"foo", `error: unrecognized command: "foo"`}, {"-p 5 foo", `error: unrecognized command: "foo"`}, {"-", `error: unrecognized command: "-"`}, {"-- -v", `error: unrecognized command: "-v"`},
		{"-t", "error: must specify [-c, --config] option to check configuration file syntax"},
		{"-t -c p.conf", "check: configuration file p.conf is valid (sha256:5942f6739f1572892ba80b954eee212713f172258629e16936dfeeae8e2eb80d)"},
		{"-t -p 5 --config=p.conf", "check: configuration file p.conf is valid (sha256:5942f6739f1572892ba80b954eee212713f172258629e16936dfeeae8e2eb80d)"},
		{"-t -c e.conf", "check: configuration file e.conf is valid (sha256:" + digestOf(t, "e.conf") + ")"},
		{"-t -c none.conf", "error: open none.conf: no such file or directory"},
		{"-c none.conf", "error: open none.conf: no such file or directory"},
		{"-c e.conf", "error: max_payload (104857600) cannot be higher than max_pending (67108864)"},
		{"-c p.conf foo", `error: unrecognized command: "foo"`},
		{"-sl reload", "signal: reload "}, {"--signal=quit=12", "signal: quit 12"}, {"-sl ldm=/run/x.pid", "signal: ldm /run/x.pid"},
		{"-sl a=b=c", "error: invalid signal parameters: [c]"},
		{"--signal=", "run"},
		{"--tls", "error: TLS Server certificate must be present and valid"},
		{"--tlsverify", "error: TLS Server certificate must be present and valid"},
		{"--tlscert x", "error: TLS Server private key must be present and valid"},
		{"--tls --tlscert certs/nope.pem --tlskey certs/key.pem", "error: error parsing X509 certificate/key pair: open certs/nope.pem: no such file or directory"},
		{"--cluster x", "error: missing port in address"},
		{"--cluster nats://h", "error: address h: missing port in address"},
		{"--cluster nats://u@h:5", "error: expected cluster password to be set"},
		{"--routes nats://h:5", "error: solicited routes require cluster capabilities, e.g. --cluster"},
		{"--cluster nats://h:5 --routes %zz", `error: error parsing route url ["%zz"]`},
		{"-n a -p 5", "run"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			c, err := ParseFlags("/usr/bin/nats-server", strings.Fields(tt.args))
			got := ""
			switch {
			case err != nil:
				got = "error: " + strings.TrimRight(err.Error(), "\n")
			case c.Action == ShowVersion:
				got = "version"
			case c.Action == ShowHelp && c.Notice != "":
				got = "help: " + c.Notice
			case c.Action == ShowHelp:
				got = "help"
			case c.Action == ShowTLSHelp:
				got = "tls help"
			case c.Action == CheckConfig:
				got = "check: " + c.Notice
			case c.Action == SendSignal:
				got = "signal: " + c.Signal + " " + c.Target
			case c.Action == Run && c.Options != nil:
				got = "run"
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if _, err := ParseFlags("nats-server", []string{"-n", "a b"}); err == nil || err.Error() != "server name cannot contain spaces" {
		t.Error(err)
	}
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	o, _, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(o.ConfigDigest, "sha256:")
}

func TestFlagsOverFile(t *testing.T) {
	setup(t)
	type O = *options.Options
	for _, tt := range []struct {
		args string
		get  func(o O) any
		want string
	}{
		{"-c f.conf", func(o O) any { return show(o.Port, o.Host, o.Log.Debug, o.Cluster.Port) }, "4333 h true 5"},
		{"-c f.conf -p 5555 --addr a", func(o O) any { return show(o.Port, o.Host) }, "5555 a"},
		{"-c f.conf -p 0", func(o O) any { return o.Port }, "4333"},
		{"-c f.conf -D=false", func(o O) any { return o.Log.Debug }, "false"},
		{"-c f.conf -D=false -DV", func(o O) any { return show(o.Log.Debug, o.Log.Trace) }, "true true"},
		{"-c f.conf --cluster nats://x:6", func(o O) any {
			return show(o.Cluster.Host, o.Cluster.Port, o.Cluster.Name, o.Cluster.Authorization.Username)
		}, "x 6 c "},
		{"-c f.conf --cluster nats://u:p@x:-1", func(o O) any {
			return show(o.Cluster.Port, o.Cluster.Authorization.Username, o.Cluster.Authorization.Password)
		}, "-1 u p"},
		{"-c f.conf --cluster=", func(o O) any { return o.Cluster.Port }, "0"},
		{"-c f.conf --routes nats://a:1,nats://b:2", func(o O) any { return o.Cluster.Routes }, "[nats://a:1 nats://b:2]"},
		{"-VV", func(o O) any { return show(o.Log.Trace, o.Log.TraceVerbose, o.Log.Debug) }, "true true false"},
		{"-DVV", func(o O) any { return show(o.Log.Trace, o.Log.TraceVerbose, o.Log.Debug) }, "true true true"},
		{"-T=false --logtime_utc", func(o O) any { return show(o.Log.Time, o.Log.UTC) }, "false true"},
		{"--user a --pass b", func(o O) any { return show(o.Authorization.Username, o.Authorization.Password) }, "a b"},
		{"--auth t", func(o O) any { return o.Authorization.Token }, "t"},
		{"-m 8222 -ms=8443 --profile 6", func(o O) any {
			return show(o.Monitoring.HTTPPort, o.Monitoring.HTTPSPort, o.Monitoring.ProfPort)
		}, "8222 8443 6"},
		{"-l x --log_size_limit 5 --max_traced_msg_len 6 -s -r udp://h", func(o O) any {
			return show(o.Log.File, o.Log.SizeLimit, o.Log.MaxTracedMsgLen, o.Log.Syslog, o.Log.RemoteSyslog)
		}, "x 5 6 true udp://h"},
		{"-n s -P pid --ports_file_dir d --client_advertise c", func(o O) any { return show(o.ServerName, o.PidFile, o.PortsDir, o.ClientAdvertise) }, "s pid d c"},
		{"--tls --tlscert certs/cert.pem --tlskey certs/key.pem --tlscacert certs/ca.pem --tlsverify", func(o O) any {
			return show(o.TLS.CertFile, o.TLS.CAFile, o.TLS.Verify)
		}, "certs/cert.pem certs/ca.pem true"},
		{"--cluster_listen nats://h:5 --cluster_name n --no_advertise --cluster_advertise a --connect_retries 3", func(o O) any {
			c := o.Cluster
			return show(c.Port, c.Name, c.NoAdvertise, c.Advertise, c.ConnectRetries)
		}, "5 n true a 3"},
	} {
		c, err := ParseFlags("nats-server", strings.Fields(tt.args))
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got := fmt.Sprint(tt.get(c.Options)); got != tt.want {
			t.Errorf("%s\n  got  %s\n  want %s", tt.args, got, tt.want)
		}
	}
}

// TestStreamsByDefault: only godwit without a file has streams on by itself.
func TestStreamsByDefault(t *testing.T) {
	setup(t)
	for _, tt := range []struct{ program, args, want string }{
		{"nats-server", "", "false "},
		{"nats-server", "-js", "true "},
		{"nats-server", "-js -sd d", "true d"},
		{"nats-server", "-sd d", "false d"},
		{"godwit", "", "true ./godwit-data"},
		{"/usr/local/bin/godwit", "-p 5", "true ./godwit-data"},
		{"godwit", "-sd d", "true d"},
		{"godwit", "-js=false", "false ./godwit-data"},
		{"godwit", "-c p.conf", "false "},
		{"godwit", "-c p.conf -js", "true "},
		{"C:/x/NATS-Server.exe", "", "false "},
	} {
		c, err := ParseFlags(tt.program, strings.Fields(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := show(c.Options.JetStream.Enabled, c.Options.JetStream.StoreDir); got != tt.want || !c.Options.JetStream.SyncAlways {
			t.Errorf("%s %s: got %s, want %s", tt.program, tt.args, got, tt.want)
		}
	}
}

func TestReloadAppliesFlagsAgain(t *testing.T) {
	setup(t)
	c, err := ParseFlags("nats-server", []string{"-c", "w.conf", "-p", "5555", "-D"})
	if err != nil || len(c.Warnings) != 1 || !c.Given("debug") || c.Given("trace") || c.ConfigFile() != "w.conf" {
		t.Fatal(c, err)
	}
	if err := os.WriteFile("w.conf", []byte("port: 1\ndebug: false\nmax_connections: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, warnings, err := c.Reload()
	if err != nil || warnings != nil || o.Port != 5555 || !o.Log.Debug || o.MaxConn != 7 {
		t.Errorf("%+v %v %v", o, warnings, err)
	}
	if c.Options.MaxConn != options.DefaultMaxConn {
		t.Error("a reload changed the options of before")
	}
	if err := os.WriteFile("w.conf", []byte("lame_duck_grace_period: '5m'"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Reload(); err == nil {
		t.Error("a reload is not checked")
	}
	c, err = ParseFlags("nats-server", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Reload(); err != ErrNoReloadFile {
		t.Error(err)
	}
}

func TestUsageNamesAllFlags(t *testing.T) {
	for _, name := range []string{Godwit, NatsServer} {
		text := Usage(name)
		if !strings.HasPrefix(text, "\nUsage: "+name+" [options]\n") {
			t.Errorf("%.40q", text)
		}
		for _, f := range strings.Fields("-a --addr --net -p --port -n --name --server_name -P --pid -m --http_port -ms --https_port -c --config -t -sl --signal " +
			"--client_advertise --ports_file_dir -l --log -T --logtime --logtime_utc -s --syslog -r --remote_syslog --log_size_limit --max_traced_msg_len " +
			"-D --debug -V --trace -VV -DV -DVV -js --jetstream -sd --store_dir --user --pass --auth --tls --tlscert --tlskey --tlsverify --tlscacert " +
			"--routes --cluster --cluster_listen --cluster_name --no_advertise --cluster_advertise --connect_retries --profile -h --help -v --version --help_tls") {
			if !strings.Contains(text, " "+f+",") && !strings.Contains(text, " "+f+" ") {
				t.Errorf("%s is missing in the help of %s", f, name)
			}
		}
	}
	if !strings.Contains(TLSHelp(), "tlscert") {
		t.Error("the help about TLS does not name the flags")
	}
}
