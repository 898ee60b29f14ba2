package compat

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nkeys"

	"godwit/tests/harness"
)

func TestInfo(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "server_name: some-server"})
	r := s.Raw(t)
	info := r.Info
	if info.ServerName != "some-server" || info.Proto != 1 || !info.Headers || info.MaxPayload != 1<<20 {
		t.Errorf("got %+v", info)
	}
	if info.Host != "127.0.0.1" || !strings.HasSuffix(s.Addr(), portText(info.Port)) || info.ClientIP != "127.0.0.1" {
		t.Errorf("addresses: %+v, the server listens on %s", info, s.Addr())
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(info.Version) || !strings.HasPrefix(info.Go, "go1.") {
		t.Errorf("version %q, go %q", info.Version, info.Go)
	}
	if !nkeys.IsValidPublicServerKey(info.ServerID) {
		t.Errorf("server_id %q is no server key", info.ServerID)
	}
	if !nkeys.IsValidPublicCurveKey(info.XKey) {
		t.Errorf("xkey %q is no curve key", info.XKey)
	}
	if info.AuthRequired || info.TLSRequired || info.JetStream || info.LameDuck || info.Nonce != "" || len(info.ConnectURLs) != 0 {
		t.Errorf("a plain server claims more: %+v", info)
	}
	if info.APILevel == 0 {
		t.Error("no api_lvl")
	}
	if next := s.Raw(t); next.Info.ClientID <= info.ClientID || next.Info.ServerID != info.ServerID {
		t.Errorf("client ids %d and then %d, server ids %s and %s", info.ClientID, next.Info.ClientID, info.ServerID, next.Info.ServerID)
	}
}

func portText(port int) string {
	text, _ := json.Marshal(port)
	return ":" + string(text)
}

func TestInfoTellsAboutStreams(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	if !s.Raw(t).Info.JetStream {
		t.Error("jetstream is not announced")
	}
}

// The first PING after CONNECT is answered by PONG and then by an INFO that tells the account;
// later ones only by PONG, and so are PINGs before CONNECT.
func TestInfoAfterTheFirstPing(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	t.Run("protocol 1", func(t *testing.T) {
		r := s.Raw(t)
		r.Send("PING\r\n")
		r.Expect("PONG\r\n")
		r.Send(harness.QuietConnect + "PING\r\nPING\r\n")
		r.Expect("PONG\r\n")
		info := r.ExpectInfo()
		if !info.ConnectInfo || info.Account != "$G" || info.IsSystem || info.ClientID != r.Info.ClientID {
			t.Errorf("got %+v", info)
		}
		r.Expect("PONG\r\n")
		r.Flush()
	})
	t.Run("protocol 0", func(t *testing.T) {
		r := s.Raw(t)
		r.Send(connectLine(quiet) + "PING\r\nPING\r\n")
		r.Expect("PONG\r\nPONG\r\n")
		r.Flush()
	})
}

// INFO has its keys in a fixed order, which some clients with simple parsers lean on.
func TestInfoKeyOrder(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	conn := s.Raw(t)
	conn.Send(harness.QuietConnect + "PING\r\n")
	conn.Expect("PONG\r\n")
	line := conn.Line()
	known := []string{
		"server_id", "server_name", "version", "proto", "git_commit", "go", "host", "port", "headers", "max_payload",
		"jetstream", "client_id", "client_ip", "connect_info", "remote_account", "api_lvl", "xkey",
	}
	var at []int
	for _, key := range known {
		if i := strings.Index(line, `"`+key+`":`); i >= 0 {
			at = append(at, i)
		} else if key != "git_commit" { // only in official builds
			t.Errorf("no %s in %s", key, line)
		}
	}
	if !slices.IsSorted(at) {
		t.Errorf("the keys are not in the order of %v: %s", known, line)
	}
}

// A server that enters lame duck mode tells its clients, keeps serving them for a while, and then
// closes them and ends.
func TestLameDuck(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "lame_duck_duration: 31s\nlame_duck_grace_period: 29s"})
	r, old := s.Raw(t), s.Raw(t)
	r.Connect(harness.QuietConnect)
	old.Send(connectLine(quiet) + "PING\r\n")
	old.Expect("PONG\r\n")
	s.Signal(syscall.SIGUSR2)
	if info := r.ExpectInfo(); !info.LameDuck {
		t.Errorf("got %+v", info)
	}
	r.Send("SUB a 1\r\nPUB a 2\r\nhi\r\n")
	r.Expect("MSG a 1 2\r\nhi\r\n")
	old.Flush() // protocol 0 clients are not told
	s.Signal(syscall.SIGINT)
	if got := r.UntilClosed(); got != "" {
		t.Errorf("closed with %q, want nothing", got)
	}
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Shutting down closes clients without an error.
func TestStopClosesSilently(t *testing.T) {
	s := harness.Start(t, harness.Options{})
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	s.Stop()
	if got := r.UntilClosed(); got != "" {
		t.Errorf("got %q", got)
	}
}
