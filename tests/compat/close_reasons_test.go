package compat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"godwit/tests/harness"
)

// However a connection ends, the client hears the documented words, and monitoring shows the documented reason, with the
// user and the account if they are known.
func TestCloseReasons(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `
		accounts {
			A { users: [{user: a, password: p}], limits: {max_connections: 1} }
			B { users: [{user: b, password: p}] }
			SYS { users: [{user: s, password: p}] }
		}
		system_account: SYS
		authorization { timeout: 0.4 }
		max_payload: 100
		max_control_line: 200
		ping_interval: "500ms"
		ping_max: 1`})
	member := s.Connect(t, as("a")) // there is no room for another one
	type shown struct {
		Cid     uint64
		Reason  string
		User    string `json:"authorized_user"`
		Account string
	}
	closed := func(cid uint64) (c shown) {
		harness.Eventually(t, func() error {
			var z struct{ Connections []shown }
			s.Monitor(t, fmt.Sprintf("/connz?state=closed&auth=1&cid=%d", cid), &z)
			if len(z.Connections) != 1 {
				return errors.New("the connection is not closed")
			}
			c = z.Connections[0]
			return nil
		})
		return c
	}
	login := func(user, more string) string {
		return fmt.Sprintf("CONNECT {\"verbose\":false,\"user\":%q,\"pass\":\"p\"%s}\r\n", user, more)
	}
	b := login("b", "")
	for _, tt := range []struct {
		name, send    string
		told          string // between -ERR ' and '; "eof" for nothing
		reason        string
		user, account string
	}{
		{"says nothing", "", "Authentication Timeout", "Authentication Timeout", "", ""},
		{"wrong password", "CONNECT {\"user\":\"b\",\"pass\":\"x\"}\r\n", "Authorization Violation", "Authentication Failure", "b", ""},
		{"unknown user", "CONNECT {\"user\":\"x\",\"pass\":\"x\"}\r\n", "Authorization Violation", "Authentication Failure", "x", ""},
		{"no login", "PUB a 1\r\nx\r\n", "Authorization Violation", "Authentication Failure", "", ""},
		{"no room in the account", login("a", ""), "maximum account active connections exceeded", "Maximum Account Connections Exceeded", "a", "A"},
		{"unknown verb", b + "HELLO\r\n", "Unknown Protocol Operation", "Protocol Violation", "b", "B"},
		{"malformed verb", b + "PUB a b c d\r\n", "eof", "Protocol Violation", "b", "B"},
		{"an error from the client", b + "-ERR 'x'\r\n", "eof", "Parse Error", "b", "B"},
		{"large message", b + "PUB a 101\r\n", "Maximum Payload Violation", "Maximum Message Payload Exceeded", "b", "B"},
		{"long line", b + "PUB " + strings.Repeat("a", 201) + " 1\r\n", "maximum control line exceeded", "Maximum Control Line Exceeded", "b", "B"},
		{"headers of a client without", b + "HPUB a 12 13\r\nNATS/1.0\r\n\r\nx\r\n", "eof", "Message Header Violation", "b", "B"},
		{"no responders without headers", login("b", ",\"no_responders\":true"), "no responders requires headers support", "No Responders Requires Headers", "b", "B"},
		{"protocol", login("b", ",\"protocol\":7"), "invalid client protocol", "Bad Client Protocol Version", "b", "B"},
		{"does not answer pings", b, "Stale Connection", "Stale Connection", "b", "B"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if harness.OnPeer() && tt.reason == "Message Header Violation" {
				t.Skip("nats-server shows Protocol Violation")
			}
			r := s.Raw(t)
			r.Send(tt.send)
			text := strings.ReplaceAll(r.UntilClosed(), "PING\r\n", "")
			want := ""
			if tt.told != "eof" {
				want = "-ERR '" + tt.told + "'\r\n"
			}
			if text != want {
				t.Errorf("told %q, want %q", text, want)
			}
			if c := closed(r.Info.ClientID); c.Reason != tt.reason || c.User != tt.user || c.Account != tt.account {
				t.Errorf("shown are %+v", c)
			}
		})
	}
	r := s.Raw(t)
	r.Send(b)
	r.UntilPong(0)
	r.Close()
	if c := closed(r.Info.ClientID); c.Reason != "Client Closed" {
		t.Errorf("after the client has closed: %+v", c)
	}

	// Ended by an operator.
	var varz struct {
		ID string `json:"server_id"`
	}
	s.Monitor(t, "/varz", &varz)
	cid, err := member.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Connect(t, as("s")).Request("$SYS.REQ.SERVER."+varz.ID+".KICK", fmt.Appendf(nil, `{"cid":%d}`, cid), harness.Patience); err != nil {
		t.Fatal(err)
	}
	if c := closed(cid); c.Reason != "Kicked" || c.User != "a" || c.Account != "A" {
		t.Errorf("after a kick: %+v", c)
	}
	// Ended by a reload that takes the user away.
	last := s.Connect(t, as("a"))
	cid, _ = last.GetClientID()
	s.Configure("accounts { A { }, SYS { users: [{user: s, password: p}] } }\nsystem_account: SYS")
	if line := s.Reload(); !strings.Contains(line, "Reloaded") {
		t.Fatal(line)
	}
	if c := closed(cid); c.Reason != "Authentication Failure" && !harness.OnPeer() || c.User != "a" || c.Account != "A" {
		t.Errorf("after the user is gone: %+v", c)
	}
}
