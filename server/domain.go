package server

import (
	"slices"

	"godwit/server/options"
)

// withDomain returns the settings of an account in a server whose streams are in a domain: what is published to the API
// under the domain's name goes to the API here, and so do keys and objects that clients put through it. The system
// account has no streams.
func withDomain(o *options.Options, a *options.Account) *options.Account {
	d := o.JetStream.Domain
	if !o.JetStream.Enabled || d == "" || a.Name == o.SystemAccount {
		return a
	}
	api := "$JS." + d + ".API."
	mapping := func(from, to string) *options.Mapping {
		return &options.Mapping{Source: from, Dests: []options.MappingDest{{Subject: to, Weight: 100}}}
	}
	own := []*options.Mapping{mapping(api+"$KV.>", "$KV.>"), mapping(api+"$OBJ.>", "$OBJ.>"), mapping(api+">", "$JS.API.>")}
	next := *a
	next.Mappings = slices.Concat(own, a.Mappings)
	return &next
}
