package compat

import (
	"strings"
	"testing"

	"godwit/tests/harness"
)

func TestReloadChangesUsers(t *testing.T) {
	users := func(list string) string { return "authorization { users: [" + list + "] }" }
	s := harness.Start(t, harness.Options{Config: users("{user: a, password: p}, {user: b, password: p}")})
	login := func(user string) *harness.Raw {
		r := s.Raw(t)
		r.Connect(connectLine(quiet + `,"protocol":1,"user":"` + user + `","pass":"p"`))
		return r
	}
	a, b := login("a"), login("b")
	s.Configure(users("{user: a, password: p}, {user: c, password: p}"))
	if line := s.Reload(); !strings.Contains(strings.ToLower(line), "reloaded server configuration") {
		t.Fatal(line)
	}
	// nats-server closes without a word in this case and with the error in others; a client has to
	// live with both.
	if got := b.UntilClosed(); got != "" && got != denied {
		t.Errorf("the removed user got %q", got)
	}
	a.Flush()
	login("c")
}

func TestReloadChangesLimits(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "max_payload: 100"})
	s.Configure("max_payload: 10")
	s.Reload()
	if got := s.Raw(t).Info.MaxPayload; got != 10 {
		t.Errorf("INFO tells max_payload %d", got)
	}
	x := exchange{send: "PUB a 11\r\n", want: tooLarge, closed: true}
	x.run(t, s, nil)
}

// A configuration with a mistake changes nothing, and the server goes on.
func TestReloadOfAMistakeChangesNothing(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: "max_payload: 100"})
	r := s.Raw(t)
	r.Connect(harness.QuietConnect)
	for _, config := range []string{"max_payload: {", "max_paylod: 5", "max_payload: many"} {
		s.Configure(config)
		if line := s.Reload(); !strings.Contains(strings.ToLower(line), "failed to reload") {
			t.Errorf("%q: %s", config, line)
		}
	}
	r.Flush()
	if got := s.Raw(t).Info.MaxPayload; got != 100 {
		t.Errorf("INFO tells max_payload %d", got)
	}
}
