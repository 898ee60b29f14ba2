package jwtauth

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"godwit/server/options"
)

func TestDescribe(t *testing.T) {
	w := newWorld(t)
	x := newKey(t, nkeys.CreateCurveKeys)
	callee, other := newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateAccount)
	token := w.account(func(c *jwt.AccountClaims) {
		c.Tags.Add("env:prod")
		c.Limits.NatsLimits = jwt.NatsLimits{Subs: 1, Data: 2, Payload: 1 << 40}
		c.Limits.Conn, c.Limits.LeafNodeConn = -5, 0
		c.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: 1000, Streams: 5, MaxBytesRequired: true, DiskMaxStreamBytes: 10}
		c.ClusterTraffic = jwt.ClusterTrafficOwner
		c.Exports.Add(
			&jwt.Export{Subject: "a.>", Type: jwt.Stream, TokenReq: true},
			&jwt.Export{Subject: "b.*", Type: jwt.Service, ResponseType: jwt.ResponseTypeChunked, ResponseThreshold: time.Second, AccountTokenPosition: 2, AllowTrace: true, Latency: &jwt.ServiceLatency{Sampling: 50, Results: "lat"}},
			&jwt.Export{Subject: "c", Type: jwt.Service, ResponseType: jwt.ResponseTypeStream},
			&jwt.Export{Subject: "d", Type: jwt.Service},
		)
		c.Imports.Add(
			&jwt.Import{Subject: "i1.*", Account: pub(w.sys), Type: jwt.Stream, LocalSubject: "l1.$1", AllowTrace: true},
			//lint:ignore SA1019 the older form of imports is still in use
			&jwt.Import{Subject: "i2", Account: pub(w.sys), Type: jwt.Stream, To: "prefix"},
			&jwt.Import{Subject: "i3", Account: pub(w.sys), Type: jwt.Service, LocalSubject: "l3", Share: true},
			//lint:ignore SA1019 the older form of imports is still in use
			&jwt.Import{Subject: "i4", Account: pub(w.sys), Type: jwt.Service, To: "there4"},
			&jwt.Import{Subject: "i5", Account: pub(w.sys), Type: jwt.Service},
		)
		c.Mappings = jwt.Mapping{
			"m2": {{Subject: "x", Weight: 30, Cluster: "C"}, {Subject: "y", Weight: 70}},
			"m1": {{Subject: "z"}},
		}
		c.DefaultPermissions.Pub.Allow.Add("p")
		c.Trace = &jwt.MsgTrace{Destination: "trace", Sampling: 0}
		c.Authorization.AuthUsers.Add(pub(callee))
		c.Authorization.AllowedAccounts.Add(pub(other))
		c.Authorization.XKey = pub(x)
	})
	c, err := decodeAccount(token)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAccount(newTrust(w.options.Operators, nil), token, c)
	if err != nil {
		t.Fatal(err, reasonOf(err))
	}
	key := pub(w.acc)
	want := &options.Account{
		Name: key, Nkey: key,
		Limits: options.AccountLimits{MaxConn: -1, MaxSubs: 1, MaxPayload: 1<<31 - 1, MaxLeafs: 0},
		JetStream: &options.AccountJetStream{MaxMemory: -1, MaxStore: 1000, MaxStreams: 5, MaxConsumers: -1, MaxAckPending: -1,
			MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: 10, MaxBytesRequired: true, TrafficInOwner: true},
		Exports: []*options.Export{
			{Kind: options.StreamExchange, Subject: "a.>", Private: true},
			{Kind: options.ServiceExchange, Subject: "b.*", Response: options.Chunked, Threshold: time.Second, TokenPosition: 2, AllowTrace: true,
				Latency: &options.ServiceLatency{Subject: "lat", Sampling: 50}},
			{Kind: options.ServiceExchange, Subject: "c", Response: options.Streamed},
			{Kind: options.ServiceExchange, Subject: "d"},
		},
		Imports: []*options.Import{
			{Kind: options.StreamExchange, Account: pub(w.sys), Subject: "i1.*", To: "l1.$1", AllowTrace: true},
			{Kind: options.StreamExchange, Account: pub(w.sys), Subject: "i2", Prefix: "prefix"},
			{Kind: options.ServiceExchange, Account: pub(w.sys), Subject: "i3", To: "l3", Share: true},
			{Kind: options.ServiceExchange, Account: pub(w.sys), Subject: "there4", To: "i4"},
			{Kind: options.ServiceExchange, Account: pub(w.sys), Subject: "i5"},
		},
		Mappings: []*options.Mapping{
			{Source: "m1", Dests: []options.MappingDest{{Subject: "z", Weight: 100}}},
			{Source: "m2", Dests: []options.MappingDest{{Subject: "x", Weight: 30, Cluster: "C"}, {Subject: "y", Weight: 70}}},
		},
		Trace:    &options.MsgTrace{Dest: "trace", Sampling: 100},
		Defaults: &options.Permissions{Publish: &options.SubjectPermission{Allow: []string{"p"}}},
	}
	got := a.Settings
	for _, part := range []struct {
		name      string
		got, want any
	}{
		{"limits", got.Limits, want.Limits}, {"streams", got.JetStream, want.JetStream}, {"exports", got.Exports, want.Exports},
		{"imports", got.Imports, want.Imports}, {"mappings", got.Mappings, want.Mappings}, {"trace", got.Trace, want.Trace},
		{"defaults", got.Defaults, want.Defaults}, {"all", got, want},
	} {
		if !reflect.DeepEqual(part.got, part.want) {
			t.Errorf("%s: got %+v, want %+v", part.name, part.got, part.want)
		}
	}
	if a.Name != "ACC" || a.Issuer != pub(w.op) || a.Key != key || a.JWT != token || a.IssuedAt.IsZero() || !a.Expires.IsZero() || a.Tags[0] != "env:prod" || len(a.Activations) != 5 || a.Tiers != nil {
		t.Errorf("account %+v", a)
	}
	if a.DefaultPermissions().CanPublish([]byte("q")) {
		t.Error("default permissions do not hold")
	}
	wantCallout := &options.AuthCallout{Issuer: key, Account: key, AuthUsers: []string{pub(callee)}, XKey: pub(x), AllowedAccounts: []string{pub(other)}}
	if !reflect.DeepEqual(a.Callout, wantCallout) {
		t.Errorf("callout %+v", a.Callout)
	}
}

func TestDescribeStreams(t *testing.T) {
	w := newWorld(t)
	describeOf := func(edit func(*jwt.AccountClaims)) *Account {
		token := w.account(edit)
		c, err := decodeAccount(token)
		if err != nil {
			t.Fatal(err)
		}
		a, err := newAccount(newTrust(w.options.Operators, nil), token, c)
		if err != nil {
			t.Fatal(reasonOf(err))
		}
		return a
	}
	a := describeOf(nil)
	if a.Settings.JetStream != nil || a.Callout != nil || a.Settings.Limits != options.NoAccountLimits() {
		t.Errorf("an account with nothing: %+v", a.Settings)
	}
	a = describeOf(func(c *jwt.AccountClaims) {
		c.Limits.JetStreamTieredLimits = jwt.JetStreamTieredLimits{"R1": {DiskStorage: 10, Streams: 2}, "R3": {MemoryStorage: 5, Consumer: 7, MaxAckPending: 3}}
	})
	if !reflect.DeepEqual(a.Settings.JetStream, options.UnlimitedJetStream()) || len(a.Tiers) != 2 {
		t.Errorf("streams %+v, tiers %v", a.Settings.JetStream, a.Tiers)
	}
	if r := a.Tiers["R1"]; r.MaxStore != 10 || r.MaxMemory != 0 || r.MaxStreams != 2 || r.MaxConsumers != -1 {
		t.Errorf("R1 %+v", r)
	}
	if r := a.Tiers["R3"]; r.MaxStore != 0 || r.MaxMemory != 5 || r.MaxStreams != -1 || r.MaxConsumers != 7 || r.MaxAckPending != 3 {
		t.Errorf("R3 %+v", r)
	}
}

// The library does not survive the first of these, and nobody must end the server with it.
func TestClaimsWithNull(t *testing.T) {
	w := newWorld(t)
	nats := func(more string) []byte {
		return []byte(`{"iat":1,"iss":"` + pub(w.op) + `","sub":"` + pub(w.acc) + `","nats":{"type":"account","version":2,` + more + `}}`)
	}
	const header = `{"typ":"JWT","alg":"ed25519-nkey"}`
	w.full()
	m, _ := w.start()
	for _, more := range []string{`"exports":[null]`, `"imports":[null]`, `"signing_keys":[null,1,{}]`, `"mappings":{"a":null}`, `"mappings":null`, `"limits":null`,
		`"authorization":null`, `"trace":null`, `"revocations":null`, `"exports":null`, `"imports":[{}]`, `"exports":[{}]`} {
		if _, err := m.Update(signedBody(t, w.op, header, nats(more))); err == nil && strings.Contains(more, "[") {
			t.Errorf("%s was taken", more)
		}
	}
	for _, body := range []string{`null`, `{}`, `[]`, `{"iss":"` + pub(w.op) + `"}`, `{"iss":"` + pub(w.op) + `","sub":"` + pub(w.op) + `","type":"x"}`,
		`{"iss":"` + pub(w.op) + `","sub":"` + pub(w.op) + `","type":"x","nats":null}`} {
		for _, h := range []string{header, `{"typ":"jwt","alg":"ed25519"}`} {
			token := signedBody(t, w.op, h, []byte(body))
			if _, err := m.Update(token); err == nil {
				t.Errorf("%s was taken", body)
			}
			if replies, ok := m.Handle(SubjectDelete, []byte(token)); !ok {
				t.Errorf("%s is not answered", body)
			} else {
				for r := range replies {
					if strings.Contains(string(r), `"code":200`) {
						t.Errorf("%s deletes: %s", body, r)
					}
				}
			}
		}
	}
}
