package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"godwit/tests/harness"
)

// tool runs Godwit's own command line against one server.
type tool struct {
	t   *testing.T
	env []string
	dir string
}

func newTool(t *testing.T, s *harness.Server) *tool {
	home := t.TempDir()
	return &tool{t, append(os.Environ(), "NATS_URL="+s.URL(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "NATS_CONTEXT=", "NATS_USER=",
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")), t.TempDir()}
}

// run returns what a command printed for people, what it complained about, and its exit status.
func (x *tool) run(in string, args ...string) (out, complaint string, status int) {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), harness.Binary(x.t), args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.WaitDelay = x.env, x.dir, strings.NewReader(in), time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		x.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// toolStep is one command and what is expected of it.
type toolStep struct {
	args   string // with blanks between; "+" stands for a blank
	in     string
	status int
	want   []string // in the output, or the complaint if status is not 0
}

func (x *tool) steps(steps []toolStep) {
	x.t.Helper()
	for _, s := range steps {
		args := strings.Fields(s.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "+", " ")
		}
		out, complaint, status := x.run(s.in, args...)
		if status != s.status {
			x.t.Fatalf("godwit %s: status %d, want %d\n%s%s", s.args, status, s.status, out, complaint)
		}
		text := out
		if status != 0 {
			text = complaint
			if out != "" && !strings.HasPrefix(complaint, "godwit: ") && !strings.Contains(complaint, "Incorrect Usage") {
				x.t.Errorf("godwit %s: prints %q although it failed", s.args, out)
			}
		}
		for _, w := range s.want {
			if !strings.Contains(text, w) {
				x.t.Errorf("godwit %s: no %q in\n%s", s.args, w, text)
			}
		}
		if strings.Contains(s.args, "--json") && status == 0 && !json.Valid([]byte(out)) {
			x.t.Errorf("godwit %s: no JSON:\n%s", s.args, out)
		}
	}
}

func TestToolStreams(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	newTool(t, s).steps([]toolStep{
		{args: "stream ls", want: []string{"there are no streams", "godwit stream add"}},
		{args: "stream add ORDERS --subjects orders.> --partitions 4 --max-age 24h --max-bytes 1GiB --description all+orders", want: []string{"Stream ORDERS", "orders.>", "4, by subject", "1d", "1.0 GiB", "all orders", "PARTITION"}},
		{args: "stream add", status: 2, want: []string{"stream add takes a name", "see godwit stream add --help"}},
		{args: "stream add X --max-bytes 3Q", status: 2, want: []string{`--max-bytes "3Q": want bytes`}},
		{args: "stream add X --retention never", status: 2, want: []string{"want limits, interest or work"}},
		{args: "stream add X --storage tape", status: 2, want: []string{"want one of file, memory"}},
		{args: "stream add X --nope", status: 2, want: []string{"flag provided but not defined: -nope", "see godwit stream add --help"}},
		{args: "stream add X --subjects orders.1", status: 1, want: []string{"10065"}},
		{args: "stream add X --config nothing.json", status: 1, want: []string{"nothing.json"}},
		{args: "pub orders.1 first -J -H Kind:test", want: []string{"stored in ORDERS as"}},
		{args: "pub orders.2 n+{{.Count}} --count 3 -J --id one", want: []string{"stored in ORDERS", "stored before in ORDERS"}},
		{args: "pub nobody.here x -J", status: 1, want: []string{"no stream stores nobody.here", "godwit stream add NAME --subjects nobody.here"}},
		{args: "pub orders.3 -J", in: "from standard input", want: []string{"stored in ORDERS"}},
		{args: "pub orders.1 x -H broken", status: 2, want: []string{"NAME:VALUE"}},
		{args: "pub orders.1 x --count 0", status: 2, want: []string{"--count is to be 1 or more"}},
		{args: "pub", status: 2, want: []string{"pub takes: SUBJECT [BODY]"}},
		{args: "stream ls", want: []string{"STREAM", "ORDERS", "orders.>", "3"}},
		{args: "stream ls --json", want: []string{`"name": "ORDERS"`}},
		{args: "stream ls extra", status: 2, want: []string{"stream ls takes: no arguments"}},
		{args: "stream info ORDERS --json", want: []string{`"partitions"`, `"messages": 3`}},
		{args: "stream info NO", status: 1, want: []string{"stream not found", "godwit stream ls"}},
		{args: "stream get ORDERS --last-for orders.1", want: []string{"orders.1", "Kind: test", "first"}},
		{args: "stream get ORDERS --last-for orders.3 --raw", want: []string{"from standard input\n"}},
		{args: "stream get ORDERS", status: 2, want: []string{"needs a sequence or --last-for"}},
		{args: "stream get ORDERS 0", status: 2, want: []string{`"0" is no sequence`}},
		{args: "stream get ORDERS 999", status: 1, want: []string{"message not found"}},
		{args: "stream view ORDERS --count 2", want: []string{"orders.", "more follows: --from"}},
		{args: "stream view ORDERS --all --subject orders.3", want: []string{"orders.3"}},
		{args: "stream view ORDERS --count 0", status: 2, want: []string{"--count is to be 1 or more"}},
		{args: "stream edit ORDERS --max-age 48h", status: 2, want: []string{"Use --force"}},
		{args: "stream edit ORDERS --max-age 48h --force", want: []string{"max_age: 86400000000000 → 172800000000000", "2d"}},
		{args: "stream edit ORDERS --max-age 48h --force", want: []string{"nothing differs"}},
		{args: "stream edit NO --max-age 48h --force", status: 1, want: []string{"stream not found"}},
		{args: "stream backup ORDERS saved", want: []string{"3 messages of ORDERS are in saved"}},
		{args: "stream backup ORDERS saved", status: 2, want: []string{"saved is there already"}},
		{args: "stream backup NO other", status: 1, want: []string{"stream not found"}},
		{args: "stream rm-msg ORDERS 1 --force", want: []string{"message 1 is deleted"}},
		{args: "stream rm-msg ORDERS x --force", status: 2, want: []string{"is no sequence"}},
		{args: "stream purge ORDERS", status: 2, want: []string{"Use --force"}},
		{args: "stream purge ORDERS --subject orders.1 --force", want: []string{"messages are left in ORDERS"}},
		{args: "stream purge NO --force", status: 1, want: []string{"stream not found"}},
		{args: "stream rm ORDERS", status: 2, want: []string{"Delete the stream ORDERS", "Use --force"}},
		{args: "stream rm ORDERS --force", want: []string{"stream ORDERS is deleted"}},
		{args: "stream rm ORDERS --force", status: 1, want: []string{"stream not found"}},
		{args: "stream restore saved", want: []string{"Stream ORDERS", "4, by subject"}},
		{args: "stream restore nothing", status: 1, want: []string{"a backup is a directory made by stream backup"}},
		{args: "stream get ORDERS --last-for orders.1 --raw", want: []string{"first"}},
		{args: "stream seal ORDERS", status: 2, want: []string{"It cannot be undone."}},
		{args: "stream seal ORDERS --force", want: []string{"stream ORDERS is sealed"}},
		{args: "stream seal NO --force", status: 1, want: []string{"stream not found"}},
		{args: "sub --stream ORDERS --count 1 orders.1", want: []string{"orders.1", "sequence", "first"}},
		{args: "stream info ORDERS -s nats://127.0.0.1:1", status: 1, want: []string{"cannot connect to nats://127.0.0.1:1", "NATS_URL"}},
	})
}

func TestToolConsumers(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	newTool(t, s).steps([]toolStep{
		{args: "stream add S --subjects s.>", want: []string{"Stream S"}},
		{args: "pub s.x m{{.Count}} -J --count 6"},
		{args: "consumer ls S", want: []string{"S has no consumers", "godwit consumer add S NAME"}},
		{args: "consumer ls NO", status: 1, want: []string{"stream not found"}},
		{args: "consumer add S work --ack-wait 1h --max-deliver 5 --filter s.x --description the+work", want: []string{"Consumer work of S", "the work", "pull", "s.x", "explicit", "1h0m0s", "5"}},
		{args: "consumer add S other --deliver someday", status: 2, want: []string{"want all, new, last"}},
		{args: "consumer add S other --ack maybe", status: 2, want: []string{"want one of all, explicit, none"}},
		{args: "consumer add S", status: 2, want: []string{"consumer add takes: STREAM NAME"}},
		{args: "consumer add S other --deliver 3", want: []string{"to be delivered", "4"}},
		{args: "consumer next S work --count 3 --no-ack", want: []string{"#1 s.x", "#3 s.x", "m3"}},
		{args: "consumer next S work --count 0", status: 2, want: []string{"--count"}},
		{args: "consumer next S no", status: 1, want: []string{"consumer not found", "godwit consumer ls STREAM"}},
		{args: "consumer inflight ls S work", want: []string{"SEQUENCE", "pending", "in 59m"}},
		{args: "consumer inflight ls S work --json", want: []string{`"total": 3`}},
		{args: "consumer inflight ls S work --count 2", want: []string{"3 in all; more follow: --from 3"}},
		{args: "consumer inflight ls S no", status: 1, want: []string{"consumer not found"}},
		{args: "consumer inflight release S work 2", want: []string{"release: message 2"}},
		{args: "consumer inflight release S work 99", status: 1, want: []string{"message 99 is not in flight"}},
		{args: "consumer inflight extend S work 1 --by 5h", want: []string{"extend: message 1"}},
		{args: "consumer inflight extend S work 1 --by 0s", status: 2, want: []string{"--by is to be more than 0"}},
		{args: "consumer inflight terminate S work 1", status: 2, want: []string{"Use --force"}},
		{args: "consumer inflight terminate S work 1 --reason poison --force", want: []string{"terminate: message 1"}},
		{args: "consumer inflight ack S work 3 --force", want: []string{"ack: message 3"}},
		{args: "consumer inflight ack S work x --force", status: 2, want: []string{"is no sequence"}},
		{args: "consumer next S work", want: []string{"#2 s.x", "delivery 2"}},
		{args: "consumer inflight ls S work", want: []string{"nothing is in flight"}},
		{args: "consumer sub S work --count 3 --raw", want: []string{"m4\nm5\nm6\n"}},
		{args: "consumer sub S no --count 1", status: 1, want: []string{"consumer not found"}},
		{args: "consumer ls S", want: []string{"CONSUMER", "work", "other", "explicit"}},
		{args: "consumer ls S --json", want: []string{`"name": "work"`}},
		{args: "consumer info S work", want: []string{"acknowledged up to", "6"}},
		{args: "consumer info S no", status: 1, want: []string{"consumer not found"}},
		{args: "consumer edit S work --ack-wait 2h --force", want: []string{"ack_wait: 3600000000000 → 7200000000000", "2h0m0s"}},
		{args: "consumer edit S work --ack-wait 3h", status: 2, want: []string{"Use --force"}},
		{args: "consumer pause S work 1h", want: []string{"work is paused until"}},
		{args: "consumer pause S work soon", status: 2, want: []string{`"soon" is no duration`}},
		{args: "consumer resume S work", want: []string{"work delivers again"}},
		{args: "consumer resume S no", status: 1, want: []string{"not found"}},
		{args: "consumer reset S work 1 --force", want: []string{"to be delivered", "6"}},
		{args: "consumer reset S work 1", status: 2, want: []string{"Use --force"}},
		{args: "consumer rm S work", status: 2, want: []string{"Use --force"}},
		{args: "consumer rm S work --force", want: []string{"consumer work is deleted"}},
		{args: "consumer rm S work --force", status: 1, want: []string{"consumer not found"}},
	})
}

func TestToolKeys(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	newTool(t, s).steps([]toolStep{
		{args: "kv ls", want: []string{"there are no buckets", "godwit kv add"}},
		{args: "kv add B --history 5", want: []string{"bucket B is made"}},
		{args: "kv add C --history 65", status: 2, want: []string{"from 1 to 64"}},
		{args: "kv put B a one", want: []string{"a has revision 1"}},
		{args: "kv put B b", in: "from input", want: []string{"b has revision 2"}},
		{args: "kv put NO a one", status: 1, want: []string{"there is no bucket NO", "godwit kv ls"}},
		{args: "kv create B a two", status: 1, want: []string{"a has a value already"}},
		{args: "kv create B c three", want: []string{"c has revision 3"}},
		{args: "kv update B a two 1", want: []string{"a has revision 4"}},
		{args: "kv update B a three 1", status: 1, want: []string{"wrong last sequence"}},
		{args: "kv update B a three x", status: 2, want: []string{"is no revision"}},
		{args: "kv get B a --raw", want: []string{"two"}},
		{args: "kv get B a --revision 1 --json", want: []string{`"revision": 1`}},
		{args: "kv get B no", status: 1, want: []string{"B has no key no", "godwit kv keys B"}},
		{args: "kv keys B", want: []string{"a\nb\nc\n"}},
		{args: "kv keys NO", status: 1, want: []string{"there is no bucket"}},
		{args: "kv history B a", want: []string{"REVISION", "put", `"one"`, `"two"`}},
		{args: "kv history B no", status: 1, want: []string{"no key no"}},
		{args: "kv watch B --count 3", want: []string{"a revision 4", "b revision 2"}},
		{args: "kv watch NO --count 1", status: 1, want: []string{"there is no bucket"}},
		{args: "kv del B a", status: 2, want: []string{"Use --force"}},
		{args: "kv del B a --force", want: []string{"a is deleted"}},
		{args: "kv purge B b --force", want: []string{"b is deleted"}},
		{args: "kv ls", want: []string{"BUCKET", "B"}},
		{args: "kv ls --json", want: []string{`"B"`}},
		{args: "kv info B", want: []string{"Bucket B", "KV_B"}},
		{args: "kv info NO", status: 1, want: []string{"there is no bucket"}},
		{args: "kv rm B", status: 2, want: []string{"Use --force"}},
		{args: "kv rm B --force", want: []string{"bucket B is deleted"}},
	})
}

// Messages and requests go between two calls of the tool, and contexts of the nats tool are used.
func TestToolMessages(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `authorization { user: u, password: "p" }`})
	x := newTool(t, s)
	x.steps([]toolStep{
		{args: "pub a b", status: 1, want: []string{"cannot connect", "Authorization"}},
		{args: "pub a b --user u --password p", want: []string{"published 1 bytes to a"}},
		{args: "pub a b --context home", status: 1, want: []string{`there is no context "home"`, "nats context ls"}},
		{args: "pub a b --context ../home", status: 2, want: []string{"is no name of a context"}},
		{args: "request nobody x --user u --password p", status: 1, want: []string{"nobody answers on that subject"}},
		{args: "sub a --wait 10ms --user u --password p", status: 1, want: []string{"nothing came for 10ms"}},
		{args: "sub --user u --password p", status: 2, want: []string{"sub takes subjects, or --stream NAME"}},
		{args: "reply a --user u --password p", status: 2, want: []string{"reply needs a body or --echo"}},
	})
	dir := filepath.Join(x.env[0], "x")
	for _, e := range x.env {
		if v, ok := strings.CutPrefix(e, "XDG_CONFIG_HOME="); ok {
			dir = filepath.Join(v, "nats")
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "context"), 0o700); err != nil {
		t.Fatal(err)
	}
	saved, _ := json.Marshal(map[string]any{"description": "", "url": s.URL(), "user": "u", "password": "p"})
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "context", "home.json"), saved, 0o600), os.WriteFile(filepath.Join(dir, "context.txt"), []byte("home"), 0o600)); err != nil {
		t.Fatal(err)
	}
	x.steps([]toolStep{{args: "pub a b", want: []string{"published"}}, {args: "pub a b --context home", want: []string{"published"}}})

	// In the background, each ends by itself.
	background := func(ready string, args ...string) func() string {
		cmd := exec.CommandContext(t.Context(), harness.Binary(t), args...)
		cmd.Env = x.env
		var out bytes.Buffer
		cmd.Stdout = &out
		told, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 200)
		n, err := told.Read(line)
		if err != nil || !strings.Contains(string(line[:n]), ready) {
			t.Fatalf("%q %v", line[:n], err)
		}
		return func() string {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %v", args, err)
			}
			return out.String()
		}
	}
	sub := background("listening on", "sub", "greet.>", "--count", "2")
	x.steps([]toolStep{{args: "pub greet.joe hello+{{.Count}} --count 2 -H Lang:en", want: []string{"published 7 bytes to greet.joe"}}})
	if out := sub(); !strings.Contains(out, "[#2] greet.joe") || !strings.Contains(out, "Lang: en") || !strings.Contains(out, "hello 2") {
		t.Error(out)
	}
	reply := background("answering on", "reply", "help", "{{.Count}}: {{.Request}}!", "--count", "2")
	x.steps([]toolStep{{args: "request help me", want: []string{"answer after", "1: me!"}}, {args: "req help again --raw", want: []string{"2: again!\n"}}})
	if out := reply(); !strings.Contains(out, "[#2] help: 5 bytes") {
		t.Error(out)
	}
}

func TestToolServer(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: `server_name: bird
accounts { SYS { users: [{user: sys, password: p}] }, A { jetstream: enabled, users: [{user: a, password: p}] } }
system_account: SYS`})
	x := newTool(t, s)
	const sys, a = " --user sys --password p", " --user a --password p"
	x.steps([]toolStep{
		{args: "server info" + sys, want: []string{"Server bird", "connections", "round", "processors"}[:2]},
		{args: "server info --json" + sys, want: []string{`"server_name": "bird"`}},
		{args: "server info" + a, status: 1, want: []string{"no server answers", "system account"}},
		{args: "server ping" + sys, want: []string{"bird", "round trip"}},
		{args: "server ping --json" + sys, want: []string{`"Name": "bird"`}},
		{args: "server ping" + a, status: 1, want: []string{"no server answers"}},
		{args: "stream add S --subjects s.>" + a},
		{args: "pub s.x m -J --count 5" + a},
		{args: "consumer add S C --ack-wait 1h" + a},
		{args: "server reload" + sys, want: []string{"bird has read its configuration again"}},
		{args: "server reload" + a, status: 1, want: []string{"no server answers"}},
		{args: "server report connections" + sys, want: []string{"NUMBER", "SYS", "sys"}},
		{args: "server report connections --json" + sys, want: []string{`"connections"`}},
		{args: "server report connections --sort nothing" + sys, status: 1, want: []string{"nothing"}},
		{args: "server report accounts" + sys, want: []string{"ACCOUNT", "SYS", "A"}},
		{args: "server report jetstream" + sys, want: []string{"A", "S", "5"}},
		{args: "server report jetstream" + a, status: 1, want: []string{"no server answers"}},
		{args: "server check connection" + a, want: []string{"CONNECTION OK: round trip", "| rtt="}},
		{args: "server check connection --format xml" + a, status: 2, want: []string{"want nagios, json or prometheus"}},
		{args: "server check jetstream" + a, want: []string{"JETSTREAM OK: 1 streams, 1 consumers"}},
		{args: "server check stream S --min-messages 5 --max-age 1h" + a, want: []string{"STREAM OK: 5 messages"}},
		{args: "server check stream" + a, status: 2, want: []string{"server check stream takes: STREAM"}},
		{args: "server check consumer S C" + a, want: []string{"CONSUMER OK: 5 messages to be delivered"}},
		{args: "server check consumer S C --format json" + a, want: []string{`"status": "OK"`}},
		{args: "server check consumer S C --format prometheus" + a, want: []string{`godwit_check_status{check="consumer",item="S/C"} 0`}},
	})
	for _, tt := range []struct {
		args   string
		status int
		want   string
	}{
		{"server check stream S --min-messages 6" + a, 2, "STREAM CRITICAL: 5 messages; fewer than 6"},
		{"server check stream NO" + a, 2, "STREAM CRITICAL: "},
		{"server check consumer S C --warning 5" + a, 1, "CONSUMER WARNING: 5 messages"},
		{"server check consumer S C --critical 5" + a, 2, "CONSUMER CRITICAL: 5 messages"},
		{"server check consumer S C --max-lag 1ns" + a, 2, "the oldest has waited"},
		{"server check connection -s nats://127.0.0.1:1", 2, "CONNECTION CRITICAL: cannot connect"},
		{"server check connection --critical 1ns" + a, 2, "CONNECTION CRITICAL: round trip"},
		{"server check jetstream" + sys, 3, "JETSTREAM UNKNOWN: "},
	} {
		if out, complaint, status := x.run("", strings.Fields(tt.args)...); status != tt.status || !strings.Contains(out, tt.want) {
			t.Errorf("godwit %s: status %d\n%s%s", tt.args, status, out, complaint)
		}
	}
}

// Contexts are those of the nats tool, in both directions.
func TestToolContexts(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `authorization { user: u, password: "p" }`})
	x := newTool(t, s)
	for i, e := range x.env {
		if strings.HasPrefix(e, "NATS_URL=") {
			x.env[i] = "NATS_URL="
		}
	}
	nats := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), harness.CLI(t), args...)
		cmd.Env, cmd.Dir = x.env, x.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("nats %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	x.steps([]toolStep{
		{args: "context ls", want: []string{"there are no contexts"}},
		{args: "context show", status: 1, want: []string{"no context is selected"}},
		{args: "context add ours --user u --password p --description by+us --select --server " + s.URL(), want: []string{"context ours is saved", "is used from now on"}},
		{args: "context add a/b", status: 2, want: []string{"is no name of a context"}},
		{args: "context add ours --user v", status: 2, want: []string{"Use --force"}},
		{args: "context ls", want: []string{"ours*", "by us"}},
		{args: "context ls --json", want: []string{`"ours"`}},
		{args: "context show", want: []string{"Context ours", "***"}},
		{args: "context show --json", want: []string{`"user": "u"`}},
		{args: "context show no", status: 1, want: []string{`there is no context "no"`}},
		{args: "pub a b", want: []string{"published"}},
	})
	if out := nats("pub", "a", "b"); !strings.Contains(out, "Published") {
		t.Error(out)
	}
	nats("context", "add", "theirs", "--server", s.URL(), "--user", "u", "--password", "p")
	x.steps([]toolStep{
		{args: "context ls", want: []string{"ours*", "theirs"}},
		{args: "context select theirs", want: []string{"context theirs is used"}},
		{args: "context select no", status: 1, want: []string{`there is no context "no"`}},
		{args: "pub a b", want: []string{"published"}},
		{args: "context rm ours", status: 2, want: []string{"Use --force"}},
		{args: "context rm ours --force", want: []string{"context ours is deleted"}},
		{args: "context rm ours --force", status: 1, want: []string{"there is no context"}},
	})
	if out := nats("context", "ls"); !strings.Contains(out, "theirs") || strings.Contains(out, "ours ") && strings.Contains(out, "by us") {
		t.Error(out)
	}
}

func TestToolObjects(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	x := newTool(t, s)
	if err := os.WriteFile(filepath.Join(x.dir, "big.bin"), bytes.Repeat([]byte("0123456789"), 50_000), 0o600); err != nil {
		t.Fatal(err)
	}
	x.steps([]toolStep{
		{args: "object ls", want: []string{"there is nothing"}},
		{args: "object add FILES", want: []string{"bucket FILES is made"}},
		{args: "object add X --storage tape", status: 2, want: []string{"want one of file, memory"}},
		{args: "object put FILES big.bin --description the+file", want: []string{"big.bin has 488.3 KiB"}},
		{args: "object put FILES --name note", in: "a note", want: []string{"note has 6 B"}},
		{args: "object put FILES", in: "x", status: 2, want: []string{"standard input needs a --name"}},
		{args: "object put FILES no.bin", status: 1, want: []string{"no.bin"}},
		{args: "object put NO big.bin", status: 1, want: []string{"there is no bucket NO"}},
		{args: "object ls", want: []string{"BUCKET", "FILES"}},
		{args: "object ls FILES", want: []string{"big.bin", "note", "the file"}},
		{args: "object ls FILES --json", want: []string{`"note"`}},
		{args: "object get FILES note -O -", want: []string{"a note"}},
		{args: "object get FILES big.bin", status: 2, want: []string{"Replace the file big.bin?"}},
		{args: "object get FILES big.bin -O copy.bin", want: []string{"copy.bin has 488.3 KiB"}},
		{args: "object get FILES no", status: 1, want: []string{"FILES has no file no", "godwit object ls FILES"}},
		{args: "object info FILES big.bin", want: []string{"File big.bin", "SHA-256="}},
		{args: "object info FILES no", status: 1, want: []string{"has no file no"}},
		{args: "object rm FILES note", status: 2, want: []string{"Use --force"}},
		{args: "object rm FILES note --force", want: []string{"file note is deleted"}},
		{args: "object rm FILES note --force", status: 1, want: []string{"has no file note"}},
		{args: "object rm FILES --force", want: []string{"bucket FILES is deleted"}},
	})
	a, _ := os.ReadFile(filepath.Join(x.dir, "big.bin"))
	if b, err := os.ReadFile(filepath.Join(x.dir, "copy.bin")); err != nil || !bytes.Equal(a, b) {
		t.Errorf("what came back differs: %v", err)
	}
}

func TestToolBench(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	newTool(t, s).steps([]toolStep{
		{args: "bench pub b --msgs 1000 --clients 2", want: []string{"publish: 1,000 messages of 128 B by 2 clients", "messages per second"}},
		{args: "bench pub b --msgs 0", status: 2, want: []string{"--clients is to be 1 or more"}},
		{args: "bench pub b --size 1GiB", status: 2, want: []string{"--size at most 1048576"}},
		{args: "bench sub b --msgs 1000 --subscribers 3", want: []string{"3 subscribers have got all"}},
		{args: "bench sub b --subscribers 0", status: 2, want: []string{"--subscribers"}},
		{args: "bench request b --msgs 100 --size 16", want: []string{"latency p50", "p99.9"}},
		{args: "bench request", status: 2, want: []string{"bench request takes: SUBJECT"}},
		{args: "bench js-pub s.x --msgs 100", status: 1, want: []string{"no stream stores s.x"}},
		{args: "stream add S --subjects s.>"},
		{args: "bench js-pub s.x --msgs 500", want: []string{"500 messages", "stream S, file storage, 1 replicas", "sync_interval", "latency p50"}},
		{args: "bench js-pub s.x --msgs 50 --pending 1 --json", want: []string{`"messages_per_second"`, `"p99"`}},
		{args: "bench js-pub s.x --pending 0", status: 2, want: []string{"--pending"}},
		{args: "bench js-consume S --msgs 500 --clients 2", want: []string{"consume: 500 messages", "acknowledgement explicit"}},
		{args: "bench js-consume S --msgs 500 --ack none", want: []string{"acknowledgement none"}},
		{args: "bench js-consume S --msgs 5000", status: 1, want: []string{"S has 550 messages only", "--msgs 550"}},
		{args: "bench js-consume NO --msgs 5", status: 1, want: []string{"stream not found"}},
		{args: "bench js-consume S --msgs 5 --ack all", status: 2, want: []string{"want one of explicit, none"}},
		{args: "stream info S", want: []string{"550"}},
	})
}

func TestToolCompletion(t *testing.T) {
	x := &tool{t: t, env: append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")), dir: t.TempDir()}
	const ask = " --generate-bash-completion"
	x.steps([]toolStep{
		{args: "completion bash", want: []string{"complete -o bashdefault"}},
		{args: "completion zsh", want: []string{"#compdef godwit"}},
		{args: "completion fish", want: []string{"complete -c godwit"}},
		{args: "completion csh", status: 2, want: []string{"want bash, zsh or fish"}},
		{args: "stream" + ask, want: []string{"add\n", "purge\n", "restore\n"}},
		{args: "consumer inflight" + ask, want: []string{"release\n"}},
		{args: "stream add --" + ask, want: []string{"--subjects\n", "--partitions\n", "--server\n"}},
	})
	// The script itself, as bash uses it.
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `PATH=$1:$PATH; source <(godwit completion bash); COMP_WORDS=(godwit stream pu); COMP_CWORD=2; _godwit; echo "${COMPREPLY[@]}"`, "x", x.dir)
	if err := os.Symlink(harness.Binary(t), filepath.Join(x.dir, "godwit")); err != nil {
		t.Fatal(err)
	}
	cmd.Env = x.env
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "purge" {
		t.Errorf("%q %v", out, err)
	}
}
