package jwtauth

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"godwit/server/auth"
	"godwit/server/options"
)

const (
	header2 = `{"typ":"JWT","alg":"ed25519-nkey"}`
	header1 = `{"typ":"jwt","alg":"ed25519"}`
)

// Claims of any form, well signed by an account that is trusted, never end the server, and let nobody in for whom they
// were not made.
func FuzzUserClaims(f *testing.F) {
	w := newWorld(f)
	key := newKey(f, nkeys.CreateUser)
	m, _ := w.start()
	for _, s := range []string{
		`{"type":"user","version":2}`,
		`{"type":"user","version":2,"pub":{"allow":["a"]},"sub":{"deny":["b q"]},"resp":{"max":1,"ttl":5},"src":["127.0.0.0/8"],"times":[{"start":"00:00:00","end":"23:59:59"}],"times_location":"UTC","subs":-1,"data":-1,"payload":5,"bearer_token":true,"allowed_connection_types":["STANDARD"]}`,
		`{"type":"user","version":2,"src":"10.0.0.0/8,::/0","tags":["a:b"],"issuer_account":""}`,
		`{"type":"user","version":1,"max":5}`,
		`null`,
		`{"type":"user","times":[null],"resp":null,"src":null}`,
		`{"type":"account"}`,
	} {
		f.Add(s, "joe", int64(1), int64(0), int64(0))
	}
	f.Fuzz(func(t *testing.T, nats, name string, iat, exp, nbf int64) {
		if !json.Valid([]byte(nats)) {
			t.Skip("no JSON")
		}
		for _, header := range []string{header2, header1} {
			body, err := json.Marshal(map[string]any{"iss": pub(w.acc), "sub": pub(key), "name": name, "iat": iat, "exp": exp, "nbf": nbf, "nats": json.RawMessage(nats)})
			if err != nil {
				t.Fatal(err)
			}
			u, err := m.Login(person{key, signedBody(t, w.acc, header, body)}.request())
			var refused *auth.Failure
			switch {
			case err != nil && !errors.As(err, &refused):
				t.Fatalf("%T", err)
			case err == nil && (u.Key != pub(key) || u.Account != pub(w.acc)):
				t.Fatalf("logged in as %+v", u)
			}
		}
	})
}

// Account claims of any form, signed by the operator, are refused or can be described.
func FuzzAccountClaims(f *testing.F) {
	w := newWorld(f)
	trust := newTrust(w.options.Operators, nil)
	user := w.user(w.acc, nil)
	for _, s := range []string{
		`{"type":"account","version":2}`,
		`{"type":"account","version":2,"exports":[{"subject":"a.>","type":"stream","token_req":true,"revocations":{"*":5}}],"imports":[{"subject":"a","account":"` + pub(w.sys) + `","type":"service","to":"b"}]}`,
		`{"type":"account","version":2,"exports":[null],"imports":[null],"mappings":{"a":[{"subject":"b","weight":300}]},"signing_keys":["x",{"kind":"user_scope","key":"y"}]}`,
		`{"type":"account","version":2,"limits":{"conn":-1,"tiered_limits":{"R1":{"disk_storage":-1}}},"authorization":{"auth_users":["x"]},"trace":{"dest":"a"},"default_permissions":{"pub":{"allow":["{{name()}}"]}}}`,
		`{"type":"account","version":1,"limits":{"imports":5}}`,
		`null`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, nats string) {
		if !json.Valid([]byte(nats)) {
			t.Skip("no JSON")
		}
		for _, header := range []string{header2, header1} {
			body, err := json.Marshal(map[string]any{"iss": pub(w.op), "sub": pub(w.acc), "nats": json.RawMessage(nats)})
			if err != nil {
				t.Fatal(err)
			}
			token := signedBody(t, w.op, header, body)
			c, err := decodeAccount(token)
			if err != nil {
				continue
			}
			a, err := newAccount(trust, token, c)
			if err != nil {
				continue
			}
			if len(a.Settings.Imports) != len(a.Activations) || a.Settings.Name != pub(w.acc) {
				t.Fatalf("settings %+v", a.Settings)
			}
			for i := range a.Settings.Imports {
				Authorize(a, a, i)
			}
			uc, err := decodeUser(user.token)
			if err != nil {
				t.Fatal(err)
			}
			if scope, ok := a.issuerOf(uc); ok && scope != nil {
				scopedLimits(scope, uc, c)
			}
		}
	})
}

// Requests of any form never end the server and are answered with JSON, or with what they ask for.
func FuzzHandle(f *testing.F) {
	w := newWorld(f)
	w.options.Resolver = &options.Resolver{Kind: options.ResolverFull, Dir: f.TempDir(), AllowDelete: true}
	m, _ := w.start()
	m.directory().unsynced = true
	for _, s := range []string{SubjectUpdate, SubjectAccountUpdate, SubjectOldUpdate, SubjectLookup, SubjectList, SubjectPack, SubjectDelete} {
		s = strings.ReplaceAll(s, "*", pub(w.acc))
		f.Add(s, []byte(w.tokens[pub(w.acc)]))
		f.Add(s, []byte("a.b.c"))
		f.Add(s, []byte{})
	}
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		replies, ok := m.Handle(subject, body)
		if !ok {
			return
		}
		for r := range replies {
			raw := strings.HasSuffix(subject, ".LOOKUP") || subject == SubjectPack
			if !raw && !json.Valid(r) {
				t.Fatalf("reply %q", r)
			}
		}
		m.Merge(body)
	})
}

func FuzzToken(f *testing.F) {
	w := newWorld(f)
	f.Add(w.tokens[pub(w.acc)])
	f.Add(w.user(w.acc, nil).token)
	f.Add(signedBody(f, w.op, header1, []byte(`{"iss":"`+pub(w.op)+`","sub":"x","type":"x"}`)))
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if c, err := decodeUser(token); err == nil && !nkeys.IsValidPublicUserKey(c.Subject) {
			t.Fatal("user without a user's key")
		}
		if c, err := decodeAccount(token); err == nil {
			if !nkeys.IsValidPublicAccountKey(c.Subject) {
				t.Fatal("account without an account's key")
			}
			problems(c)
		}
		if c, err := decodeGeneric(token); err == nil && c == nil {
			t.Fatal("neither claims nor error")
		}
		if c, err := decodeActivation(token); err == nil {
			problems(c)
		}
	})
}
