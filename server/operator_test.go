package server

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

// keys makes a key pair and its public half.
func keys(t *testing.T, make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	kp, err := make()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return kp, pub
}

func encode(t *testing.T, c jwt.Claims, kp nkeys.KeyPair) string {
	t.Helper()
	token, err := c.Encode(kp)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A user logs in by JWT; an account JWT that is pushed while it is connected revokes it.
func TestPushedRevocationClosesTheClient(t *testing.T) {
	okp, opub := keys(t, nkeys.CreateOperator)
	skp, spub := keys(t, nkeys.CreateAccount)
	akp, apub := keys(t, nkeys.CreateAccount)
	account := jwt.NewAccountClaims(apub)
	preload := map[string]string{apub: encode(t, account, okp), spub: encode(t, jwt.NewAccountClaims(spub), okp)}
	s := run(t, func(o *options.Options) {
		o.TrustedKeys = []string{opub}
		o.SystemAccount = spub
		o.Resolver = &options.Resolver{Kind: options.ResolverMemory}
		o.ResolverPreload = preload
	})
	login := func(signer nkeys.KeyPair) (nats.Option, string) {
		ukp, upub := keys(t, nkeys.CreateUser)
		token := encode(t, jwt.NewUserClaims(upub), signer)
		return nats.UserJWT(func() (string, error) { return token, nil }, ukp.Sign), upub
	}
	creds, upub := login(akp)
	closed := make(chan error, 1)
	nc := connect(t, s, creds, nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { closed <- err }))
	if _, err := nc.SubscribeSync("a"); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	strangerKey, _ := keys(t, nkeys.CreateAccount)
	stranger, _ := login(strangerKey)
	if nc, err := nats.Connect("nats://"+s.ClientAddr().String(), stranger); err == nil {
		nc.Close()
		t.Fatal("a user of an unknown account got in")
	}
	sysCreds, _ := login(skp)
	sys := connect(t, s, sysCreds)
	account.Revoke(upub)
	m, err := sys.Request("$SYS.REQ.ACCOUNT."+apub+".CLAIMS.UPDATE", []byte(encode(t, account, okp)), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-closed:
		if err != nats.ErrAuthRevoked {
			t.Fatalf("closed with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("still connected; the answer was %s", m.Data)
	}
	if nc, err := nats.Connect("nats://"+s.ClientAddr().String(), creds); err == nil {
		nc.Close()
		t.Fatal("a revoked user got in")
	}
}
