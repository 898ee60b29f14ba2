package server

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"godwit/server/auth/callout"
	"godwit/server/options"
)

// calloutWorld is a server whose logins a service decides about.
type calloutWorld struct {
	t       *testing.T
	s       *Server
	issuer  nkeys.KeyPair
	curve   nkeys.KeyPair // nil: nothing is sealed
	service *nats.Conn

	mu      sync.Mutex
	last    *jwt.AuthorizationRequestClaims
	respond func(req *jwt.AuthorizationRequestClaims) []byte
}

func newCalloutWorld(t *testing.T, sealed bool, change func(*options.Options)) *calloutWorld {
	w := &calloutWorld{t: t}
	var issuer string
	w.issuer, issuer = keys(t, nkeys.CreateAccount)
	co := &options.AuthCallout{Issuer: issuer, Account: "AUTH", AuthUsers: []string{"auth"}}
	if sealed {
		w.curve, co.XKey = keys(t, nkeys.CreateCurveKeys)
	}
	w.s = run(t, func(o *options.Options) {
		none := options.NoAccountLimits()
		o.Accounts = []*options.Account{{Name: "AUTH", Limits: none}, {Name: "APP", Limits: none, Defaults: &options.Permissions{Publish: &options.SubjectPermission{Allow: []string{"app.>"}}}}, {Name: "OWN", Limits: none}}
		o.Authorization.Users = []*options.User{{Username: "auth", Password: "pw", Account: "AUTH"}, {Username: "own", Password: "pw", Account: "OWN"}}
		o.Authorization.Callout = co
		o.Authorization.Timeout = time.Second
		if change != nil {
			change(o)
		}
	})
	w.service = connect(t, w.s, nats.UserInfo("auth", "pw"))
	w.respond = w.admit("APP", nil)
	w.subscribe()
	return w
}

func (w *calloutWorld) subscribe() {
	_, err := w.service.Subscribe(callout.Subject, func(m *nats.Msg) {
		body := m.Data
		serverKey := m.Header.Get(callout.HeaderXKey)
		if w.curve != nil {
			var err error
			if body, err = w.curve.Open(body, serverKey); err != nil {
				w.t.Errorf("request: %v", err)
				return
			}
		}
		req, err := jwt.DecodeAuthorizationRequestClaims(string(body))
		if err != nil {
			w.t.Errorf("request: %v", err)
			return
		}
		w.mu.Lock()
		w.last = req
		respond := w.respond
		w.mu.Unlock()
		answer := respond(req)
		if answer == nil {
			return
		}
		if w.curve != nil && len(answer) > 0 {
			if answer, err = w.curve.Seal(answer, serverKey); err != nil {
				w.t.Errorf("answer: %v", err)
				return
			}
		}
		if err := m.Respond(answer); err != nil {
			w.t.Errorf("answer: %v", err)
		}
	})
	if err == nil {
		err = w.service.Flush()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *calloutWorld) answers(f func(req *jwt.AuthorizationRequestClaims) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.respond = f
}

// admit answers with a user of an account.
func (w *calloutWorld) admit(account string, change func(*jwt.UserClaims)) func(*jwt.AuthorizationRequestClaims) []byte {
	return func(req *jwt.AuthorizationRequestClaims) []byte {
		u := jwt.NewUserClaims(req.UserNkey)
		u.Name, u.Audience = "alice", account
		if change != nil {
			change(u)
		}
		return w.response(req, func(r *jwt.AuthorizationResponseClaims) { r.Jwt = encode(w.t, u, w.issuer) })
	}
}

func (w *calloutWorld) response(req *jwt.AuthorizationRequestClaims, change func(*jwt.AuthorizationResponseClaims)) []byte {
	r := jwt.NewAuthorizationResponseClaims(req.UserNkey)
	r.Audience = req.Server.ID
	change(r)
	return []byte(encode(w.t, r, w.issuer))
}

func (w *calloutWorld) login(o ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("nats://"+w.s.ClientAddr().String(), append(o, nats.NoReconnect(), nats.Timeout(10*time.Second))...)
}

func TestCalloutDecides(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		w := newCalloutWorld(t, sealed, nil)
		nc, err := w.login(nats.UserInfo("bob", "secret"), nats.Name("tester"))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		req := w.last
		if req.ConnectOptions.Username != "bob" || req.ConnectOptions.Password != "secret" || req.ClientInformation.Name != "tester" ||
			req.ClientInformation.Kind != "Client" || req.ClientInformation.Type != "nats" || req.ClientInformation.User != "bob" ||
			req.Issuer != w.s.ID() || req.Audience != "nats-authorization-request" || (req.Server.XKey != "") != sealed {
			t.Errorf("request %+v", req)
		}
		if _, err := w.login(); err != nil {
			t.Errorf("without credentials: %v", err)
		}
		var info struct {
			Data struct {
				User, Account string
				Permissions   struct{ Publish struct{ Allow []string } }
			}
		}
		// The user may publish only what the account's defaults say, so the claim has to allow the question.
		w.answers(w.admit("APP", func(u *jwt.UserClaims) { u.Pub.Allow.Add("$SYS.REQ.USER.INFO", "ok") }))
		nc2, err := w.login(nats.UserInfo("x", "y"))
		if err != nil {
			t.Fatal(err)
		}
		defer nc2.Close()
		m, err := nc2.Request("$SYS.REQ.USER.INFO", nil, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(m.Data, &info); err != nil || info.Data.User != "alice" || info.Data.Account != "APP" || len(info.Data.Permissions.Publish.Allow) != 2 {
			t.Errorf("%s", m.Data)
		}
	}
}

func TestCalloutRefusals(t *testing.T) {
	w := newCalloutWorld(t, false, nil)
	stranger, _ := keys(t, nkeys.CreateAccount)
	otherUser, otherPub := keys(t, nkeys.CreateUser)
	otherUser.Wipe()
	events, err := w.service.SubscribeSync("$SYS.ACCOUNT.CLIENT.AUTH.ERR")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.service.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		respond func(*jwt.AuthorizationRequestClaims) []byte
		reason  string
	}{
		"empty answer": {func(*jwt.AuthorizationRequestClaims) []byte { return []byte{} }, `Auth callout violation: "no reason supplied" on account "AUTH"`},
		"garbage":      {func(*jwt.AuthorizationRequestClaims) []byte { return []byte("eyJ no") }, "Auth callout violation"},
		"error": {func(r *jwt.AuthorizationRequestClaims) []byte {
			return w.response(r, func(a *jwt.AuthorizationResponseClaims) { a.Error = "not today" })
		}, "Auth callout service returned an error: not today"},
		"no answer": {func(*jwt.AuthorizationRequestClaims) []byte { return nil }, `Authorization callout response not received in time on account "AUTH"`},
		"other user": {func(r *jwt.AuthorizationRequestClaims) []byte {
			r.UserNkey = otherPub
			return w.admit("APP", nil)(r)
		}, "auth callout response is not for expected user"},
		"other user inside": {w.admit("APP", func(u *jwt.UserClaims) { u.Subject = otherPub }), "auth callout response is not for expected user"},
		"other server": {func(r *jwt.AuthorizationRequestClaims) []byte {
			_, r.Server.ID = keys(t, nkeys.CreateServer)
			return w.admit("APP", nil)(r)
		}, "auth callout response is not for expected server"},
		"signed by a stranger": {func(r *jwt.AuthorizationRequestClaims) []byte {
			a := jwt.NewAuthorizationResponseClaims(r.UserNkey)
			a.Audience, a.Error = r.Server.ID, "x"
			return []byte(encode(t, a, stranger))
		}, "Auth callout signing key is unknown"},
		"user signed by a stranger": {func(r *jwt.AuthorizationRequestClaims) []byte {
			u := jwt.NewUserClaims(r.UserNkey)
			u.Audience = "APP"
			return w.response(r, func(a *jwt.AuthorizationResponseClaims) { a.Jwt = encode(t, u, stranger) })
		}, "Wrong issuer for auth callout response on account"},
		"unknown account": {w.admit("NOPE", nil), `No valid account "NOPE" for auth callout response on account "AUTH"`},
		"no account":      {w.admit("", nil), `No valid account "" for auth callout response on account "AUTH"`},
		"expired":         {w.admit("APP", func(u *jwt.UserClaims) { u.Expires = time.Now().Add(-time.Minute).Unix() }), "Auth callout violation"},
		"type":            {w.admit("APP", func(u *jwt.UserClaims) { u.AllowedConnectionTypes.Add("WEBSOCKET") }), "connection type not allowed"},
		"source":          {w.admit("APP", func(u *jwt.UserClaims) { u.Src.Add("10.9.9.0/24") }), ""},
	} {
		w.answers(c.respond)
		nc, err := w.login(nats.UserInfo("bob", "secret"))
		if err == nil {
			nc.Close()
			t.Fatalf("%s: let in", name)
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
		m, err := events.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatalf("%s: no event: %v", name, err)
		}
		var e struct{ Reason string }
		if err := json.Unmarshal(m.Data, &e); err != nil || !strings.Contains(e.Reason, c.reason) || e.Reason == "" {
			t.Errorf("%s: %s", name, m.Data)
		}
	}
}

// Members of the service's account must not pose as the server.
func TestCalloutGuardsItsSubject(t *testing.T) {
	w := newCalloutWorld(t, false, nil)
	w.answers(w.admit("AUTH", nil))
	denied := make(chan error, 1)
	nc, err := w.login(nats.UserInfo("bob", "secret"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.Publish(callout.Subject, []byte("x")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-denied:
		if !strings.Contains(err.Error(), callout.Subject) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it was allowed")
	}
}

func TestCalloutOfAllowedAccountsOnly(t *testing.T) {
	w := newCalloutWorld(t, false, func(o *options.Options) { o.Authorization.Callout.AllowedAccounts = []string{"APP"} })
	w.answers(func(r *jwt.AuthorizationRequestClaims) []byte { return nil })
	nc, err := w.login(nats.UserInfo("own", "pw"))
	if err != nil {
		t.Fatalf("a user of another account: %v", err)
	}
	nc.Close()
	if nc, err := w.login(nats.UserInfo("nobody", "pw")); err == nil {
		nc.Close()
		t.Fatal("a user whom nobody knows was let in without the service")
	}
}

// What a service has said ends when it says, and does not end by a reload.
func TestCalloutExpiryAndReload(t *testing.T) {
	w := newCalloutWorld(t, false, nil)
	asked := make(chan struct{}, 10)
	admit := w.admit("APP", nil)
	w.answers(func(r *jwt.AuthorizationRequestClaims) []byte {
		asked <- struct{}{}
		return admit(r)
	})
	nc, err := w.login(nats.UserInfo("bob", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	<-asked
	next := *w.s.options()
	if err := w.s.Reload(&next); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatalf("after a reload: %v", err)
	}
	if len(asked) > 0 {
		t.Error("the service was asked again")
	}
	w.answers(w.admit("APP", func(u *jwt.UserClaims) { u.Expires = time.Now().Add(2 * time.Second).Unix() }))
	ended := make(chan error, 1)
	short, err := w.login(nats.UserInfo("bob", "secret"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { ended <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	select {
	case err := <-ended:
		if err != nats.ErrAuthExpired {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still connected")
	}
	stricter := *w.s.options()
	co := *stricter.Authorization.Callout
	co.AuthUsers = []string{"auth", "second"}
	stricter.Authorization.Callout = &co
	if err := w.s.Reload(&stricter); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
		t.Error("the answers were changed")
	default:
	}
}

// In operator mode the account says who its service is.
func TestCalloutOfAnAccountJWT(t *testing.T) {
	okp, opub := keys(t, nkeys.CreateOperator)
	_, spub := keys(t, nkeys.CreateAccount)
	akp, apub := keys(t, nkeys.CreateAccount)
	bkp, bpub := keys(t, nkeys.CreateAccount)
	svc, svcPub := keys(t, nkeys.CreateUser)
	sentinel, sentinelPub := keys(t, nkeys.CreateUser)
	account := jwt.NewAccountClaims(apub)
	account.Authorization.AuthUsers.Add(svcPub)
	account.Authorization.AllowedAccounts.Add(bpub)
	s := run(t, func(o *options.Options) {
		o.TrustedKeys = []string{opub}
		o.SystemAccount = spub
		o.Resolver = &options.Resolver{Kind: options.ResolverMemory}
		o.ResolverPreload = map[string]string{apub: encode(t, account, okp), bpub: encode(t, jwt.NewAccountClaims(bpub), okp), spub: encode(t, jwt.NewAccountClaims(spub), okp)}
	})
	as := func(kp nkeys.KeyPair, pub string) nats.Option {
		token := encode(t, jwt.NewUserClaims(pub), akp)
		return nats.UserJWT(func() (string, error) { return token, nil }, kp.Sign)
	}
	service := connect(t, s, as(svc, svcPub))
	if _, err := service.Subscribe(callout.Subject, func(m *nats.Msg) {
		req, err := jwt.DecodeAuthorizationRequestClaims(string(m.Data))
		if err != nil {
			t.Error(err)
			return
		}
		u := jwt.NewUserClaims(req.UserNkey)
		u.Name = "alice"
		signer := bkp
		if req.ConnectOptions.Name == "third" {
			signer, _ = keys(t, nkeys.CreateAccount)
		}
		r := jwt.NewAuthorizationResponseClaims(req.UserNkey)
		r.Audience, r.Jwt = req.Server.ID, encode(t, u, signer)
		if err := m.Respond([]byte(encode(t, r, akp))); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	nc := connect(t, s, as(sentinel, sentinelPub))
	m, err := nc.Request("$SYS.REQ.USER.INFO", nil, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Data struct{ User, Account string }
	}
	if err := json.Unmarshal(m.Data, &info); err != nil || info.Data.Account != bpub {
		t.Errorf("%s", m.Data)
	}
	if nc, err := nats.Connect("nats://"+s.ClientAddr().String(), as(sentinel, sentinelPub), nats.Name("third")); err == nil {
		nc.Close()
		t.Error("a user of an account that is not allowed got in")
	}
}
