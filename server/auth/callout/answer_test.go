package callout

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/auth"
	"godwit/server/options"
)

// No answer that is not signed by the issuer lets anybody in, and none ends the server.
func FuzzAnswer(f *testing.F) {
	issuer, err := nkeys.CreateAccount()
	if err != nil {
		f.Fatal(err)
	}
	issuerKey, _ := issuer.PublicKey()
	server, _ := nkeys.CreateServer()
	serverKey, _ := server.PublicKey()
	user, _ := nkeys.CreateUser()
	userKey, _ := user.PublicKey()
	stranger, _ := nkeys.CreateAccount()
	curve, _ := nkeys.CreateCurveKeys()
	xkey, _ := curve.PublicKey()
	d := New(Options{Config: &options.AuthCallout{Issuer: issuerKey, Account: "A", XKey: xkey}, Key: server, Curve: curve, Timeout: time.Second,
		Server: func() jwt.ServerID { return jwt.ServerID{ID: serverKey} },
		Target: func(string) (*auth.Permissions, bool) { return nil, true }, Debugf: func(string, ...any) {}})
	answer := func(signer nkeys.KeyPair) string {
		u := jwt.NewUserClaims(userKey)
		u.Audience = "A"
		token, err := u.Encode(signer)
		if err != nil {
			f.Fatal(err)
		}
		r := jwt.NewAuthorizationResponseClaims(userKey)
		r.Audience, r.Jwt = serverKey, token
		if token, err = r.Encode(signer); err != nil {
			f.Fatal(err)
		}
		return token
	}
	good := answer(issuer)
	if _, err := d.judge(d.o.Config, userKey, []byte(good), &auth.Request{}); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(answer(stranger)))
	f.Add([]byte(good[:len(good)-3]))
	f.Add([]byte("eyJ0eXAiOiJKV1QifQ.e30.AA"))
	f.Add([]byte("xkv1"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := d.judge(d.o.Config, userKey, b, &auth.Request{})
		if err == nil && string(b) != good {
			t.Fatalf("%q lets %+v in", b, id)
		}
	})
}
