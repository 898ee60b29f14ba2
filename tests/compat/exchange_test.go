package compat

import (
	"strings"
	"testing"

	"godwit/tests/harness"
)

// An exchange is what one client sends after the greeting, and all that it gets for it.
type exchange struct {
	name    string
	connect string // CONNECT line; empty means harness.QuietConnect, "none" sends nothing
	send    string
	want    string // everything received, but for INFO lines and the PONG of the closing PING
	closed  bool   // the server closes the connection
}

// Fields of CONNECT, and answers of the server.
const (
	quiet    = `"verbose":false,"pedantic":false`
	unknown  = "-ERR 'Unknown Protocol Operation'\r\n"
	tooLong  = "-ERR 'maximum control line exceeded'\r\n"
	tooLarge = "-ERR 'Maximum Payload Violation'\r\n"
	badPub   = "-ERR 'Invalid Publish Subject'\r\n"
	badSub   = "-ERR 'Invalid Subject'\r\n"
	ok       = "+OK\r\n"
)

func connectLine(fields string) string { return "CONNECT {" + fields + "}\r\n" }

// run sends the exchange over a connection of its own, in the pieces that cut makes of it.
func (x *exchange) run(t *testing.T, s *harness.Server, cut func(text string) []string) {
	t.Helper()
	r := s.Raw(t)
	defer r.Close()
	connect := x.connect
	switch connect {
	case "":
		connect = harness.QuietConnect
	case "none":
		connect = ""
	}
	if cut == nil {
		r.Send(connect + x.send)
	} else {
		r.SendCut(cut(connect + x.send)...)
	}
	var got string
	if x.closed {
		got = r.UntilClosed()
	} else {
		got = r.UntilPong(strings.Count(x.want, "PONG\r\n"))
	}
	if got != x.want {
		t.Errorf("got  %q\nwant %q", got, x.want)
	}
}

// runAll runs the exchanges against one server.
func runAll(t *testing.T, s *harness.Server, list []exchange) {
	t.Helper()
	for _, x := range list {
		t.Run(x.name, func(t *testing.T) { x.run(t, s, nil) })
	}
}
