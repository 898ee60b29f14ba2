package server

import (
	"cmp"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"

	"godwit/server/account"
	"godwit/server/auth/jwtauth"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/router"
)

// shownResponses bounds the awaited responses that monitoring lists.
const shownResponses = 1024

// showExchange adds what an account exports, imports and maps to its description.
func (s source) showExchange(a *account.Account, d *monitor.AccountDetail) {
	t, faults := s.accounts.Terms(a.Name())
	if t == nil {
		return
	}
	d.Complete = !slices.ContainsFunc(faults, func(err error) bool { return err != nil })
	var claims *jwt.AccountClaims
	if s.operators != nil {
		if v := s.operators.manager.Loaded(a.Name()); v != nil {
			claims = v.Claims
			showClaims(v, d)
		}
	}
	for _, kind := range []options.ExchangeKind{options.ServiceExchange, options.StreamExchange} {
		for k, e := range t.Settings.Exports {
			if e.Kind == kind {
				detail := exportDetail(e, t.Allows != nil)
				if claims != nil && k < len(claims.Exports) {
					detail.RevokedAct = revoked(claims.Exports[k].Revocations)
				}
				d.Exports = append(d.Exports, detail)
			}
		}
	}
	var imports []monitor.ImportDetail
	for _, kind := range []options.ExchangeKind{options.StreamExchange, options.ServiceExchange} {
		for k, i := range t.Settings.Imports {
			if i.Kind == kind {
				detail := s.importDetail(a, i)
				detail.Invalid = faults[k] != nil
				imports = append(imports, detail)
			}
		}
	}
	d.Imports = append(imports, d.Imports...)
	for _, m := range t.Settings.Mappings {
		if d.Mappings == nil {
			d.Mappings = make(map[string][]monitor.MapDest)
		}
		d.Mappings[m.Source] = mapDests(m)
	}
	names := make(map[any]string)
	for _, w := range a.Index().Awaited(shownResponses) {
		if d.Responses == nil {
			d.Responses = make(map[string]monitor.ImportDetail)
			for _, other := range s.accounts.All() {
				names[other.Index()] = other.Name()
			}
		}
		detail := monitor.ImportDetail{Subject: w.Reply, Account: names[w.To], To: w.Subject, LocalSubject: w.Subject, Type: "service"}
		if l := w.Latency; l != nil {
			detail.Tracking, detail.Latency = true, latencyDetail(&options.ServiceLatency{Subject: l.Subject, Sampling: l.Sampling})
		}
		d.Responses[w.Subject] = detail
	}
}

// showClaims adds what the JWT of an account says.
func showClaims(v *jwtauth.Account, d *monitor.AccountDetail) {
	d.JWT, d.IssuerKey, d.NameTag, d.Tags, d.Claim = v.JWT, v.Issuer, v.Name, v.Tags, v.Claims
	d.Expired = v.Expired(time.Now())
	d.RevokedUsers = revoked(v.Claims.Revocations)
}

// revoked shows until when what was issued is revoked; nil for nothing.
func revoked(list jwt.RevocationList) map[string]time.Time {
	var out map[string]time.Time
	for key, seconds := range list {
		if out == nil {
			out = make(map[string]time.Time)
		}
		out[key] = time.Unix(seconds, 0).UTC()
	}
	return out
}

func exportDetail(e *options.Export, tokens bool) monitor.ExportDetail {
	d := monitor.ExportDetail{Subject: e.Subject, Type: "stream", ApprovedAccounts: e.Accounts, TokenReq: tokens && e.Private}
	if e.Kind == options.ServiceExchange {
		d.Type, d.ResponseType = "service", responseName(e.Response)
		d.Latency = latencyDetail(e.Latency)
	}
	return d
}

func responseName(r options.ResponseType) string {
	switch r {
	case options.Streamed:
		return "Streamed"
	case options.Chunked:
		return "Chunked"
	}
	return "Singleton"
}

func latencyDetail(l *options.ServiceLatency) *monitor.ServiceLatency {
	if l == nil {
		return nil
	}
	d := &monitor.ServiceLatency{Sampling: l.Sampling, Results: l.Subject}
	if l.Sampling == 0 {
		d.Sampling = "headers"
	}
	return d
}

func (s source) importDetail(a *account.Account, i *options.Import) monitor.ImportDetail {
	d := monitor.ImportDetail{Subject: i.Subject, Account: i.Account, LocalSubject: account.Local(i), Type: "stream", AllowTrace: i.AllowTrace}
	if i.Kind == options.ServiceExchange {
		d.Type, d.To, d.Share = "service", d.LocalSubject, i.Share
		d.Latency = latencyDetail(s.accounts.Latency(a.Name(), i))
	}
	return d
}

// mapDests shows the destinations of a mapping as they are looked up: in the order of their weights, which are summed
// up, for each cluster. What is left goes to the source.
func mapDests(m *options.Mapping) (list []monitor.MapDest) {
	byCluster := make(map[string][]options.MappingDest)
	var clusters []string
	for _, d := range m.Dests {
		if byCluster[d.Cluster] == nil {
			clusters = append(clusters, d.Cluster)
		}
		byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
	}
	slices.Sort(clusters)
	for _, c := range clusters {
		dests := byCluster[c]
		slices.SortStableFunc(dests, func(x, y options.MappingDest) int { return cmp.Compare(x.Weight, y.Weight) })
		sum, own := 0, false
		for _, d := range dests {
			sum += int(d.Weight)
			own = own || d.Subject == m.Source
			list = append(list, monitor.MapDest{Subject: d.Subject, Weight: uint8(sum), Cluster: c})
		}
		if sum < 100 && !own {
			list = append(list, monitor.MapDest{Subject: m.Source, Weight: 100, Cluster: c})
		}
	}
	return list
}

// collectExchange adds what accounts ask of each other to /metrics, summed up.
func (s *Server) collectExchange(w *monitor.MetricsWriter) {
	var sum router.ReplyCounts
	for _, a := range s.accounts.All() {
		c := a.Index().Replies()
		sum.Awaited += c.Awaited
		sum.Expired += c.Expired
		sum.Dropped += c.Dropped
	}
	w.Gauge("service_responses_awaited", "Responses of services that other accounts await now.", float64(sum.Awaited))
	w.Counter("service_requests_expired_total", "Requests to other accounts whose response did not come in time.", float64(sum.Expired))
	w.Counter("service_requests_dropped_total", "Requests to other accounts that were forgotten because too many waited.", float64(sum.Dropped))
}
