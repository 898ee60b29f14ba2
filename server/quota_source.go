package server

import (
	"sort"
	"time"

	"godwit/protocol/jsapi"
	"godwit/server/account"
	"godwit/server/monitor"
	"godwit/server/options"
	"godwit/server/quota"
)

// refuseRequest is the answer to a request to the JetStream API that a quota refuses.
func (s *Server) refuseRequest(subject []byte, why *jsapi.Error) []byte {
	if st := s.js.Load(); st != nil {
		return st.api.Refusal(subject, why)
	}
	return nil
}

// showQuota tells what an account and its users may publish, and what came of it; nil if nobody is bounded or ever was.
func showQuota(a *account.Account) *monitor.QuotaDetail {
	t := a.Quota()
	d := &monitor.QuotaDetail{QuotaState: quotaState(t.Bucket())}
	t.EachUser(func(name string, b *quota.Bucket) {
		if d.Users == nil {
			d.Users = map[string]monitor.QuotaState{}
		}
		d.Users[name] = quotaState(b)
	})
	if d.Users == nil && d.QuotaState == (monitor.QuotaState{}) {
		return nil
	}
	return d
}

func quotaState(b *quota.Bucket) monitor.QuotaState {
	n := b.Counts()
	st := monitor.QuotaState{Throttled: n.Throttled.Load(), RefusedMsgs: n.Messages.Load(), RefusedBytes: n.Bytes.Load(),
		RefusedRequests: n.Requests.Load()}
	if q := b.Quota(); q != nil {
		st.Messages, st.Bytes, st.Requests, st.Burst, st.MaxDelay = q.Messages, q.Bytes, q.Requests, q.Burst, q.MaxDelay
	}
	return st
}

// collectQuotas adds to /metrics what quotas did, for each account that has any.
func (s *Server) collectQuotas(w *monitor.MetricsWriter) {
	var all []*account.Account
	for _, a := range s.accounts.All() {
		if showQuota(a) != nil {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
	w.Heading("quota_limit", "gauge", "What the clients of an account may publish per second; only what is limited.")
	for _, a := range all {
		q := a.Quota().Bucket().Quota()
		if q == nil {
			q = &options.Quota{}
		}
		for _, k := range []struct {
			name string
			rate int64
		}{{"messages", q.Messages}, {"bytes", q.Bytes}, {"requests", q.Requests}} {
			if k.rate > 0 {
				w.Sample(float64(k.rate), "account", a.Name(), "of", k.name)
			}
		}
	}
	counter := func(name, help string, of func(*quota.Counts) float64) {
		w.Heading(name, "counter", help)
		for _, a := range all {
			w.Sample(of(a.Quota().Bucket().Counts()), "account", a.Name())
		}
	}
	counter("quota_throttled_seconds_total", "Time that connections of an account were held back by its quota or a user's, summed up.",
		func(n *quota.Counts) float64 { return time.Duration(n.Throttled.Load()).Seconds() })
	counter("quota_refused_messages_total", "Messages refused by the quota of an account or of its users.",
		func(n *quota.Counts) float64 { return float64(n.Messages.Load()) })
	counter("quota_refused_bytes_total", "Bytes of these messages.", func(n *quota.Counts) float64 { return float64(n.Bytes.Load()) })
	counter("quota_refused_requests_total", "Requests to the JetStream API among these messages.",
		func(n *quota.Counts) float64 { return float64(n.Requests.Load()) })
}
