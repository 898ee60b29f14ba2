package server

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// A reload takes over what is preloaded, which may revoke users and bring accounts, and the default sentinel.
func TestReloadInOperatorMode(t *testing.T) {
	okp, opub := keys(t, nkeys.CreateOperator)
	_, spub := keys(t, nkeys.CreateAccount)
	akp, apub := keys(t, nkeys.CreateAccount)
	bkp, bpub := keys(t, nkeys.CreateAccount)
	account := jwt.NewAccountClaims(apub)
	preload := map[string]string{apub: encode(t, account, okp), spub: encode(t, jwt.NewAccountClaims(spub), okp)}
	with := func(o *options.Options) {
		o.Operators = []*options.Operator{{JWT: encode(t, jwt.NewOperatorClaims(opub), okp), Subject: opub, Name: "OP", Version: 2}}
		o.SystemAccount = spub
		o.Resolver = &options.Resolver{Kind: options.ResolverMemory}
		o.ResolverPreload = preload
	}
	s := run(t, with)
	user := func(signer nkeys.KeyPair, change func(*jwt.UserClaims)) (nats.Option, string, string) {
		ukp, upub := keys(t, nkeys.CreateUser)
		c := jwt.NewUserClaims(upub)
		if change != nil {
			change(c)
		}
		token := encode(t, c, signer)
		return nats.UserJWT(func() (string, error) { return token, nil }, ukp.Sign), upub, token
	}
	refused := func(opts ...nats.Option) {
		t.Helper()
		if nc, err := nats.Connect("nats://"+s.ClientAddr().String(), opts...); err == nil {
			nc.Close()
			t.Error("a client got in that must not")
		}
	}
	stays, _, _ := user(akp, nil)
	goes, revoked, _ := user(akp, nil)
	other, _, _ := user(bkp, nil)
	_, _, sentinel := user(akp, func(c *jwt.UserClaims) { c.BearerToken = true })
	kept := connect(t, s, stays, nats.NoReconnect())
	closed := make(chan error, 1)
	connect(t, s, goes, nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { closed <- err }))
	refused(other)
	refused()

	account.Revoke(revoked)
	next := *s.options()
	with(&next)
	next.ResolverPreload = map[string]string{apub: encode(t, account, okp), bpub: encode(t, jwt.NewAccountClaims(bpub), okp), spub: preload[spub]}
	next.DefaultSentinel = sentinel
	if err := s.Reload(&next); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-closed:
		if err != nats.ErrAuthRevoked {
			t.Errorf("closed with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the revoked user is still connected")
	}
	refused(goes)
	if err := kept.Flush(); err != nil {
		t.Errorf("a user who may stay: %v", err)
	}
	connect(t, s, other, nats.NoReconnect()).Close()
	connect(t, s, nats.NoReconnect()).Close() // by the sentinel

	// What cannot be used changes nothing.
	broken := next
	broken.DefaultSentinel = ""
	broken.Resolver = &options.Resolver{Kind: options.ResolverFull, Dir: "/proc/nothing"}
	if err := s.Reload(&broken); err == nil {
		t.Error("a resolver without a directory was accepted")
	}
	connect(t, s, nats.NoReconnect()).Close()
}
