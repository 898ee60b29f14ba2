package jwtauth

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nats-io/jwt/v2"

	"godwit/server/options"
)

// describe says in the terms of a configuration what account claims say. activations has the tokens of the
// imports, by index.
func describe(c *jwt.AccountClaims) (a *options.Account, activations []string) {
	a = &options.Account{
		Name: c.Subject,
		Nkey: c.Subject,
		Limits: options.AccountLimits{
			MaxConn:    limit32(c.Limits.Conn),
			MaxSubs:    limit32(c.Limits.Subs),
			MaxPayload: limit32(c.Limits.Payload),
			MaxLeafs:   limit32(c.Limits.LeafNodeConn),
		},
		JetStream: streamsOf(c),
		Mappings:  mappingsOf(c.Mappings),
		Defaults:  permissionsOf(&c.DefaultPermissions),
	}
	if t := c.Trace; t != nil {
		a.Trace = &options.MsgTrace{Dest: string(t.Destination), Sampling: cmp.Or(t.Sampling, 100)}
	}
	for _, e := range c.Exports {
		a.Exports = append(a.Exports, exportOf(e))
	}
	for _, i := range c.Imports {
		if i == nil {
			continue
		}
		a.Imports = append(a.Imports, importOf(i))
		activations = append(activations, i.Token)
	}
	return a, activations
}

func exportOf(e *jwt.Export) *options.Export {
	out := &options.Export{
		Kind:          kindOf(e.Type),
		Subject:       string(e.Subject),
		Private:       e.TokenReq,
		Threshold:     e.ResponseThreshold,
		TokenPosition: int(min(e.AccountTokenPosition, math.MaxInt32)),
		AllowTrace:    e.AllowTrace,
	}
	switch {
	case e.IsStreamResponse():
		out.Response = options.Streamed
	case e.IsChunkedResponse():
		out.Response = options.Chunked
	}
	if l := e.Latency; l != nil {
		out.Latency = &options.ServiceLatency{Subject: string(l.Results), Sampling: int(l.Sampling)}
	}
	return out
}

// importOf describes an import. The older fields subject and to of a service are seen from the importer: what it
// publishes to, and what the exporter calls that; with local_subject, subject is always the exporter's.
func importOf(i *jwt.Import) *options.Import {
	out := &options.Import{Kind: kindOf(i.Type), Account: i.Account, Subject: string(i.Subject), Share: i.Share, AllowTrace: i.AllowTrace}
	switch {
	case i.LocalSubject != "":
		out.To = string(i.LocalSubject)
	case i.IsStream():
		out.Prefix = i.GetTo()
	case i.GetTo() != "":
		out.Subject, out.To = i.GetTo(), string(i.Subject)
	}
	return out
}

func kindOf(t jwt.ExportType) options.ExchangeKind {
	if t == jwt.Service {
		return options.ServiceExchange
	}
	return options.StreamExchange
}

// mappingsOf lists mappings in the order of their sources.
func mappingsOf(m jwt.Mapping) []*options.Mapping {
	var out []*options.Mapping
	for _, source := range slices.Sorted(maps.Keys(m)) {
		mapping := &options.Mapping{Source: string(source)}
		for _, d := range m[source] {
			mapping.Dests = append(mapping.Dests, options.MappingDest{Subject: string(d.Subject), Weight: d.GetWeight(), Cluster: d.Cluster})
		}
		out = append(out, mapping)
	}
	return out
}

// streamsOf returns the limits of streams; nil if the account may have none.
func streamsOf(c *jwt.AccountClaims) *options.AccountJetStream {
	if !c.Limits.IsJSEnabled() {
		return nil
	}
	out := options.UnlimitedJetStream()
	if len(c.Limits.JetStreamTieredLimits) == 0 {
		out = streamLimits(&c.Limits.JetStreamLimits)
	}
	out.TrafficInOwner = c.ClusterTraffic == jwt.ClusterTrafficOwner
	return out
}

func tiersOf(c *jwt.AccountClaims) map[string]*options.AccountJetStream {
	if len(c.Limits.JetStreamTieredLimits) == 0 {
		return nil
	}
	out := make(map[string]*options.AccountJetStream)
	for tier, l := range c.Limits.JetStreamTieredLimits {
		out[tier] = streamLimits(&l)
		out[tier].TrafficInOwner = c.ClusterTraffic == jwt.ClusterTrafficOwner
	}
	return out
}

// streamLimits makes limits of a claim's. A storage of 0 allows nothing to be stored; other limits of 0 are none.
func streamLimits(l *jwt.JetStreamLimits) *options.AccountJetStream {
	return &options.AccountJetStream{
		MaxMemory:            limit64(l.MemoryStorage),
		MaxStore:             limit64(l.DiskStorage),
		MaxStreams:           int(unlessZero(l.Streams)),
		MaxConsumers:         int(unlessZero(l.Consumer)),
		MaxAckPending:        int(unlessZero(l.MaxAckPending)),
		MemoryMaxStreamBytes: unlessZero(l.MemoryMaxStreamBytes),
		StoreMaxStreamBytes:  unlessZero(l.DiskMaxStreamBytes),
		MaxBytesRequired:     l.MaxBytesRequired,
	}
}

func calloutOf(c *jwt.AccountClaims) *options.AuthCallout {
	if !c.HasExternalAuthorization() {
		return nil
	}
	a := &c.Authorization
	return &options.AuthCallout{Issuer: c.Subject, Account: c.Subject, AuthUsers: a.AuthUsers, XKey: a.XKey, AllowedAccounts: a.AllowedAccounts}
}

// limit32 is a limit of a claim, where all negative numbers are no limit.
func limit32(n int64) int32 {
	if n < 0 {
		return options.Unlimited
	}
	return int32(min(n, math.MaxInt32))
}

func limit64(n int64) int64 { return max(n, options.Unlimited) }

func unlessZero(n int64) int64 {
	if n <= 0 {
		return options.Unlimited
	}
	return n
}
