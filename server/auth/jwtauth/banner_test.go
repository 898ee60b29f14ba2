package jwtauth

import (
	"slices"
	"testing"

	"godwit/server/options"
)

func TestBanner(t *testing.T) {
	w := newWorld(t)
	if got := Banner(&options.Options{}); got != nil {
		t.Errorf("without operators: %q", got)
	}
	claims := func(more map[string]any) string {
		m := map[string]any{"iat": 1000000000, "iss": pub(w.op), "sub": pub(w.op), "name": "OP", "nats": map[string]any{"type": "operator", "version": 2}}
		for k, v := range more {
			m[k] = v
		}
		return signedBy(t, w.op, m)
	}
	o := &options.Options{
		Operators: []*options.Operator{{JWT: claims(nil)}, {JWT: claims(map[string]any{"aud": "AUD", "exp": 1900000000})}, {Name: "third", JWT: "x"}},
		Resolver:  &options.Resolver{Kind: options.ResolverFull, Dir: "/d"},
	}
	want := []string{
		"Trusted Operators",
		`  System  : ""`, `  Operator: "OP"`, "  Issued  : 2001-09-09 01:46:40 +0000 UTC", "  Expires : Never",
		`  System  : "AUD"`, `  Operator: "OP"`, "  Issued  : 2001-09-09 01:46:40 +0000 UTC", "  Expires : 2030-03-17 17:46:40 +0000 UTC",
		`  Operator: "third"`,
		"Managing all jwt in exclusive directory /d",
	}
	if got := Banner(o); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	o.Operators, o.Resolver = o.Operators[:1], &options.Resolver{Kind: options.ResolverCache, Dir: "/d"}
	if got := Banner(o); got[len(got)-1] != "Managing some jwt in exclusive directory /d" {
		t.Errorf("got %q", got)
	}
}
