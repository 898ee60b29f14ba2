package compat

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/bcrypt"

	"godwit/tests/harness"
)

const (
	denied  = "-ERR 'Authorization Violation'\r\n"
	pubDeny = `-ERR 'Permissions Violation for Publish to `
	subDeny = `-ERR 'Permissions Violation for Subscription to `
)

func TestToken(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `authorization { token: "s3cret" }`})
	if !s.Raw(t).Info.AuthRequired {
		t.Error("INFO does not tell auth_required")
	}
	runAll(t, s, []exchange{
		{name: "right", connect: connectLine(quiet + `,"auth_token":"s3cret"`), send: "SUB a 1\r\nPUB a 0\r\n\r\n", want: "MSG a 1 0\r\n\r\n"},
		{name: "wrong", connect: connectLine(quiet + `,"auth_token":"S3cret"`), want: denied, closed: true},
		{name: "none", connect: connectLine(quiet), want: denied, closed: true},
		{name: "something else first", connect: "none", send: "PING\r\n", want: denied, closed: true},
		{name: "a user is no token", connect: connectLine(quiet + `,"user":"s3cret","pass":"s3cret"`), want: denied, closed: true},
		{name: "a later connect with another", connect: connectLine(quiet + `,"auth_token":"s3cret"`), send: connectLine(`"auth_token":"x"`), want: denied, closed: true},
		{name: "a later connect keeps what it leaves out", connect: connectLine(quiet + `,"auth_token":"s3cret"`), send: connectLine(`"lang":"x"`)},
	})
}

func TestUserAndPassword(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `authorization { user: derek, password: porkchop }`})
	runAll(t, s, []exchange{
		{name: "right", connect: connectLine(quiet + `,"user":"derek","pass":"porkchop"`), send: "PING\r\n", want: "PONG\r\n"},
		{name: "wrong password", connect: connectLine(quiet + `,"user":"derek","pass":"x"`), want: denied, closed: true},
		{name: "wrong user", connect: connectLine(quiet + `,"user":"x","pass":"porkchop"`), want: denied, closed: true},
		{name: "confirmed when verbose", connect: connectLine(`"user":"derek","pass":"porkchop"`), send: "PING\r\n", want: ok + "PONG\r\n"},
		{name: "the obsolete account field", connect: connectLine(quiet + `,"user":"derek","pass":"porkchop","account":"A"`), want: denied, closed: true},
	})
}

func TestBcryptPassword(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("porkchop"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	hashed := string(hash)
	s := harness.Start(t, harness.Options{Config: `authorization { users: [ { user: derek, password: "` + hashed + `" } ] }`})
	runAll(t, s, []exchange{
		{name: "right", connect: connectLine(quiet + `,"user":"derek","pass":"porkchop"`), send: "PING\r\n", want: "PONG\r\n"},
		{name: "wrong", connect: connectLine(quiet + `,"user":"derek","pass":"chop"`), want: denied, closed: true},
		{name: "the hash itself", connect: connectLine(quiet + `,"user":"derek","pass":"` + hashed + `"`), want: denied, closed: true},
	})
}

func TestAuthenticationTimeout(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `authorization { token: "x", timeout: 0.2 }`})
	if got, want := s.Raw(t).UntilClosed(), "-ERR 'Authentication Timeout'\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const permissions = `
authorization {
  users: [
    { user: limited, password: p, permissions: {
        publish: { allow: ["pub.>", "both"], deny: "pub.secret" }
        subscribe: { allow: ["sub.*", "both", "q q1", "> q.*"], deny: "sub.secret" }
    } }
    { user: replier, password: p, permissions: {
        subscribe: "request"
        publish: "other"
        allow_responses: { max: 1, expires: "1m" }
    } }
    { user: admin, password: p }
  ]
}`

func TestPermissions(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: permissions})
	limited := connectLine(quiet + `,"headers":true,"no_responders":true,"protocol":1,"user":"limited","pass":"p"`)
	runAll(t, s, []exchange{
		{name: "publish allowed", connect: limited, send: "SUB both 1\r\nPUB both 0\r\n\r\nPUB pub.a.b 0\r\n\r\n", want: "MSG both 1 0\r\n\r\n"},
		{name: "publish not allowed", connect: limited, send: "PUB other 0\r\n\r\n", want: pubDeny + "\"other\"'\r\n"},
		{name: "publish denied", connect: limited, send: "PUB pub.secret 0\r\n\r\n", want: pubDeny + "\"pub.secret\"'\r\n"},
		{name: "a denied message is not confirmed", connect: strings.Replace(limited, `"verbose":false`, `"verbose":true`, 1),
			send: "PUB other 0\r\n\r\nPUB both 0\r\n\r\n", want: ok + pubDeny + "\"other\"'\r\n" + ok},
		{name: "a quoted subject", connect: limited, send: "PUB a\"b\xff 0\r\n\r\n", want: pubDeny + `"a\"b\xff"` + "'\r\n"},
		{name: "subscribe not allowed", connect: limited, send: "SUB other 1\r\n", want: subDeny + "\"other\"'\r\n"},
		{name: "subscribe denied", connect: limited, send: "SUB sub.secret 1\r\n", want: subDeny + "\"sub.secret\"'\r\n"},
		{name: "subscribe wider than allowed", connect: limited, send: "SUB > 2\r\n", want: subDeny + "\">\"'\r\n"},
		{name: "queue allowed", connect: limited, send: "SUB q q1 1\r\nSUB any q.x 2\r\n"},
		{name: "queue not allowed", connect: limited, send: "SUB q q2 1\r\n", want: subDeny + "\"q\" using queue \"q2\"'\r\n"},
		{name: "plain not allowed where queues are", connect: limited, send: "SUB q 1\r\n", want: subDeny + "\"q\"'\r\n"},
		{name: "everything for who has no permissions", connect: connectLine(quiet + `,"user":"admin","pass":"p"`),
			send: "SUB > 1\r\nPUB other 0\r\n\r\n", want: "MSG other 1 0\r\n\r\n"},
	})
}

// A wildcard subscription that covers denied subjects is allowed, but their messages are held back.
func TestDeniedSubjectsAreFilteredFromAWildcard(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: permissions})
	limited, admin := s.Raw(t), s.Raw(t)
	limited.Connect(connectLine(quiet + `,"protocol":1,"user":"limited","pass":"p"`))
	admin.Connect(connectLine(quiet + `,"protocol":1,"user":"admin","pass":"p"`))
	limited.Send("SUB sub.* 1\r\n")
	limited.Flush()
	admin.Send("PUB sub.secret 1\r\nx\r\nPUB sub.open 1\r\ny\r\n")
	limited.Expect("MSG sub.open 1 1\r\ny\r\n")
	limited.Flush()
}

// Who may answer requests may publish to the reply subject of a message it got, as often as
// configured.
func TestAllowedResponses(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: permissions})
	replier, admin := s.Raw(t), s.Raw(t)
	replier.Connect(connectLine(quiet + `,"protocol":1,"user":"replier","pass":"p"`))
	admin.Connect(connectLine(quiet + `,"protocol":1,"user":"admin","pass":"p"`))
	replier.Send("SUB request 1\r\nPUB answer.1 1\r\nx\r\n")
	replier.Expect(pubDeny + "\"answer.1\"'\r\n")
	replier.Flush()
	admin.Send("SUB answer.1 9\r\nPUB request answer.1 1\r\n?\r\n")
	replier.Expect("MSG request 1 answer.1 1\r\n?\r\n")
	replier.Send("PUB answer.1 1\r\n!\r\nPUB answer.1 1\r\n!\r\n")
	admin.Expect("MSG answer.1 9 1\r\n!\r\n")
	replier.Expect(pubDeny + "\"answer.1\"'\r\n")
}

func TestNoAuthUser(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: permissions + "\nno_auth_user: limited"})
	if s.Raw(t).Info.AuthRequired {
		t.Error("INFO tells auth_required")
	}
	runAll(t, s, []exchange{
		{name: "connect without credentials", send: "PUB other 0\r\n\r\nPUB both 0\r\n\r\n", want: pubDeny + "\"other\"'\r\n"},
		{name: "no connect at all", connect: "none", send: "PUB other 0\r\n\r\n", want: pubDeny + "\"other\"'\r\n"},
		{name: "wrong credentials", connect: connectLine(quiet + `,"user":"limited","pass":"wrong"`), want: denied, closed: true},
	})
}

// What one account publishes does not reach another.
func TestAccountsAreApart(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: `
accounts {
  A { users: [ { user: a, password: p } ] }
  B { users: [ { user: b, password: p } ] }
}`})
	a, b := s.Raw(t), s.Raw(t)
	login := func(r *harness.Raw, user string) string {
		r.Send(connectLine(quiet+`,"protocol":1,"user":"`+user+`","pass":"p"`) + "PING\r\n")
		r.Expect("PONG\r\n")
		return r.ExpectInfo().Account
	}
	if one, two := login(a, "a"), login(b, "b"); one != "A" || two != "B" {
		t.Errorf("accounts %q and %q", one, two)
	}
	for _, r := range []*harness.Raw{a, b} {
		r.Send("SUB > 1\r\n")
		r.Flush()
	}
	a.Send("PUB x 1\r\n1\r\n")
	a.Expect("MSG x 1 1\r\n1\r\n")
	a.Flush()
	b.Flush()
	b.Send("PUB y 1\r\n2\r\n")
	b.Expect("MSG y 1 1\r\n2\r\n")
	a.Flush()
}

// The official client sees a refused login as such.
func TestClientSeesAuthorizationErrors(t *testing.T) {
	s := harness.Start(t, harness.Options{Config: permissions})
	if _, err := nats.Connect(s.URL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("got %v", err)
	}
	failures := make(chan error, 1)
	nc := s.Connect(t, nats.UserInfo("limited", "p"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failures <- err }))
	if err := nc.Publish("other", nil); err != nil {
		t.Fatal(err)
	}
	if err := harness.Receive(t, "error", failures); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("got %v", err)
	}
}
