package monitor

import "net/http"

// The functions here turn HTTP parameters into the options of an answer. The order in which parameters are read
// decides which of two bad ones is reported.

func (m *Monitor) varzHTTP(*query) (any, error) { return m.Varz(), nil }

func (m *Monitor) connzHTTP(q *query) (any, error) {
	o := ConnzOptions{Sort: SortOpt(q.text("sort")), Username: q.bool("auth")}
	subs := q.subs("subs")
	o.Subscriptions, o.SubscriptionsDetail = subs != SubsNone, subs == SubsDetailed
	o.Offset, o.Limit, o.CID, o.State = q.int("offset"), q.int("limit"), q.uint64("cid"), q.state("state")
	o.User, o.Account, o.MQTTClient = q.text("user"), q.text("acc"), q.text("mqtt_client")
	if q.err != nil {
		return nil, q.err
	}
	return result(m.Connz(o))
}

func (m *Monitor) routezHTTP(q *query) (any, error) {
	subs := q.subs("subs")
	return m.Routez(RoutezOptions{subs != SubsNone, subs == SubsDetailed}), q.err
}

func (m *Monitor) gatewayzHTTP(q *query) (any, error) {
	subs := q.subs("subs")
	o := GatewayzOptions{
		Name: q.text("gw_name"), Accounts: q.bool("accs"), AccountName: q.text("acc_name"),
		AccountSubscriptions: subs != SubsNone, AccountSubscriptionsDetail: subs == SubsDetailed,
	}
	return m.Gatewayz(o), q.err
}

func (m *Monitor) leafzHTTP(q *query) (any, error) {
	return m.Leafz(LeafzOptions{q.bool("subs"), q.text("acc")}), q.err
}

func (m *Monitor) subszHTTP(q *query) (any, error) {
	o := SubszOptions{
		Subscriptions: q.bool("subs"), Offset: q.int("offset"), Limit: q.int("limit"),
		Test: q.text("test"), Account: q.text("acc"),
	}
	if q.err != nil {
		return nil, q.err
	}
	return result(m.Subsz(o))
}

func (m *Monitor) accountzHTTP(q *query) (any, error) {
	return result(m.Accountz(AccountzOptions{q.text("acc")}))
}

func (m *Monitor) accstatzHTTP(q *query) (any, error) {
	return m.AccountStatz(AccountStatzOptions{IncludeUnused: q.bool("unused")}), q.err
}

func (m *Monitor) jszHTTP(q *query) (any, error) {
	o := JSzOptions{
		Accounts: q.bool("accounts"), Streams: q.bool("streams"), Consumer: q.bool("consumers"),
		DirectConsumer: q.bool("direct-consumers"), Config: q.bool("config"), Offset: q.int("offset"),
		Limit: q.int("limit"), LeaderOnly: q.bool("leader-only"), RaftGroups: q.bool("raft"),
		StreamLeaderOnly: q.bool("stream-leader-only"), Account: q.text("acc"),
	}
	if q.err != nil {
		return nil, q.err
	}
	return result(m.JSz(o))
}

func (m *Monitor) ipqueueszHTTP(q *query) (any, error) {
	return m.Ipqueuesz(IpqueueszOptions{q.bool("all"), q.text("queues")}), q.err
}

func (m *Monitor) raftzHTTP(q *query) (any, error) {
	return m.Raftz(RaftzOptions{q.text("acc"), q.text("group")})
}

func (m *Monitor) healthzHTTP(r *http.Request) response {
	q := &query{values: r.URL.Query()}
	o := HealthzOptions{
		JSEnabled: q.bool("js-enabled"), JSEnabledOnly: q.bool("js-enabled-only"), JSServerOnly: q.bool("js-server-only"),
		JSMetaOnly: q.bool("js-meta-only"), Details: q.bool("details"),
		Account: q.text("account"), Stream: q.text("stream"), Consumer: q.text("consumer"),
	}
	if q.err != nil {
		return errorResponse(q.err)
	}
	h := m.Healthz(o)
	return jsonResponse(h.Code, h.HealthStatus, "")
}

// result keeps a nil pointer that comes with an error from becoming a non-nil any.
func result[T any](v *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
